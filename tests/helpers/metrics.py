"""What a server tells Prometheus: its samples, by name and labels."""

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from helpers.http_servers import Answered, Site


def read(served: Site, **more: str) -> Answered:
    return served.ask("GET", "/metrics", {"Host": served.address, **more})


def figures(text: str) -> dict[str, float]:
    """Every sample, by its name and labels as they are written."""
    found = (one for family in text_string_to_metric_families(text) for one in family.samples)
    return {f"{one.name}{_labels(one.labels)}": one.value for one in found}


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{name}={value}" for name, value in sorted(labels.items())) + "}" if labels else ""
