"""What `handrail serve` does first: it hands its streams over to the resident server, if there is one."""

from __future__ import annotations

import os
import sys
from _socket import AF_UNIX, SHUT_WR, SOCK_STREAM, SOL_SOCKET, socket

from handrail.resident import place
from handrail.resident.lines import Relay, Server
from handrail.resident.messages import SERVED, Wish, packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

_PATIENCE: Final = 2.0
"""How many seconds the resident server may take to say whether it serves."""

_RIGHTS: Final = 1
"""What passes descriptors over a socket."""


def relayed(words: Sequence[str]) -> int | None:
    """Be served by the resident server: with which status that ended, or None if the program has to serve."""
    if not _concerns(words):
        return None
    found = _found(words)
    if found is None:
        if os.path.exists(place.marker()):  # noqa: PTH110 - pathlib takes longer to import than all of this
            from handrail.resident.starting import start  # noqa: PLC0415 - only if there is none

            start(on_demand=True)
        return None
    return Relay(found, lambda: _own(words)).run()


def joined(patience: float = _PATIENCE) -> socket | None:
    """A connection to the resident server of this user; None if there is none."""
    if not place.private(place.folder()):
        return None
    connection = socket(AF_UNIX, SOCK_STREAM)
    connection.settimeout(patience)
    try:
        connection.connect(place.address())
    except OSError:
        connection.close()
        return None
    if place.peer(connection)[0] != os.geteuid():
        connection.close()
        return None
    return connection


def told(connection: socket, words: Sequence[str], descriptors: Sequence[int] = ()) -> None:
    """Say what is wanted, with the descriptors that belong to it."""
    umask = os.umask(0o077)
    os.umask(umask)
    wish = packed(Wish(place.stamp(), os.getcwd(), umask, words, os.environ))  # noqa: PTH109 - the same
    numbers = b"".join(number.to_bytes(4, sys.byteorder) for number in descriptors)
    sent = connection.sendmsg([wish], [(SOL_SOCKET, _RIGHTS, numbers)] if numbers else [])
    if rest := wish[sent:]:  # to send nothing fails too if all was read, answered and ended by now
        connection.sendall(rest)


def _concerns(words: Sequence[str]) -> bool:
    """True if a client talks to this program over its streams, and nobody said that it shall serve itself."""
    over_http = any(word.partition("=")[0] == "--http" for word in words)
    return list(words[:1]) == ["serve"] and not over_http and os.environ.get(place.VARIABLE) != "off"


def _found(words: Sequence[str]) -> Server | None:
    """The resident server, if it takes this program."""
    connection = joined()
    if connection is None:
        return None
    status, theirs = os.pipe()
    try:
        told(connection, words, (2, theirs))
        taken = connection.recv(len(SERVED)) == SERVED
    except OSError:
        taken = False
    finally:
        os.close(theirs)
    if not taken:
        os.close(status)
        connection.close()
        return None

    def ended() -> int | None:
        """It tells its status last; who was killed tells none."""
        connection.close()
        found = os.read(status, 1)
        return found[0] if found else None

    return Server(connection.fileno(), connection.fileno(), lambda: connection.shutdown(SHUT_WR), ended)


def _own(words: Sequence[str]) -> Server:
    """A server of this program's own."""
    import subprocess  # noqa: PLC0415 - most programs need none

    process = subprocess.Popen(  # noqa: S603 - this program
        [sys.executable, "-m", "handrail", *words],
        env={**os.environ, place.VARIABLE: "off"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    if process.stdin is None or process.stdout is None:
        raise AssertionError("it was started with pipes")
    return Server(process.stdout.fileno(), process.stdin.fileno(), process.stdin.close, process.wait)
