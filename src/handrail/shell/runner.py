"""Other programs, run to their end: in a session of their own, with a limit of time and of what they say."""

import errno
import os
import select
import signal
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Self

from handrail.shell import errnos
from handrail.shell.faults import Busy, Fault, Missing, Unreadable, UnsafePath
from handrail.shell.ports import Finished

_MOST: Final = 16 * 1024 * 1024
_GRACE: Final = 2.0
_CHUNK: Final = 64 * 1024


class Programs:
    """The `Runner` of real programs, which see this environment and nothing else of ours.

    A program is looked for in the `PATH` of that environment. `most` is how many bytes it may say on each
    stream. When time is up its whole group is asked to end, and after `grace` seconds made to. What it
    started ends with it too, unless that went into a session of its own; such a process is not waited for.
    """

    __slots__ = ("_env", "_grace", "_most")

    def __init__(self, env: Mapping[str, str], most: int = _MOST, grace: float = _GRACE) -> None:
        self._env, self._most, self._grace = dict(env), most, grace

    def run(
        self,
        words: tuple[str, ...],
        folder: str,
        seconds: float,
        stdin: str = "",
        files: tuple[int, ...] = (),
    ) -> Finished:
        """Run a program in a folder, with the file `stdin` as its input; nothing of it is left running."""
        with _Ears(words[0], self._most) as ears:
            with _input(stdin) as source, ears.lent() as (out, err):
                try:
                    child = subprocess.Popen(  # noqa: S603 - the words are ours, and there is no shell
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
                    raise _not_started(words[0], folder, error) from error
            with child:
                try:
                    self._heard(ears, child, words[0], seconds)
                finally:
                    os.killpg(child.pid, signal.SIGKILL)
            return Finished(child.returncode, bytes(ears.out), bytes(ears.err))

    def _heard(self, ears: "_Ears", child: subprocess.Popen[bytes], program: str, seconds: float) -> None:
        """Hear what the child says until it has ended by itself."""
        ears.turn_to(child)
        if not ears.heard_out(time.monotonic() + seconds):
            os.killpg(child.pid, signal.SIGTERM)
            ears.heard_out(time.monotonic() + self._grace)
            raise Busy(
                f"`{program}` was not done after {seconds:g} s and was ended",
                "send the same call again; if it stays so, run it by hand and see what it waits for",
            )


class _Ears:
    """Both streams of a child, taken as it says them, and its end.

    What is listened to are bare files and `poll`: `Popen` would make objects of its pipes, and a selector
    would ask the kernel for another file.
    """

    def __init__(self, program: str, most: int) -> None:
        self.out, self.err = bytearray(), bytearray()
        self._program, self._most = program, most
        self._open = select.poll()
        self._said: dict[int, bytearray] = {}
        self._end = -1
        self._files: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            os.close(file)

    @contextmanager
    def lent(self) -> Iterator[tuple[int, int]]:
        """What a child says something into; it alone has it after the block."""
        ends: list[int] = []
        try:
            for said in (self.out, self.err):
                here, there = os.pipe2(os.O_CLOEXEC)
                self._files.append(here)
                ends.append(there)
                os.set_blocking(here, False)
                self._open.register(here, select.POLLIN)
                self._said[here] = said
            yield ends[0], ends[1]
        finally:
            for file in ends:
                os.close(file)

    def turn_to(self, child: subprocess.Popen[bytes]) -> None:
        """Listen to the end of this child, too."""
        self._end = os.pidfd_open(child.pid)
        self._files.append(self._end)
        self._open.register(self._end, select.POLLIN)

    def heard_out(self, until: float) -> bool:
        """True once the child has ended and all it said is taken, False if that is not so in time.

        It is left a zombie: as long as it is, nobody else can have its number.
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
        """Take what comes within the time; False if that was nothing."""
        ready = self._open.poll(seconds * 1000)
        for file, _ in ready:
            if file == self._end:
                self._end = -1
                self._open.unregister(file)
            elif piece := os.read(file, _CHUNK):
                self._keep(self._said[file], piece)
            else:
                self._open.unregister(file)
        return bool(ready)

    def _keep(self, said: bytearray, piece: bytes) -> None:
        said += piece
        if len(said) > self._most:
            raise Unreadable(
                f"`{self._program}` said more than {self._most} bytes and was ended",
                "run it by hand and see what it says",
            )


@contextmanager
def _input(path: str) -> Iterator[int]:
    """What a child reads: a regular file, or nothing."""
    if not path:
        yield subprocess.DEVNULL
        return
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise errnos.unread(path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise UnsafePath(f"`{path}` is no regular file", "put a file in its place")
        yield file
    finally:
        os.close(file)


def _not_started(program: str, folder: str, error: OSError) -> Fault:
    if error.filename == folder:
        return errnos.unread(folder, error)
    if error.errno == errno.ENOENT:
        return Missing(
            f"the program `{program}` is not there",
            "install it, or put the folder it is in into PATH",
        )
    return Unreadable(
        f"the program `{program}` cannot be started: {error.strerror}", "run it by hand and see what it says"
    )
