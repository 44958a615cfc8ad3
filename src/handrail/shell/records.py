"""What goes through the ports: a run as it is kept, one turn of it, and what is remembered of a turn."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from pathlib import PurePath
from typing import Final as Constant

from msgspec import Struct, field
from msgspec.structs import replace

from handrail.documents.statefile import Passage
from handrail.engine.facts import Value
from handrail.engine.model import Authority, Run, Who
from handrail.telemetry.entries import Entry


class Caller(Struct, frozen=True):
    """Who called: whose word it is, and by which principal, client and agent it came."""

    by: Who = Who.AGENT
    principal: str = ""
    client: str = ""
    agent: str = ""


class Origin(Struct, frozen=True):
    """What a run is given when it starts, and keeps: where it belongs, what for, and whose it is."""

    face: str
    authority: Authority
    project: str = ""
    goal: str = ""
    principal: str = ""
    parent: str = ""
    metadata: Mapping[str, Value] = field(default_factory=dict)

    def marked(self, marks: Mapping[str, Value]) -> "Origin":
        """The same, with these marks in its metadata."""
        return replace(self, metadata={**self.metadata, **marks}) if marks else self


number_of: Constant = attrgetter("number")
"""The number of a step, open or opened."""

ORPHANED: Constant = "orphaned"
"""The code of a trouble: what says where the run is, is gone, and what the run is about is not."""


class Trouble(Struct, frozen=True):
    """Why a run cannot go on until a person has looked: a code, what was found, and the repair."""

    code: str
    message: str
    repair: str


class Stored(Struct, frozen=True):
    """A run as a store holds it. Revision 0: it is not there yet; each accepted turn adds one.

    `tokens` gives the hash of the token of each open step, by its number; a store whose tokens are good for
    a revision keeps none. `opened` is when each was opened, where that is known. `active` is when the run was
    last called, or its current step read. `adopted` says that the run was taken as a person or a clone left
    it, and is entered with the next turn. A run in a commit has a revision that stands for its
    text. `unheard` are the comments that no answer has told its agent yet; of very many the last.
    """

    run: Run
    origin: Origin
    revision: int = 0
    started: datetime | None = None
    updated: datetime | None = None
    active: datetime | None = None
    tokens: Mapping[int, str] = field(default_factory=dict)
    opened: Mapping[int, datetime] = field(default_factory=dict)
    trouble: Trouble | None = None
    adopted: str = ""
    unheard: tuple["Written", ...] = ()

    def moved(
        self,
        run: Run,
        at: datetime,
        tokens: Mapping[int, str],
        opened: Sequence["Opened"],
        marks: Mapping[str, Value],
    ) -> "Stored":
        """The run as every store has it once a turn has made this of it."""
        known = {**self.opened, **dict.fromkeys(map(number_of, opened), at)}
        return Stored(
            run,
            self.origin.marked(marks),
            self.revision + 1,
            self.started or at,
            at,
            at,
            tokens,
            {step.number: known[step.number] for step in run.open if step.number in known},
        )

    def took(self, step: int, at: datetime) -> int:
        """How many milliseconds the open step of this number has taken by then; 0 if nobody knows."""
        return milliseconds(self.opened.get(step, at), at)


class StepStatus(StrEnum):
    """How a step stands, in the words of the store."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class Closed(Struct, frozen=True):
    """A step that this turn closes, with the output it was closed with, if any."""

    number: int
    state: str
    status: StepStatus
    output: Mapping[str, Value] | None = None


class Opened(Struct, frozen=True):
    """A step that this turn opens."""

    number: int
    state: str
    agent: str


class Artifact(Struct, frozen=True):
    """A text that a step handed in, or that finishing the run made."""

    id: str
    step: str
    agent: str
    type: str
    title: str
    content: str
    description: str = ""


REMEMBERED: Constant = 64
"""How many turns of a run are remembered with their replies."""


class Spent(Struct, frozen=True):
    """What is remembered of a turn, so that the same call gets the same answer.

    `token` is the hash of the token it was called with, `request` the hash of what came with it.
    """

    token: str
    request: str
    reply: bytes


class Final(Struct, frozen=True):
    """What a file will be once the turn is applied: these bytes, or absent. `before` is the hash seen."""

    path: str
    before: str | None
    after: bytes | None


class Definition(Struct, frozen=True):
    """The text of the workflow a run started with, under the digest that binds the run to it."""

    digest: str
    workflow: str
    version: int
    text: bytes


class Turn(Struct, frozen=True):
    """One accepted turn, ready to be saved at one commit point, if `before` is still the revision there.

    `tokens` are the hashes of the tokens of the steps that are open after it; `marks` go into the metadata of
    the run; `passages` is what a state file tells of it, and `caller` is who its entries are signed by. The
    text that it `describes` begins `anew`, or takes the place of the one that is there. The first turn of a
    run may name another one that it `inherits` from: what that has finished and all its artifacts are its own
    from then on, none final.
    """

    before: Stored
    run: Run
    at: datetime
    spent: Spent
    tokens: Mapping[int, str] = field(default_factory=dict)
    closed: tuple[Closed, ...] = ()
    opened: tuple[Opened, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    entries: tuple[Entry, ...] = ()
    finals: tuple[Final, ...] = ()
    passages: tuple[Passage, ...] = ()
    describes: str | None = None
    anew: bool = False
    definition: Definition | None = None
    marks: Mapping[str, Value] = field(default_factory=dict)
    inherits: str = ""
    caller: Caller = field(default_factory=Caller)

    @property
    def revision(self) -> int:
        """The revision that this turn makes."""
        return self.before.revision + 1

    @property
    def after(self) -> Stored:
        """The run as every store has it once this turn is saved."""
        return self.before.moved(self.run, self.at, self.tokens, self.opened, self.marks)


def check_effects(turn: Turn, *, on_files: bool) -> None:
    """Raise `ValueError` for a turn that does what its store cannot: acknowledged, it would be lost."""
    if turn.describes is not None or (turn.finals and not on_files):
        raise ValueError("the workflow of this run acts on files or a description, and its store does not")
    if turn.inherits and on_files:
        raise ValueError("a folder has one run only, and there is none that it could inherit from")


class Written(Struct, frozen=True):
    """An entry as the journal holds it: its place in the store's order, and the turn it belongs to.

    `revision` is 0 for what belongs to no accepted turn, such as a refusal.
    """

    number: int
    run: str
    revision: int
    at: datetime
    entry: Entry


class Change(Struct, frozen=True):
    """Told to listeners: this run has come to this revision, or something was entered about it."""

    run: str
    revision: int


_MILLISECOND = timedelta(milliseconds=1)


def project_id(root: str) -> str:
    """The id of a project: the same on every start, another for every root."""
    return hashlib.sha256(root.encode()).hexdigest()[:16]


def project_name(root: str) -> str:
    """What a project is called until somebody says otherwise: like its folder."""
    return PurePath(root).name or root


def rfc3339(at: datetime) -> str:
    """A time as faces tell it: UTC, milliseconds, `T` and `Z`."""
    return f"{at.isoformat(timespec='milliseconds')[:23]}Z"


def milliseconds(began: datetime, ended: datetime) -> int:
    """How long something took; never below zero, whatever the clock did."""
    return max(0, (ended - began) // _MILLISECOND)
