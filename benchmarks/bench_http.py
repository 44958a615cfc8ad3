"""Calls per second over HTTP with 32 clients: a read and a durable step, against a bare SDK server's no-op.

The servers run at the same time and are called in turn, a round each; the figure is the median of the rounds.
"""

import asyncio
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

from load import NEW, OLD, Client, Place, Taken, clients, driven
from rounds import report_least

CLIENTS: Final = 32
GOAL: Final = 0.45
TOOL: Final = "workflow_next_step"
BARE: Final = """
import sys
from mcp.server import MCPServer
server = MCPServer("bare", log_level="ERROR")
@server.tool()
def nothing(text: str) -> dict[str, str]:
    return {"text": text}
server.run("streamable-http", port=int(sys.argv[1]))
"""
RING: Final = """
workflow: ring
version: 1
authority: sql
about: There and back, for as long as somebody goes on
steps:
  - name: there
    agent: implementer
    task: Go there.
    contract: &answer {schema: {properties: {done: {type: boolean}}, required: [done]}}
  - name: back
    agent: implementer
    task: Come back.
    contract: *answer
    next:
      - {accept: ["!output.done"], to: there}
      - {accept: [output.done]}
"""
OUTPUT: Final = {
    "summary": "The step is done.",
    "artifacts": [{"type": "note", "title": "Notes", "content": "A line of the notes. " * 20}],
    "references": [],
    "confidence": 0.9,
    "done": False,
}
Calls = Sequence[Callable[[], Awaitable[object]]]


def no_op(client: Client) -> Callable[[], Awaitable[object]]:
    """Call the tool that does nothing."""
    return lambda: client.call("nothing", {"text": "x"})


class Agent:
    """Walks round and round in a run of its own."""

    def __init__(self, client: Client) -> None:
        self._client, self._token = client, ""

    async def start(self) -> None:
        """Begin the run."""
        self._token = (await self._asked({"template_name": "ring"}))["new_step_token"]

    async def read(self) -> None:
        """Ask how the run stands; nothing moves."""
        await self._asked({"step_token": self._token, "action": "why"})

    async def step(self) -> None:
        """Hand in a step."""
        given = {"step_token": self._token, "model_output_so_far": OUTPUT}
        self._token = (await self._asked(given))["new_step_token"]

    async def _asked(self, given: Mapping[str, object]) -> dict[str, Any]:
        reply = await self._client.call(TOOL, given)
        if reply["status"] != "ok":
            raise SystemExit(f"{given} is answered with {reply}")
        return reply


@contextmanager
def started(words: Sequence[str], env: dict[str, str], folder: str) -> Iterator["subprocess.Popen[str]"]:
    """A server, until the block ends."""
    with subprocess.Popen(words, env=env, cwd=folder, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603 - our own program, and a script in this file
        try:
            yield server
        finally:
            server.kill()


def listening(server: "subprocess.Popen[str]") -> Place:
    """Where our server says that it serves the face `steps`."""
    while server.stderr and (line := server.stderr.readline()):
        if found := re.fullmatch(r"handrail: steps at http://(\S+):(\d+)(\S+)\n", line):
            return Place(found[1], int(found[2]), found[3])
    raise SystemExit("our server does not listen")


def free() -> int:
    """A port that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def awaited(place: Place) -> None:
    """Wait until a server listens there."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as one:
            if one.connect_ex((place.host, place.port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("the bare server does not listen")


async def measured(era: str, bare: Place, ours: Place, rounds: int, seconds: float) -> list[list[Taken]]:
    """What the rounds of the no-op, the read and the step took, in this order."""
    theirs, mine = await clients(bare, era, CLIENTS), await clients(ours, era, CLIENTS)
    agents = [Agent(client) for client in mine]
    for agent in agents:
        await agent.start()
    sides: list[tuple[list[Client], Calls]] = [
        (theirs, [no_op(client) for client in theirs]),
        (mine, [agent.read for agent in agents]),
        (mine, [agent.step for agent in agents]),
    ]
    taken: list[list[Taken]] = [[] for _ in sides]
    for number in range(rounds + 1):
        for (all_of_them, calls), times in zip(sides, taken, strict=True):
            for client in all_of_them:
                await client.close()
                await client.connected()
            one = await driven(calls, seconds)
            times.extend([one] if number else [])
    for client in (*theirs, *mine):
        await client.close()
    return taken


def told(era: str, names: Sequence[str], taken: Sequence[Sequence[Taken]]) -> None:
    """Print the figures of an era; those that have no goal stand before the ones that have."""
    for name, rounds in zip(names, taken, strict=True):
        rate, half, most = (
            median(one.rate for one in rounds),
            median(one.at(50) for one in rounds),
            median(one.at(99) for one in rounds),
        )
        print(f"{era} {name}: {rate:.0f} calls/s, p50 {half:.1f} ms, p99 {most:.1f} ms")
    ratios = [step.rate / bare.rate for bare, step in zip(taken[0], taken[-1], strict=True)]
    report_least(f"http_step_{era[:4]}_x_bare", median(ratios), GOAL)


def main(rounds: int = 9, seconds: float = 1.0) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        shelf = Path(folder) / "project" / ".handrail" / "workflows"
        shelf.mkdir(parents=True)
        (shelf / "ring.yaml").write_text(RING, "utf-8")
        env = {**os.environ, "HOME": folder, "HANDRAIL_STORE": f"{folder}/handrail.db"}
        project, bare = str(Path(folder) / "project"), Place("127.0.0.1", free(), "/mcp")
        ours = (sys.executable, "-m", "handrail", "serve", "--project", project, "--http", "127.0.0.1:0")
        theirs = (sys.executable, "-c", BARE, str(bare.port))
        with started(ours, env, folder) as server, started(theirs, env, folder):
            place = listening(server)
            awaited(bare)
            for era in (NEW, OLD):
                taken = asyncio.run(measured(era, bare, place, rounds, seconds))
                told(era, ("noop", "read", "step"), taken)


if __name__ == "__main__":
    main()
