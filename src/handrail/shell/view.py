"""Questions about runs, and what they are answered with. Asking never commits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol, TypeVar

from handrail.engine.facts import Value
from handrail.engine.model import Authority, Lifecycle
from handrail.shell.records import StepStatus, Written
from handrail.telemetry.measures import (
    DayMeasured,
    ErrorMeasured,
    KindMeasured,
    RunsMeasured,
    StepsMeasured,
)

PAGE: Final = 100
"""How many rows a list gives at a time."""

NAMED: Final = 10
"""How many ids are given at most for the beginning of one."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs are wanted: those that fit every part that is given; `text` is in the id, goal or a name."""

    project: str = ""
    face: str = ""
    workflow: str = ""
    lifecycles: tuple[Lifecycle, ...] = ()
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class RunRow:
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


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step of a run, open or closed."""

    number: int
    state: str
    agent: str
    status: StepStatus
    opened: datetime | None
    closed: datetime | None
    duration_ms: int | None
    output: Mapping[str, Value] | None


@dataclass(frozen=True, slots=True)
class ArtifactRow:
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


class Records(Protocol):
    """What a store can be asked about its runs."""

    def runs(self, wanted: Wanted, after: str = "", most: int = PAGE) -> tuple[RunRow, ...]:
        """The runs wanted, last started first, from behind the run `after`."""
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

    def artifacts(self, run: str, after: int = 0, most: int = PAGE) -> tuple[ArtifactRow, ...]:
        """Its artifacts in order, from behind artifact number `after`."""
        ...

    def content(self, run: str, artifact: int) -> str | None:
        """The text of an artifact."""
        ...

    def journal(self, after: int = 0, most: int = PAGE, run: str = "") -> tuple[Written, ...]:
        """The entries of one run, or of all, in order, from behind entry number `after`."""
        ...


class Measures(Protocol):
    """What a store can be asked about all its runs at once, also about those that were moved out of it.

    Only the codes of errors, and what was left of the first hour or day, are those of what is still there.
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

    def kinds(self, since: datetime | None = None) -> tuple[KindMeasured, ...]:
        """The entries made since this time, or ever, by kind, the most frequent first."""
        ...

    def errors(self, since: datetime | None = None) -> tuple[ErrorMeasured, ...]:
        """The errors entered since this time, or ever, by code, the most frequent first."""
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
