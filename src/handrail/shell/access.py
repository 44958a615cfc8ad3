"""Who may do what over HTTP: the secret somebody shows, and what it was given for."""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

PREFIX: Final = "hr_"
"""How secrets begin, so that they are found where they were left lying about."""

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
"""What principals are called."""

_BYTES: Final = 32
_SHOWN: Final = 12


class Scope(StrEnum):
    """What somebody may do; none holds another."""

    READ = "run:read"
    WRITE = "run:write"
    APPROVE = "gate:approve"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a principal may do, and in which projects, by their names; None is in all that are served."""

    principal: str
    scopes: frozenset[Scope]
    projects: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A secret that was given away, without the secret. `id` is what people call it."""

    id: str
    grant: Grant
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    used: datetime | None = None

    def good_at(self, at: datetime) -> bool:
        """Whether it opens anything at this time."""
        return self.revoked is None and (self.expires is None or at < self.expires)


@dataclass(frozen=True, slots=True)
class Secret:
    """A new secret: the text, which is shown once, and what is kept of it."""

    text: str = field(repr=False)
    digest: bytes
    id: str


class Access(Protocol):
    """The part of a store that knows who may do what."""

    def give(self, digest: bytes, token: AccessToken) -> None:
        """Keep what was given away."""
        ...

    def tokens(self) -> tuple[AccessToken, ...]:
        """All that were ever given away, the oldest first."""
        ...

    def revoke(self, token: str, at: datetime) -> bool:
        """Let it open nothing any more; False if there is none of this id, or it is revoked already."""
        ...

    def shown(self, digest: bytes, at: datetime) -> AccessToken | None:
        """The one that somebody shows, if it is good; that it was used is kept, to the minute."""
        ...


def new_secret() -> Secret:
    """A secret that nobody guesses."""
    text = PREFIX + secrets.token_urlsafe(_BYTES)
    digest = digest_of(text)
    return Secret(text, digest, digest.hex()[:_SHOWN])


def digest_of(text: str) -> bytes:
    """What is kept of a secret. It has so much chance in it that nothing slower is needed."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
