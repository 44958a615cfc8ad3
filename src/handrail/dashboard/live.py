"""Send live updates to pages: over a WebSocket, or as server-sent events to browsers without one.

Both send the same updates. Both end when the viewer loses access.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from handrail.dashboard.hub import PageSubscription
from handrail.dashboard.viewer import Viewer, get_viewer
from handrail.runtime.errors import Fault

# Close codes of WebSockets.
_GOING_AWAY: Final = 1001
_TRY_AGAIN_LATER: Final = 1013
_POLICY_VIOLATION: Final = 1008
# How many seconds pass between two checks whether the viewer would still be let in.
_RECHECK_SECONDS: Final = 3.0
# How many seconds pass until an idle stream sends a heartbeat.
_HEARTBEAT_SECONDS: Final = 15.0


async def serve_websocket(socket: WebSocket) -> None:
    """Send updates to a page until it leaves, its viewer loses access, or the server stops."""
    viewer, since = get_viewer(socket), _parse_number(socket.query_params.get("since", ""))
    try:
        await socket.accept()
        async with viewer.board.hub.subscribe(since) as page, anyio.create_task_group() as tasks:
            tasks.start_soon(_watch_disconnect, socket, page)
            tasks.start_soon(_watch_admission, viewer, page)
            with suppress(WebSocketDisconnect):
                while patch := await page.next_patch():
                    await socket.send_text(patch.text())
            tasks.cancel_scope.cancel()
        await _close_socket(socket, _GOING_AWAY if await _is_admitted(viewer) else _POLICY_VIOLATION)
    except WebSocketDisconnect:
        return
    except Fault:
        await _close_socket(socket, _TRY_AGAIN_LATER)


async def _close_socket(socket: WebSocket, code: int) -> None:
    """Close the socket with this code, unless one side has closed it already."""
    if {socket.client_state, socket.application_state} == {WebSocketState.CONNECTED}:
        await socket.close(code)


async def _watch_disconnect(socket: WebSocket, page: PageSubscription) -> None:
    """Close the subscription when the page disconnects. Pages send nothing, but only reading notices it."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
    page.close()


async def _watch_admission(viewer: Viewer, page: PageSubscription) -> None:
    """Close the subscription once the viewer loses access."""
    while True:
        await anyio.sleep(_RECHECK_SECONDS)
        if not await _is_admitted(viewer):
            page.close()
            return


async def _is_admitted(viewer: Viewer) -> bool:
    """True if the viewer still has access, or if the store cannot be asked now."""
    try:
        return await viewer.is_still_admitted()
    except Fault:
        return True


async def serve_event_stream(request: Request) -> Response:
    """Send updates as server-sent events. A browser that reconnects names the last one it received."""
    last = request.headers.get("last-event-id") or request.query_params.get("since", "")
    return StreamingResponse(
        _stream_patches(get_viewer(request), _parse_number(last)), media_type="text/event-stream"
    )


async def _stream_patches(viewer: Viewer, since: int | None) -> AsyncIterator[str]:
    async with viewer.board.hub.subscribe(since) as page:
        async for text in _stream_with_heartbeat(viewer, page):
            yield text


async def _stream_with_heartbeat(viewer: Viewer, page: PageSubscription) -> AsyncIterator[str]:
    checked = sent = anyio.current_time()
    while True:
        patch = None
        with anyio.move_on_after(_RECHECK_SECONDS) as waiting:
            patch = await page.next_patch()
        now = anyio.current_time()
        if now - checked >= _RECHECK_SECONDS:
            if not await _is_admitted(viewer):
                return
            checked = now
        if patch:
            sent = now
            yield f"id: {patch.number}\ndata: {patch.text()}\n\n"
        elif not waiting.cancelled_caught:
            return
        elif now - sent >= _HEARTBEAT_SECONDS:
            sent = now
            yield ": still here\n\n"


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
