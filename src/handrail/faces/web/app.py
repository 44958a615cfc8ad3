"""All faces in one application: each at `/mcp/<face>`, for clients of both protocol eras."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from handrail.faces.web.bodies import Checked
from handrail.faces.web.tenants import Tenants


def application(tenants: Tenants) -> Starlette:
    """The routes of a server; who may use them is the guard's affair, what they see the tenants'."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with tenants.alive():
            yield

    return Starlette(
        routes=[
            Route("/healthz", _well, methods=["GET"]),
            Route("/readyz", _well, methods=["GET"]),
            *(Route(f"/mcp/{face}", Checked(tenants.way_in(face))) for face in tenants.faces),
        ],
        lifespan=lifespan,
    )


async def _well(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok\n")
