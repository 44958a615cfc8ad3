"""Who asks: the secret a request shows, and what that was given for."""

from dataclasses import dataclass
from typing import Final

from anyio.to_thread import run_sync
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.types import Scope as Asked

from handrail.faces.mcp.callers import ANYBODY, GRANT
from handrail.shell.access import Access, Grant, digest_of
from handrail.shell.ports import Clock

_BEARER: Final = "bearer "
_LONGEST: Final = 512


@dataclass(frozen=True, slots=True)
class Door:
    """Knows who asks; without `access`, nobody is asked."""

    access: Access | None
    clock: Clock

    async def grant(self, headers: Headers) -> Grant | None:
        """What the request may do, or None if it shows no good secret."""
        if self.access is None:
            return ANYBODY
        given = headers.getlist("authorization")
        if len(given) != 1 or not given[0].lower().startswith(_BEARER) or len(given[0]) > _LONGEST:
            return None
        digest = digest_of(given[0][len(_BEARER) :].strip())
        shown = await run_sync(self.access.shown, digest, self.clock.now())
        return shown.grant if shown else None


def enter(asked: Asked, grant: Grant) -> None:
    """Let everything behind the door know who asks; a session is good for who began it only."""
    asked.setdefault("state", {})[GRANT] = grant
    if grant.principal:
        scopes = sorted(map(str, grant.scopes))
        asked["user"] = AuthenticatedUser(AccessToken(token="", client_id=grant.principal, scopes=scopes))
