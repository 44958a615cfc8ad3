"""Everything a served face is made of, put together; and run until its client is gone."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio

from handrail.faces.mcp.commits import FACE as COMMITS
from handrail.faces.mcp.commits import Commits
from handrail.faces.mcp.face import Face
from handrail.faces.mcp.names import Names
from handrail.faces.mcp.planner import FACE as PLANNER
from handrail.faces.mcp.planner import Planner
from handrail.faces.mcp.projects import Projects
from handrail.faces.mcp.resources import Resources
from handrail.faces.mcp.server import Served
from handrail.faces.mcp.skills import FACE as SKILLS
from handrail.faces.mcp.skills import Skills
from handrail.faces.mcp.spells import Spells
from handrail.faces.mcp.stdio import serve
from handrail.faces.mcp.steps import FACE as STEPS
from handrail.faces.mcp.steps import Steps
from handrail.shell.definitions import Pinned
from handrail.shell.faults import Unreadable
from handrail.shell.opening import Openings, Serving, limits
from handrail.shell.runner import Programs
from handrail.shell.trust import Trusted
from handrail.shell.vcs import MOST, look, scrubbed

_ASIDE: Final = frozenset({COMMITS, PLANNER})
"""The faces whose calls wait for another program."""


def run(server: Served) -> bool:
    """Serve one client over stdin and stdout; False if the disk has not confirmed a write."""
    anyio.run(serve, server)
    return not server.halted.is_set()


def made(serving: Serving, openings: Openings, roots: Sequence[Path], face: str, names: Names) -> Served:
    """The server of a face for whoever started it, over the projects in these folders."""
    return served(serving, openings, Projects(roots, Trusted()), face, names)


def served(serving: Serving, openings: Openings, projects: Projects, face: str, names: Names) -> Served:
    """The server of a face over these projects; `openings` open the runs that live in them."""
    programs = Programs(scrubbed(os.environ), MOST)
    world = serving.world

    def touch(run: str) -> None:
        serving.writer.submit(lambda: world.runs.touch(run, world.clock.now())).result()

    resources = Resources(
        serving.records,
        touch,
        projects,
        limits(),
        world.clock,
        lambda root: look(programs, root),
    )
    way_in = Steps(serving, projects, names) if face == STEPS else _kept(face, serving, openings, projects)
    turns = replace(serving, writer=serving.aside) if face in _ASIDE else serving
    return Served(way_in, resources, turns, names, projects)


def _kept(face: str, serving: Serving, openings: Openings, projects: Projects) -> Face:
    """The face over what a project keeps, by the workflow that is installed: it cannot put another there."""
    pinned = projects.shelf("").pinned(face)
    if not isinstance(pinned, Pinned) or pinned.workflow is None:
        raise Unreadable(f"the workflow `{face}` cannot be read", f"handrail workflows check {face}")
    if face in {COMMITS, PLANNER}:
        described = Commits if face == COMMITS else Planner
        return described(serving, projects, pinned.workflow, openings.described)
    made = Skills if face == SKILLS else Spells
    return made(serving, projects, pinned.workflow, openings.folder)
