"""A project's file that hides another: what is different in it, and what of it a person trusts."""

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct

from handrail.shell.catalog import PROJECT, Found, Kind
from handrail.workflows.characters import safe

LONGEST: Final = 8 * 1024
"""How many bytes of a difference go into a refusal."""

_COMPARED: Final = 1_000
"""How many lines are compared one by one: with more, that could take minutes."""


class Change(Struct, frozen=True):
    """A text as it is in what is hidden, and in what hides it; without a file where there is none."""

    old_file: str
    new_file: str
    old: str
    new: str


class Untrusted(Struct, frozen=True):
    """A project's file that hides another, and what is used only once a person has trusted it.

    `digest` is of everything that would be used: also of the texts beside a workflow, and of the workflows of
    the project that stand inside it.
    """

    kind: Kind
    name: str
    path: Path
    hides: Path
    digest: str
    changes: tuple[Change, ...]

    @property
    def whole(self) -> str:
        """The difference, all of it; nothing in it can give orders to a terminal."""
        return "".join(f"{line}\n" for line in self._lines())

    @property
    def diff(self) -> str:
        """The difference, cut after 8 KB."""
        note = f"… cut here; `handrail trust {self.name}` shows all of it\n"
        kept: list[str] = []
        room = LONGEST - len(note.encode())
        for line in self._lines():
            room -= len(line.encode()) + 1
            if room < 0:
                return "".join((*kept, note))
            kept.append(f"{line}\n")
        return "".join(kept)

    def _lines(self) -> Iterator[str]:
        for change in self.changes:
            if change.old != change.new or not (change.old_file and change.new_file):
                yield safe(f"--- {change.old_file or 'nothing'}")
                yield safe(f"+++ {change.new_file or 'nothing'}")
                yield from map(safe, _compared(change))


def untrusted(kind: Kind, found: Found, hides: Found, inside: Iterable[Found]) -> Untrusted | None:
    """What must be trusted before this file is used; None if it says the same as what it hides.

    `inside` are the workflows that stand inside it.
    """
    old, new = _texts(hides), _texts(found)
    if {part: text for part, (_, text) in old.items()} == {part: text for part, (_, text) in new.items()}:
        return None
    for other in inside:
        if other.origin == PROJECT:
            new |= {f"{other.name}{part}": text for part, text in _texts(other).items()}
    said = [[part, text] for part, (_, text) in sorted(new.items())]
    digest = hashlib.sha256(json.dumps([kind, said]).encode()).hexdigest()
    return Untrusted(kind, found.name, found.path, hides.path, digest, tuple(_changes(old, new)))


def _texts(found: Found) -> dict[str, tuple[str, str]]:
    """The files of a definition and their texts: the first without a name, those beside it behind a slash."""
    source = found.source
    texts = {f"/{name}": text for name, text in source.beside.items()}
    return {"": (source.file, source.text), **texts}


def _changes(old: Mapping[str, tuple[str, str]], new: Mapping[str, tuple[str, str]]) -> Iterator[Change]:
    nothing = ("", "")
    for part in sorted({*old, *new}):
        (old_file, before), (new_file, after) = old.get(part, nothing), new.get(part, nothing)
        yield Change(old_file, new_file, before, after)


def _compared(change: Change) -> Iterator[str]:
    """The lines that go and come, with those around them; a carriage return is a part of its line."""
    old = change.old.split("\n") if change.old_file else []
    new = change.new.split("\n") if change.new_file else []
    if max(len(old), len(new)) > _COMPARED:
        yield from (f"-{line}" for line in old)
        yield from (f"+{line}" for line in new)
    else:
        yield from islice(difflib.unified_diff(old, new, lineterm=""), 2, None)
