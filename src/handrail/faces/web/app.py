"""All faces in one application: each at `/mcp/<face>`, for clients of both protocol eras."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Asked

from handrail.faces.mcp.callers import grant_in
from handrail.faces.web.ending import Ending
from handrail.faces.web.metrics import MEDIA, Metrics
from handrail.faces.web.tenants import Tenants
from handrail.faces.web.who import Door
from handrail.shell.access import Scope
from handrail.shell.faults import Fault
from handrail.shell.opening import Strain


class Pages(Protocol):
    """What people see of the store in a browser."""

    def at(self, url: str, door: Door, told: Callable[[str], None]) -> tuple[ASGIApp, Callable[[], None]]:
        """The pages of a server at this URL behind this door; and what makes `told` say where they are."""
        ...

    def has(self, path: str) -> bool:
        """Whether there is one at this path."""
        ...

    def close(self) -> None:
        """End what they hear."""
        ...


@dataclass(frozen=True, slots=True)
class Behind:
    """What stands behind the guard: the faces of all tenants, what is counted of them, and how they end.

    `strain` says what waits in the store; it raises a fault if that cannot be read.
    """

    tenants: Tenants
    metrics: Metrics
    strain: Callable[[], Strain]
    pages: Pages
    ending: Ending = field(default_factory=Ending)

    async def end_streams(self) -> None:
        """End what has no end of its own."""
        self.pages.close()
        await self.tenants.end_streams()

    def application(self, more: Iterable[BaseRoute] = ()) -> Starlette:
        """The routes of the server; who may use them is the guard's affair, what they see the tenants'."""
        return Starlette(
            routes=[
                Route("/healthz", _well, methods=["GET"]),
                Route("/readyz", self._ready, methods=["GET"]),
                Route("/metrics", self._measured, methods=["GET"]),
                *(Route(path(face), self.tenants.way_in(face)) for face in self.tenants.faces),
                *more,
            ],
            lifespan=self._alive,
        )

    @asynccontextmanager
    async def _alive(self, _: Starlette) -> AsyncIterator[None]:
        async with self.tenants.alive():
            yield

    async def _ready(self, _: Request) -> PlainTextResponse:
        if self.ending.begun:
            return PlainTextResponse("ending\n", 503)
        readable = await run_sync(self._strained)
        return PlainTextResponse("ok\n") if readable else PlainTextResponse("unreadable\n", 503)

    async def _measured(self, request: Request) -> Response:
        grant = grant_in(request)
        if Scope.READ not in grant.scopes or grant.projects is not None:
            told = f"this needs a token for all projects with the scope {Scope.READ}: ask for one\n"
            return PlainTextResponse(told, 403)
        self.metrics.answering(self.ending.under_way)
        self.metrics.strained(await run_sync(self._strained))
        for face, sessions, subscriptions in self.tenants.stands():
            self.metrics.stands(face, sessions, subscriptions)
        return Response(self.metrics.text(), media_type=MEDIA)

    def _strained(self) -> Strain | None:
        """What waits, or None if the store cannot be read."""
        try:
            return self.strain()
        except Fault:
            return None


def path(face: str) -> str:
    """Where a face is."""
    return f"/mcp/{face}"


async def _well(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok\n")


@dataclass(frozen=True, slots=True)
class Beside:
    """An application with `pages` at the paths that they have."""

    app: ASGIApp
    pages: ASGIApp
    has: Callable[[str], bool]

    async def __call__(self, scope: Asked, receive: Receive, send: Send) -> None:
        """Pass it on."""
        apart = scope["type"] != "lifespan" and self.has(scope["path"])
        await (self.pages if apart else self.app)(scope, receive, send)
