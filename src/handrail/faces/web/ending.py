"""The end of a server: nothing new is begun, and what is under way is finished."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

_LISTEN: Final = "subscriptions/listen"


class Ending:
    """Whether the end has begun, how many calls are `under_way`, and how many there have been."""

    def __init__(self) -> None:
        self._begun, self._idle = anyio.Event(), anyio.Event()
        self.under_way, self.calls = 0, 0

    @property
    def begun(self) -> bool:
        """True from the moment on when nothing new is begun."""
        return self._begun.is_set()

    def begin(self) -> None:
        """From here on nothing new is begun; once is enough."""
        self._begun.set()
        self._look()

    async def over(self, most: float) -> None:
        """Wait for the end to begin, and then for the calls that are under way, so many seconds at most."""
        await self._begun.wait()
        with anyio.move_on_after(most):
            await self._idle.wait()

    @contextmanager
    def call(self) -> Iterator[None]:
        """A call that is finished before the end."""
        self.under_way, self.calls = self.under_way + 1, self.calls + 1
        try:
            yield
        finally:
            self.under_way -= 1
            self._look()

    def _look(self) -> None:
        if self.begun and not self.under_way:
            self._idle.set()


@dataclass(frozen=True, slots=True)
class Finished:
    """An application whose calls are finished before the end; streams are none, for they have no end."""

    app: ASGIApp
    ending: Ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and let the end wait for it."""
        if scope["type"] == "http" and scope["method"] == "POST" and not _listens(scope):
            with self.ending.call():
                await self.app(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _listens(scope: Scope) -> bool:
    """Whether a request asks for a stream: the SDK holds this header against what is asked."""
    return Headers(scope=scope).get("mcp-method") == _LISTEN
