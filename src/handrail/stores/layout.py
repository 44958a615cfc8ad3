"""What lies in `.handrail` beside a state file, and how a file there is put in its place."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from handrail.engine.model import Run
from handrail.shell.apply import Planned, numbered
from handrail.shell.folders import HOME
from handrail.shell.ports import Workspace
from handrail.shell.records import REMEMBERED, Origin, Spent, Trouble
from handrail.shell.snapshot import Snapshot, above, name_of
from handrail.stores.sealed import FORMAT, Damage
from handrail.telemetry.entries import Entry

LOCK: Final = f"{HOME}/lock"
INTENT: Final = f"{HOME}/intent.json"
HEAD: Final = f"{HOME}/head.json"
HISTORY: Final = f"{HOME}/history.jsonl"
MARK: Final = f"{HOME}/trouble.json"
STAGE: Final = f"{HOME}/stage"
QUARANTINE: Final = f"{HOME}/quarantine"
IGNORED: Final = f"{HOME}/.gitignore"
COPIES: Final = f"{HOME}/conflict-"

_UNFINISHED: Final = ".tmp"


@dataclass(frozen=True, slots=True)
class Head:
    """The run as the last turn left it; `sha` is the hash of its state file, `chain` that of its line.

    `opened` is when each open step was opened, by its number.
    """

    revision: int
    sha: str
    run: Run
    origin: Origin
    started: datetime
    updated: datetime
    chain: str
    opened: Mapping[int, datetime] = field(default_factory=dict)
    spent: Mapping[int, Spent] = field(default_factory=dict)
    format: int = FORMAT

    def remembering(self, old: "OldHead") -> "Head":
        """This head, with what the one before it remembers too; `old` may be no head."""
        known = {**old.spent, **self.spent} if isinstance(old, Head) else self.spent
        return replace(self, spent={number: known[number] for number in sorted(known)[-REMEMBERED:]})


OldHead: TypeAlias = Head | Damage | None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the history: a turn, or with `seq` 0 what belongs to none.

    Its state file had `body`, and for its history the first `kept` of the turn before and what was `added`.
    `prev` is the checksum of the line of the turn before. `stray`: it is about a run that is not here.
    """

    seq: int
    time: datetime
    entries: tuple[Entry, ...]
    prev: str
    run: Run | None = None
    sha: str = ""
    body: Mapping[str, object] = field(default_factory=dict)
    kept: int = 0
    added: tuple[Mapping[str, object], ...] = ()
    stray: bool = False
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Intent:
    """A turn that is decided and not yet done everywhere: all it takes to do it, but for staged bytes.

    Its head remembers this turn only; what was remembered before is in the head that is still there.
    """

    head: Head
    line: str
    document: str
    before: str | None
    folders: tuple[str, ...] = ()
    finals: tuple[Planned, ...] = ()
    format: int = FORMAT


class About(StrEnum):
    """What was damaged: a good state file ends the one trouble, only a repair the other."""

    STATE = "state"
    INTENT = "intent"


@dataclass(frozen=True, slots=True)
class Mark:
    """A trouble that is remembered until it is mended: what caused it lies in quarantine."""

    about: About
    trouble: Trouble
    format: int = FORMAT


def place(workspace: Snapshot, path: str, data: bytes) -> None:
    """Replace a file at once, confirmed by the disk: it has the old bytes or the new, never others."""
    unfinished = f"{HOME}/{name_of(path)}{_UNFINISHED}"
    workspace.write(unfinished, data, like=path)
    workspace.rename(unfinished, path)
    workspace.sync(above(path))


def quarantine(workspace: Snapshot, path: str) -> None:
    """Move a file to where nothing is ever overwritten."""
    workspace.mkdir(QUARANTINE)
    workspace.sync(HOME)
    workspace.rename(path, free(workspace, path))
    workspace.sync(QUARANTINE)
    workspace.sync(above(path))


def free(workspace: Snapshot, path: str) -> str:
    """The first free name in quarantine for a file of this path."""
    taken = workspace.names(QUARANTINE)
    return next(name for name in numbered(f"{QUARANTINE}/{name_of(path)}") if name_of(name) not in taken)


def prepare(workspace: Workspace) -> None:
    """Make the folder, if it is not whole, as far as the lock needs it: others may be making it too."""
    if workspace.stamp(STAGE) is None or workspace.stamp(IGNORED) is None:
        workspace.mkdir("")
        workspace.mkdir(HOME)
        workspace.sync("")
        workspace.mkdir(STAGE)


def complete(workspace: Snapshot) -> None:
    """Make the last part of the folder, under the lock: that git ignores it; all is confirmed by the disk."""
    if workspace.stamp(IGNORED) is None:
        workspace.write(IGNORED, b"*\n")
        workspace.sync(HOME)


def sweep(workspace: Snapshot) -> None:
    """Remove what a turn that never happened left behind."""
    for name in workspace.names(HOME):
        if name.endswith(_UNFINISHED):
            workspace.unlink(f"{HOME}/{name}")
    for name in workspace.names(STAGE):
        workspace.unlink(f"{STAGE}/{name}")
