"""Which fault an error of the system is: decided here, once, for everything that touches files.

| error | while reading | while changing |
|---|---|---|
| ELOOP, ENOTDIR, EISDIR, ENXIO, EEXIST | `UnsafePath` | `UnsafePath` |
| ENOENT | `Missing` | `Missing` |
| ENOSPC, EDQUOT, EFBIG | `Unreadable` | `DiskFull` |
| EIO, and any error of fsync | `Unreadable` | `SyncFailed` |
| EACCES, EPERM, EROFS, anything else | `Unreadable` | `NotWritable` |

`path` is how a person finds the place.
"""

import errno
from typing import Final

from handrail.shell.faults import DiskFull, Fault, Missing, NotWritable, SyncFailed, Unreadable, UnsafePath

_NO_PLAIN_WAY: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EEXIST})
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def unread(path: str, error: OSError) -> Fault:
    """The fault for an error met while only reading."""
    return _of_the_way(path, error) or Unreadable(
        f"`{path}` cannot be read: {error.strerror}", "let the user who runs this program read it"
    )


def unchanged(path: str, error: OSError) -> Fault:
    """The fault for an error of a system call that was to change something."""
    if fault := _of_the_way(path, error):
        return fault
    if error.errno == errno.EIO:
        return unconfirmed(path, error)
    if error.errno in _NO_ROOM:
        return DiskFull(
            f"there is no room to write `{path}`: {error.strerror}",
            "free some room on that disk, and send the same call again",
        )
    return NotWritable(
        f"`{path}` cannot be written: {error.strerror}",
        "let the user who runs this program write there, and send the same call again",
    )


def unconfirmed(path: str, error: OSError) -> SyncFailed:
    """The fault for any error of fsync."""
    return SyncFailed(
        f"the disk did not confirm `{path}`: {error.strerror}",
        "look after the disk, and start the program again: it looks at what is there",
    )


def _of_the_way(path: str, error: OSError) -> Fault | None:
    if error.errno in _NO_PLAIN_WAY:
        return UnsafePath(
            f"`{path}` leads through a link, or is no plain file or folder",
            "remove the link, or put a real folder or file in its place",
        )
    if error.errno == errno.ENOENT:
        return Missing(
            f"`{path}`, or the folder it is in, is not there", "make it, or name the one that is meant"
        )
    return None
