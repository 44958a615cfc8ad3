"""All faces in one application: each at `/mcp/<face>`, for clients of both protocol eras."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

from anyio import create_task_group
from anyio.to_thread import run_sync
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from handrail.faces.mcp.callers import grant_in
from handrail.faces.mcp.server import Served
from handrail.faces.web.bodies import Checked
from handrail.faces.web.ending import Ending
from handrail.faces.web.metrics import MEDIA, Metrics
from handrail.faces.web.sessions import Allowed, Sessions
from handrail.shell.access import Scope
from handrail.shell.faults import Fault
from handrail.shell.opening import Strain

_USUAL: Final = Allowed()


class Faces:
    """The faces of a server with their sessions, what is counted of them, and how they are doing."""

    def __init__(
        self, faces: Mapping[str, Served], metrics: Metrics | None = None, may: Allowed = _USUAL
    ) -> None:
        self.ending = Ending()
        self.faces, self._metrics = faces, metrics or Metrics()
        self._sessions: dict[str, Sessions] = {}
        for name, served in faces.items():
            self._sessions[name] = Sessions(served.low, may, self._sessions.values())
            served.meter = partial(self._metrics.called, name)

    def application(self) -> Starlette:
        """The routes of the server; who may use them is the guard's affair."""
        mcp = (
            Route(f"/mcp/{name}", Checked(StreamableHTTPASGIApp(one))) for name, one in self._sessions.items()
        )
        return Starlette(
            routes=[
                Route("/healthz", _well, methods=["GET"]),
                Route("/readyz", self._ready, methods=["GET"]),
                Route("/metrics", self._measured, methods=["GET"]),
                *mcp,
            ],
            lifespan=self._alive,
        )

    async def end_streams(self) -> None:
        """End what has no end of its own: streams of 2026, and sessions of 2025."""
        for served in self.faces.values():
            served.listening.close()
        for sessions in self._sessions.values():
            await sessions.end()

    @asynccontextmanager
    async def _alive(self, _: Starlette) -> AsyncIterator[None]:
        """One face looks after the store, for all."""
        first, *others = self.faces.values()
        async with AsyncExitStack() as stack:
            for sessions in self._sessions.values():
                await stack.enter_async_context(sessions.run())
            tasks = await stack.enter_async_context(create_task_group())
            tasks.start_soon(first.look_after, *others)
            yield
            tasks.cancel_scope.cancel()

    async def _ready(self, _: Request) -> PlainTextResponse:
        if self.ending.begun:
            return PlainTextResponse("ending\n", 503)
        readable = await run_sync(self._strain)
        return PlainTextResponse("ok\n") if readable else PlainTextResponse("unreadable\n", 503)

    async def _measured(self, request: Request) -> Response:
        if Scope.READ not in grant_in(request).scopes:
            told = f"this needs a token with the scope {Scope.READ}: ask whoever runs the server\n"
            return PlainTextResponse(told, 403)
        self._metrics.strained(await run_sync(self._strain))
        for name, served in self.faces.items():
            self._metrics.stands(name, self._sessions[name].count, served.bus.subscriptions)
        return Response(self._metrics.text(), media_type=MEDIA)

    def _strain(self) -> Strain | None:
        """What waits, or None if the store cannot be read."""
        try:
            return next(iter(self.faces.values())).strain()
        except Fault:
            return None


async def _well(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok\n")
