"""Read the user's and Handrail's own files, and detect whether files have changed.

Links are followed, but a read never blocks: only regular files of limited size are read. The content of
project files is read through `stores.files.disk` instead.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from handrail.runtime import errors
from handrail.runtime.errors import Unreadable, UnsafePath
from handrail.runtime.system import open_nonblocking

MAX_FILE_BYTES: Final = 100 * 1024
# Minimum age of the last change for a snapshot: the coarsest file clocks tick every 2 s.
SETTLED_NANOSECONDS: Final = 3_000_000_000
FileStamp: TypeAlias = tuple[str, int, int, int]  # path, inode, size, modification time in nanoseconds


class LinkFollowingFolder:
    """A folder in which links are followed and hard links are allowed."""

    __slots__ = ("_folder",)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self, folder: str) -> tuple[str, ...]:
        """List the sorted names in a folder; empty if it does not exist."""
        place = self._folder / folder
        try:
            return tuple(sorted(os.listdir(place)))  # noqa: PTH208 - only names are needed; paths are slower
        except FileNotFoundError:
            return ()
        except OSError as wrong:
            raise errors.build_read_fault(str(place), wrong) from wrong

    def read(self, path: str) -> bytes | None:
        """Read a regular file; None if it does not exist."""
        place = self._folder / path
        try:
            with open(place, "rb", opener=open_nonblocking) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise UnsafePath(f"`{place}` is no regular file", "remove it, or put a file in its place")
                data = file.read(MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as wrong:
            raise errors.build_read_fault(str(place), wrong) from wrong
        if len(data) > MAX_FILE_BYTES:
            message = f"`{place}` has more than {MAX_FILE_BYTES} bytes"
            raise Unreadable(message, "make it smaller, or move it away")
        return data


def stamp_folder(folder: Path, depth: int) -> Iterator[FileStamp]:
    """Yield the stamps of everything in a folder, down to a depth; nothing if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            children = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in children:
        if (status := stat_path(Path(entry.path))) is not None:
            yield entry.path, status.st_ino, status.st_size, status.st_mtime_ns
        if depth and entry.is_dir(follow_symlinks=False):
            yield from stamp_folder(Path(entry.path), depth - 1)


def stat_path(path: Path) -> os.stat_result | None:
    """Return the status of a path's target, or of the link itself if it is broken; None if neither exists."""
    for follow in (True, False):
        try:
            return path.stat(follow_symlinks=follow)
        except OSError:
            continue
    return None
