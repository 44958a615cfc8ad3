"""Settings to world to faces: the only file that knows every name."""

from functools import partial
from typing import TYPE_CHECKING

from handrail.faces.cli.main import cli

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import ModuleType

    from handrail.engine.model import Workflow
    from handrail.shell.carried import Carried
    from handrail.shell.folders import Folder
    from handrail.shell.keeping import Copied, Progress
    from handrail.shell.opening import DescribedRun, FolderRuns, Openings, Serving, Store, Where
    from handrail.shell.ports import Descriptions
    from handrail.shell.world import World


def main() -> None:
    """The program."""
    cli.main(prog_name="handrail", obj=openings)


def openings(vcs: str = "") -> "Openings":
    """How what is kept is opened; imported only by the commands that ask for it. `vcs` forces jj or git."""
    from handrail.shell.opening import Openings  # noqa: PLC0415 - most commands start without a store

    described, carried = _Described(vcs), partial(_carried, vcs)
    return Openings(_there, _opened, _turning, _folder, _serving, described, carried, _copied)


def _there(where: "Where") -> bool:
    from handrail.shell.opening import Remote  # noqa: PLC0415 - most commands start without a store

    return bool(_kind(where).there(where)) if isinstance(where, Remote) else where.is_file()


def _opened(where: "Where") -> "AbstractContextManager[Store]":
    found: AbstractContextManager[Store] = _kind(where).opened(where)
    return found


def _turning(where: "Where") -> "AbstractContextManager[World]":
    found: AbstractContextManager[World] = _kind(where).turning(where)
    return found


def _serving(where: "Where") -> "AbstractContextManager[Serving]":
    found: AbstractContextManager[Serving] = _kind(where).serving(where)
    return found


def _copied(source: "Where", target: "Where", told: "Progress") -> "Copied":
    from handrail.shell.opening import Remote  # noqa: PLC0415 - most commands start without a store
    from handrail.stores.sql.copying import copy  # noqa: PLC0415 - only to copy one

    named = str(source if isinstance(source, Remote) else source.resolve())
    with _kind(source).read(source) as tables, _kind(target).unfinished(target, named) as unfinished:
        return copy(tables, unfinished, told)


def _kind(where: "Where") -> "ModuleType":
    """What opens this kind of store. Raises `Missing` if its driver is not installed."""
    from importlib import import_module  # noqa: PLC0415 - most commands start without a store

    from handrail.shell.faults import Missing  # noqa: PLC0415 - the same
    from handrail.shell.opening import Remote  # noqa: PLC0415 - the same

    if not isinstance(where, Remote):
        return import_module("handrail.stores.sql.opening")
    try:
        return import_module("handrail.stores.sql.postgresql.opening")
    except ModuleNotFoundError as error:
        message = f"{where} is a PostgreSQL database, and the driver `{error.name}` is not installed"
        raise Missing(message, "pip install 'handrail[postgresql]'") from error


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


class _Described:
    """Opens runs in commits. What was found out about the program of a project holds as long as this does."""

    def __init__(self, vcs: str) -> None:
        self._vcs = vcs
        self._opened: dict[Path, Descriptions] = {}

    def __call__(self, root: "Path", world: "World", workflow: "Workflow") -> "DescribedRun":
        """The run of this project."""
        from handrail.stores.described import DescribedRuns  # noqa: PLC0415 - only for runs in commits

        if root not in self._opened:
            self._opened[root] = _carried(self._vcs, root).descriptions
        return DescribedRuns(self._opened[root], world.runs, root, workflow)


def _carried(vcs: str, root: "Path") -> "Carried":
    import os  # noqa: PLC0415 - only for runs in commits

    from handrail.shell.opening import patience  # noqa: PLC0415 - the same
    from handrail.shell.runner import Programs  # noqa: PLC0415 - the same
    from handrail.shell.system import RandomIds  # noqa: PLC0415 - the same
    from handrail.stores.descriptions.choose import carried  # noqa: PLC0415 - the same
    from handrail.stores.descriptions.git_shared import travelling  # noqa: PLC0415 - the same
    from handrail.stores.descriptions.program import environment, limited  # noqa: PLC0415 - the same

    here, far = (Programs(seen(os.environ)) for seen in (environment, travelling))
    return carried(here, far, root, RandomIds(), vcs, limits=limited(patience()))
