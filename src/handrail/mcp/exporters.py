"""The exporters of OpenTelemetry that the standard variables name. Imported only where telemetry is on."""

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, Final

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

import handrail
from handrail.mcp.telemetry import ENDPOINT_VARIABLES, TurnTelemetry

log = logging.getLogger("handrail")
_OTLP: Final = "otlp"
_OTLP_EXPORTERS: Final = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


def start_telemetry(environ: Mapping[str, str]) -> TurnTelemetry | None:
    """Set up the export as the standard variables ask; None if no exporter is available."""
    spans = _build_exporters(environ, "traces", ConsoleSpanExporter)
    counts = _build_exporters(environ, "metrics", ConsoleMetricExporter)
    if not (spans or counts):
        return None
    resource = Resource.create({} if environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: "handrail"})
    tracers = TracerProvider(resource=resource)
    for exporter in spans:
        tracers.add_span_processor(BatchSpanProcessor(exporter))
    meters = MeterProvider([PeriodicExportingMetricReader(exporter) for exporter in counts], resource)
    scope = ("handrail", handrail.__version__)
    return TurnTelemetry(tracers.get_tracer(*scope), meters.get_meter(*scope))


def _build_exporters(environ: Mapping[str, str], signal: str, console: Callable[..., Any]) -> list[Any]:
    """Build the exporters of a signal; one that is not installed is logged and left out.

    The console exporter writes to stderr, since stdout carries the protocol.
    """
    default = _OTLP if any(environ.get(name) for name in ENDPOINT_VARIABLES) else "none"
    given = environ.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip().lower() or default
    names = [] if given == "none" else [name.strip() for name in given.split(",")]
    exporters: list[Any] = []
    installed = entry_points(group=f"opentelemetry_{signal}_exporter")
    for name in names:
        if name == "console":
            exporters.append(console(out=sys.stderr))
            continue
        wanted = list(_otlp_exporter_names(environ, signal)) if name == _OTLP else [name]
        chosen = [installed[one] for one in wanted if one in installed.names]
        if chosen:
            exporters.append(chosen[0].load()())
        else:
            package = f"opentelemetry-exporter-{name}"
            log.warning("OpenTelemetry cannot export %s with %s; install %s", signal, name, package)
    return exporters


def _otlp_exporter_names(environ: Mapping[str, str], signal: str) -> Iterator[str]:
    """Yield the exporter names for the requested OTLP protocol; the first that is installed is used."""
    for variable in (f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if given := environ.get(variable, "").strip().lower():
            yield _OTLP_EXPORTERS.get(given, given)
            return
    yield from _OTLP_EXPORTERS.values()
