"""A description beyond the text it has now: what it was before, and how another machine comes by it."""

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from handrail.shell.ports import Descriptions


class Version(Struct, frozen=True):
    """A text as it once stood: `name` is what version control calls it, `who` wrote it."""

    name: str
    at: datetime
    who: str


class Past(Protocol):
    """The texts that a description has had. Asking changes nothing, and looks at no file."""

    def versions(self) -> tuple[Version, ...]:
        """Every text of the current change, the first one first; the same text twice in a row is one."""
        ...

    def texts(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The texts of these versions. Raises `Unreadable` if they are too many to be told at once."""
        ...


class Moved(StrEnum):
    """What came of an exchange with a remote."""

    SENT = "sent"
    TAKEN = "taken"
    SAME = "same"
    AHEAD = "ahead"


class Exchanged(Struct, frozen=True):
    """What came of it: with which remote, under which ref of it, and where another text was archived, if so.

    Something was `archived` at the remote if the text was sent, and here if one was taken.
    """

    remote: str
    ref: str
    moved: Moved
    archived: str = ""


class Sharing(Protocol):
    """A description exchanged with a remote, by hand and under a name. Nothing is ever written over.

    An empty remote is the one there is, an empty name that of the branch. Raises the faults of version
    control: `NoRemote`, `Unreachable`, `Denied`, `NoPlan`, and `Overtaken` where both sides have a text that
    the other has not.
    """

    def push(self, remote: str = "", name: str = "") -> Exchanged:
        """Send the text with all it has been, if what stands there is a part of that.

        A complete plan of another change is archived there first.
        """
        ...

    def pull(self, remote: str = "", name: str = "", *, archive: bool = False) -> Exchanged:
        """Take the text that stands there, if the one here is a part of what that has been.

        A text of another change is archived here first; with `archive`, one of the same change too.
        """
        ...


class Carried(Struct, frozen=True):
    """The description of a project: which `kind` of repository has it, in which folder, and all about it.

    Without `sharing` it travels with the commits of the repository, and with nothing else.
    """

    kind: str
    folder: Path
    descriptions: Descriptions
    past: Past
    sharing: Sharing | None
