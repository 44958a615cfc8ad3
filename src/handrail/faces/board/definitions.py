"""Definitions as pages show them: whose they are, which hides which, and what a person has trusted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request

from handrail.engine.problems import Problem
from handrail.faces.board.boards import Viewer, viewer_of
from handrail.shell.catalog import Found, Kind, Lost
from handrail.shell.hiding import Untrusted
from handrail.shell.shelf import Hiding, Shelf
from handrail.workflows.load import Source

TRUSTED: Final = "trusted"
UNTRUSTED: Final = "untrusted"


@dataclass(frozen=True, slots=True)
class Shelved:
    """The definitions as one of these projects sees them; `sources` are its workflows in use, by name."""

    viewer: Viewer
    projects: tuple[str, ...]
    project: str
    shelf: Shelf
    hiding: Mapping[Path, Hiding]
    sources: Mapping[str, Source]
    used: frozenset[Path]

    def url(self, *parts: str, **more: str | Sequence[str]) -> str:
        """The page of these parts as this project sees it, and with this besides."""
        query = urlencode({**({"project": self.project} if self.project else {}), **more}, doseq=True)
        return f"/{'/'.join(quote(part, safe='') for part in parts)}" + (f"?{query}" if query else "")

    def standing(self, found: Found) -> "Standing":
        """How a definition stands among the others."""
        hiding = self.hiding.get(found.path)
        trust = (TRUSTED if hiding.trusted else UNTRUSTED) if hiding else ""
        hides = found.hides.origin if found.hides else ""
        path, used = self.path(found.path), found.path in self.used
        return Standing(found.name, found.origin, path, hides, trust, hidden=found.hidden, used=used)

    def lost(self, one: Lost) -> "Standing":
        """How one stands that is passed over."""
        return Standing(one.name, one.origin, self.path(one.path), lost=one.problems)

    def untrusted(self, found: Found) -> Untrusted | None:
        """What a person has to look at before this one is used."""
        hiding = self.hiding.get(found.path)
        return hiding.file if hiding and not hiding.trusted else None

    def path(self, path: Path) -> str:
        """A file as whoever looks may know it."""
        return self.viewer.board.naming.hide(str(path))

    def chosen(self, kind: Kind, name: str, origin: str) -> tuple[Found | None, tuple[Found | Lost, ...]]:
        """Of those of this name the one of this origin, or else the first; and all of them."""
        same = tuple(one for one in self.shelf.found(kind) if one.name == name)
        lost = tuple(one for one in self.shelf.lost(kind) if one.name == name)
        wanted = next((one for one in same if one.origin == origin), same[0] if same else None)
        return wanted, (*same, *lost)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a definition stands: whose it is, whose it hides, and whether that needs trust, and has it.

    One with `lost` problems is passed over. One that is `hidden` is `used` nevertheless if nobody has trusted
    the one that hides it, unless it is a workflow.
    """

    name: str
    origin: str
    path: str
    hides: str = ""
    trust: str = ""
    lost: tuple[Problem, ...] = ()
    hidden: bool = False
    used: bool = False


def shelved(request: Request) -> Shelved:
    """The definitions as the project sees them that is asked for, or the first one."""
    viewer = viewer_of(request)
    shelves = viewer.board.shelves()
    project = request.query_params.get("project", next(iter(shelves)))
    shelf = shelves.get(project)
    if shelf is None:
        raise HTTPException(404)
    hiding = {one.file.path: one for one in shelf.hiding()}
    sources = {one.name: one.source for one in shelf.workflows() if not one.hidden}
    in_use = *(one.path for one in shelf.personas()), *(one.path for one in shelf.guardrails())
    return Shelved(viewer, tuple(shelves), project, shelf, hiding, sources, frozenset(in_use))
