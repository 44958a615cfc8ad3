"""Read and change the real files of one folder without ever following a link.

Every path is opened one component at a time with `O_NOFOLLOW`, so a link cannot lead out of the folder. Start
with `DiskWorkspace`.
"""

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from handrail.runtime import errors
from handrail.runtime.errors import Busy, Missing, SyncFailed, Unreadable, UnsafePath

_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY
_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_CREATE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_APPEND_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_LOCK_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
_MAX_FILE_BYTES: Final = 256 * 1024 * 1024
_CHUNK_BYTES: Final = 1024 * 1024
_LOCK_POLL_SECONDS: Final = 0.002
_SECOND_NS: Final = 1_000_000_000
# Two changes within this time may get the same timestamp: the kernel's clock ticks every 10 ms at most.
_FINE_STEP_NS: Final = 100_000_000
# The same for a file system that keeps whole seconds only, in nanoseconds. A time in whole seconds suggests
# such a file system. FAT keeps every other second.
_COARSE_STEP_NS: Final = 2 * _SECOND_NS


def _do_nothing(name: str) -> None:
    """Do nothing before a change. Tests pass their own function instead."""


class DiskWorkspace:
    """A `Workspace` on disk: one folder below a root that must exist and is trusted.

    `before` is called ahead of every system call that changes something, with a name such as `write plan.md`.
    Data of two bytes or more is written in two pieces, so that tests can stop while a file is half written.

    After `SyncFailed` the workspace changes nothing more: a second `fsync` could confirm data that the failed
    one has lost.
    """

    def __init__(
        self,
        root: Path,
        folder: str = "",
        before: Callable[[str], None] = _do_nothing,
        most: int = _MAX_FILE_BYTES,
    ) -> None:
        self._root, self._parts, self._hook, self._most = root, _split_path(folder), before, most
        self._sync_failed = False

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, or None if it does not exist."""
        with self._explain_read_errors(path):
            try:
                with (
                    self._open_parent(path) as (folder, name),
                    _close_after(os.open(name, _READ_FLAGS, dir_fd=folder)) as file,
                ):
                    self._require_plain(path, os.fstat(file))
                    pieces: list[bytes] = []
                    room = self._most
                    while piece := os.read(file, min(_CHUNK_BYTES, room + 1)):
                        pieces.append(piece)
                        room -= len(piece)
                        if room < 0:
                            raise Unreadable(
                                f"`{self._full_path(path)}` has more than {self._most} bytes",
                                "make it smaller, or move it away",
                            )
                    return b"".join(pieces)
            except FileNotFoundError:
                return None

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names in a folder; empty if the folder does not exist."""
        with self._explain_read_errors(folder):
            try:
                with (
                    self._open_folder((*self._parts, *_split_path(folder))) as opened,
                    os.scandir(opened) as entries,
                ):
                    return tuple(sorted(entry.name for entry in entries))
            except FileNotFoundError:
                return ()

    def stamp(self, path: str) -> object:
        """Return a value that changes when a file, or the names in a folder, change; None for nothing."""
        *folders, name = _split_path(path) or (".",)
        try:
            with self._open_folder((*self._parts, *folders)) as folder:
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError:
            return object()
        plain = stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1)
        # A file that has just changed may change again within the same clock step without a new timestamp.
        step = _FINE_STEP_NS if found.st_mtime_ns % _SECOND_NS else _COARSE_STEP_NS
        if plain and time.time_ns() - found.st_mtime_ns > step:
            return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        return object()  # equal to no other stamp

    def write(self, path: str, data: bytes, like: str = "") -> None:
        """Write a new file and `fsync` it. Its name in the folder is durable only after `sync`.

        An old file of that name is removed first and never written to, so a link to it keeps the old bytes.
        The new file gets the permissions of the file `like`, and its owner if this user may set it.
        """
        model = self._stat_model(like) if like else None
        mode = stat.S_IMODE(model.st_mode) & 0o777 if model else _FILE_MODE
        with self._explain_change_errors(path), self._open_parent(path) as (folder, name):
            self._remove_file(path, folder, name)
            self._before_change(f"open {path}")
            with _close_after(os.open(name, _CREATE_FLAGS, _FILE_MODE, dir_fd=folder)) as file:
                if model and _owner(model) != _owner(os.fstat(file)):
                    self._before_change(f"chown {path}")
                    with suppress(PermissionError):
                        os.fchown(file, *_owner(model))
                if mode != _FILE_MODE:
                    self._before_change(f"chmod {path}")
                    os.fchmod(file, mode)
                self._write_all(path, file, data)

    def append(self, path: str, data: bytes) -> None:
        """Append bytes to a file and `fsync` it; create the file if it does not exist."""
        with self._explain_change_errors(path), self._open_parent(path) as (folder, name):
            self._before_change(f"open {path}")
            with _close_after(os.open(name, _APPEND_FLAGS, _FILE_MODE, dir_fd=folder)) as file:
                if self._require_plain(path, os.fstat(file)).st_nlink == 0:
                    raise Busy(f"`{self._full_path(path)}` was just taken away", "send the same call again")
                self._write_all(path, file, data)

    def rename(self, old: str, new: str) -> None:
        """Move a file to `new` atomically, replacing a plain file there."""
        with (
            self._explain_change_errors(old),
            self._open_parent(old) as (source, name),
            self._explain_change_errors(new),
            self._open_parent(new) as (target, other),
        ):
            if self._stat_plain(old, source, name) is None:
                raise Missing(f"`{self._full_path(old)}` is not there", "put the file back, or name another")
            self._stat_plain(new, target, other)
            self._before_change(f"rename {old} {new}")
            os.rename(name, other, src_dir_fd=source, dst_dir_fd=target)

    def unlink(self, path: str) -> None:
        """Remove a file if it exists."""
        with (
            self._explain_change_errors(path),
            suppress(FileNotFoundError),
            self._open_parent(path) as (folder, name),
        ):
            self._remove_file(path, folder, name)

    def mkdir(self, folder: str) -> None:
        """Create a folder if it does not exist; for the own one, `""`, also create and sync its parents."""
        with self._explain_change_errors(folder):
            if parts := _split_path(folder):
                with self._open_folder((*self._parts, *parts[:-1])) as above:
                    self._make_folder(folder, above, parts[-1])
                return
            for count, part in enumerate(self._parts):
                path = self._root.joinpath(*self._parts[:count])
                with self._open_folder(self._parts[:count]) as above:
                    self._make_folder(f"{path / part}", above, part)
                    self._confirm(f"{path}", above)  # `sync` does not reach above the workspace

    def sync(self, folder: str) -> None:
        """Make the names in a folder durable with `fsync`."""
        with (
            self._explain_change_errors(folder),
            self._open_folder((*self._parts, *_split_path(folder))) as opened,
        ):
            self._confirm(folder or ".", opened)

    @contextmanager
    def lock(self, path: str, seconds: float) -> Iterator[int]:
        """Hold a file lock that ends with the process; a child that inherits the open file holds it too.

        Raises `Busy` after this many seconds. It also excludes other threads, and it is not reentrant.
        """
        until = time.monotonic() + seconds
        while (held := self._try_lock(path)) is None:
            if time.monotonic() >= until:
                raise Busy(
                    f"`{self._full_path(path)}` was held by somebody else for more than {seconds:g} s",
                    "send the same call again; if it stays so, find and end the program that holds the file",
                )
            time.sleep(_LOCK_POLL_SECONDS)
        try:
            yield held
        finally:
            fcntl.flock(held, fcntl.LOCK_UN)
            os.close(held)

    def _try_lock(self, path: str) -> int | None:
        """Return the locked file, or None if another holds the lock or the file was replaced meanwhile."""
        with self._explain_change_errors(path), self._open_parent(path) as (folder, name):
            self._before_change(f"open {path}")
            file = os.open(name, _LOCK_FLAGS, _FILE_MODE, dir_fd=folder)
            held = False
            try:
                opened = self._require_plain(path, os.fstat(file))
                with suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    named = self._stat_plain(path, folder, name)
                    held = named is not None and named.st_ino == opened.st_ino
            finally:
                if not held:
                    os.close(file)
            return file if held else None

    @contextmanager
    def _open_folder(self, parts: tuple[str, ...]) -> Iterator[int]:
        try:
            opened = os.open(self._root, _FOLDER_FLAGS)
        except (FileNotFoundError, NotADirectoryError) as error:
            repair = "make it, or name the folder that is meant"
            raise Missing(f"`{self._root}` is not a folder", repair) from error
        try:
            for part in parts:
                above, opened = opened, os.open(part, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=opened)
                os.close(above)
            yield opened
        finally:
            os.close(opened)

    @contextmanager
    def _open_parent(self, path: str) -> Iterator[tuple[int, str]]:
        """Open the folder that contains a file. Yields the folder and the file's name in it."""
        parts = _split_path(path)
        if not parts:
            raise UnsafePath("an empty path names no file", "name a file below the folder")
        with self._open_folder((*self._parts, *parts[:-1])) as folder:
            yield folder, parts[-1]

    def _stat_plain(self, path: str, folder: int, name: str) -> os.stat_result | None:
        """Return the status of a plain file, or None if nothing is there."""
        try:
            return self._require_plain(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
        except FileNotFoundError:
            return None

    def _require_plain(self, path: str, found: os.stat_result) -> os.stat_result:
        """Return the status if it is a regular file without a second name, or one that was just removed."""
        if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
            return found
        what = "a file with a second name" if stat.S_ISREG(found.st_mode) else "no regular file"
        repair = "remove it, or put a copy of the file in its place"
        raise UnsafePath(f"`{self._full_path(path)}` is {what}", repair)

    def _stat_model(self, like: str) -> os.stat_result | None:
        """Return the status of the file whose mode and owner are copied; None if it does not exist."""
        with self._explain_read_errors(like):
            try:
                with self._open_parent(like) as (folder, name):
                    return self._stat_plain(like, folder, name)
            except FileNotFoundError:
                return None

    def _remove_file(self, path: str, folder: int, name: str) -> None:
        if self._stat_plain(path, folder, name):
            self._before_change(f"unlink {path}")
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)

    def _make_folder(self, path: str, above: int, name: str) -> None:
        if not self._folder_exists(path, above, name):
            self._before_change(f"mkdir {path}")
            try:
                os.mkdir(name, _FOLDER_MODE, dir_fd=above)
            except FileExistsError:
                self._folder_exists(path, above, name)

    def _folder_exists(self, path: str, above: int, name: str) -> bool:
        try:
            found = os.stat(name, dir_fd=above, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(found.st_mode):
            raise UnsafePath(f"`{self._full_path(path)}` is no folder", "remove it, or move it away")
        return True

    def _write_all(self, path: str, file: int, data: bytes) -> None:
        rest = memoryview(data)
        half = -(-len(data) // 2)
        while rest:
            self._before_change(f"write {path}")
            rest = rest[os.write(file, rest[:half]) :]
        self._confirm(path, file)

    def _confirm(self, path: str, opened: int) -> None:
        self._before_change(f"fsync {path}")
        try:
            os.fsync(opened)
        except OSError as error:
            self._sync_failed = True
            raise errors.build_sync_fault(self._full_path(path), error) from error

    def _before_change(self, name: str) -> None:
        """Run before every change. Raises `SyncFailed` once an `fsync` has failed."""
        if self._sync_failed:
            raise SyncFailed(
                f"nothing is changed below `{self._root}` since the disk did not confirm a write",
                "start the program again: it looks at what is there",
            )
        self._hook(name)

    @contextmanager
    def _explain_read_errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise errors.build_read_fault(self._full_path(path), error) from error

    @contextmanager
    def _explain_change_errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            fault = errors.build_write_fault(self._full_path(path), error)
            self._sync_failed |= isinstance(fault, SyncFailed)
            raise fault from error

    def _full_path(self, path: str) -> str:
        return f"{self._root.joinpath(*self._parts, path)}"


@contextmanager
def _close_after(opened: int) -> Iterator[int]:
    try:
        yield opened
    finally:
        os.close(opened)


def _owner(found: os.stat_result) -> tuple[int, int]:
    return found.st_uid, found.st_gid


def _split_path(path: str) -> tuple[str, ...]:
    """Split a relative path into its components. Raises `UnsafePath` if it leads out of the folder."""
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
