"""Where the clients of others are, and the server they are given to start."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from program import PROGRAM

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".node"
NODE = FOLDER / "node"
PACKAGES = FOLDER / "node_modules" / "@modelcontextprotocol"

SECONDS = 120
"""How long a client may take before it counts as stuck."""


@dataclass(frozen=True)
class Server:
    """How a client starts the real server for a project.

    Clients of others pass on next to nothing of their environment, so what the server needs is named.
    """

    project: Path
    words: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The program and its words."""
        return (str(PROGRAM), "serve", "--project", str(self.project), *self.words)

    @property
    def env(self) -> dict[str, str]:
        """The home of the test, and the code it tests."""
        wanted = ("HOME", "PYTHONPATH", "XDG_")
        return {name: value for name, value in os.environ.items() if name.startswith(wanted)}


@dataclass(frozen=True)
class Remote:
    """A server for a project that listens already."""

    project: Path
    url: str


def node() -> str:
    """The Node that the clients run on."""
    if not NODE.exists():
        pytest.fail(f"{FOLDER.name} is missing: run tools/setup packages", pytrace=False)
    return str(NODE)
