"""Who sees the pages: whoever opened a link that this program has printed, or came with a token.

A browser keeps a sealed cookie. It is good for the pages only: it opens no way in for agents.
"""

import hashlib
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from handrail.faces.board.boards import VIEWER, Boards
from handrail.faces.board.looks import page
from handrail.faces.web.refusal import Refusal
from handrail.shell import access
from handrail.shell.access import Grant

LINK: Final = "/in/"
LOGIN: Final = "/login"
STATIC: Final = "/static/"

_LASTS: Final = 24 * 60 * 60
"""How many seconds a cookie is good."""

_LEFT: Final = 10_000
"""Of how many cookies it is known that somebody has left with them."""

_SAFE: Final = frozenset({"GET", "HEAD"})


class Links:
    """A link that lets one browser in, once; then there is another, told to whoever started the program."""

    def __init__(self, told: Callable[[str], None]) -> None:
        self._told = told
        self._secret = ""

    def renew(self) -> None:
        """Make another, and tell it; the one before is good no more."""
        self._secret = secrets.token_urlsafe(32)
        self._told(f"{LINK}{self._secret}")

    def used(self, secret: str) -> bool:
        """Whether this is the secret of the link; if it is, it never will be again."""
        if not secrets.compare_digest(secret.encode(), self._secret.encode()):
            return False
        self.renew()
        return True


class Gone:
    """The cookies with which somebody has left this program; of very many, the last."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}

    def add(self, sealed: str) -> None:
        """Let this one in no more."""
        self._known[_hashed(sealed)] = None
        for old in list(self._known)[: max(0, len(self._known) - _LEFT)]:
            del self._known[old]

    def __contains__(self, sealed: str) -> bool:
        """Whether somebody has left with it."""
        return _hashed(sealed) in self._known


@dataclass(frozen=True, slots=True)
class Entrance:
    """How browsers come in: by `links` as this `person`, or by a token that `asks` knows.

    `key` seals cookies. Where several servers stand behind one name, they have the same. `knows` says what a
    token is good for now that was asked for before; `gone` are those who have left.
    """

    boards: Boards
    key: bytes
    links: Links | None = None
    person: Grant = field(default_factory=lambda: Grant("", frozenset(access.Scope)))
    asks: Callable[[Scope, str], Awaitable[Grant | Refusal]] | None = None
    knows: Callable[[Scope, str], Awaitable[Grant | None]] | None = None
    gone: "Gone" = field(default_factory=Gone)

    async def shown(self, scope: Scope, token: str) -> Grant | Refusal:
        """What whoever shows this token may do, or why they are not let in."""
        if self.asks is None:
            return Refusal(403, "")
        found = await self.asks(scope, token)
        if isinstance(found, Grant) and access.Scope.READ not in found.scopes:
            return Refusal(403, "scope")
        return found

    def cookie(self, connection: HTTPConnection, text: str) -> Response:
        """An answer with which the browser is let in from now on."""
        response = RedirectResponse("/", 303)
        response.set_cookie(
            _name(connection),
            Fernet(self.key).encrypt(text.encode()).decode(),
            max_age=_LASTS,
            httponly=True,
            samesite="strict",
            secure=connection.url.scheme in {"https", "wss"},
        )
        return response

    def leave(self, connection: HTTPConnection) -> Response:
        """An answer with which the browser is let in no more."""
        self.gone.add(_sealed(connection))
        response = RedirectResponse("/", 303)
        response.delete_cookie(_name(connection), httponly=True, samesite="strict")
        return response

    async def entered(self, connection: HTTPConnection) -> Grant | Refusal:
        """What whoever sent this may do, by their cookie."""
        text = self._opened(connection)
        if text is None:
            return Refusal(403, "")
        return await self.shown(connection.scope, text) if self.asks else self.person

    async def still(self, connection: HTTPConnection, grant: Grant) -> bool:
        """Whether whoever was let in with this grant would be now."""
        text = self._opened(connection)
        if text is None or self.knows is None:
            return text is not None
        return await self.knows(connection.scope, text) == grant

    def _opened(self, connection: HTTPConnection) -> str | None:
        """What is sealed in the cookie; None if it is none of ours, too old, or they have left with it."""
        sealed = _sealed(connection)
        if sealed in self.gone:
            return None
        try:
            return Fernet(self.key).decrypt(sealed.encode(), _LASTS).decode()
        except InvalidToken:
            return None

    def closed(self, refusal: Refusal) -> Response:
        """The page for whoever is not let in: it says how to come in."""
        why = refusal.text if refusal.text == "scope" else ("limit" if refusal.status == 429 else "")
        response = page("closed.html", refusal.status, by_token=self.asks is not None, why=why)
        response.headers.update(refusal.headers or {})
        return response


@dataclass(frozen=True, slots=True)
class Entered:
    """An application that only those reach who were let in; whatever is added to it, nobody else does."""

    app: ASGIApp
    entrance: Entrance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it in, or show how to."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        if not _is_ours(scope, connection.headers):
            await page("elsewhere.html", 403)(scope, receive, send)
            return
        if not scope["path"].startswith((STATIC, LINK)) and scope["path"] != LOGIN:
            found = await self.entrance.entered(connection)
            if isinstance(found, Refusal):
                await self.entrance.closed(found)(scope, receive, send)
                return
            leaves, still = self.entrance.asks is not None, partial(self.entrance.still, connection, found)
            viewer = self.entrance.boards.viewer(found, leaves=leaves, still=still)
            scope.setdefault("state", {})[VIEWER] = viewer
        await self.app(scope, receive, send)


def _is_ours(scope: Scope, headers: Headers) -> bool:
    """Whether what changes something, or listens, is sent by a page of exactly this host."""
    if scope["type"] == "http" and scope["method"] in _SAFE:
        return True
    origin, host = headers.getlist("origin"), headers.getlist("host")
    ours = {f"{scheme}://{name.lower()}" for scheme in ("http", "https") for name in host}
    return len(origin) == 1 and origin[0].lower() in ours


def _sealed(connection: HTTPConnection) -> str:
    return connection.cookies.get(_name(connection), "")


def _hashed(sealed: str) -> str:
    return hashlib.sha256(sealed.encode()).hexdigest()


def _name(connection: HTTPConnection) -> str:
    """What the cookie is called: a browser sends it to every port of a host, so each has its own."""
    port = connection.headers.get("host", "").rpartition(":")[2]
    return f"handrail-{port if port.isascii() and port.isdigit() else 'board'}"
