"""The sessions of clients of 2025: how many a principal may have, and how long one may be idle."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

from anyio import current_time
from mcp.server.auth.middleware.bearer_auth import (
    AuthenticatedUser,
    AuthorizationContext,
    authorization_context,
)
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from handrail.faces.mcp.bus import connection_of
from handrail.faces.mcp.direct import Client, connected
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


@dataclass(frozen=True, slots=True)
class Session:
    """The session of a client: how it is named to it, and how long it may be idle."""

    client: Client
    transport: StreamableHTTPServerTransport
    idle: int

    @property
    def name(self) -> bytes:
        """What the client calls it."""
        return str(self.transport.mcp_session_id).encode()

    def used(self) -> None:
        """A request was answered in it: from here on it is idle, unless something else is under way."""
        scope = self.transport.idle_scope
        if scope and scope.deadline != inf:
            scope.deadline = current_time() + self.idle


class Sessions(StreamableHTTPSessionManager):
    """The sessions of a face; `among` are those of all faces, its own too, and count together."""

    def __init__(self, server: Server[Any], may: Allowed, among: Iterable["Sessions"]) -> None:
        super().__init__(
            server, stateless=not may.sessions, session_idle_timeout=may.idle, max_request_body_size=may.limit
        )
        self._may, self._among = may, among
        self._owned: dict[str, WeakSet[StreamableHTTPServerTransport]] = {}
        self._clients: WeakKeyDictionary[StreamableHTTPServerTransport, Client | None] = WeakKeyDictionary()
        server.middleware.append(self._met)

    def of(self, name: str, scope: Scope) -> Session | None:
        """The session of this name, if it is that of who sends this request, and is known and not over."""
        transport = self._server_instances.get(name)
        client = self._clients.get(transport) if transport else None
        if transport is None or client is None or transport.is_terminated:
            return None
        user = scope.get("user")
        asks = authorization_context(user) if isinstance(user, AuthenticatedUser) else None
        over = transport.idle_scope is not None and transport.idle_scope.cancel_called
        is_theirs = asks == self._session_owners.get(name) and not over
        return Session(client, transport, self._may.idle) if is_theirs else None

    async def _met(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Learn from the SDK who the client of a session is; one that begins anew is not known any more."""
        name = ctx.request.headers.get(MCP_SESSION_ID_HEADER) if ctx.request else None
        transport = self._server_instances.get(name) if name else None
        if transport:
            self._clients[transport] = connected(connection_of(ctx)) if ctx.method != "initialize" else None
        return await call_next(ctx)

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
