"""Export a span and a count for each turn with OpenTelemetry.

Start reading at `load_telemetry`. No attribute contains text that an agent wrote.
"""

import logging
from collections.abc import Mapping
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from opentelemetry.context import attach, detach
from opentelemetry.trace import StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from handrail.runtime.world import TurnReport, TurnResult

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

log = logging.getLogger("handrail")
_PARENT_FIELDS: Final = ("traceparent", "tracestate")
ENDPOINT_VARIABLES: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
_EXPORTER_VARIABLES: Final = ("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER")


class TurnTelemetry:
    """Records each turn as a span and a count; the client's span, if it sends one, becomes the parent."""

    def __init__(self, tracer: Tracer, meter: "Meter") -> None:
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
    # The SDK is an optional package, and slow to import.
    from handrail.mcp.exporters import start_telemetry  # noqa: PLC0415 - the reason above

    return start_telemetry(environ)


def is_telemetry_requested(environ: Mapping[str, str]) -> bool:
    """True if the standard environment variables ask for traces or metrics."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    named = [given for name in _EXPORTER_VARIABLES if (given := environ.get(name, "").strip().lower())]
    return any(given != "none" for given in named) or (
        not named and any(environ.get(name) for name in ENDPOINT_VARIABLES)
    )


def _to_nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1_000
