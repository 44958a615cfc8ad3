"""A response goes out as one piece where it can be, and else as soon as it can; the bytes are the same."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
from anyio.lowlevel import checkpoint
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from handrail.faces.web.address import Address
from handrail.faces.web.joined import Held, Joined
from handrail.faces.web.run import listening

ASKED = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"


class Line(asyncio.Transport):
    """A connection that keeps what is sent, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.closed = self.paused = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += [bytes(data)] if data else []

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


async def whole(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers at once."""
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"whole"})


async def chunked(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers at once, and does not say how long the answer is."""
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"whole"})


def streaming(go_on: asyncio.Event) -> ASGIApp:
    """Answers with a stream: a piece now, a piece later."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"now", "more_body": True})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"later"})

    return answered


def connected(protocol: type[H11Protocol], app: ASGIApp) -> tuple[H11Protocol, Line]:
    """A connection to an application."""
    state = ServerState()
    config = Config(app, lifespan="off", log_level="error", server_header=False, date_header=False)
    config.load()
    one, line = protocol(config, state, {}), Line()
    one.connection_made(line)
    return one, line


async def rested() -> None:
    """Let everything happen that is about to."""
    for _ in range(10):
        await checkpoint()


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Do it in a loop."""

    async def done() -> None:
        await work()

    asyncio.run(done())


@pytest.mark.parametrize("app", [whole, chunked])
def test_a_response_is_one_piece_with_the_same_bytes(app: ASGIApp) -> None:
    async def work() -> None:
        (usual, pieces), (ours, piece) = connected(H11Protocol, app), connected(Joined, app)
        for one in (usual, ours, usual, ours):
            one.data_received(ASKED)
            await rested()
        assert len(pieces.sent) > 2
        assert len(piece.sent) == 2
        assert b"".join(piece.sent) == b"".join(pieces.sent)

    run(work)


def test_of_a_stream_nothing_waits_for_what_comes_later() -> None:
    async def work() -> None:
        go_on = asyncio.Event()
        ours, line = connected(Joined, streaming(go_on))
        ours.data_received(ASKED)
        await rested()
        assert line.sent == [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nnow\r\n"]
        go_on.set()
        await rested()
        assert line.sent[1:] == [b"5\r\nlater\r\n0\r\n\r\n"]

    run(work)


def test_a_connection_is_closed_behind_what_is_held() -> None:
    async def work() -> None:
        line = Line()
        held = Held(line, asyncio.get_running_loop())
        held.write(HEAD)
        held.write(b"")
        assert (line.sent, held.is_closing()) == ([], False)
        held.close()
        assert (line.sent, held.is_closing()) == ([HEAD], True)
        await rested()
        assert line.sent == [HEAD]

    run(work)


def test_no_more_than_64_kib_are_held() -> None:
    async def work() -> None:
        line = Line()
        held = Held(line, asyncio.get_running_loop())
        for _ in range(5):
            held.write(b"x" * 20_000)
        assert [len(one) for one in line.sent] == [80_000]
        await rested()
        assert [len(one) for one in line.sent] == [80_000, 20_000]

    run(work)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_connection_sends_each_piece_without_delay(host: str) -> None:
    async def work() -> None:
        told: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def met(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            plain = writer.get_extra_info("socket")
            told.set_result(plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listening(Address(host, 0)) as (listener, bound):
            async with await asyncio.start_server(met, sock=listener):
                _, writer = await asyncio.open_connection(host, bound.port)
                assert await told
                writer.close()

    run(work)


def test_reading_is_paused_as_ever() -> None:
    async def work() -> None:
        line = Line()
        held = Held(line, asyncio.get_running_loop())
        held.pause_reading()
        assert line.paused
        held.resume_reading()
        assert not line.paused

    run(work)
