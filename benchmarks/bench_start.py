"""From the start of a process to the list of its tools: `handrail serve`, against a bare MCPServer."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rounds import ratio, report

BARE: Final = """
from mcp.server import MCPServer
server = MCPServer("bare", log_level="ERROR")
@server.tool()
def nothing(text: str) -> str:
    return text
server.run("stdio")
"""
HELLO: Final = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


def listed(words: Sequence[str], env: dict[str, str], folder: str) -> None:
    """Start a server, shake hands, ask for its tools, and end it by closing its input."""
    sent = "".join(json.dumps(message) + "\n" for message in HELLO)
    with subprocess.Popen(  # noqa: S603 - our own program, and a script in this file
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, cwd=folder
    ) as server:
        if server.stdin is None or server.stdout is None:
            raise SystemExit("a server without pipes cannot be measured")
        server.stdin.write(sent.encode())
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.kill()
    if "tools" not in answers[1]["result"]:
        raise SystemExit(f"{words} lists no tools")


def main(rounds: int = 9) -> None:
    """Print the figure: the store is there already, as it is from the second start on."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        env = {**os.environ, "HOME": folder, "HANDRAIL_STORE": f"{folder}/handrail.db"}
        ours = (sys.executable, "-m", "handrail", "serve", "--project", str(project))
        bare = (sys.executable, "-c", BARE)
        figure = ratio(lambda: listed(ours, env, folder), lambda: listed(bare, env, folder), rounds)
    report("start_x_bare_mcpserver", figure, 1.15)


if __name__ == "__main__":
    main()
