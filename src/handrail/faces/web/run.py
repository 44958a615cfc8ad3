"""A server over HTTP from its first request to its last."""

import asyncio
import gc
import logging
import resource
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import anyio
import uvicorn
from anyio.abc import TaskStatus

from handrail.faces.mcp.frames import LIMIT
from handrail.faces.web.address import Address, Before
from handrail.faces.web.app import Behind, Beside, path
from handrail.faces.web.ending import Ending, Finished
from handrail.faces.web.guard import Guard, known_by
from handrail.faces.web.who import Door
from handrail.shell.faults import NoAddress

_GRACE: Final = 10
"""How many seconds a call that is under way has when the server is told to end."""

_MOMENT: Final = 1.0
"""How many seconds pass between two looks at whether calls have left something behind."""

_HEARD: Final = 4096
"""How many bytes a message over a WebSocket may have: pages only listen."""

_SWITCH: Final = 0.0005
"""After how many seconds a thread that runs lets another go on.

Turns are taken beside the thread that hears requests, and wait for it behind each of their statements: with
Python's own five milliseconds a step under load took two and a half times as long.
"""

_BACKLOG: Final = 2048
_NOTHING: Final = Before()


def run(where: Address, door: Door, behind: Behind, before: Before = _NOTHING, limit: int = LIMIT) -> bool:
    """Serve until told to end; False if the disk has not confirmed a write.

    `limit` is how many bytes a message may have.
    """
    sys.setswitchinterval(_SWITCH)
    with listening(where) as (listener, bound):
        hosts = known_by(str(bound)) | {name.lower() for name in before.names}
        door = door.at(f"http://{bound}", map(path, behind.tenants.faces))
        pages, say_where = behind.pages.at(f"http://{bound}", door, lambda url: _say(f"pages at {url}"))
        inside = Beside(behind.application(door.routes()), pages, behind.pages.has)
        calls = Finished(inside, behind.ending)
        guard = Guard(
            calls, hosts, door, limit, lambda: behind.ending.begun, before.is_there, behind.pages.has
        )

        def begun() -> None:
            _say(*(f"{name} at http://{bound}/mcp/{name}" for name in behind.tenants.faces))
            say_where()

        lasting = Lasting(guard, behind.ending, behind.end_streams, behind.tenants.halted, before.believed)
        anyio.run(lasting.served, listener, begun)
    return not behind.tenants.halted.is_set()


def _say(*lines: str) -> None:
    for line in lines:
        print(f"handrail: {line}", file=sys.stderr, flush=True)  # noqa: T201 - whoever starts it needs to know


@dataclass(frozen=True, slots=True)
class Lasting:
    """A server that ends well: once `ending` has begun, calls are finished, then `streams` ended.

    It also ends once it is `halted`: the disk has not confirmed a write. Proxies at the addresses `believed`
    say where requests come from.
    """

    guard: Guard
    ending: Ending
    streams: Callable[[], Awaitable[None]]
    halted: asyncio.Event
    believed: Sequence[str] = ()

    async def served(self, listener: socket.socket, begun: Callable[[], None]) -> None:
        """Serve until told to end; `begun` is called when signals are heard."""
        server = _Server(_config(self.guard, list(self.believed)))
        logging.getLogger("uvicorn.error").addFilter(_told)
        async with anyio.create_task_group() as tasks:
            await tasks.start(_end_on_signal, self.ending)
            tasks.start_soon(self._end, server)
            tasks.start_soon(self._end_when_halted)
            tasks.start_soon(_tidy, self.ending)
            begun()
            await server.serve([listener])
            tasks.cancel_scope.cancel()

    async def _end_when_halted(self) -> None:
        await self.halted.wait()
        self.ending.begin()

    async def _end(self, server: uvicorn.Server) -> None:
        """Once the end has begun: finish the calls under way, then the streams, then listen no more."""
        await self.ending.over(_GRACE)
        await self.streams()
        server.should_exit = True


def _config(guard: Guard, believed: list[str]) -> uvicorn.Config:
    return uvicorn.Config(
        guard,
        http="h11",
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=guard.proxied,
        forwarded_allow_ips=believed,
        timeout_graceful_shutdown=_GRACE,
        ws="websockets-sansio",
        ws_max_size=_HEARD,
    )


def _told(record: logging.LogRecord) -> bool:
    """False of what uvicorn says of each WebSocket that was refused with an answer: that it got none."""
    return record.msg != "ASGI callable returned without completing handshake."


class _Server(uvicorn.Server):
    """Ends well when it is told to end: the signal is not raised again afterwards."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to others."""
        yield


async def _end_on_signal(
    ending: Ending, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            ending.begin()


async def _tidy(ending: Ending) -> None:
    """Give back what calls have left behind, as soon as none is under way: then nobody waits for it."""
    known = 0
    while True:
        await anyio.sleep(_MOMENT)
        if ending.calls != known and not ending.under_way:
            known = ending.calls
            gc.collect()


@contextmanager
def listening(where: Address) -> Iterator[tuple[socket.socket, Address]]:
    """A socket that takes connections, and where that is; as many at once as the system allows open files.

    Raises `NoAddress` if there can be none.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with _listening(where) as listener:
        yield listener, Address(where.host, int(listener.getsockname()[1]))


def _listening(where: Address) -> socket.socket:
    """A socket that takes connections. Raises `NoAddress` if there can be none.

    It says that it speaks TCP: asyncio has only such connections send without delay, whatever comes next.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            where.host, where.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )[0]
    except OSError as error:
        repair = "write an address of this machine, such as 127.0.0.1:8765"
        raise NoAddress(f"there is no host `{where.host}`: {error.strerror}", repair) from error
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(place)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        message = f"{where.host}:{where.port} cannot be listened at: {error.strerror}"
        raise NoAddress(message, "choose another port, or 0 for any that is free") from error
    return listener
