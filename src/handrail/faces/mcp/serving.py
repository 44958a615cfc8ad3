"""Everything a served face is made of, put together; and run until its client is gone."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from msgspec.structs import replace

from handrail.engine.model import Workflow
from handrail.faces.mcp.face import Face
from handrail.faces.mcp.names import Names
from handrail.faces.mcp.projects import Projects
from handrail.faces.mcp.resources import Resources
from handrail.faces.mcp.server import Served
from handrail.faces.mcp.stdio import serve
from handrail.shell.definitions import Pinned
from handrail.shell.faults import Unreadable
from handrail.shell.opening import Openings, Serving, limits
from handrail.shell.runner import Programs
from handrail.shell.settings import Need, settings
from handrail.shell.trust import Trusted
from handrail.shell.vcs import MOST, look, scrubbed

if TYPE_CHECKING:
    from handrail.shell.permits import Permits

_ASIDE: Final = frozenset({"commits", "planner"})
"""The faces whose calls wait for another program."""


def run(server: Served) -> bool:
    """Serve one client over stdin and stdout; False if the disk has not confirmed a write."""
    anyio.run(serve, server)
    return not server.halted.is_set()


def made(serving: Serving, openings: Openings, roots: Sequence[Path], face: str, names: Names) -> Served:
    """The server of a face for whoever started it, over the projects in these folders."""
    return served(serving, openings, Projects(roots, Trusted()), face, names)


def served(  # noqa: PLR0913 - what a server is made of
    serving: Serving,
    openings: Openings,
    projects: Projects,
    face: str,
    names: Names,
    *,
    replicas: bool = False,
) -> Served:
    """The server of a face over these projects; `openings` open the runs that live in them.

    With `replicas` it is one of several, and any of them may answer.
    """
    programs = Programs(scrubbed(os.environ), MOST)
    world = serving.world

    def touch(run: str) -> None:
        serving.writer.call(lambda: world.runs.touch(run, world.clock.now()))

    resources = Resources(
        serving.records,
        touch,
        projects,
        limits(),
        world.clock,
        lambda root: look(programs, root),
    )
    way_in = _FACES[face](serving, openings, projects, names)
    turns = replace(serving, writer=serving.aside) if face in _ASIDE else serving
    return Served(way_in, resources, turns, names, projects, replicas=replicas)


def _steps(serving: Serving, _: Openings, projects: Projects, names: Names) -> Face:
    from handrail.faces.mcp.steps import Steps

    return Steps(serving, projects, names)


def _commits(serving: Serving, openings: Openings, projects: Projects, _: Names) -> Face:
    from handrail.faces.mcp.commits import FACE, Commits

    return Commits(serving, projects, _installed(projects, FACE), openings.described)


def _planner(serving: Serving, openings: Openings, projects: Projects, _: Names) -> Face:
    from handrail.faces.mcp.planner import FACE, Planner

    return Planner(serving, projects, _installed(projects, FACE), openings.described)


def _skills(serving: Serving, openings: Openings, projects: Projects, _: Names) -> Face:
    from handrail.faces.mcp.skills import FACE, Skills

    return Skills(serving, projects, _installed(projects, FACE), openings.folder)


def _spells(serving: Serving, openings: Openings, projects: Projects, _: Names) -> Face:
    from handrail.faces.mcp.spells import FACE, Spells

    key = serving.world.key
    return Spells(serving, projects, _installed(projects, FACE), openings.folder, lambda: _permits(key))


def _permits(key: bytes) -> "Permits | None":
    """Those that words need, if the user wants that; asked at every word, since it may change."""
    from handrail.shell.permits import Permits

    return Permits(key) if settings().spells.permit is Need.REQUIRED else None


_FACES: Final[Mapping[str, Callable[[Serving, Openings, Projects, Names], Face]]] = {
    "commits": _commits,
    "planner": _planner,
    "skills": _skills,
    "spells": _spells,
    "steps": _steps,
}
"""How each face is made; a server imports those that it serves, and no other."""


def _installed(projects: Projects, face: str) -> Workflow:
    """The workflow that is installed for a face over what a project keeps: it cannot put another there."""
    pinned = projects.shelf("").pinned(face)
    if not isinstance(pinned, Pinned) or pinned.workflow is None:
        raise Unreadable(f"the workflow `{face}` cannot be read", f"handrail workflows check {face}")
    return pinned.workflow
