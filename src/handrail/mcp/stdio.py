"""The stdio transport: one message per line, limited in length, and an answer to each message with an id.

The SDK's own transport reads lines of any length and silently drops what it cannot decode. This one answers
such a line with an error and goes on with the next. Valid messages go to the SDK's `Server.run` over streams.
Start reading at `serve_stdio`.
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

from handrail.app.asgi import MAX_MESSAGE_BYTES
from handrail.mcp.messages import EDGE_BYTES, MessageFlaw, read_message, too_long_flaw
from handrail.mcp.server import FaceServer, internal_error


def run_stdio_server(server: FaceServer) -> bool:
    """Serve one client over stdin and stdout; return False if the disk failed to confirm a write."""
    anyio.run(serve_stdio, server)
    return not server.halted.is_set()


Incoming: TypeAlias = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing: TypeAlias = MemoryObjectReceiveStream[SessionMessage]
_READ_BYTES: Final = 64 * 1024

_WRITE_BYTES: Final = select.PIPE_BUF
"""How many bytes a writable pipe takes without blocking."""

_ANSWER_SECONDS: Final = 2.0
"""How long calls may take to be answered after the input has ended.

Then the SDK cancels them. If it cancels a call while it writes the answer, the client gets none.
"""


async def serve_stdio(server: FaceServer) -> None:
    """Serve one client until it closes the connection, a stop signal comes, or the disk fails."""
    incoming_sender, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outgoing, outgoing_receiver = anyio.create_memory_object_stream[SessionMessage]()
    with StdioTransport() as transport:
        async with anyio.create_task_group() as background:
            background.start_soon(_stop_on_signal, transport)
            background.start_soon(_stop_when_halted, server, transport)
            background.start_soon(server.look_after)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(transport.hear, incoming_sender)
                tasks.start_soon(_write_messages, server, transport, outgoing_receiver)
                tasks.start_soon(server.run, incoming, outgoing, server.create_initialization_options())
            background.cancel_scope.cancel()


async def _write_messages(server: FaceServer, transport: "StdioTransport", messages: Outgoing) -> None:
    """Write the SDK's messages to the client. After the answer that reports a failed disk, stop reading."""
    async with messages:
        async for outgoing in messages:
            await transport.send(encode_message(outgoing.message))
            transport.note_answer(outgoing.message)
            if server.halted.is_set() and getattr(outgoing.message, "id", None) == server.last:
                transport.stop()


async def _stop_on_signal(transport: "StdioTransport") -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            transport.stop()


async def _stop_when_halted(server: FaceServer, transport: "StdioTransport") -> None:
    """Stop reading once the server halts, unless an answer has yet to report the failed disk."""
    await server.halted.wait()
    if server.last is None:
        transport.stop()


class StdioTransport:
    """Reads lines from a client and writes lines to it, over stdin and stdout.

    While it is open, prints from other code go to stderr, and other code that reads stdin gets nothing.
    """

    def __init__(self) -> None:
        self._lock = anyio.Lock(fast_acquire=True)
        self._reading, self._chunk_ready = anyio.CancelScope(), asyncio.Event()
        self._chunks: deque[bytes] = deque()
        self._watching_loop: asyncio.AbstractEventLoop | None = None
        self._rest = b""
        self._calls: set[types.RequestId] = set()
        self._answered = anyio.Event()

    def __enter__(self) -> Self:
        """Take over stdin and stdout, so that no other code can use them."""
        sys.stdout.flush()
        self._in, self._out = os.dup(0), os.dup(1)
        self._write_poll = select.poll()
        self._write_poll.register(self._out, select.POLLOUT)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return self

    def __exit__(self, *_: object) -> None:
        """Restore stdin and stdout."""
        self._stop_watching()
        os.dup2(self._in, 0)
        os.dup2(self._out, 1)
        os.close(self._in)
        os.close(self._out)

    def stop(self) -> None:
        """Stop reading. Messages that were already read are still answered."""
        self._reading.cancel()

    async def hear(self, messages: Incoming) -> None:
        """Read messages and pass the valid ones on to the SDK, until the input ends or `stop` is called."""
        async with messages:
            with self._reading:
                while (line := await self._next_line()) is not None:
                    message = await self._parse_line(line)
                    if message is None:
                        continue
                    if isinstance(message, types.JSONRPCRequest) and message.method == "tools/call":
                        self._calls.add(message.id)
                    await messages.send(SessionMessage(message))
            with anyio.move_on_after(_ANSWER_SECONDS):
                while self._calls:
                    self._answered = anyio.Event()
                    await self._answered.wait()

    def note_answer(self, message: types.JSONRPCMessage) -> None:
        """Remember that a message has been sent: the call that it answers is not waited for any more."""
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id is not None:
            self._calls.discard(message.id)
            self._answered.set()

    async def send(self, text: str) -> None:
        """Write one whole line to the client. If the client has closed the pipe, stop reading too."""
        data = memoryview(text.encode() + b"\n")
        async with self._lock:
            try:
                while data:
                    if not self._write_poll.poll(0):
                        await anyio.wait_writable(self._out)
                    data = data[os.write(self._out, data[:_WRITE_BYTES]) :]
            except BrokenPipeError:
                self.stop()

    async def _next_line(self) -> "bytes | _OversizedLine | None":
        """Return the next line, the edges of an oversized one, or None at the end of the input."""
        buffer = self._rest
        while (end := buffer.find(b"\n")) < 0:
            if len(buffer) > MAX_MESSAGE_BYTES:
                return await self._skip_line(buffer)
            more = await self._read()
            if not more:
                return None
            buffer += more
        self._rest = buffer[end + 1 :]
        line = buffer[:end]
        return (
            line if end <= MAX_MESSAGE_BYTES else _OversizedLine(line[:EDGE_BYTES], line[-EDGE_BYTES:], end)
        )

    async def _skip_line(self, buffer: bytes) -> "_OversizedLine":
        """Skip the rest of an oversized line and keep only its edges."""
        head, tail, size = buffer[:EDGE_BYTES], buffer[-EDGE_BYTES:], len(buffer)
        while (more := await self._read()) and (end := more.find(b"\n")) < 0:
            tail, size = (tail + more)[-EDGE_BYTES:], size + len(more)
        self._rest = more[end + 1 :] if more else b""
        last = more[:end] if more else b""
        return _OversizedLine(head, (tail + last)[-EDGE_BYTES:], size + len(last))

    async def _read(self) -> bytes:
        """Wait for the next bytes and return them; empty at the end of the input."""
        while not self._chunks:
            if not self._start_watching():
                return os.read(self._in, _READ_BYTES)
            self._chunk_ready.clear()
            await self._chunk_ready.wait()
        return self._chunks.popleft()

    def _start_watching(self) -> bool:
        """Let the event loop read the input. Return False if it cannot watch it, such as a regular file.

        Such input can be read at any time without blocking.
        """
        if self._watching_loop is None:
            loop = asyncio.get_running_loop()
            try:
                loop.add_reader(self._in, self._on_readable)
            except PermissionError:
                return False
            self._watching_loop = loop
        return True

    def _on_readable(self) -> None:
        """Read the bytes that are available. Pause if the client sends faster than messages are handled.

        An error while reading counts as the end of the input.
        """
        try:
            self._chunks.append(os.read(self._in, _READ_BYTES))
        except OSError:
            self._chunks.append(b"")
        self._chunk_ready.set()
        if len(self._chunks) > 1 or not self._chunks[-1]:
            self._stop_watching()

    def _stop_watching(self) -> None:
        """Stop watching the input for now."""
        if self._watching_loop is not None:
            self._watching_loop.remove_reader(self._in)
            self._watching_loop = None

    async def _parse_line(self, line: "bytes | _OversizedLine") -> types.JSONRPCMessage | None:
        """Return the message in a line. If it is invalid, send the client an error and return None."""
        if isinstance(line, _OversizedLine):
            await self.send(too_long_flaw(line.size).to_json(line.head, line.tail))
            return None
        if not line.strip():
            return None
        message = read_message(line)
        if isinstance(message, MessageFlaw):
            await self.send(message.to_json(line[:EDGE_BYTES], line[-EDGE_BYTES:]))
            return None
        return message


class _OversizedLine(msgspec.Struct):
    """A line that was too long to keep: its first and last bytes, and its length in bytes."""

    head: bytes
    tail: bytes
    size: int


def encode_message(message: types.JSONRPCMessage) -> str:
    """Return a message as JSON. If a response cannot be encoded, return an error with an incident number."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError as bug:
        if not isinstance(message, types.JSONRPCResponse):
            raise
        error = types.JSONRPCError(jsonrpc="2.0", id=message.id, error=internal_error(bug).error)
        return error.model_dump_json(by_alias=True, exclude_unset=True)
