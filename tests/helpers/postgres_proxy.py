"""A way to a PostgreSQL server that breaks at a message of ours: the n-th that one side has sent."""

import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Final, Literal
from urllib.parse import quote

from helpers.memory_folder import find_memory_folder
from helpers.postgres import PostgresServer

Side = Literal["client", "server"]
_NAME: Final = ".s.PGSQL.5432"
_HEAD: Final = 4
"""How many bytes tell the length of a message."""


class Proxy:
    """A socket before a server's. What clients send is passed on before the break; what they get is not."""

    def __init__(self, folder: Path, server: PostgresServer) -> None:
        self.folder, self._server = folder, server
        self._lock, self._pairs = Lock(), list[tuple[socket.socket, socket.socket]]()
        self._side: Side = "client"
        self._at = self.passed = 0
        self._stays_away = self._away = False
        self.broken = False
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / _NAME))
        self._listener.listen(64)
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def url(self, url: str) -> str:
        """The URL of a database of the server, through here."""
        return url.replace(f"host={quote(str(self._server.folder))}", f"host={quote(str(self.folder))}")

    def arm(self, side: Side, at: int, *, stays_away: bool = False) -> None:
        """Break at this message of a side, counted from now on; then let nobody through, or let all pass."""
        with self._lock:
            self._side, self._at, self.passed = side, at, 0
            self._stays_away, self._away, self.broken = stays_away, False, False

    def let_pass(self) -> None:
        """Let everybody through again; if nobody was, the server has done what it was sent until then."""
        if self._away:
            for thread in self._threads[1:]:
                thread.join()
        self._away = False

    def close(self) -> None:
        """End every connection, and listen no more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listener.close()
        self._cut()
        for thread in self._threads[1:]:
            thread.join()
        for pair in self._pairs:
            for end in pair:
                end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._away:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server.folder / _NAME))
                self._pairs.append((client, server))
                for side, ends in (("client", (client, server)), ("server", (server, client))):
                    pump = Thread(target=self._pump, args=(side, *ends))
                    self._threads.append(pump)
                    pump.start()

    def _pump(self, side: Side, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            kind = 0 if side == "client" else 1
            while message := _message(source, kind):
                breaks, kind = self._counted(side), 1
                if side == "client" or not breaks:
                    sink.sendall(message)
                if breaks:
                    self._cut()
        with suppress(OSError):
            while side == "server" and source.recv(1 << 16):
                pass
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def _counted(self, side: Side) -> bool:
        with self._lock:
            if side != self._side or self.broken:
                return False
            self.passed += 1
            self.broken = self.passed == self._at
            self._away = self.broken and self._stays_away
            return self.broken

    def _cut(self) -> None:
        """End every connection; what the server was sent before it may still do."""
        for client, server in tuple(self._pairs):
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            with suppress(OSError):
                server.shutdown(socket.SHUT_WR)


def _message(source: socket.socket, kind: int) -> bytes:
    """The next whole message; the first that a client sends has no kind. Empty at the end."""
    head = _exactly(source, kind + _HEAD)
    if len(head) < kind + _HEAD:
        return b""
    return head + _exactly(source, int.from_bytes(head[kind:]) - _HEAD)


def _exactly(source: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size and (more := source.recv(size - len(found))):
        found += more
    return found


@contextmanager
def run_proxy(server: PostgresServer) -> Iterator[Proxy]:
    """A proxy in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="handrail-px-", dir=find_memory_folder()) as folder:
        made = Proxy(Path(folder), server)
        try:
            yield made
        finally:
            made.close()
