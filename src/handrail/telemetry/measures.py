"""Measures: sums over the journal, as dashboards show them, and what follows from them."""

from collections.abc import Iterable
from dataclasses import dataclass

from handrail.engine.model import Lifecycle
from handrail.telemetry.entries import EntryKind


@dataclass(frozen=True, slots=True)
class RunsMeasured:
    """How many runs of a workflow stand in a lifecycle, and how long those that ended there took in all."""

    workflow: str
    lifecycle: Lifecycle
    runs: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class DayMeasured:
    """How many runs of a workflow were started on a day, written `YYYY-MM-DD`, UTC."""

    day: str
    workflow: str
    runs: int


@dataclass(frozen=True, slots=True)
class StepsMeasured:
    """How many steps of a state and a persona have a status, and how long those that ended took in all."""

    step: str
    agent: str
    status: str
    steps: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class HourMeasured:
    """How many entries of a kind were made in an hour, written `YYYY-MM-DD HH`, UTC."""

    hour: str
    kind: EntryKind
    entries: int


@dataclass(frozen=True, slots=True)
class Endings:
    """How the runs of a workflow end: how many there were, and of each kind of end how many, and how long.

    The means are None where no run ended so.
    """

    workflow: str
    runs: int
    completed: int
    abandoned: int
    mean_completed_ms: float | None
    mean_abandoned_ms: float | None


def endings(measured: Iterable[RunsMeasured]) -> tuple[Endings, ...]:
    """How the runs of each workflow end, by name."""
    found: dict[str, dict[Lifecycle, RunsMeasured]] = {}
    for one in measured:
        found.setdefault(one.workflow, {})[one.lifecycle] = one
    return tuple(_endings(workflow, found[workflow]) for workflow in sorted(found))


def _endings(workflow: str, by: dict[Lifecycle, RunsMeasured]) -> Endings:
    none = RunsMeasured(workflow, Lifecycle.IDLE, 0, 0)
    completed, abandoned = by.get(Lifecycle.COMPLETED, none), by.get(Lifecycle.ABANDONED, none)
    total = sum(one.runs for one in by.values())
    return Endings(workflow, total, completed.runs, abandoned.runs, _mean(completed), _mean(abandoned))


def _mean(measured: RunsMeasured) -> float | None:
    return measured.duration_ms / measured.runs if measured.runs else None
