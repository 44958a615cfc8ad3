"""Who wants to hear what: one `publish` reaches clients of both protocol eras.

Clients of 2026 open a stream, those of 2025 subscribe and keep their connection. The feed of the store is
listened to from the first subscription on, and not before.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import mcp_types as types
from anyio.to_thread import run_sync
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError

MOST: Final = 256
"""How many resources a client of 2025 can subscribe to at once."""

Tell: TypeAlias = Callable[[tuple[str, ...]], None]
Listen: TypeAlias = Callable[[Tell], Callable[[], None]]
"""Begins to tell which URIs have changed, in any thread; what it gives back ends that."""


@dataclass(slots=True)
class _Client:
    """A client of 2025: how it is reached, what it subscribed to, and whether it hears of changed lists."""

    session: ServerSession
    uris: set[str] = field(default_factory=set)
    met: bool = False


class Bus(InMemorySubscriptionBus):
    """The subscriptions of a server."""

    def __init__(self, listen: Listen) -> None:
        super().__init__()
        self._listen = listen
        self._end: Callable[[], None] | None = None
        self._clients: dict[str, _Client] = {}
        self._streams: set[object] = set()

    @property
    def subscriptions(self) -> int:
        """How many streams of 2026 are open, and resources subscribed to by clients of 2025."""
        return len(self._streams) + sum(len(one.uris) for one in self._clients.values())

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Tell a stream of 2026 of every event; the SDK picks those it asked for."""
        self._begin()
        stream, end = object(), super().subscribe(listener)
        self._streams.add(stream)

        def ended() -> None:
            self._streams.discard(stream)
            end()

        return ended

    async def publish(self, event: ServerEvent) -> None:
        """Tell everybody who asked to hear of this."""
        await super().publish(event)
        match event:
            case ResourceUpdated(uri=uri):
                for client in [one for one in self._clients.values() if uri in one.uris]:
                    await client.session.send_resource_updated(uri)
            case PromptsListChanged():
                for client in [one for one in self._clients.values() if one.met]:
                    await client.session.send_prompt_list_changed()
            case ResourcesListChanged():
                for client in [one for one in self._clients.values() if one.met]:
                    await client.session.send_resource_list_changed()
            case _:
                pass

    def forget(self, session: str) -> None:
        """The session of this name is over."""
        self._clients.pop(session, None)

    async def close(self) -> None:
        """Hear nothing more of the store."""
        if self._end:
            await run_sync(self._end)
            self._end = None

    def _begin(self) -> None:
        if self._end is not None:
            return
        loop = asyncio.get_running_loop()

        def tell(uris: tuple[str, ...]) -> None:
            asyncio.run_coroutine_threadsafe(self._changed(uris), loop)

        self._end = self._listen(tell)

    async def _changed(self, uris: tuple[str, ...]) -> None:
        for uri in uris:
            await self.publish(ResourceUpdated(uri=uri))

    async def subscribe_resource(
        self, ctx: ServerRequestContext[Any, Any], params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Tell a client of 2025 of every change of a resource."""
        mine = self._client(ctx).uris
        if len(mine) >= MOST and params.uri not in mine:
            message = f"a client can subscribe to {MOST} resources at once: unsubscribe from some"
            raise MCPError(types.INVALID_REQUEST, message)
        self._begin()
        mine.add(params.uri)
        return types.EmptyResult()

    async def unsubscribe_resource(
        self, ctx: ServerRequestContext[Any, Any], params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Tell it no more of that resource."""
        self._client(ctx).uris.discard(params.uri)
        return types.EmptyResult()

    async def meet(self, ctx: ServerRequestContext[Any, Any], params: types.NotificationParams) -> None:
        """A client of 2025 has begun: it is told of changed lists without asking."""
        del params
        self._client(ctx).met = True

    def _client(self, ctx: ServerRequestContext[Any, Any]) -> _Client:
        """The client of a request: over HTTP its session has a name, and over stdin there is one client.

        The SDK makes a `ServerSession` for each request. What it sends of its own accord goes to the
        connection, whichever request it was made for.
        """
        name = ctx.request.headers.get(MCP_SESSION_ID_HEADER, "") if ctx.request else ""
        return self._clients.setdefault(name, _Client(ctx.session))
