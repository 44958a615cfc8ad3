"""Measures: sums over the journal, as dashboards show them, and what follows from them."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from handrail.engine.model import Lifecycle
from handrail.telemetry.entries import EntryKind
from handrail.telemetry.spread import Spread

_COMPLETED: Final = "completed"
_FAILED: Final = "failed"


class RunsMeasured(Struct, frozen=True):
    """How many runs of a workflow stand in a lifecycle, and how long those that ended there took in all."""

    workflow: str
    lifecycle: Lifecycle
    runs: int
    duration_ms: int


class DayMeasured(Struct, frozen=True):
    """How many runs of a workflow were started on a day, written `YYYY-MM-DD`, UTC."""

    day: str
    workflow: str
    runs: int


class StepsMeasured(Struct, frozen=True):
    """How many steps of a state and a persona have a status, and how long those that ended took in all."""

    step: str
    agent: str
    status: str
    steps: int
    duration_ms: int


class HourMeasured(Struct, frozen=True):
    """How many entries of a kind were made in an hour, written `YYYY-MM-DD HH`, UTC."""

    hour: str
    kind: EntryKind
    entries: int


class KindMeasured(Struct, frozen=True):
    """How many entries of a kind were made."""

    kind: EntryKind
    entries: int


class ErrorMeasured(Struct, frozen=True):
    """How many calls were refused, or failed, with this code."""

    code: str
    entries: int


class StateMeasured(Struct, frozen=True):
    """What became of calls and runs in a state of a workflow; `step` is empty where none was open alone.

    How many steps were opened, how many runs reached it, how many calls were accepted and refused, and how
    many runs were abandoned there. A run that comes back opens another step, and reaches the state once.
    """

    workflow: str
    step: str
    opened: int
    reached: int
    accepted: int
    refused: int
    abandoned: int

    @property
    def again(self) -> int:
        """How many steps were opened where their run had been before."""
        return self.opened - self.reached

    @property
    def refusal_rate(self) -> float | None:
        """How many of a hundred calls were refused; None without any."""
        every = self.accepted + self.refused
        return _rate(self.refused, every) if every else None

    @property
    def leaving_rate(self) -> float | None:
        """How many of a hundred runs that reached it were abandoned there; None if none reached it."""
        return _rate(self.abandoned, self.reached) if self.reached else None


class RunTimes(Struct, frozen=True):
    """How long the runs of a workflow took that ended in a lifecycle."""

    workflow: str
    lifecycle: Lifecycle
    times: Spread


class StepTimes(Struct, frozen=True):
    """How long the completed steps of a state and a persona took."""

    step: str
    agent: str
    times: Spread


# what follows from them


class Endings(Struct, frozen=True):
    """How the runs of a workflow end: how many there were, and of each kind of end how many, and how long.

    The means are None where no run ended so.
    """

    workflow: str
    runs: int
    completed: int
    abandoned: int
    mean_completed_ms: float | None
    mean_abandoned_ms: float | None

    @property
    def completion_rate(self) -> float:
        """How many of a hundred runs were completed."""
        return _rate(self.completed, self.runs)

    @property
    def abandonment_rate(self) -> float:
        """How many of a hundred runs were abandoned."""
        return _rate(self.abandoned, self.runs)


def endings(measured: Iterable[RunsMeasured]) -> tuple[Endings, ...]:
    """How the runs of each workflow end, the most used first."""
    found: dict[str, dict[Lifecycle, RunsMeasured]] = {}
    for one in measured:
        found.setdefault(one.workflow, {})[one.lifecycle] = one
    told = (_endings(workflow, by) for workflow, by in found.items())
    return tuple(sorted(told, key=lambda one: (-one.runs, one.workflow)))


def lifecycles(measured: Iterable[RunsMeasured]) -> dict[Lifecycle, int]:
    """How many runs there are in each lifecycle that has any."""
    found = Counter[Lifecycle]()
    for one in measured:
        found[one.lifecycle] += one.runs
    return {lifecycle: found[lifecycle] for lifecycle in Lifecycle if lifecycle in found}


class Timed(Struct, frozen=True):
    """How many steps of a state and a persona were completed, and how long they took on average."""

    step: str
    agent: str
    completed: int
    mean_ms: float


def timed(measured: Iterable[StepsMeasured]) -> tuple[Timed, ...]:
    """How long steps take, the slowest first."""
    told = (
        Timed(one.step, one.agent, one.steps, one.duration_ms / one.steps)
        for one in measured
        if one.status == _COMPLETED
    )
    return tuple(sorted(told, key=lambda one: (-one.mean_ms, one.step, one.agent)))


class StepEndings(Struct, frozen=True):
    """How the steps of a state end, whatever the persona; the mean is None where none was completed."""

    step: str
    steps: int
    completed: int
    failed: int
    mean_completed_ms: float | None

    @property
    def failure_rate(self) -> float:
        """How many of a hundred steps failed."""
        return _rate(self.failed, self.steps)


def step_endings(measured: Iterable[StepsMeasured]) -> tuple[StepEndings, ...]:
    """How the steps of each state end, those that fail most often first."""
    found: dict[str, list[StepsMeasured]] = {}
    for one in measured:
        found.setdefault(one.step, []).append(one)
    told = (_step_endings(step, by) for step, by in found.items())
    return tuple(sorted(told, key=lambda one: (-one.failure_rate, one.step)))


class Tokens(Struct, frozen=True):
    """What became of step tokens: how many were issued, found good, and presented too late."""

    generated: int
    validated: int
    expired: int

    @property
    def expiry_rate(self) -> float | None:
        """How many of a hundred of these entries tell of a token that came too late; None without any."""
        every = self.generated + self.validated + self.expired
        return _rate(self.expired, every) if every else None


def tokens(measured: Iterable[KindMeasured]) -> Tokens:
    """What became of step tokens, by the entries of each kind."""
    found = {one.kind: one.entries for one in measured}
    kinds = (EntryKind.TOKEN_GENERATED, EntryKind.TOKEN_VALIDATED, EntryKind.TOKEN_EXPIRED)
    return Tokens(*(found.get(kind, 0) for kind in kinds))


def by_day(measured: Iterable[DayMeasured]) -> dict[str, int]:
    """How many runs were started on each day, whatever the workflow; days in order."""
    found = Counter[str]()
    for one in measured:
        found[one.day] += one.runs
    return dict(sorted(found.items()))


def by_hour(measured: Iterable[HourMeasured]) -> dict[str, tuple[int, int]]:
    """How many entries, and how many of these of errors, were made in each hour; hours in order."""
    every, errors = Counter[str](), Counter[str]()
    for one in measured:
        every[one.hour] += one.entries
        errors[one.hour] += one.entries if one.kind is EntryKind.ERROR_OCCURRED else 0
    return {hour: (every[hour], errors[hour]) for hour in sorted(every)}


def funnels(measured: Iterable[StateMeasured]) -> dict[str, tuple[StateMeasured, ...]]:
    """Of each workflow with an abandoned run the states that runs reached, those that most reached first."""
    found: dict[str, list[StateMeasured]] = {}
    for one in measured:
        if one.reached:
            found.setdefault(one.workflow, []).append(one)
    left = {name: sum(one.abandoned for one in by) for name, by in found.items()}
    return {
        name: tuple(sorted(found[name], key=lambda one: (-one.reached, one.abandoned, one.step)))
        for name in sorted(found, key=lambda name: (-left[name], name))
        if left[name]
    }


def _endings(workflow: str, by: dict[Lifecycle, RunsMeasured]) -> Endings:
    none = RunsMeasured(workflow, Lifecycle.IDLE, 0, 0)
    completed, abandoned = by.get(Lifecycle.COMPLETED, none), by.get(Lifecycle.ABANDONED, none)
    means = (_mean(one.duration_ms, one.runs) for one in (completed, abandoned))
    return Endings(workflow, sum(one.runs for one in by.values()), completed.runs, abandoned.runs, *means)


def _step_endings(step: str, by: list[StepsMeasured]) -> StepEndings:
    completed = [one for one in by if one.status == _COMPLETED]
    done, failed = sum(o.steps for o in completed), sum(o.steps for o in by if o.status == _FAILED)
    mean = _mean(sum(one.duration_ms for one in completed), done)
    return StepEndings(step, sum(one.steps for one in by), done, failed, mean)


def _mean(total: int, count: int) -> float | None:
    return total / count if count else None


def _rate(part: int, whole: int) -> float:
    return part * 100 / whole
