"""Commit a turn to files: write down the intent first, then apply it; applying it again is safe.

`write_intent` is the commit point, `carry_out_intent` does the rest, also after a crash. If a file holds
neither the old nor the new bytes, someone else changed it: its content is kept as a conflict copy first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from handrail.runtime.records import ChangedContent
from handrail.runtime.resolve import hash_content
from handrail.stores.files import layout
from handrail.stores.files.snapshot import Snapshot, base_name, parent_folder


def find_missing_folders(workspace: Snapshot, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that these paths need and that do not exist, outermost first."""
    wanted = {f"{folder}" for path in paths for folder in PurePosixPath(path).parents} - {"."}
    return tuple(folder for folder in sorted(wanted) if workspace.stamp(folder) is None)


def has_staged_bytes(workspace: Snapshot, planned: Iterable[layout.PlannedFile]) -> bool:
    """True if every file either has its final bytes or finds them staged."""
    return all(
        plan.after is None
        or hash_content(workspace.read(plan.path)) == plan.after
        or hash_content(workspace.read(plan.staged)) == plan.after
        for plan in planned
    )


def apply_files(
    workspace: Snapshot, planned: Sequence[layout.PlannedFile], folders: Sequence[str], copies: str
) -> None:
    """Give every file its final value. Bytes that someone else wrote are kept as `copies…` first.

    `folders` were missing when the turn was planned: they are created and synced in any case.
    """
    written = [plan.path for plan in planned if plan.after is not None]
    made = tuple(dict.fromkeys((*folders, *find_missing_folders(workspace, written))))
    for folder in made:
        workspace.mkdir(folder)
    for folder in sorted({parent_folder(folder) for folder in made}):
        workspace.sync(folder)
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
        if not folder or workspace.stamp(folder) is not None:
            workspace.sync(folder)


def keep_conflict_copy(
    workspace: Snapshot, path: str, found: bytes | None, before: str | None, copies: str
) -> None:
    """Copy what is at a path that is about to change, unless it is what the turn saw before."""
    if found is not None and hash_content(found) != before:
        write_numbered_copy(workspace, f"{copies}{base_name(path)}", found)


def write_numbered_copy(workspace: Snapshot, path: str, data: bytes) -> None:
    """Write these bytes under this name or the first free numbered one."""
    free = next(name for name in layout.iterate_numbered_paths(path) if workspace.read(name) in {None, data})
    if workspace.read(free) is None:
        workspace.write(free, data)
    workspace.sync(parent_folder(free))


def write_intent(
    workspace: Snapshot, intent: layout.Intent, finals: Sequence[ChangedContent]
) -> layout.Intent:
    """Stage the bytes of the files that a turn writes, and write its intent: now the turn is committed."""
    written = (final.path for final in finals if final.after is not None)
    folders = find_missing_folders(workspace, written)
    planned = []
    for number, final in enumerate(finals):
        staged = "" if final.after is None else f"{layout.STAGE_FOLDER}/{intent.head.revision}-{number}"
        if final.after is not None:
            workspace.write(staged, final.after, like=final.path)
        planned.append(layout.PlannedFile(final.path, final.before, hash_content(final.after), staged))
    if any(plan.staged for plan in planned):
        workspace.sync(layout.STAGE_FOLDER)
    intent = replace(intent, folders=folders, finals=tuple(planned))
    layout.replace_file(workspace, layout.INTENT_FILE, layout.seal_record(intent))
    return intent


def carry_out_intent(
    workspace: Snapshot,
    state: str,
    intent: layout.Intent,
    old: layout.Head | layout.RecordDamage | None,
    *,
    again: bool,
) -> None:
    """Apply a committed turn. `state` names the state file, `old` is the head on disk.

    Set `again` if some of it may be done already.
    """
    copies = f"{layout.CONFLICT_PREFIX}{intent.head.revision}-"
    apply_files(workspace, intent.finals, intent.folders, copies)
    document, found = intent.document.encode(), workspace.reread(state)
    if found == document:
        workspace.sync("")
    else:
        keep_conflict_copy(workspace, state, found, intent.before, copies)
        layout.replace_file(workspace, state, document)
    (layout.ensure_line if again else layout.append_line)(workspace, intent.line.encode())
    layout.replace_file(workspace, layout.HEAD_FILE, layout.seal_record(intent.head.with_recorded_calls(old)))
    clear_intent(workspace)


def clear_intent(workspace: Snapshot) -> None:
    """Remove an intent that is carried out, and the trouble mark that it resolves, if any."""
    if base_name(layout.TROUBLE_FILE) in workspace.names(layout.PRIVATE_FOLDER):
        clear_trouble(workspace)
    workspace.unlink(layout.INTENT_FILE)
    workspace.sync(layout.PRIVATE_FOLDER)
    layout.remove_leftovers(workspace)


def clear_trouble(workspace: Snapshot) -> None:
    """Remove the trouble mark."""
    workspace.unlink(layout.TROUBLE_FILE)
    workspace.sync(layout.PRIVATE_FOLDER)
