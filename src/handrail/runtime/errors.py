"""Faults: failures outside a turn, such as a full disk. Each has a code, a message and a repair.

A fault is not a refusal: nothing was decided. What was acknowledged before stays saved. The generated docs
describe each code with the docstring of its class.
"""

import errno
from typing import ClassVar, Final


class Fault(Exception):  # noqa: N818 - the term of this project: not an error in our code
    """Something outside failed. Nothing was changed unless a subclass says otherwise."""

    code: ClassVar[str] = "fault"

    def __init__(self, message: str, repair: str) -> None:
        super().__init__(message)
        self.message, self.repair = message, repair


class Busy(Fault):
    """Somebody else held the run or the store for too long; the same call may be sent again."""

    code = "busy"


class DiskFull(Fault):
    """There is no room left to write; nothing was changed."""

    code = "disk_full"


class NotWritable(Fault):
    """The file or folder may not be written; nothing was changed."""

    code = "not_writable"


class NoAddress(Fault):
    """A server cannot listen at that address; nothing was begun."""

    code = "no_address"


class NoIssuer(Fault):
    """The issuer of tokens cannot be reached, or has no key that can be used; nothing was begun."""

    code = "no_issuer"


class UnsafePath(Fault):
    """A path leads through a link, out of its folder, or to something that is no plain file of its own."""

    code = "unsafe_path"


class NoServer(Fault):
    """The database server does not answer or broke off; the same call may be sent again."""

    code = "no_server"


class SyncFailed(Fault):
    """The disk did not confirm a write; the program ends with status 75, and recovers at its next start."""

    code = "sync_failed"


class Unreadable(Fault):
    """What is there cannot be read as what it should be."""

    code = "unreadable"


class Missing(Fault):
    """A folder, a file or a program that is needed is not there; nothing was changed."""

    code = "missing"


class NewerFormat(Fault):
    """The store was written by a newer Handrail than this one."""

    code = "newer"


class VcsFailed(Fault):
    """jj or git failed in a way that has no other code; its own words stand in the message."""

    code = "vcs_failed"


class NoRepository(VcsFailed):
    """The project is in no repository of the kind that was asked for."""

    code = "vcs_missing_repo"


class NoVcsTool(VcsFailed):
    """jj or git is not installed, or not in PATH."""

    code = "vcs_missing_tool"


class VcsTooOld(VcsFailed):
    """jj is older than 0.38."""

    code = "vcs_too_old"


class VcsTimeout(VcsFailed):
    """jj or git was not done in time and was ended; the old text still stands."""

    code = "vcs_timeout"


class ImmutableCommit(VcsFailed):
    """The current commit may not be changed."""

    code = "vcs_immutable"


class StaleWorkingCopy(VcsFailed):
    """The working copy is behind the repository: another workspace has changed its commit."""

    code = "vcs_stale"


class DivergentChange(VcsFailed):
    """The current change has several commits, and it cannot be known which is meant."""

    code = "vcs_divergent"


class VcsLocked(VcsFailed):
    """A lock file of jj or git is in the way; the message names it."""

    code = "vcs_locked"


class BadVcsConfig(VcsFailed):
    """The configuration of jj or git is broken, or changes what it says."""

    code = "vcs_config"


class VcsInternal(VcsFailed):
    """jj failed inside; it was looked whether the text was written."""

    code = "vcs_internal"


class TextConflict(VcsFailed):
    """Somebody else has changed the text, or the commit, since it was read; nothing was overwritten."""

    code = "conflict"

    def __init__(self, message: str, repair: str, texts: tuple[str, ...] = ()) -> None:
        super().__init__(message, repair)
        self.texts = texts  # the stored texts in full


class NoPlan(VcsFailed):
    """There is no plan to push here, or none to pull at the remote."""

    code = "vcs_no_plan"


class NoRemote(VcsFailed):
    """The repository has no remote, no such one, or several of which none was named."""

    code = "vcs_no_remote"


class RemoteUnreachable(VcsFailed):
    """The remote does not answer, or is no repository; nothing was changed."""

    code = "vcs_unreachable"


class RemoteDenied(VcsFailed):
    """The remote does not let you in, or does not take what you send; nothing was changed."""

    code = "vcs_denied"


FAULTS = (
    *(Busy, DiskFull, NotWritable, NoAddress, NoIssuer, NoServer, UnsafePath, SyncFailed),
    *(Unreadable, Missing, NewerFormat),
    *(VcsFailed, NoRepository, NoVcsTool, VcsTooOld, VcsTimeout, ImmutableCommit),
    *(StaleWorkingCopy, DivergentChange, VcsLocked, BadVcsConfig, VcsInternal, TextConflict),
    *(NoPlan, NoRemote, RemoteUnreachable, RemoteDenied),
)

SYNC_FAILED_EXIT_STATUS = 75  # EX_TEMPFAIL
_UNSAFE_PATH_ERRNOS: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EEXIST})
_DISK_FULL_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def build_read_fault(path: str, error: OSError) -> Fault:
    """Return the fault for an OS error while reading."""
    repair = "let the user who runs this program read it"
    return _path_fault(path, error) or Unreadable(f"`{path}` cannot be read: {error.strerror}", repair)


def build_write_fault(path: str, error: OSError) -> Fault:
    """Return the fault for an OS error while writing."""
    if fault := _path_fault(path, error):
        return fault
    if error.errno == errno.EIO:
        return build_sync_fault(path, error)
    if error.errno in _DISK_FULL_ERRNOS:
        repair = "free some room on that disk, and send the same call again"
        return DiskFull(f"there is no room to write `{path}`: {error.strerror}", repair)
    repair = "let the user who runs this program write there, and send the same call again"
    return NotWritable(f"`{path}` cannot be written: {error.strerror}", repair)


def build_sync_fault(path: str, error: OSError) -> SyncFailed:
    """Return the fault for an fsync error."""
    repair = "look after the disk, and start the program again: it looks at what is there"
    return SyncFailed(f"the disk did not confirm `{path}`: {error.strerror}", repair)


def _path_fault(path: str, error: OSError) -> Fault | None:
    if error.errno in _UNSAFE_PATH_ERRNOS:
        repair = "remove the link, or put a real folder or file in its place"
        return UnsafePath(f"`{path}` leads through a link, or is no plain file or folder", repair)
    if error.errno == errno.ENOENT:
        repair = "make it, or name the one that is meant"
        return Missing(f"`{path}`, or the folder it is in, is not there", repair)
    return None
