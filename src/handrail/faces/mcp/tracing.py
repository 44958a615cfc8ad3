"""Whether OpenTelemetry is to be told of turns. Without being asked to, nothing of its SDK is imported."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from handrail.faces.mcp.spans import Spans

ENDPOINTS: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
_EXPORTERS: Final = ("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER")


def wanted(environ: Mapping[str, str]) -> bool:
    """Whether the standard variables ask for spans or counters."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    named = [given for name in _EXPORTERS if (given := environ.get(name, "").strip().lower())]
    return any(given != "none" for given in named) or (
        not named and any(environ.get(name) for name in ENDPOINTS)
    )


def tracing(environ: Mapping[str, str]) -> "Spans | None":
    """Who tells OpenTelemetry of turns, if that is asked for and its SDK is there."""
    if not wanted(environ) or find_spec("opentelemetry.sdk") is None:
        return None
    from handrail.faces.mcp.spans import begun  # noqa: PLC0415 - only when it is asked for

    return begun(environ)
