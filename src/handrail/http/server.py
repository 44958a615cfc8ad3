"""Run the HTTP server: open the listener, assemble the application, and shut down gracefully.

Start reading at `run_http_server`. On SIGTERM or SIGINT, calls in progress are finished, then streams end.
"""

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

from handrail.app.asgi import MAX_MESSAGE_BYTES, ListenAddress, ProxySettings
from handrail.http.application import (
    Backend,
    GuardMiddleware,
    PathRouter,
    Shutdown,
    ShutdownMiddleware,
    face_path,
    host_names_of,
)
from handrail.http.authentication import Authenticator
from handrail.runtime.errors import NoAddress

# How many seconds calls in progress have to finish once the shutdown begins.
_GRACE_SECONDS: Final = 10
# Seconds between two checks for whether to collect garbage.
_COLLECT_SECONDS: Final = 1.0
# The maximum size of a WebSocket message in bytes; it is small because pages only listen.
_MAX_WEBSOCKET_BYTES: Final = 4096
# After how many seconds a running thread gives way to another one.
# Turns run in another thread than the one that reads requests, and wait for it after each SQL statement. With
# Python's default of 5 ms, a step under load took 2.5 times as long.
_SWITCH_SECONDS: Final = 0.0005
_BACKLOG: Final = 2048
_NO_PROXY: Final = ProxySettings()


def run_http_server(
    where: ListenAddress,
    authenticator: Authenticator,
    backend: Backend,
    before: ProxySettings = _NO_PROXY,
    limit: int = MAX_MESSAGE_BYTES,
) -> bool:
    """Serve until a stop signal; return False if the disk failed to confirm a write.

    `limit` is the maximum size of a message in bytes.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    with open_listener(where) as (listener, bound):
        hosts = host_names_of(str(bound)) | {name.lower() for name in before.names}
        authenticator = authenticator.bind_to(f"http://{bound}", map(face_path, backend.tenants.faces))
        has_page, ending = backend.pages.has_page, backend.ending
        pages, announce_pages = backend.pages.build(
            f"http://{bound}", authenticator, lambda url: _print_line(f"pages at {url}")
        )
        router = PathRouter(backend.application(authenticator.routes()), pages, has_page)
        calls, closing = ShutdownMiddleware(router, ending), lambda: ending.has_begun
        guard = GuardMiddleware(calls, hosts, authenticator, limit, closing, before.is_proxied, has_page)

        def announce() -> None:
            for name in backend.tenants.faces:
                _print_line(f"{name} at http://{bound}/mcp/{name}")
            announce_pages()

        halted, believed = backend.tenants.halted, before.trusted_addresses
        server = GracefulServer(guard, ending, backend.end_streams, halted, believed)
        anyio.run(server.serve, listener, announce)
    return not backend.tenants.halted.is_set()


def _print_line(line: str) -> None:
    print(f"handrail: {line}", file=sys.stderr, flush=True)  # noqa: T201 - for the person who starts it


@dataclass(frozen=True, slots=True)
class GracefulServer:
    """A server with a graceful shutdown: once `ending` begins, calls finish, then `streams` ends the streams.

    `halted` also begins the shutdown: the disk failed to confirm a write. `believed` are the addresses of
    trusted proxies, whose headers say where requests come from.
    """

    guard: GuardMiddleware
    ending: Shutdown
    streams: Callable[[], Awaitable[None]]
    halted: asyncio.Event
    believed: Sequence[str] = ()

    async def serve(self, listener: socket.socket, begun: Callable[[], None]) -> None:
        """Serve until the shutdown; `begun` is called once signals are handled."""
        config = uvicorn.Config(
            self.guard,
            http="h11",
            lifespan="on",
            log_level="error",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=self.guard.proxied,
            forwarded_allow_ips=list(self.believed),
            timeout_graceful_shutdown=_GRACE_SECONDS,
            ws="websockets-sansio",
            ws_max_size=_MAX_WEBSOCKET_BYTES,
        )
        server = _UvicornServer(config)
        logging.getLogger("uvicorn.error").addFilter(_is_worth_logging)
        async with anyio.create_task_group() as tasks:
            await tasks.start(_end_on_signal, self.ending)
            tasks.start_soon(self._end, server)
            tasks.start_soon(self._end_when_halted)
            tasks.start_soon(_collect_garbage, self.ending)
            begun()
            await server.serve([listener])
            tasks.cancel_scope.cancel()

    async def _end_when_halted(self) -> None:
        await self.halted.wait()
        self.ending.begin()

    async def _end(self, server: uvicorn.Server) -> None:
        """Wait for the shutdown: finish the calls in progress, end the streams, then stop the server."""
        await self.ending.wait_until_over(_GRACE_SECONDS)
        await self.streams()
        server.should_exit = True


def _is_worth_logging(record: logging.LogRecord) -> bool:
    """False for uvicorn's wrong complaint that a refused WebSocket got no answer: it did get one."""
    return record.msg != "ASGI callable returned without completing handshake."


class _UvicornServer(uvicorn.Server):
    """A uvicorn server that leaves signals to us; uvicorn would raise them again after its shutdown."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield


async def _end_on_signal(
    ending: Shutdown, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            ending.begin()


async def _collect_garbage(ending: Shutdown) -> None:
    """Collect garbage after calls, while no call is in progress, so that none has to wait for it."""
    known = 0
    while True:
        await anyio.sleep(_COLLECT_SECONDS)
        if ending.calls != known and not ending.under_way:
            known = ending.calls
            gc.collect()


@contextmanager
def open_listener(where: ListenAddress) -> Iterator[tuple[socket.socket, ListenAddress]]:
    """Open a listening socket and yield it with its address; raise the limit of open files to the maximum.

    Raises `NoAddress` if it cannot be opened.
    """
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    try:
        # The protocol is given as TCP, because asyncio sets TCP_NODELAY only on such sockets.
        family, kind, protocol, _, sockaddr = socket.getaddrinfo(
            where.host, where.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )[0]
    except OSError as error:
        repair = "write an address of this machine, such as 127.0.0.1:8765"
        raise NoAddress(f"there is no host `{where.host}`: {error.strerror}", repair) from error
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(sockaddr)
            listener.listen(_BACKLOG)
        except OSError as error:
            message = f"{where.host}:{where.port} cannot be listened at: {error.strerror}"
            raise NoAddress(message, "choose another port, or 0 for any that is free") from error
        yield listener, ListenAddress(where.host, int(listener.getsockname()[1]))
