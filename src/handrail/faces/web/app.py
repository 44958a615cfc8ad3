"""All faces in one application: each at `/mcp/<face>`, for clients of both protocol eras."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Route

from handrail.faces.mcp.server import Served
from handrail.faces.web.bodies import Checked


def application(faces: Mapping[str, Served], limit: int, more: Iterable[BaseRoute] = ()) -> Starlette:
    """The routes of a server, for messages of so many bytes; who may use them is the guard's affair."""
    managers = {
        name: StreamableHTTPSessionManager(served.low, max_request_body_size=limit)
        for name, served in faces.items()
    }

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in managers.values():
                await stack.enter_async_context(manager.run())
            yield

    return Starlette(
        routes=[
            Route("/healthz", _well, methods=["GET"]),
            Route("/readyz", _well, methods=["GET"]),
            *(
                Route(path(name), Checked(StreamableHTTPASGIApp(one), limit, faces[name].needs))
                for name, one in managers.items()
            ),
            *more,
        ],
        lifespan=lifespan,
    )


def path(face: str) -> str:
    """Where a face is."""
    return f"/mcp/{face}"


async def _well(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok\n")
