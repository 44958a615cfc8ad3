"""Locate the folders in which a project keeps runs in files, and open them.

Each workflow that keeps its runs in files names its folder. If the folder has a placeholder for a name, the
project can have several, each with its own run. Start with `find_run_folders`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from msgspec import Struct
from msgspec.structs import replace

from handrail.app.catalog import BUILT_IN_ORIGIN, open_catalog
from handrail.app.definitions import SourceCache
from handrail.engine.facts import Value
from handrail.engine.model import RUN_NAME_PLACEHOLDER, Authority, Run, Workflow
from handrail.runtime.errors import Unreadable
from handrail.runtime.journal import read_file_artifacts
from handrail.runtime.ports.open_store import FolderRuns, RunMirrors
from handrail.runtime.ports.queries import RunRow
from handrail.runtime.records import Origin
from handrail.runtime.system import resolve_path
from handrail.runtime.world import World
from handrail.stores.files.disk import DiskWorkspace
from handrail.workflows.load import load_workflow

_RUN_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,64}")


class RebuiltRun(Struct, frozen=True):
    """A run in files, its folder, and how many journal entries were copied to the store."""

    run: str
    folder: str
    entries: int


class RunFolder(Struct, frozen=True):
    """A project folder for a run of a workflow; the run need not exist yet.

    `name` distinguishes several folders of one workflow. `face` is set if it differs from the workflow's
    name.
    """

    project: Path
    workflow: Workflow
    name: str = ""
    face: str = ""

    @property
    def within(self) -> str:
        """The path inside the project."""
        return self.workflow.folder.replace(RUN_NAME_PLACEHOLDER, self.name)

    @property
    def path(self) -> Path:
        """The full path."""
        return self.project / self.within

    @property
    def title(self) -> str:
        """The display name: the workflow, and the name of the folder if there can be several."""
        return f"{self.workflow.name}/{self.name}" if self.name else self.workflow.name

    @property
    def new_run(self) -> Run:
        """A new run for this folder. Its id derives from the path, so every process sees the same id."""
        return Run(str(uuid5(NAMESPACE_URL, self.path.as_uri())), self.workflow.name, self.workflow.digest)

    @property
    def origin(self) -> Origin:
        """The origin of a run that starts here."""
        return Origin(self.face or self.workflow.name, Authority.FILES, str(self.project), self.name)

    @property
    def state_names(self) -> tuple[str, ...]:
        """The states a run can be in: all but routers."""
        return tuple(name for name, state in self.workflow.states.items() if not state.router)

    @property
    def phases(self) -> Mapping[str, str]:
        """The phase of each state."""
        return {name: state.phase for name, state in self.workflow.states.items()}

    @property
    def adopts(self) -> Mapping[str, tuple[str, Mapping[str, Value]]]:
        """By phase: the state that adopts a run of which only the phase is known, and its variables there."""
        return {
            state.phase: (name, variables)
            for name, state in self.workflow.states.items()
            if isinstance(variables := state.extra.get("adopts"), dict)
        }

    @property
    def end_states(self) -> tuple[str, ...]:
        """The terminal states."""
        return tuple(name for name, state in self.workflow.states.items() if state.terminal)


def rebuild_mirrors(
    mirrors: RunMirrors, open_folder: Callable[[RunFolder], FolderRuns], projects: Iterable[Path]
) -> Iterator[RebuiltRun]:
    """Copy the runs in files to the store: of these projects and of all projects the store knows.

    A project that no longer exists is skipped.
    """
    roots = {*map(Path, mirrors.projects()), *(resolve_path(project) for project in projects)}
    for folder in (folder for root in sorted(roots) if root.is_dir() for folder in find_run_folders(root)):
        runs = open_folder(folder)
        stored = runs.load_current()
        if stored.revision:
            run, workspace = stored.run, DiskWorkspace(folder.project, folder.within)
            artifacts = read_file_artifacts(folder.workflow, run, workspace)
            yield RebuiltRun(run.id, str(folder.path), mirrors.rebuild(runs, run.id, artifacts))


def is_run_name(name: str) -> bool:
    """True if the name is valid for a run. A valid name is one plain folder name."""
    return _RUN_NAME.fullmatch(name) is not None


def list_run_names(project: Path, workflow: Workflow) -> tuple[str, ...]:
    """List the names of a project's run folders for this workflow, sorted. Links are not followed."""
    parent = workflow.folder.removesuffix(f"/{RUN_NAME_PLACEHOLDER}")
    names = [name for name in DiskWorkspace(project, parent).names("") if is_run_name(name)]
    paths = ((name, project / parent / name) for name in names)
    return tuple(name for name, path in paths if path.is_dir() and not path.is_symlink())


def find_run_folders(project: Path) -> Iterator[RunFolder]:
    """Yield every folder in which a workflow would keep its run, sorted by workflow name.

    A workflow that cannot be loaded has none; `handrail workflows check` says why. A workflow of the project
    or the user takes its folder from a built-in one. Folders with a name placeholder come with the built-in
    workflow. Each run there records its own workflow; see `switch_workflow`.
    """
    catalog, root = open_catalog(project), resolve_path(project)
    loaded = [(found, load_workflow(found.source, catalog.source).workflow) for found in catalog.all()]
    with_folder = [(found, workflow) for found, workflow in loaded if workflow and workflow.folder]
    own_folders = {workflow.folder for found, workflow in with_folder if found.origin != BUILT_IN_ORIGIN}
    for found, workflow in with_folder:
        if RUN_NAME_PLACEHOLDER in workflow.folder:
            names = list_run_names(root, workflow) if found.origin == BUILT_IN_ORIGIN else ()
            yield from (RunFolder(root, workflow, name) for name in names)
        elif not found.hidden and (found.origin != BUILT_IN_ORIGIN or workflow.folder not in own_folders):
            yield RunFolder(root, workflow)


def switch_workflow(folder: RunFolder, name: str) -> RunFolder | None:
    """Return the folder with the workflow that its run started with; None if there is no such workflow."""
    if name == folder.workflow.name:
        return folder
    catalog = open_catalog(folder.project)
    source = catalog.source(name)
    workflow = load_workflow(source, catalog.source).workflow if source else None
    return replace(folder, workflow=workflow) if workflow else None


_load_workflow: Final = SourceCache(load_workflow)


def load_installed_workflow(row: RunRow) -> Workflow:
    """Load the workflow that a run's project has now. Raises `Unreadable` if it has none of that name."""
    catalog = open_catalog(Path(row.project))
    source = catalog.source(row.workflow)
    workflow = _load_workflow(source, catalog.source).workflow if source else None
    if workflow is None:
        repair = f"handrail workflows check {row.workflow} --project {row.project} says why"
        raise Unreadable(f"there is no workflow `{row.workflow}` that could be read", repair)
    return workflow


def locate_run_folder(row: RunRow, workflow: Workflow) -> RunFolder | None:
    """Return the folder of a run in files; None if its project is not on this machine."""
    project, several = Path(row.project), RUN_NAME_PLACEHOLDER in workflow.folder
    if not project.is_dir() or (several and not is_run_name(row.goal)):
        return None
    return RunFolder(project, workflow, row.goal if several else "", row.face)


def build_folder_world(world: World, folder: RunFolder, runs: FolderRuns, mirrors: RunMirrors) -> World:
    """Return the world for turns of the run of a folder. `mirrors` get its changes."""
    return replace(
        world,
        runs=runs,
        workflow=folder.workflow,
        workspace=runs,
        lifetime=None,
        mirror=runs.mirror_with(mirrors.copy_run),
    )
