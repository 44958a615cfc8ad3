"""Which files of a project a person has looked at and trusts: by project, kind, name and content."""

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import msgspec

from handrail.documents.strict import LARGEST, Flaw, parse, show
from handrail.shell import errnos
from handrail.shell.faults import Missing, Newer, Unreadable
from handrail.shell.homes import data_folder
from handrail.shell.ports import Workspace
from handrail.shell.reading import whole
from handrail.shell.workspace import Disk

FILE: Final = "trusted.json"
_NEW: Final = "trusted.json.new"
_LOCK: Final = "trusted.lock"
_PATIENCE: Final = 10.0
_SHAPE: Final = 1


@dataclass(frozen=True, slots=True)
class Mark:
    """One content that is trusted, as a file of this kind and name in this project."""

    project: str
    kind: str
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class _File:
    """What is kept."""

    schema: int
    trusted: tuple[Mark, ...]


def _opened(folder: Path) -> Workspace:
    return Disk(folder, most=LARGEST)


class Trusted:
    """What a user trusts, kept in a folder of the user's; asked anew every time, since others add to it.

    Raises `Unreadable` or `Newer` if what is kept cannot be read: then nothing is trusted, and nothing lost.
    """

    __slots__ = ("_folder", "_opened")

    def __init__(self, folder: Path | None = None, opened: Callable[[Path], Workspace] = _opened) -> None:
        self._folder = folder or data_folder()
        self._opened = opened

    @property
    def path(self) -> Path:
        """The file it is kept in."""
        return self._folder / FILE

    def marks(self) -> tuple[Mark, ...]:
        """Everything that is trusted, the oldest first."""
        try:
            data = self._opened(self._folder).read(FILE)
        except Missing:
            return ()
        return self._read(data) if data is not None else ()

    def holds(self, mark: Mark) -> bool:
        """True if a person has said so."""
        return mark in self.marks()

    def add(self, marks: Iterable[Mark]) -> None:
        """Trust these too, from the moment the disk has confirmed it."""
        self._change(lambda old: (*old, *(mark for mark in marks if mark not in old)))

    def drop(self, marks: Iterable[Mark]) -> None:
        """Trust these no longer, from the moment the disk has confirmed it."""
        gone = set(marks)
        self._change(lambda old: tuple(mark for mark in old if mark not in gone))

    def _change(self, change: Callable[[tuple[Mark, ...]], tuple[Mark, ...]]) -> None:
        """Replace the file at once by another, while nobody else does."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise errnos.unchanged(str(self._folder), error) from error
        disk = self._opened(self._folder)
        with disk.lock(_LOCK, _PATIENCE):
            kept = _File(_SHAPE, change(self.marks()))
            disk.write(_NEW, show(asdict(kept)))
            disk.rename(_NEW, FILE)
            disk.sync("")

    def _read(self, data: bytes) -> tuple[Mark, ...]:
        document = parse(data)
        if isinstance(document, Flaw):
            raise self._damaged(document.sentence)
        if isinstance(found := document.get("schema"), int) and found > _SHAPE:
            raise Newer(f"`{self.path}` was written by a newer Handrail", "use that one")
        try:
            return msgspec.convert(document, _File).trusted
        except msgspec.ValidationError as wrong:
            raise self._damaged(str(wrong)) from wrong

    def _damaged(self, why: str) -> Unreadable:
        repair = "move it away, and say `handrail trust` again in the projects whose files you trust"
        return Unreadable(f"`{self.path}` is damaged: {why}", repair)


def root_text(project: Path) -> str:
    """A project as marks have it: its whole path, with bytes that are not UTF-8 written out."""
    return os.fsencode(whole(project)).decode("utf-8", "backslashreplace")
