"""Who asks: the secret a request shows, and what that was given for."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from anyio.to_thread import run_sync
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import Scope as Asked

from handrail.faces.mcp.callers import ANYBODY, GRANT
from handrail.faces.web.issued import Issued
from handrail.faces.web.lacking import CHALLENGE
from handrail.faces.web.limits import Limits, peer_of
from handrail.faces.web.protected import Protected
from handrail.faces.web.refusal import Refusal
from handrail.shell.access import PREFIX, Access, Grant, Scope, digest_of
from handrail.shell.ports import Clock
from handrail.shell.rates import Rate

_BEARER: Final = "bearer "
_LONGEST: Final = 512
_SAY: Final = "say who you are: Authorization: Bearer and a token that "
_OWN: Final = f"{_SAY}`handrail token create` made for this server"
_ISSUED: Final = f"{_SAY}the issuer gave out for this server; WWW-Authenticate leads to it"


@dataclass(frozen=True, slots=True)
class Door:
    """Knows who asks: by the tokens of `access`, and by those of an issuer, `issued` for `audience`.

    Without either, nobody is asked. `protected` is the server as its issuer knows it, once that is known.
    """

    access: Access | None
    clock: Clock
    limits: Limits = field(default_factory=lambda: Limits(Rate()))
    issued: Issued | None = None
    audience: str = ""
    protected: Protected | None = None

    @property
    def asks(self) -> bool:
        """Whether anybody is asked who they are."""
        return self.access is not None or self.issued is not None

    def at(self, url: str, faces: Iterable[str]) -> "Door":
        """The door of a server that listens there, with these paths of faces."""
        if self.issued is None:
            return self
        made = Protected(self.audience or url, self.issued.issuer, frozenset(faces))
        return replace(self, protected=made)

    def is_open(self, path: str) -> bool:
        """Whether this leads those on who have no token yet."""
        return self.protected is not None and self.protected.is_open(path)

    def routes(self) -> list[Route]:
        """What is there at the paths that do."""
        return self.protected.routes() if self.protected else []

    async def refusal(self, asked: Asked, headers: Headers) -> Refusal | None:
        """Let it in, or say why not."""
        if not self.asks:
            enter(asked, ANYBODY)
            return None
        given = headers.getlist("authorization")
        shown = given[0] if len(given) == 1 else ""
        grant = await self._admitted(asked, shown)
        if isinstance(grant, Refusal):
            return grant
        enter(asked, grant)
        if self.protected and not _is_own(_token(shown)):
            asked["state"][CHALLENGE] = partial(_more, self.protected, asked["path"])
        return None

    async def admitted(self, asked: Asked, token: str) -> Grant | Refusal:
        """What whoever shows this token may do, or why they are not let in."""
        return await self._admitted(asked, f"{_BEARER}{token}")

    async def known(self, asked: Asked, token: str) -> Grant | None:
        """What a token is good for that was shown before; it is no visit, so it is not counted."""
        return await self._grant(f"{_BEARER}{token}", asked["path"])

    async def _admitted(self, asked: Asked, shown: str) -> Grant | Refusal:
        visit = self.limits.visit(peer_of(asked), shown)
        if isinstance(visit, Refusal):
            return visit
        grant = await self._grant(shown, asked["path"])
        if grant is None:
            visit.failed()
            return self._unknown(asked["path"], shown)
        return visit.entered(grant.principal) or grant

    async def _grant(self, shown: str, path: str) -> Grant | None:
        """What the request may do, or None if it shows no good secret."""
        token = _token(shown)
        if self.access and len(token) <= _LONGEST and (_is_own(token) or not self.issued):
            found = await run_sync(self.access.shown, digest_of(token), self.clock.now())
            return found.grant if found else None
        if self.issued and self.protected and token and not _is_own(token):
            return await self.issued.grant(token, self.protected.audiences(path))
        return None

    def _unknown(self, path: str, shown: str) -> Refusal:
        if self.protected is None:
            return Refusal(401, _OWN, {"www-authenticate": "Bearer"})
        challenge = self.protected.challenge(path, error="invalid_token" if shown else "")
        return Refusal(401, _OWN if self.access else _ISSUED, {"www-authenticate": challenge})


def _token(shown: str) -> str:
    return shown[len(_BEARER) :].strip() if shown.lower().startswith(_BEARER) else ""


def _is_own(token: str) -> bool:
    return token.startswith(PREFIX)


def _more(protected: Protected, path: str, needed: Scope) -> str:
    return protected.challenge(path, (needed,), "insufficient_scope")


def enter(asked: Asked, grant: Grant) -> None:
    """Let everything behind the door know who asks; a session is good for who began it only."""
    asked.setdefault("state", {})[GRANT] = grant
    if grant.principal:
        scopes = sorted(map(str, grant.scopes))
        asked["user"] = AuthenticatedUser(AccessToken(token="", client_id=grant.principal, scopes=scopes))
