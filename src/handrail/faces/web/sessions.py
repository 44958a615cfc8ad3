"""The sessions of clients of 2025: how many a principal may have, and how long one may be idle."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakSet

from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from handrail.faces.mcp.frames import LIMIT
from handrail.shell.opening import numbered, size

_MOST: Final = "HANDRAIL_SESSIONS"
_IDLE: Final = "HANDRAIL_SESSION_IDLE"


@dataclass(frozen=True, slots=True)
class Allowed:
    """How many sessions a principal may have in a server, and how many seconds one may be idle.

    Without `sessions` there are none: each request stands for itself, and any server can answer it. A message
    may have `limit` bytes.
    """

    most: int = 1000
    idle: int = 1800
    sessions: bool = True
    limit: int = LIMIT


USUAL: Final = Allowed()


def allowed(*, sessions: bool) -> Allowed:
    """What HANDRAIL_SESSIONS, HANDRAIL_SESSION_IDLE and HANDRAIL_SIZE say.

    Raises `Unreadable` if that is no number.
    """
    most, idle = numbered(_MOST, USUAL.most, "sessions"), numbered(_IDLE, USUAL.idle)
    return Allowed(most, idle, sessions, size(USUAL.limit))


class Full(Exception):  # noqa: N818 - no error of ours: somebody has all the sessions they may have
    """A principal has as many sessions as they may have."""


class Sessions(StreamableHTTPSessionManager):
    """The sessions of a face; `among` are those of all faces, its own too, and count together."""

    def __init__(self, server: Server[Any], may: Allowed, among: Iterable["Sessions"]) -> None:
        super().__init__(
            server, stateless=not may.sessions, session_idle_timeout=may.idle, max_request_body_size=may.limit
        )
        self._may, self._among = may, among
        self._owned: dict[str, WeakSet[StreamableHTTPServerTransport]] = {}

    def owned(self, principal: str) -> int:
        """How many sessions a principal has open here; without a name, those of whoever was not asked."""
        return sum(not one.is_terminated for one in self._owned.get(principal, ()))

    @property
    def count(self) -> int:
        """How many sessions are open."""
        return sum(map(self.owned, self._owned))

    async def end(self) -> None:
        """End every session, and with it the streams that its client has open."""
        for transport in [one for some in self._owned.values() for one in some if not one.is_terminated]:
            await transport.terminate()

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        principal = requestor["client_id"] if requestor else ""
        if sum(one.owned(principal) for one in self._among) >= self._may.most:
            raise Full
        transport = super()._admit_session(requestor)
        if transport is not None:
            self._owned = {who: kept for who, kept in self._owned.items() if kept}
            self._owned.setdefault(principal, WeakSet()).add(transport)
        return transport

    async def _handle_stateless_request(
        self, protocol_version_hint: str | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Nobody has a session to listen to, or to end."""
        if scope["method"] == "POST":
            await super()._handle_stateless_request(protocol_version_hint, scope, receive, send)
        else:
            await Response(status_code=405, headers={"allow": "POST"})(scope, receive, send)

    async def _handle_stateful_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super()._handle_stateful_request(scope, receive, send)
        except Full:
            told = f"you have {self._may.most} sessions open: end one (DELETE), or wait until one is idle\n"
            await PlainTextResponse(told, 503, {"retry-after": "60"})(scope, receive, send)
