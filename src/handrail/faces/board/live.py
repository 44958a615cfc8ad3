"""The live ways in: a WebSocket, and server-sent events for browsers that have none; both say the same."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from handrail.faces.board.boards import Viewer, viewer_of
from handrail.faces.board.hub import Ear
from handrail.shell.faults import Fault

_GOING_AWAY: Final = 1001
_AGAIN_LATER: Final = 1013
_NOT_YOU: Final = 1008
_LOOK: Final = 3.0
"""How many seconds go by between two looks at whether whoever listens would still be let in."""

_BEAT: Final = 15.0
"""How many seconds go by until a stream on which nothing happens shows that it is still there."""


async def live(socket: WebSocket) -> None:
    """Tell a page which runs have changed, until it goes, may not see them any more, or the server ends."""
    viewer, since = viewer_of(socket), _number(socket.query_params.get("since", ""))
    try:
        await socket.accept()
        async with viewer.board.hub.listening(since) as ear, anyio.create_task_group() as tasks:
            tasks.start_soon(_until_gone, socket, ear)
            tasks.start_soon(_until_out, viewer, ear)
            await _tell(socket, ear)
            tasks.cancel_scope.cancel()
        await _close(socket, _GOING_AWAY if await _is_in(viewer) else _NOT_YOU)
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


async def _until_out(viewer: Viewer, ear: Ear) -> None:
    """Look now and then whether whoever listens would still be let in."""
    while True:
        await anyio.sleep(_LOOK)
        if not await _is_in(viewer):
            ear.close()
            return


async def _is_in(viewer: Viewer) -> bool:
    """Whether they would; while the store cannot be asked, they are not turned out."""
    try:
        return await viewer.still()
    except Fault:
        return True


async def events(request: Request) -> Response:
    """The same as a stream of events; a browser that comes back says what it heard last."""
    asked = request.headers.get("last-event-id") or request.query_params.get("since", "")
    return StreamingResponse(_told(viewer_of(request), _number(asked)), media_type="text/event-stream")


async def _told(viewer: Viewer, since: int | None) -> AsyncIterator[str]:
    async with viewer.board.hub.listening(since) as ear:
        async for text in _beats(viewer, ear):
            yield text


async def _beats(viewer: Viewer, ear: Ear) -> AsyncIterator[str]:
    seen = told = anyio.current_time()
    while True:
        patch = None
        with anyio.move_on_after(_LOOK) as waiting:
            patch = await ear.next()
        now = anyio.current_time()
        if now - seen >= _LOOK:
            if not await _is_in(viewer):
                return
            seen = now
        if patch:
            told = now
            yield f"id: {patch.number}\ndata: {patch.text()}\n\n"
        elif not waiting.cancelled_caught:
            return
        elif now - told >= _BEAT:
            told = now
            yield ": still here\n\n"


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
