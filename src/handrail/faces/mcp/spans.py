"""A span for each turn and a count of them, by OpenTelemetry; what is told of a turn, no agent wrote."""

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from opentelemetry.context import attach, detach
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
from opentelemetry.trace import StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import handrail
from handrail.faces.mcp.tracing import ENDPOINTS
from handrail.shell.watching import Came, Ended

_NAME: Final = "handrail"
_OTLP: Final = "otlp"
_PROTOCOLS: Final = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
_PARENT: Final = ("traceparent", "tracestate")
_CONSOLES: Final[Mapping[str, Callable[..., Any]]] = {
    "traces": ConsoleSpanExporter,
    "metrics": ConsoleMetricExporter,
}

log = logging.getLogger("handrail")


class Spans:
    """Tells of each turn; what a client says of its own span becomes the parent of ours."""

    def __init__(self, tracer: Tracer, meter: Meter) -> None:
        self._tracer = tracer
        self._turns = meter.create_counter("handrail.turns", "1", "Turns by what came of them")
        self._parents = TraceContextTextMapPropagator()

    def turned(self, came: Came) -> None:
        """Tell of a turn."""
        known = {
            "handrail.workflow": came.workflow,
            "handrail.trigger": came.trigger,
            "handrail.outcome": came.ended.value,
            "handrail.code": came.code,
            "handrail.run": came.run,
        }
        attributes = {name: value for name, value in known.items() if value}
        span = self._tracer.start_span("turn", attributes=attributes, start_time=_nanoseconds(came.since))
        if came.ended is Ended.FAILED:
            span.set_status(StatusCode.ERROR, came.code)
        span.end(_nanoseconds(came.until))
        self._turns.add(1, {"handrail.outcome": came.ended.value})

    async def carried(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Let the turn of a request know the span that the client made for it."""
        meta = ctx.meta or {}
        given = {name: value for name in _PARENT if isinstance(value := meta.get(name), str)}
        before = attach(self._parents.extract(given))
        try:
            return await call_next(ctx)
        finally:
            detach(before)


def begun(environ: Mapping[str, str]) -> Spans | None:
    """Spans and counts, exported as the standard variables say; None if there is nothing to export with."""
    spans, counts = _exporters(environ, "traces"), _exporters(environ, "metrics")
    if not (spans or counts):
        return None
    service = {} if environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: _NAME}
    resource = Resource.create(service)
    tracers = TracerProvider(resource=resource)
    for exporter in spans:
        tracers.add_span_processor(BatchSpanProcessor(exporter))
    meters = MeterProvider([PeriodicExportingMetricReader(one) for one in counts], resource)
    version = handrail.__version__
    return Spans(tracers.get_tracer(_NAME, version), meters.get_meter(_NAME, version))


def _exporters(environ: Mapping[str, str], signal: str) -> list[Any]:
    """What is exported with; what is not installed is told in the log, and left out."""
    usual = _OTLP if any(environ.get(name) for name in ENDPOINTS) else "none"
    given = environ.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip().lower() or usual
    names = [] if given == "none" else [name.strip() for name in given.split(",")]
    return [made for name in names if (made := _exporter(environ, signal, name)) is not None]


def _exporter(environ: Mapping[str, str], signal: str, name: str) -> object:
    """One exporter, by its standard name. What is for people goes to stderr: stdout is the protocol's."""
    if name == "console":
        return _CONSOLES[signal](out=sys.stderr)
    wanted = list(_otlp(environ, signal)) if name == _OTLP else [name]
    found = entry_points(group=f"opentelemetry_{signal}_exporter")
    chosen: list[EntryPoint] = [found[one] for one in wanted if one in found.names]
    if not chosen:
        package = f"opentelemetry-exporter-{name}"
        log.warning("OpenTelemetry cannot export %s with %s; install %s", signal, name, package)
        return None
    exporter: object = chosen[0].load()()
    return exporter


def _otlp(environ: Mapping[str, str], signal: str) -> Iterator[str]:
    """The exporters that speak OTLP as it is asked for: the first that is installed is taken."""
    for variable in (f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if given := environ.get(variable, "").strip().lower():
            yield _PROTOCOLS.get(given, given)
            return
    yield from _PROTOCOLS.values()


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1_000
