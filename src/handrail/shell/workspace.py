"""The real files of a folder, reached one component at a time so that no link is ever followed."""

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from handrail.shell import errnos
from handrail.shell.faults import Busy, Missing, SyncFailed, Unreadable, UnsafePath

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY
_OLD: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_MORE: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_LOCK: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
_MOST: Final = 256 * 1024 * 1024
_CHUNK: Final = 1024 * 1024
_PAUSE: Final = 0.002
_SECOND: Final = 1_000_000_000
_STEP: Final = 100_000_000
_COARSE_STEP: Final = 2 * _SECOND
"""Nanoseconds in which two changes may get the same time. A time in whole seconds suggests a file system that
keeps no parts of them; FAT keeps every other second. The kernel's clock ticks every 10 ms at most."""


def _nothing(name: str) -> None:
    """What is done before a change unless a test has other plans."""


class Disk:
    """The `Workspace` of a folder below a root that is trusted and must be there.

    `folder` may not be there yet: `mkdir("")` makes it. `before` is called ahead of every system call that
    changes something, with a name such as `write plan.md`; two bytes or more are written in two pieces, so
    that there is a moment when a file is torn. No file of more than `most` bytes is read.

    After `SyncFailed` nothing is changed any more: what a second try would confirm is not what the first one
    wrote.
    """

    __slots__ = ("_before", "_most", "_parts", "_root", "_unsure")

    def __init__(
        self, root: Path, folder: str = "", before: Callable[[str], None] = _nothing, most: int = _MOST
    ) -> None:
        self._root = root
        self._parts = _split(folder)
        self._before = before
        self._most = most
        self._unsure = False

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None if there is none."""
        with self._reading(path):
            try:
                with self._above(path) as (folder, name), _closed(os.open(name, _OLD, dir_fd=folder)) as file:
                    self._plain(path, os.fstat(file))
                    return self._bytes(path, file)
            except FileNotFoundError:
                return None

    def names(self, folder: str) -> tuple[str, ...]:
        """The sorted names in a folder; none if it is not there."""
        with self._reading(folder):
            try:
                with self._opened((*self._parts, *_split(folder))) as opened, os.scandir(opened) as entries:
                    return tuple(sorted(entry.name for entry in entries))
            except FileNotFoundError:
                return ()

    def stamp(self, path: str) -> object:
        """What tells whether a file, or the names in a folder, have changed; None if nothing is there."""
        *folders, name = _split(path) or (".",)
        try:
            with self._opened((*self._parts, *folders)) as folder:
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError:
            return object()
        plain = stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1)
        # A file that has just changed may change once more within the same step: no stamp could tell.
        step = _STEP if found.st_mtime_ns % _SECOND else _COARSE_STEP
        if plain and time.time_ns() - found.st_mtime_ns > step:
            return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        return object()

    def write(self, path: str, data: bytes, like: str = "") -> None:
        """A new file with these bytes, confirmed by the disk; its entry in the folder is not, until `sync`.

        An old file of the name is removed first and never written to, so a link to it keeps the old bytes.
        It has the permissions of the file `like`, and its owner as far as that may be given away.
        """
        model = self._model(like) if like else None
        mode = stat.S_IMODE(model.st_mode) & 0o777 if model else _FILE_MODE
        with self._changing(path), self._above(path) as (folder, name):
            self._removed(path, folder, name)
            self._ahead(f"open {path}")
            with _closed(os.open(name, _NEW, _FILE_MODE, dir_fd=folder)) as file:
                if model and _owner(model) != _owner(os.fstat(file)):
                    self._ahead(f"chown {path}")
                    with suppress(PermissionError):
                        os.fchown(file, *_owner(model))
                if mode != _FILE_MODE:
                    self._ahead(f"chmod {path}")
                    os.fchmod(file, mode)
                self._pour(path, file, data)

    def append(self, path: str, data: bytes) -> None:
        """These bytes at the end of a file, confirmed by the disk; made if it is not there."""
        with self._changing(path), self._above(path) as (folder, name):
            self._ahead(f"open {path}")
            with _closed(os.open(name, _MORE, _FILE_MODE, dir_fd=folder)) as file:
                if self._plain(path, os.fstat(file)).st_nlink == 0:
                    raise Busy(f"`{self._shown(path)}` was just taken away", "send the same call again")
                self._pour(path, file, data)

    def rename(self, old: str, new: str) -> None:
        """Move a file over what is at `new`, at once; nothing but a file of its own may be there."""
        with (
            self._changing(old),
            self._above(old) as (source, name),
            self._changing(new),
            self._above(new) as (target, other),
        ):
            if self._found(old, source, name) is None:
                raise Missing(f"`{self._shown(old)}` is not there", "put the file back, or name another")
            self._found(new, target, other)
            self._ahead(f"rename {old} {new}")
            os.rename(name, other, src_dir_fd=source, dst_dir_fd=target)

    def unlink(self, path: str) -> None:
        """Remove a file, if it is there."""
        with self._changing(path), suppress(FileNotFoundError), self._above(path) as (folder, name):
            self._removed(path, folder, name)

    def mkdir(self, folder: str) -> None:
        """Make a folder, if it is not there; the one above it must be.

        That of the workspace itself, `""`, is made with all its missing parts and confirmed by the disk:
        `sync` does not reach what is above it.
        """
        with self._changing(folder):
            if parts := _split(folder):
                with self._opened((*self._parts, *parts[:-1])) as above:
                    self._made(folder, above, parts[-1])
                return
            for count, part in enumerate(self._parts):
                path = self._root.joinpath(*self._parts[:count])
                with self._opened(self._parts[:count]) as above:
                    self._made(f"{path / part}", above, part)
                    self._confirm(f"{path}", above)

    def sync(self, folder: str) -> None:
        """Have the disk confirm the names in a folder."""
        with self._changing(folder), self._opened((*self._parts, *_split(folder))) as opened:
            self._confirm(folder or ".", opened)

    @contextmanager
    def lock(self, path: str, seconds: float) -> Iterator[int]:
        """Hold a lock that vanishes with the process; raises `Busy` when it is not had within the time.

        It also holds out other threads of this process, and whoever holds it already. It is an open file: a
        program that inherits it holds the lock as long as it runs.
        """
        until = time.monotonic() + seconds
        while (held := self._tried(path)) is None:
            if time.monotonic() >= until:
                raise Busy(
                    f"`{self._shown(path)}` was held by somebody else for more than {seconds:g} s",
                    "send the same call again; if it stays so, find and end the program that holds the file",
                )
            time.sleep(_PAUSE)
        try:
            yield held
        finally:
            fcntl.flock(held, fcntl.LOCK_UN)
            os.close(held)

    def _tried(self, path: str) -> int | None:
        """The lock, open and held, or None: it is another's, or the file was taken away under it."""
        with self._changing(path), self._above(path) as (folder, name):
            self._ahead(f"open {path}")
            file = os.open(name, _LOCK, _FILE_MODE, dir_fd=folder)
            held = False
            try:
                opened = self._plain(path, os.fstat(file))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                named = self._found(path, folder, name)
                held = named is not None and named.st_ino == opened.st_ino
            except BlockingIOError:
                held = False
            finally:
                if not held:
                    os.close(file)
            return file if held else None

    @contextmanager
    def _opened(self, parts: tuple[str, ...]) -> Iterator[int]:
        """The folder of these parts below the root, each opened from the one before it."""
        try:
            opened = os.open(self._root, _FOLDER)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Missing(
                f"`{self._root}` is not a folder", "make it, or name the folder that is meant"
            ) from error
        try:
            for part in parts:
                above, opened = opened, os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=opened)
                os.close(above)
            yield opened
        finally:
            os.close(opened)

    @contextmanager
    def _above(self, path: str) -> Iterator[tuple[int, str]]:
        """The folder that a file is in, and its name there."""
        parts = _split(path)
        if not parts:
            raise UnsafePath("an empty path names no file", "name a file below the folder")
        with self._opened((*self._parts, *parts[:-1])) as folder:
            yield folder, parts[-1]

    def _found(self, path: str, folder: int, name: str) -> os.stat_result | None:
        """The plain file of that name, or None if nothing is there."""
        try:
            return self._plain(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
        except FileNotFoundError:
            return None

    def _plain(self, path: str, found: os.stat_result) -> os.stat_result:
        """What was found, if it is a regular file without a second name; one that is just gone has none."""
        if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
            return found
        what = "a file with a second name" if stat.S_ISREG(found.st_mode) else "no regular file"
        raise UnsafePath(
            f"`{self._shown(path)}` is {what}", "remove it, or put a copy of the file in its place"
        )

    def _model(self, like: str) -> os.stat_result | None:
        """The file that another shall be like; None if it is not there."""
        with self._reading(like):
            try:
                with self._above(like) as (folder, name):
                    return self._found(like, folder, name)
            except FileNotFoundError:
                return None

    def _removed(self, path: str, folder: int, name: str) -> None:
        if self._found(path, folder, name):
            self._ahead(f"unlink {path}")
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)

    def _made(self, path: str, above: int, name: str) -> None:
        if not self._folder_there(path, above, name):
            self._ahead(f"mkdir {path}")
            try:
                os.mkdir(name, _FOLDER_MODE, dir_fd=above)
            except FileExistsError:
                self._folder_there(path, above, name)

    def _folder_there(self, path: str, above: int, name: str) -> bool:
        try:
            found = os.stat(name, dir_fd=above, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(found.st_mode):
            raise UnsafePath(f"`{self._shown(path)}` is no folder", "remove it, or move it away")
        return True

    def _bytes(self, path: str, file: int) -> bytes:
        pieces: list[bytes] = []
        room = self._most
        while piece := os.read(file, min(_CHUNK, room + 1)):
            pieces.append(piece)
            room -= len(piece)
            if room < 0:
                raise Unreadable(
                    f"`{self._shown(path)}` has more than {self._most} bytes",
                    "make it smaller, or move it away",
                )
        return b"".join(pieces)

    def _pour(self, path: str, file: int, data: bytes) -> None:
        """Write the bytes in two pieces, and have the disk confirm them."""
        rest = memoryview(data)
        half = -(-len(data) // 2)
        while rest:
            self._ahead(f"write {path}")
            rest = rest[os.write(file, rest[:half]) :]
        self._confirm(path, file)

    def _confirm(self, path: str, opened: int) -> None:
        self._ahead(f"fsync {path}")
        try:
            os.fsync(opened)
        except OSError as error:
            self._unsure = True
            raise errnos.unconfirmed(self._shown(path), error) from error

    def _ahead(self, name: str) -> None:
        """Stand before every change: none is made once the disk is in doubt."""
        if self._unsure:
            raise SyncFailed(
                f"nothing is changed below `{self._root}` since the disk did not confirm a write",
                "start the program again: it looks at what is there",
            )
        self._before(name)

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise errnos.unread(self._shown(path), error) from error

    @contextmanager
    def _changing(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            fault = errnos.unchanged(self._shown(path), error)
            self._unsure |= isinstance(fault, SyncFailed)
            raise fault from error

    def _shown(self, path: str) -> str:
        """The whole path, as a person looks for it."""
        return f"{self._root.joinpath(*self._parts, path)}"


@contextmanager
def _closed(opened: int) -> Iterator[int]:
    """A file that is closed at the end."""
    try:
        yield opened
    finally:
        os.close(opened)


def _owner(found: os.stat_result) -> tuple[int, int]:
    return found.st_uid, found.st_gid


def _split(path: str) -> tuple[str, ...]:
    """The components of a relative path; none of the empty one. Raises `UnsafePath` for any way out."""
    parts = tuple(path.split("/")) if path else ()
    if any(part in {"", ".", ".."} for part in parts) or "\0" in path:
        raise UnsafePath(
            f"`{path}` does not stay below its folder",
            "name it by a relative path without `.`, `..`, empty parts or a NUL character",
        )
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise UnsafePath(f"{path!a} is no name that a file can have", "name it in Unicode") from error
    return parts
