"""Messages over stdin and stdout: one a line, none longer than the limit, and an answer to each with an id.

The SDK's own transport reads lines of any length, and drops without a word what it cannot decode. Here such a
line is answered with an error, and the next one is read as if nothing had happened. Every message goes to the
SDK, over the streams that its `Server.run` takes.
"""

import asyncio
import os
import select
import signal
import sys
from collections import deque
from typing import Final, Self, TypeAlias

import anyio
import mcp_types as types
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from handrail.faces.mcp.edges import failure
from handrail.faces.mcp.frames import EDGE, LIMIT, Flaw, read_message, too_long
from handrail.faces.mcp.server import Served

Incoming: TypeAlias = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing: TypeAlias = MemoryObjectReceiveStream[SessionMessage]

_CHUNK: Final = 64 * 1024
_PIECE: Final = select.PIPE_BUF
"""What a pipe that can be written to takes without blocking."""


async def serve(server: Served) -> None:
    """Serve one client until it closes its end, the process is told to stop, or the disk has failed."""
    heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outgoing, told = anyio.create_memory_object_stream[SessionMessage]()
    with Wire() as wire:
        async with anyio.create_task_group() as beside:
            beside.start_soon(_stop_on_signal, wire)
            beside.start_soon(_stop_when_halted, server, wire)
            beside.start_soon(server.look_after)
            async with anyio.create_task_group() as line:
                line.start_soon(wire.hear, heard)
                line.start_soon(_tell, server, wire, told)
                await server.run(incoming, outgoing, server.create_initialization_options())
            beside.cancel_scope.cancel()


async def _tell(server: Served, wire: "Wire", messages: Outgoing) -> None:
    """Write what the SDK says to the client. After the answer that tells of a failed disk, read no more."""
    async with messages:
        async for one in messages:
            await wire.send(write_message(one.message))
            if server.halted.is_set() and getattr(one.message, "id", None) == server.last:
                wire.stop()


async def _stop_on_signal(wire: "Wire") -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            wire.stop()


async def _stop_when_halted(server: Served, wire: "Wire") -> None:
    """Read no more, unless an answer is still to tell the client of the failed disk."""
    await server.halted.wait()
    if server.last is None:
        wire.stop()


class Wire:
    """The lines of a client and the lines to it.

    While it is open, what anything else prints goes to stderr, and what anything else reads is empty.
    """

    def __init__(self) -> None:
        self._lock = anyio.Lock(fast_acquire=True)
        self._reading, self._more = anyio.CancelScope(), asyncio.Event()
        self._come: deque[bytes] = deque()
        self._heard: asyncio.AbstractEventLoop | None = None
        self._rest = b""

    def __enter__(self) -> Self:
        """Take stdin and stdout away from everybody else."""
        sys.stdout.flush()
        self._in, self._out = os.dup(0), os.dup(1)
        self._room = select.poll()
        self._room.register(self._out, select.POLLOUT)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        self._deaf()
        os.dup2(self._in, 0)
        os.dup2(self._out, 1)
        os.close(self._in)
        os.close(self._out)

    def stop(self) -> None:
        """Read no further: what was read is still answered."""
        self._reading.cancel()

    async def hear(self, messages: Incoming) -> None:
        """Pass on the messages that the SDK can take, as they come, until the end."""
        async with messages:
            with self._reading:
                while (line := await self._line()) is not None:
                    message = await self._checked(line)
                    if message is not None:
                        await messages.send(SessionMessage(message))

    async def send(self, text: str) -> None:
        """A line to the client, whole; with a client that reads no more, all ends."""
        data = memoryview(text.encode() + b"\n")
        async with self._lock:
            try:
                while data:
                    if not self._room.poll(0):
                        await anyio.wait_writable(self._out)
                    data = data[os.write(self._out, data[:_PIECE]) :]
            except BrokenPipeError:
                self.stop()

    async def _line(self) -> "bytes | _Long | None":
        """The next line, what is left of one that is too long, or None at the end."""
        found = self._rest
        while (end := found.find(b"\n")) < 0:
            if len(found) > LIMIT:
                return await self._skipped(found)
            more = await self._read()
            if not more:
                return None
            found += more
        self._rest = found[end + 1 :]
        line = found[:end]
        return line if end <= LIMIT else _Long(line[:EDGE], line[-EDGE:], end)

    async def _skipped(self, found: bytes) -> "_Long":
        """Pass over the rest of a line; only its edges are kept."""
        head, tail, size = found[:EDGE], found[-EDGE:], len(found)
        while (more := await self._read()) and (end := more.find(b"\n")) < 0:
            tail, size = (tail + more)[-EDGE:], size + len(more)
        self._rest = more[end + 1 :] if more else b""
        last = more[:end] if more else b""
        return _Long(head, (tail + last)[-EDGE:], size + len(last))

    async def _read(self) -> bytes:
        """The next bytes, as soon as there are any; none at the end."""
        while not self._come:
            if not self._listens():
                return os.read(self._in, _CHUNK)
            self._more.clear()
            await self._more.wait()
        return self._come.popleft()

    def _listens(self) -> bool:
        """Have what comes be read at once; what is no pipe can be read at any time, and nobody tells."""
        if self._heard is None:
            loop = asyncio.get_running_loop()
            try:
                loop.add_reader(self._in, self._readable)
            except PermissionError:
                return False
            self._heard = loop
        return True

    def _readable(self) -> None:
        """Take what has come; of somebody who sends faster than it is read, no more until that is.

        What cannot be read any more has ended.
        """
        try:
            self._come.append(os.read(self._in, _CHUNK))
        except OSError:
            self._come.append(b"")
        self._more.set()
        if len(self._come) > 1 or not self._come[-1]:
            self._deaf()

    def _deaf(self) -> None:
        """Read nothing more for now."""
        if self._heard is not None:
            self._heard.remove_reader(self._in)
            self._heard = None

    async def _checked(self, line: "bytes | _Long") -> types.JSONRPCMessage | None:
        """The message in a line if the SDK can take it; otherwise the client is told why not."""
        if isinstance(line, _Long):
            await self.send(too_long(line.size).answer(line.head, line.tail))
            return None
        if not line.strip():
            return None
        message = read_message(line)
        if isinstance(message, Flaw):
            await self.send(message.answer(line[:EDGE], line[-EDGE:]))
            return None
        return message


class _Long(msgspec.Struct):
    """What is known of a line that is not taken: how it begins and ends, and how long it is."""

    head: bytes
    tail: bytes
    size: int


def write_message(message: types.JSONRPCMessage) -> str:
    """The text of a message. An answer that cannot be written is a bug: the client is told its number."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError as bug:
        if not isinstance(message, types.JSONRPCResponse):
            raise
        error = types.JSONRPCError(jsonrpc="2.0", id=message.id, error=failure(bug).error)
        return error.model_dump_json(by_alias=True, exclude_unset=True)
