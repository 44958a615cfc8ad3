"""Export a span and a count for each turn with OpenTelemetry.

Start reading at `load_telemetry`. No attribute contains text that an agent wrote.
"""

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from opentelemetry.context import attach, detach
from opentelemetry.metrics import Meter
from opentelemetry.trace import StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import handrail
from handrail.runtime.world import TurnReport, TurnResult

log = logging.getLogger("handrail")
_OTLP: Final = "otlp"
_OTLP_EXPORTERS: Final = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
_PARENT_FIELDS: Final = ("traceparent", "tracestate")
_ENDPOINT_VARIABLES: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
_EXPORTER_VARIABLES: Final = ("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER")


class TurnTelemetry:
    """Records each turn as a span and a count; the client's span, if it sends one, becomes the parent."""

    def __init__(self, tracer: Tracer, meter: Meter) -> None:
        self._tracer = tracer
        self._turns = meter.create_counter("handrail.turns", "1", "Turns by what came of them")
        self._parents = TraceContextTextMapPropagator()

    def record_turn(self, report: TurnReport) -> None:
        """Record a turn."""
        known = {
            "handrail.workflow": report.workflow,
            "handrail.trigger": report.trigger,
            "handrail.outcome": report.ended.value,
            "handrail.code": report.code,
            "handrail.run": report.run,
        }
        attributes = {name: value for name, value in known.items() if value}
        since = _to_nanoseconds(report.since)
        span = self._tracer.start_span("turn", attributes=attributes, start_time=since)
        if report.ended is TurnResult.FAILED:
            span.set_status(StatusCode.ERROR, report.code)
        span.end(_to_nanoseconds(report.until))
        self._turns.add(1, {"handrail.outcome": report.ended.value})

    async def propagate_parent(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Middleware: make the client's span the parent of the turns of this request."""
        meta = ctx.meta or {}
        given = {name: value for name in _PARENT_FIELDS if isinstance(value := meta.get(name), str)}
        token = attach(self._parents.extract(given))
        try:
            return await call_next(ctx)
        finally:
            detach(token)


def load_telemetry(environ: Mapping[str, str]) -> TurnTelemetry | None:
    """Start telemetry if it is requested and the OpenTelemetry SDK is installed; otherwise return None."""
    if not is_telemetry_requested(environ) or find_spec("opentelemetry.sdk") is None:
        return None
    return start_telemetry(environ)


def is_telemetry_requested(environ: Mapping[str, str]) -> bool:
    """True if the standard environment variables ask for traces or metrics."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    named = [given for name in _EXPORTER_VARIABLES if (given := environ.get(name, "").strip().lower())]
    return any(given != "none" for given in named) or (
        not named and any(environ.get(name) for name in _ENDPOINT_VARIABLES)
    )


def start_telemetry(environ: Mapping[str, str]) -> TurnTelemetry | None:
    """Set up the export as the standard variables ask; None if no exporter is available."""
    # The SDK of OpenTelemetry is an optional package; a server that exports nothing does without it.
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - the reason above
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader  # noqa: PLC0415 - the same
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415 - the same
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - the same
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter  # noqa: PLC0415 - the same

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
    default = _OTLP if any(environ.get(name) for name in _ENDPOINT_VARIABLES) else "none"
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


def _to_nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1_000
