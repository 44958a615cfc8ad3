"""Metrics for Prometheus, in their own registry. No label contains text from an agent or a file."""

import sys
from functools import cache, partial
from math import nan
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from handrail.app.definitions import START_REFUSAL_CODES
from handrail.app.faces import CALL_CODES, SESSION_CODES, Answer, Tool
from handrail.engine.refusals import REFUSAL_CODES, RefusalCode
from handrail.runtime.errors import FAULTS, Busy
from handrail.runtime.ports.open_store import StoreLoad
from handrail.runtime.records import RUN_REFUSAL_CODES
from handrail.runtime.tokens import TOKEN_REFUSAL_CODES
from handrail.runtime.world import TurnReport

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_FAULT_CODES: Final = frozenset({RefusalCode.INTERNAL, *(fault.code for fault in FAULTS)})

_KNOWN_CODES: Final = _FAULT_CODES | {
    *REFUSAL_CODES,
    *CALL_CODES,
    *SESSION_CODES,
    *START_REFUSAL_CODES,
    *TOKEN_REFUSAL_CODES,
    *RUN_REFUSAL_CODES,
}

_OTHER_CODE: Final = "other"
_BUCKET_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """Counters since the server started, and gauges of its current load."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        gauge, face = partial(Gauge, registry=registry), ("face",)
        self._sessions = gauge("handrail_sessions", "Open sessions of clients of 2025", face)
        self._subscriptions = gauge("handrail_subscriptions", "Streams and subscribed resources", face)
        self._under_way = gauge(
            "handrail_calls_under_way", "Requests that are being answered, but for streams"
        )
        self._waiting = gauge("handrail_writer_waiting", "Pieces of work that have not begun")
        self._undelivered = gauge("handrail_feed_behind", "Entries that listeners were not told of yet")
        blocks = gauge("handrail_memory_blocks", "Pieces of memory that Python has in use")
        blocks.set_function(sys.getallocatedblocks)
        self._calls = Counter(
            "handrail_calls", "Tool calls that were answered", ("face", "tool", "outcome"), registry=registry
        )
        self._refusals = Counter("handrail_refusals", "Calls refused or failed", ("code",), registry=registry)
        self._busy = Counter(
            "handrail_store_busy", "Calls for which somebody held the store too long", registry=registry
        )
        self._turns = Histogram(
            "handrail_turn_seconds",
            "How long turns took",
            ("outcome",),
            registry=registry,
            buckets=_BUCKET_SECONDS,
        )
        self._calls_of, self._turns_of = cache(self._calls.labels), cache(self._turns.labels)

    def record_call(self, face: str, tool: Tool, answer: Answer) -> None:
        """Count a call."""
        code = str(answer.reply.get("code", "")) if answer.failed else ""
        outcome = ("failed" if code in _FAULT_CODES else "refused") if answer.failed else "ok"
        self._calls_of(face, tool.names[0], outcome).inc()
        if answer.failed:
            self._refusals.labels(code if code in _KNOWN_CODES else _OTHER_CODE).inc()
        if code == Busy.code:
            self._busy.inc()

    def record_turn(self, report: TurnReport) -> None:
        """Count a turn."""
        self._turns_of(report.ended.value).observe((report.until - report.since).total_seconds())

    def set_usage(self, face: str, sessions: int, subscriptions: int) -> None:
        """Set the current number of sessions and subscriptions of a face."""
        self._sessions.labels(face).set(sessions)
        self._subscriptions.labels(face).set(subscriptions)

    def set_under_way(self, under_way: int) -> None:
        """Set the number of requests in progress."""
        self._under_way.set(under_way)

    def set_load(self, load: StoreLoad | None) -> None:
        """Set the load of the store; None means that the store cannot be read and gives NaN."""
        self._waiting.set(load.waiting_calls if load else nan)
        self._undelivered.set(load.undelivered_entries if load else nan)

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)
