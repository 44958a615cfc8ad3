"""Faults: failures outside a turn, such as a full disk. Each has a code, a message and a repair.

A fault is not a refusal: nothing was decided. What was acknowledged before stays saved. `about` is the
description of each code in the generated docs.
"""

import errno
from typing import ClassVar, Final


class Fault(Exception):  # noqa: N818 - the term of this project: not an error in our code
    """Something outside failed. Nothing was changed unless a subclass says otherwise."""

    code: ClassVar[str] = "fault"
    about: ClassVar[str] = "something outside went wrong"

    def __init__(self, message: str, repair: str) -> None:
        super().__init__(message)
        self.message, self.repair = message, repair


class Busy(Fault):
    """Another process held a needed lock for too long; the same call can be sent again."""

    code = "busy"
    about = "somebody else held the run or the store for too long; the same call may be sent again"


class DiskFull(Fault):
    """The disk has no room to write."""

    code = "disk_full"
    about = "there is no room left to write; nothing was changed"


class NotWritable(Fault):
    """The file or folder cannot be written."""

    code = "not_writable"
    about = "the file or folder may not be written; nothing was changed"


class NoAddress(Fault):
    """A server cannot listen at the given address."""

    code = "no_address"
    about = "a server cannot listen at that address; nothing was begun"


class NoIssuer(Fault):
    """The token issuer cannot be reached, or offers no usable key."""

    code = "no_issuer"
    about = "the issuer of tokens cannot be reached, or has no key that can be used; nothing was begun"


class UnsafePath(Fault):
    """A path leads through a link, out of its folder, or to something other than a plain file."""

    code = "unsafe_path"
    about = "a path leads through a link, out of its folder, or to something that is no plain file of its own"


class NoServer(Fault):
    """A database server does not answer or closed the connection; the same call can be sent again."""

    code = "no_server"
    about = "the database server does not answer or broke off; the same call may be sent again"


class SyncFailed(Fault):
    """The disk did not confirm a write, so its content is unknown. The process must end and recover."""

    code = "sync_failed"
    about = (
        "the disk did not confirm a write; the program ends with status 75, and recovers at its next start"
    )


class Unreadable(Fault):
    """Existing data cannot be read as what it should be."""

    code = "unreadable"
    about = "what is there cannot be read as what it should be"


class Missing(Fault):
    """A required folder, file or program does not exist."""

    code = "missing"
    about = "a folder, a file or a program that is needed is not there; nothing was changed"


class NewerFormat(Fault):
    """The store was written by a newer Handrail."""

    code = "newer"
    about = "the store was written by a newer Handrail than this one"


class VcsFailed(Fault):
    """jj or git failed in a way that has no fault of its own; the message quotes its output."""

    code = "vcs_failed"
    about = "jj or git failed in a way that has no other code; its own words stand in the message"


class NoRepository(VcsFailed):
    """The project is not in a repository of the required kind."""

    code = "vcs_missing_repo"
    about = "the project is in no repository of the kind that was asked for"


class NoVcsTool(VcsFailed):
    """jj or git is not installed."""

    code = "vcs_missing_tool"
    about = "jj or git is not installed, or not in PATH"


class VcsTooOld(VcsFailed):
    """The installed jj is too old."""

    code = "vcs_too_old"
    about = "jj is older than 0.38"


class VcsTimeout(VcsFailed):
    """jj or git exceeded its time limit and was ended. The stored text was read again afterwards."""

    code = "vcs_timeout"
    about = "jj or git was not done in time and was ended; the old text still stands"


class ImmutableCommit(VcsFailed):
    """The commit cannot be changed."""

    code = "vcs_immutable"
    about = "the current commit may not be changed"


class StaleWorkingCopy(VcsFailed):
    """The working copy is behind the repository."""

    code = "vcs_stale"
    about = "the working copy is behind the repository: another workspace has changed its commit"


class DivergentChange(VcsFailed):
    """One change has several commits."""

    code = "vcs_divergent"
    about = "the current change has several commits, and it cannot be known which is meant"


class VcsLocked(VcsFailed):
    """A lock file is in the way, left by a running or a killed program."""

    code = "vcs_locked"
    about = "a lock file of jj or git is in the way; the message names it"


class BadVcsConfig(VcsFailed):
    """The configuration of jj or git cannot be read, or changes its output or what it writes."""

    code = "vcs_config"
    about = "the configuration of jj or git is broken, or changes what it says"


class VcsInternal(VcsFailed):
    """jj failed internally. The stored text was read again to verify that nothing changed."""

    code = "vcs_internal"
    about = "jj failed inside; it was looked whether the text was written"


class TextConflict(VcsFailed):
    """The text changed since it was read, so it was not replaced. `texts` are the stored texts in full."""

    code = "conflict"
    about = "somebody else has changed the text, or the commit, since it was read; nothing was overwritten"

    def __init__(self, message: str, repair: str, texts: tuple[str, ...] = ()) -> None:
        super().__init__(message, repair)
        self.texts = texts


class NoPlan(VcsFailed):
    """There is no plan to push or pull."""

    code = "vcs_no_plan"
    about = "there is no plan to push here, or none to pull at the remote"


class NoRemote(VcsFailed):
    """The repository has no such remote, or the choice is ambiguous."""

    code = "vcs_no_remote"
    about = "the repository has no remote, no such one, or several of which none was named"


class RemoteUnreachable(VcsFailed):
    """The remote does not answer, or is not a repository."""

    code = "vcs_unreachable"
    about = "the remote does not answer, or is no repository; nothing was changed"


class RemoteDenied(VcsFailed):
    """The remote denies access, or rejects what is sent."""

    code = "vcs_denied"
    about = "the remote does not let you in, or does not take what you send; nothing was changed"


_VCS_FAULTS = (
    *(VcsFailed, NoRepository, NoVcsTool, VcsTooOld, VcsTimeout, ImmutableCommit),
    *(StaleWorkingCopy, DivergentChange, VcsLocked, BadVcsConfig, VcsInternal, TextConflict),
    *(NoPlan, NoRemote, RemoteUnreachable, RemoteDenied),
)

FAULTS = (
    *(Busy, DiskFull, NotWritable, NoAddress, NoIssuer, NoServer, UnsafePath, SyncFailed),
    *(Unreadable, Missing, NewerFormat),
    *_VCS_FAULTS,
)
"""Every fault class."""

SYNC_FAILED_EXIT_STATUS = 75
"""The exit status after `SyncFailed` (EX_TEMPFAIL)."""

_UNSAFE_PATH_ERRNOS: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EEXIST})
_DISK_FULL_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def build_read_fault(path: str, error: OSError) -> Fault:
    """Return the fault for an OS error while reading."""
    return _path_fault(path, error) or Unreadable(
        f"`{path}` cannot be read: {error.strerror}", "let the user who runs this program read it"
    )


def build_write_fault(path: str, error: OSError) -> Fault:
    """Return the fault for an OS error while writing."""
    if fault := _path_fault(path, error):
        return fault
    if error.errno == errno.EIO:
        return build_sync_fault(path, error)
    if error.errno in _DISK_FULL_ERRNOS:
        return DiskFull(
            f"there is no room to write `{path}`: {error.strerror}",
            "free some room on that disk, and send the same call again",
        )
    return NotWritable(
        f"`{path}` cannot be written: {error.strerror}",
        "let the user who runs this program write there, and send the same call again",
    )


def build_sync_fault(path: str, error: OSError) -> SyncFailed:
    """Return the fault for an fsync error."""
    return SyncFailed(
        f"the disk did not confirm `{path}`: {error.strerror}",
        "look after the disk, and start the program again: it looks at what is there",
    )


def _path_fault(path: str, error: OSError) -> Fault | None:
    if error.errno in _UNSAFE_PATH_ERRNOS:
        return UnsafePath(
            f"`{path}` leads through a link, or is no plain file or folder",
            "remove the link, or put a real folder or file in its place",
        )
    if error.errno == errno.ENOENT:
        return Missing(
            f"`{path}`, or the folder it is in, is not there", "make it, or name the one that is meant"
        )
    return None
