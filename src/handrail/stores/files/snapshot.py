"""Cache a folder's files for one call: each file and each list of names is read once.

The snapshot also changes the folder and remembers what it writes, so nothing is read back. Other programs may
change a file meanwhile: `reread` notices that by the file's stamp, without opening the file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, NamedTuple, TypeVar

from handrail.runtime.ports.turn import Workspace

Value = TypeVar("Value")


def parent_folder(path: str) -> str:
    """Return the folder of a path; empty for the workspace's own folder."""
    return path.rpartition("/")[0]


def base_name(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


class _Known(NamedTuple, Generic[Value]):
    """The bytes of a file or the names in a folder, and the stamp from before they were read."""

    value: Value
    stamp: object


class Snapshot:
    """Read a workspace, each file at most once, and change it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._files: dict[str, _Known[bytes | None]] = {}
        self._folders: dict[str, _Known[tuple[str, ...]]] = {}

    def read(self, path: str) -> bytes | None:
        """Return the bytes that a file had when it was first read, or None if it did not exist."""
        if path not in self._files:
            # Take the stamp first: if the file changes during the read, `reread` sees an outdated stamp.
            stamp = self._workspace.stamp(path)
            self._files[path] = _Known(self._workspace.read(path), stamp)
        return self._files[path].value

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names that a folder had when it was first listed."""
        if folder not in self._folders:
            stamp = self._workspace.stamp(folder)
            self._folders[folder] = _Known(self._workspace.names(folder), stamp)
        return self._folders[folder].value

    def reread(self, path: str) -> bytes | None:
        """Return the bytes that a file has now. It is opened if its stamp differs or is too new to tell."""
        known = self._files.get(path)
        if known is None or known.stamp != self._workspace.stamp(path):
            self._files.pop(path, None)
        return self.read(path)

    def refresh(self) -> bool:
        """Drop whatever may have changed since it was read. True if nothing was dropped."""
        stale = 0
        for known in (self._files, self._folders):
            for path in [path for path in known if known[path].stamp != self._workspace.stamp(path)]:
                del known[path]
                stale += 1
        return not stale

    def forget(self) -> None:
        """Drop everything that was read."""
        self._files.clear()
        self._folders.clear()

    def stamp(self, path: str) -> object:
        """Return the current stamp of a file or folder; None if it does not exist."""
        return self._workspace.stamp(path)

    def write(self, path: str, data: bytes, like: str = "") -> None:
        """Write a new file; see `Workspace.write`."""
        with self._track_change(added=path):
            self._workspace.write(path, data, like)
        self._remember(path, data)

    def append(self, path: str, data: bytes) -> None:
        """Add bytes to a file; see `Workspace.append`."""
        known = self._files.get(path)
        with self._track_change(added=path):
            self._workspace.append(path, data)
        if known is not None:
            self._remember(path, (known.value or b"") + data)

    def rename(self, old: str, new: str) -> None:
        """Move a file; see `Workspace.rename`."""
        known = self._files.get(old)
        with self._track_change(added=new, removed=old):
            self._workspace.rename(old, new)
        self._remember(old, None)
        if known is not None:
            self._remember(new, known.value)

    def unlink(self, path: str) -> None:
        """Remove a file if it exists."""
        with self._track_change(removed=path):
            self._workspace.unlink(path)
        self._remember(path, None)

    def mkdir(self, folder: str) -> None:
        """Create a folder below the workspace's own if it does not exist."""
        with self._track_change(added=folder):
            self._workspace.mkdir(folder)

    def sync(self, folder: str) -> None:
        """Make the names in a folder durable."""
        self._workspace.sync(folder)

    def _remember(self, path: str, data: bytes | None) -> None:
        """Cache what was written. Its stamp is unknown, so `reread` will open the file."""
        self._files[path] = _Known(data, object())

    @contextmanager
    def _track_change(self, added: str = "", removed: str = "") -> Iterator[None]:
        """Drop files before they change, and keep the cached lists of names correct.

        If the change fails, the result is unknown: the files and the lists will be read again.
        """
        paths = [path for path in (added, removed) if path]
        for path in paths:
            self._files.pop(path, None)
        listed = {folder: self._folders.pop(folder, None) for folder in {*map(parent_folder, paths)}}
        yield
        for folder, known in listed.items():
            if known is not None:
                gone = {base_name(removed)} if removed and parent_folder(removed) == folder else set()
                new = {base_name(added)} if added and parent_folder(added) == folder else set()
                names = tuple(sorted({*known.value, *new} - gone))
                self._folders[folder] = _Known(names, object())
