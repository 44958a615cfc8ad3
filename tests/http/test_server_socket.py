"""The socket of a server over HTTP: what it sends does not wait for the client's confirmation."""

import asyncio
import socket

import pytest

from handrail.app.asgi import ListenAddress
from handrail.http.server import open_listener


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_connection_sends_each_piece_without_delay(host: str) -> None:
    async def work() -> None:
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def met(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            plain = writer.get_extra_info("socket")
            answer.set_result(plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with open_listener(ListenAddress(host, 0)) as (listener, bound):
            async with await asyncio.start_server(met, sock=listener):
                _, writer = await asyncio.open_connection(host, bound.port)
                assert await answer
                writer.close()

    asyncio.run(work())
