"""Change the settings files of other programs: plan, show the diff, back up, replace atomically, undo.

Inside a project no link is followed. A file of the user may be a link, because people share settings that
way; then its target is changed. Start with `plan_change` and `apply_change`.
"""

import difflib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from handrail.documents.settings_text import SettingsProblem
from handrail.documents.text import escape_for_terminal
from handrail.runtime.errors import Busy, Unreadable
from handrail.runtime.system import resolve_path
from handrail.stores.files.disk import DiskWorkspace

# An edit of a text. It returns the new text, or why the edit is not possible.
TextEdit: TypeAlias = Callable[[str], str | SettingsProblem]
_BACKUP_SUFFIX: Final = ".handrail-backup"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file, which need not exist. `path` is its full path."""

    disk: DiskWorkspace
    name: str
    path: Path

    def text(self) -> str | None:
        """Read the text; None if the file does not exist. Raises `Unreadable` if it is not UTF-8."""
        return self._read_text(self.name)

    def backups(self) -> Iterator[tuple[str, str]]:
        """Yield the name and text of each readable backup, the newest first."""
        numbers = [self._backup_number(name) for name in self.disk.names("")]
        for number in sorted((number for number in numbers if number), reverse=True):
            name = self._backup_name(number)
            try:
                text = self._read_text(name)
            except Unreadable:
                continue
            if text is not None:
                yield name, text

    def next_backup_name(self) -> str:
        """Return an unused backup name. Backups are never overwritten."""
        return self._backup_name(max(map(self._backup_number, self.disk.names("")), default=0) + 1)

    def _read_text(self, name: str) -> str | None:
        data = self.disk.read(name)
        try:
            return data.decode("utf-8") if data is not None else None
        except UnicodeDecodeError as wrong:
            message = f"{self.path.with_name(name)} is not UTF-8 text: see byte {wrong.start + 1}"
            raise Unreadable(message, "save it as UTF-8, or move it away") from wrong

    def _backup_name(self, number: int) -> str:
        return f"{self.name}{_BACKUP_SUFFIX}{f'-{number}' if number > 1 else ''}"

    def _backup_number(self, name: str) -> int:
        """Return the number of the backup with this file name; 0 if it is not a backup."""
        found = re.fullmatch(rf"{re.escape(self.name + _BACKUP_SUFFIX)}(?:-(\d+))?", name)
        return int(found[1] or 1) if found else 0


@dataclass(frozen=True, slots=True)
class FileChange:
    """A planned change: the text before and after. None means that the file does not exist.

    `backup` is the name of the backup that already has the text after, if any.
    """

    file: SettingsFile
    before: str | None
    after: str | None
    backup: str = ""

    @property
    def needed(self) -> bool:
        """True if the change changes anything."""
        return self.before != self.after

    def difference(self) -> str:
        """Return the diff without context lines, as `diff -U0`: nearby lines may hold secrets."""
        path = escape_for_terminal(str(self.file.path))
        was, will = (path if text is not None else "/dev/null" for text in (self.before, self.after))
        old, new = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(old, new, was, will, n=0)
        )


def locate_project_file(project: Path, within: str) -> SettingsFile:
    """Locate the file at this path inside a project."""
    folder, _, name = within.rpartition("/")
    root = resolve_path(project)
    return SettingsFile(DiskWorkspace(root, folder), name, root / within)


def locate_user_file(path: Path) -> SettingsFile:
    """Locate the user's file at this path, or its target if it is a link."""
    real = Path(os.path.realpath(path))
    root = next(folder for folder in real.parents if folder.is_dir())
    return SettingsFile(DiskWorkspace(root, "/".join(real.parent.relative_to(root).parts)), real.name, real)


def plan_change(file: SettingsFile, edit: TextEdit) -> FileChange:
    """Plan an edit. Raises `Unreadable` if the file has a problem."""
    before = file.text()
    after = _run_edit(file, before or "", edit)
    return FileChange(file, before, before if after == (before or "") else after)


def plan_undo(file: SettingsFile, edit: TextEdit, undo: TextEdit) -> FileChange:
    """Plan taking an edit back, to the exact bytes from before if nothing else has changed.

    A file that holds only what the edit would write into an empty file is deleted. Raises `Unreadable` if the
    file has a problem.
    """
    before = file.text()
    if before is None:
        return FileChange(file, None, None)
    after = _run_edit(file, before, undo)
    if after == before:
        return FileChange(file, before, before)
    for name, text in file.backups():
        if undo(text) == text and edit(text) == before:
            return FileChange(file, before, text, name)
    return FileChange(file, before, None if edit("") == before else after)


def apply_change(change: FileChange) -> Path | None:
    """Apply the change atomically. Return the path of the new backup; None if none was needed.

    A backup whose text is back in the file is deleted. Raises `Busy` if the file has changed since the change
    was planned.
    """
    file, disk, backup = change.file, change.file.disk, ""
    if not change.needed:
        return None
    if change.after is None:
        _check_unchanged(change)
        disk.unlink(file.name)
    else:
        kept = change.backup or any(text == change.before for _, text in file.backups())
        if change.before is not None and not kept:
            backup = file.next_backup_name()
            disk.write(backup, change.before.encode("utf-8"), like=file.name)
        _write_text(change, change.after)
    if change.backup:
        disk.unlink(change.backup)
    disk.sync("")
    return file.path.with_name(backup) if backup else None


def _write_text(change: FileChange, after: str) -> None:
    file, disk = change.file, change.file.disk
    new = f".{file.name}.{os.getpid()}.new"
    disk.mkdir("")
    for name in disk.names(""):
        left = re.fullmatch(rf"\.{re.escape(file.name)}\.([0-9]+)\.new", name)
        if left and _is_process_gone(int(left[1])):
            disk.unlink(name)
    try:
        disk.write(new, after.encode("utf-8"), like=file.name)
        _check_unchanged(change)
        disk.rename(new, file.name)
    finally:
        disk.unlink(new)


def _is_process_gone(process: int) -> bool:
    """True if no such process runs, so its temporary file can be deleted."""
    try:
        os.kill(process, 0)
    except PermissionError:
        return False
    except (ProcessLookupError, OverflowError):
        return True
    return False


def _check_unchanged(change: FileChange) -> None:
    if change.file.text() != change.before:
        raise Busy(f"{change.file.path} was just changed by another program", "send the same command again")


def _run_edit(file: SettingsFile, text: str, edit: TextEdit) -> str:
    result = edit(text)
    if isinstance(result, SettingsProblem):
        message = f"{file.path}, line {result.line}, column {result.column}: {result.sentence}"
        raise Unreadable(message, result.repair)
    return result
