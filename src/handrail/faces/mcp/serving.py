"""Everything a served face is made of, put together; and run until its client is gone."""

from collections.abc import Sequence
from pathlib import Path

import anyio

from handrail.faces.mcp.names import Names
from handrail.faces.mcp.projects import Projects
from handrail.faces.mcp.resources import Resources
from handrail.faces.mcp.server import Served
from handrail.faces.mcp.stdio import serve
from handrail.faces.mcp.steps import Steps
from handrail.shell.opening import Serving
from handrail.shell.trust import Trusted


def run(serving: Serving, roots: Sequence[Path], face: str, names: str) -> bool:
    """Serve one client over stdin and stdout; False if the disk has not confirmed a write."""
    server = made(serving, roots, face, names)
    anyio.run(serve, server)
    return not server.halted.is_set()


def made(serving: Serving, roots: Sequence[Path], face: str, names: str) -> Served:
    """The server of a face over these projects."""
    del face
    projects = Projects(roots, Trusted())
    steps = Steps(serving, projects, Names(names))
    return Served(steps, Resources(), serving, projects.signature)
