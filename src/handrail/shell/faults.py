"""Faults: what the world can do to a turn. Each has a code, a sentence for people, and the repair.

A fault is an accident, not a refusal: nothing was decided, and what was acknowledged before still stands.
"""

from typing import ClassVar


class Fault(Exception):  # noqa: N818 - the word of the house, and no error of ours
    """Something outside went wrong: nothing was changed unless a subclass says otherwise."""

    code: ClassVar[str] = "fault"
    about: ClassVar[str] = "something outside went wrong"

    def __init__(self, message: str, repair: str) -> None:
        super().__init__(message)
        self.message, self.repair = message, repair


class Busy(Fault):
    """Somebody else held what was needed for too long; the same call can be sent again."""

    code = "busy"
    about = "somebody else held the run or the store for too long; the same call may be sent again"


class DiskFull(Fault):
    """There is no room to write."""

    code = "disk_full"
    about = "there is no room left to write; nothing was changed"


class NotWritable(Fault):
    """The place may be read but not written."""

    code = "not_writable"
    about = "the file or folder may not be written; nothing was changed"


class NoAddress(Fault):
    """A server cannot listen where it was told to."""

    code = "no_address"
    about = "a server cannot listen at that address; nothing was begun"


class UnsafePath(Fault):
    """A path leads through a link, out of its folder, or to something that is no plain file."""

    code = "unsafe_path"
    about = "a path leads through a link, out of its folder, or to something that is no plain file of its own"


class SyncFailed(Fault):
    """The disk did not confirm a write: what it holds is unknown. The process must end, and recover anew."""

    code = "sync_failed"
    about = (
        "the disk did not confirm a write; the program ends with status 75, and recovers at its next start"
    )


class Unreadable(Fault):
    """What is there cannot be read as what it should be."""

    code = "unreadable"
    about = "what is there cannot be read as what it should be"


class Missing(Fault):
    """A folder, a file or a program that was counted on is not there."""

    code = "missing"
    about = "a folder, a file or a program that is needed is not there; nothing was changed"


class Newer(Fault):
    """The store was written by a newer program."""

    code = "newer"
    about = "the store was written by a newer Handrail than this one"


FAULTS = (Busy, DiskFull, NotWritable, NoAddress, UnsafePath, SyncFailed, Unreadable, Missing, Newer)
"""Every fault there is."""

SYNC_FAILED_STATUS = 75
"""How the program ends when the disk did not confirm a write (EX_TEMPFAIL)."""
