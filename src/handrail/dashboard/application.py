"""The dashboard as an ASGI application: its routes, security headers, sign-in and error pages.

Start reading at `build_application`. Every response passes the security headers, every request the sign-in.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handrail.app.asgi import HttpRefusal, read_body
from handrail.dashboard.actions import ActionHandler, BulkHandler, render_action_form
from handrail.dashboard.definitions import render_guides, render_workflow, render_workflows
from handrail.dashboard.insights import render_insights
from handrail.dashboard.live import serve_event_stream, serve_websocket
from handrail.dashboard.login import LINK_PATH, LOGIN_PATH, STATIC_PATH, Login, LoginMiddleware
from handrail.dashboard.overview import render_overview
from handrail.dashboard.rendering import load_static_files, render_page
from handrail.dashboard.run_page import download_artifact, render_run_page
from handrail.dashboard.viewer import get_viewer
from handrail.runtime.errors import Fault

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

# Headers of every response. The referrer policy keeps URLs from other sites. It cannot be `no-referrer`:
# browsers then send forms without their origin, which the sign-in checks.
SECURITY_HEADERS: Final = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class SecurityHeadersMiddleware:
    """Adds SECURITY_HEADERS to every response, and `no-store` unless the response says how to cache it."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle the request, and add the headers to its response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers)


_MEDIA_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_MAX_LOGIN_BYTES: Final = 16 * 1024
_PAGE_PREFIXES: Final = frozenset(
    (
        *("in", "login", "logout", "static", "runs", "bulk", "live", "events"),
        *("insights", "workflows", "personas", "guardrails"),
    )
)


def is_page(path: str) -> bool:
    """True if this path belongs to the dashboard, which has its own sign-in."""
    return path == "/" or path.partition("/")[2].partition("/")[0] in _PAGE_PREFIXES


def build_application(entrance: Login) -> ASGIApp:
    """Build the application, with the sign-in before its pages."""
    login_routes = _LoginRoutes(entrance, load_static_files())
    routes = [
        Route("/", render_overview, methods=["GET"]),
        Route(f"{LINK_PATH}{{secret}}", login_routes.sign_in_by_link, methods=["GET"]),
        Route(LOGIN_PATH, login_routes.sign_in_by_token, methods=["POST"]),
        Route("/logout", login_routes.sign_out, methods=["POST"]),
        Route(f"{STATIC_PATH}{{name}}", login_routes.serve_file, methods=["GET"]),
        Route("/runs/{run}", render_run_page, methods=["GET"]),
        Route("/runs/{run}/artifacts/{number:int}", download_artifact, methods=["GET"]),
        Route("/runs/{run}/do/{action}", render_action_form, methods=["GET"]),
        Route("/runs/{run}/do/{action}", ActionHandler(entrance.boards).act, methods=["POST"]),
        Route("/runs/{run}/{tab}", render_run_page, methods=["GET"]),
        Route("/bulk", BulkHandler(entrance.boards).preview, methods=["POST"]),
        Route("/bulk/{action}", BulkHandler(entrance.boards).act, methods=["POST"]),
        Route("/insights", render_insights, methods=["GET"]),
        Route("/insights/{board}", render_insights, methods=["GET"]),
        Route("/workflows", render_workflows, methods=["GET"]),
        Route("/workflows/{name}", render_workflow, methods=["GET"]),
        Route("/personas", render_guides, methods=["GET"]),
        Route("/guardrails", render_guides, methods=["GET"]),
        Route("/personas/{name}", render_guides, methods=["GET"]),
        Route("/guardrails/{name}", render_guides, methods=["GET"]),
        Route("/events", serve_event_stream, methods=["GET"]),
        WebSocketRoute("/live", serve_websocket),
    ]
    application = Starlette(
        routes=routes,
        exception_handlers={
            HTTPException: _render_http_error,
            Fault: _render_fault,
            Exception: _render_internal_error,
        },
    )
    return SecurityHeadersMiddleware(LoginMiddleware(application, entrance))


@dataclass(frozen=True, slots=True)
class _LoginRoutes:
    """The routes that need no sign-in, the one to sign out, and the static files."""

    entrance: Login
    files: Mapping[str, bytes]

    async def sign_in_by_link(self, request: Request) -> Response:
        """Sign in a browser that opens the link."""
        links = self.entrance.links
        if links is None or not links.redeem(request.path_params["secret"]):
            return self.entrance.render_login_page(HttpRefusal(403, ""))
        return self.entrance.sign_in(request, "person")

    async def sign_in_by_token(self, request: Request) -> Response:
        """Sign in a browser that sends a token."""
        body = await read_body(request, _MAX_LOGIN_BYTES)
        token = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0].strip()
        grant = await self.entrance.admit_token(request.scope, token)
        if isinstance(grant, HttpRefusal):
            return self.entrance.render_login_page(grant)
        return self.entrance.sign_in(request, token)

    async def sign_out(self, request: Request) -> Response:
        """Sign the browser out."""
        return self.entrance.sign_out(request)

    async def serve_file(self, request: Request) -> Response:
        """Return a static file, or 304 to a browser that has it already."""
        name = request.path_params["name"]
        content = self.files.get(name)
        if content is None:
            raise HTTPException(404)
        etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        headers = {"etag": etag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=_MEDIA_TYPES[name.rpartition(".")[2]], headers=headers)


def _render_http_error(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return render_page("missing.html", status, status=status)


def _render_internal_error(_: Request, __: Exception) -> Response:
    """Render the page for a bug. It has no details; they are in the log."""
    return render_page("broken.html", 500)


def _render_fault(request: Request, error: Exception) -> Response:
    """Render the page for a fault, with paths replaced by project names."""
    if not isinstance(error, Fault):
        raise error
    hide = get_viewer(request).board.app.projects.hide
    return render_page("fault.html", 503, message=hide(error.message), repair=hide(error.repair))
