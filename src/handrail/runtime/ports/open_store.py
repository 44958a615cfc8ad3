"""What an open store offers: queries, turns, maintenance, mirrors and access.

Start reading at `Store`. `FolderRuns` and `CommitRun` keep a single run in files or in a commit description.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from handrail.engine.facts import Value
from handrail.runtime.ports.access import AccessTokens, ProjectRegistry
from handrail.runtime.ports.queries import Measures, RunQueries
from handrail.runtime.ports.turn import Changes, Files, Mirror, RunCopier, RunJournal, Runs
from handrail.runtime.records import Artifact, StoredRun
from handrail.runtime.resolve import ResolvedEffects
from handrail.runtime.store_address import StoreLocation
from handrail.runtime.sweep import IdleLimits
from handrail.runtime.world import World

DAMAGE_CODES: Final[Mapping[str, str]] = {
    "file": "the database file itself is not sound",
    "reference": "a row belongs to a run that is not there",
    "unreadable": "what is there could not be read to the end",
    "revision": "the run is at another revision than its journal",
    "gap": "a turn is missing in the journal of the run",
    "chain": "the journal of the run is not the one its turns left",
    "record": "the record of the run is none",
    "columns": "a column of the run says something else than its record",
    "definition": "the text of the workflow that the run goes on with is gone",
    "steps": "the open steps of the run are not the ones kept as running",
    "replies": "more replies are kept than are ever asked for",
    "artifacts": "an artifact of the run is missing",
}


class Damage(Struct, frozen=True):
    """An inconsistency in a store that no turn leaves behind. `run` is empty if it concerns no single run."""

    code: str
    run: str
    message: str


class Counts(Struct, frozen=True):
    """How many rows of each kind there are, or were."""

    runs: int = 0
    steps: int = 0
    artifacts: int = 0
    events: int = 0


class PruneResult(Struct, frozen=True):
    """What `prune` moved into an archive. `kept` counts runs that stay because they were called meanwhile."""

    archive: Path
    archived: Counts
    kept: int


# Receives the progress of a long operation as text for people.
ProgressTextCallback: TypeAlias = Callable[[str], None]


class CopyResult(Struct, frozen=True):
    """The rows of each table in a copy of a store, and whether the copy continued an earlier attempt."""

    tables: Mapping[str, int]
    continued: bool


# Receives the name of the operation, the rows done so far, and the total.
ProgressCountCallback: TypeAlias = Callable[[str, int, int], None]


class StoreMaintenance(Protocol):
    """Check, measure and shrink a store. Takes no turns."""

    def check(self) -> Iterator[Damage]:
        """Yield every damage found, run by run. Other processes may keep using the store."""

    def size(self) -> int:
        """Return the size of the store in bytes."""

    def vacuum(self) -> tuple[int, int]:
        """Release unused space. Return the size in bytes before and after."""

    def count_old_runs(self, before: datetime) -> int:
        """Count the runs that `prune` would move: those that ended before this time.

        The newest run and the run of the newest entry always stay, so that no number is given twice.
        """

    def prune(self, before: datetime, archive: Path, tell: ProgressTextCallback) -> PruneResult:
        """Move those runs into a new archive; an archive that already has this name is kept beside it.

        Deletes only what was read back from the archive. Raises `Unreadable` if the archive does not hold
        what was written; then nothing was deleted.
        """

    def export(self, run: str) -> Mapping[str, Value] | None:
        """Return everything about one run except its tokens and replies; None if it does not exist."""


Result = TypeVar("Result")


class RunMirrors(Protocol):
    """Mirrors of runs that other stores keep."""

    def projects(self) -> tuple[str, ...]:
        """Return the roots of the projects in this store."""

    @property
    def copy_run(self) -> RunCopier:
        """Mirrors a run of another store, once the call that runs in this thread was answered."""

    def rebuild(self, source: RunJournal, run: str, papers: tuple[Artifact, ...] = ()) -> int:
        """Rebuild the mirror of a run if it contradicts the run's journal, else update it.

        `papers` are the run's files as they are now. Return how many journal entries were copied.
        """


class WorkQueue(Protocol):
    """Runs the functions it is given one after the other."""

    def call(self, work: Callable[[], Result]) -> Result:
        """Run the work and return its result, or raise what it raises.

        Raises `Busy` if the work does not begin in time; then it never runs.
        """

    async def call_async(self, work: Callable[[], Result]) -> Result:
        """Do the same from a coroutine. If it is cancelled before the work begins, the work never runs."""


class StoreLoad(Struct, frozen=True):
    """The backlog: calls that wait for the writer, and journal entries that listeners have not received."""

    waiting_calls: int
    undelivered_entries: int


class Store(Struct, frozen=True):
    """An open store. Turns run in the `writer`; queries run in any thread.

    - `data_version`: returns another number after another connection has committed.
    - `side_writer`: runs turns that wait for other programs, so that other turns do not wait for those.
    - `load_world`: returns what turns need, made with the first call. Opening a store for questions makes
      none. Raises `Unreadable` if the lifetime of tokens is not a number.
    - `queries_for_projects`: returns queries limited to the projects with these roots.
    - `sweep`: abandons idle runs and returns their ids.
    - `measure_load`: returns the backlog. Raises a fault if the store cannot be read.
    """

    location: StoreLocation
    queries: RunQueries
    maintenance: StoreMaintenance
    mirrors: RunMirrors
    measures: Measures
    access: AccessTokens
    registry: ProjectRegistry
    data_version: Callable[[], int]
    writer: WorkQueue
    side_writer: WorkQueue
    load_world: Callable[[], World]
    queries_for_projects: Callable[[Callable[[], Sequence[str]]], RunQueries]
    sweep: Callable[[IdleLimits], tuple[str, ...]]
    measure_load: Callable[[], StoreLoad]


class FolderRuns(Runs, Files, Protocol):
    """The run of a folder, its files, and the repair of a run that cannot continue."""

    def take_snapshot(self) -> AbstractContextManager[None]:
        """Read each file of the folder at most once in this block. Nothing is locked or written.

        A turn in the block reads again only what has changed by then.
        """

    def load_current(self) -> StoredRun:
        """Return the current run of the folder; at revision 0 if it has not begun."""

    def mirror_with(self, copy: RunCopier) -> Mirror:
        """Return a function that copies the run as it is at that moment; `copy` may work later."""

    def repair(self, at: datetime, *, adopt: str = "", restore: int = 0) -> StoredRun:
        """Put the run into the state `adopt`, or back to revision `restore`. What is replaced is kept."""


class CommitRun(Runs, Files, Protocol):
    """A run kept in a commit description, for one call. Its text can be read as a file."""

    @property
    def mirror_id(self) -> str:
        """The id of the run in the common store, from the description read last."""

    @property
    def text(self) -> str:
        """The description read last."""

    def load(self, run: str) -> StoredRun:
        """Return the run from the current text. There is only one, so `run` is ignored."""

    def load_with_changes(self, most: int) -> tuple[StoredRun, Changes]:
        """Return the current run, and at most `most` of the changed files."""

    def next_revision(self, stored: StoredRun, resolved: ResolvedEffects) -> int:
        """Return the revision after a turn with these effects."""
