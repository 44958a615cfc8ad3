"""A server process spoken to in lines, without a client library, which would be most of what is measured."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from bench_http import OUTPUT, RING, TOOL
from bench_start import BARE, HELLO

__all__ = ["Agent", "Line", "agent", "bare", "spoken_to"]


class Line:
    """A server that has shaken hands."""

    def __init__(self, process: int, given: IO[bytes], taken: IO[bytes]) -> None:
        self.process, self._given, self._taken, self._asked = process, given, taken, 0
        self.ask("initialize", HELLO[0]["params"])
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: object) -> dict[str, Any]:
        """The result of a request; what the server says of its own accord is passed over."""
        self._asked += 1
        self._send({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        while line := self._taken.readline():
            answer = json.loads(line)
            if answer.get("id") == self._asked:
                found: dict[str, Any] = answer["result"]
                return found
        raise SystemExit(f"the server ended instead of answering {method}")

    def call(self, tool: str, given: Mapping[str, object]) -> dict[str, Any]:
        """What a tool is answered with."""
        return self.ask("tools/call", {"name": tool, "arguments": given})

    def no_op(self) -> None:
        """Call the tool that does nothing."""
        self.call("nothing", {"text": "x"})

    def memory(self) -> int:
        """How many KiB of memory the process has, what it shares with others included."""
        status = Path(f"/proc/{self.process}/status").read_text("utf-8")
        (size,) = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(size)

    def _send(self, message: Mapping[str, object]) -> None:
        self._given.write(json.dumps(message).encode() + b"\n")
        self._given.flush()


class Agent:
    """Walks round and round in a run of its own."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self._token = str(self._asked({"template_name": "ring"})["new_step_token"])

    def read(self) -> None:
        """Ask how the run stands; nothing moves."""
        self._asked({"step_token": self._token, "action": "why"})

    def step(self) -> None:
        """Hand in a step."""
        given = {"step_token": self._token, "model_output_so_far": OUTPUT}
        self._token = str(self._asked(given)["new_step_token"])

    def _asked(self, given: Mapping[str, object]) -> Mapping[str, Any]:
        reply: Mapping[str, Any] = self.line.call(TOOL, given)["structuredContent"]
        if reply["status"] != "ok":
            raise SystemExit(f"{given} is answered with {reply}")
        return reply


@contextmanager
def spoken_to(words: Sequence[str], folder: Path) -> Iterator[Line]:
    """A server whose home is this folder, until the block ends."""
    places = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"), str(folder))
    env = {**os.environ, **places, "HANDRAIL_STORE": str(folder / "handrail.db")}
    with subprocess.Popen(  # noqa: S603 - our own program, and a script of ours
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=folder
    ) as server:
        if server.stdin is None or server.stdout is None:
            raise SystemExit("a server without pipes cannot be measured")
        yield Line(server.pid, server.stdin, server.stdout)
        server.stdin.close()


@contextmanager
def bare(folder: Path) -> Iterator[Line]:
    """A server of the SDK with a tool that does nothing."""
    with spoken_to((sys.executable, "-c", BARE), folder) as line:
        yield line


@contextmanager
def agent(folder: Path) -> Iterator[Agent]:
    """An agent at a server of ours."""
    project = folder / "project"
    shelf = project / ".handrail" / "workflows"
    shelf.mkdir(parents=True)
    (shelf / "ring.yaml").write_text(RING, "utf-8")
    with spoken_to((sys.executable, "-m", "handrail", "serve", "--project", str(project)), folder) as line:
        yield Agent(line)
