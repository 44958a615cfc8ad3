"""The streams of a program, handed on to whoever serves, and back.

Should who serves be gone in the middle of a session, another takes over: it is told how the session began,
and asked again what has no answer yet. Only whole lines reach the client.
"""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from handrail.resident.session import Session

_CHUNK: Final = 1 << 16
_FULL: Final = 1 << 22
"""How many bytes wait at most for somebody who does not read."""

_PIECE: Final = select.PIPE_BUF
"""What a pipe that can be written to takes without blocking."""

_GONE: Final = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Server:
    """Who serves: where its lines come from, where those of the client go, and how that ends.

    `ended` gives the status that it has ended with, or None if it was gone without one.
    """

    __slots__ = ("ended", "no_more", "sink", "source")

    def __init__(
        self, source: int, sink: int, no_more: Callable[[], object], ended: Callable[[], int | None]
    ) -> None:
        self.source, self.sink, self.no_more, self.ended = source, sink, no_more, ended


class Relay:
    """One session: the client at stdin and stdout, and who serves it. `again` starts who takes over."""

    def __init__(self, server: Server, again: Callable[[], Server]) -> None:
        self._server, self._again = server, again
        os.set_blocking(server.sink, False)
        self._to_server, self._to_client = bytearray(), bytearray()
        self._begun, self._held = b"", b""
        self._said: list[bytes] = []
        self._heard: list[bytes] = []
        self._session: Session | None = None
        self._open, self._closed = True, False
        self._woken = -1

    def run(self) -> int:
        """Hand on until the server has ended: its status."""
        while True:
            if self._heard and not self._to_client:
                self._look()
            ready = self._waited()
            if ready.get(0) or self._woken in ready:
                self._from_client(ready)
            if ready.get(1, 0):
                self._write_client()
            if ready.get(self._server.sink, 0) & (select.POLLOUT | _GONE):
                self._write_server()
            if ready.get(self._server.source, 0) & (select.POLLIN | _GONE) and not self._from_server():
                status = self._server.ended()
                if status is not None:
                    return self._flushed(status)
                self._take_over()

    def _waited(self) -> dict[int, int]:
        """What can be read or written now, by its number."""
        wanted: dict[int, int] = {}
        if self._open and len(self._to_server) < _FULL:
            wanted[0] = select.POLLIN
        if self._woken >= 0:
            wanted[self._woken] = select.POLLIN
        if len(self._to_client) < _FULL:
            wanted[self._server.source] = select.POLLIN
        if self._to_client:
            wanted[1] = select.POLLOUT
        if self._to_server:
            wanted[self._server.sink] = wanted.get(self._server.sink, 0) | select.POLLOUT
        poll = select.poll()
        for number, events in wanted.items():
            poll.register(number, events)
        return dict(poll.poll())

    def _from_client(self, ready: dict[int, int]) -> None:
        """Take what the client has sent; the end of it, or a signal, is the end of what it sends."""
        data = os.read(0, _CHUNK) if self._open and ready.get(0) and self._woken not in ready else b""
        if not data:
            self._open = False
            if self._woken in ready:
                os.read(self._woken, _CHUNK)
            self._write_server()
            return
        self._to_server += data
        *lines, self._begun = (self._begun + data).split(b"\n")
        self._said += lines
        self._write_server()

    def _write_server(self) -> None:
        """Hand on what there is, as far as it is taken; who is gone is noticed where its lines are read."""
        try:
            while self._to_server:
                del self._to_server[: os.write(self._server.sink, self._to_server[:_CHUNK])]
        except BlockingIOError:
            return
        except OSError:
            self._to_server.clear()
        if not self._open and not self._closed:
            self._closed = True
            try:
                self._server.no_more()
            except OSError:
                return

    def _from_server(self) -> bool:
        """Take what the server has sent, in whole lines; False if it is gone."""
        try:
            data = os.read(self._server.source, _CHUNK)
        except OSError:
            data = b""
        if not data:
            return False
        *lines, self._held = (self._held + data).split(b"\n")
        if self._session and self._session.known:
            lines = [line for line in lines if not self._session.repeated(line)]
        self._heard += lines
        self._to_client += b"".join(line + b"\n" for line in lines)
        self._write_client()
        return True

    def _write_client(self) -> None:
        """Write as much as the client takes now; if it reads no more, neither does it send."""
        poll = select.poll()
        poll.register(1, select.POLLOUT)
        while self._to_client and poll.poll(0):
            try:
                del self._to_client[: os.write(1, self._to_client[:_PIECE])]
            except OSError:
                self._to_client.clear()
                self._open = False
                self._write_server()

    def _flushed(self, status: int) -> int:
        """The status, once the client has everything; what is no whole line is told too, at the end."""
        self._to_client += self._held
        poll = select.poll()
        poll.register(1, select.POLLOUT)
        while self._to_client:
            poll.poll()
            self._write_client()
        return status

    def _look(self) -> Session:
        """See what was asked and answered; not before the first answer, since it takes other modules."""
        if self._session is None:
            from handrail.resident import session  # noqa: PLC0415 - they are not needed to begin

            self._session, self._woken = session.Session(), session.woken()
        for line in self._said:
            self._session.said(line)
        for line in self._heard:
            self._session.heard(line)
        self._said, self._heard = [], []
        return self._session

    def _take_over(self) -> None:
        """Go on with another server, which learns what this session is about; its client notices nothing."""
        session = self._look()
        self._server = self._again()
        os.set_blocking(self._server.sink, False)
        self._to_server = bytearray(session.again() + self._begun)
        self._held, self._closed = b"", False
        self._write_server()
