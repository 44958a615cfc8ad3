"""Messages over stdin and stdout: one a line, none longer than the limit, and an answer to each with an id.

The SDK reads lines of any length, and drops without a word what it cannot decode. Here such a line is
answered with an error, and the next one is read as if nothing had happened.
"""

import asyncio
import os
import select
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Final, Self

import anyio
import msgspec
from mcp.server.stdio import stdio_server

from handrail.faces.mcp.frames import EDGE, LIMIT, flaw, too_long
from handrail.faces.mcp.lane import Lane
from handrail.faces.mcp.server import Served

_CHUNK: Final = 64 * 1024
_PIECE: Final = select.PIPE_BUF
"""What a pipe that can be written to takes without blocking."""


async def serve(server: Served) -> None:
    """Serve one client until it closes its end, the process is told to stop, or the disk has failed."""
    with Wire() as wire:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, wire)
            tasks.start_soon(_stop_when_halted, server, wire)
            tasks.start_soon(server.look_after)
            lane = Lane(server, wire, tasks.start_soon)
            wire.taken = lane.take
            try:
                async with stdio_server(wire, wire) as (incoming, outgoing):  # type: ignore[arg-type]  # what it uses of a file
                    await server.low.run(incoming, outgoing, server.low.create_initialization_options())
            finally:
                await lane.close()
            tasks.cancel_scope.cancel()


async def _stop_on_signal(wire: "Wire") -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            wire.stop()


async def _stop_when_halted(server: Served, wire: "Wire") -> None:
    """The answer that tells of the failed disk, if there is one, is the last."""
    await server.halted.wait()
    if server.answered:
        wire.stop_after_next()
    else:
        wire.stop()


class Wire:
    """The lines of a client and the lines to it.

    While it is open, what anything else prints goes to stderr, and what anything else reads is empty. What is
    `taken` is answered past the SDK.
    """

    def __init__(self) -> None:
        self.taken: Callable[[bytes], bool] = lambda _: False
        self._lock = anyio.Lock(fast_acquire=True)
        self._reading, self._more = anyio.CancelScope(), asyncio.Event()
        self._come: deque[bytes] = deque()
        self._heard: asyncio.AbstractEventLoop | None = None
        self._last = False
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

    def stop_after_next(self) -> None:
        """Write one more line, then stop."""
        self._last = True

    async def __aiter__(self) -> AsyncIterator[str]:
        """The lines that the SDK can take, as they come."""
        with self._reading:
            while (line := await self._line()) is not None:
                good = await self._checked(line)
                if good is not None:
                    yield good

    async def write(self, text: str) -> None:
        """A line to the client."""
        await self.send(text.encode())

    async def send(self, line: bytes) -> None:
        """A line to the client, whole; with a client that reads no more, all ends."""
        data = memoryview(line)
        async with self._lock:
            try:
                while data:
                    if not self._room.poll(0):
                        await anyio.wait_writable(self._out)
                    data = data[os.write(self._out, data[:_PIECE]) :]
            except BrokenPipeError:
                self.stop()
        if self._last:
            self.stop()

    async def flush(self) -> None:
        """Every line is written at once."""

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

    async def _checked(self, line: "bytes | _Long") -> str | None:
        """The line if the SDK can take it; otherwise the client is told why not."""
        if isinstance(line, _Long):
            await self.write(too_long(line.size).answer(line.head, line.tail) + "\n")
            return None
        if not line.strip() or self.taken(line):
            return None
        wrong = flaw(line)
        if wrong:
            await self.write(wrong.answer(line[:EDGE], line[-EDGE:]) + "\n")
            return None
        return line.decode()


class _Long(msgspec.Struct):
    """What is known of a line that is not taken: how it begins and ends, and how long it is."""

    head: bytes
    tail: bytes
    size: int
