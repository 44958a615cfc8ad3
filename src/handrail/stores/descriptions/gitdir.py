"""What lies in the folder of git and can be seen without asking git: whether something is still as it was.

Nothing is concluded from what is not there: whoever is told nothing here asks git.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

_POINTER: Final = b"gitdir: "
_OWN: Final = "refs/worktree/"
_LONGEST: Final = 4096
_NAME: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

Stamp: TypeAlias = tuple[tuple[int, int, int], ...]
"""What a set of files looks like from outside; another one as soon as any of them is written."""


@dataclass(frozen=True, slots=True)
class Places:
    """The folder of a worktree's own, and the one that all worktrees of the repository share."""

    own: Path
    common: Path

    def loose(self, ref: str) -> str:
        """The commit that the file of a ref names; nothing if there is none, or it names no commit."""
        said = _line((self.own if ref.startswith(_OWN) else self.common) / ref)
        return said if _NAME.fullmatch(said) else ""

    def configured(self) -> Stamp:
        """What the settings of the repository look like."""
        return tuple(_stamp(path) for path in (self.common / "config", self.own / "config.worktree"))


def places(folder: Path) -> Places | None:
    """Those of the worktree in this folder; None if they cannot be seen."""
    git = folder / ".git"
    own = _pointed(folder, _read(git)) if git.is_file() else git
    if own is None:
        return None
    shared = _line(own / "commondir")
    return Places(own, own / shared if shared else own)


def _pointed(folder: Path, said: bytes) -> Path | None:
    """The folder that the file `.git` of a worktree leads to."""
    found = said.removeprefix(_POINTER)
    return folder / os.fsdecode(found.rstrip(b"\r\n")) if found != said else None


def _line(path: Path) -> str:
    return os.fsdecode(_read(path)).rstrip("\r\n")


def _read(path: Path) -> bytes:
    """The first bytes of a file; none if it cannot be read."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            return os.read(file, _LONGEST)
        finally:
            os.close(file)
    except OSError:
        return b""


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_mtime_ns, found.st_size)
