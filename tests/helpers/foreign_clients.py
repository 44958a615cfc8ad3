"""Where the clients of others are, the server they are given to start, and the MCP Inspector."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helpers.program import PROGRAM

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = (ROOT / ".node").resolve()  # through a link, the Inspector would not see that it is the program
NODE = FOLDER / "node"
PACKAGES = FOLDER / "node_modules" / "@modelcontextprotocol"

SECONDS = 120
"""How long a client may take before it counts as stuck."""

COMPILED = {"NODE_COMPILE_CACHE": str(ROOT / ".pytest_cache" / "node")}
"""Where Node keeps what it has compiled: a fifth of the time that these clients take to start."""


@dataclass(frozen=True)
class ServerCommand:
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
class RemoteServer:
    """A server for a project that listens already."""

    project: Path
    url: str


def find_node() -> str:
    """The Node that the clients run on."""
    if not NODE.exists():
        pytest.fail(".node is missing: run tools/setup packages", pytrace=False)
    return str(NODE)


def run_script(script: Path, job: Mapping[str, Any], folder: Path | None = None) -> dict[str, Any]:
    """What a script for Node says of a job, which it must do."""
    done = subprocess.run(
        (find_node(), script, FOLDER / "package.json"),
        input=json.dumps(job),
        cwd=folder,
        env={**os.environ, **COMPILED},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# --- the MCP Inspector --------------------------------------------------------------------------------------


CLI = PACKAGES / "inspector" / "clients" / "cli" / "build" / "index.js"


@dataclass(frozen=True)
class Inspector:
    """The Inspector for one server; `era` is the protocol it is told to speak.

    Every method is a process of its own, with a server of its own unless one listens already.
    """

    server: ServerCommand | RemoteServer
    era: str

    def run(self, method: str, *words: str) -> subprocess.CompletedProcess[str]:
        """What it did and said when asked for a method."""
        answer = ("--format", "json", "--protocol-era", self.era, "--method", method)
        return subprocess.run(
            (find_node(), CLI, *_target(self.server), *answer, *words),
            cwd=self.server.project,
            env={**os.environ, **COMPILED},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def result(self, method: str, *words: str) -> dict[str, Any]:
        """What the server answered to a method."""
        done = self.run(method, *words)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)["result"]
        assert isinstance(result, dict)
        return result

    def call(self, **arguments: object) -> dict[str, Any]:
        """What the only tool answered to a call."""
        return self.result(
            "tools/call", "--tool-name", "workflow_next_step", "--tool-args-json", json.dumps(arguments)
        )


def _target(server: ServerCommand | RemoteServer) -> tuple[str, ...]:
    """How the server is named to it."""
    if isinstance(server, RemoteServer):
        return (server.url, "--transport", "http")
    env = [word for name, value in server.env.items() for word in ("-e", f"{name}={value}")]
    return (*server.command, *env)
