"""The physical redo intent: a turn is written down whole, and that is its commit point; then it is done.

Whatever is done after the commit point may be done again: by the recovery, after a crash.
"""

from dataclasses import dataclass

from handrail.shell.apply import apply, keep_stranger, missing, stage
from handrail.shell.folders import HOME
from handrail.shell.records import Final
from handrail.shell.snapshot import Snapshot, name_of
from handrail.stores import history
from handrail.stores.layout import COPIES, HEAD, INTENT, MARK, STAGE, Head, Intent, OldHead, place, sweep
from handrail.stores.sealed import seal


@dataclass(frozen=True, slots=True)
class Saving:
    """A turn as the folder will hold it: head, line of the history, state file, and other final values."""

    head: Head
    line: bytes
    document: bytes
    before: str | None
    finals: tuple[Final, ...] = ()


def intend(workspace: Snapshot, saving: Saving) -> Intent:
    """Stage the bytes and write the intent down. Once this returns, the turn has happened."""
    written = (final.path for final in saving.finals if final.after is not None)
    folders = missing(workspace, written)
    planned = stage(workspace, saving.finals, STAGE, saving.head.revision)
    line, document = saving.line.decode(), saving.document.decode()
    intent = Intent(saving.head, line, document, saving.before, folders, planned)
    place(workspace, INTENT, seal(intent))
    return intent


def carry_out(workspace: Snapshot, state: str, intent: Intent, old: OldHead, *, again: bool) -> None:
    """Do what is intended; `state` names the state file, `old` is the head that is there, if it is one.

    `again`: some of it may be done already.
    """
    copies = f"{COPIES}{intent.head.revision}-"
    apply(workspace, intent.finals, intent.folders, copies)
    document, found = intent.document.encode(), workspace.reread(state)
    if found == document:
        workspace.sync("")
    else:
        keep_stranger(workspace, state, found, intent.before, copies)
        place(workspace, state, document)
    sealed = intent.line.encode()
    add = history.ensure if again else history.append
    add(workspace, sealed)
    place(workspace, HEAD, seal(intent.head.remembering(old)))
    finish(workspace)


def finish(workspace: Snapshot) -> None:
    """Forget an intent that is carried out, and the trouble that it mended, if there was one."""
    if name_of(MARK) in workspace.names(HOME):
        forget(workspace)
    workspace.unlink(INTENT)
    workspace.sync(HOME)
    sweep(workspace)


def forget(workspace: Snapshot) -> None:
    """Forget a trouble that is mended."""
    workspace.unlink(MARK)
    workspace.sync(HOME)
