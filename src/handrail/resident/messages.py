"""What a program says to the resident server when it comes, and what it is answered."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Mapping, Sequence
    from typing import Final

SERVED: Final = b"served\n"
"""The answer that begins a session; any other is a reason why there is none, in a line."""

HEAD: Final = 8
"""How many digits say how long a message is."""

MOST: Final = 1 << 20


class Wish:
    """What a program that was started wants: to be served as it would serve; without words, to be told."""

    __slots__ = ("cwd", "env", "stamp", "umask", "words")

    def __init__(
        self, stamp: str, cwd: str, umask: int, words: Sequence[str], env: Mapping[str, str]
    ) -> None:
        self.stamp, self.cwd, self.umask, self.words, self.env = stamp, cwd, umask, words, env


def packed(wish: Wish) -> bytes:
    """The wish as bytes, its length before it. No part of it can hold a NUL."""
    environment = [f"{name}={value}" for name, value in wish.env.items()]
    parts = (wish.stamp, wish.cwd, str(wish.umask), str(len(wish.words)), *wish.words, *environment)
    said = os.fsencode("\0".join(parts))
    return str(len(said)).rjust(HEAD).encode() + said


def unpacked(said: bytes) -> Wish:
    """The wish that bytes say. Raises `ValueError` if they say none."""
    stamp, cwd, umask, count, *rest = os.fsdecode(said).split("\0")
    words, environment = rest[: int(count)], rest[int(count) :]
    pairs = (text.partition("=") for text in environment)
    return Wish(stamp, cwd, int(umask), words, {name: value for name, _, value in pairs})


def whole(connection: socket, begun: bytes) -> bytes:
    """The rest of a message whose beginning has come. Raises `ValueError` if it ends too early or never."""
    while len(begun) < HEAD:
        begun += _more(connection)
    length = int(begun[:HEAD])
    if not 0 <= length <= MOST:
        raise ValueError(f"a message of {length} bytes")
    while len(begun) < HEAD + length:
        begun += _more(connection)
    return begun[HEAD : HEAD + length]


def _more(connection: socket) -> bytes:
    found = connection.recv(1 << 16)
    if not found:
        raise ValueError("the message has no end")
    return found
