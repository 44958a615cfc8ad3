"""HTTP in which head, body and end of a response are sent as one piece, where they come at once."""

import asyncio
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from h11 import Request

_MOST: Final = 64 * 1024
"""How many bytes are held back, at most, until the loop goes on."""


class Held(asyncio.Transport):
    """A transport that sends what it is given as one piece, when the loop goes on or it is told to."""

    __slots__ = ("_loop", "_pieces", "_size", "plain")

    def __init__(self, plain: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self.plain, self._loop = plain, loop
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send it soon."""
        if not data:
            return
        if not self._pieces:
            self._loop.call_soon(self.send)
        self._pieces.append(bytes(data))
        self._size += len(data)
        if self._size > _MOST:
            self.send()

    def send(self) -> None:
        """Send what is held."""
        if self._pieces:
            held = b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self.plain.write(held)

    def close(self) -> None:
        """Close it, once all is sent."""
        self.send()
        self.plain.close()

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self.plain.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - whatever asyncio tells
        """What is known of the connection."""
        return self.plain.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Hear nothing more for now."""
        self.plain.pause_reading()

    def resume_reading(self) -> None:
        """Hear again."""
        self.plain.resume_reading()


class Joined(H11Protocol):
    """A connection whose responses are sent as one piece each."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin."""
        super().connection_made(Held(transport, self.loop))

    def on_response_complete(self) -> None:
        """Send the response, then hear the next request."""
        if isinstance(self.transport, Held):
            self.transport.send()
        super().on_response_complete()

    def handle_websocket_upgrade(self, event: "Request") -> None:
        """Leave the connection to whoever speaks WebSocket, as it was."""
        if isinstance(self.transport, Held):
            self.transport = self.transport.plain
        super().handle_websocket_upgrade(event)
