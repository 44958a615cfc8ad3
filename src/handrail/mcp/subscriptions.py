"""Subscriptions: one `publish` reaches clients of both protocol versions.

Clients of 2026 open a stream; clients of 2025 subscribe to resources over their connection. The bus starts to
listen to the store's feed with the first subscription.
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

_MAX_SUBSCRIPTIONS: Final = 256  # of one client of 2025
ChangeListener: TypeAlias = Callable[[tuple[str, ...]], None]
# Starts to call the listener with changed URIs, from any thread; returns the function that stops it.
ListenToChanges: TypeAlias = Callable[[ChangeListener], Callable[[], None]]


@dataclass(slots=True)
class _Client:
    """A client of 2025: its session, and the URIs it subscribed to.

    Once it is `initialized`, it also gets list changes.
    """

    session: ServerSession
    uris: set[str] = field(default_factory=set)
    initialized: bool = False


class SubscriptionBus(InMemorySubscriptionBus):
    """The subscriptions of a server."""

    def __init__(self, listen: ListenToChanges) -> None:
        super().__init__()
        self._listen = listen
        self._end: Callable[[], None] | None = None
        self._clients: dict[str, _Client] = {}
        self._streams: set[object] = set()

    @property
    def subscriptions(self) -> int:
        """The number of open streams (2026) plus that of subscribed resources (2025)."""
        return len(self._streams) + sum(len(one.uris) for one in self._clients.values())

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Send every event to a stream of 2026; the SDK filters those it asked for.

        Return the function that ends the subscription.
        """
        self._start_listening()
        stream, end = object(), super().subscribe(listener)
        self._streams.add(stream)

        def unsubscribe() -> None:
            self._streams.discard(stream)
            end()

        return unsubscribe

    async def publish(self, event: ServerEvent) -> None:
        """Send an event to every client that subscribed to it."""
        await super().publish(event)
        for client in list(self._clients.values()):
            if isinstance(event, ResourceUpdated) and event.uri in client.uris:
                await client.session.send_resource_updated(event.uri)
            elif isinstance(event, PromptsListChanged) and client.initialized:
                await client.session.send_prompt_list_changed()
            elif isinstance(event, ResourcesListChanged) and client.initialized:
                await client.session.send_resource_list_changed()

    def forget(self, session: str) -> None:
        """Drop the subscriptions of a session that has ended."""
        self._clients.pop(session, None)

    async def close(self) -> None:
        """Stop listening to the store's feed."""
        if self._end:
            await run_sync(self._end)
            self._end = None

    def _start_listening(self) -> None:
        if self._end is not None:
            return
        loop = asyncio.get_running_loop()

        async def publish_updates(uris: tuple[str, ...]) -> None:
            for uri in uris:
                await self.publish(ResourceUpdated(uri=uri))

        def notify(uris: tuple[str, ...]) -> None:
            asyncio.run_coroutine_threadsafe(publish_updates(uris), loop)

        self._end = self._listen(notify)

    async def subscribe_resource(
        self, ctx: ServerRequestContext[Any, Any], params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Subscribe a client of 2025 to a resource.

        Raises `MCPError` if it already has the maximum number of subscriptions.
        """
        uris = self._client(ctx).uris
        if len(uris) >= _MAX_SUBSCRIPTIONS and params.uri not in uris:
            most = f"a client can subscribe to {_MAX_SUBSCRIPTIONS} resources at once"
            message = f"{most}: unsubscribe from some"
            raise MCPError(types.INVALID_REQUEST, message)
        self._start_listening()
        uris.add(params.uri)
        return types.EmptyResult()

    async def unsubscribe_resource(
        self, ctx: ServerRequestContext[Any, Any], params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """End a client's subscription to a resource."""
        self._client(ctx).uris.discard(params.uri)
        return types.EmptyResult()

    async def meet(self, ctx: ServerRequestContext[Any, Any], params: types.NotificationParams) -> None:
        """Register a client of 2025 after its handshake: it gets list changes without subscribing."""
        del params
        self._client(ctx).initialized = True

    def _client(self, ctx: ServerRequestContext[Any, Any]) -> _Client:
        """Return the client of a request: by its session id over HTTP; over stdin there is only one.

        The SDK creates a `ServerSession` for each request. Notifications go to the connection, so the session
        of any earlier request can send them.
        """
        name = ctx.request.headers.get(MCP_SESSION_ID_HEADER, "") if ctx.request else ""
        return self._clients.setdefault(name, _Client(ctx.session))
