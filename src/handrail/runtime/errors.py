"""Faults: failures outside a turn, such as a full disk. Each has a code, a message and a repair.

A fault is not a refusal: nothing was decided. What was acknowledged before stays saved. The generated docs
describe each code with the docstring of its class.
"""

import errno
from typing import ClassVar, Final


class Fault(Exception):  # noqa: N818 - the term of this project: not an error in our code
    """Something outside failed. Nothing was changed unless a subclass says otherwise."""

    code: ClassVar[str] = "fault"

    def __init_subclass__(cls, code: str = "") -> None:
        """Give the subclass its code; without one it has that of its base."""
        super().__init_subclass__()
        cls.code = code or cls.code

    def __init__(self, message: str, repair: str) -> None:
        super().__init__(message)
        self.message, self.repair = message, repair


class Busy(Fault, code="busy"):
    """Somebody else held the run or the store for too long; the same call may be sent again."""


class DiskFull(Fault, code="disk_full"):
    """There is no room left to write; nothing was changed."""


class NotWritable(Fault, code="not_writable"):
    """The file or folder may not be written; nothing was changed."""


class NoAddress(Fault, code="no_address"):
    """A server cannot listen at that address; nothing was begun."""


class NoIssuer(Fault, code="no_issuer"):
    """The issuer of tokens cannot be reached, or has no key that can be used; nothing was begun."""


class UnsafePath(Fault, code="unsafe_path"):
    """A path leads through a link, out of its folder, or to something that is no plain file of its own."""


class NoServer(Fault, code="no_server"):
    """The database server does not answer or broke off; the same call may be sent again."""


class SyncFailed(Fault, code="sync_failed"):
    """The disk did not confirm a write; the program ends with status 75, and recovers at its next start."""


class Unreadable(Fault, code="unreadable"):
    """What is there cannot be read as what it should be."""


class Missing(Fault, code="missing"):
    """A folder, a file or a program that is needed is not there; nothing was changed."""


class NewerFormat(Fault, code="newer"):
    """The store was written by a newer Handrail than this one."""


class VcsFailed(Fault, code="vcs_failed"):
    """jj or git failed in a way that has no other code; its own words stand in the message."""


class NoRepository(VcsFailed, code="vcs_missing_repo"):
    """The project is in no repository of the kind that was asked for."""


class NoVcsTool(VcsFailed, code="vcs_missing_tool"):
    """jj or git is not installed, or not in PATH."""


class VcsTooOld(VcsFailed, code="vcs_too_old"):
    """jj is older than 0.38."""


class VcsTimeout(VcsFailed, code="vcs_timeout"):
    """jj or git was not done in time and was ended; the old text still stands."""


class ImmutableCommit(VcsFailed, code="vcs_immutable"):
    """The current commit may not be changed."""


class StaleWorkingCopy(VcsFailed, code="vcs_stale"):
    """The working copy is behind the repository: another workspace has changed its commit."""


class DivergentChange(VcsFailed, code="vcs_divergent"):
    """The current change has several commits, and it cannot be known which is meant."""


class VcsLocked(VcsFailed, code="vcs_locked"):
    """A lock file of jj or git is in the way; the message names it."""


class BadVcsConfig(VcsFailed, code="vcs_config"):
    """The configuration of jj or git is broken, or changes what it says."""


class VcsInternal(VcsFailed, code="vcs_internal"):
    """jj failed inside; it was looked whether the text was written."""


class TextConflict(VcsFailed, code="conflict"):
    """Somebody else has changed the text, or the commit, since it was read; nothing was overwritten."""

    def __init__(self, message: str, repair: str, texts: tuple[str, ...] = ()) -> None:
        super().__init__(message, repair)
        self.texts = texts  # the stored texts in full


class NoPlan(VcsFailed, code="vcs_no_plan"):
    """There is no plan to push here, or none to pull at the remote."""


class NoRemote(VcsFailed, code="vcs_no_remote"):
    """The repository has no remote, no such one, or several of which none was named."""


class RemoteUnreachable(VcsFailed, code="vcs_unreachable"):
    """The remote does not answer, or is no repository; nothing was changed."""


class RemoteDenied(VcsFailed, code="vcs_denied"):
    """The remote does not let you in, or does not take what you send; nothing was changed."""


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
