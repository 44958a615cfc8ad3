"""Reading files of the user's own, and ours: links are followed, and yet nothing can make anybody wait."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from handrail.shell import errnos
from handrail.shell.faults import Unreadable, UnsafePath
from handrail.shell.reading import unblocked

LARGEST: Final = 100 * 1024
"""How many bytes a definition file may have."""

Stamp: TypeAlias = tuple[str, int, int, int]
"""A path, and what the system says of it: its number, its size, and when it was changed."""


class Reads(Protocol):
    """A folder whose files are read by their paths below it; raises a `Fault` for what cannot be read."""

    def names(self, folder: str) -> tuple[str, ...]:
        """The sorted names in a folder; none if it is not there."""
        ...

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None if there is none."""
        ...


class Followed:
    """A folder in which links are followed, and a file may have several names."""

    __slots__ = ("_folder",)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self, folder: str) -> tuple[str, ...]:
        """The sorted names in a folder; none if it is not there."""
        place = self._folder / folder
        try:
            return tuple(sorted(os.listdir(place)))  # noqa: PTH208 - only names are wanted, and paths cost more
        except FileNotFoundError:
            return ()
        except OSError as wrong:
            raise errnos.unread(str(place), wrong) from wrong

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file, or None if there is none."""
        place = self._folder / path
        try:
            with open(place, "rb", opener=unblocked) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise UnsafePath(f"`{place}` is no regular file", "remove it, or put a file in its place")
                data = file.read(LARGEST + 1)
        except FileNotFoundError:
            return None
        except OSError as wrong:
            raise errnos.unread(str(place), wrong) from wrong
        if len(data) > LARGEST:
            raise Unreadable(f"`{place}` has more than {LARGEST} bytes", "make it smaller, or move it away")
        return data


def stamps(folder: Path, depth: int) -> Iterator[Stamp]:
    """What changes when something in a folder does, down to a depth; nothing if it cannot be looked into."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        if (now := seen(Path(entry.path))) is not None:
            yield entry.path, now.st_ino, now.st_size, now.st_mtime_ns
        if depth and entry.is_dir(follow_symlinks=False):
            yield from stamps(Path(entry.path), depth - 1)


def seen(path: Path) -> os.stat_result | None:
    """What the system says of what a path leads to, or of the link that leads nowhere."""
    for follow in (True, False):
        try:
            return path.stat(follow_symlinks=follow)
        except OSError:
            continue
    return None
