"""Databases and connections that a test has opened: each is closed after it, unless the test has done so."""

from typing import Protocol, TypeVar


class Closeable(Protocol):
    """What can be closed, also a second time."""

    def close(self) -> None:
        """Let go of what is held."""
        ...


Open = TypeVar("Open", bound=Closeable)
_OPENED: list[Closeable] = []


def close_later(opened: Open) -> Open:
    """What was opened; it is closed when the test is over."""
    _OPENED.append(opened)
    return opened


def close_all() -> None:
    """Close what is still open, the last first."""
    while _OPENED:
        _OPENED.pop().close()
