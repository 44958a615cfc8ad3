"""What a plan document says, and what is wrong with one: data only.

Tasks stand in one flat row, each with its level, in the order of the text: nothing here nests, so nothing
that reads it has to recurse.

What every reading makes is a struct of msgspec: to make a frozen dataclass takes seven times as long, and was
half of the time of a reading. None of them can be part of a circle, so the collector need not look at them.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct

from handrail.plan.findings import Finding
from handrail.plan.problems import Problem, Warned

COMPLETE: Final = "COMPLETE"
"""The directive of a plan that is finished."""

Constraint: TypeAlias = tuple[str, str]
"""What a constraint forbids: its key and its value."""


class State(StrEnum):
    """How far a text could be read."""

    EMPTY = "empty"
    UNKNOWN = "unknown"
    PARSED = "parsed"
    HALTED = "halted"


class Section(StrEnum):
    """The parts of a body that are made of lines of their own."""

    CONSTRAINTS = "constraints"
    TASKS = "tasks"
    DIRECTION = "direction"


class Header(Struct, frozen=True, gc=False):
    """The first line. `ignored` is what stands behind a colon where the dialect reads no title."""

    type: str
    scope: str | None = None
    breaking: bool = False
    title: str | None = None
    ignored: str = ""


class Task(Struct, frozen=True, gc=False):
    """One task; `level` counts from 0. `details` stands behind the text where the dialect has them."""

    level: int
    ticked: bool
    text: str
    details: str = ""


class Kept(Struct, frozen=True, gc=False):
    """A line that was skipped, as it stands, ahead of the `index`th item (or line) of its section."""

    section: Section
    index: int
    text: str


class Plan(Struct, frozen=True, gc=False):
    """A plan document. What was not there is None; an empty tuple says that the section is there.

    Two plans are equal if they say the same, whatever was warned of on the way.
    """

    state: State
    header: Header | None = None
    description: str | None = None
    constraints: tuple[Constraint, ...] | None = None
    tasks: tuple[Task, ...] | None = None
    direction: str | None = None
    finished: bool = False
    kept: tuple[Kept, ...] = ()
    warnings: tuple[Warned, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __eq__(self, other: object) -> bool:
        """True if both say the same."""
        return self._said() == other._said() if isinstance(other, Plan) else NotImplemented

    def __hash__(self) -> int:
        """Of what it says."""
        return hash(self._said())

    def _said(self) -> tuple[object, ...]:
        body = (self.description, self.constraints, self.tasks, self.direction, self.finished, self.kept)
        return (self.state, self.header, *body)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why something was not done: what is wrong with a text or with a field, and what may have been meant."""

    problems: tuple[Problem, ...] = ()
    findings: tuple[Finding, ...] = ()
    candidates: tuple[str, ...] = ()
