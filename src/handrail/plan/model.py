"""What a plan document says, and what is wrong with one: data only.

Tasks stand in one flat row, each with its level, in the order of the text: nothing here nests, so nothing
that reads it has to recurse.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

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


@dataclass(frozen=True, slots=True)
class Header:
    """The first line. `ignored` is what stands behind a colon where the dialect reads no title."""

    type: str
    scope: str | None = None
    breaking: bool = False
    title: str | None = None
    ignored: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One task; `level` counts from 0. `details` stands behind the text where the dialect has them."""

    level: int
    ticked: bool
    text: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """A line that was skipped, as it stands, ahead of the `index`th item (or line) of its section."""

    section: Section
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend in a text: line and column count from 1, the span in characters.

    `shown` is the line, or the part of it around the spot, and `carets` stand below the spot.
    """

    code: str
    message: str
    repair: str
    line: int = 0
    column: int = 0
    span: int = 0
    shown: str = ""
    carets: str = ""


@dataclass(frozen=True, slots=True)
class Warned:
    """What was read otherwise than its author may have meant; nothing has to be mended."""

    code: str
    message: str
    field: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
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
    warnings: tuple[Warned, ...] = field(default=(), compare=False)
    problems: tuple[Problem, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why something was not done; the candidates are what may have been meant."""

    problems: tuple[Problem, ...]
    candidates: tuple[str, ...] = ()
