"""What Handrail uses of the machine: environment, folders, files, clock, ids, processes, times as text.

`SystemClock`, `RandomIds`, `LocalFeed` and `SubprocessRunner` implement the protocols in `ports.turn`.
"""

import errno
import os
import pwd
import re
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Final, Self

from handrail.runtime import errors
from handrail.runtime.errors import Busy, Fault, Missing, Unreadable, UnsafePath
from handrail.runtime.ports.turn import ProcessResult
from handrail.runtime.records import RunChange

_MAX_ENVIRONMENT_NUMBER: Final = 31_536_000
"""The seconds of a year."""


def read_environment_number_or_default(variable: str, usual: int, unit: str = "seconds") -> int:
    """Read a number from an environment variable; `usual` if it is not set.

    Raises `Unreadable` if the value is not a whole number above zero.
    """
    return read_environment_number(variable, unit, _MAX_ENVIRONMENT_NUMBER) or usual


def read_environment_seconds(variable: str, usual: timedelta) -> timedelta:
    """Read a number of seconds from an environment variable; `usual` if it is not set.

    Raises `Unreadable` if the value is not a whole number above zero.
    """
    return timedelta(seconds=read_environment_number_or_default(variable, int(usual.total_seconds())))


def read_environment_number(variable: str, unit: str, most: int) -> int:
    """Read a number from an environment variable; 0 if it is not set.

    Raises `Unreadable` if the value is not a whole number from 1 to `most`.
    """
    given = os.environ.get(variable, "")
    if given and not (given.isascii() and given.isdecimal() and len(given) < 20 and 0 < int(given) <= most):
        message = f"{variable} is {given!a}, which is no number of {unit}"
        raise Unreadable(message, f"set it to a whole number from 1 to {most}, or not at all")
    return int(given or "0")


def settings_folder() -> Path:
    """Return Handrail's folder for user settings (`XDG_CONFIG_HOME`). It may not exist."""
    return _xdg_folder("XDG_CONFIG_HOME", ".config")


def data_folder() -> Path:
    """Return Handrail's folder for user data (`XDG_DATA_HOME`). It may not exist."""
    return _xdg_folder("XDG_DATA_HOME", ".local/share")


def state_folder() -> Path:
    """Return Handrail's folder for user state (`XDG_STATE_HOME`). It may not exist."""
    return _xdg_folder("XDG_STATE_HOME", ".local/state")


def default_store_path() -> Path:
    """Return the path of the default store."""
    return data_folder() / "handrail.db"


def _xdg_folder(variable: str, usual: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / usual) / "handrail"


def resolve_path(path: Path) -> Path:
    """Return the absolute path with every link followed; links that form a loop are kept.

    `Path.resolve` does the same, but before Python 3.13 it raises `RuntimeError` for a loop.
    """
    return Path(os.path.realpath(path))


def read_bytes(path: Path, most: int = -1) -> bytes:
    """Read at most `most` bytes of a file; all by default. Raises `OSError`, which always names the file.

    A pipe without a writer reads as empty.
    """
    try:
        with open(path, "rb", opener=open_nonblocking) as opened:
            os.set_blocking(opened.fileno(), True)
            return opened.read(most)
    except OSError as error:
        error.filename = str(path)
        raise


def open_nonblocking(path: str, flags: int) -> int:
    """Open a file without waiting, even if it is a pipe without a writer. An `opener` for `open`."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


class SystemClock:
    """The `Clock` of the machine."""

    def now(self) -> datetime:
        """Return the current time in UTC, in whole milliseconds."""
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)


class RandomIds:
    """The `IdSource` that uses the random generator of the operating system."""

    def new_id(self) -> str:
        """Return a random UUID, version 4."""
        # `uuid.uuid4` takes three times as long, and a turn needs several.
        name = os.urandom(16).hex()
        variant = "89ab"[int(name[16], 16) & 3]
        return f"{name[:8]}-{name[8:12]}-4{name[13:16]}-{variant}{name[17:20]}-{name[20:]}"

    def nonce(self) -> bytes:
        """Return six random bytes."""
        return os.urandom(6)


def get_login_name() -> str:
    """Return the login name of the user who started the program; the user id if there is no name."""
    user = os.getuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


class LocalFeed:
    """A `Feed` for listeners in this process. It calls them in the thread that announces."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[RunChange], None]] = {}
        self._lock = Lock()

    def announce(self, change: RunChange) -> None:
        """Call every listener. An exception in one is printed, and the others are still called."""
        with self._lock:
            listeners = tuple(self._listeners.values())
        for listener in listeners:
            try:
                listener(change)
            except Exception:  # noqa: BLE001 - the turn is committed: a listener must not cost its reply
                sys.excepthook(*sys.exc_info())

    def listen(self, heard: Callable[[RunChange], None]) -> Callable[[], None]:
        """Call `heard` for every change from now on. Return a function that stops this."""
        key = object()
        with self._lock:
            self._listeners[key] = heard

        def stop() -> None:
            with self._lock:
                self._listeners.pop(key, None)

        return stop


_MAX_OUTPUT_BYTES: Final = 16 * 1024 * 1024
_GRACE_SECONDS: Final = 2.0
_CHUNK_BYTES: Final = 64 * 1024


class SubprocessRunner:
    """The `ProcessRunner` for real programs. They see the environment `env` and nothing else of ours.

    A program is looked up in the `PATH` of that environment. `most` limits the bytes of each output stream.
    When the time is up, the whole process group gets SIGTERM, and SIGKILL after `grace` seconds. Processes
    that it started end with it, unless they opened a session of their own; those are not waited for.
    """

    __slots__ = ("_env", "_grace", "_most")

    def __init__(
        self, env: Mapping[str, str], most: int = _MAX_OUTPUT_BYTES, grace: float = _GRACE_SECONDS
    ) -> None:
        self._env, self._most, self._grace = dict(env), most, grace

    def run(
        self,
        words: tuple[str, ...],
        folder: str,
        seconds: float,
        stdin: str = "",
        files: tuple[int, ...] = (),
    ) -> ProcessResult:
        """Run a program in a folder, with the file `stdin` as its input. Leaves nothing of it running."""
        with _OutputReader(words[0], self._most) as output:
            with _open_input(stdin) as source, output.open_pipes() as (out, err):
                try:
                    child = subprocess.Popen(  # noqa: S603 - the arguments are ours, and there is no shell
                        words,
                        cwd=folder,
                        env=self._env,
                        stdin=source,
                        stdout=out,
                        stderr=err,
                        start_new_session=True,
                        pass_fds=files,
                    )
                except OSError as error:
                    raise _start_fault(words[0], folder, error) from error
            with child:
                try:
                    self._read_until_exit(output, child, words[0], seconds)
                finally:
                    os.killpg(child.pid, signal.SIGKILL)
            return ProcessResult(child.returncode, bytes(output.out), bytes(output.err))

    def _read_until_exit(
        self, output: "_OutputReader", child: subprocess.Popen[bytes], program: str, seconds: float
    ) -> None:
        """Read the output until the child ends. Raises `Busy`, and ends the child, if the time is up."""
        output.watch_exit(child)
        if not output.read_to_end(time.monotonic() + seconds):
            os.killpg(child.pid, signal.SIGTERM)
            output.read_to_end(time.monotonic() + self._grace)
            raise Busy(
                f"`{program}` was not done after {seconds:g} s and was ended",
                "send the same call again; if it stays so, run it by hand and see what it waits for",
            )


class _OutputReader:
    """Reads both output streams of a child as they arrive, and notices its end.

    It uses bare file descriptors and `poll`: `Popen` would wrap its pipes in objects, and a selector would
    need one more descriptor from the kernel.
    """

    def __init__(self, program: str, most: int) -> None:
        self.out, self.err = bytearray(), bytearray()
        self._program, self._most = program, most
        self._open = select.poll()
        self._received: dict[int, bytearray] = {}
        self._end = -1
        self._files: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            os.close(file)

    @contextmanager
    def open_pipes(self) -> Iterator[tuple[int, int]]:
        """Yield the write ends for stdout and stderr. After the block only the child holds them."""
        ends: list[int] = []
        try:
            for received in (self.out, self.err):
                read_end, write_end = os.pipe2(os.O_CLOEXEC)
                self._files.append(read_end)
                ends.append(write_end)
                os.set_blocking(read_end, False)
                self._open.register(read_end, select.POLLIN)
                self._received[read_end] = received
            yield ends[0], ends[1]
        finally:
            for file in ends:
                os.close(file)

    def watch_exit(self, child: subprocess.Popen[bytes]) -> None:
        """Also watch for the end of this child."""
        self._end = os.pidfd_open(child.pid)
        self._files.append(self._end)
        self._open.register(self._end, select.POLLIN)

    def read_to_end(self, until: float) -> bool:
        """Read until the child has ended and its output is complete; False if the time `until` comes first.

        The child stays a zombie, so that no other process can get its process id.
        """
        while self._end >= 0:
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._take(left)
        while self._take(0):
            pass
        return True

    def _take(self, seconds: float) -> bool:
        """Read what arrives within the time; False if nothing did."""
        ready = self._open.poll(seconds * 1000)
        for file, _ in ready:
            if file == self._end:
                self._end = -1
                self._open.unregister(file)
            elif piece := os.read(file, _CHUNK_BYTES):
                self._keep(self._received[file], piece)
            else:
                self._open.unregister(file)
        return bool(ready)

    def _keep(self, received: bytearray, piece: bytes) -> None:
        received += piece
        if len(received) > self._most:
            raise Unreadable(
                f"`{self._program}` said more than {self._most} bytes and was ended",
                "run it by hand and see what it says",
            )


@contextmanager
def _open_input(path: str) -> Iterator[int]:
    """Open the input of a child: a regular file, or nothing. Raises `UnsafePath` for any other file."""
    if not path:
        yield subprocess.DEVNULL
        return
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise errors.build_read_fault(path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise UnsafePath(f"`{path}` is no regular file", "put a file in its place")
        yield file
    finally:
        os.close(file)


def _start_fault(program: str, folder: str, error: OSError) -> Fault:
    if error.filename == folder:
        return errors.build_read_fault(folder, error)
    if error.errno == errno.ENOENT:
        return Missing(
            f"the program `{program}` is not there",
            "install it, or put the folder it is in into PATH",
        )
    return Unreadable(
        f"the program `{program}` cannot be started: {error.strerror}", "run it by hand and see what it says"
    )


_AGE_PATTERN = re.compile(r"(\d{1,9})([smhdw])")
AGE_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_age(text: str) -> timedelta | None:
    """Parse an age such as `2d`; None if the text is not one."""
    found = _AGE_PATTERN.fullmatch(text)
    return timedelta(**{AGE_UNITS[found[2]]: int(found[1])}) if found else None


def parse_moment(text: str) -> datetime:
    """Parse an age such as `2d`, counted back from now, or an ISO time, in UTC if it has no zone.

    Raises `ValueError` or `OverflowError` for any other text.
    """
    return _parse_time_ago(text) or _parse_iso_time(text)


def _parse_time_ago(text: str) -> datetime | None:
    age = parse_age(text)
    return None if age is None else SystemClock().now() - age


def _parse_iso_time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
