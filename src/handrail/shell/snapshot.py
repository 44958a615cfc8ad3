"""The files of a folder as one call has read them: each file and each list of names is read once.

A snapshot also changes the folder: it remembers what it writes, so that nothing is read back. Other programs
may change a file meanwhile. `reread` notices that by the file's stamp, without opening the file.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from handrail.shell.ports import Workspace


def above(path: str) -> str:
    """The folder that a path is in; that of the workspace is the empty one."""
    return path.rpartition("/")[0]


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


class _Contents(Struct, frozen=True):
    """What a file held, and its stamp from before it was read."""

    data: bytes | None
    stamp: object


class _Listing(Struct, frozen=True):
    """The names in a folder, and its stamp from before they were listed."""

    names: tuple[str, ...]
    stamp: object


class Snapshot:
    """Reads a workspace, each file at most once, and changes it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._files: dict[str, _Contents] = {}
        self._folders: dict[str, _Listing] = {}

    def read(self, path: str) -> bytes | None:
        """The bytes that a file had when the snapshot first read it, or None if there was none."""
        if path not in self._files:
            # The stamp comes first: if the file changes while it is read, the stamp is an old one.
            stamp = self._workspace.stamp(path)
            self._files[path] = _Contents(self._workspace.read(path), stamp)
        return self._files[path].data

    def names(self, folder: str) -> tuple[str, ...]:
        """The sorted names that a folder had when the snapshot first listed it."""
        if folder not in self._folders:
            stamp = self._workspace.stamp(folder)
            self._folders[folder] = _Listing(self._workspace.names(folder), stamp)
        return self._folders[folder].names

    def reread(self, path: str) -> bytes | None:
        """The bytes that a file has now; the snapshot has them from now on.

        The file is opened only if its stamp differs, or cannot tell because the file is too new.
        """
        known = self._files.get(path)
        if known is None or known.stamp != self._workspace.stamp(path):
            self._files.pop(path, None)
        return self.read(path)

    def refresh(self) -> bool:
        """Forget what may have changed since it was read; True if nothing may have."""
        stale = 0
        for known in (self._files, self._folders):
            for path in [path for path in known if known[path].stamp != self._workspace.stamp(path)]:
                del known[path]
                stale += 1
        return not stale

    def forget(self) -> None:
        """Forget everything that was read."""
        self._files.clear()
        self._folders.clear()

    def stamp(self, path: str) -> object:
        """The stamp that a file or a folder has now; None if there is none."""
        return self._workspace.stamp(path)

    def write(self, path: str, data: bytes, like: str = "") -> None:
        """Write a new file; see `Workspace.write`."""
        with self._changing(added=path):
            self._workspace.write(path, data, like)
        self._remember(path, data)

    def append(self, path: str, data: bytes) -> None:
        """Add bytes to a file; see `Workspace.append`."""
        known = self._files.get(path)
        with self._changing(added=path):
            self._workspace.append(path, data)
        if known is not None:
            self._remember(path, (known.data or b"") + data)

    def rename(self, old: str, new: str) -> None:
        """Move a file; see `Workspace.rename`."""
        known = self._files.get(old)
        with self._changing(added=new, removed=old):
            self._workspace.rename(old, new)
        self._remember(old, None)
        if known is not None:
            self._remember(new, known.data)

    def unlink(self, path: str) -> None:
        """Remove a file, if it is there."""
        with self._changing(removed=path):
            self._workspace.unlink(path)
        self._remember(path, None)

    def mkdir(self, folder: str) -> None:
        """Make a folder below that of the workspace, if it is not there."""
        with self._changing(added=folder):
            self._workspace.mkdir(folder)

    def sync(self, folder: str) -> None:
        """Have the disk confirm the names in a folder."""
        self._workspace.sync(folder)

    def _remember(self, path: str, data: bytes | None) -> None:
        """Keep what was written. Its stamp was not looked at, so `reread` opens the file."""
        self._files[path] = _Contents(data, object())

    @contextmanager
    def _changing(self, added: str = "", removed: str = "") -> Iterator[None]:
        """Forget files before they change, and keep the lists of names true.

        If the change fails, nobody knows what is there: the files and the lists are read again.
        """
        paths = [path for path in (added, removed) if path]
        for path in paths:
            self._files.pop(path, None)
        listed = {folder: self._folders.pop(folder, None) for folder in {above(path) for path in paths}}
        yield
        for folder, known in listed.items():
            if known is not None:
                gone = {name_of(removed)} if removed and above(removed) == folder else set()
                new = {name_of(added)} if added and above(added) == folder else set()
                names = tuple(sorted({*known.names, *new} - gone))
                self._folders[folder] = _Listing(names, object())
