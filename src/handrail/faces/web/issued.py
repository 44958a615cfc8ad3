"""Tokens that an issuer gave out (JWTs): what they let somebody do, or nothing."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import jwt
from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from handrail.faces.web.issuer import IssuerKeys
from handrail.shell.access import Grant, Scope

LONGEST: Final = 8192
"""How many characters a token may have."""

_SKEW: Final = 30
"""By how many seconds the clocks of issuer and server may differ."""

_THREADS: Final = 8
"""How many threads wait for keys at most: while PyJWT fetches, all wait, and others need threads too."""

_KINDS: Final = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_SUBJECT: Final = 255
_SHOWN: Final = 64
_KEPT: Final = "@:|+/="
_SCOPES: Final = {str(scope): scope for scope in Scope}


@dataclass(frozen=True, slots=True)
class Issued:
    """How tokens of one issuer are read.

    `claim` names the claim that lists the projects of who shows one; without a name, it is good for all.
    """

    issuer: str
    keys: IssuerKeys
    claim: str = ""
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_THREADS))

    async def grant(self, token: str, audiences: Iterable[str]) -> Grant | None:
        """What a token lets its bearer do here, at one of these audiences; None if it is not good."""
        if len(token) > LONGEST:
            return None
        try:
            header = jwt.get_unverified_header(token)
            if not _plain(header):
                return None
            key = await run_sync(self.keys.get_signing_key, header["kid"], limiter=self._threads)
            return self._given(self._claims(token, key, audiences))
        except jwt.PyJWTError:
            return None

    def _claims(self, token: str, key: jwt.PyJWK, audiences: Iterable[str]) -> Mapping[str, Any]:
        return jwt.decode(
            token,
            key,
            algorithms=[key.algorithm_name],
            audience=list(audiences),
            issuer=self.issuer,
            leeway=_SKEW,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )

    def _given(self, claims: Mapping[str, Any]) -> Grant | None:
        """What a token says; one that is bound to a key of its bearer is nothing without the proof."""
        subject = claims["sub"]
        if not 0 < len(subject) <= _SUBJECT or "cnf" in claims:
            return None
        named = _words(claims.get("scope", claims.get("scp")))
        scopes = frozenset(_SCOPES[name] for name in named if name in _SCOPES)
        projects = frozenset(_words(claims.get(self.claim))) if self.claim else None
        return Grant(principal(subject), scopes, projects)


def principal(subject: str) -> str:
    """Who the issuer calls so: short, safe to print, and nobody whom a token of our own is for."""
    shown = quote(subject, safe=_KEPT, errors="surrogatepass")
    if len(shown) > _SHOWN:
        digest = hashlib.sha256(shown.encode()).hexdigest()[:32]
        shown = f"{shown[:_SHOWN]}#{digest}"
    return f"sub:{shown}"


def _plain(header: Mapping[str, Any]) -> bool:
    """Whether a header is one of an access token, and asks for nothing that is not done here."""
    kind = header.get("typ", "jwt")
    known = isinstance(kind, str) and kind.lower() in _KINDS
    return known and "kid" in header and not {"crit", "b64"} & header.keys()


def _words(claim: object) -> tuple[str, ...]:
    """The names in a claim: a text with blanks between them, or a list."""
    if isinstance(claim, str):
        return tuple(claim.split())
    return tuple(one for one in claim if isinstance(one, str)) if isinstance(claim, list) else ()
