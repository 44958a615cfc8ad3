"""Questions about runs, and what they are answered with. Asking never commits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field

from handrail.engine.facts import Value
from handrail.engine.model import Authority, Lifecycle, Run
from handrail.shell.records import StepStatus, Written
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

PAGE: Final = 100
"""How many rows a list gives at a time."""

NAMED: Final = 10
"""How many ids are given at most for the beginning of one."""

LIVE: Final = 5
"""How many runs under way a hook or a brief tells of at most."""

LATELY: Final = 1000
"""How many of the runs started last are looked through for what is rare among all."""

REMARKS: Final = 200
"""How many of the last entries about comments are looked at."""

EXCERPT: Final = 32 * 1024
"""How many bytes of the text of an artifact an excerpt has at most."""

LONGEST: Final = 200
"""How many characters a text has at most that runs are searched for."""


class Wanted(Struct, frozen=True):
    """Which runs are wanted: those that fit every part that is given; `text` is in the id, goal or a name.

    `agent` is the principal whose run it is, or the persona of a step of it. With a `reach` only so many runs
    are looked through.
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
    """A run as lists show it. `state` is where it stands, or empty; `active` when it was last called."""

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
    """A run that is under way in a project, with what hooks and briefs say about it.

    `called` is when an agent last called it. `definition` has the texts that the run began with, as
    `definitions.Packed`; a run in files or a commit has none. `refused` is the data of the last refusal in
    the state that the run is in, or empty.
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
    """An artifact without its text; `size` is that of the text in bytes."""

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
    """An artifact of a run with its text, or with the beginning of one longer than `EXCERPT` bytes."""

    run: str
    artifact: ArtifactRow
    text: str


class OfRun(Struct, frozen=True):
    """The artifacts of a run, in order."""

    run: str


class OfStep(Struct, frozen=True):
    """The artifacts that a run made in a state, the last first."""

    run: str
    state: str


class OfType(Struct, frozen=True):
    """The artifacts of a type, of all runs, the last first."""

    type: str


class Recent(Struct, frozen=True):
    """The artifacts of all runs, the last first."""


class AllFinal(Struct, frozen=True):
    """The final artifacts of all runs, the last first."""


class FinalOf(Struct, frozen=True):
    """The final artifacts of a run, the last first."""

    run: str


class FinalIn(Struct, frozen=True):
    """The final artifacts of a project, by its id: those of the run that ended last first."""

    project: str


Choice: TypeAlias = OfRun | OfStep | OfType | Recent | AllFinal | FinalOf | FinalIn
"""Which artifacts are wanted, and in which order."""


class ProjectRow(Struct, frozen=True):
    """A project that runs were started in; `active` is the run that is under way there, or empty."""

    id: str
    name: str
    root: str
    active: str
    created: datetime


class Records(Protocol):
    """What a store can be asked about its runs."""

    def moment(self) -> AbstractContextManager[None]:
        """A block in which every answer to this thread is of the same moment; none stands inside another."""
        ...

    def runs(self, wanted: Wanted, after: str = "", most: int = PAGE) -> tuple[RunRow, ...]:
        """The runs wanted, last started first, from behind the run `after`."""
        ...

    def further(self, reach: int, after: str = "") -> str:
        """The last run that a question with this reach looks through; empty if no others are behind it."""
        ...

    def needing(self, quiet: datetime, failed: datetime, most: int = PAGE) -> tuple[RunRow, ...]:
        """The runs that may need somebody, last started first.

        They are paused, wait for a check or a person, or run and were last moved before `quiet`; or they
        failed since `failed`, and nobody has forked them. Of those under way, and of all, the last `LATELY`
        started are looked at.
        """
        ...

    def under_way(self) -> Mapping[Lifecycle, int]:
        """How many runs are running and paused."""
        ...

    def named(self, prefix: str) -> tuple[str, ...]:
        """The ids that begin like this, in order, at most `NAMED`."""
        ...

    def run(self, run: str) -> RunRow | None:
        """One run."""
        ...

    def steps(self, run: str, after: int = 0, most: int = PAGE) -> tuple[StepRow, ...]:
        """Its steps in order, from behind step number `after`."""
        ...

    def last_done(self, run: str, most: int) -> tuple[StepRow, ...]:
        """So many of its completed steps in order, the last ones."""
        ...

    def open_steps(self, run: str) -> tuple[StepRow, ...]:
        """Its open steps in order."""
        ...

    def artifacts(self, run: str, after: int = 0, most: int = PAGE) -> tuple[ArtifactRow, ...]:
        """Its artifacts in order, from behind artifact number `after`."""
        ...

    def content(self, run: str, artifact: int) -> str | None:
        """The text of an artifact."""
        ...

    def excerpts(self, choice: Choice, most: int = PAGE, skip: int = 0) -> tuple[Excerpt, ...]:
        """The artifacts of this choice with what is shown of their texts, without the first `skip`."""
        ...

    def types(self, run: str = "") -> tuple[str, ...]:
        """The types of the artifacts of a run, or of the last thousand of all; in order, at most `PAGE`."""
        ...

    def live(self, roots: Sequence[str], prefix: str = "") -> tuple[str, ...]:
        """The ids, beginning so, of runs under way in these projects, last started first, at most `PAGE`."""
        ...

    def live_runs(self, roots: Sequence[str], most: int = LIVE) -> tuple[LiveRun, ...]:
        """The runs under way in the first of these projects that has any, the one called last first."""
        ...

    def completed(self) -> tuple[str, ...]:
        """The ids of the runs that made the last `PAGE` final artifacts, last started first."""
        ...

    def project(self, project: str) -> ProjectRow | None:
        """A project, by its id."""
        ...

    def journal(self, after: int = 0, most: int = PAGE, run: str = "") -> tuple[Written, ...]:
        """The entries of one run, or of all, in order, from behind entry number `after`."""
        ...

    def last(self) -> int:
        """The number of the last entry of all that none can come before any more; 0 if there is none.

        Whoever shows something and wants to hear what comes behind it asks this first.
        """
        ...

    def refusals(self, run: str, most: int = 3) -> tuple[Written, ...]:
        """The last entries of a run that tell of a refusal or a failure, the newest first."""
        ...

    def remarks(self, run: str, most: int = REMARKS) -> tuple[Written, ...]:
        """The last comments on a run, and that its agent was told of some; in order."""
        ...


class StoreReport(Struct, frozen=True):
    """What the doctor says about a store: its schema, the schema `known` to this program, and what keeps it.

    `ours` is False for a file that another program made. `path` is given for a file only, `wal` says whether
    its journal is one, and `flaws` are what a quick check of SQLite finds.
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
    """A store that was opened to read only. `key` gives the key that it signs with, or nothing."""

    records: Records
    key: Callable[[], bytes]
    report: Callable[[], StoreReport]


OpenReadOnly: TypeAlias = Callable[[str], AbstractContextManager[ReadOnlyStore | None]]
"""Opens the store at an address to read only; None if there is no store there. Raises a `Fault`.

It makes no store, migrates none, and waits two seconds at most for a server.
"""


class Measures(Protocol):
    """What a store can be asked about all its runs at once, also about those that were moved out of it.

    Only what was left of the first hour or day of a window is that of what is still there.
    """

    def runs(self) -> tuple[RunsMeasured, ...]:
        """The runs by workflow and lifecycle."""
        ...

    def steps(self) -> tuple[StepsMeasured, ...]:
        """The steps by state, persona and status."""
        ...

    def days(self, since: datetime) -> tuple[DayMeasured, ...]:
        """The runs started since this time, by day and workflow, in this order."""
        ...

    def hours(self, since: datetime) -> tuple[HourMeasured, ...]:
        """The entries of each hour, by kind, from the hour of this time on, in this order."""
        ...

    def kinds(self, since: datetime | None = None) -> tuple[KindMeasured, ...]:
        """The entries made since this time, or ever, by kind, the most frequent first."""
        ...

    def errors(self, since: datetime | None = None) -> tuple[ErrorMeasured, ...]:
        """The errors entered since this time, or ever, by code, the most frequent first."""
        ...

    def states(self) -> tuple[StateMeasured, ...]:
        """What became of calls and runs in each state of a workflow, in this order."""
        ...

    def run_times(self) -> tuple[RunTimes, ...]:
        """How long the runs took that have ended, by workflow and lifecycle."""
        ...

    def step_times(self) -> tuple[StepTimes, ...]:
        """How long the steps took that were completed, by state and persona."""
        ...


class Numbered(Protocol):
    """A row of a list that is told in pages."""

    @property
    def number(self) -> int:
        """Its place in the list."""
        ...


Row = TypeVar("Row", bound=Numbered)


def every(page: Callable[[int], Sequence[Row]], after: int = 0) -> Iterator[Row]:
    """Every row behind this number, page by page; `page` gives those behind another."""
    while found := page(after):
        yield from found
        after = found[-1].number
