"""Commit a turn to files: write down the intent first, then apply it; applying it again is safe.

`write_intent` is the commit point, `carry_out_intent` does the rest, also after a crash. A file that already
has its final bytes is skipped. If a file holds neither the old nor the new bytes, someone else changed it:
its content is kept as a conflict copy first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from handrail.runtime.records import ChangedContent
from handrail.runtime.resolve import hash_content
from handrail.stores.files import layout
from handrail.stores.files.layout import (
    CONFLICT_PREFIX,
    HEAD_FILE,
    INTENT_FILE,
    PRIVATE_FOLDER,
    STAGE_FOLDER,
    TROUBLE_FILE,
    Head,
    HeadOnDisk,
    Intent,
    PlannedFile,
    iterate_numbered_paths,
    remove_leftovers,
    replace_file,
    seal_record,
)
from handrail.stores.files.snapshot import Snapshot, base_name, parent_folder


def has_changed_files(workspace: Snapshot, finals: Iterable[ChangedContent]) -> bool:
    """True if a file has changed since its final value was worked out."""
    return any(hash_content(workspace.reread(final.path)) != final.before for final in finals)


def find_missing_folders(workspace: Snapshot, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that these paths need and that do not exist, outermost first."""
    wanted = sorted({folder for path in paths for folder in _parent_folders(path)})
    return tuple(folder for folder in wanted if not _folder_exists(workspace, folder))


def stage_files(
    workspace: Snapshot, finals: Sequence[ChangedContent], folder: str, revision: int
) -> tuple[PlannedFile, ...]:
    """Write the final bytes durably into a staging folder. Return what is planned for each file."""
    planned = []
    for number, final in enumerate(finals):
        staged = "" if final.after is None else f"{folder}/{revision}-{number}"
        if final.after is not None:
            workspace.write(staged, final.after, like=final.path)
        planned.append(PlannedFile(final.path, final.before, hash_content(final.after), staged))
    if any(plan.staged for plan in planned):
        workspace.sync(folder)
    return tuple(planned)


def has_staged_bytes(workspace: Snapshot, planned: Iterable[PlannedFile]) -> bool:
    """True if every file either has its final bytes or finds them staged."""
    return all(
        plan.after is None
        or hash_content(workspace.read(plan.path)) == plan.after
        or hash_content(workspace.read(plan.staged)) == plan.after
        for plan in planned
    )


def apply_files(
    workspace: Snapshot, planned: Sequence[PlannedFile], folders: Sequence[str], copies: str
) -> None:
    """Give every file its final value. Bytes that someone else wrote are kept as `copies…` first.

    `folders` were missing when the turn was planned: they are created and synced in any case.
    """
    written = [plan.path for plan in planned if plan.after is not None]
    _make_folders(workspace, (*folders, *find_missing_folders(workspace, written)))
    for plan in planned:
        found = workspace.reread(plan.path)
        if hash_content(found) == plan.after:
            continue
        keep_conflict_copy(workspace, plan.path, found, plan.before, copies)
        if plan.after is None:
            workspace.unlink(plan.path)
        else:
            workspace.rename(plan.staged, plan.path)
    for folder in sorted({parent_folder(plan.path) for plan in planned}):
        if _folder_exists(workspace, folder):
            workspace.sync(folder)


def keep_conflict_copy(
    workspace: Snapshot, path: str, found: bytes | None, before: str | None, copies: str
) -> None:
    """Copy what is at a path that is about to change, unless it is what the turn saw before."""
    if found is not None and hash_content(found) != before:
        write_numbered_copy(workspace, f"{copies}{base_name(path)}", found)


def write_numbered_copy(workspace: Snapshot, path: str, data: bytes) -> str:
    """Write these bytes under this name or the first free numbered one, and return the path."""
    free = next(name for name in iterate_numbered_paths(path) if workspace.read(name) in {None, data})
    if workspace.read(free) is None:
        workspace.write(free, data)
    workspace.sync(parent_folder(free))
    return free


def _make_folders(workspace: Snapshot, folders: Iterable[str]) -> None:
    """Create these folders durably, before anything is written into them."""
    made = tuple(dict.fromkeys(folders))
    for folder in made:
        workspace.mkdir(folder)
    for folder in sorted({parent_folder(folder) for folder in made}):
        workspace.sync(folder)


def _parent_folders(path: str) -> Iterator[str]:
    while path := parent_folder(path):
        yield path


def _folder_exists(workspace: Snapshot, folder: str) -> bool:
    return not folder or workspace.stamp(folder) is not None


@dataclass(frozen=True, slots=True)
class TurnFiles:
    """A turn ready to be written: head, history line, state file, and the other files it writes."""

    head: Head
    line: bytes
    document: bytes
    before: str | None
    finals: tuple[ChangedContent, ...] = ()


def write_intent(workspace: Snapshot, saving: TurnFiles) -> Intent:
    """Stage the bytes and write the intent. Once this returns, the turn is committed."""
    written = (final.path for final in saving.finals if final.after is not None)
    folders = find_missing_folders(workspace, written)
    planned = stage_files(workspace, saving.finals, STAGE_FOLDER, saving.head.revision)
    line, document = saving.line.decode(), saving.document.decode()
    intent = Intent(saving.head, line, document, saving.before, folders, planned)
    replace_file(workspace, INTENT_FILE, seal_record(intent))
    return intent


def carry_out_intent(
    workspace: Snapshot, state: str, intent: Intent, old: HeadOnDisk, *, again: bool
) -> None:
    """Apply a committed turn. `state` names the state file, `old` is the head on disk.

    Set `again` if some of it may be done already.
    """
    copies = f"{CONFLICT_PREFIX}{intent.head.revision}-"
    apply_files(workspace, intent.finals, intent.folders, copies)
    document, found = intent.document.encode(), workspace.reread(state)
    if found == document:
        workspace.sync("")
    else:
        keep_conflict_copy(workspace, state, found, intent.before, copies)
        replace_file(workspace, state, document)
    sealed = intent.line.encode()
    add = layout.ensure_line if again else layout.append_line
    add(workspace, sealed)
    replace_file(workspace, HEAD_FILE, seal_record(intent.head.with_recorded_calls(old)))
    clear_intent(workspace)


def clear_intent(workspace: Snapshot) -> None:
    """Remove an intent that is carried out, and the trouble mark that it resolves, if any."""
    if base_name(TROUBLE_FILE) in workspace.names(PRIVATE_FOLDER):
        clear_trouble(workspace)
    workspace.unlink(INTENT_FILE)
    workspace.sync(PRIVATE_FOLDER)
    remove_leftovers(workspace)


def clear_trouble(workspace: Snapshot) -> None:
    """Remove the trouble mark."""
    workspace.unlink(TROUBLE_FILE)
    workspace.sync(PRIVATE_FOLDER)
