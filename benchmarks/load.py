"""A load generator in plain asyncio streams: as many clients as wanted, each with a connection that it keeps.

A client library would be most of what is measured. Run as a program it drives one tool of a server:
`python benchmarks/load.py http://127.0.0.1:8765/mcp/steps TOOL '{"json": "arguments"}' [clients] [seconds]`.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any, Final, Self

import msgspec

OLD: Final = "2025-11-25"
NEW: Final = "2026-07-28"
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
}
_HELLO: Final = {
    "protocolVersion": OLD,
    "capabilities": {},
    "clientInfo": {"name": "load", "version": "1"},
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a face or a bare server listens."""

    host: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What a round took: how long each call, and all of it."""

    times: Sequence[float]
    seconds: float

    @property
    def rate(self) -> float:
        """Calls per second."""
        return len(self.times) / self.seconds

    def at(self, percent: int) -> float:
        """How many milliseconds the call took that so many of a hundred were faster than."""
        return quantiles(self.times, n=100)[percent - 1] * 1000


class Client:
    """A client of one era with a connection of its own. What is not well ends the benchmark."""

    def __init__(self, place: Place, era: str) -> None:
        self._place, self._era = place, era
        self._session = ""

    async def connected(self) -> Self:
        """Itself, connected anew, and with a session where the era has them."""
        self._reader, self._writer = await asyncio.open_connection(self._place.host, self._place.port)
        if self._era == OLD and not self._session:
            await self.ask("initialize", _HELLO)
            await self._send("", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        await self._writer.wait_closed()

    async def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """What a tool answers."""
        answer = await self.ask("tools/call", {"name": tool, "arguments": arguments})
        found: dict[str, Any] = answer["structuredContent"]
        return found

    async def ask(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        """The result of a request."""
        given = params if self._era == OLD else {**params, "_meta": _META}
        named = f"mcp-method: {method}\r\nmcp-name: {params.get('name', '')}\r\n" if self._era == NEW else ""
        body = await self._send(named, {"jsonrpc": "2.0", "id": 1, "method": method, "params": given})
        at = body.find(b"data: {")
        answer = msgspec.json.decode(body[at + 6 :].split(b"\r\n", 1)[0] if at >= 0 else body)
        if "result" not in answer:
            raise SystemExit(f"{method} is answered with {answer}")
        found: dict[str, Any] = answer["result"]
        return found

    async def _send(self, named: str, message: Mapping[str, object]) -> bytes:
        body = msgspec.json.encode(message)
        head = (
            f"POST {self._place.path} HTTP/1.1\r\nhost: {self._place.host}:{self._place.port}\r\n"
            "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
            f"mcp-protocol-version: {self._era}\r\n{named}{self._session}content-length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        return await self._answer()

    async def _answer(self) -> bytes:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        status, *lines = head.split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines if line)
        if status.split()[1] not in {"200", "202"}:
            raise SystemExit(f"the server says {status}")
        if "mcp-session-id" in headers:
            self._session = f"mcp-session-id: {headers['mcp-session-id']}\r\n"
        if headers.get("transfer-encoding") != "chunked":
            return await self._reader.readexactly(int(headers.get("content-length", "0")))
        body = b""
        while size := int(await self._reader.readline(), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)
        return body


async def clients(place: Place, era: str, count: int) -> list[Client]:
    """So many clients, connected."""
    return [await Client(place, era).connected() for _ in range(count)]


async def driven(calls: Sequence[Callable[[], Awaitable[object]]], seconds: float) -> Taken:
    """Each of these is called again and again, all at once, for so long; a call that is begun is finished."""
    began, times = time.perf_counter(), list[float]()

    async def again(call: Callable[[], Awaitable[object]]) -> None:
        while (before := time.perf_counter()) - began < seconds:
            await call()
            times.append(time.perf_counter() - before)

    await asyncio.gather(*map(again, calls))
    return Taken(times, time.perf_counter() - began)


async def main(url: str, tool: str, given: str = "{}", count: str = "32", seconds: str = "5") -> None:
    """Print how many calls a second a tool answers, and how long they take."""
    address, _, path = url.removeprefix("http://").partition("/")
    host, _, port = address.rpartition(":")
    arguments = msgspec.json.decode(given, type=dict[str, Any])
    for era in (OLD, NEW):
        all_of_them = await clients(Place(host, int(port), f"/{path}"), era, int(count))
        calls = [lambda one=one: one.call(tool, arguments) for one in all_of_them]
        taken = await driven(calls, float(seconds))
        print(f"{era}: {taken.rate:.0f} calls/s, p50 {taken.at(50):.2f} ms, p99 {taken.at(99):.2f} ms")
        for one in all_of_them:
            await one.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
