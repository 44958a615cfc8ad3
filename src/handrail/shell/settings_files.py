"""Files in which other programs keep their settings: changed as a whole, backed up, and put back if possible.

Below a project no link is followed. A file of the user may be a link, as people who share their settings make
them: then the file it leads to is changed.
"""

import difflib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from handrail.documents.jsontree import Problem
from handrail.shell.faults import Busy, Unreadable
from handrail.shell.reading import whole
from handrail.shell.workspace import Disk
from handrail.workflows.characters import safe

Edit: TypeAlias = Callable[[str], str | Problem]
"""How a text becomes another, or why it does not."""

_BACKUP: Final = ".handrail-backup"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file that is there or could be; `path` is where a person finds it."""

    disk: Disk
    name: str
    path: Path

    def text(self) -> str | None:
        """What is in it; None if it is not there. Raises `Unreadable` if that is no UTF-8."""
        return self._decoded(self.name)

    def backups(self) -> Iterator[tuple[str, str]]:
        """The names and texts of its backups that can be read, the newest first."""
        numbers = [self._number(name) for name in self.disk.names("")]
        for number in sorted((number for number in numbers if number), reverse=True):
            name = self._backup(number)
            try:
                text = self._decoded(name)
            except Unreadable:
                continue
            if text is not None:
                yield name, text

    def free(self) -> str:
        """A name for one more backup: no other is ever written over."""
        return self._backup(max(map(self._number, self.disk.names("")), default=0) + 1)

    def _decoded(self, name: str) -> str | None:
        data = self.disk.read(name)
        try:
            return data.decode("utf-8") if data is not None else None
        except UnicodeDecodeError as wrong:
            message = f"{self.path.with_name(name)} is not UTF-8 text: see byte {wrong.start + 1}"
            raise Unreadable(message, "save it as UTF-8, or move it away") from wrong

    def _backup(self, number: int) -> str:
        return f"{self.name}{_BACKUP}{f'-{number}' if number > 1 else ''}"

    def _number(self, name: str) -> int:
        """Which backup the file of this name is, 0 if none."""
        end = name.removeprefix(f"{self.name}{_BACKUP}")
        if end == name:
            return 0
        return 1 if not end else int(end[1:]) if end[:1] == "-" and end[1:].isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of a file: its text before and after, None where it is not there.

    `backup` is the backup that has the text after, if one has.
    """

    file: SettingsFile
    before: str | None
    after: str | None
    backup: str = ""

    @property
    def needed(self) -> bool:
        """True if there is something to do."""
        return self.before != self.after

    def difference(self) -> str:
        """What changes, line by line, as `diff -U0` shows it: lines beside it may be secrets of others."""
        old, new = (_lines(text) for text in (self.before, self.after))
        here = safe(str(self.file.path))
        was, will = (here if text is not None else "/dev/null" for text in (self.before, self.after))
        return "".join(_marked(difflib.unified_diff(old, new, was, will, n=0)))


def below(project: Path, within: str) -> SettingsFile:
    """The file at this path below a project."""
    folder, _, name = within.rpartition("/")
    root = whole(project)
    return SettingsFile(Disk(root, folder), name, root / within)


def of_user(path: Path) -> SettingsFile:
    """The user's file at this path, or the one that it is a link to."""
    real = Path(os.path.realpath(path))
    root = next(folder for folder in real.parents if folder.is_dir())
    return SettingsFile(Disk(root, "/".join(real.parent.relative_to(root).parts)), real.name, real)


def planned(file: SettingsFile, edit: Edit) -> Change:
    """What the edit would do. Raises `Unreadable` where the file has a problem."""
    before = file.text()
    after = _edited(file, before or "", edit)
    return Change(file, before, before if after == (before or "") else after)


def undone(file: SettingsFile, edit: Edit, undo: Edit) -> Change:
    """What takes an edit back: to the very bytes from before if nothing else has changed since.

    A file that has nothing but what the edit makes of none goes away.
    """
    before = file.text()
    if before is None:
        return Change(file, None, None)
    after = _edited(file, before, undo)
    if after == before:
        return Change(file, before, before)
    for name, text in file.backups():
        if undo(text) == text and edit(text) == before:
            return Change(file, before, text, name)
    return Change(file, before, None if edit("") == before else after)


def done(change: Change) -> Path | None:
    """Make the change, at once; the backup that was made of the text before, if one was needed.

    A backup that has nothing any more that the file itself has not is removed. Raises `Busy` if the file is
    not what it was when the change was planned.
    """
    file, disk = change.file, change.file.disk
    if not change.needed:
        return None
    kept = "" if change.backup or change.after is None else _kept(change)
    if change.after is None:
        _unchanged(change)
        disk.unlink(file.name)
    else:
        _written(change, change.after)
    if change.backup:
        disk.unlink(change.backup)
    disk.sync("")
    return file.path.with_name(kept) if kept else None


def _written(change: Change, after: str) -> None:
    file, disk = change.file, change.file.disk
    new = f".{file.name}.{os.getpid()}.new"
    disk.mkdir("")
    for name in disk.names(""):
        if (left := re.fullmatch(rf"\.{re.escape(file.name)}\.([0-9]+)\.new", name)) and _ended(int(left[1])):
            disk.unlink(name)
    try:
        disk.write(new, after.encode("utf-8"), like=file.name)
        _unchanged(change)
        disk.rename(new, file.name)
    finally:
        disk.unlink(new)


def _ended(process: int) -> bool:
    """True if no such process runs: what it left behind is nobody's."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False


def _kept(change: Change) -> str:
    """Keep the text before in a backup, unless one has it already or there is none."""
    if change.before is None:
        return ""
    if any(text == change.before for _, text in change.file.backups()):
        return ""
    name = change.file.free()
    change.file.disk.write(name, change.before.encode("utf-8"), like=change.file.name)
    return name


def _unchanged(change: Change) -> None:
    if change.file.text() != change.before:
        raise Busy(f"{change.file.path} was just changed by another program", "send the same command again")


def _edited(file: SettingsFile, text: str, edit: Edit) -> str:
    found = edit(text)
    if isinstance(found, Problem):
        message = f"{file.path}, line {found.line}, column {found.column}: {found.sentence}"
        raise Unreadable(message, found.repair)
    return found


def _lines(text: str | None) -> list[str]:
    return (text or "").splitlines(keepends=True)


def _marked(lines: Iterator[str]) -> Iterator[str]:
    """The lines, each with an end; one that had none is told of as `diff` does."""
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
