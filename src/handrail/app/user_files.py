"""Read the user's and Handrail's own files, and detect whether files have changed.

Links are followed, but a read never blocks: only regular files of limited size are read. The content of
project files is read through `stores.files.disk` instead.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from handrail.runtime import errors
from handrail.runtime.errors import Unreadable, UnsafePath
from handrail.runtime.system import open_nonblocking

MAX_FILE_BYTES: Final = 100 * 1024
# Minimum age of the last change for a snapshot: the coarsest file clocks tick every 2 s.
SETTLED_NANOSECONDS: Final = 3_000_000_000

FileStamp: TypeAlias = tuple[str, int, int, int]  # path, inode, size, modification time in nanoseconds
_FileSignature: TypeAlias = tuple[int, int, int, int, int]


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


class _SignedPath(Struct, frozen=True):
    """The signature of a path. `follows` is true if it is that of a link's target."""

    path: str
    follows: bool
    sign: _FileSignature


class StatSnapshot(Struct, frozen=True):
    """The signatures of files and folders at one moment."""

    seen: tuple[_SignedPath, ...]

    def is_current(self) -> bool:
        """True if none of them has changed since then."""
        for path in self.seen:  # noqa: SIM110 - runs on every call; a generator is slower
            if _stat_signature(path.path, follows=path.follows) != path.sign:
                return False
        return True


class ScannedFolder(Struct, frozen=True):
    """A folder that was read, and the files found in it. `follows` is true if links were followed.

    Links in the path down to the second folder above it are always followed.
    """

    folder: Path
    files: tuple[Path, ...]
    follows: bool


def take_stat_snapshot(places: Iterable[ScannedFolder], before: int) -> StatSnapshot | None:
    """Take a snapshot of folders that were just read.

    None if a file is already gone, or something changed after `before`, in nanoseconds.
    """
    seen = tuple(chain.from_iterable(map(_sign_folder, places)))
    settled = tuple(path for path in seen if path and path.sign[-1] < before)
    return StatSnapshot(settled) if len(settled) == len(seen) else None


def _sign_folder(place: ScannedFolder) -> Iterator[_SignedPath | None]:
    """Yield the folder and its parent if they exist, the nearest existing folder above, and the files."""
    folder, follows = place.folder, place.follows
    nearest = (_sign_path(folder, follows=follows), _sign_path(folder.parent, follows=follows))
    yield from (signed for signed in nearest if signed)
    yield next((signed for path in folder.parent.parents if (signed := _sign_path(path, follows=True))), None)
    yield from (_sign_path(file, follows=follows) for file in place.files)


def _sign_path(path: Path, *, follows: bool) -> _SignedPath | None:
    sign = _stat_signature(str(path), follows=follows)
    return _SignedPath(str(path), follows, sign) if sign else None


def _stat_signature(path: str, *, follows: bool) -> _FileSignature | None:
    """Return the signature of a path, or of the link itself if it is broken; None if it does not exist."""
    try:
        status = os.stat(path, follow_symlinks=follows)  # noqa: PTH116 - called often; a Path is slower
    except OSError:
        return _stat_signature(path, follows=False) if follows else None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
