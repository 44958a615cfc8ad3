"""The nouns of the engine: workflows, runs, events and decisions. Data only."""

import dataclasses
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias

from msgspec import Struct, field

from handrail.engine.facts import Fact, Type, Value
from handrail.engine.guards import Guard
from handrail.engine.problems import Place

NAME = "{name}"
"""What stands in a folder in place of the name of a run."""

FLAT = "collab-state.json"
STATE_FILES = ("state.json", FLAT)
"""The files that a run in files can be told in; the first unless a workflow says otherwise.

A flat one tells every variable beside the state, for other programs that know it.
"""


class Authority(StrEnum):
    """Where the state of a run lives: in the store, in the project's files, or in a commit description."""

    SQL = "sql"
    FILES = "files"
    DESCRIPTION = "description"


class Lifecycle(StrEnum):
    """Whether a run is under way; the last four are never left."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    ABANDONED = "abandoned"
    DIVERGED = "diverged"


class Who(StrEnum):
    """Who may act, or who did."""

    AGENT = "agent"
    PERSON = "person"
    SERVER = "server"


AGENT: Final = Who.AGENT
RUNNING: Final = Lifecycle.RUNNING
"""The same by a shorter way: Python looks a member up at length, whenever it is named by its class."""


# what a workflow is made of


class Contract(Struct, frozen=True):
    """What a step's output must have besides the common form. `schema` is a JSON Schema, or None."""

    artifacts: tuple[str, ...] = ()
    min_confidence: float = 0.0
    no_blockers: bool = False
    schema: Mapping[str, Value] | None = None


class Brief(Struct, frozen=True):
    """What the agent is told when a step opens, and must bring back. `names` are those in its task."""

    agent: str
    task: str
    names: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    allowed_actions: tuple[str, ...] = ()
    forbidden_actions: tuple[str, ...] = ()
    done_when: tuple[str, ...] = ()
    contract: Contract = field(default_factory=Contract)


class State(Struct, frozen=True):
    """A node of a workflow. A router has no stay; a terminal state ends the run; `attempts` 0 means no cap.

    `say` names the text of how things stand here. `outputs` are the facts that guards may read from the
    output of a step here. `edits` are the files that an agent may change meanwhile, None where that is its
    own affair. `extra` is what a face reads.
    """

    name: str
    place: Place
    about: str = ""
    phase: str = ""
    router: bool = False
    terminal: bool = False
    attempts: int = 0
    say: str = ""
    brief: Brief | None = None
    outputs: Mapping[str, Fact] = field(default_factory=dict)
    edits: tuple[str, ...] | None = None
    extra: Mapping[str, Value] = field(default_factory=dict)


class ToState(Struct, frozen=True):
    """Go to this state."""

    name: str


class ToVariable(Struct, frozen=True):
    """Go to the state that this variable holds."""

    name: str


class ToDerived(Struct, frozen=True):
    """Go where the drafted text stands: the state is the value of this fact."""

    fact: str


class Stay(Struct, frozen=True):
    """Stay in the state, and in the step."""


Target: TypeAlias = ToState | ToVariable | ToDerived | Stay


class Literal(Struct, frozen=True):
    """A value as written."""

    value: Value


class Reference(Struct, frozen=True):
    """The value of a fact at the time of the move; `run.state` is the state being left."""

    fact: str


Assigned: TypeAlias = Literal | Reference


class Write(Struct, frozen=True):
    """Write a file of the task folder, from a draft or a template; `if_absent`: leave one that is there."""

    path: str
    source: str = ""
    template: str = ""
    if_absent: bool = False


class Archive(Struct, frozen=True):
    """Move files into a new folder: never into one that exists; a missing file is passed over."""

    paths: tuple[str, ...]
    to: str


class Describe(Struct, frozen=True):
    """Replace the commit description by a draft's text; `anew`: leave it, and begin another with that."""

    source: str
    anew: bool = False


Effect: TypeAlias = Write | Archive | Describe


class Transition(Struct, frozen=True):
    """A row: in one of `sources`, on `trigger` (None in a router), if its guards hold, go to `to`.

    One that `only_says` stays, sets and does nothing: it says its text, and only the journal hears of it.
    """

    id: str
    sources: tuple[str, ...]
    trigger: str | None
    place: Place
    when: tuple[Guard, ...] = ()
    accept: tuple[Guard, ...] = ()
    drafts: tuple[tuple[str, str], ...] = ()
    to: Target = field(default_factory=Stay)
    set: tuple[tuple[str, Assigned], ...] = ()
    do: tuple[Effect, ...] = ()
    say: str = ""
    refuse: str = ""
    only_says: bool = False
    scope: str = ""


class Variable(Struct, frozen=True):
    """A declared variable or input: what it may hold, and what it holds at first."""

    name: str
    type: Type
    place: Place
    about: str = ""
    default: Value = None
    required: bool = False
    choices: tuple[Value, ...] = ()


class Tool(Struct, frozen=True):
    """A tool that only sends a trigger: who says it, with what; one that `reads` has no rows.

    `extra` is what a face reads.
    """

    name: str
    place: Place
    about: str = ""
    who: Who = Who.AGENT
    reads: bool = False
    params: Mapping[str, Variable] = field(default_factory=dict)
    extra: Mapping[str, Value] = field(default_factory=dict)


class Prompt(Struct, frozen=True):
    """A text that a person may put into the chat as it stands, by the name of the prompt."""

    name: str
    place: Place
    about: str
    text: str


class Text(Struct, frozen=True):
    """A named text of a workflow, in one or more parts, with the names its placeholders use."""

    name: str
    parts: Mapping[str, str]
    names: tuple[str, ...]
    place: Place


Index: TypeAlias = Mapping[tuple[str, str | None], tuple[Transition, ...]]


class Needs(Struct, frozen=True):
    """What must be read before a decision: facts, and drafts as (name, kind)."""

    facts: frozenset[str]
    drafts: frozenset[tuple[str, str]]


@dataclasses.dataclass(frozen=True, slots=True)
class Workflow:
    """The data that describes the way. `index` gives the rows of a state and trigger, in their order.

    `folder` is where the files of a run lie below the project, if its state lives in files; with `NAME` in
    it there are several, a run in each. `state_file` is the file there that tells how it stands.
    `memo` holds what was worked out from the rest before, by who asked.
    """

    name: str
    version: int
    authority: Authority
    place: Place
    digest: str
    initial: str
    states: Mapping[str, State]
    rows: tuple[Transition, ...]
    index: Index
    facts: Mapping[str, Fact]
    folder: str = ""
    state_file: str = ""
    about: str = ""
    derive: str = ""
    inputs: Mapping[str, Variable] = dataclasses.field(default_factory=dict)
    vars: Mapping[str, Variable] = dataclasses.field(default_factory=dict)
    tools: Mapping[str, Tool] = dataclasses.field(default_factory=dict)
    prompts: Mapping[str, Prompt] = dataclasses.field(default_factory=dict)
    texts: Mapping[str, Text] = dataclasses.field(default_factory=dict)
    memo: dict[tuple[object, ...], Any] = dataclasses.field(
        default_factory=dict, init=False, compare=False, repr=False
    )


# what a run is made of


class Event(Struct, frozen=True, gc=False):
    """One arrival of a trigger: by whom, with what, for which open step (None: the only one)."""

    trigger: str
    payload: Mapping[str, Value] = field(default_factory=dict)
    by: Who = Who.AGENT
    note: str = ""
    step: int | None = None


class Step(Struct, frozen=True, gc=False):
    """One stay of a run in a state. `held` is what it has received while it waits for something else."""

    number: int
    state: str
    attempt: int
    held: Event | None = None


class Run(Struct, frozen=True, gc=False):
    """One walk through a workflow; `digest` binds it to the text it started with."""

    id: str
    workflow: str
    digest: str
    lifecycle: Lifecycle = Lifecycle.IDLE
    open: tuple[Step, ...] = ()
    steps: int = 0
    attempts: Mapping[str, int] = field(default_factory=dict)
    vars: Mapping[str, Value] = field(default_factory=dict)
    inputs: Mapping[str, Value] = field(default_factory=dict)
    reason: str = ""


# what a decision is made of


class Move(Struct, frozen=True, gc=False):
    """One row that was taken, from where to where."""

    row: str
    source: str
    target: str


class Option(Struct, frozen=True):
    """A trigger that would not be refused now, and whose word it is."""

    trigger: str
    who: Who


class Seen(Struct, frozen=True):
    """A fact as it was read."""

    fact: str
    value: Value


class Accepted(Struct, frozen=True, gc=False):
    """The run moved. `says` names the texts to tell, `effects` what is to be done, in order."""

    run: Run
    moves: tuple[Move, ...] = ()
    effects: tuple[Effect, ...] = ()
    says: tuple[str, ...] = ()


class Waiting(Struct, frozen=True):
    """The run stays, holds what it was given, and waits for these facts."""

    run: Run
    rule: str
    waits_for: tuple[str, ...]


class Refused(Struct, frozen=True):
    """Nothing moved: which rule said no, what was seen, what is needed, and what may be called instead."""

    code: str
    rule: str
    seen: tuple[Seen, ...] = ()
    needed: tuple[str, ...] = ()
    next: tuple[Option, ...] = ()
    say: str = ""


Decision: TypeAlias = Accepted | Waiting | Refused
