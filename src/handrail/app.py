"""Settings to world to faces: the only file that knows every name."""

from functools import cache
from typing import TYPE_CHECKING

from handrail.faces.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

    from handrail.engine.model import Workflow
    from handrail.shell.carried import Carried
    from handrail.shell.folders import Folder
    from handrail.shell.opening import DescribedRun, FolderRuns, Openings
    from handrail.shell.ports import Descriptions
    from handrail.shell.world import World


def main() -> None:
    """The program."""
    cli.main(prog_name="handrail", obj=openings)


def openings() -> "Openings":
    """How what is kept is opened; imported only by the commands that ask for it."""
    from handrail.shell.opening import Openings  # noqa: PLC0415 - most commands start without a store
    from handrail.stores.sql.opening import opened, serving, turning  # noqa: PLC0415 - the same

    return Openings(opened, turning, _folder, serving, _described, _carried)


def _folder(folder: "Folder") -> "FolderRuns":
    from handrail.documents.collabfile import CollabFile  # noqa: PLC0415 - only for runs in files
    from handrail.documents.statefile import StateFile  # noqa: PLC0415 - the same
    from handrail.engine.model import FLAT  # noqa: PLC0415 - the same
    from handrail.shell.workspace import Disk  # noqa: PLC0415 - the same
    from handrail.stores.files import FileRuns  # noqa: PLC0415 - the same

    workspace, flat = Disk(folder.project, folder.within), folder.workflow.state_file == FLAT
    shape = CollabFile(folder.phases, folder.adopts) if flat else StateFile()
    signs = () if folder.name else None
    return FileRuns(workspace, shape, folder.new, folder.origin, folder.stays, ends=folder.ends, signs=signs)


def _described(root: "Path", world: "World", workflow: "Workflow") -> "DescribedRun":
    from handrail.stores.described import DescribedRuns  # noqa: PLC0415 - only for runs in commits

    return DescribedRuns(_descriptions(root), world.runs, root, workflow)


@cache
def _descriptions(root: "Path") -> "Descriptions":
    """Those of a project: what they have found out about its program holds for as long as this process."""
    return _carried(root, "").descriptions


def _carried(root: "Path", kind: str) -> "Carried":
    import os  # noqa: PLC0415 - only for runs in commits

    from handrail.shell.runner import Programs  # noqa: PLC0415 - the same
    from handrail.shell.system import RandomIds  # noqa: PLC0415 - the same
    from handrail.stores.descriptions.choose import carried  # noqa: PLC0415 - the same
    from handrail.stores.descriptions.git_shared import travelling  # noqa: PLC0415 - the same
    from handrail.stores.descriptions.program import environment  # noqa: PLC0415 - the same

    here, far = (Programs(seen(os.environ)) for seen in (environment, travelling))
    return carried(here, far, root, RandomIds(), kind)
