"""The ports as this machine has them: its clock, its randomness, and listeners in this process."""

import os
import pwd
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock

from handrail.shell.records import Change


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """The time of day in UTC, in whole milliseconds."""
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)


class RandomIds:
    """Names from the randomness of the machine."""

    def run(self) -> str:
        """A random UUID, of version 4; `uuid.uuid4` takes three times as long, and a turn needs several."""
        name = os.urandom(16).hex()
        variant = "89ab"[int(name[16], 16) & 3]
        return f"{name[:8]}-{name[8:12]}-4{name[13:16]}-{variant}{name[17:20]}-{name[20:]}"

    def nonce(self) -> bytes:
        """Six random bytes."""
        return os.urandom(6)


def login() -> str:
    """The name by which the machine knows who started the program; their number if it knows none."""
    user = os.getuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


class LocalFeed:
    """Listeners in this process, told in the thread that announces."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[Change], None]] = {}
        self._lock = Lock()

    def announce(self, change: Change) -> None:
        """Tell every listener; what one of them raises is shown, and the others still hear of it."""
        with self._lock:
            listeners = tuple(self._listeners.values())
        for heard in listeners:
            try:
                heard(change)
            except Exception:  # noqa: BLE001 - the turn has happened: no listener can take its answer away
                sys.excepthook(*sys.exc_info())

    def listen(self, heard: Callable[[Change], None]) -> Callable[[], None]:
        """Call `heard` for every change, until the function that is returned is called."""
        key = object()
        with self._lock:
            self._listeners[key] = heard

        def stop() -> None:
            with self._lock:
                self._listeners.pop(key, None)

        return stop
