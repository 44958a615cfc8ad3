"""What stands before every route: nobody comes in who is not let in, whatever route is added behind it.

A page in somebody's browser can send requests to a server on their machine. So a request names the host that
the server is known by, and one that a page sends comes from a page of ours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Asked

from handrail.faces.web.address import LOOPBACK
from handrail.faces.web.refusal import Refusal
from handrail.faces.web.who import Door, enter
from handrail.shell.access import Grant, Scope

OPEN: Final = frozenset({"/healthz", "/readyz"})
"""What anybody may ask: they say one word."""

NEAR: Final = frozenset({"/metrics"})
"""What whoever is on the same machine may read without saying who they are."""

_NEAR: Final = Grant("", frozenset({Scope.READ}))
_SAYS_WHO: Final = ("authorization", "forwarded", "via", "x-forwarded-for", "x-real-ip")
_ENDING: Final = Refusal(503, "the server is ending: send the same request again", {"retry-after": "1"})


@dataclass(frozen=True, slots=True)
class Guard:
    """An application behind its guard. `closing` is true from the moment on when nothing new is begun.

    `limit` is how many bytes a request may have. `proxied` says that requests may come through another
    program: none is then taken to be near.
    """

    app: ASGIApp
    hosts: frozenset[str]
    door: Door
    limit: int
    closing: Callable[[], bool]
    proxied: bool = False

    async def __call__(self, scope: Asked, receive: Receive, send: Send) -> None:
        """Let it in, or say why not; of what is not there, nothing is told before that."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self.refusal(headers)
        if refusal is None and scope["path"] not in OPEN and not self.door.is_open(scope["path"]):
            if self._is_near(scope, headers):
                enter(scope, _NEAR)
            else:
                refusal = await self.door.refusal(scope, headers)
            refusal = refusal or (_ENDING if self.closing() else None)
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
        size = headers.get("content-length", "0")
        if not (size.isascii() and size.isdigit()) or int(size) > self.limit:
            return Refusal(413, f"the limit is {self.limit} bytes: send less at a time")
        return None

    def _is_near(self, scope: Asked, headers: Headers) -> bool:
        """Whether the peer of the connection is on this machine, and speaks for nobody else."""
        if scope["path"] not in NEAR or self.proxied or any(name in headers for name in _SAYS_WHO):
            return False
        return bool(scope.get("client")) and ip_address(scope["client"][0]).is_loopback

    def _is_ours(self, origin: str) -> bool:
        scheme, _, host = origin.lower().partition("://")
        return scheme in {"http", "https"} and host in self.hosts


def known_by(address: str) -> frozenset[str]:
    """The names in `Host` of a server that listens there: on a loopback address, all names of that."""
    host, _, port = address.rpartition(":")
    return frozenset(f"{name}:{port}" for name in (LOOPBACK if host in LOOPBACK else (host,)))
