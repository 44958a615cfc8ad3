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


class NoIssuer(Fault):
    """Who gives out tokens for a server does not say by which keys they are known."""

    code = "no_issuer"
    about = "the issuer of tokens cannot be reached, or has no key that can be used; nothing was begun"


class UnsafePath(Fault):
    """A path leads through a link, out of its folder, or to something that is no plain file."""

    code = "unsafe_path"
    about = "a path leads through a link, out of its folder, or to something that is no plain file of its own"


class NoServer(Fault):
    """A database server does not answer, or broke off: the same call can be sent again."""

    code = "no_server"
    about = "the database server does not answer or broke off; the same call may be sent again"


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


class VcsFailed(Fault):
    """Version control refused in words that have no other name here, and stand in the message."""

    code = "vcs_failed"
    about = "jj or git failed in a way that has no other code; its own words stand in the message"


class NoRepository(VcsFailed):
    """There is no repository where one is needed."""

    code = "vcs_missing_repo"
    about = "the project is in no repository of the kind that was asked for"


class NoTool(VcsFailed):
    """The program of the repository is not installed."""

    code = "vcs_missing_tool"
    about = "jj or git is not installed, or not in PATH"


class TooOld(VcsFailed):
    """The program is older than what is needed."""

    code = "vcs_too_old"
    about = "jj is older than 0.38"


class TimedOut(VcsFailed):
    """The program was not done in time, and was ended; what it had done by then was read, and stands."""

    code = "vcs_timeout"
    about = "jj or git was not done in time and was ended; the old text still stands"


class Immutable(VcsFailed):
    """The commit may not be changed."""

    code = "vcs_immutable"
    about = "the current commit may not be changed"


class StaleCopy(VcsFailed):
    """The files of the workspace are behind the repository."""

    code = "vcs_stale"
    about = "the working copy is behind the repository: another workspace has changed its commit"


class Divergent(VcsFailed):
    """One change has several commits."""

    code = "vcs_divergent"
    about = "the current change has several commits, and it cannot be known which is meant"


class Locked(VcsFailed):
    """A lock file is in the way, of a program that runs or of one that was killed."""

    code = "vcs_locked"
    about = "a lock file of jj or git is in the way; the message names it"


class BadConfig(VcsFailed):
    """The configuration of the program cannot be read, or makes it say or write something else."""

    code = "vcs_config"
    about = "the configuration of jj or git is broken, or changes what it says"


class Internal(VcsFailed):
    """The program failed inside; that it has changed nothing was read, not concluded."""

    code = "vcs_internal"
    about = "jj failed inside; it was looked whether the text was written"


class Overtaken(VcsFailed):
    """Another text stands than the one that was to be replaced. `texts` are those that stand, in full."""

    code = "conflict"
    about = "somebody else has changed the text, or the commit, since it was read; nothing was overwritten"

    def __init__(self, message: str, repair: str, texts: tuple[str, ...] = ()) -> None:
        super().__init__(message, repair)
        self.texts = texts


class NoPlan(VcsFailed):
    """There is no text to send, or none to take."""

    code = "vcs_no_plan"
    about = "there is no plan to push here, or none to pull at the remote"


class NoRemote(VcsFailed):
    """The repository knows no such remote."""

    code = "vcs_no_remote"
    about = "the repository has no remote, no such one, or several of which none was named"


class Unreachable(VcsFailed):
    """The remote does not answer, or is no repository."""

    code = "vcs_unreachable"
    about = "the remote does not answer, or is no repository; nothing was changed"


class Denied(VcsFailed):
    """The remote answers, and does not let this user in, or does not take what is sent."""

    code = "vcs_denied"
    about = "the remote does not let you in, or does not take what you send; nothing was changed"


_OF_VERSION_CONTROL = (
    *(VcsFailed, NoRepository, NoTool, TooOld, TimedOut, Immutable),
    *(StaleCopy, Divergent, Locked, BadConfig, Internal, Overtaken),
    *(NoPlan, NoRemote, Unreachable, Denied),
)

FAULTS = (
    *(Busy, DiskFull, NotWritable, NoAddress, NoIssuer, NoServer, UnsafePath, SyncFailed),
    *(Unreadable, Missing, Newer),
    *_OF_VERSION_CONTROL,
)
"""Every fault there is."""

SYNC_FAILED_STATUS = 75
"""How the program ends when the disk did not confirm a write (EX_TEMPFAIL)."""
