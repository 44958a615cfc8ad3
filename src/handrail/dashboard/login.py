"""Sign in to the dashboard: with a link that the program prints once, or with an access token.

The browser then keeps a sealed cookie. It opens the pages only; agents cannot use it.
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

from handrail.app.asgi import HttpRefusal
from handrail.dashboard.rendering import render_page
from handrail.dashboard.viewer import VIEWER_KEY, Dashboards
from handrail.runtime.ports import access
from handrail.runtime.ports.access import Grant

LINK_PATH: Final = "/in/"
LOGIN_PATH: Final = "/login"
STATIC_PATH: Final = "/static/"
# How many seconds a cookie is valid.
_COOKIE_SECONDS: Final = 24 * 60 * 60
# How many cookies of people who signed out are remembered.
_MAX_SIGNED_OUT: Final = 10_000
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


class LoginLink:
    """A sign-in link that works once. After each use, `announce` receives a new one."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._secret = ""

    def renew(self) -> None:
        """Create and announce a new link; the one before becomes invalid."""
        self._secret = secrets.token_urlsafe(32)
        self._announce(f"{LINK_PATH}{self._secret}")

    def redeem(self, secret: str) -> bool:
        """True if this is the secret of the link; then the link is renewed."""
        if not secrets.compare_digest(secret.encode(), self._secret.encode()):
            return False
        self.renew()
        return True


class SignedOutCookies:
    """The cookies of people who signed out; at most the last `_MAX_SIGNED_OUT`. It keeps hashes only."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}

    def add(self, sealed: str) -> None:
        """Accept this cookie no more."""
        self._known[_hash_cookie(sealed)] = None
        for old in list(self._known)[: max(0, len(self._known) - _MAX_SIGNED_OUT)]:
            del self._known[old]

    def __contains__(self, sealed: str) -> bool:
        """True if its owner has signed out."""
        return _hash_cookie(sealed) in self._known


@dataclass(frozen=True, slots=True)
class Login:
    """How browsers sign in: by `links` as this `person`, or with a token that `check_token` accepts.

    `key` seals cookies; several servers behind one name have the same key. `find_grant` returns what a token
    that was checked before is good for now. `gone` has the cookies of people who signed out.
    """

    boards: Dashboards
    key: bytes
    links: LoginLink | None = None
    person: Grant = field(default_factory=lambda: Grant("", frozenset(access.AccessScope)))
    check_token: Callable[[Scope, str], Awaitable[Grant | HttpRefusal]] | None = None
    find_grant: Callable[[Scope, str], Awaitable[Grant | None]] | None = None
    gone: "SignedOutCookies" = field(default_factory=SignedOutCookies)

    async def admit_token(self, scope: Scope, token: str) -> Grant | HttpRefusal:
        """Return the grant of this token, or why it does not open the dashboard."""
        if self.check_token is None:
            return HttpRefusal(403, "")
        grant = await self.check_token(scope, token)
        if isinstance(grant, Grant) and access.AccessScope.READ not in grant.scopes:
            return HttpRefusal(403, "scope")
        return grant

    def sign_in(self, connection: HTTPConnection, text: str) -> Response:
        """Return a response that sets the cookie; it seals `text`, the token or the name of the sign-in."""
        response = RedirectResponse("/", 303)
        response.set_cookie(
            _cookie_name(connection),
            Fernet(self.key).encrypt(text.encode()).decode(),
            max_age=_COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=connection.url.scheme in {"https", "wss"},
        )
        return response

    def sign_out(self, connection: HTTPConnection) -> Response:
        """Return a response that deletes the cookie, and accept the cookie no more."""
        self.gone.add(_read_cookie(connection))
        response = RedirectResponse("/", 303)
        response.delete_cookie(_cookie_name(connection), httponly=True, samesite="strict")
        return response

    async def admit_cookie(self, connection: HTTPConnection) -> Grant | HttpRefusal:
        """Return the grant of the request's cookie, or why it does not open the dashboard."""
        text = self._unseal_cookie(connection)
        if text is None:
            return HttpRefusal(403, "")
        return await self.admit_token(connection.scope, text) if self.check_token else self.person

    async def is_still_admitted(self, connection: HTTPConnection, grant: Grant) -> bool:
        """True if the request's cookie opens the dashboard now with the same grant."""
        text = self._unseal_cookie(connection)
        if text is None or self.find_grant is None:
            return text is not None
        return await self.find_grant(connection.scope, text) == grant

    def _unseal_cookie(self, connection: HTTPConnection) -> str | None:
        """Return what the cookie seals; None if it is not ours, too old, or its owner has signed out."""
        sealed = _read_cookie(connection)
        if sealed in self.gone:
            return None
        try:
            return Fernet(self.key).decrypt(sealed.encode(), _COOKIE_SECONDS).decode()
        except InvalidToken:
            return None

    def render_login_page(self, refusal: HttpRefusal) -> Response:
        """Render the page that says how to sign in, and why the last attempt failed."""
        why = refusal.text if refusal.text == "scope" else ("limit" if refusal.status == 429 else "")
        response = render_page("closed.html", refusal.status, by_token=self.check_token is not None, why=why)
        response.headers.update(refusal.headers or {})
        return response


@dataclass(frozen=True, slots=True)
class LoginMiddleware:
    """Lets only signed-in browsers reach the application, whatever routes are added to it."""

    app: ASGIApp
    entrance: Login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its viewer, or show how to sign in."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        if not _is_same_origin(scope, connection.headers):
            await render_page("elsewhere.html", 403)(scope, receive, send)
            return
        if not scope["path"].startswith((STATIC_PATH, LINK_PATH)) and scope["path"] != LOGIN_PATH:
            grant = await self.entrance.admit_cookie(connection)
            if isinstance(grant, HttpRefusal):
                await self.entrance.render_login_page(grant)(scope, receive, send)
                return
            still = partial(self.entrance.is_still_admitted, connection, grant)
            leaves = self.entrance.check_token is not None
            viewer = self.entrance.boards.viewer(grant, leaves=leaves, still=still)
            scope.setdefault("state", {})[VIEWER_KEY] = viewer
        await self.app(scope, receive, send)


def _is_same_origin(scope: Scope, headers: Headers) -> bool:
    """True if a request that changes something, or opens a WebSocket, comes from a page of this very host."""
    if scope["type"] == "http" and scope["method"] in _SAFE_METHODS:
        return True
    origin, host = headers.getlist("origin"), headers.getlist("host")
    ours = {f"{scheme}://{name.lower()}" for scheme in ("http", "https") for name in host}
    return len(origin) == 1 and origin[0].lower() in ours


def _read_cookie(connection: HTTPConnection) -> str:
    return connection.cookies.get(_cookie_name(connection), "")


def _hash_cookie(sealed: str) -> str:
    return hashlib.sha256(sealed.encode()).hexdigest()


def _cookie_name(connection: HTTPConnection) -> str:
    """Return the name of the cookie, one for each port: a browser sends cookies to every port of a host."""
    port = connection.headers.get("host", "").rpartition(":")[2]
    return f"handrail-{port if port.isascii() and port.isdigit() else 'board'}"
