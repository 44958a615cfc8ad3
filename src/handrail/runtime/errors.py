"""Faults: failures outside a turn, such as a full disk. Each has a code, a message and a repair.

A fault is not a refusal: nothing was decided. What was acknowledged before stays saved. The generated docs
describe each code with the docstring of its class.
"""

import errno
from enum import StrEnum
from typing import ClassVar, Final


class FaultCode(StrEnum):
    """The code of a fault. Agents and programs read it, so its spelling never changes."""

    FAULT = "fault"
    BUSY = "busy"
    DISK_FULL = "disk_full"
    NOT_WRITABLE = "not_writable"
    NO_ADDRESS = "no_address"
    NO_ISSUER = "no_issuer"
    UNSAFE_PATH = "unsafe_path"
    NO_SERVER = "no_server"
    SYNC_FAILED = "sync_failed"
    UNREADABLE = "unreadable"
    MISSING = "missing"
    NEWER = "newer"
    VCS_FAILED = "vcs_failed"
    VCS_MISSING_REPO = "vcs_missing_repo"
    VCS_MISSING_TOOL = "vcs_missing_tool"
    VCS_TOO_OLD = "vcs_too_old"
    VCS_TIMEOUT = "vcs_timeout"
    VCS_IMMUTABLE = "vcs_immutable"
    VCS_STALE = "vcs_stale"
    VCS_DIVERGENT = "vcs_divergent"
    VCS_LOCKED = "vcs_locked"
    VCS_CONFIG = "vcs_config"
    VCS_INTERNAL = "vcs_internal"
    CONFLICT = "conflict"
    VCS_NO_PLAN = "vcs_no_plan"
    VCS_NO_REMOTE = "vcs_no_remote"
    VCS_UNREACHABLE = "vcs_unreachable"
    VCS_DENIED = "vcs_denied"


class Fault(Exception):  # noqa: N818 - the term of this project: not an error in our code
    """Something outside failed. Nothing was changed unless a subclass says otherwise."""

    code: ClassVar[FaultCode] = FaultCode.FAULT

    def __init_subclass__(cls, code: FaultCode | None = None) -> None:
        """Give the subclass its code; without one it has that of its base."""
        super().__init_subclass__()
        cls.code = code or cls.code

    def __init__(self, message: str, repair: str) -> None:
        super().__init__(message)
        self.message, self.repair = message, repair


class Busy(Fault, code=FaultCode.BUSY):
    """Somebody else held the run or the store for too long; the same call may be sent again."""


class DiskFull(Fault, code=FaultCode.DISK_FULL):
    """There is no room left to write; nothing was changed."""


class NotWritable(Fault, code=FaultCode.NOT_WRITABLE):
    """The file or folder may not be written; nothing was changed."""


class NoAddress(Fault, code=FaultCode.NO_ADDRESS):
    """A server cannot listen at that address; nothing was begun."""


class NoIssuer(Fault, code=FaultCode.NO_ISSUER):
    """The issuer of tokens cannot be reached, or has no key that can be used; nothing was begun."""


class UnsafePath(Fault, code=FaultCode.UNSAFE_PATH):
    """A path leads through a link, out of its folder, or to something that is no plain file of its own."""


class NoServer(Fault, code=FaultCode.NO_SERVER):
    """The database server does not answer or broke off; the same call may be sent again."""


class SyncFailed(Fault, code=FaultCode.SYNC_FAILED):
    """The disk did not confirm a write; the program ends with status 75, and recovers at its next start."""


class Unreadable(Fault, code=FaultCode.UNREADABLE):
    """What is there cannot be read as what it should be."""


class Missing(Fault, code=FaultCode.MISSING):
    """A folder, a file or a program that is needed is not there; nothing was changed."""


class NewerFormat(Fault, code=FaultCode.NEWER):
    """The store was written by a newer Handrail than this one."""


class VcsFailed(Fault, code=FaultCode.VCS_FAILED):
    """jj or git failed in a way that has no other code; its own words stand in the message."""


class NoRepository(VcsFailed, code=FaultCode.VCS_MISSING_REPO):
    """The project is in no repository of the kind that was asked for."""


class NoVcsTool(VcsFailed, code=FaultCode.VCS_MISSING_TOOL):
    """jj or git is not installed, or not in PATH."""


class VcsTooOld(VcsFailed, code=FaultCode.VCS_TOO_OLD):
    """jj is older than 0.38."""


class VcsTimeout(VcsFailed, code=FaultCode.VCS_TIMEOUT):
    """jj or git was not done in time and was ended; the old text still stands."""


class ImmutableCommit(VcsFailed, code=FaultCode.VCS_IMMUTABLE):
    """The current commit may not be changed."""


class StaleWorkingCopy(VcsFailed, code=FaultCode.VCS_STALE):
    """The working copy is behind the repository: another workspace has changed its commit."""


class DivergentChange(VcsFailed, code=FaultCode.VCS_DIVERGENT):
    """The current change has several commits, and it cannot be known which is meant."""


class VcsLocked(VcsFailed, code=FaultCode.VCS_LOCKED):
    """A lock file of jj or git is in the way; the message names it."""


class BadVcsConfig(VcsFailed, code=FaultCode.VCS_CONFIG):
    """The configuration of jj or git is broken, or changes what it says."""


class VcsInternal(VcsFailed, code=FaultCode.VCS_INTERNAL):
    """jj failed inside; it was looked whether the text was written."""


class TextConflict(VcsFailed, code=FaultCode.CONFLICT):
    """Somebody else has changed the text, or the commit, since it was read; nothing was overwritten."""

    def __init__(self, message: str, repair: str, texts: tuple[str, ...] = ()) -> None:
        super().__init__(message, repair)
        self.texts = texts  # the stored texts in full


class NoPlan(VcsFailed, code=FaultCode.VCS_NO_PLAN):
    """There is no plan to push here, or none to pull at the remote."""


class NoRemote(VcsFailed, code=FaultCode.VCS_NO_REMOTE):
    """The repository has no remote, no such one, or several of which none was named."""


class RemoteUnreachable(VcsFailed, code=FaultCode.VCS_UNREACHABLE):
    """The remote does not answer, or is no repository; nothing was changed."""


class RemoteDenied(VcsFailed, code=FaultCode.VCS_DENIED):
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
