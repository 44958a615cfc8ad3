"""jj and git, asked in words and in an environment by which no project can have anything else run."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from handrail.shell.faults import Busy, Fault, Missing, NoTool, TimedOut
from handrail.shell.ports import Finished, Runner
from handrail.shell.vcs import scrubbed


@dataclass(frozen=True, slots=True)
class Limits:
    """How many seconds a program may take to say something, and to change something, and a lock to be had.

    What looks at files counts as a change: the first look at ten thousand takes jj about four seconds.
    """

    read: float = 10.0
    write: float = 30.0
    lock: float = 60.0


LIMITS: Final = Limits()
"""What is waited for unless somebody says otherwise."""


def limited(write: timedelta) -> Limits:
    """What is waited for if a change may take so long; whoever says something need not take longer."""
    seconds = write.total_seconds()
    return Limits(min(LIMITS.read, seconds), seconds, max(LIMITS.lock, 2 * seconds))


_THEIRS: Final = (
    *("JJ_CONFIG", "JJ_USER", "JJ_EMAIL", "GIT_CONFIG_GLOBAL"),
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
)
_FIXED: Final[Mapping[str, str]] = {
    "LC_ALL": "C",
    "COLUMNS": "80",
    "JJ_EDITOR": "false",
    "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "EMPTY_FOR_GIT": "",
}


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """What the programs see of this environment: who the user is, and nothing that would steer them.

    They speak English, ask nobody and fetch nothing; jj asks no third program how wide the screen is. What is
    looked for in PATH is not found in the project.
    """
    theirs = {name: env[name] for name in _THEIRS if name in env}
    path = os.pathsep.join(
        one for one in env.get("PATH", os.defpath).split(os.pathsep) if one.startswith("/")
    )
    return {**scrubbed(env), **theirs, **_FIXED, "PATH": path}


@dataclass(frozen=True, slots=True)
class Program:
    """A program in a folder. `words` stand before those of every call; `explain` names what went wrong."""

    runner: Runner
    folder: Path
    words: tuple[str, ...]
    explain: Callable[[Path, Finished], Fault]
    limits: Limits

    def ask(self, *words: str, text: bytes = b"") -> bytes:
        """What it says, once it has ended well; `text` is its input. Raises as `tell` does."""
        return self._ended(words, self.limits.read, text, ())

    def tell(self, *words: str, text: bytes = b"", files: tuple[int, ...]) -> bytes:
        """Have it change something; it inherits `files`. What it says, once it has ended well.

        Raises what `explain` makes of anything else it says, `TimedOut`, `NoTool`, and `Missing` if the
        folder is not there.
        """
        return self._ended(words, self.limits.write, text, files)

    def _ended(self, words: tuple[str, ...], seconds: float, text: bytes, files: tuple[int, ...]) -> bytes:
        with _given(text) as path:
            try:
                ended = self.runner.run((*self.words, *words), f"{self.folder}", seconds, path, files)
            except Busy as busy:
                raise TimedOut(busy.message, busy.repair) from busy
            except Missing as missing:
                raise (self._no_tool() if self.folder.is_dir() else missing) from missing
        if ended.status:
            raise self.explain(self.folder, ended)
        return ended.out

    def _no_tool(self) -> NoTool:
        name = self.words[0]
        return NoTool(
            f"the program `{name}` is not there", f"install {name}, or put the folder it is in into PATH"
        )


@contextmanager
def _given(text: bytes) -> Iterator[str]:
    """The path of a program's input; none if there is nothing to read."""
    if not text:
        yield ""
        return
    with in_memory(text) as file:
        yield f"/proc/self/fd/{file}"


@contextmanager
def in_memory(data: bytes) -> Iterator[int]:
    """A file that is complete before anybody reads it, and of which a kill leaves nothing."""
    with os.fdopen(os.memfd_create("handrail"), "wb") as file:
        file.write(data)
        file.flush()
        yield file.fileno()
