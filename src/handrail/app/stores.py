"""Open what keeps runs: a SQL store, the files of a project, or a commit description.

`open_store` is the one way to open a store. `ProjectRuns` opens the runs that a project keeps itself.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from handrail.app.run_folders import RunFolder
from handrail.documents.state_file import CollabStateFile, StateFile
from handrail.engine.model import FLAT_STATE_FILE, Workflow
from handrail.runtime.ports.open_store import (
    CommitRun,
    CopyResult,
    FolderRuns,
    ProgressCountCallback,
    Store,
)
from handrail.runtime.ports.turn import Descriptions, ProjectDescription
from handrail.runtime.store_address import DatabaseUrl, StoreLocation
from handrail.runtime.system import resolve_path
from handrail.runtime.world import World
from handrail.stores.files.disk import DiskWorkspace
from handrail.stores.sql.copy import copy_store as copy_tables
from handrail.stores.sql.store import SQLITE_STORE, StoreKind


def store_exists(where: StoreLocation) -> bool:
    """Say whether there is a store. Opening one creates it."""
    return _store_kind(where).store_exists(where)


def open_store(where: StoreLocation) -> AbstractContextManager[Store]:
    """Open a store for the block; it is created if it does not exist."""
    return _store_kind(where).open_store(where)


def copy_store(source: StoreLocation, target: StoreLocation, report: ProgressCountCallback) -> CopyResult:
    """Make the second store a copy of the first."""
    with _copy_between(source, target) as (tables, unfinished):
        return copy_tables(tables, unfinished, report)


class ProjectRuns:
    """Opens the runs that a project keeps in its files or in a commit. `vcs` forces jj or git for commits."""

    def __init__(self, vcs: str = "") -> None:
        self._vcs = vcs
        self._descriptions: dict[Path, Descriptions] = {}

    def open_folder(self, folder: RunFolder) -> FolderRuns:
        """Open the run of a folder."""
        from handrail.stores.files.file_runs import FileRuns  # noqa: PLC0415 - slow to import, and most servers open no folder

        flat = folder.workflow.state_file == FLAT_STATE_FILE
        return FileRuns(
            DiskWorkspace(folder.project, folder.within),
            CollabStateFile(folder.phases, folder.adopts) if flat else StateFile(),
            folder.new_run,
            folder.origin,
            folder.state_names,
            ends=folder.end_states,
            signs=() if folder.name else None,
        )

    def open_commit_run(self, root: Path, world: World, workflow: Workflow) -> CommitRun:
        """Open the run in the commit description of a project.

        What was found out about the project's jj or git is kept for the next call.
        """
        from handrail.stores.vcs.commit_runs import VcsCommitRuns  # noqa: PLC0415 - slow to import, and most servers open no commit

        if root not in self._descriptions:
            self._descriptions[root] = self.open_description(root).descriptions
        return VcsCommitRuns(self._descriptions[root], world.runs, root, workflow)

    def open_description(self, root: Path) -> ProjectDescription:
        """Open the commit description of a project, with its history and its remote."""
        from handrail.stores.vcs.commit_runs import open_local_description  # noqa: PLC0415 - the reason above

        return open_local_description(root, self._vcs)


def _store_kind(where: StoreLocation) -> StoreKind[Any, Any]:
    """Choose how a location is opened. Raises `Missing` if its driver is not installed."""
    if not isinstance(where, DatabaseUrl):
        return SQLITE_STORE
    try:
        from handrail.stores.sql.postgres.pg_runs import POSTGRES_STORE  # noqa: PLC0415 - an optional package
    except ModuleNotFoundError as error:
        raise where.missing_driver(error) from error
    return POSTGRES_STORE


@contextmanager
def _copy_between(source: StoreLocation, target: StoreLocation) -> Iterator[tuple[Any, Any]]:
    """Open the tables of one store, and the unfinished copy of it that another location becomes."""
    named = str(source if isinstance(source, DatabaseUrl) else resolve_path(source))
    with (
        _store_kind(source).open_tables(source) as tables,
        _store_kind(target).open_copy_target(target, named) as unfinished,
    ):
        yield tables, unfinished
