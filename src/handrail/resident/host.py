"""The resident server: it has imported everything, and becomes another process for each program that comes.

Each session is a process of its own, as without it: with the folder, variables and stderr of the program that
asked for it. This one has no thread and no store open, and only forks.
"""

import errno
import fcntl
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

import handrail
from handrail.resident import place
from handrail.resident.messages import MOST, SERVED, unpacked, whole

Program: TypeAlias = Callable[[Sequence[str]], object]
"""What is run with the words of a command line; it ends with `SystemExit`."""

_BACKLOG: Final = 64
_PATIENCE: Final = 5.0
"""How many seconds a program that came may take to say what it wants."""


_REST: Final = 1.0
"""How many seconds pass until it looks again whether there is a descriptor for who has come.

Who gets no answer in the meantime serves by itself.
"""


class UnfitError(Exception):
    """There can be no resident server here, and why."""


class TakenError(Exception):
    """There is one already."""


class Host:
    """The one process that may be the resident server. Raises `TakenError` or `UnfitError` if it may not."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._stamp, self._since = place.stamp(), time.time()
        self._sessions: set[int] = set()
        self._lock = _locked()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)

    def run(self, idle: float | None) -> None:
        """Serve until told to end, until another program was installed, or nobody has come for a while."""
        signal.set_wakeup_fd(self._wake)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        gc.collect()
        gc.freeze()
        self._listening = _listening()
        try:
            while self._served(idle):
                continue
        finally:
            Path(place.address()).unlink(missing_ok=True)
            os.close(self._lock)

    def _served(self, idle: float | None) -> bool:
        """Do what there is to do next; False if that was the last."""
        ready, _, _ = select.select([self._listening.fileno(), self._woken], [], [], idle)
        if self._woken in ready:
            told = set(os.read(self._woken, 4096))
            self._reap()
            if told & {signal.SIGTERM, signal.SIGINT}:
                return False
        if self._listening.fileno() in ready:
            return self._come()
        return bool(ready or self._sessions)

    def _come(self) -> bool:
        """Be another process for a program that has come; False if it is not this program any more.

        Who comes when there can be no more processes is sent away, and serves by itself.
        """
        try:
            connection, _ = self._listening.accept()
        except ConnectionAbortedError:
            return True
        except OSError as error:
            if error.errno not in {errno.EMFILE, errno.ENFILE}:
                raise
            select.select([self._woken], [], [], _REST)
            return True
        with connection:
            if place.peer(connection)[0] != os.geteuid():
                return True
            if place.stamp() != self._stamp:
                return False
            try:
                session = os.fork()
            except BlockingIOError:
                return True
            if session == 0:
                self._become(connection)
            self._sessions.add(session)
        return True

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while ended := os.waitpid(-1, os.WNOHANG)[0]:
                self._sessions.discard(ended)

    def _become(self, connection: socket.socket) -> NoReturn:
        """Be the program that has come, to its end."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.setsid()
            for ours in (self._listening.fileno(), self._woken, self._wake, self._lock):
                os.close(ours)
            status = self._session(connection)
        except BaseException:  # noqa: BLE001 - whatever it is, no part of this process may run twice
            sys.excepthook(*sys.exc_info())
        finally:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(status)

    def _session(self, connection: socket.socket) -> int:
        connection.settimeout(_PATIENCE)
        try:
            begun, descriptors, _, _ = socket.recv_fds(connection, MOST, 2)
            wish = unpacked(whole(connection, begun))
            served = wish.stamp == self._stamp and len(descriptors) == 2
            connection.sendall((SERVED if served else b"another\n") if wish.words else self._standing())
        except (ValueError, OSError):
            return 1
        if not wish.words or not served:
            return 0
        connection.settimeout(None)
        errors, told = descriptors
        for at, number in enumerate((connection.fileno(), connection.fileno(), errors)):
            os.dup2(number, at)
        connection.close()
        os.close(errors)
        os.chdir(wish.cwd)
        os.umask(wish.umask)
        os.environ.clear()
        os.environ.update(wish.env)
        sys.argv = [sys.argv[0], *wish.words]
        status = status_of(self._program, wish.words)
        with suppress(BrokenPipeError):
            os.write(told, bytes([status]))
        return status

    def _standing(self) -> bytes:
        found = {
            "version": handrail.__version__,
            "pid": os.getppid(),
            "since": self._since,
            "sessions": len(self._sessions),
        }
        return json.dumps(found).encode() + b"\n"


def status_of(program: Program, words: Sequence[str]) -> int:
    """The status that a program ends with."""
    try:
        program(words)
    except SystemExit as ended:
        if isinstance(ended.code, int):
            return ended.code & 0xFF
        if ended.code is not None:
            sys.stderr.write(f"{ended.code}\n")
            return 1
    return 0


def _locked() -> int:
    """The lock that makes one process the resident server. Raises `TakenError` or `UnfitError`."""
    folder = place.folder()
    if len(os.fsencode(place.address())) > place.LONGEST:
        raise UnfitError(f"{place.address()} is too long for a socket")
    Path(folder).mkdir(0o700, parents=True, exist_ok=True)
    if not place.private(folder):
        raise UnfitError(f"{folder} is not a folder that only you may enter")
    lock = os.open(f"{folder}/lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise TakenError from None
    return lock


def _listening() -> socket.socket:
    Path(place.address()).unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listening.bind(place.address())
    finally:
        os.umask(before)
    listening.listen(_BACKLOG)
    return listening
