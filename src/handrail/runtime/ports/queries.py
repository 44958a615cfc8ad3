"""Queries about runs, steps, artifacts and the journal, and the rows they return. Queries never write.

`RunQueries` is about single runs and lists of runs, `Measures` about all runs at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field

from handrail.engine.facts import Value
from handrail.engine.model import Authority, Lifecycle, Run
from handrail.runtime.measures import (
    DayCount,
    ErrorCount,
    HourCount,
    KindCount,
    RunCount,
    RunTimes,
    StateCounts,
    StepCount,
    StepTimes,
)
from handrail.runtime.records import JournalEntry, StepStatus

PAGE_SIZE: Final = 100
MAX_PREFIX_MATCHES: Final = 10
MAX_LIVE_RUNS: Final = 5  # that a hook or a brief shows
MAX_RECENT_RUNS: Final = 1000  # how many of the runs started last are searched for rare matches
MAX_COMMENT_ENTRIES: Final = 200
MAX_EXCERPT_BYTES: Final = 32 * 1024
MAX_SEARCH_CHARACTERS: Final = 200


class RunFilter(Struct, frozen=True):
    """Selects the runs that match every given part.

    `text` is searched in the id, the goal and the names. `agent` is the principal of the run, or the persona
    of one of its steps. `reach` limits how many runs are searched; 0 searches all.
    """

    project: str = ""
    face: str = ""
    workflow: str = ""
    lifecycles: tuple[Lifecycle, ...] = ()
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None
    agent: str = ""
    reach: int = 0


class RunRow(Struct, frozen=True):
    """A run as lists show it. `state` is its current state, or empty; `active` is when it was last called."""

    id: str
    workflow: str
    lifecycle: Lifecycle
    state: str
    revision: int
    face: str
    authority: Authority
    project: str
    goal: str
    principal: str
    parent: str
    started: datetime
    updated: datetime
    active: datetime
    ended: datetime | None
    duration_ms: int | None
    waiting: bool
    metadata: Mapping[str, Value] = field(default_factory=dict)


class LiveRun(Struct, frozen=True):
    """An active run of a project, with what hooks and briefs show of it.

    `called` is when an agent last called it. `definition` holds the workflow texts that the run began with,
    an encoded `PackedWorkflow`; a run in files or a commit has none. `refused` is the data of the last
    refusal in the current state, or empty.
    """

    id: str
    workflow: str
    lifecycle: Lifecycle
    state: str
    face: str
    authority: Authority
    project: str
    goal: str
    called: datetime
    waiting: bool
    run: Run
    definition: bytes = b""
    refused: Mapping[str, Value] = field(default_factory=dict)


class StepRow(Struct, frozen=True):
    """A step of a run, open or closed."""

    number: int
    state: str
    agent: str
    status: StepStatus
    opened: datetime | None
    closed: datetime | None
    duration_ms: int | None
    output: Mapping[str, Value] | None


class ArtifactRow(Struct, frozen=True):
    """An artifact without its text. `size` is the length of the text in bytes."""

    number: int
    id: str
    step: str
    agent: str
    type: str
    title: str
    description: str
    final: bool
    at: datetime
    size: int


class Excerpt(Struct, frozen=True):
    """An artifact of a run with its text, cut after `MAX_EXCERPT_BYTES`."""

    run: str
    artifact: ArtifactRow
    text: str


class ArtifactsOfRun(Struct, frozen=True):
    """All artifacts of a run, in order."""

    run: str


class ArtifactsOfStep(Struct, frozen=True):
    """The artifacts that a run made in a state, newest first."""

    run: str
    state: str


class ArtifactsOfType(Struct, frozen=True):
    """The artifacts of a type, of all runs, newest first."""

    type: str


class RecentArtifacts(Struct, frozen=True):
    """The artifacts of all runs, newest first."""


class AllFinalArtifacts(Struct, frozen=True):
    """The final artifacts of all runs, newest first."""


class FinalArtifactsOfRun(Struct, frozen=True):
    """The final artifacts of a run, newest first."""

    run: str


class FinalArtifactsOfProject(Struct, frozen=True):
    """The final artifacts of a project, given by its id. The run that ended last comes first."""

    project: str


ArtifactFilter: TypeAlias = (
    ArtifactsOfRun
    | ArtifactsOfStep
    | ArtifactsOfType
    | RecentArtifacts
    | AllFinalArtifacts
    | FinalArtifactsOfRun
    | FinalArtifactsOfProject
)


class ProjectRow(Struct, frozen=True):
    """A project in which runs were started. `active` is the id of its active run, or empty."""

    id: str
    name: str
    root: str
    active: str
    created: datetime


class RunQueries(Protocol):
    """Queries about the runs of a store."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Give this thread the same moment in every query inside the block. Blocks do not nest."""

    def runs(self, wanted: RunFilter, after: str = "", most: int = PAGE_SIZE) -> tuple[RunRow, ...]:
        """Return the matching runs, most recently started first, that follow the run `after`."""

    def find_last_in_reach(self, reach: int, after: str = "") -> str:
        """Return the id of the last run that a query with this reach searches; empty if it searches all."""

    def list_needing_attention(
        self, quiet: datetime, failed: datetime, most: int = PAGE_SIZE
    ) -> tuple[RunRow, ...]:
        """Return the runs that may need a person, most recently started first.

        These runs are paused, wait for a check or a person, or are running and last moved before `quiet`.
        Runs that failed since `failed` count too, unless they were forked. Searches the last
        `MAX_RECENT_RUNS` started, among the active runs and among all.
        """

    def count_active(self) -> Mapping[Lifecycle, int]:
        """Count the running and the paused runs."""

    def find_ids(self, prefix: str) -> tuple[str, ...]:
        """Return the ids with this prefix, in order, at most `MAX_PREFIX_MATCHES`."""

    def run(self, run: str) -> RunRow | None:
        """Return one run, or None if it does not exist."""

    def steps(self, run: str, after: int = 0, most: int = PAGE_SIZE) -> tuple[StepRow, ...]:
        """Return the steps of a run in order, after step number `after`."""

    def last_completed_steps(self, run: str, most: int) -> tuple[StepRow, ...]:
        """Return the last `most` completed steps of a run, in order."""

    def open_steps(self, run: str) -> tuple[StepRow, ...]:
        """Return the open steps of a run in order."""

    def artifacts(self, run: str, after: int = 0, most: int = PAGE_SIZE) -> tuple[ArtifactRow, ...]:
        """Return the artifacts of a run in order, after artifact number `after`."""

    def content(self, run: str, artifact: int) -> str | None:
        """Return the text of an artifact, or None if it does not exist."""

    def excerpts(self, choice: ArtifactFilter, most: int = PAGE_SIZE, skip: int = 0) -> tuple[Excerpt, ...]:
        """Return the chosen artifacts with their texts, cut for display, without the first `skip`."""

    def artifact_types(self, run: str = "") -> tuple[str, ...]:
        """Return the artifact types of a run, or of the last thousand artifacts of all runs.

        They are in order, at most `PAGE_SIZE`.
        """

    def list_active_ids(self, roots: Sequence[str], prefix: str = "") -> tuple[str, ...]:
        """Return the ids with this prefix of active runs in these projects.

        Most recently started first, at most `PAGE_SIZE`.
        """

    def live_runs(self, roots: Sequence[str], most: int = MAX_LIVE_RUNS) -> tuple[LiveRun, ...]:
        """Return the active runs of the first of these projects that has any, most recently called first."""

    def list_completed_ids(self) -> tuple[str, ...]:
        """Return the ids of the runs that made the last `PAGE_SIZE` final artifacts, newest run first."""

    def project(self, project: str) -> ProjectRow | None:
        """Return a project by its id, or None."""

    def journal(self, after: int = 0, most: int = PAGE_SIZE, run: str = "") -> tuple[JournalEntry, ...]:
        """Return the entries of one run, or of all, in order, after entry number `after`."""

    def last_entry_number(self) -> int:
        """Return the highest entry number below which no entry can still appear; 0 if there is none.

        Call it before you read what you show, then listen for entries after this number.
        """

    def refusals(self, run: str, most: int = 3) -> tuple[JournalEntry, ...]:
        """Return the last refusals and failures in the journal of a run, newest first."""

    def comment_entries(self, run: str, most: int = MAX_COMMENT_ENTRIES) -> tuple[JournalEntry, ...]:
        """Return the last comment entries of a run in order: comments, and their deliveries to the agent."""


class StoreReport(Struct, frozen=True):
    """The doctor's report on a store: its schema version and the one `known` to this program.

    `kept` names the journal mode of SQLite or the version of PostgreSQL. `ours` is False for a file that
    another program made. `path` is set for a file only, `wal` says if SQLite uses a write-ahead log, and
    `flaws` are what its quick check finds.
    """

    place: str
    schema: int
    known: int
    kept: str
    ours: bool = True
    path: Path | None = None
    wal: bool = True
    flaws: tuple[str, ...] = ()


class ReadOnlyStore(Struct, frozen=True):
    """A store opened read-only. `key` returns the key that signs tokens, empty if there is none."""

    records: RunQueries
    key: Callable[[], bytes]
    report: Callable[[], StoreReport]


class Measures(Protocol):
    """Counts over all runs of a store, including those that `prune` moved out of it.

    Exception: for the partial first hour or day of a time window, only what is still in the store counts.
    """

    def runs(self) -> tuple[RunCount, ...]:
        """Count the runs by workflow and lifecycle."""

    def steps(self) -> tuple[StepCount, ...]:
        """Count the steps by state, persona and status."""

    def days(self, since: datetime) -> tuple[DayCount, ...]:
        """Count the runs started since this time, ordered by day and workflow."""

    def hours(self, since: datetime) -> tuple[HourCount, ...]:
        """Count the entries by hour and kind, in this order, from the hour of this time on."""

    def kinds(self, since: datetime | None = None) -> tuple[KindCount, ...]:
        """Count the entries since this time, or ever, by kind, most frequent first."""

    def errors(self, since: datetime | None = None) -> tuple[ErrorCount, ...]:
        """Count the errors since this time, or ever, by code, most frequent first."""

    def states(self) -> tuple[StateCounts, ...]:
        """Count calls and runs in each state, ordered by workflow and state."""

    def run_times(self) -> tuple[RunTimes, ...]:
        """Return the durations of ended runs, by workflow and lifecycle."""

    def step_times(self) -> tuple[StepTimes, ...]:
        """Return the durations of completed steps, by state and persona."""


class NumberedRow(Protocol):
    """A row of a paged list."""

    @property
    def number(self) -> int:
        """The number by which the list is ordered."""


Row = TypeVar("Row", bound=NumberedRow)


def iterate_pages(page: Callable[[int], Sequence[Row]], after: int = 0) -> Iterator[Row]:
    """Yield every row after this number. `page` returns the next rows after a number."""
    while rows := page(after):
        yield from rows
        after = rows[-1].number
