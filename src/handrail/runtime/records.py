"""The records that runtime and stores exchange: a stored run, one turn, a recorded call, journal entries.

Plain data without access to any store. Start with `StoredRun` and `Turn`.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from handrail.engine.facts import Value, to_printable
from handrail.engine.model import Actor, Authority, FactReading, Refused, Run
from handrail.engine.refusals import RefusalCode, TroubleCode
from handrail.runtime.entries import Entry

if TYPE_CHECKING:  # reading state files imports YAML, which hooks and most commands do without
    from handrail.documents.state_file import HistoryItem


class Caller(Struct, frozen=True):
    """Who called: the actor it counts as, and the principal, client and agent behind it."""

    by: Actor = Actor.AGENT
    principal: str = ""
    client: str = ""
    agent: str = ""


class Origin(Struct, frozen=True):
    """What a run gets at its start and keeps: face, store, project, goal, principal, parent run, metadata."""

    face: str
    authority: Authority
    project: str = ""
    goal: str = ""
    principal: str = ""
    parent: str = ""
    metadata: Mapping[str, Value] = field(default_factory=dict)


get_step_number: Final = attrgetter("number")
"""Return the number of a `Step` or an `OpenedStep`."""


class Trouble(Struct, frozen=True):
    """Why a run cannot continue until a person repairs it: a code, what was found, and the repair."""

    code: TroubleCode
    message: str
    repair: str


class StoredRun(Struct, frozen=True):
    """A run as a store holds it.

    - `revision`: 0 before the run exists; each accepted turn adds one. For a run in a commit, the revision
      stands for its text.
    - `tokens`: token hashes by the number of the open step. Empty where tokens are valid for a revision.
    - `opened`: when each open step was opened, where that is known.
    - `active`: when the run was last called, or its current step was read.
    - `adopted`: set if the run was taken as a person or a clone left it; the next turn journals it.
    - `undelivered`: comments that no reply has delivered yet; the last ones if there are very many.
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
    undelivered: tuple["JournalEntry", ...] = ()


class StepStatus(StrEnum):
    """The status of a step, as stores write it."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class ClosedStep(Struct, frozen=True):
    """A step that a turn closes, with its output, if any."""

    number: int
    state: str
    status: StepStatus
    output: Mapping[str, Value] | None = None


class OpenedStep(Struct, frozen=True):
    """A step that a turn opens."""

    number: int
    state: str
    agent: str


class Artifact(Struct, frozen=True):
    """A text that a step submitted, or the synthesis of a completed run."""

    id: str
    step: str
    agent: str
    type: str
    title: str
    content: str
    description: str = ""


MAX_RECORDED_CALLS: Final = 64
"""How many turns of a run are kept with their replies."""


class RecordedCall(Struct, frozen=True):
    """The call behind a turn and its reply, kept so that a repeated call gets the same reply.

    `token` is the hash of its token, `request` the hash of its event.
    """

    token: str
    request: str
    reply: bytes


class ChangedContent(Struct, frozen=True):
    """The content of a file after the turn; None deletes it. `before` is the hash of the content read."""

    path: str
    before: str | None
    after: bytes | None


class Definition(Struct, frozen=True):
    """The workflow text that a run started with, under the digest that binds the run to it."""

    digest: str
    workflow: str
    version: int
    text: bytes


class Turn(Struct, frozen=True):
    """One accepted turn, ready to be saved atomically if the store is still at the revision of `before`.

    - `spent`: the call and its reply, for repeated calls.
    - `tokens`: token hashes of the steps that are open after the turn.
    - `marks`: added to the metadata of the run.
    - `passages`: the lines for the history in a state file.
    - `caller`: the author of the entries.
    - `describes`: the new commit description; with `anew` it begins another one, else it replaces the old.
    - `inherits`: on a first turn, the run to inherit from. Its completed steps and all its artifacts, none
      of them final, then belong to this run too.
    """

    before: StoredRun
    run: Run
    at: datetime
    spent: RecordedCall
    tokens: Mapping[int, str] = field(default_factory=dict)
    closed: tuple[ClosedStep, ...] = ()
    opened: tuple[OpenedStep, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    entries: tuple[Entry, ...] = ()
    finals: tuple[ChangedContent, ...] = ()
    passages: tuple["HistoryItem", ...] = ()
    describes: str | None = None
    anew: bool = False
    definition: Definition | None = None
    marks: Mapping[str, Value] = field(default_factory=dict)
    inherits: str = ""
    caller: Caller = field(default_factory=Caller)


class JournalEntry(Struct, frozen=True):
    """An entry in the journal: its number in the order of the store, and the turn it belongs to.

    `revision` is 0 for an entry that belongs to no accepted turn, such as a refusal.
    """

    number: int
    run: str
    revision: int
    at: datetime
    entry: Entry


class RunChange(Struct, frozen=True):
    """The notice to listeners: the run is at this revision, or has a new journal entry."""

    run: str
    revision: int


MILLISECOND: Final = timedelta(milliseconds=1)


def project_id(root: str) -> str:
    """Return the id of a project: stable for a root, different for every root."""
    return hashlib.sha256(root.encode()).hexdigest()[:16]


def project_name(root: str) -> str:
    """Return the default name of a project: that of its folder."""
    return PurePath(root).name or root


def format_rfc3339(at: datetime) -> str:
    """Format a UTC time for replies: milliseconds, with `T` and `Z`."""
    return f"{at.isoformat(timespec='milliseconds')[:23]}Z"


RUN_REFUSAL_CODES: Final[Mapping[RefusalCode, str]] = {
    RefusalCode.UNKNOWN_RUN: "there is no such run in this store",
    RefusalCode.MOVED_ON: "the run is no longer as it was when somebody decided to act on it",
}
"""Codes of refusals about the run itself, before any decision."""


def refuse_unknown_run(run: str) -> Refused:
    """Refuse a call to a run that does not exist."""
    return Refused(
        RefusalCode.UNKNOWN_RUN,
        "run",
        (FactReading("run", to_printable(run)),),
        ("the id of a run of this store",),
    )


def refuse_moved_run(stored: StoredRun) -> Refused:
    """Refuse a call because the run changed since the caller decided to act."""
    needed = ("the run as it was when the call was made",)
    return Refused(RefusalCode.MOVED_ON, "only_if", (FactReading("run.revision", stored.revision),), needed)


def refuse_troubled_run(trouble: Trouble) -> Refused:
    """Refuse a call because a person must repair the run first."""
    return Refused(trouble.code, "store", (FactReading("found", trouble.message),), (trouble.repair,))
