"""A client in bytes, of either protocol era: a thousand of them are one process, without the SDK."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from faces.mcp.desk import HELLO, META, Told, told
from faces.web.desk import Site

_SESSION: Final = "mcp-session-id"
_OLD: Final = {"mcp-protocol-version": "2025-11-25"}
_NEW: Final = {"mcp-protocol-version": "2026-07-28"}


@dataclass(slots=True)
class Wire:
    """A client of a face; each request has a connection of its own. `era` as for other clients."""

    served: Site
    face: str
    era: str
    session: dict[str, str] = field(default_factory=dict)

    async def greet(self) -> None:
        """Say hello, if the era has it."""
        if self.era == "legacy":
            await self.ask(1, "initialize", HELLO)
            await self._send("POST", _OLD, {"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, number: int, tool: str, arguments: Mapping[str, Any]) -> Told:
        """Call a tool in a request of this id."""
        return told(await self.ask(number, "tools/call", {"name": tool, "arguments": dict(arguments)}))

    async def ask(self, number: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """What a request of this id is answered with."""
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)}
        headers = _OLD
        if self.era == "auto":
            message["params"] = {**params, "_meta": META}
            headers = {**_NEW, "mcp-method": method, "mcp-name": str(params.get("name", ""))}
        body = (await self._send("POST", headers, message)).decode()
        events = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
        found: list[dict[str, Any]] = [json.loads(one) for one in events or [body]]
        (answer,) = (one for one in found if "id" in one)
        assert answer["id"] == number
        return answer

    async def listen(self, begun: asyncio.Event) -> bytes:
        """All that a client of 2025 is told on the stream of its session, from its beginning to its end."""
        return await self._send("GET", _OLD, begun=begun)

    async def leave(self) -> None:
        """End the session, if there is one."""
        if self.session:
            await self._send("DELETE", _OLD)

    async def _send(
        self,
        method: str,
        more: Mapping[str, str],
        message: Mapping[str, Any] | None = None,
        begun: asyncio.Event | None = None,
    ) -> bytes:
        body = json.dumps(message).encode() if message else b""
        headers = {
            "host": f"{self.served.host}:{self.served.port}",
            "connection": "close",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "content-length": str(len(body)),
            **self.session,
            **more,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        request = f"{method} {self.served.paths[self.face]} HTTP/1.1\r\n{head}\r\n".encode() + body
        reader, writer = await asyncio.open_connection(self.served.host, self.served.port)
        try:
            writer.write(request)
            first = await reader.readuntil(b"\r\n\r\n") if begun else b""
            if begun:
                begun.set()
            return self._answer(first + await reader.read())
        finally:
            writer.close()
            await writer.wait_closed()

    def _answer(self, found: bytes) -> bytes:
        """The body of an answer that was well; the session it names is kept."""
        head, _, body = found.partition(b"\r\n\r\n")
        status, *rest = head.decode().split("\r\n")
        assert status.split()[1:2] in (["200"], ["202"]), found
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
        if _SESSION in headers:
            self.session = {_SESSION: headers[_SESSION]}
        return _joined(body) if headers.get("transfer-encoding") == "chunked" else body


def _joined(chunks: bytes) -> bytes:
    """The chunks of a body as one; they must have an end."""
    body = b""
    while True:
        size, _, chunks = chunks.partition(b"\r\n")
        if not int(size, 16):
            return body
        body, chunks = body + chunks[: int(size, 16)], chunks[int(size, 16) + 2 :]
