"""Where the resident server is: a socket in a folder that only its user may enter."""

from __future__ import annotations

import os
import stat
import sys

import handrail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Final

VARIABLE: Final = "HANDRAIL_RESIDENT"
"""Set to `off`, it has a program serve by itself."""

LONGEST: Final = 100
"""How long the path of a socket may be: one byte more than systems take is refused, or cut."""

_BEFORE: Final = ("LANG", "LC_", "LD_", "DYLD_", "PYTHON")
_SO_PEERCRED: Final = (1, 17, 12)
_LOCAL_PEERCRED: Final = (0, 1, 76)


def folder() -> str:
    """The folder of the socket."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")  # noqa: PTH111, PTH118 - pathlib takes longer to import than all of this
    return os.path.join(runtime if os.path.isabs(runtime) else state, "handrail", "resident")  # noqa: PTH117, PTH118 - the same


def address() -> str:
    """The path of the socket."""
    return folder() + "/socket"


def marker() -> str:
    """The file whose presence says that a program may start the resident server when it finds none."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")  # noqa: PTH111, PTH118 - the same
    return os.path.join(config, "handrail", "resident-on-demand")  # noqa: PTH118 - the same


def private(path: str) -> bool:
    """True if this is a folder of this user's that nobody else may enter."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def stamp() -> str:
    """Which program this is, and in which environment that is read before it begins.

    Who has another stamp is another program, or was started before this one was installed.
    """
    root = os.path.dirname(handrail.__file__)  # noqa: PTH120 - the same
    installed = os.stat(handrail.__file__).st_mtime_ns  # noqa: PTH116 - the same
    before = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(_BEFORE))
    return "\n".join((handrail.__version__, root, str(installed), sys.prefix, *before))


def peer(connection: socket) -> tuple[int, int]:
    """The user and the process at the other end; the process is 0 where the system does not tell."""
    linux = sys.platform == "linux"
    level, name, size = _SO_PEERCRED if linux else _LOCAL_PEERCRED
    found = connection.getsockopt(level, name, size)
    user = int.from_bytes(found[4:8], sys.byteorder)
    return user, int.from_bytes(found[:4], sys.byteorder) if linux else 0
