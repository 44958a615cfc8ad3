"""Everything a served face is made of, put together; and run until its client is gone."""

import os
from collections.abc import Sequence
from pathlib import Path

import anyio

from handrail.faces.mcp.names import Names
from handrail.faces.mcp.projects import Projects
from handrail.faces.mcp.resources import Resources
from handrail.faces.mcp.server import Served
from handrail.faces.mcp.stdio import serve
from handrail.faces.mcp.steps import Steps
from handrail.shell.opening import Serving, limits
from handrail.shell.runner import Programs
from handrail.shell.trust import Trusted
from handrail.shell.vcs import MOST, look, scrubbed


def run(serving: Serving, roots: Sequence[Path], names: Names) -> bool:
    """Serve one client over stdin and stdout; False if the disk has not confirmed a write."""
    server = made(serving, roots, names)
    anyio.run(serve, server)
    return not server.halted.is_set()


def made(serving: Serving, roots: Sequence[Path], names: Names) -> Served:
    """The server of the face `steps` over these projects."""
    projects = Projects(roots, Trusted())
    programs = Programs(scrubbed(os.environ), MOST)
    world = serving.world

    def touch(run: str) -> None:
        serving.writer.submit(lambda: world.runs.touch(run, world.clock.now())).result()

    resources = Resources(
        serving.records,
        touch,
        projects.shelf,
        tuple(map(str, roots)),
        limits(),
        world.clock,
        lambda root: look(programs, root),
    )
    return Served(Steps(serving, projects, names), resources, serving, names, projects.signature)
