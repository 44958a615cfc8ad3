"""Keep sums over the journal, so that numbers about all runs are available at once.

Entries are only added, and numbered in the order of commits. So entries up to a mark are summed once. A read
adds the entries after the mark, writes nothing, and is exact. Code that deletes entries must fold first and
keep the last entry: its number must not be used again.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from handrail.engine.model import Lifecycle
from handrail.runtime.entries import EntryKind
from handrail.runtime.measures import (
    DayCount,
    DurationHistogram,
    ErrorCount,
    HourCount,
    KindCount,
    RunCount,
    RunTimes,
    StateCounts,
    StepCount,
    StepTimes,
    build_histogram,
)
from handrail.stores.sql.rows import format_time
from handrail.stores.sql.schema import Execute, SqlDatabase

FOLD_BATCH_ENTRIES: Final = 5000
"""How many entries are folded in one transaction."""

FOLD_AFTER_ENTRIES: Final = 1000
"""`do_idle_work` folds when at least so many entries are after the mark."""

_LATEST_TIME: Final = datetime(9999, 12, 30, tzinfo=UTC)
"""Later times are cut to this one, so that rounding up stays a valid date."""

_FOLD_STATEMENTS: Final = (
    "fold_runs",
    "fold_days",
    "fold_steps",
    "fold_hours",
    "fold_daily",
    "fold_errors",
    "fold_states",
    "fold_run_times",
    "fold_step_times",
)


class SqlMeasures:
    """`Measures` over a database."""

    def __init__(
        self, database: SqlDatabase, batch: int = FOLD_BATCH_ENTRIES, fold_after: int = FOLD_AFTER_ENTRIES
    ) -> None:
        self.database, self._batch, self._fold_after = database, batch, fold_after
        self._sql = database.sql("summaries.sql")

    def fold(self) -> int:
        """Move the mark to the last entry, one batch per transaction. Return how many entries were folded."""
        folded = 0
        while count := self._fold_batch("mark"):
            folded += count
        return folded

    def unfold(self, execute: Execute, key: int) -> None:
        """Subtract a run from the sums. Its entries are about to be written again."""
        (mark,) = execute(self._sql["mark"], ()).fetchone()
        for name in _FOLD_STATEMENTS:
            execute(self._sql[name], (0, mark, -1, key))

    def do_idle_work(self) -> None:
        """Fold a batch if enough entries are after the mark."""
        if self.count_unfolded() >= self._fold_after:
            self._fold_batch("mark_if_free")

    def count_unfolded(self) -> int:
        """Return how many entries there can be after the mark."""
        ((mark, last),) = self.database.peek(self._sql["tail"], ())
        return int(max(0, last - mark))

    def runs(self) -> tuple[RunCount, ...]:
        """Return the runs by workflow and lifecycle."""
        with self.database.read() as execute:
            found = execute(self._sql["runs"], ()).fetchall()
        return tuple(RunCount(name, Lifecycle(state), *sums) for name, state, *sums in found)

    def days(self, since: datetime) -> tuple[DayCount, ...]:
        """Return the runs started since this time, by day and workflow. The first day is counted afresh."""
        with self.database.read() as execute:
            given = (format_time(since), _next_whole_unit(since, timedelta(days=1))[:10])
            found = execute(self._sql["days"], given).fetchall()
        return tuple(DayCount(*row) for row in found)

    def steps(self) -> tuple[StepCount, ...]:
        """Return the steps by state, persona and status."""
        with self.database.read() as execute:
            found = execute(self._sql["steps"], ()).fetchall()
        return tuple(StepCount(*row) for row in found)

    def hours(self, since: datetime) -> tuple[HourCount, ...]:
        """Return the entries per hour and kind, from the hour of this time on."""
        with self.database.read() as execute:
            found = execute(self._sql["hours"], (format_time(since)[:13],)).fetchall()
        return tuple(HourCount(hour, EntryKind(kind), entries) for hour, kind, entries in found)

    def kinds(self, since: datetime | None = None) -> tuple[KindCount, ...]:
        """Return the entries since this time, or all, by kind. The first hour is counted afresh."""
        with self.database.read() as execute:
            found = execute(self._sql["kinds"], _window_bounds(since)).fetchall()
        return tuple(KindCount(EntryKind(kind), entries) for kind, entries in found)

    def errors(self, since: datetime | None = None) -> tuple[ErrorCount, ...]:
        """Return the errors since this time, or all, by code. The first hour is counted afresh."""
        with self.database.read() as execute:
            found = execute(self._sql["errors"], _window_bounds(since)).fetchall()
        return tuple(ErrorCount(*row) for row in found)

    def states(self) -> tuple[StateCounts, ...]:
        """Return how calls and runs ended in each state of a workflow."""
        with self.database.read() as execute:
            found = execute(self._sql["states"], ()).fetchall()
        return tuple(StateCounts(*row) for row in found)

    def run_times(self) -> tuple[RunTimes, ...]:
        """Return how long ended runs took, by workflow and lifecycle."""
        return tuple(
            RunTimes(workflow, Lifecycle(state), times)
            for workflow, state, times in self._histograms("run_times")
        )

    def step_times(self) -> tuple[StepTimes, ...]:
        """Return how long completed steps took, by state and persona."""
        return tuple(StepTimes(step, agent, times) for step, agent, times in self._histograms("step_times"))

    def _histograms(self, name: str) -> list[tuple[str, str, DurationHistogram]]:
        """Return one histogram for each pair of names in this statement's rows, sorted by the names.

        The buckets are added up here: there are many, and SQLite would sort them first.
        """
        found: dict[tuple[str, str], dict[int, int]] = {}
        with self.database.read() as execute:
            for first, second, bucket, count in execute(self._sql[name], ()):
                counts = found.setdefault((first, second), {})
                counts[bucket] = counts.get(bucket, 0) + count
        histograms = ((*names, build_histogram(counts)) for names, counts in sorted(found.items()))
        return [row for row in histograms if row[2].counts]

    def _fold_batch(self, mark_by: str) -> int:
        """Fold a batch. Return how many entries, or 0 if there are none or another process holds the mark."""
        if not self.count_unfolded():
            return 0
        settled = self.database.last_settled_entry()
        with self.database.transaction() as execute:
            found = execute(self._sql[mark_by], ()).fetchone()
            if found is None:
                return 0
            (mark,) = found
            until = min(settled, mark + self._batch)
            for name in _FOLD_STATEMENTS:
                execute(self._sql[name], (mark, until, 1, None))
            execute(self._sql["move_mark"], (max(mark, until),))
        return int(max(0, until - mark))


def _window_bounds(since: datetime | None) -> tuple[str, str, str]:
    """Return when a window begins, its first whole hour, and its first whole day."""
    if since is None:
        return "", "", ""
    return (
        format_time(since),
        _next_whole_unit(since, timedelta(hours=1))[:13],
        _next_whole_unit(since, timedelta(days=1))[:10],
    )


def _next_whole_unit(at: datetime, unit: timedelta) -> str:
    """Return the start of the first whole hour or day at or after this time."""
    early = min(at, _LATEST_TIME)
    return format_time(early + (datetime.min.replace(tzinfo=UTC) - early) % unit)
