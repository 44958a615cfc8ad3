"""The CLI of the MCP Inspector, started as a person would start it."""

import json
import subprocess
from dataclasses import dataclass
from typing import Any

from clients.foreign import PACKAGES, SECONDS, Remote, Server, node

CLI = PACKAGES / "inspector" / "clients" / "cli" / "build" / "index.js"


@dataclass(frozen=True)
class Inspector:
    """The Inspector for one server; `era` is the protocol it is told to speak.

    Every method is a process of its own, with a server of its own unless one listens already.
    """

    server: Server | Remote
    era: str

    def run(self, method: str, *words: str) -> subprocess.CompletedProcess[str]:
        """What it did and said when asked for a method."""
        told = ("--format", "json", "--protocol-era", self.era, "--method", method)
        return subprocess.run(
            (node(), CLI, *_target(self.server), *told, *words),
            cwd=self.server.project,
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


def _target(server: Server | Remote) -> tuple[str, ...]:
    """How the server is named to it."""
    if isinstance(server, Remote):
        return (server.url, "--transport", "http")
    env = [word for name, value in server.env.items() for word in ("-e", f"{name}={value}")]
    return (*server.command, *env)
