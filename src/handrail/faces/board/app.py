"""The pages as one application; whoever is not let in reaches none of them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from handrail.faces.board.acting import Acting, asking
from handrail.faces.board.armour import Armoured
from handrail.faces.board.boards import viewer_of
from handrail.faces.board.bulk import Bulk
from handrail.faces.board.entrance import LINK, LOGIN, STATIC, Entered, Entrance
from handrail.faces.board.guides import guides
from handrail.faces.board.insights import insights
from handrail.faces.board.live import events, live
from handrail.faces.board.looks import page, static
from handrail.faces.board.overview import overview
from handrail.faces.board.runpage import artifact, run_page
from handrail.faces.board.workflows import workflow, workflows
from handrail.faces.web.bodies import read
from handrail.faces.web.refusal import Refusal
from handrail.shell.faults import Fault

_MEDIA: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_LONGEST: Final = 16 * 1024
_PARTS: Final = frozenset(
    {
        "in",
        "login",
        "logout",
        "static",
        "runs",
        "bulk",
        "live",
        "events",
        "insights",
        "workflows",
        "personas",
        "guardrails",
    }
)


def is_page(path: str) -> bool:
    """Whether the pages have their own door at this path."""
    return path == "/" or path.partition("/")[2].partition("/")[0] in _PARTS


def application(entrance: Entrance) -> ASGIApp:
    """The pages behind their entrance."""
    ways = _Ways(entrance, static())
    routes = [
        Route("/", overview, methods=["GET"]),
        Route(f"{LINK}{{secret}}", ways.by_link, methods=["GET"]),
        Route(LOGIN, ways.by_token, methods=["POST"]),
        Route("/logout", ways.leave, methods=["POST"]),
        Route(f"{STATIC}{{name}}", ways.file, methods=["GET"]),
        Route("/runs/{run}", run_page, methods=["GET"]),
        Route("/runs/{run}/artifacts/{number:int}", artifact, methods=["GET"]),
        Route("/runs/{run}/do/{action}", asking, methods=["GET"]),
        Route("/runs/{run}/do/{action}", Acting(entrance.boards).act, methods=["POST"]),
        Route("/runs/{run}/{tab}", run_page, methods=["GET"]),
        Route("/bulk", Bulk(entrance.boards).asking, methods=["POST"]),
        Route("/bulk/{action}", Bulk(entrance.boards).act, methods=["POST"]),
        Route("/insights", insights, methods=["GET"]),
        Route("/insights/{board}", insights, methods=["GET"]),
        Route("/workflows", workflows, methods=["GET"]),
        Route("/workflows/{name}", workflow, methods=["GET"]),
        Route("/personas", guides, methods=["GET"]),
        Route("/guardrails", guides, methods=["GET"]),
        Route("/personas/{name}", guides, methods=["GET"]),
        Route("/guardrails/{name}", guides, methods=["GET"]),
        Route("/events", events, methods=["GET"]),
        WebSocketRoute("/live", live),
    ]
    made = Starlette(
        routes=routes, exception_handlers={HTTPException: _missing, Fault: _faulty, Exception: _broken}
    )
    return Armoured(Entered(made, entrance))


@dataclass(frozen=True, slots=True)
class _Ways:
    """The ways in, and what pages load."""

    entrance: Entrance
    files: Mapping[str, bytes]

    async def by_link(self, request: Request) -> Response:
        """Let in whoever opens the link."""
        links = self.entrance.links
        if links is None or not links.used(request.path_params["secret"]):
            return self.entrance.closed(Refusal(403, ""))
        return self.entrance.cookie(request, "person")

    async def by_token(self, request: Request) -> Response:
        """Let in whoever shows a token."""
        body = await read(request, _LONGEST)
        given = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0].strip()
        found = await self.entrance.shown(request.scope, given)
        if isinstance(found, Refusal):
            return self.entrance.closed(found)
        return self.entrance.cookie(request, given)

    async def leave(self, request: Request) -> Response:
        """Let the browser forget its cookie."""
        return self.entrance.leave(request)

    async def file(self, request: Request) -> Response:
        """A file of the pages; a browser that has it is told so."""
        name = request.path_params["name"]
        found = self.files.get(name)
        if found is None:
            raise HTTPException(404)
        mark = f'"{hashlib.sha256(found).hexdigest()[:16]}"'
        headers = {"etag": mark, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        return Response(found, media_type=_MEDIA[name.rpartition(".")[2]], headers=headers)


def _missing(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return page("missing.html", status, status=status)


def _broken(_: Request, __: Exception) -> Response:
    """What whoever looks is told of a bug: nothing of it; the log has it."""
    return page("broken.html", 500)


def _faulty(request: Request, error: Exception) -> Response:
    """What the world did, without the paths that whoever looks need not know."""
    if not isinstance(error, Fault):
        raise error
    hide = viewer_of(request).board.naming.hide
    return page("fault.html", 503, message=hide(error.message), repair=hide(error.repair))
