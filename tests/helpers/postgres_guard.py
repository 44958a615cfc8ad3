"""Ends a PostgreSQL server, and removes its folder, once nobody holds it any more.

Whoever uses the server has a shared lock on `held` in its folder. Such a lock ends with its process, however
that ends, and no fork of it has the lock too. `python -I -S postgres_guard.py FOLDER` leaves a process behind
that waits for the exclusive lock: then all have let go. It knows nothing but Python's own library.
"""

import ctypes
import fcntl
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_REMOVE: Final = 0


def list_processes(folder: Path) -> list[int]:
    """The processes of the server in a folder, the first of them before those that it has forked.

    They are known by their command line, which everybody may read: a root without all rights, as in a
    container, may not see where another user's processes are.
    """
    return [pid for _, pid in sorted(_found(folder))]


def _found(folder: Path) -> Iterator[tuple[bool, int]]:
    data, title = os.fsencode(folder / "data"), os.fsencode(f"postgres: {folder}: ")
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (entry / "cmdline").read_bytes()
            forked = line.startswith(title)
            if forked or data in line.split(b"\0"):
                yield forked, int(entry.name)


def kill_server(folder: Path) -> None:
    """Kill every process of the server, at once; none is left."""
    while found := list_processes(folder):
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def remove_server(folder: Path) -> None:
    """Leave nothing of the server: no process, no shared memory, no file."""
    (folder / "held").unlink(missing_ok=True)
    kill_server(folder)
    with suppress(OSError, IndexError):
        memory = (folder / "data" / "postmaster.pid").read_text().splitlines()[6].split()[1]
        _free(int(memory), folder.stat().st_uid)
    shutil.rmtree(folder, ignore_errors=True)


def _free(memory: int, owner: int) -> None:
    """Free shared memory as the user it belongs to: a root without all rights may not."""
    own = os.geteuid()
    os.seteuid(owner)
    ctypes.CDLL(None).shmctl(memory, _REMOVE, None)
    os.seteuid(own)


def main(folder: Path) -> None:
    """Wait in a process of its own until nobody holds the server, and end it."""
    held = os.open(folder / "held", os.O_RDWR | os.O_CLOEXEC)
    if os.fork():
        return
    os.setsid()
    os.chdir("/")
    fcntl.lockf(held, fcntl.LOCK_EX)
    remove_server(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
