"""The faces of a server over HTTP, put together: each for some projects, by their names."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from anyio import sleep
from msgspec.structs import replace

import handrail
from handrail.faces.mcp.names import Names
from handrail.faces.mcp.projects import NamedProjects, shelves
from handrail.faces.mcp.server import Served
from handrail.faces.mcp.serving import served
from handrail.faces.web.sessions import USUAL, Allowed
from handrail.faces.web.tenants import Seen, Tenants
from handrail.shell.faults import Fault
from handrail.shell.fence import fenced
from handrail.shell.homes import data_folder, settings_folder
from handrail.shell.opening import Openings, Serving
from handrail.shell.reading import whole
from handrail.shell.store_address import Where
from handrail.shell.trust import Trusted

_EVERY: Final = 1.0
"""How many seconds pass between two looks at the list of projects."""

log = logging.getLogger("handrail")


class Known:
    """The projects of a server by name: those that are registered now, and those it was started with.

    `folders` are its other folders, and what a client reads in their place.
    """

    def __init__(self, serving: Serving, given: Mapping[str, Path], store: Where) -> None:
        self._serving, self._given, self.folders = serving, given, _folders(store)
        self._projects = self._read()

    def __call__(self) -> Mapping[str, Path]:
        """All of them."""
        return self._projects

    async def keep_up(self) -> None:
        """Look again and again which there are, until this is cancelled."""
        while True:
            await sleep(_EVERY)
            try:
                self._projects = await self._serving.writer.done(self._read)
            except Fault as fault:
                log.warning("%s; %s", fault.message, fault.repair)

    def _read(self) -> Mapping[str, Path]:
        registered = {one.name: Path(one.root) for one in self._serving.registry.projects()}
        return {**registered, **self._given}

    def among(self, seen: Seen) -> Callable[[], Mapping[str, Path]]:
        """Those that somebody may see."""
        if seen is None:
            return self
        return lambda: {name: root for name, root in self().items() if name in seen}


def tenants(  # noqa: PLR0913 - what a server is made of
    serving: Serving,
    openings: Openings,
    faces: Sequence[str],
    known: Known,
    names: Names,
    *,
    allowed: Allowed = USUAL,
    told: Callable[[str, Served], None] = lambda _face, _served: None,
) -> Tenants:
    """Everybody that this store is served to; `told` is told of every face that is made.

    Only who sees everything looks after the runs gone quiet.
    """
    shelf_of = shelves(Trusted())

    def made(face: str, seen: Seen) -> Served:
        projects = NamedProjects(known.among(seen), shelf_of, known.folders)
        behind = fenced(serving, lambda: tuple(map(str, projects.roots)))
        mine = behind if seen is None else replace(behind, sweep=tuple)
        one = served(mine, openings, projects, face, names, replicas=not allowed.sessions)
        told(face, one)
        return one

    return Tenants(faces, made, known.keep_up, allowed)


def _folders(store: Where) -> Mapping[str, str]:
    """The folders of a server besides its projects, its store, and what a client reads in their place."""
    ours = Path(handrail.__file__).parent
    kept = (store.parent, whole(store.parent)) if isinstance(store, Path) else (store,)
    told = {
        **dict.fromkeys(kept, "the store's folder" if isinstance(store, Path) else "the store"),
        ours: "handrail",
        settings_folder(): "the server's settings",
        data_folder(): "the server's data",
        Path.home(): "~",
    }
    return {str(path): text for path, text in told.items() if path != Path("/")}
