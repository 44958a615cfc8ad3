"""Trust in project files: which ones a person trusts, and what must be trusted before it is used.

Only a project file that hides another one needs trust. Trust covers a project, kind, name and exact content.
`TrustStore` keeps the marks; `find_untrusted` compares a file with what it hides.
"""

import difflib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from handrail.app.catalog import PROJECT_ORIGIN, DefinitionKind, FoundDefinition
from handrail.documents.strict_json import MAX_BYTES, JsonFlaw, format_document, parse_object
from handrail.documents.text import escape_for_terminal
from handrail.runtime import errors
from handrail.runtime.errors import Missing, NewerFormat, Unreadable
from handrail.runtime.ports.turn import Workspace
from handrail.runtime.system import data_folder, resolve_path
from handrail.stores.files.disk import DiskWorkspace

_TRUST_FILE_NAME: Final = "trusted.json"
_NEW_FILE_NAME: Final = "trusted.json.new"
_LOCK_FILE_NAME: Final = "trusted.lock"
_LOCK_TIMEOUT_SECONDS: Final = 10.0
_TRUST_SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class TrustMark:
    """Trust in one exact content, for a file of this kind and name in this project."""

    project: str
    kind: str
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class _TrustFile:
    """The content of the trust file."""

    schema: int
    trusted: tuple[TrustMark, ...]


def _open_folder(folder: Path) -> Workspace:
    return DiskWorkspace(folder, most=MAX_BYTES)


class TrustStore:
    """The trust marks of a user, in a file of the user's data folder.

    The file is read on every call, because other processes add to it. Raises `Unreadable` or `NewerFormat` if
    it cannot be read: then nothing is trusted, and nothing is lost.
    """

    __slots__ = ("_folder", "_open")

    def __init__(
        self, folder: Path | None = None, opened: Callable[[Path], Workspace] = _open_folder
    ) -> None:
        self._folder = folder or data_folder()
        self._open = opened

    @property
    def path(self) -> Path:
        """The path of the trust file."""
        return self._folder / _TRUST_FILE_NAME

    def marks(self) -> tuple[TrustMark, ...]:
        """Return all marks, the oldest first."""
        try:
            data = self._open(self._folder).read(_TRUST_FILE_NAME)
        except Missing:
            return ()
        return self._read(data) if data is not None else ()

    def is_trusted(self, mark: TrustMark) -> bool:
        """True if a person has trusted exactly this."""
        return mark in self.marks()

    def add(self, marks: Iterable[TrustMark]) -> None:
        """Add marks. They are on disk when this returns."""
        self._change(lambda old: (*old, *(mark for mark in marks if mark not in old)))

    def drop(self, marks: Iterable[TrustMark]) -> None:
        """Remove marks. The change is on disk when this returns."""
        dropped = set(marks)
        self._change(lambda old: tuple(mark for mark in old if mark not in dropped))

    def _change(self, change: Callable[[tuple[TrustMark, ...]], tuple[TrustMark, ...]]) -> None:
        """Replace the file atomically, under a lock."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise errors.build_write_fault(str(self._folder), error) from error
        disk = self._open(self._folder)
        with disk.lock(_LOCK_FILE_NAME, _LOCK_TIMEOUT_SECONDS):
            content = _TrustFile(_TRUST_SCHEMA, change(self.marks()))
            disk.write(_NEW_FILE_NAME, format_document(asdict(content)))
            disk.rename(_NEW_FILE_NAME, _TRUST_FILE_NAME)
            disk.sync("")

    def _read(self, data: bytes) -> tuple[TrustMark, ...]:
        document = parse_object(data)
        if isinstance(document, JsonFlaw):
            raise self._damage_fault(document.sentence)
        if isinstance(found := document.get("schema"), int) and found > _TRUST_SCHEMA:
            raise NewerFormat(f"`{self.path}` was written by a newer Handrail", "use that one")
        try:
            return msgspec.convert(document, _TrustFile).trusted
        except msgspec.ValidationError as wrong:
            raise self._damage_fault(str(wrong)) from wrong

    def _damage_fault(self, why: str) -> Unreadable:
        repair = "move it away, and say `handrail trust` again in the projects whose files you trust"
        return Unreadable(f"`{self.path}` is damaged: {why}", repair)


def format_root(project: Path) -> str:
    """Return the project as marks name it: its full path, with bytes that are not UTF-8 escaped."""
    return os.fsencode(resolve_path(project)).decode("utf-8", "backslashreplace")


_MAX_DIFF_BYTES: Final = 8 * 1024  # in a refusal
_MAX_COMPARED_LINES: Final = 1_000  # a comparison of more lines could take minutes


class TextChange(Struct, frozen=True):
    """A text in the hidden definition and in the one that hides it. Without a file, its name is empty."""

    old_file: str
    new_file: str
    old: str
    new: str


class UntrustedFile(Struct, frozen=True):
    """A project file that hides another. It is used only after a person has trusted it.

    `digest` covers everything that would be used, including the texts beside a workflow and the project's
    workflows nested in it.
    """

    kind: DefinitionKind
    name: str
    path: Path
    hides: Path
    digest: str
    changes: tuple[TextChange, ...]

    @property
    def whole(self) -> str:
        """The complete diff, with control characters escaped."""
        return "".join(f"{line}\n" for line in self._lines())

    @property
    def diff(self) -> str:
        """The diff, cut at `_MAX_DIFF_BYTES`."""
        note = f"… cut here; `handrail trust {self.name}` shows all of it\n"
        kept: list[str] = []
        room = _MAX_DIFF_BYTES - len(note.encode())
        for line in self._lines():
            room -= len(line.encode()) + 1
            if room < 0:
                return "".join((*kept, note))
            kept.append(f"{line}\n")
        return "".join(kept)

    def _lines(self) -> Iterator[str]:
        for change in self.changes:
            if change.old != change.new or not (change.old_file and change.new_file):
                yield escape_for_terminal(f"--- {change.old_file or 'nothing'}")
                yield escape_for_terminal(f"+++ {change.new_file or 'nothing'}")
                yield from map(escape_for_terminal, _diff_lines(change))


def find_untrusted(
    kind: DefinitionKind, found: FoundDefinition, hides: FoundDefinition, inside: Iterable[FoundDefinition]
) -> UntrustedFile | None:
    """Return what must be trusted before this file is used; None if it equals what it hides.

    `inside` are the workflows nested in it.
    """
    old, new = _definition_texts(hides), _definition_texts(found)
    if {part: text for part, (_, text) in old.items()} == {part: text for part, (_, text) in new.items()}:
        return None
    for other in inside:
        if other.origin == PROJECT_ORIGIN:
            new |= {f"{other.name}{part}": text for part, text in _definition_texts(other).items()}
    content = [[part, text] for part, (_, text) in sorted(new.items())]
    digest = hashlib.sha256(json.dumps([kind, content]).encode()).hexdigest()
    missing = ("", "")
    changes = []
    for part in sorted({*old, *new}):
        (old_file, before), (new_file, after) = old.get(part, missing), new.get(part, missing)
        changes.append(TextChange(old_file, new_file, before, after))
    return UntrustedFile(kind, found.name, found.path, hides.path, digest, tuple(changes))


def _definition_texts(found: FoundDefinition) -> dict[str, tuple[str, str]]:
    """Return the file name and text of each part of a definition.

    The key is empty for the file itself, and `/name` for a text beside it.
    """
    texts = {f"/{name}": text for name, text in found.source.beside.items()}
    return {"": (found.source.file, found.source.text), **texts}


def _diff_lines(change: TextChange) -> Iterator[str]:
    """Yield the diff lines with context. A carriage return is part of its line."""
    old = change.old.split("\n") if change.old_file else []
    new = change.new.split("\n") if change.new_file else []
    if max(len(old), len(new)) > _MAX_COMPARED_LINES:
        yield from (f"-{line}" for line in old)
        yield from (f"+{line}" for line in new)
    else:
        yield from islice(difflib.unified_diff(old, new, lineterm=""), 2, None)
