"""A server over HTTP from its first request to its last."""

import gc
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import anyio
import uvicorn
from anyio.abc import TaskStatus

from handrail.faces.mcp.frames import LIMIT
from handrail.faces.web.address import Address, Before
from handrail.faces.web.app import Behind, path
from handrail.faces.web.ending import Ending, Finished
from handrail.faces.web.guard import Guard, known_by
from handrail.faces.web.who import Door
from handrail.shell.faults import NoAddress

_GRACE: Final = 10
"""How many seconds a call that is under way has when the server is told to end."""

_MOMENT: Final = 1.0
"""How many seconds pass between two looks at whether calls have left something behind."""

_BACKLOG: Final = 2048
_NOTHING: Final = Before()


def run(where: Address, door: Door, behind: Behind, before: Before = _NOTHING, limit: int = LIMIT) -> bool:
    """Serve until told to end; False if the disk has not confirmed a write.

    As many clients are served at once as the system allows files to be open. `limit` is how many bytes a
    message may have.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with _listening(where) as listener:
        bound = Address(where.host, int(listener.getsockname()[1]))
        hosts = known_by(str(bound)) | {name.lower() for name in before.names}
        door = door.at(f"http://{bound}", map(path, behind.tenants.faces))
        calls = Finished(behind.application(door.routes()), behind.ending)
        guard = Guard(calls, hosts, door, limit, lambda: behind.ending.begun, proxied=before.is_there)
        anyio.run(_served, guard, behind, listener, bound, before.believed)
    return not behind.tenants.halted.is_set()


async def _served(
    guard: Guard, behind: Behind, listener: socket.socket, where: Address, believed: list[str]
) -> None:
    config = uvicorn.Config(
        guard,
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=guard.proxied,
        forwarded_allow_ips=believed,
        timeout_graceful_shutdown=_GRACE,
    )
    server = _Server(config)
    async with anyio.create_task_group() as tasks:
        await tasks.start(_end_on_signal, behind.ending)
        tasks.start_soon(_end, server, behind)
        tasks.start_soon(_end_when_halted, behind)
        tasks.start_soon(_tidy, behind.ending)
        for name in behind.tenants.faces:
            print(f"handrail: {name} at http://{where}/mcp/{name}", file=sys.stderr, flush=True)  # noqa: T201 - whoever starts it needs to know
        await server.serve([listener])
        tasks.cancel_scope.cancel()


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


async def _end_when_halted(behind: Behind) -> None:
    await behind.tenants.halted.wait()
    behind.ending.begin()


async def _end(server: uvicorn.Server, behind: Behind) -> None:
    """Once the end has begun: finish the calls that are under way, then the streams, then listen no more."""
    await behind.ending.over(_GRACE)
    await behind.tenants.end_streams()
    server.should_exit = True


def _listening(where: Address) -> socket.socket:
    """A socket that takes connections. Raises `NoAddress` if there can be none."""
    try:
        family, *_, place = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        repair = "write an address of this machine, such as 127.0.0.1:8765"
        raise NoAddress(f"there is no host `{where.host}`: {error.strerror}", repair) from error
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(place)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        message = f"{where.host}:{where.port} cannot be listened at: {error.strerror}"
        raise NoAddress(message, "choose another port, or 0 for any that is free") from error
    return listener
