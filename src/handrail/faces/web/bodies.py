"""Messages over HTTP: held against the same rules as those over stdin, before the SDK sees them."""

from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handrail.faces.mcp.frames import EDGE, Flaw, read_message, too_long
from handrail.faces.web.lacking import Needs, lacks


@dataclass(frozen=True, slots=True)
class Checked:
    """An application that is given only messages it can take; the others are answered here.

    `limit` is how many bytes a message may have, and `needs` what its sender must be allowed.
    """

    app: ASGIApp
    limit: int
    needs: Needs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the whole message, and pass it on or say what is wrong with it."""
        if scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            body = await read(Request(scope, receive), self.limit)
        except ClientDisconnect:
            return
        if len(body) > self.limit:
            await _told(413, too_long(len(body), self.limit), body)(scope, receive, send)
            return
        message = read_message(body)
        if isinstance(message, Flaw):
            await _told(400, message, body)(scope, receive, send)
        elif lacking := lacks(scope, body, self.needs):
            await lacking(scope, receive, send)
        else:
            await self.app(scope, _again(body, receive), send)


async def read(request: Request, limit: int) -> bytes:
    """The body, and of one that is too long only so much that it shows."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            break
    return bytes(body)


def _told(status: int, wrong: Flaw, body: bytes) -> Response:
    return Response(wrong.answer(body[:EDGE], body[-EDGE:]), status, media_type="application/json")


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, and then what comes after it."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return parts.pop() if parts else await receive()

    return received
