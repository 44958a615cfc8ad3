"""Probe an MCP server as a client would: start it, initialize, list its tools, stop it.

`handrail doctor` uses this to check that a configured server works.
"""

import json
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import handrail
from handrail.runtime.errors import Unreadable

# The time limit for both answers together.
TIMEOUT_SECONDS: Final = 20.0
_GRACE_SECONDS: Final = 5.0
_MAX_OUTPUT_BYTES: Final = 1024 * 1024

_INITIALIZE_PARAMS: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "handrail doctor", "version": handrail.__version__},
}


@dataclass(frozen=True, slots=True)
class ProbedServer:
    """The server that answered, its tools, and how many seconds it took."""

    name: str
    version: str
    tools: tuple[str, ...]
    seconds: float


def probe_stdio_server(
    words: Sequence[str], folder: Path, env: Mapping[str, str], seconds: float = TIMEOUT_SECONDS
) -> ProbedServer:
    """Start a server with this command in this folder, and ask it for its tools.

    Raises `Unreadable` if it cannot be started, exits, sends an invalid answer, or does not answer in time.
    """
    began = time.monotonic()
    try:
        server = subprocess.Popen(  # noqa: S603 - the caller checks the command
            list(words),
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
    except OSError as error:
        raise _probe_fault(words, f"it cannot be started: {error.strerror}") from error
    with server:
        try:
            talk = _Conversation(server, words, began + seconds)
            about = talk.request(1, "initialize", _INITIALIZE_PARAMS).get("serverInfo", {})
            talk.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            tools = talk.request(2, "tools/list", {}).get("tools", [])
        finally:
            if server.stdin:
                server.stdin.close()
            try:
                server.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
    names = tuple(str(tool.get("name", "")) for tool in tools)
    took = time.monotonic() - began
    return ProbedServer(str(about.get("name", "")), str(about.get("version", "")), names, took)


class _Conversation:
    """A line-based JSON-RPC exchange with a server, with a deadline."""

    def __init__(self, server: "subprocess.Popen[bytes]", words: Sequence[str], until: float) -> None:
        self._server, self._words, self._until, self._rest = server, words, until, b""

    def request(self, number: int, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a request and return its result."""
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            try:
                message = json.loads(self._read_line())
            except ValueError as error:
                raise _probe_fault(self._words, "it wrote to stdout what is no message") from error
            if isinstance(message, dict) and message.get("id") == number:
                if isinstance(result := message.get("result"), dict):
                    return result
                raise _probe_fault(self._words, f"it refused `{method}`")

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message."""
        if self._server.stdin is None:
            raise _probe_fault(self._words, "it has no stdin")
        try:
            self._server.stdin.write(json.dumps(message).encode() + b"\n")
        except BrokenPipeError as error:
            raise self._exit_fault() from error

    def _read_line(self) -> bytes:
        """Read the next line of stdout."""
        while b"\n" not in self._rest:
            if not (chunk := self._read_chunk()):
                raise self._exit_fault()
            self._rest += chunk
            if len(self._rest) > _MAX_OUTPUT_BYTES:
                raise _probe_fault(self._words, "it says too much")
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _read_chunk(self) -> bytes:
        stdout = self._server.stdout
        with selectors.DefaultSelector() as waiting:
            if stdout is None or not waiting.register(stdout, selectors.EVENT_READ):
                return b""
            if not waiting.select(max(0.0, self._until - time.monotonic())):
                raise _probe_fault(self._words, "it does not answer in time")
            return os.read(stdout.fileno(), 65536)

    def _exit_fault(self) -> Unreadable:
        """Build the fault of a server that has exited, with the first line of its stderr."""
        self._server.kill()
        errors = self._server.stderr.read(_MAX_OUTPUT_BYTES) if self._server.stderr else b""
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        return _probe_fault(self._words, f"it ended{f': {lines[0]}' if lines else ''}")


def _probe_fault(words: Sequence[str], why: str) -> Unreadable:
    return Unreadable(
        f"`{' '.join(words)}` does not serve: {why}", "start it in a terminal, and read what it says"
    )
