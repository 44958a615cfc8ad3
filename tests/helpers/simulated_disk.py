"""A workspace in memory that can lose its power: only what was confirmed is sure to survive.

Names that were changed and not confirmed survive as any of them, or as the first few; bytes that were not
confirmed survive not at all, by half, or whole.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import compress, product
from typing import Final

from handrail.runtime.errors import Busy, Missing, UnsafePath
from handrail.stores.files.snapshot import base_name, parent_folder

FOLDER: Final = -1
LINK: Final = -2
MOST: Final = 7
"""So many unconfirmed names are tried in every combination; of more, one alone, and all but two."""


class PowerLoss(BaseException):
    """The power is gone: nothing runs any more."""


def cut_power() -> None:
    raise PowerLoss


def act_at_change(name: str, act: Callable[[], object]) -> Callable[[str], None]:
    """Does something before the change of this name."""

    def before(found: str) -> None:
        if found == name:
            act()

    return before


@dataclass(frozen=True, slots=True)
class RenameChange:
    """A change of names that is not confirmed: what was at `old` is now at `new`, as file `number`.

    A new name has no `old`, a removed one no `new`.
    """

    old: str
    new: str
    number: int


def _nothing(name: str) -> None:
    """What is done before a change unless a test has other plans."""


class SimulatedWorkspace:
    """A `Workspace`. `careless` names what it leaves out: `file`, `folder` (confirming them) or `lock`."""

    def __init__(self, before: Callable[[str], None] = _nothing, careless: str = "") -> None:
        self.before, self.careless = before, careless
        self.names_now: dict[str, int] = {}
        self.names_sure: dict[str, int] = {}
        self.bytes_now: dict[int, bytes] = {}
        self.bytes_sure: dict[int, bytes] = {}
        self.pending: list[RenameChange] = []
        self.locked = False

    # what a workspace does

    def read(self, path: str) -> bytes | None:
        number = self._at(path)
        if number is not None and number < 0:
            raise UnsafePath(f"`{path}` is no regular file", "remove it")
        return None if number is None else self.bytes_now[number]

    def names(self, folder: str) -> tuple[str, ...]:
        if folder and self._at(folder) not in {None, FOLDER}:
            raise UnsafePath(f"`{folder}` is no folder", "remove it")
        return tuple(sorted(base_name(path) for path in self.names_now if _parent(path) == folder))

    def stamp(self, path: str) -> object:
        try:
            number = self._at(path) if path else FOLDER
        except UnsafePath:
            return object()
        if number is None:
            return None
        if number == FOLDER:
            return self.names(path)
        return object() if number == LINK else (number, len(self.bytes_now[number]))

    def write(self, path: str, data: bytes, like: str = "") -> None:  # noqa: ARG002 - has no permissions
        self.unlink(path)
        self.before(f"open {path}")
        number = len(self.bytes_now) + 1
        self.bytes_now[number] = self.bytes_sure[number] = b""
        self._change(RenameChange("", path, number))
        self._pour(path, number, data)

    def append(self, path: str, data: bytes) -> None:
        if self.read(path) is None:
            self.write(path, data)
        else:
            self._pour(path, self.names_now[path], data)

    def rename(self, old: str, new: str) -> None:
        self.before(f"rename {old} {new}")
        if self.read(old) is None:
            raise Missing(f"`{old}` is not there", "put it back")
        self.read(new)
        self._change(RenameChange(old, new, self.names_now[old]))

    def unlink(self, path: str) -> None:
        if self.read(path) is not None:
            self.before(f"unlink {path}")
            self._change(RenameChange(path, "", 0))

    def mkdir(self, folder: str) -> None:
        if folder and self._at(folder) is None:
            self.before(f"mkdir {folder}")
            self._change(RenameChange("", folder, FOLDER))

    def sync(self, folder: str) -> None:
        if folder and self._at(folder) is None:
            raise Missing(f"`{folder}` is not there", "make it")
        self.before(f"fsync {folder or '.'}")
        if self.careless != "folder":
            self._confirm(folder)

    @contextmanager
    def lock(self, path: str, seconds: float) -> Iterator[None]:
        if self.locked and self.careless != "lock":
            raise Busy(f"`{path}` was held for more than {seconds} s", "send the same call again")
        self.locked = True
        try:
            yield
        finally:
            self.locked = False

    # what a test does

    def tree(self) -> dict[str, bytes]:
        """Every file but those of the store itself."""
        ours = {path: number for path, number in self.names_now.items() if number > 0}
        return {path: self.bytes_now[n] for path, n in ours.items() if not path.startswith(".handrail/")}

    def everything(self) -> dict[str, bytes]:
        """Every file."""
        return {path: self.bytes_now[n] for path, n in self.names_now.items() if n > 0}

    def put(self, path: str, data: bytes) -> None:
        """A file that was there all the time, or that a person has just saved."""
        number = len(self.bytes_now) + 1
        self.bytes_now[number] = self.bytes_sure[number] = data
        self.names_now[path] = self.names_sure[path] = number

    def put_odd(self, path: str, kind: int) -> None:
        """A folder or a link that was there all the time."""
        self.names_now[path] = self.names_sure[path] = kind

    def remove(self, path: str) -> None:
        """A person removes a file."""
        del self.names_now[path]
        self.names_sure.pop(path, None)

    def copy(self) -> "SimulatedWorkspace":
        """The same, without the power having been lost; all is confirmed."""
        return _image(_reached(self.names_now), self.bytes_now)

    def images(self) -> Iterator["SimulatedWorkspace"]:
        """What may be there once the power is back."""
        named, seen = set(), set()
        torn = list(self._data())
        for stored in self._kept():
            names = dict(self.names_sure)
            for change in stored:
                _apply(names, change)
            reached = _reached(names)
            if (there := frozenset(reached.items())) in named:
                continue
            named.add(there)
            for data in torn:
                key = frozenset((path, data.get(number)) for path, number in there)
                if key not in seen:
                    seen.add(key)
                    yield _image(reached, data)

    def _kept(self) -> Iterator[list[RenameChange]]:
        changes = self.pending
        if len(changes) <= MOST:
            yield from (list(compress(changes, keep)) for keep in product((0, 1), repeat=len(changes)))
            return
        yield from (changes[:count] for count in range(len(changes) + 1))
        for one in changes:
            yield [one]
            for other in changes:
                yield [change for change in changes if change not in {one, other}]

    def _data(self) -> Iterator[dict[int, bytes]]:
        unsure = [n for n, data in self.bytes_now.items() if self.bytes_sure[n] != data]
        for share in (0, 1, 2) if unsure else (2,):
            yield {**self.bytes_now, **{n: self._torn(n, share) for n in unsure}}

    def _torn(self, number: int, share: int) -> bytes:
        sure, now = self.bytes_sure[number], self.bytes_now[number]
        return now[: len(sure) + (len(now) - len(sure)) * share // 2]

    def _at(self, path: str) -> int | None:
        parts = path.split("/")
        for count in range(1, len(parts)):
            if self.names_now.get("/".join(parts[:count])) not in {None, FOLDER}:
                raise UnsafePath(f"`{path}` leads through something that is no folder", "remove it")
        return self.names_now.get(path)

    def _change(self, change: RenameChange) -> None:
        if parent_folder(change.new) and self._at(parent_folder(change.new)) is None:
            raise Missing(f"`{parent_folder(change.new)}` is not there", "make it")
        _apply(self.names_now, change)
        self.pending.append(change)

    def _pour(self, path: str, number: int, data: bytes) -> None:
        half = -(-len(data) // 2)
        for piece in (data[:half], data[half:]):
            self.before(f"write {path}")
            self.bytes_now[number] += piece
        self.before(f"fsync {path}")
        if self.careless != "file":
            self.bytes_sure[number] = self.bytes_now[number]

    def _confirm(self, folder: str) -> None:
        """Confirm what was changed in a folder, and whatever was changed at the same paths before."""
        touched: set[str] = set()
        stored: list[RenameChange] = []
        sure: list[RenameChange] = []
        for change in reversed(self.pending):
            paths = {path for path in (change.old, change.new) if path}
            if any(parent_folder(path) == folder for path in paths) or paths & touched:
                touched |= paths
                sure.append(change)
            else:
                stored.append(change)
        for change in reversed(sure):
            _apply(self.names_sure, change)
        self.pending = stored[::-1]


_parent = cache(parent_folder)
"""Asked millions of times for the same few paths."""


def _apply(names: dict[str, int], change: RenameChange) -> None:
    names.pop(change.old, None)
    if change.new:
        names[change.new] = change.number


def _reached(names: dict[str, int]) -> dict[str, int]:
    """The names that every folder above leads to."""
    folders = {""}
    for path in sorted(path for path, number in names.items() if number == FOLDER):
        if _parent(path) in folders:
            folders.add(path)
    return {path: number for path, number in names.items() if _parent(path) in folders}


def _image(names: dict[str, int], data: dict[int, bytes]) -> SimulatedWorkspace:
    image = SimulatedWorkspace()
    image.names_now, image.names_sure = dict(names), dict(names)
    image.bytes_now, image.bytes_sure = dict(data), dict(data)
    return image


class StopAtChange:
    """Ends everything before the k-th change."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, name: str) -> None:
        self.left -= 1
        if self.left == 0:
            raise PowerLoss(name)
