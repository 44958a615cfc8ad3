"""What stands before every route: nobody comes in who is not let in, whatever route is added behind it.

A page in somebody's browser can send requests to a server on their machine. So a request names the host that
the server is known by, and one that a page sends comes from a page of ours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from handrail.faces.web.refusal import Refusal
from handrail.faces.web.who import Door

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
OPEN: Final = frozenset({"/healthz", "/readyz"})
"""What anybody may ask: they say one word."""

_RETRY: Final = {"retry-after": "1"}


@dataclass(frozen=True, slots=True)
class Guard:
    """An application behind its guard. `closing` is true from the moment on when nothing new is begun.

    `limit` is how many bytes a request may have.
    """

    app: ASGIApp
    hosts: frozenset[str]
    door: Door
    limit: int
    closing: Callable[[], bool]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it in, or say why not; of what is not there, nothing is told before that."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self.refusal(headers)
        if refusal is None and scope["path"] not in OPEN and not self.door.is_open(scope["path"]):
            refusal = await self.door.refusal(scope, headers)
        if refusal is None:
            await self.app(scope, receive, send)
            return
        response = PlainTextResponse(f"{refusal.text}\n", refusal.status, refusal.headers)
        await response(scope, receive, send)

    def refusal(self, headers: Headers) -> Refusal | None:
        """Why a request with these headers is not let in, if it is not."""
        host, origin = headers.getlist("host"), headers.getlist("origin")
        if len(host) != 1 or host[0].lower() not in self.hosts:
            return Refusal(
                421, "this server is not known by that host: use the address it told when it began"
            )
        if origin and (len(origin) != 1 or not self._is_ours(origin[0])):
            return Refusal(
                403, "requests of other pages are not taken: send it from a program, or without Origin"
            )
        if self.closing():
            return Refusal(503, "the server is ending: send the same request again", _RETRY)
        size = headers.get("content-length", "0")
        if not (size.isascii() and size.isdigit()) or int(size) > self.limit:
            return Refusal(413, f"the limit is {self.limit} bytes: send less at a time")
        return None

    def _is_ours(self, origin: str) -> bool:
        scheme, _, host = origin.lower().partition("://")
        return scheme in {"http", "https"} and host in self.hosts


def known_by(address: str) -> frozenset[str]:
    """The names in `Host` of a server that listens there: on a loopback address, all names of that."""
    host, _, port = address.rpartition(":")
    return frozenset(f"{name}:{port}" for name in (LOOPBACK if host in LOOPBACK else (host,)))
