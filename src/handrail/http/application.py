"""The ASGI application of the HTTP server: routes, request guard, and graceful shutdown.

A request passes `GuardMiddleware` (host, origin, size, token), `ShutdownMiddleware` (counts calls) and
`PathRouter` (dashboard pages, or else the routes of `Backend`). `server.py` puts them together.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, Protocol

import anyio
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from handrail.app.asgi import LOOPBACK_HOSTS, HttpRefusal, get_request_grant
from handrail.http.authentication import Authenticator, set_grant
from handrail.http.metrics import MEDIA_TYPE, Metrics
from handrail.runtime.errors import Fault
from handrail.runtime.ports.access import AccessScope, Grant
from handrail.runtime.ports.open_store import StoreLoad

_LISTEN_METHOD: Final = "subscriptions/listen"
# Paths that need no token: their answer is one word.
OPEN_PATHS: Final = frozenset({"/healthz", "/readyz"})
# Paths that need no token from a client on the same machine.
LOCAL_PATHS: Final = frozenset({"/metrics"})
_LOCAL_GRANT: Final = Grant("", frozenset({AccessScope.READ}))
_IDENTITY_HEADERS: Final = ("authorization", "forwarded", "via", "x-forwarded-for", "x-real-ip")

_SHUTDOWN_REFUSAL: Final = HttpRefusal(
    503, "the server is ending: send the same request again", {"retry-after": "1"}
)


class Shutdown:
    """The shutdown of a server: whether it has begun, the calls in progress, and all `calls` so far."""

    def __init__(self) -> None:
        self._begun, self._idle = anyio.Event(), anyio.Event()
        self.under_way, self.calls = 0, 0

    @property
    def has_begun(self) -> bool:
        """True once the server accepts no new calls."""
        return self._begun.is_set()

    def begin(self) -> None:
        """Begin the shutdown: accept no new calls. Safe to call again."""
        self._begun.set()
        self._check_idle()

    async def wait_until_over(self, most: float) -> None:
        """Wait until the shutdown begins, then at most `most` seconds for the calls in progress."""
        await self._begun.wait()
        with anyio.move_on_after(most):
            await self._idle.wait()

    @contextmanager
    def track_call(self) -> Iterator[None]:
        """Count a call during this block; the shutdown waits for it."""
        self.under_way, self.calls = self.under_way + 1, self.calls + 1
        try:
            yield
        finally:
            self.under_way -= 1
            self._check_idle()

    def _check_idle(self) -> None:
        if self.has_begun and not self.under_way:
            self._idle.set()


@dataclass(frozen=True, slots=True)
class ShutdownMiddleware:
    """Makes the shutdown wait for calls in progress. Streams do not count, since they never end."""

    app: ASGIApp
    ending: Shutdown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; count it as a call unless it opens a stream."""
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        # The header can be trusted: the SDK checks it against the body.
        if is_post and Headers(scope=scope).get("mcp-method") != _LISTEN_METHOD:
            with self.ending.track_call():
                await self.app(scope, receive, send)
        else:
            await self.app(scope, receive, send)


@dataclass(frozen=True, slots=True)
class GuardMiddleware:
    """Checks each request before the application gets it: host, origin, size, token.

    `limit` is the maximum size of a request in bytes. `closing` returns true once the server accepts no new
    calls. With `proxied`, requests may come through a proxy, so none counts as local. `apart` is true for the
    paths of dashboard pages: they authenticate by themselves, and only their headers are checked here.
    """

    app: ASGIApp
    hosts: frozenset[str]
    authenticator: Authenticator
    limit: int
    closing: Callable[[], bool]
    proxied: bool = False
    apart: Callable[[str], bool] = lambda _: False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on or refuse it. Callers without access cannot learn which paths exist."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self.refusal(headers)
        path = scope["path"]
        if refusal is None and not (
            path in OPEN_PATHS or self.authenticator.is_open(path) or self.apart(path)
        ):
            if self._is_local(scope, headers):
                set_grant(scope, _LOCAL_GRANT)
            else:
                refusal = await self.authenticator.authenticate(scope, headers)
            refusal = refusal or (_SHUTDOWN_REFUSAL if self.closing() else None)
        response = self.app
        if refusal:
            response = PlainTextResponse(f"{refusal.text}\n", refusal.status, refusal.headers)
        await response(scope, receive, send)

    def refusal(self, headers: Headers) -> HttpRefusal | None:
        """Return the refusal of a request with these headers, or None."""
        host, origin = headers.getlist("host"), headers.getlist("origin")
        if len(host) != 1 or host[0].lower() not in self.hosts:
            return HttpRefusal(
                421, "this server is not known by that host: use the address it told when it began"
            )
        scheme, _, page = "".join(origin).lower().partition("://")
        if origin and (len(origin) != 1 or scheme not in {"http", "https"} or page not in self.hosts):
            return HttpRefusal(
                403, "requests of other pages are not taken: send it from a program, or without Origin"
            )
        size = headers.get("content-length", "0")
        if not (size.isascii() and size.isdigit()) or int(size) > self.limit:
            return HttpRefusal(413, f"the limit is {self.limit} bytes: send less at a time")
        return None

    def _is_local(self, scope: Scope, headers: Headers) -> bool:
        """True if the client is on this machine and does not forward a request of another one."""
        forwarded = self.proxied or any(name in headers for name in _IDENTITY_HEADERS)
        if scope["path"] not in LOCAL_PATHS or forwarded or not scope.get("client"):
            return False
        return ip_address(scope["client"][0]).is_loopback


def host_names_of(address: str) -> frozenset[str]:
    """Return the valid `Host` values of a server at this address; on loopback, all names of loopback."""
    host, _, port = address.rpartition(":")
    return frozenset(f"{name}:{port}" for name in (LOOPBACK_HOSTS if host in LOOPBACK_HOSTS else (host,)))


class Pages(Protocol):
    """The dashboard pages, as the HTTP server uses them."""

    def build(
        self, url: str, authenticator: Authenticator, announce: Callable[[str], None]
    ) -> tuple[ASGIApp, Callable[[], None]]:
        """Build the pages of a server at this URL.

        Also return the function that calls `announce` with the address of the pages.
        """

    def has_page(self, path: str) -> bool:
        """True if there is a page at this path."""

    def close(self) -> None:
        """Stop the pages from listening to the store."""


class FaceEndpoints(Protocol):
    """Serves each face at its path, for every tenant."""

    faces: tuple[str, ...]
    halted: asyncio.Event
    """Set when the disk fails to confirm a write."""

    def face_application(self, face: str) -> ASGIApp:
        """Return the application that serves a face."""

    def run(self) -> AbstractAsyncContextManager[None]:
        """Serve during this block."""

    async def end_streams(self) -> None:
        """End the streams and sessions that would otherwise stay open."""

    def count_usage(self) -> Iterable[tuple[str, int, int]]:
        """Return each face with its number of sessions and of subscriptions."""


@dataclass(frozen=True, slots=True)
class Backend:
    """What the guard protects: the faces of all tenants, their metrics, the pages, and the shutdown.

    `measure_load` returns the load of the store; it raises a `Fault` if the store cannot be read.
    """

    tenants: FaceEndpoints
    metrics: Metrics
    measure_load: Callable[[], StoreLoad]
    pages: Pages
    ending: Shutdown = field(default_factory=Shutdown)

    async def end_streams(self) -> None:
        """End the streams and sessions that would otherwise stay open."""
        self.pages.close()
        await self.tenants.end_streams()

    def application(self, more: Iterable[BaseRoute] = ()) -> Starlette:
        """Build the application with all routes. The guard decides who may use them."""
        return Starlette(
            routes=[
                Route("/healthz", _answer_health, methods=["GET"]),
                Route("/readyz", self._answer_ready, methods=["GET"]),
                Route("/metrics", self._answer_metrics, methods=["GET"]),
                *(Route(face_path(face), self.tenants.face_application(face)) for face in self.tenants.faces),
                *more,
            ],
            lifespan=lambda _: self.tenants.run(),
        )

    async def _answer_ready(self, _: Request) -> PlainTextResponse:
        if self.ending.has_begun:
            return PlainTextResponse("ending\n", 503)
        readable = await run_sync(self._store_load)
        return PlainTextResponse("ok\n") if readable else PlainTextResponse("unreadable\n", 503)

    async def _answer_metrics(self, request: Request) -> Response:
        grant = get_request_grant(request)
        if AccessScope.READ not in grant.scopes or grant.projects is not None:
            text = f"this needs a token for all projects with the scope {AccessScope.READ}: ask for one\n"
            return PlainTextResponse(text, 403)
        self.metrics.set_under_way(self.ending.under_way)
        self.metrics.set_load(await run_sync(self._store_load))
        for face, sessions, subscriptions in self.tenants.count_usage():
            self.metrics.set_usage(face, sessions, subscriptions)
        return Response(self.metrics.text(), media_type=MEDIA_TYPE)

    def _store_load(self) -> StoreLoad | None:
        """Return the load of the store, or None if it cannot be read."""
        try:
            return self.measure_load()
        except Fault:
            return None


def face_path(face: str) -> str:
    """Return the path of a face."""
    return f"/mcp/{face}"


async def _answer_health(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok\n")


@dataclass(frozen=True, slots=True)
class PathRouter:
    """Sends requests for dashboard pages to `pages`, all others to `app`."""

    app: ASGIApp
    pages: ASGIApp
    has: Callable[[str], bool]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on to the pages or to the application."""
        is_page = scope["type"] != "lifespan" and self.has(scope["path"])
        await (self.pages if is_page else self.app)(scope, receive, send)
