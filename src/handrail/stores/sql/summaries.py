"""Summaries: sums folded from the journal, so that a number about all runs is there at once.

Entries are only ever added, and numbered in the order of commits. So up to a mark they are summed once; a
read adds what lies behind the mark, writes nothing, and is exact. Whoever deletes entries folds first, and
leaves the last one: its number must not be given again.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from handrail.engine.model import Lifecycle
from handrail.stores.sql.tables import Execute, Tables
from handrail.stores.sql.text import stamp
from handrail.telemetry.entries import EntryKind
from handrail.telemetry.measures import (
    DayMeasured,
    ErrorMeasured,
    HourMeasured,
    KindMeasured,
    RunsMeasured,
    RunTimes,
    StateMeasured,
    StepsMeasured,
    StepTimes,
)
from handrail.telemetry.spread import Spread, spread

BATCH: Final = 5000
"""How many entries are folded in one transaction."""

FOLD_AFTER: Final = 1000
"""How many entries may lie behind the mark before `rest` folds them."""

_LATEST: Final = datetime(9999, 12, 30, tzinfo=UTC)
_FOLDS: Final = (
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


class Summaries:
    """The sums over a database."""

    def __init__(self, database: Tables, batch: int = BATCH, fold_after: int = FOLD_AFTER) -> None:
        self.database, self._batch, self._fold_after = database, batch, fold_after
        self._sql = database.sql("summaries.sql")

    def fold(self) -> int:
        """Move the mark to the last entry, a batch in each transaction; how many entries that were."""
        folded = 0
        while count := self._fold_batch("mark"):
            folded += count
        return folded

    def rest(self) -> None:
        """What can wait until a reply is given: fold a batch, if there is much to fold."""
        if self.tail() >= self._fold_after:
            self._fold_batch("mark_if_free")

    def tail(self) -> int:
        """How many entries there can be behind the mark."""
        ((mark, last),) = self.database.peek(self._sql["tail"], ())
        return int(max(0, last - mark))

    def runs(self) -> tuple[RunsMeasured, ...]:
        """The runs by workflow and lifecycle."""
        with self.database.read() as execute:
            found = execute(self._sql["runs"], ()).fetchall()
        return tuple(RunsMeasured(name, Lifecycle(state), *sums) for name, state, *sums in found)

    def days(self, since: datetime) -> tuple[DayMeasured, ...]:
        """The runs started since this time, by day and workflow; those of the first day are counted anew."""
        with self.database.read() as execute:
            given = (stamp(since), _next(since, timedelta(days=1))[:10])
            found = execute(self._sql["days"], given).fetchall()
        return tuple(DayMeasured(*row) for row in found)

    def steps(self) -> tuple[StepsMeasured, ...]:
        """The steps by state, persona and status."""
        with self.database.read() as execute:
            found = execute(self._sql["steps"], ()).fetchall()
        return tuple(StepsMeasured(*row) for row in found)

    def hours(self, since: datetime) -> tuple[HourMeasured, ...]:
        """The entries of each hour, by kind, from the hour of this time on."""
        with self.database.read() as execute:
            found = execute(self._sql["hours"], (stamp(since)[:13],)).fetchall()
        return tuple(HourMeasured(hour, EntryKind(kind), entries) for hour, kind, entries in found)

    def kinds(self, since: datetime | None = None) -> tuple[KindMeasured, ...]:
        """The entries made since this time, or ever, by kind; those of the first hour are counted anew."""
        with self.database.read() as execute:
            found = execute(self._sql["kinds"], _window(since)).fetchall()
        return tuple(KindMeasured(EntryKind(kind), entries) for kind, entries in found)

    def errors(self, since: datetime | None = None) -> tuple[ErrorMeasured, ...]:
        """The errors entered since this time, or ever, by code; those of the first hour are counted anew."""
        with self.database.read() as execute:
            found = execute(self._sql["errors"], _window(since)).fetchall()
        return tuple(ErrorMeasured(*row) for row in found)

    def states(self) -> tuple[StateMeasured, ...]:
        """What became of calls and runs in each state of a workflow."""
        with self.database.read() as execute:
            found = execute(self._sql["states"], ()).fetchall()
        return tuple(StateMeasured(*row) for row in found)

    def run_times(self) -> tuple[RunTimes, ...]:
        """How long the runs took that have ended, by workflow and lifecycle."""
        return tuple(
            RunTimes(workflow, Lifecycle(state), times)
            for workflow, state, times in self._spreads("run_times")
        )

    def step_times(self) -> tuple[StepTimes, ...]:
        """How long the steps took that were completed, by state and persona."""
        return tuple(StepTimes(step, agent, times) for step, agent, times in self._spreads("step_times"))

    def _spreads(self, name: str) -> list[tuple[str, str, Spread]]:
        """The rows of this question with the same two names, as one spread each, in the order of the names.

        They are added up here: there are many buckets, and SQLite would sort them first.
        """
        found: dict[tuple[str, str], dict[int, int]] = {}
        with self.database.read() as execute:
            for first, second, bucket, count in execute(self._sql[name], ()):
                counts = found.setdefault((first, second), {})
                counts[bucket] = counts.get(bucket, 0) + count
        spreads = ((*names, spread(counts)) for names, counts in sorted(found.items()))
        return [one for one in spreads if one[2].counts]

    def _fold_batch(self, mark_by: str) -> int:
        """Move the mark on; 0 if there is nothing to fold, or the mark is not free and needs to be."""
        if not self.tail():
            return 0
        settled = self.database.settled()
        with self.database.written() as execute:
            found = execute(self._sql[mark_by], ()).fetchone()
            if found is None:
                return 0
            (mark,) = found
            until = min(settled, mark + self._batch)
            for name in _FOLDS:
                execute(self._sql[name], (mark, until, 1, None))
            execute(self._sql["move_mark"], (max(mark, until),))
        return int(max(0, until - mark))

    def unfold(self, execute: Execute, key: int) -> None:
        """Take what a run has added out of the sums again: its entries are about to be written anew."""
        (mark,) = execute(self._sql["mark"], ()).fetchone()
        for name in _FOLDS:
            execute(self._sql[name], (0, mark, -1, key))


def _window(since: datetime | None) -> tuple[str, str, str]:
    """When a window begins, its first whole hour, and its first whole day."""
    if since is None:
        return "", "", ""
    return stamp(since), _next(since, timedelta(hours=1))[:13], _next(since, timedelta(days=1))[:10]


def _next(at: datetime, unit: timedelta) -> str:
    """When the first whole hour or day begins that is not before this time."""
    early = min(at, _LATEST)
    return stamp(early + (datetime.min.replace(tzinfo=UTC) - early) % unit)
