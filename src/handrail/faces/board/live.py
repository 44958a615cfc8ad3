"""The live ways in: a WebSocket, and server-sent events for browsers that have none; both say the same."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from handrail.faces.board.boards import viewer_of
from handrail.faces.board.hub import Ear, Hub
from handrail.shell.faults import Fault

_GOING_AWAY: Final = 1001
_AGAIN_LATER: Final = 1013
_BEAT: Final = 15.0
"""How many seconds go by until a stream on which nothing happens shows that it is still there."""


async def live(socket: WebSocket) -> None:
    """Tell a page which runs have changed, until it goes or the server ends."""
    hub, since = viewer_of(socket).board.hub, _number(socket.query_params.get("since", ""))
    try:
        await socket.accept()
        async with hub.listening(since) as ear, anyio.create_task_group() as tasks:
            tasks.start_soon(_until_gone, socket, ear)
            await _tell(socket, ear)
            tasks.cancel_scope.cancel()
        await _close(socket, _GOING_AWAY)
    except WebSocketDisconnect:
        return
    except Fault:
        await _close(socket, _AGAIN_LATER)


async def _close(socket: WebSocket, code: int) -> None:
    """Say that there is nothing more, if anybody is there."""
    if {socket.client_state, socket.application_state} == {WebSocketState.CONNECTED}:
        await socket.close(code)


async def _tell(socket: WebSocket, ear: Ear) -> None:
    """Send what is told, until there is nothing more, or nobody there."""
    with suppress(WebSocketDisconnect):
        while patch := await ear.next():
            await socket.send_text(patch.text())


async def _until_gone(socket: WebSocket, ear: Ear) -> None:
    """Read what the page sends, which is nothing, so that it is seen when it goes."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
    ear.close()


async def events(request: Request) -> Response:
    """The same as a stream of events; a browser that comes back says what it heard last."""
    asked = request.headers.get("last-event-id") or request.query_params.get("since", "")
    return StreamingResponse(
        _told(viewer_of(request).board.hub, _number(asked)), media_type="text/event-stream"
    )


async def _told(hub: Hub, since: int | None) -> AsyncIterator[str]:
    async with hub.listening(since) as ear:
        async for text in _beats(ear):
            yield text


async def _beats(ear: Ear) -> AsyncIterator[str]:
    while True:
        patch = None
        with anyio.move_on_after(_BEAT) as waiting:
            patch = await ear.next()
        if patch:
            yield f"id: {patch.number}\ndata: {patch.text()}\n\n"
        elif waiting.cancelled_caught:
            yield ": still here\n\n"
        else:
            return


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
