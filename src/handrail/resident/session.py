"""What a relay remembers of a session: how it began, and what has no answer yet."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any, Final

_BEGINNING: Final = frozenset({"initialize", "notifications/initialized", "logging/setLevel"})
_SUBSCRIBED: Final = "resources/subscribe"
_UNSUBSCRIBED: Final = "resources/unsubscribe"
_CANCELLED: Final = "notifications/cancelled"


class Session:
    """The lines of a client that somebody else would have to know who took over.

    `known` are the numbers of requests that were answered before and will be answered again.
    """

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}
        self._pending: dict[str, bytes] = {}
        self.known: set[str] = set()

    def said(self, line: bytes) -> None:
        """The client has sent this line."""
        for message in _messages(line):
            method, number = message.get("method"), _number(message.get("id"))
            if "id" in message and method:
                self._pending[number] = line
            if method in _BEGINNING:
                self._kept[str(method)] = line
            elif method in {_SUBSCRIBED, _UNSUBSCRIBED}:
                name = f"{_SUBSCRIBED} {_of(message, 'uri')}"
                self._kept.pop(name, None)
                if method == _SUBSCRIBED:
                    self._kept[name] = line
            elif method == _CANCELLED:
                self._pending.pop(_number(_of(message, "requestId")), None)

    def heard(self, line: bytes) -> None:
        """The server has sent this line."""
        for message in _messages(line):
            if "method" not in message:
                self._pending.pop(_number(message.get("id")), None)

    def again(self) -> bytes:
        """What another server is told: how the session began, then what it has to answer."""
        waiting = list(self._pending.values())
        begun = [line for line in self._kept.values() if line not in waiting]
        self.known = {
            _number(message["id"]) for line in begun for message in _messages(line) if "id" in message
        }
        return b"".join(line + b"\n" for line in (*begun, *waiting))

    def repeated(self, line: bytes) -> bool:
        """True if this line of the server answers what the client has an answer to; once for each."""
        answers = {_number(message.get("id")) for message in _messages(line) if "method" not in message}
        again = bool(answers & self.known)
        self.known -= answers
        return again


def woken() -> int:
    """A descriptor that can be read once the program was told to end, which then ends by itself."""
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    signal.set_wakeup_fd(sink)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    return source


def _messages(line: bytes) -> Iterator[dict[str, Any]]:
    """The messages of a line; none if it is no JSON."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return
    for message in found if isinstance(found, list) else [found]:
        if isinstance(message, dict):
            yield message


def _of(message: dict[str, Any], name: str) -> object:
    params = message.get("params")
    return params.get(name) if isinstance(params, dict) else None


def _number(value: object) -> str:
    """The number of a request: 1 and "1" are two."""
    return json.dumps(value, sort_keys=True)
