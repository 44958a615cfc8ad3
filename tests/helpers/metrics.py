"""What a server tells Prometheus: its samples, by name and labels."""

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from helpers.http_servers import HttpAnswer, HttpServer


def read_metrics(served: HttpServer, **more: str) -> HttpAnswer:
    return served.ask("GET", "/metrics", {"Host": served.address, **more})


def parse_samples(text: str) -> dict[str, float]:
    """Every sample, by its name and labels as they are written."""
    found = (one for family in text_string_to_metric_families(text) for one in family.samples)
    return {f"{one.name}{_labels(one.labels)}": one.value for one in found}


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{name}={value}" for name, value in sorted(labels.items())) + "}" if labels else ""
