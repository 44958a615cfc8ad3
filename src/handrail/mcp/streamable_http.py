"""MCP over HTTP: message checks, sessions, and one set of faces for each set of visible projects.

Start reading at `build_tenants`. A request passes `_FaceApplication` (which projects may its sender see?),
`MessageCheckMiddleware` (is it a valid message?) and `SessionManager` (counts and limits sessions), then the
SDK answers it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from math import inf
from pathlib import Path
from typing import Any, Final, TypeAlias
from weakref import WeakSet

import anyio
import mcp_types as types
import msgspec
from anyio import current_time
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import handrail
from handrail.app.app import App
from handrail.app.asgi import CHALLENGE_KEY, GRANT_KEY, MAX_MESSAGE_BYTES, read_body
from handrail.app.projects import NamedProjects, VisibleProjects, make_definitions_loader
from handrail.app.trust import TrustStore
from handrail.mcp.addresses import Spelling
from handrail.mcp.messages import EDGE_BYTES, MessageFlaw, read_message, too_long_flaw
from handrail.mcp.server import FaceServer, build_server
from handrail.runtime.errors import Fault
from handrail.runtime.ports.access import AccessScope, Grant
from handrail.runtime.ports.open_store import Store
from handrail.runtime.store_address import StoreLocation
from handrail.runtime.system import (
    data_folder,
    read_environment_number,
    read_environment_number_or_default,
    resolve_path,
    settings_folder,
)

log = logging.getLogger("handrail")
_MAX_SIZE_SETTING: Final = 16 * 1024 * 1024
_PROJECTS_REFRESH_SECONDS: Final = 1.0
# Beyond that, tenants without requests are closed, and built again when needed.
MAX_TENANTS: Final = 64

# Returns the scope that a request needs, from its method and its tool name; None if it needs none.
RequiredScope: TypeAlias = Callable[[str, str], AccessScope | None]


class _CallParams(msgspec.Struct):
    name: object = ""


class _SentCall(msgspec.Struct):
    method: str = ""
    params: _CallParams | None = None
    id: int | str | None = None


_call_decoder: Final = msgspec.json.Decoder(_SentCall)


@dataclass(frozen=True, slots=True)
class MessageCheckMiddleware:
    """Passes valid messages on to the application and answers all others with an error.

    `limit` is the maximum size of a message in bytes; `needs` returns the scope that a message needs.
    """

    app: ASGIApp
    limit: int
    needs: RequiredScope

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the whole message; pass it on, or answer what is wrong with it."""
        if scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            body = await read_body(Request(scope, receive), self.limit)
        except ClientDisconnect:
            return
        status, flaw = 413, too_long_flaw(len(body), self.limit) if len(body) > self.limit else None
        if flaw is None:
            message = read_message(body)
            status, flaw = 400, message if isinstance(message, MessageFlaw) else None
        if flaw:
            text = flaw.to_json(body[:EDGE_BYTES], body[-EDGE_BYTES:])
            await Response(text, status, media_type="application/json")(scope, receive, send)
        elif refusal := refuse_missing_scope(scope, body, self.needs):
            await refusal(scope, receive, send)
        else:
            parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

            async def replay_body() -> Message:
                return parts.pop() if parts else await receive()

            await self.app(scope, replay_body, send)


def refuse_missing_scope(scope: Scope, body: bytes, needs: RequiredScope) -> Response | None:
    """Return the 403 response if the token of an issuer lacks the needed scope, otherwise None.

    Only clients that can ask their issuer for another token get it. The others get the refusal as the answer
    to their call.
    """
    challenge = scope["state"].get(CHALLENGE_KEY)
    if challenge is None:
        return None
    try:
        sent = _call_decoder.decode(body)
    except msgspec.ValidationError:
        return None
    needed = needs(sent.method, str(sent.params.name) if sent.params else "")
    if needed is None or needed in scope["state"][GRANT_KEY].scopes:
        return None
    text = f"your token does not let you do this: ask your issuer for one with the scope {needed}"
    error = {"code": types.INVALID_REQUEST, "message": text}
    reply = {"jsonrpc": "2.0", "id": sent.id, "error": error}
    return JSONResponse(reply, 403, {"www-authenticate": challenge(needed)})


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How many sessions a principal may open (`most`), and how many seconds one may be `idle`.

    If `sessions` is false, there are no sessions: each request is independent, and any server can answer it.
    `limit` is the maximum size of a message in bytes.
    """

    most: int = 1000
    idle: int = 1800
    sessions: bool = True
    limit: int = MAX_MESSAGE_BYTES


DEFAULT_SESSION_LIMITS: Final = SessionLimits()


def load_session_limits(*, sessions: bool) -> SessionLimits:
    """Read the limits from HANDRAIL_SESSIONS, HANDRAIL_SESSION_IDLE and HANDRAIL_SIZE.

    Raises `Unreadable` if one of them is not a number.
    """
    default = DEFAULT_SESSION_LIMITS
    most = read_environment_number_or_default("HANDRAIL_SESSIONS", default.most, "sessions")
    idle = read_environment_number_or_default("HANDRAIL_SESSION_IDLE", default.idle)
    size = read_environment_number("HANDRAIL_SIZE", "bytes", _MAX_SIZE_SETTING) or default.limit
    return SessionLimits(most, idle, sessions, size)


@dataclass(slots=True, eq=False)
class _Session:
    """An open session of a principal.

    `idle` is how many seconds it may be idle. It ends at `expires_at`, a time of the event loop's clock.
    While a request is in progress, that is infinity.
    """

    principal: str
    idle: int
    requests: int = 0
    expires_at: float = inf

    @contextmanager
    def track_request(self) -> Iterator[None]:
        """Keep the session alive during this block: a request is in progress, or a stream is open."""
        self.requests, self.expires_at = self.requests + 1, inf
        try:
            yield
        finally:
            self.requests -= 1
            if not self.requests:
                self.expires_at = current_time() + self.idle


class SessionManager:
    """Limits how many sessions a principal opens, in all faces (`all_managers`) together.

    The SDK opens sessions, ends idle ones, and knows their owners. This class counts them by the same rule: a
    session ends when its client ends it, or when it had no request in progress for the allowed idle time.
    """

    def __init__(
        self, served: FaceServer, limits: SessionLimits, all_managers: Iterable["SessionManager"]
    ) -> None:
        self._manager = StreamableHTTPSessionManager(
            served,
            stateless=not limits.sessions,
            session_idle_timeout=limits.idle,
            max_request_body_size=limits.limit,
        )
        self._limits, self._all_managers, self._bus = limits, all_managers, served.bus
        self._open: dict[object, _Session] = {}

    def run(self) -> AbstractAsyncContextManager[None]:
        """Serve the face during this block; all sessions and their streams end with it."""
        return self._manager.run()

    def count_sessions(self, principal: str | None = None) -> int:
        """Count the open sessions of a principal, or all; the empty name is for anonymous callers."""
        now = current_time()
        for name in [name for name, session in self._open.items() if session.expires_at < now]:
            self._forget(name)
        return sum(principal in {None, session.principal} for session in self._open.values())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the SDK answer a request, inside its session. Clients of the 2026 protocol have none."""
        headers = Headers(scope=scope)
        is_modern = headers.get(MCP_PROTOCOL_VERSION_HEADER, "") not in {"", *HANDSHAKE_PROTOCOL_VERSIONS}
        if is_modern or (not self._limits.sessions and scope["method"] == "POST"):
            await self._manager.handle_request(scope, receive, send)
        elif not self._limits.sessions:
            await Response(status_code=405, headers={"allow": "POST"})(scope, receive, send)
        elif name := headers.get(MCP_SESSION_ID_HEADER):
            await self._continue_session(name, scope, receive, send)
        else:
            await self._open_session(scope, receive, send)

    async def _open_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Open a session; answer 503 if its principal has reached the limit."""
        session = _Session(scope["state"][GRANT_KEY].principal, self._limits.idle)
        opened = sum(manager.count_sessions(session.principal) for manager in self._all_managers)
        if opened >= self._limits.most:
            limit = f"you have {self._limits.most} sessions open"
            text = f"{limit}: end one (DELETE), or wait until one is idle\n"
            await PlainTextResponse(text, 503, {"retry-after": "60"})(scope, receive, send)
            return

        async def send_and_record(message: Message) -> None:
            if message["type"] == "http.response.start":
                name = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if name and message["status"] < HTTPStatus.BAD_REQUEST:
                    self._open[name] = self._open.pop(session)
            await send(message)

        self._open[session] = session
        try:
            with session.track_request():
                await self._manager.handle_request(scope, receive, send_and_record)
        finally:
            self._open.pop(session, None)

    async def _continue_session(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of an existing session; forget the session if the response shows that it ended."""
        session = self._open.get(name)
        if session is None or session.principal != scope["state"][GRANT_KEY].principal:
            await self._manager.handle_request(scope, receive, send)
            return

        async def send_and_record(message: Message) -> None:
            if message["type"] == "http.response.start":
                deleted = scope["method"] == "DELETE" and message["status"] == HTTPStatus.OK
                if deleted or message["status"] == HTTPStatus.NOT_FOUND:
                    self._forget(name)
            await send(message)

        with session.track_request():
            await self._manager.handle_request(scope, receive, send_and_record)

    def _forget(self, name: object) -> None:
        self._open.pop(name, None)
        self._bus.forget(str(name))


@dataclass(slots=True)
class Tenant:
    """The faces for all callers who may see the same projects; `busy` counts their requests in progress.

    Only one tenant `sweeps` idle runs. Cancelling `scope` ends the tenant.
    """

    served: Mapping[str, FaceServer]
    sessions: Mapping[str, SessionManager]
    apps: Mapping[str, ASGIApp]
    sweeps: bool
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    busy: int = 0

    @contextmanager
    def track_request(self) -> Iterator[None]:
        """Count a request as in progress during this block; an open stream counts too."""
        self.busy += 1
        try:
            yield
        finally:
            self.busy -= 1


class Tenants:
    """The tenants of a server. `halted` is set when the disk fails to confirm a write.

    `build_servers` builds the faces for callers who may see these projects. `background` runs meanwhile.
    """

    def __init__(
        self,
        faces: Sequence[str],
        build_servers: Callable[[VisibleProjects], Mapping[str, FaceServer]],
        background: Callable[[], Coroutine[Any, Any, None]] = anyio.sleep_forever,
        allowed: SessionLimits = DEFAULT_SESSION_LIMITS,
        most: int = MAX_TENANTS,
    ) -> None:
        self.faces, self._build_servers, self._background = tuple(faces), build_servers, background
        self._allowed, self._most = allowed, most
        self.halted = asyncio.Event()
        self._tenants: dict[VisibleProjects, Tenant] = {}
        self._sessions: WeakSet[SessionManager] = WeakSet()
        self._build_lock = anyio.Lock()
        self._tasks: TaskGroup | None = None

    def count_usage(self) -> Iterator[tuple[str, int, int]]:
        """Yield each face with its number of sessions and of subscriptions."""
        for face in self.faces:
            sessions = sum(tenant.sessions[face].count_sessions() for tenant in self._tenants.values())
            yield face, sessions, sum(t.served[face].bus.subscriptions for t in self._tenants.values())

    async def end_streams(self) -> None:
        """End what would stay open: the streams of 2026 clients and the sessions of 2025 clients."""
        for tenant in self._tenants.values():
            for served in tenant.served.values():
                served.listening.close()
            tenant.scope.cancel()

    def face_application(self, face: str) -> ASGIApp:
        """Return the application that serves a face to every tenant."""
        return _FaceApplication(self, face)

    async def get_tenant(self, projects: VisibleProjects) -> Tenant:
        """Return the tenant for these projects, and build it if there is none; it becomes the newest."""
        if projects not in self._tenants:
            # Concurrent requests wait for the one that builds it; a client that disconnects cannot cancel it.
            with anyio.CancelScope(shield=True):
                async with self._build_lock:
                    if projects not in self._tenants:
                        tenant = await self._build_tenant(projects)
                        self._end_idle()
                        self._tenants[projects] = tenant
        self._tenants[projects] = self._tenants.pop(projects)
        return self._tenants[projects]

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve during this block. The tenant that sees all projects is built at the start."""
        async with anyio.create_task_group() as self._tasks:
            try:
                self._tasks.start_soon(self._background)
                await self.get_tenant(None)
                yield
            finally:
                self._tasks.cancel_scope.cancel()

    async def _build_tenant(self, projects: VisibleProjects) -> Tenant:
        if self._tasks is None:
            raise RuntimeError("nobody is served before the server is alive")
        served = self._build_servers(projects)
        sessions: dict[str, SessionManager] = {}
        apps: dict[str, ASGIApp] = {}
        for face, server in served.items():
            sessions[face] = SessionManager(server, self._allowed, self._sessions)
            apps[face] = MessageCheckMiddleware(sessions[face], self._allowed.limit, server.required_scope)
        self._sessions.update(sessions.values())
        tenant = Tenant(served, sessions, apps, sweeps=projects is None)
        await self._tasks.start(self._serve, tenant)
        return tenant

    def _end_idle(self) -> None:
        """Close unused tenants until there is room for one more; the one that sees all projects stays."""
        idle = [seen for seen, tenant in self._tenants.items() if seen is not None and not tenant.busy]
        for projects in idle[: max(0, len(self._tenants) + 1 - self._most)]:
            self._tenants.pop(projects).scope.cancel()

    async def _serve(
        self, tenant: Tenant, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve the tenant's faces until it is cancelled. One face does the background work for all."""
        first, *others = tenant.served.values()
        with tenant.scope:
            async with AsyncExitStack() as stack:
                for sessions in tenant.sessions.values():
                    await stack.enter_async_context(sessions.run())
                task_status.started()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(partial(first.look_after, *others, sweeps=tenant.sweeps))
                    for served in tenant.served.values():
                        tasks.start_soon(self._halt_with, served)

    async def _halt_with(self, served: FaceServer) -> None:
        await served.halted.wait()
        self.halted.set()


@dataclass(frozen=True, slots=True)
class _FaceApplication:
    """A face as an ASGI application: each request goes to the tenant that its sender belongs to."""

    tenants: Tenants
    face: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on to its tenant."""
        grant: Grant = scope["state"][GRANT_KEY]
        tenant = await self.tenants.get_tenant(grant.projects)
        with tenant.track_request():
            await tenant.apps[self.face](scope, receive, send)


class ServedProjects:
    """The projects of a server by name: the registered ones, and those it was started with.

    Clients see labels instead of the paths of the server's own folders.
    """

    def __init__(self, store: Store, given: Mapping[str, Path]) -> None:
        self._store, self._given, self._folders = store, given, _folder_labels(store.location)
        self._load_definitions = make_definitions_loader(TrustStore())
        self._projects = self._read()

    async def refresh_forever(self) -> None:
        """Reload the list of registered projects again and again, until cancelled."""
        while True:
            await anyio.sleep(_PROJECTS_REFRESH_SECONDS)
            try:
                self._projects = await self._store.writer.call_async(self._read)
            except Fault as fault:
                log.warning("%s; %s", fault.message, fault.repair)

    def _read(self) -> Mapping[str, Path]:
        registered = {row.name: Path(row.root) for row in self._store.registry.projects()}
        return {**registered, **self._given}

    def select(self, visible: VisibleProjects) -> NamedProjects:
        """Return the projects that a caller may see."""

        def select_roots() -> Mapping[str, Path]:
            known = self._projects
            return {name: root for name, root in known.items() if visible is None or name in visible}

        return NamedProjects(select_roots, self._load_definitions, self._folders)


def build_tenants(  # noqa: PLR0913 - what a server is made of
    app: App,
    faces: Sequence[str],
    known: ServedProjects,
    names: Spelling,
    *,
    limits: SessionLimits = DEFAULT_SESSION_LIMITS,
    instrument: Callable[[str, FaceServer], None] = lambda _face, _server: None,
) -> Tenants:
    """Build the tenants of a server over this app; `instrument` is called with every face that is built.

    A tenant is the same app, limited to the projects that its callers may see. Only the tenant that sees all
    projects sweeps idle runs.
    """

    def build_servers(visible: VisibleProjects) -> Mapping[str, FaceServer]:
        tenant = app.limit_to(known.select(visible))
        servers = {face: build_server(tenant, face, names, replicas=not limits.sessions) for face in faces}
        for face, server in servers.items():
            instrument(face, server)
        return servers

    return Tenants(faces, build_servers, known.refresh_forever, limits)


def _folder_labels(store: StoreLocation) -> Mapping[str, str]:
    """Return the labels that clients see in place of the server's own paths, such as its store and settings.

    The projects are not among them.
    """
    store_paths = (store.parent, resolve_path(store.parent)) if isinstance(store, Path) else (store,)
    labels = {
        **dict.fromkeys(store_paths, "the store's folder" if isinstance(store, Path) else "the store"),
        Path(handrail.__file__).parent: "handrail",
        settings_folder(): "the server's settings",
        data_folder(): "the server's data",
        Path.home(): "~",
    }
    return {str(path): text for path, text in labels.items() if path != Path("/")}
