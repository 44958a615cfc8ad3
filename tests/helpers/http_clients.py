"""Clients over HTTP: in bytes, of which a thousand are one process, and the SDK's own."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from helpers.http_servers import HttpServer
from helpers.servers import HELLO, META, TOOL, ToolAnswer, build_note_output, read_tool_answer

_SESSION: Final = "mcp-session-id"
_AT_ONCE: Final = 20
_OLD: Final = {"mcp-protocol-version": "2025-11-25"}
_NEW: Final = {"mcp-protocol-version": "2026-07-28"}


@dataclass(slots=True)
class WireClient:
    """A client of a face; each request has a connection of its own. `era` as for other clients."""

    served: HttpServer
    face: str
    era: str
    session: dict[str, str] = field(default_factory=dict)

    async def greet(self) -> None:
        """Say hello, if the era has it."""
        if self.era == "legacy":
            await self.ask(1, "initialize", HELLO)
            await self._send("POST", _OLD, {"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, number: int, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        return read_tool_answer(
            await self.ask(number, "tools/call", {"name": tool, "arguments": dict(arguments)})
        )

    async def ask(self, number: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return find_answer(number, await self._send("POST", *self._asked(number, method, params)))

    def request(self, number: int, method: str, params: Mapping[str, Any]) -> bytes:
        """A request of this id in bytes, for a connection that is kept."""
        headers, message = self._asked(number, method, params)
        body = json.dumps(message).encode()
        return self.head("POST", len(body), headers) + body

    def _asked(
        self, number: int, method: str, params: Mapping[str, Any]
    ) -> tuple[dict[str, str], dict[str, Any]]:
        """The headers of a request that are its own, and its message."""
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)}
        if self.era == "legacy":
            return _OLD, message
        message["params"] = {**params, "_meta": META}
        return {**_NEW, "mcp-method": method, "mcp-name": str(params.get("name", ""))}, message

    async def listen(self, begun: asyncio.Event) -> bytes:
        """All that a client of 2025 is told on the stream of its session, from its beginning to its end."""
        return await self._send("GET", _OLD, begun=begun)

    async def leave(self) -> None:
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
        head = self.head(method, len(body), {"connection": "close", **more})
        return self._answer(await self.thrown(head + body, begun=begun))

    def head(self, method: str, size: int, more: Mapping[str, str]) -> bytes:
        """How a request begins whose body has so many bytes."""
        headers = {
            "host": f"{self.served.host}:{self.served.port}",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "content-length": str(size),
            **self.session,
            **more,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{method} {self.served.paths[self.face]} HTTP/1.1\r\n{lines}\r\n".encode()

    async def thrown(self, data: bytes, *, ends: bool = False, begun: asyncio.Event | None = None) -> bytes:
        """All that is answered to these bytes over a connection of their own, until the server closes it.

        It is told that they are all if `ends`; `begun` is set once the answer has begun.
        """
        reader, writer = await asyncio.open_connection(self.served.host, self.served.port)
        try:
            writer.write(data)
            if ends:
                writer.write_eof()
            first = await reader.readuntil(b"\r\n\r\n") if begun else b""
            if begun:
                begun.set()
            return first + await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()

    async def statuses(self, bodies: Iterable[bytes]) -> AsyncIterator[tuple[int, bytes]]:
        """What each of these bodies is answered with, over one connection; some are sent at once."""
        more = _OLD if self.era == "legacy" else {**_NEW, "mcp-method": "tools/call", "mcp-name": TOOL}
        reader, writer = await asyncio.open_connection(self.served.host, self.served.port)
        try:
            left = iter(bodies)
            while some := tuple(islice(left, _AT_ONCE)):
                writer.write(b"".join(self.head("POST", len(body), more) + body for body in some))
                for _ in some:
                    yield await read_next_answer(reader)
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


def find_answer(number: int, body: bytes) -> dict[str, Any]:
    """The answer to the request of this id in a body, which may be a stream of events."""
    text = body.decode()
    events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    found: list[dict[str, Any]] = [json.loads(one) for one in events or [text]]
    (answer,) = (one for one in found if "id" in one)
    assert answer["id"] == number
    return answer


async def read_next_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The status and the body of the next answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    body, size = b"", -1
    if b"transfer-encoding: chunked" in head:
        while size:
            size = int(await reader.readuntil(b"\r\n"), 16)
            body += (await reader.readexactly(size + 2))[:size]
    elif b"content-length: " in head:
        body = await reader.readexactly(int(head.partition(b"content-length: ")[2].split(b"\r")[0]))
    return int(head.split(b" ", 2)[1]), body


@asynccontextmanager
async def open_sdk_client(url: str, era: str, **http: Any) -> AsyncIterator[Client]:  # noqa: ANN401 - any option of httpx
    """A client of the SDK that sends its requests with these options."""
    async with (
        httpx2.AsyncClient(**http) as sender,
        Client(streamable_http_client(url, http_client=sender), mode=era) as client,
    ):
        yield client


def build_bearer_header(token: str) -> dict[str, str]:
    """The header that shows a token."""
    return {"Authorization": f"Bearer {token}"}


async def walk_run(client: Client, template: str = "walk") -> list[dict[str, Any]]:
    """What a run is answered with, from its start to its end."""
    given: dict[str, Any] = {"template_name": template}
    said: list[dict[str, Any]] = []
    while not said or said[-1]["status"] == "ok":
        answered = await client.call_tool(TOOL, given)
        said.append(dict(answered.structured_content or {}))
        given = {"step_token": said[-1].get("new_step_token"), "model_output_so_far": build_note_output()}
    return said
