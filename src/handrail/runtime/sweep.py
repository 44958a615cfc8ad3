"""Abandon idle runs: those that no agent has called for longer than a limit.

Time counts only while a run waits for its agent. A run that waits for a check or a person is not idle.
"""

from datetime import datetime, timedelta
from typing import Final, Protocol

from msgspec import Struct

from handrail.engine.lifecycle import ABANDON
from handrail.engine.model import Accepted, Actor, Authority, Event, Lifecycle
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.ports.queries import RunRow
from handrail.runtime.records import Caller, StoredRun
from handrail.runtime.system import read_environment_seconds
from handrail.runtime.turn import Call, take_turn
from handrail.runtime.world import World

AUTO_ABANDONED_MARK: Final = "auto_abandoned"  # in the metadata of a run that the sweep abandoned


class IdleLimits(Struct, frozen=True):
    """How long a run may be idle before the sweep abandons it."""

    running: timedelta = timedelta(minutes=30)
    paused: timedelta = timedelta(hours=24)

    @property
    def sweep_seconds(self) -> float:
        """The interval between two sweeps: a tenth of the shorter limit, at most a minute."""
        return min(60.0, min(self.running, self.paused).total_seconds() / 10)

    def limit_for(self, lifecycle: Lifecycle) -> timedelta | None:
        """Return the limit for a run with this lifecycle, or None."""
        return {Lifecycle.RUNNING: self.running, Lifecycle.PAUSED: self.paused}.get(lifecycle)

    def gives_up(self, row: RunRow) -> datetime | None:
        """Return when the sweep abandons this run unless an agent calls it.

        None while the run does not wait for an agent, or is not kept in a database.
        """
        limit = self.limit_for(row.lifecycle)
        swept = row.authority is Authority.SQL and not row.waiting
        return row.active + limit if swept and limit else None

    def is_quiet(self, row: RunRow, now: datetime) -> bool:
        """True once half of the time until the sweep abandons this run has passed."""
        limit, gives_up = self.limit_for(row.lifecycle), self.gives_up(row)
        return limit is not None and gives_up is not None and now >= gives_up - limit / 2


def read_idle_limits() -> IdleLimits:
    """Read the limits, in seconds, from HANDRAIL_IDLE_RUNNING and HANDRAIL_IDLE_PAUSED.

    Raises `Unreadable` if one of them is not a whole number above zero.
    """
    default = IdleLimits()
    return IdleLimits(
        read_environment_seconds("HANDRAIL_IDLE_RUNNING", default.running),
        read_environment_seconds("HANDRAIL_IDLE_PAUSED", default.paused),
    )


class IdleRunFinder(Protocol):
    """Finds idle runs."""

    def list_quiet_runs(self, lifecycle: Lifecycle, since: datetime, most: int = 100) -> tuple[str, ...]:
        """Return runs with this lifecycle that wait for an agent and were not called or read since then."""


def abandon_idle_runs(world: World, among: IdleRunFinder, limits: IdleLimits) -> tuple[str, ...]:
    """Abandon idle runs and return their ids. If several sweeps run, only one of them returns a run."""
    at = world.clock.now()
    abandoned: list[str] = []
    for lifecycle in (Lifecycle.RUNNING, Lifecycle.PAUSED):
        limit = limits.limit_for(lifecycle) or timedelta()
        since = at - limit
        abandoned += [
            run
            for run in among.list_quiet_runs(lifecycle, since)
            if _abandon_if_quiet(world, run, lifecycle, since, limit)
        ]
    return tuple(abandoned)


def _abandon_if_quiet(
    world: World, run: str, lifecycle: Lifecycle, since: datetime, limit: timedelta
) -> bool:
    def still_quiet(stored: StoredRun) -> bool:
        waits = stored.run.lifecycle is lifecycle and not any(step.held for step in stored.run.open)
        return waits and stored.active is not None and stored.active < since

    minutes, seconds = divmod(int(limit.total_seconds()), 60)
    reason = f"no activity for {minutes} minutes" + (f" {seconds} seconds" if seconds else "")
    call = Call(
        run,
        Event(ABANDON, by=Actor.SERVER, note=reason),
        Caller(Actor.SERVER),
        entries=(Entry(EntryKind.WORKFLOW_ABANDONED, data={"reason": reason}),),
        marks={AUTO_ABANDONED_MARK: "true"},
        only_if=still_quiet,
        unattended=True,
    )
    reply = take_turn(world, call, lambda outcome: {"accepted": isinstance(outcome.decision, Accepted)})
    return bool(reply["accepted"])
