"""Shaking hands with a server as a client does: it is started, greeted, asked for its tools, and let go."""

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
from handrail.shell.faults import Unreadable

SECONDS: Final = 20.0
"""How long a server has for both answers."""

_GRACE: Final = 5.0
_MOST: Final = 1024 * 1024
_HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "handrail doctor", "version": handrail.__version__},
}


@dataclass(frozen=True, slots=True)
class Met:
    """Who answered, with how many tools, and after how many seconds."""

    name: str
    version: str
    tools: tuple[str, ...]
    seconds: float


def shake(words: Sequence[str], folder: Path, env: Mapping[str, str], seconds: float = SECONDS) -> Met:
    """Start a server with these words in this folder, and see whether it answers.

    Raises `Unreadable` if it cannot be started, ends, says what is no answer, or nothing in time.
    """
    began = time.monotonic()
    try:
        server = subprocess.Popen(  # noqa: S603 - whoever calls has looked at the words
            list(words),
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
    except OSError as error:
        raise _failed(words, f"it cannot be started: {error.strerror}") from error
    with server:
        try:
            talk = _Talk(server, words, began + seconds)
            about = talk.asked(1, "initialize", _HELLO).get("serverInfo", {})
            talk.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            tools = talk.asked(2, "tools/list", {}).get("tools", [])
        finally:
            _ended(server)
    names = tuple(str(tool.get("name", "")) for tool in tools)
    took = time.monotonic() - began
    return Met(str(about.get("name", "")), str(about.get("version", "")), names, took)


def _ended(server: "subprocess.Popen[bytes]") -> None:
    """Let a server go as a client does that has no more to ask; one that stays is made to end."""
    if server.stdin:
        server.stdin.close()
    try:
        server.wait(_GRACE)
    except subprocess.TimeoutExpired:
        server.kill()


class _Talk:
    """A talk with a server, a line at a time, until the time is up."""

    def __init__(self, server: "subprocess.Popen[bytes]", words: Sequence[str], until: float) -> None:
        self._server, self._words, self._until, self._rest = server, words, until, b""

    def asked(self, number: int, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a question."""
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            try:
                said = json.loads(self._line())
            except ValueError as error:
                raise _failed(self._words, "it wrote to stdout what is no message") from error
            if isinstance(said, dict) and said.get("id") == number:
                if isinstance(result := said.get("result"), dict):
                    return result
                raise _failed(self._words, f"it refused `{method}`")

    def send(self, message: Mapping[str, Any]) -> None:
        """Write a message."""
        if self._server.stdin is None:
            raise _failed(self._words, "it has no stdin")
        try:
            self._server.stdin.write(json.dumps(message).encode() + b"\n")
        except BrokenPipeError as error:
            raise self._ended() from error

    def _line(self) -> bytes:
        """The next line that it says."""
        while b"\n" not in self._rest:
            chunk = self._chunk()
            if not chunk:
                raise self._ended()
            self._rest += chunk
            if len(self._rest) > _MOST:
                raise _failed(self._words, "it says too much")
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _chunk(self) -> bytes:
        stdout = self._server.stdout
        with selectors.DefaultSelector() as waiting:
            if stdout is None or not waiting.register(stdout, selectors.EVENT_READ):
                return b""
            if not waiting.select(max(0.0, self._until - time.monotonic())):
                raise _failed(self._words, "it does not answer in time")
            return os.read(stdout.fileno(), 65536)

    def _ended(self) -> Unreadable:
        """That it has ended, with the last line of what it complained of."""
        self._server.kill()
        said = self._server.stderr.read(_MOST).decode("utf-8", "replace") if self._server.stderr else ""
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        return _failed(self._words, f"it ended{f': {lines[0]}' if lines else ''}")


def _failed(words: Sequence[str], why: str) -> Unreadable:
    return Unreadable(
        f"`{' '.join(words)}` does not serve: {why}", "start it in a terminal, and read what it says"
    )
