"""The program in processes that need not import it: forks of one that has imported everything.

Half a second goes by until Python has imported what a command needs, a whole one for a server; tests start
hundreds of them. A fork is a process like any other, with its own variables, folder and streams. Who asks for
variables that are read before the program begins, Python's and the loader's, must start it anew.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Final, Self, TypeAlias

import coverage

import handrail
from handrail.app.definitions import Definitions
from handrail.app.trust import TrustStore

PROGRAM: Final = Path(sys.executable).with_name("handrail")
_BEFORE: Final = ("LANG", "LC_", "LD_", "PYTHON")
_MEASURED: Final = "COVERAGE_PROCESS_"
_Variables: TypeAlias = tuple[tuple[str, str], ...]
_MOST: Final = 1 << 17
"""No request is longer."""
_LATE: Final = (
    "anyio._backends._asyncio",
    "encodings.idna",
    "importlib.readers",
    "rich.logging",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.h11_impl",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
)
"""What libraries import only when they serve."""


def import_program() -> None:
    """Import every part of the program."""
    for found in pkgutil.walk_packages(handrail.__path__, "handrail."):
        if found.name != "handrail.__main__":
            importlib.import_module(found.name)


def _used() -> None:
    """Do once what every server does first: load what others import late, and read what is built in."""
    for name in _LATE:
        importlib.import_module(name)
    shelf = Definitions(Path("/nonexistent"), TrustStore())
    for found in shelf.workflows():
        shelf.find_pinned(found.name)


class ForkedProcess:
    """A process of the program, as `subprocess` has them; with pipes, if there are any."""

    stdin: IO[bytes] | None = None
    stdout: IO[bytes] | None = None

    def __init__(
        self, words: Sequence[str], env: Mapping[str, str], cwd: Path, streams: Sequence[int]
    ) -> None:
        self.returncode: int | None = None
        self._told, theirs = os.pipe()
        request = json.dumps({"words": words, "env": dict(env), "cwd": str(cwd)}).encode()
        assert len(request) < _MOST
        try:
            socket.send_fds(_parent(_measured(env)).asked, [request], [*streams, theirs])
        finally:
            os.close(theirs)
        self.pid = int(os.read(self._told, 32))

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its pipes, and wait for its end."""
        for pipe in (self.stdin, self.stdout):
            if pipe:
                pipe.close()
        self.wait(None)

    def poll(self) -> int | None:
        """The status it has ended with, if it has."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """The status it has ended with, within so many seconds, if there is a limit."""
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(PROGRAM), timeout or 0)
            self.returncode = int(os.read(self._told, 32))
            os.close(self._told)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


ServedProcess: TypeAlias = "subprocess.Popen[bytes] | ForkedProcess"


def start_process(words: Sequence[str], env: Mapping[str, str], cwd: Path, errors: int) -> ServedProcess:
    """A process of a program, spoken to through unbuffered pipes: a fork if that is the same."""
    if not can_fork(words[0], env):
        pipe = subprocess.PIPE
        return subprocess.Popen(words, env=env, cwd=cwd, stdin=pipe, stdout=pipe, stderr=errors, bufsize=0)
    (theirs, stdin), (stdout, ours) = os.pipe(), os.pipe()
    forked = ForkedProcess(words[1:], env, cwd, [theirs, ours, errors])
    os.close(theirs)
    os.close(ours)
    forked.stdin, forked.stdout = os.fdopen(stdin, "wb", 0), os.fdopen(stdout, "rb", 0)
    return forked


class _Parent:
    """The process that has imported everything, and what it was started with; its forks may be measured."""

    def __init__(self, measured: _Variables) -> None:
        self.asked, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        env = {name: value for name, value in os.environ.items() if not name.startswith(_MEASURED)}
        path = os.pathsep.join([str(Path(__file__).resolve().parent.parent), *sys.path])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "helpers.forks", str(theirs.fileno()), json.dumps(dict(measured))],
            env={**env, "PYTHONPATH": path},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        self.before = _before(os.environ)
        theirs.close()
        atexit.register(self.close)

    def close(self) -> None:
        """Let it end."""
        self.asked.close()
        self.process.wait()


@cache
def _parent(measured: _Variables) -> _Parent:
    return _Parent(measured)


def _measured(env: Mapping[str, str]) -> _Variables:
    return tuple(sorted((name, value) for name, value in env.items() if name.startswith(_MEASURED)))


def _before(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_BEFORE)}


def can_fork(program: str | Path, env: Mapping[str, str]) -> bool:
    """True if a fork is what this program would be in this environment."""
    return str(program) == str(PROGRAM) and _before(env) == _parent(_measured(env)).before


# --- the process that forks ---------------------------------------------------------------------------------


def main(number: int, measured: Mapping[str, str]) -> None:
    """Fork for every request, until nobody can ask any more; tell who asked its number, then its status.

    Measuring begins here if there are variables for it: in a fork that takes longer than all else.
    """
    atexit.register(_leave)
    import_program()
    _used()
    os.environ.update(measured)
    coverage.process_startup(force=True)
    gc.collect()
    gc.freeze()
    asked = socket.socket(fileno=number)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    heard: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([asked.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _tell_of_the_ended(heard)
        if asked.fileno() in ready:
            request, streams, _, _ = socket.recv_fds(asked, _MOST, 4)
            if not request:
                return
            child = os.fork()
            if child == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                asked.close()
                _become(json.loads(request), streams, [woken, wake, *heard.values()])
            heard[child] = streams.pop()
            os.write(heard[child], f"{child}\n".ljust(32).encode())
            for stream in streams:
                os.close(stream)


def _tell_of_the_ended(heard: dict[int, int]) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            said = heard.pop(ended[0])
            with suppress(BrokenPipeError):
                os.write(said, str(os.waitstatus_to_exitcode(ended[1])).encode())
            os.close(said)


def _become(request: Mapping[str, object], streams: Sequence[int], others: Sequence[int]) -> None:
    """Be the program, with the words, variables, folder and streams that were asked for, to its end."""
    from handrail.__main__ import main as program  # noqa: PLC0415 - here it has been imported

    for at, stream in enumerate(streams[:3]):
        os.dup2(stream, at)
    for stream in (*streams, *others):
        os.close(stream)
    words, env, cwd = request["words"], request["env"], request["cwd"]
    assert isinstance(words, list)
    assert isinstance(env, dict)
    os.chdir(str(cwd))
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [str(PROGRAM), *words]
    try:
        program()
        sys.exit()
    except SystemExit as ended:
        _STATUS.extend([ended.code or 0] if isinstance(ended.code, int | None) else [])
        raise


_STATUS: Final[list[int]] = []
"""What a fork ends with, once it does."""


def _leave() -> None:
    """End a fork: its threads have ended, and all else that happens at an end has, for this came first.

    To take apart all that was imported takes five times as long as the fork.
    """
    if _STATUS:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_STATUS[0])


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
