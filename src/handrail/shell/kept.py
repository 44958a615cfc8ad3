"""Where a run that the store only mirrors is kept, and the world of its turns there."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from handrail.engine.model import NAME, Workflow
from handrail.shell.catalog import catalog
from handrail.shell.faults import Unreadable
from handrail.shell.folders import Folder, is_name
from handrail.shell.opening import FolderRuns
from handrail.shell.ports import Mirror, Runs
from handrail.shell.remembered import Remembered
from handrail.shell.view import RunRow
from handrail.shell.world import World
from handrail.workflows.load import load

_loaded: Final = Remembered(load)


def installed(row: RunRow) -> Workflow:
    """The workflow that the project of a run has now. Raises `Unreadable` if it has none of the name."""
    shelf = catalog(Path(row.project))
    source = shelf.source(row.workflow)
    workflow = _loaded(source, shelf.source).workflow if source else None
    if workflow is None:
        repair = f"handrail workflows check {row.workflow} --project {row.project} says why"
        raise Unreadable(f"there is no workflow `{row.workflow}` that could be read", repair)
    return workflow


def folder_of(row: RunRow, workflow: Workflow) -> Folder | None:
    """The folder of a run in files, if it is on this machine."""
    project, several = Path(row.project), NAME in workflow.folder
    if not project.is_dir() or (several and not is_name(row.goal)):
        return None
    return Folder(project, workflow, row.goal if several else "", row.face)


def in_folder(
    world: World, folder: Folder, opened: Callable[[Folder], FolderRuns], mirror: Callable[[Runs], Mirror]
) -> tuple[FolderRuns, World]:
    """The run of a folder, and the world of its turns, shown in the common store."""
    runs = opened(folder)
    there = replace(
        world,
        runs=runs,
        workflow_of=lambda _: folder.workflow,
        workspace=runs,
        lifetime=None,
        mirror=mirror(runs),
    )
    return runs, there
