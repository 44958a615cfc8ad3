"""A run on its way: its workflow, where it stands, and what is known there. Read where the run is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from handrail.engine.facts import Value
from handrail.engine.model import Authority, Run, Workflow
from handrail.faces.board.boards import Board
from handrail.shell.faults import Fault, Unreadable
from handrail.shell.kept import folder_of, in_folder, installed
from handrail.shell.opening import DescribedRun
from handrail.shell.pictured import run_of
from handrail.shell.ports import Files
from handrail.shell.records import Written
from handrail.shell.standing import look
from handrail.shell.view import RunRow, every


@dataclass(frozen=True, slots=True)
class Walked:
    """A run with its journal. A fact that is not here is not known.

    `files` are those of a run that is kept in files, or the text of one in a commit. They are None if the
    store only mirrors the run, and what it mirrors cannot be seen from here: then its variables are not known
    either.
    """

    workflow: Workflow
    run: Run
    journal: tuple[Written, ...]
    facts: Mapping[str, Value] = field(default_factory=dict)
    files: Files | None = None


def walked(board: Board, row: RunRow) -> Walked:
    """The run of a row, with all that is known of it now.

    Raises a `Fault` if its workflow cannot be read. What keeps a run from being seen where it is kept is no
    fault: then it is shown as the store mirrors it.
    """
    known = recorded(board, row)
    if row.authority is Authority.SQL:
        return _own(board, row, known)
    try:
        found = (_in_files if row.authority is Authority.FILES else _in_commit)(board, row, known)
    except Fault:
        found = None
    return found or known


def recorded(board: Board, row: RunRow) -> Walked:
    """The run of a row as the records of the store have it; nothing else is read.

    Raises a `Fault` if its workflow cannot be read.
    """
    records = board.serving.records
    journal = tuple(every(partial(records.journal, run=row.id)))
    workflow = _started_with(board, row) if row.authority is Authority.SQL else installed(row)
    run = run_of(workflow, row, records.open_steps(row.id), journal)
    return Walked(workflow, run, journal, {workflow.derive: row.state} if workflow.derive else {})


def _own(board: Board, row: RunRow, known: Walked) -> Walked:
    """A run of this store."""
    world = board.serving.world
    stored = world.runs.load(row.id)
    return replace(known, run=stored.run, facts=look(world, stored).facts or {}) if stored else known


def _started_with(board: Board, row: RunRow) -> Workflow:
    """The text that a run of this store started with."""
    stored = board.serving.world.runs.load(row.id)
    if stored is None:
        raise Unreadable("the run is not there any more", "reload the page")
    return board.serving.world.workflow_of(stored)


def _in_files(board: Board, row: RunRow, known: Walked) -> Walked | None:
    folder = folder_of(row, known.workflow)
    if folder is None:
        return None
    serving = board.serving
    runs, world = in_folder(serving.world, folder, board.openings.folder, serving.mirror)
    with runs.take_snapshot():
        stored = runs.standing()
        if stored.run.id != row.id or not stored.revision:
            return None
        shown = look(world, stored)
    run = shown.stored.run if shown.stored else stored.run
    return replace(known, run=run, facts=shown.facts or {}, files=world.workspace)


def _in_commit(board: Board, row: RunRow, known: Walked) -> Walked | None:
    """The text of the commit only: what was changed besides it is not asked for, as that may be written."""
    if not Path(row.project).is_dir():
        return None
    found: DescribedRun = board.openings.described(Path(row.project), board.serving.world, known.workflow)
    found.load(row.id)
    return replace(known, files=found) if found.shown == row.id else None
