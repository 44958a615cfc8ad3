"""Where runs are kept in a project's files: each workflow that lives in files says in which folder."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from handrail.engine.model import Authority, Run, Workflow
from handrail.shell.catalog import BUILT_IN, catalog
from handrail.shell.records import Origin
from handrail.workflows.load import load

HOME: Final = ".handrail"
"""The folder, beside the files of a run, of what keeps it safe."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of a project in which a run of a workflow is, or would be."""

    project: Path
    workflow: Workflow

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.project / self.workflow.folder

    @property
    def new(self) -> Run:
        """The run that begins there: its id follows from the place, so that whoever looks sees the same."""
        name = uuid5(NAMESPACE_URL, self.path.as_uri())
        return Run(str(name), self.workflow.name, self.workflow.digest)

    @property
    def origin(self) -> Origin:
        """What such a run is given when it begins."""
        return Origin(self.workflow.name, Authority.FILES, str(self.project))

    @property
    def ends(self) -> tuple[str, ...]:
        """The states in which a run there is over."""
        return tuple(name for name, state in self.workflow.states.items() if state.terminal)


def folders(project: Path) -> Iterator[Folder]:
    """Every folder of a project in which a workflow would keep its run, by name of the workflow.

    A workflow that cannot be loaded keeps none: `handrail workflows check` says why. A folder that a workflow
    of the project or the user has is not that of a built-in one.
    """
    shelf, root = catalog(project), project.resolve()
    loaded = [(found, load(found.source, shelf.source).workflow) for found in shelf.all() if not found.hidden]
    kept = [(found.origin, workflow) for found, workflow in loaded if workflow and workflow.folder]
    own = {workflow.folder for origin, workflow in kept if origin != BUILT_IN}
    for origin, workflow in kept:
        if origin != BUILT_IN or workflow.folder not in own:
            yield Folder(root, workflow)
