"""Runs gone quiet: nobody called for so long that they are given up.

The clock runs only while a run waits for its agent: one that waits for a check or a person is not quiet.
"""

from datetime import datetime, timedelta
from typing import Final, Protocol

from msgspec import Struct

from handrail.engine.lifecycle import ABANDON
from handrail.engine.model import Accepted, Authority, Event, Lifecycle, Who
from handrail.shell.records import Caller, Stored
from handrail.shell.turn import Call, Outcome, Reply, take_turn
from handrail.shell.view import RunRow
from handrail.shell.world import World
from handrail.telemetry.entries import Entry, EntryKind

MARK: Final = "auto_abandoned"


class Limits(Struct, frozen=True):
    """How long a run may be left alone before it is given up."""

    running: timedelta = timedelta(minutes=30)
    paused: timedelta = timedelta(hours=24)

    @property
    def every(self) -> float:
        """How many seconds may pass between two sweeps: a tenth of the shorter limit, a minute at most."""
        return min(60.0, min(self.running, self.paused).total_seconds() / 10)

    def of(self, lifecycle: Lifecycle) -> timedelta | None:
        """The limit for a run with this lifecycle, if it has one."""
        return {Lifecycle.RUNNING: self.running, Lifecycle.PAUSED: self.paused}.get(lifecycle)

    def gives_up(self, row: RunRow) -> datetime | None:
        """When the sweep gives this run up if nobody calls it; None while it does not wait for an agent."""
        limit = self.of(row.lifecycle)
        swept = row.authority is Authority.SQL and not row.waiting
        return row.active + limit if swept and limit else None

    def is_quiet(self, row: RunRow, now: datetime) -> bool:
        """True once half of the time is over after which the sweep gives this run up."""
        limit, gives_up = self.of(row.lifecycle), self.gives_up(row)
        return limit is not None and gives_up is not None and now >= gives_up - limit / 2


class Quiet(Protocol):
    """Who knows which runs nobody has called."""

    def quiet(self, lifecycle: Lifecycle, since: datetime, most: int = 100) -> tuple[str, ...]:
        """Runs with this lifecycle that wait for an agent and that nobody has called or read since then."""
        ...


def sweep(world: World, among: Quiet, limits: Limits) -> tuple[str, ...]:
    """Give up the runs gone quiet, and say which: each is told by one sweep only, however many there are."""
    at = world.clock.now()
    found: list[str] = []
    for lifecycle in (Lifecycle.RUNNING, Lifecycle.PAUSED):
        limit = limits.of(lifecycle) or timedelta()
        since = at - limit
        found += [r for r in among.quiet(lifecycle, since) if _give_up(world, r, lifecycle, since, limit)]
    return tuple(found)


def _give_up(world: World, run: str, lifecycle: Lifecycle, since: datetime, limit: timedelta) -> bool:
    def still_quiet(stored: Stored) -> bool:
        held = any(step.held for step in stored.run.open)
        same = stored.run.lifecycle is lifecycle and not held
        return same and stored.active is not None and stored.active < since

    minutes, seconds = divmod(int(limit.total_seconds()), 60)
    reason = f"no activity for {minutes} minutes" + (f" {seconds} seconds" if seconds else "")
    call = Call(
        run,
        Event(ABANDON, by=Who.SERVER, note=reason),
        Caller(Who.SERVER),
        entries=(Entry(EntryKind.WORKFLOW_ABANDONED, data={"reason": reason}),),
        marks={MARK: "true"},
        only_if=still_quiet,
        aside=True,
    )
    return bool(take_turn(world, call, _accepted)["accepted"])


def _accepted(outcome: Outcome) -> Reply:
    return {"accepted": isinstance(outcome.decision, Accepted)}
