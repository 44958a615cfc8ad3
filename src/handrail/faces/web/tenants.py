"""Whom a server serves: its faces are there once for each set of projects that somebody may see.

A face knows the projects it was made with, and the store as if there were no others. So nobody is answered by
one that knows more than they may, whatever tool or resource is added to it; and a session, a subscription or
a stream belongs to the projects it was begun with.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from weakref import WeakSet

import anyio
from anyio.abc import TaskGroup, TaskStatus
from starlette.types import ASGIApp, Receive, Scope, Send

from handrail.faces.mcp.callers import GRANT
from handrail.faces.mcp.server import Served
from handrail.faces.web.bodies import Checked
from handrail.faces.web.sessions import USUAL, Allowed, Sessions
from handrail.shell.access import Grant

MOST: Final = 64
"""How many sets of projects are kept ready; of more, those that nobody uses now are made anew."""

Seen: TypeAlias = frozenset[str] | None
"""The names of the projects that somebody may see; None for all."""


@dataclass(slots=True)
class Tenant:
    """The faces as those see them who may see the same projects; `busy` counts requests under way."""

    served: Mapping[str, Served]
    sessions: Mapping[str, Sessions]
    apps: Mapping[str, ASGIApp]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    busy: int = 0

    @contextmanager
    def used(self) -> Iterator[None]:
        """A block in which a request is under way, also one that only listens."""
        self.busy += 1
        try:
            yield
        finally:
            self.busy -= 1


class Tenants:
    """The tenants of a server. `halted` is set once the disk has not confirmed a write.

    `made` makes a face for those who may see these projects; `beside` is done while they are served.
    """

    def __init__(
        self,
        faces: Sequence[str],
        made: Callable[[str, Seen], Served],
        beside: Callable[[], Coroutine[Any, Any, None]] = anyio.sleep_forever,
        allowed: Allowed = USUAL,
        most: int = MOST,
    ) -> None:
        self.faces, self._made, self._beside = tuple(faces), made, beside
        self._allowed, self._most = allowed, most
        self.halted = asyncio.Event()
        self._tenants: dict[Seen, Tenant] = {}
        self._sessions: WeakSet[Sessions] = WeakSet()
        self._making = anyio.Lock()
        self._tasks: TaskGroup | None = None

    def stands(self) -> Iterator[tuple[str, int, int]]:
        """How many sessions and subscriptions each face has now."""
        for face in self.faces:
            faces = [(one.sessions[face], one.served[face]) for one in self._tenants.values()]
            yield face, sum(one.count for one, _ in faces), sum(one.bus.subscriptions for _, one in faces)

    async def end_streams(self) -> None:
        """End what has no end of its own: streams of 2026, and sessions of 2025."""
        for tenant in self._tenants.values():
            for served in tenant.served.values():
                served.listening.close()
            tenant.scope.cancel()

    def way_in(self, face: str) -> ASGIApp:
        """A face, for whoever asks."""
        return _WayIn(self, face)

    async def of(self, projects: Seen) -> Tenant:
        """Those who may see these projects."""
        found = self._tenants.get(projects) or await self._begun(projects)
        self._tenants[projects] = self._tenants.pop(projects, found)
        return found

    @asynccontextmanager
    async def alive(self) -> AsyncIterator[None]:
        """Serve while this lasts; who may see everything is served from the beginning on."""
        async with anyio.create_task_group() as self._tasks:
            try:
                self._tasks.start_soon(self._beside)
                await self.of(None)
                yield
            finally:
                self._tasks.cancel_scope.cancel()

    async def _begun(self, projects: Seen) -> Tenant:
        """The tenant, made now; whoever asks meanwhile waits for it, and whoever leaves does not end it."""
        with anyio.CancelScope(shield=True):
            async with self._making:
                if projects not in self._tenants:
                    made = await self._made_now(projects)
                    self._end_idle()
                    self._tenants[projects] = made
        return self._tenants[projects]

    async def _made_now(self, projects: Seen) -> Tenant:
        if self._tasks is None:
            raise RuntimeError("nobody is served before the server is alive")
        served = {face: self._made(face, projects) for face in self.faces}
        sessions = {face: Sessions(one, self._allowed, self._sessions) for face, one in served.items()}
        self._sessions.update(sessions.values())
        apps = {face: Checked(one, self._allowed.limit, served[face].needs) for face, one in sessions.items()}
        tenant = Tenant(served, sessions, apps)
        await self._tasks.start(self._serve, tenant)
        return tenant

    def _end_idle(self) -> None:
        """End those that nobody uses now, until there is room for one; who may see everything stays."""
        idle = [seen for seen, one in self._tenants.items() if seen is not None and not one.busy]
        for seen in idle[: max(0, len(self._tenants) + 1 - self._most)]:
            self._tenants.pop(seen).scope.cancel()

    async def _serve(
        self, tenant: Tenant, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve its faces for as long as the tenant is there; one of them looks after the store for all."""
        first, *others = tenant.served.values()
        with tenant.scope:
            async with AsyncExitStack() as stack:
                for sessions in tenant.sessions.values():
                    await stack.enter_async_context(sessions.run())
                task_status.started()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(first.look_after, *others)
                    for one in tenant.served.values():
                        tasks.start_soon(self._halt_with, one)

    async def _halt_with(self, served: Served) -> None:
        await served.halted.wait()
        self.halted.set()


@dataclass(frozen=True, slots=True)
class _WayIn:
    """A face as an application: each request goes to the face that knows what its sender may see."""

    tenants: Tenants
    face: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on."""
        grant: Grant = scope["state"][GRANT]
        tenant = await self.tenants.of(grant.projects)
        with tenant.used():
            await tenant.apps[self.face](scope, receive, send)
