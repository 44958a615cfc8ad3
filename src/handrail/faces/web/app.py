"""All faces in one application: each at `/mcp/<face>`, for clients of both protocol eras."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Route

from handrail.faces.web.tenants import Tenants


def application(tenants: Tenants, more: Iterable[BaseRoute] = ()) -> Starlette:
    """The routes of a server; who may use them is the guard's affair, what they see the tenants'."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with tenants.alive():
            yield

    return Starlette(
        routes=[
            Route("/healthz", _well, methods=["GET"]),
            Route("/readyz", _well, methods=["GET"]),
            *(Route(path(face), tenants.way_in(face)) for face in tenants.faces),
            *more,
        ],
        lifespan=lifespan,
    )


def path(face: str) -> str:
    """Where a face is."""
    return f"/mcp/{face}"


async def _well(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok\n")
