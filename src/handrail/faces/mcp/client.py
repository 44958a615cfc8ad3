"""A client of our own server, as a process that can be killed: it sees what an agent sees, no more."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

_STARTED: Final = (
    "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); "
    "os.execv(sys.executable, [sys.executable, '-m', 'handrail', *sys.argv[2:]])"
)
"""Says which process it is, and becomes the program."""


@dataclass(frozen=True, slots=True)
class Connected:
    """A client, and the number of the process it talks to."""

    client: Client
    pid: int

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a call is answered with, as data."""
        result = await self.client.call_tool(tool, dict(arguments))
        return result.structured_content or {}

    def kill(self) -> None:
        """End the server as a power cut would."""
        os.kill(self.pid, signal.SIGKILL)


@asynccontextmanager
async def connected(words: Sequence[str], folder: Path, env: Mapping[str, str]) -> AsyncIterator[Connected]:
    """A client of `handrail` started with these words; `folder` is where it may leave a note."""
    note = folder / "server.pid"
    server = StdioServerParameters(
        command=sys.executable, args=["-c", _STARTED, str(note), *words], env=dict(env)
    )
    async with Client(stdio_client(server), mode="auto") as client:
        yield Connected(client, int(note.read_text("ascii")))
