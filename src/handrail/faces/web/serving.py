"""The faces of a server over HTTP, put together: each for some projects, by their names."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import handrail
from handrail.faces.mcp.names import Names
from handrail.faces.mcp.projects import NamedProjects, shelves
from handrail.faces.mcp.server import Served
from handrail.faces.mcp.serving import served
from handrail.faces.web.tenants import Seen, Tenants
from handrail.shell.fence import fenced
from handrail.shell.homes import data_folder, settings_folder
from handrail.shell.opening import Openings, Serving
from handrail.shell.trust import Trusted

_FRESH: Final = 1.0
"""How many seconds after it was changed the list of projects is read again at the latest."""


class Known:
    """The projects of a server by name: those that are registered now, and those it was started with.

    `folders` are its other folders, and what a client reads in their place.
    """

    def __init__(self, serving: Serving, given: Mapping[str, Path], store: Path) -> None:
        self._registry, self._given, self.folders = serving.registry, given, _folders(store)
        self._projects: Mapping[str, Path] = {}
        self._until = 0.0

    def __call__(self) -> Mapping[str, Path]:
        """All of them."""
        if time.monotonic() >= self._until:
            registered = {one.name: Path(one.root) for one in self._registry.projects()}
            self._projects, self._until = {**registered, **self._given}, time.monotonic() + _FRESH
        return self._projects

    def among(self, seen: Seen) -> Callable[[], Mapping[str, Path]]:
        """Those that somebody may see."""
        if seen is None:
            return self
        return lambda: {name: root for name, root in self().items() if name in seen}


def tenants(
    serving: Serving, openings: Openings, faces: Sequence[str], known: Known, names: Names
) -> Tenants:
    """Everybody that this store is served to; only who sees everything looks after the runs gone quiet."""
    shelf_of = shelves(Trusted())

    def made(face: str, seen: Seen) -> Served:
        projects = NamedProjects(known.among(seen), shelf_of, known.folders)
        behind = fenced(serving, lambda: tuple(map(str, projects.roots)))
        mine = behind if seen is None else replace(behind, sweep=tuple)
        return served(mine, openings, projects, face, names)

    return Tenants(faces, made)


def _folders(store: Path) -> Mapping[str, str]:
    """The folders of a server besides its projects, and what a client reads in their place."""
    ours = Path(handrail.__file__).parent
    told = {
        store.parent: "the store's folder",
        store.parent.resolve(): "the store's folder",
        ours: "handrail",
        settings_folder(): "the server's settings",
        data_folder(): "the server's data",
        Path.home(): "~",
    }
    return {str(path): text for path, text in told.items() if path != Path("/")}
