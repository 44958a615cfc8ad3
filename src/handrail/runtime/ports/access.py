"""Access over HTTP: access tokens, their scopes, and the registry of projects that a server serves."""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct

# The prefix of every secret, so that scanners find leaked ones.
SECRET_PREFIX: Final = "hr_"  # noqa: S105 - the prefix of secrets
TOKEN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
PROJECT_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SECRET_BYTES: Final = 32
_ID_CHARACTERS: Final = 12


class AccessScope(StrEnum):
    """What a token permits. No scope includes another."""

    READ = "run:read"
    WRITE = "run:write"
    APPROVE = "gate:approve"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a principal may do, and in which projects, by name. None means all projects that are served."""

    principal: str
    scopes: frozenset[AccessScope]
    projects: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An issued access token without its secret. `id` is the short name that people use for it."""

    id: str
    grant: Grant
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    used: datetime | None = None

    def is_valid_at(self, at: datetime) -> bool:
        """True if the token is neither revoked nor expired at this time."""
        return self.revoked is None and (self.expires is None or at < self.expires)


@dataclass(frozen=True, slots=True)
class Secret:
    """A new secret: the text, which is shown once, and the digest and id that are stored."""

    text: str = field(repr=False)
    digest: bytes
    id: str


class AccessTokens(Protocol):
    """The access tokens of a store."""

    def add_token(self, digest: bytes, token: AccessToken) -> None:
        """Save an issued token under the digest of its secret."""

    def tokens(self) -> tuple[AccessToken, ...]:
        """Return all tokens ever issued, oldest first."""

    def revoke(self, token: str, at: datetime) -> bool:
        """Revoke a token by its id. False if there is no such token or it was revoked before."""

    def use_token(self, digest: bytes, at: datetime) -> AccessToken | None:
        """Return the token with this digest if it is valid, else None. Record its use, to the minute."""


def create_secret() -> Secret:
    """Create a random secret."""
    text = SECRET_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    digest = hash_secret(text)
    return Secret(text, digest, digest.hex()[:_ID_CHARACTERS])


def hash_secret(text: str) -> bytes:
    """Return the digest that is stored. A secret has 256 random bits, so a fast hash is enough."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


class RegisteredProject(Struct, frozen=True):
    """A project that a server serves: the name that clients use, and its folder."""

    name: str
    root: str
    created: datetime


class ProjectRegistry(Protocol):
    """The registered projects of a store."""

    def add(self, project: RegisteredProject) -> bool:
        """Register a project. False, and nothing changes, if the name or the folder is taken."""

    def projects(self) -> tuple[RegisteredProject, ...]:
        """Return all registered projects, ordered by name."""

    def remove(self, name: str) -> bool:
        """Unregister a project. False if there is none of this name. Its runs are kept."""
