"""Statistics about runs: duration histograms, the counts a store returns, and rates computed from them.

Pure: the `…Count` and `…Times` classes are rows from a store, the functions below compute from those.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from handrail.engine.model import Lifecycle
from handrail.runtime.entries import EntryKind
from handrail.runtime.records import StepStatus

_BUCKETS_PER_DIGIT: Final = 100


class DurationHistogram(Struct, frozen=True):
    """How many durations are in each non-empty bucket, in bucket order. Histograms can be added.

    Durations are in milliseconds and kept to their first two digits. A bucket holds those with the same first
    two digits and the same length. Its number is 100 per further digit, plus the two digits, so bucket
    numbers are in the order of durations.
    """

    counts: tuple[tuple[int, int], ...] = ()

    @property
    def total(self) -> int:
        """The number of durations."""
        return sum(count for _, count in self.counts)

    def percentile(self, share: int) -> int | None:
        """Return the duration at this percentile (1 to 100), in milliseconds; None if there are none.

        All but its first two digits are zero, so the true duration is at most a tenth longer.
        """
        rank, passed = -(-self.total * share // 100), 0
        for bucket, count in self.counts:
            passed += count
            if passed >= rank:
                return get_bucket_start(bucket)
        return None


def find_bucket(milliseconds: int) -> int:
    """Return the bucket of a duration."""
    digits = str(milliseconds)
    return _BUCKETS_PER_DIGIT * max(len(digits) - 2, 0) + int(digits[:2])


def get_bucket_start(bucket: int) -> int:
    """Return the shortest duration in a bucket."""
    behind, first = divmod(bucket, _BUCKETS_PER_DIGIT)
    return first * int(10**behind)


def build_histogram(counts: Mapping[int, int]) -> DurationHistogram:
    """Build a histogram from counts by bucket."""
    return DurationHistogram(tuple(sorted((bucket, count) for bucket, count in counts.items() if count)))


def merge_histograms(histograms: Iterable[DurationHistogram]) -> DurationHistogram:
    """Add histograms."""
    total = Counter[int]()
    for histogram in histograms:
        for bucket, count in histogram.counts:
            total[bucket] += count
    return build_histogram(total)


# Rows that a store returns.


class RunCount(Struct, frozen=True):
    """Runs of a workflow in a lifecycle, and the total duration of those that ended in it."""

    workflow: str
    lifecycle: Lifecycle
    runs: int
    duration_ms: int


class DayCount(Struct, frozen=True):
    """Runs of a workflow started on a UTC day, written `YYYY-MM-DD`."""

    day: str
    workflow: str
    runs: int


class StepCount(Struct, frozen=True):
    """Steps of a state and a persona with a status, and the total duration of those that ended."""

    step: str
    agent: str
    status: str
    steps: int
    duration_ms: int


class HourCount(Struct, frozen=True):
    """Journal entries of a kind in a UTC hour, written `YYYY-MM-DD HH`."""

    hour: str
    kind: EntryKind
    entries: int


class KindCount(Struct, frozen=True):
    """Journal entries of a kind."""

    kind: EntryKind
    entries: int


class ErrorCount(Struct, frozen=True):
    """Calls that were refused, or failed, with this code."""

    code: str
    entries: int


class StateCounts(Struct, frozen=True):
    """Counts for one state of a workflow. `step` is empty for calls while not exactly one step was open.

    Counts opened steps, runs that reached the state, accepted and refused calls, and runs abandoned there. A
    run that returns opens another step, but reaches the state only once.
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
        """Steps opened in a state that their run had visited before."""
        return self.opened - self.reached

    @property
    def refusal_rate(self) -> float | None:
        """Refused calls in percent; None without any calls."""
        total = self.accepted + self.refused
        return _compute_rate(self.refused, total) if total else None

    @property
    def leaving_rate(self) -> float | None:
        """Runs abandoned there, in percent of those that reached it; None if none did."""
        return _compute_rate(self.abandoned, self.reached) if self.reached else None


class RunTimes(Struct, frozen=True):
    """Durations of a workflow's runs that ended in a lifecycle."""

    workflow: str
    lifecycle: Lifecycle
    times: DurationHistogram


class StepTimes(Struct, frozen=True):
    """Durations of the completed steps of a state and a persona."""

    step: str
    agent: str
    times: DurationHistogram


# Figures computed from these rows.


class RunEndings(Struct, frozen=True):
    """How the runs of a workflow end: the total, completed and abandoned runs, and their mean durations.

    A mean is None if no run ended that way.
    """

    workflow: str
    runs: int
    completed: int
    abandoned: int
    mean_completed_ms: float | None
    mean_abandoned_ms: float | None

    @property
    def completion_rate(self) -> float:
        """Completed runs in percent."""
        return _compute_rate(self.completed, self.runs)

    @property
    def abandonment_rate(self) -> float:
        """Abandoned runs in percent."""
        return _compute_rate(self.abandoned, self.runs)


def compute_run_endings(measured: Iterable[RunCount]) -> tuple[RunEndings, ...]:
    """Compute how the runs of each workflow end; the workflow with the most runs first."""
    by_workflow: dict[str, dict[Lifecycle, RunCount]] = {}
    for row in measured:
        by_workflow.setdefault(row.workflow, {})[row.lifecycle] = row
    endings: list[RunEndings] = []
    for workflow, rows in by_workflow.items():
        none = RunCount(workflow, Lifecycle.IDLE, 0, 0)
        completed, abandoned = rows.get(Lifecycle.COMPLETED, none), rows.get(Lifecycle.ABANDONED, none)
        means = (_compute_mean(row.duration_ms, row.runs) for row in (completed, abandoned))
        total = sum(row.runs for row in rows.values())
        endings.append(RunEndings(workflow, total, completed.runs, abandoned.runs, *means))
    return tuple(sorted(endings, key=lambda ending: (-ending.runs, ending.workflow)))


def count_by_lifecycle(measured: Iterable[RunCount]) -> dict[Lifecycle, int]:
    """Count the runs in each lifecycle that has any."""
    counts = Counter[Lifecycle]()
    for row in measured:
        counts[row.lifecycle] += row.runs
    return {lifecycle: counts[lifecycle] for lifecycle in Lifecycle if lifecycle in counts}


class StepTiming(Struct, frozen=True):
    """Completed steps of a state and a persona, and their mean duration."""

    step: str
    agent: str
    completed: int
    mean_ms: float


def compute_step_timings(measured: Iterable[StepCount]) -> tuple[StepTiming, ...]:
    """Compute the mean duration of completed steps; slowest first."""
    timings = (
        StepTiming(row.step, row.agent, row.steps, row.duration_ms / row.steps)
        for row in measured
        if row.status == StepStatus.COMPLETED
    )
    return tuple(sorted(timings, key=lambda timing: (-timing.mean_ms, timing.step, timing.agent)))


class StepEndings(Struct, frozen=True):
    """How the steps of a state end, over all personas. The mean is None if none was completed."""

    step: str
    steps: int
    completed: int
    failed: int
    mean_completed_ms: float | None

    @property
    def failure_rate(self) -> float:
        """Failed steps in percent."""
        return _compute_rate(self.failed, self.steps)


def compute_step_endings(measured: Iterable[StepCount]) -> tuple[StepEndings, ...]:
    """Compute how the steps of each state end; highest failure rate first."""
    by_step: dict[str, list[StepCount]] = {}
    for row in measured:
        by_step.setdefault(row.step, []).append(row)
    endings: list[StepEndings] = []
    for step, rows in by_step.items():
        completed = [row for row in rows if row.status == StepStatus.COMPLETED]
        done = sum(row.steps for row in completed)
        failed = sum(row.steps for row in rows if row.status == StepStatus.FAILED)
        mean = _compute_mean(sum(row.duration_ms for row in completed), done)
        endings.append(StepEndings(step, sum(row.steps for row in rows), done, failed, mean))
    return tuple(sorted(endings, key=lambda ending: (-ending.failure_rate, ending.step)))


class TokenCounts(Struct, frozen=True):
    """Step tokens that were issued, accepted, and presented too late."""

    generated: int
    validated: int
    expired: int

    @property
    def expiry_rate(self) -> float | None:
        """Expired tokens in percent of all three counts; None without any."""
        total = self.generated + self.validated + self.expired
        return _compute_rate(self.expired, total) if total else None


def count_tokens(measured: Iterable[KindCount]) -> TokenCounts:
    """Count step tokens from the journal entries of each kind."""
    entries = {row.kind: row.entries for row in measured}
    kinds = (EntryKind.TOKEN_GENERATED, EntryKind.TOKEN_VALIDATED, EntryKind.TOKEN_EXPIRED)
    return TokenCounts(*(entries.get(kind, 0) for kind in kinds))


def count_by_day(measured: Iterable[DayCount]) -> dict[str, int]:
    """Count the runs started on each day, over all workflows; days in order."""
    runs = Counter[str]()
    for row in measured:
        runs[row.day] += row.runs
    return dict(sorted(runs.items()))


def count_by_hour(measured: Iterable[HourCount]) -> dict[str, tuple[int, int]]:
    """Count the entries of each hour, and the errors among them; hours in order."""
    entries, errors = Counter[str](), Counter[str]()
    for row in measured:
        entries[row.hour] += row.entries
        errors[row.hour] += row.entries if row.kind is EntryKind.ERROR_OCCURRED else 0
    return {hour: (entries[hour], errors[hour]) for hour in sorted(entries)}


def build_funnels(measured: Iterable[StateCounts]) -> dict[str, tuple[StateCounts, ...]]:
    """Return, for each workflow with an abandoned run, the states that runs reached; most reached first.

    The workflow with the most abandoned runs comes first.
    """
    by_workflow: dict[str, list[StateCounts]] = {}
    for row in measured:
        if row.reached:
            by_workflow.setdefault(row.workflow, []).append(row)
    abandoned = {name: sum(row.abandoned for row in rows) for name, rows in by_workflow.items()}
    return {
        name: tuple(sorted(by_workflow[name], key=lambda row: (-row.reached, row.abandoned, row.step)))
        for name in sorted(by_workflow, key=lambda name: (-abandoned[name], name))
        if abandoned[name]
    }


def _compute_mean(total: int, count: int) -> float | None:
    return total / count if count else None


def _compute_rate(part: int, whole: int) -> float:
    return part * 100 / whole
