"""Where runs are kept in a project's files: each workflow that lives in files says in which folder.

Where that has a place for a name, there are several, and each has a run of its own.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from msgspec import Struct
from msgspec.structs import replace

from handrail.engine.facts import Value
from handrail.engine.model import NAME, Authority, Run, Workflow
from handrail.shell.catalog import BUILT_IN, catalog
from handrail.shell.reading import whole
from handrail.shell.records import Origin
from handrail.shell.workspace import Disk
from handrail.workflows.load import load

HOME: Final = ".handrail"
"""The folder, beside the files of a run, of what keeps it safe."""

_ADOPTS: Final = "adopts"
_NAMES: Final = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,64}")


class Folder(Struct, frozen=True):
    """A folder of a project in which a run of a workflow is, or would be; `name` tells it from others.

    `face` is the one that the run is made by, if it is not called like the workflow.
    """

    project: Path
    workflow: Workflow
    name: str = ""
    face: str = ""

    @property
    def within(self) -> str:
        """Where it is below the project."""
        return self.workflow.folder.replace(NAME, self.name)

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.project / self.within

    @property
    def title(self) -> str:
        """What a person calls it: by its workflow, and by its name if there can be several."""
        return f"{self.workflow.name}/{self.name}" if self.name else self.workflow.name

    @property
    def new(self) -> Run:
        """The run that begins there: its id follows from the place, so that whoever looks sees the same."""
        name = uuid5(NAMESPACE_URL, self.path.as_uri())
        return Run(str(name), self.workflow.name, self.workflow.digest)

    @property
    def origin(self) -> Origin:
        """What such a run is given when it begins."""
        face = self.face or self.workflow.name
        return Origin(face, Authority.FILES, str(self.project), self.name)

    @property
    def stays(self) -> tuple[str, ...]:
        """The states in which a run there can stand."""
        return tuple(name for name, state in self.workflow.states.items() if not state.router)

    @property
    def phases(self) -> Mapping[str, str]:
        """The phase of each state."""
        return {name: state.phase for name, state in self.workflow.states.items()}

    @property
    def adopts(self) -> Mapping[str, tuple[str, Mapping[str, Value]]]:
        """The state that takes over a run of which only the phase is known, and its variables there."""
        found: dict[str, tuple[str, Mapping[str, Value]]] = {}
        for name, state in self.workflow.states.items():
            given = state.extra.get(_ADOPTS)
            if isinstance(given, dict):
                found[state.phase] = (name, given)
        return found

    @property
    def ends(self) -> tuple[str, ...]:
        """The states in which a run there is over."""
        return tuple(name for name, state in self.workflow.states.items() if state.terminal)


def is_name(name: str) -> bool:
    """True if a run can be called so: then it is the name of a folder, and of nothing else."""
    return _NAMES.fullmatch(name) is not None


def named(project: Path, workflow: Workflow) -> tuple[str, ...]:
    """The names of a project's folders for this workflow, in order. No link is followed."""
    above = workflow.folder.removesuffix(f"/{NAME}")
    disk = Disk(project, above)
    return tuple(name for name in disk.names("") if is_name(name) and _is_folder(project / above / name))


def folders(project: Path) -> Iterator[Folder]:
    """Every folder of a project in which a workflow would keep its run, by name of the workflow.

    A workflow that cannot be loaded keeps none: `handrail workflows check` says why. A folder that a workflow
    of the project or the user has is not that of a built-in one. Where there are several, they are given with
    the workflow that is built in: each keeps the name of its own, see `followed`.
    """
    shelf, root = catalog(project), whole(project)
    loaded = [(found, load(found.source, shelf.source).workflow) for found in shelf.all()]
    kept = [(found, workflow) for found, workflow in loaded if workflow and workflow.folder]
    own = {workflow.folder for found, workflow in kept if found.origin != BUILT_IN}
    for found, workflow in kept:
        if NAME in workflow.folder:
            names = named(root, workflow) if found.origin == BUILT_IN else ()
            yield from (Folder(root, workflow, name) for name in names)
        elif not found.hidden and (found.origin != BUILT_IN or workflow.folder not in own):
            yield Folder(root, workflow)


def followed(folder: Folder, name: str) -> Folder | None:
    """The folder with the workflow of this name, which its run began with; None if that is not there."""
    if name == folder.workflow.name:
        return folder
    shelf = catalog(folder.project)
    source = shelf.source(name)
    workflow = load(source, shelf.source).workflow if source else None
    return replace(folder, workflow=workflow) if workflow else None


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
