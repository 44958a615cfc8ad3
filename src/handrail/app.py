"""Settings to world to faces: the only file that knows every name."""

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any

    from handrail.engine.model import Workflow
    from handrail.shell.carried import Carried
    from handrail.shell.folders import Folder
    from handrail.shell.keeping import Copied, Progress
    from handrail.shell.opening import DescribedRun, FolderRuns, Openings
    from handrail.shell.ports import Descriptions
    from handrail.shell.store_address import Remote, Where
    from handrail.shell.view import ReadOnlyStore
    from handrail.shell.world import World
    from handrail.stores.sql.opening import Kind


def main() -> None:
    """The program. On Windows, which has no locks and files of this kind, it says where it runs.

    A hook is answered before anything else is imported: its client waits for it.
    """
    if sys.platform == "win32":
        raise SystemExit("handrail: it does not run on Windows itself\n  run it in WSL: wsl --install")
    words = sys.argv[1:]
    if words[:1] == ["hook"] and not {"-h", "--help"} & set(words):
        # A client waits for each hook, and click alone takes twice as long as Python takes to start.
        from handrail.faces.cli.hook_entry import answer_hook  # noqa: PLC0415 - imports as little as it can

        # The process ends in a moment. Collecting garbage takes a sixth of its time, and finds none: neither
        # while modules are imported nor at the end, where Python collects what is not frozen.
        gc.disable()
        answer_hook(words[1:], openings.read_only)
        gc.freeze()
        return
    from handrail.faces.cli.main import cli  # noqa: PLC0415 - the same

    cli.main(prog_name="handrail", obj=openings)


class Opened:
    """How what is kept is opened; imported only by the commands that ask for it."""

    def __call__(self, vcs: str = "") -> "Openings":
        """Everything that can be opened. `vcs` forces jj or git."""
        from handrail.shell.opening import Openings  # noqa: PLC0415 - most commands start without a store

        described = _Described(vcs)
        return Openings(
            lambda where: _kind(where).there(where),
            lambda where: _kind(where).opened(where),
            lambda where: _kind(where).turning(where),
            _folder,
            lambda where: _kind(where).serving(where),
            described,
            lambda root: _carried(vcs, root),
            _copied,
        )

    def read_only(self, address: str) -> "AbstractContextManager[ReadOnlyStore | None]":
        """The store at an address, to read only: `OpenReadOnly`. A hook has no time for `Openings`."""
        from handrail.shell.store_address import Remote, located  # noqa: PLC0415 - mere talk needs no store
        from handrail.stores.sql import reader  # noqa: PLC0415 - the same

        where = located(address)
        kind = _driven(where, "reader") if isinstance(where, Remote) else reader
        found: AbstractContextManager[ReadOnlyStore | None] = kind.open_read_only(where)
        return found


openings = Opened()


def _copied(source: "Where", target: "Where", told: "Progress") -> "Copied":
    from handrail.shell.reading import whole  # noqa: PLC0415 - the same
    from handrail.shell.store_address import Remote  # noqa: PLC0415 - only to copy a store
    from handrail.stores.sql.copying import copy  # noqa: PLC0415 - the same

    named = str(source if isinstance(source, Remote) else whole(source))
    with _kind(source).read(source) as tables, _kind(target).unfinished(target, named) as unfinished:
        return copy(tables, unfinished, told)


def _kind(where: "Where") -> "Kind[Any, Any]":
    """How this kind of store is opened. Raises `Missing` if its driver is not installed."""
    from handrail.shell.store_address import Remote  # noqa: PLC0415 - most commands start without a store
    from handrail.stores.sql.opening import FILE  # noqa: PLC0415 - the same

    if not isinstance(where, Remote):
        return FILE
    kind: Kind[Any, Any] = _driven(where, "opening").DATABASE
    return kind


def _driven(where: "Remote", name: str) -> "Any":  # noqa: ANN401 - modules are chosen by name
    """What the driver of a database is needed for. Raises `Missing` if that is not installed."""
    from importlib import import_module  # noqa: PLC0415 - most commands start without a store

    from handrail.shell.faults import Missing  # noqa: PLC0415 - the same

    try:
        return import_module(f"handrail.stores.sql.postgresql.{name}")
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
