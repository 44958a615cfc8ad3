"""Define the engine's data: workflows, runs, events and decisions. No behaviour."""

import dataclasses
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias

from msgspec import Struct, field

from handrail.engine.facts import Fact, Type, Value
from handrail.engine.guards import Guard
from handrail.engine.problems import Place
from handrail.engine.refusals import RefusalCode, TroubleCode

RUN_NAME_PLACEHOLDER = "{name}"
"""The part of a folder path that is replaced by the run's name."""

FLAT_STATE_FILE = "collab-state.json"

STATE_FILES = ("state.json", FLAT_STATE_FILE)
"""The names a state file can have; the first is the default.

The flat one stores every variable beside the state, for other programs that read it.
"""


class Authority(StrEnum):
    """Where the state of a run lives: in the store, in the project's files, or in a commit description."""

    SQL = "sql"
    FILES = "files"
    DESCRIPTION = "description"


class Lifecycle(StrEnum):
    """The lifecycle of a run. It never leaves one of the last four."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    ABANDONED = "abandoned"
    DIVERGED = "diverged"


class Actor(StrEnum):
    """Who may act, or who did."""

    AGENT = "agent"
    PERSON = "person"
    SERVER = "server"


AGENT: Final = Actor.AGENT

RUNNING: Final = Lifecycle.RUNNING
"""Shortcuts for speed: looking a member up through its enum class is slow in Python."""


# parts of a workflow


class Contract(Struct, frozen=True):
    """What a step's output must have besides the common form. `schema` is a JSON Schema, or None."""

    artifacts: tuple[str, ...] = ()
    min_confidence: float = 0.0
    no_blockers: bool = False
    schema: Mapping[str, Value] | None = None


class Brief(Struct, frozen=True):
    """A step's assignment: what the agent must do and return. `names` are the placeholders of `task`."""

    agent: str
    task: str
    names: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    allowed_actions: tuple[str, ...] = ()
    forbidden_actions: tuple[str, ...] = ()
    done_when: tuple[str, ...] = ()
    contract: Contract = field(default_factory=Contract)


class State(Struct, frozen=True):
    """A state of a workflow.

    A run leaves a router at once and ends in a terminal state. `attempts` 0 means no limit. `say` names the
    text that describes this state. `outputs` are the facts that guards may read from a step's output here.
    `edits` are the files that an agent may change in this state; None means any file. `extra` is data for the
    interfaces.
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
    """Go to the state of the drafted text: the value of this fact."""

    fact: str


class Stay(Struct, frozen=True):
    """Stay in the state and in the step."""


Target: TypeAlias = ToState | ToVariable | ToDerived | Stay


class LiteralValue(Struct, frozen=True):
    """A value as written."""

    value: Value


class FactReference(Struct, frozen=True):
    """The value of a fact at the time of the move; `run.state` is the state being left."""

    fact: str


AssignedValue: TypeAlias = LiteralValue | FactReference


class Write(Struct, frozen=True):
    """Write a file of the task folder, from a draft or a template. `if_absent`: keep an existing file."""

    path: str
    source: str = ""
    template: str = ""
    if_absent: bool = False


class Archive(Struct, frozen=True):
    """Move files into a new folder, never into an existing one. Missing files are skipped."""

    paths: tuple[str, ...]
    to: str


class Describe(Struct, frozen=True):
    """Replace the commit description with a draft's text. `anew`: keep it and start another with the text."""

    source: str
    anew: bool = False


Effect: TypeAlias = Write | Archive | Describe


class Transition(Struct, frozen=True):
    """A row: in one of `sources`, on `trigger` (None in a router), if its guards hold, go to `to`.

    A row with `only_says` stays and changes nothing: it says its text and is only recorded in the journal.
    """

    id: str
    sources: tuple[str, ...]
    trigger: str | None
    place: Place
    when: tuple[Guard, ...] = ()
    accept: tuple[Guard, ...] = ()
    drafts: tuple[tuple[str, str], ...] = ()
    to: Target = field(default_factory=Stay)
    set: tuple[tuple[str, AssignedValue], ...] = ()
    do: tuple[Effect, ...] = ()
    say: str = ""
    refuse: str = ""
    only_says: bool = False
    scope: str = ""


class Variable(Struct, frozen=True):
    """A declared variable or input: what it may hold, and its initial value."""

    name: str
    type: Type
    place: Place
    about: str = ""
    default: Value = None
    required: bool = False
    choices: tuple[Value, ...] = ()


class Tool(Struct, frozen=True):
    """A tool that only sends a trigger: who may send it, and with which parameters.

    A tool that `reads` has no rows. `extra` is data for the interfaces.
    """

    name: str
    place: Place
    about: str = ""
    who: Actor = Actor.AGENT
    reads: bool = False
    params: Mapping[str, Variable] = field(default_factory=dict)
    extra: Mapping[str, Value] = field(default_factory=dict)


class Prompt(Struct, frozen=True):
    """A text that a person may insert into the chat unchanged, by the name of the prompt."""

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


TransitionIndex: TypeAlias = Mapping[tuple[str, str | None], tuple[Transition, ...]]


class Requirements(Struct, frozen=True):
    """What must be read before a decision: facts, and drafts as (name, kind)."""

    facts: frozenset[str]
    drafts: frozenset[tuple[str, str]]


@dataclasses.dataclass(frozen=True, slots=True)
class Workflow:
    """A compiled workflow. `index` gives the rows of a state and trigger, in their order.

    `folder` is where a run's files are below the project, if its state lives in files. If it contains
    `RUN_NAME_PLACEHOLDER`, there is one folder per run. `state_file` is the file there that stores the state.
    `reads` is true if a row, a task or a text names a fact or a draft that is read from the world. `memo`
    caches what functions computed from the workflow, keyed by the function.
    """

    name: str
    version: int
    authority: Authority
    place: Place
    digest: str
    initial: str
    states: Mapping[str, State]
    rows: tuple[Transition, ...]
    index: TransitionIndex
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
    reads: bool = True
    memo: dict[tuple[object, ...], Any] = dataclasses.field(
        default_factory=dict, init=False, compare=False, repr=False
    )


# parts of a run


class Event(Struct, frozen=True, gc=False):
    """One trigger that was sent: by whom, with what payload, for which open step (None: the only one)."""

    trigger: str
    payload: Mapping[str, Value] = field(default_factory=dict)
    by: Actor = Actor.AGENT
    note: str = ""
    step: int | None = None


class Step(Struct, frozen=True, gc=False):
    """One stay of a run in a state. `held` is the event it received while it waits for facts."""

    number: int
    state: str
    attempt: int
    held: Event | None = None


class Run(Struct, frozen=True, gc=False):
    """One execution of a workflow; `digest` binds it to the workflow text it started with."""

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


# parts of a decision


class Move(Struct, frozen=True, gc=False):
    """One row that was taken, from where to where."""

    row: str
    source: str
    target: str


class Option(Struct, frozen=True):
    """A trigger that would not be refused now, and who may send it."""

    trigger: str
    who: Actor


class FactReading(Struct, frozen=True):
    """A fact as it was read."""

    fact: str
    value: Value


class Accepted(Struct, frozen=True, gc=False):
    """The run moved. `says` names the texts to show, `effects` what to do, in order."""

    run: Run
    moves: tuple[Move, ...] = ()
    effects: tuple[Effect, ...] = ()
    says: tuple[str, ...] = ()


class Waiting(Struct, frozen=True):
    """The run stays in its step, holds the event, and waits for these facts."""

    run: Run
    rule: str
    waits_for: tuple[str, ...]


class Refused(Struct, frozen=True):
    """Nothing moved: which rule refused, what was seen, what is needed, and what may be called instead."""

    code: RefusalCode | TroubleCode
    rule: str
    seen: tuple[FactReading, ...] = ()
    needed: tuple[str, ...] = ()
    next: tuple[Option, ...] = ()
    say: str = ""


Decision: TypeAlias = Accepted | Waiting | Refused
