"""Figures for Prometheus, in a registry of their own. No label holds what an agent or a file has said."""

import sys
from functools import cache, partial
from math import nan
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from handrail.engine.refusals import CODES
from handrail.faces.mcp.codes import CODES as CALLS
from handrail.faces.mcp.codes import SESSIONS
from handrail.faces.mcp.face import Answer, Tool
from handrail.shell.faults import FAULTS, Busy
from handrail.shell.opening import Strain
from handrail.shell.starting import CODES as STARTS
from handrail.shell.tokens import CODES as TOKENS
from handrail.shell.unfit import CODES as TURNS
from handrail.shell.watching import Came

MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"

_FAULTS: Final = frozenset({"internal", *(fault.code for fault in FAULTS)})
_CODES: Final = _FAULTS | {*CODES, *CALLS, *SESSIONS, *STARTS, *TOKENS, *TURNS}
_OTHER: Final = "other"
_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """What has happened since the server began, and how it stands."""

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
        self._behind = gauge("handrail_feed_behind", "Entries that listeners were not told of yet")
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
            "handrail_turn_seconds", "How long turns took", ("outcome",), registry=registry, buckets=_SECONDS
        )
        self._calls_of, self._turns_of = cache(self._calls.labels), cache(self._turns.labels)

    def called(self, face: str, tool: Tool, answer: Answer) -> None:
        """Count a call."""
        code = str(answer.reply.get("code", "")) if answer.failed else ""
        outcome = ("failed" if code in _FAULTS else "refused") if answer.failed else "ok"
        self._calls_of(face, tool.names[0], outcome).inc()
        if answer.failed:
            self._refusals.labels(code if code in _CODES else _OTHER).inc()
        if code == Busy.code:
            self._busy.inc()

    def turned(self, came: Came) -> None:
        """Count a turn."""
        self._turns_of(came.ended.value).observe((came.until - came.since).total_seconds())

    def stands(self, face: str, sessions: int, subscriptions: int) -> None:
        """Note how many sessions and subscriptions a face has now."""
        self._sessions.labels(face).set(sessions)
        self._subscriptions.labels(face).set(subscriptions)

    def answering(self, under_way: int) -> None:
        """So many requests are being answered."""
        self._under_way.set(under_way)

    def strained(self, strain: Strain | None) -> None:
        """Note what waits now, or that nobody knows: the store cannot be read."""
        self._waiting.set(strain.waiting if strain else nan)
        self._behind.set(strain.behind if strain else nan)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)
