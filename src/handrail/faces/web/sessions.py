"""The sessions of clients of 2025: how many a principal may have, and how long one may be idle."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from typing import Final

from anyio import current_time
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from handrail.faces.mcp.callers import GRANT
from handrail.faces.mcp.frames import LIMIT
from handrail.faces.mcp.server import Served
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


@dataclass(slots=True, eq=False)
class _Session:
    """A session of a principal; `over` is when it will have been idle for too long, if nothing happens."""

    principal: str
    idle: int
    requests: int = 0
    over: float = inf

    @contextmanager
    def used(self) -> Iterator[None]:
        """A block in which a request of this session is under way, also one that only listens."""
        self.requests, self.over = self.requests + 1, inf
        try:
            yield
        finally:
            self.requests -= 1
            if not self.requests:
                self.over = current_time() + self.idle


class Sessions:
    """The sessions of a face; `among` are those of all faces, its own too, and count together.

    The SDK opens sessions, ends those that are idle, and knows whose they are. What goes through here is
    counted by the same rule: a session is over when its client ends it, or when no request was under way for
    as long as it may be idle.
    """

    def __init__(self, served: Served, may: Allowed, among: Iterable["Sessions"]) -> None:
        self._manager = StreamableHTTPSessionManager(
            served, stateless=not may.sessions, session_idle_timeout=may.idle, max_request_body_size=may.limit
        )
        self._may, self._among, self._bus = may, among, served.bus
        self._open: dict[object, _Session] = {}

    def run(self) -> AbstractAsyncContextManager[None]:
        """A block in which the face is served; when it is left, every session is ended, and its streams."""
        return self._manager.run()

    def owned(self, principal: str) -> int:
        """How many sessions a principal has open here; without a name, those of whoever was not asked."""
        self._forget_idle()
        return sum(one.principal == principal for one in self._open.values())

    @property
    def count(self) -> int:
        """How many sessions are open."""
        self._forget_idle()
        return len(self._open)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as the SDK does; a client of 2026 has no session."""
        headers = Headers(scope=scope)
        is_modern = headers.get(MCP_PROTOCOL_VERSION_HEADER, "") not in {"", *HANDSHAKE_PROTOCOL_VERSIONS}
        if is_modern or (not self._may.sessions and scope["method"] == "POST"):
            await self._manager.handle_request(scope, receive, send)
        elif not self._may.sessions:
            await Response(status_code=405, headers={"allow": "POST"})(scope, receive, send)
        elif name := headers.get(MCP_SESSION_ID_HEADER):
            await self._go_on(name, scope, receive, send)
        else:
            await self._begin(scope, receive, send)

    async def _begin(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Open a session, unless its principal has as many as they may have."""
        session = _Session(scope["state"][GRANT].principal, self._may.idle)
        if sum(one.owned(session.principal) for one in self._among) >= self._may.most:
            told = f"you have {self._may.most} sessions open: end one (DELETE), or wait until one is idle\n"
            await PlainTextResponse(told, 503, {"retry-after": "60"})(scope, receive, send)
            return

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                name = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if name and message["status"] < HTTPStatus.BAD_REQUEST:
                    self._open[name] = self._open.pop(session)
            await send(message)

        self._open[session] = session
        try:
            with session.used():
                await self._manager.handle_request(scope, receive, noting)
        finally:
            self._open.pop(session, None)

    async def _go_on(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request in a session; that it has ended shows in the answer."""
        session = self._open.get(name)
        if session is None or session.principal != scope["state"][GRANT].principal:
            await self._manager.handle_request(scope, receive, send)
            return

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                deleted = scope["method"] == "DELETE" and message["status"] == HTTPStatus.OK
                if deleted or message["status"] == HTTPStatus.NOT_FOUND:
                    self._forget(name)
            await send(message)

        with session.used():
            await self._manager.handle_request(scope, receive, noting)

    def _forget_idle(self) -> None:
        now = current_time()
        for name in [name for name, one in self._open.items() if one.over < now]:
            self._forget(name)

    def _forget(self, name: object) -> None:
        self._open.pop(name, None)
        self._bus.forget(str(name))
