"""Who wants to hear what: one `publish` reaches clients of both protocol eras.

Clients of 2026 open a stream, those of 2025 subscribe and keep their connection. The feed of the store is
listened to from the first subscription on, and not before.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

import mcp_types as types
from anyio.to_thread import run_sync
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
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


class Bus(InMemorySubscriptionBus):
    """The subscriptions of a server."""

    def __init__(self, listen: Listen) -> None:
        super().__init__()
        self._listen = listen
        self._end: Callable[[], None] | None = None
        self._subscribed: WeakKeyDictionary[Connection, set[str]] = WeakKeyDictionary()
        self._connected: WeakSet[Connection] = WeakSet()
        self._streams: set[object] = set()

    @property
    def subscriptions(self) -> int:
        """How many streams of 2026 are open, and resources subscribed to by clients of 2025."""
        return len(self._streams) + sum(map(len, self._subscribed.values()))

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
                for connection in [one for one, uris in self._subscribed.items() if uri in uris]:
                    await connection.send_resource_updated(uri)
            case PromptsListChanged():
                for connection in list(self._connected):
                    await connection.send_prompt_list_changed()
            case ResourcesListChanged():
                for connection in list(self._connected):
                    await connection.send_resource_list_changed()
            case _:
                pass

    def install(self, server: Server[Any]) -> None:
        """Serve `resources/subscribe` and `unsubscribe`, which the SDK leaves out."""
        server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, self._subscribe)
        server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe)
        server.middleware.append(self._track)

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

    async def _subscribe(
        self, ctx: ServerRequestContext[Any, Any], params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        mine = self._subscribed.setdefault(connection_of(ctx), set())
        if len(mine) >= MOST and str(params.uri) not in mine:
            message = f"a client can subscribe to {MOST} resources at once: unsubscribe from some"
            raise MCPError(types.INVALID_REQUEST, message)
        self._begin()
        mine.add(str(params.uri))
        return types.EmptyResult()

    async def _unsubscribe(
        self, ctx: ServerRequestContext[Any, Any], params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self._subscribed.get(connection_of(ctx), set()).discard(str(params.uri))
        return types.EmptyResult()

    async def _track(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Remember the connections of the 2025 era: they are told of changed lists without asking."""
        if ctx.method == "notifications/initialized":
            self._connected.add(connection_of(ctx))
        return await call_next(ctx)


def connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The connection of a request: its session is made anew for each."""
    return ctx.session._connection  # noqa: SLF001 - the SDK has no other name for it; a test holds it in place
