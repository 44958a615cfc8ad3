"""Authenticate HTTP requests by bearer token: Handrail's own tokens, or those of an OAuth issuer.

Start reading at `Authenticator.authenticate`. PyJWT caches the issuer's keys and verifies tokens. This module
adds limits on what it fetches (size, time, JSON only, no redirects), checks that a key is fit for signatures,
and keeps the last keys while the issuer is down. Nothing in a token decides where anything is fetched from.
"""

import hashlib
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx2
import jwt
import msgspec
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls as metadata_urls
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import create_protected_resource_routes
from pydantic import AnyHttpUrl, ConfigDict, TypeAdapter
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import Scope

from handrail.app.asgi import ANONYMOUS_GRANT, CHALLENGE_KEY, GRANT_KEY, HttpRefusal
from handrail.http.limits import CallLimits, RateLimit, peer_of
from handrail.runtime.errors import NoIssuer
from handrail.runtime.ports.access import SECRET_PREFIX, AccessScope, AccessTokens, Grant, hash_secret
from handrail.runtime.ports.turn import Clock

# The accepted signature algorithms; all are asymmetric, so that only the issuer has the signing key.
SIGNATURE_ALGORITHMS: Final = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
)

# The least number of seconds between two fetches because of an unknown key.
UNKNOWN_KEY_PAUSE_SECONDS: Final = 60.0
# After how many seconds the keys are fetched again.
KEYS_FRESH_SECONDS: Final = 600.0
# For how many seconds the last keys stay valid while they cannot be fetched.
KEYS_STALE_SECONDS: Final = 86_400.0
_MAX_KEYS: Final = 64
_MAX_SHOWN_CHARACTERS: Final = 200
_FETCH_SECONDS: Final = 5.0
_MAX_FETCH_BYTES: Final = 256 * 1024
_LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_FETCH_REPAIR: Final = "look whether the issuer is up and --issuer names it, and start again"
log = logging.getLogger("handrail")


class IssuerKeys(jwt.PyJWKClient):
    """The keys of an issuer by `kid`, fetched again after `fresh` seconds or when one is missing.

    However many requests name unknown keys, the issuer is asked at most once in `pause` seconds. If it cannot
    be reached, its last keys stay valid for `stale` seconds.
    """

    def __init__(
        self,
        source: str,
        *,
        fresh: float = KEYS_FRESH_SECONDS,
        pause: float = UNKNOWN_KEY_PAUSE_SECONDS,
        stale: float = KEYS_STALE_SECONDS,
    ) -> None:
        super().__init__(source, lifespan=fresh, cooldown_duration=pause)
        self._pause, self._stale = pause, stale
        self._last_keys: dict[str, Any] = {}
        self._fetched_at = self._failed_at = float("-inf")

    def fetch_data(self) -> dict[str, Any]:
        """Return the usable keys: newly fetched ones, or the last ones if fetching fails.

        Raises `NoIssuer` if no keys were ever fetched, and PyJWT's error if the last ones are too old.
        """
        now = time.monotonic()
        if now - self._failed_at >= self._pause:
            try:
                self._last_keys, self._fetched_at = _fetch_keys(self.uri), now
            except NoIssuer as fault:
                if not self._last_keys:
                    raise
                self._failed_at = now
                log.warning("%s; the keys known so far are used", fault.message)
        if now - self._fetched_at > self._stale:
            raise jwt.PyJWKClientError("the keys are too old")
        return self._last_keys


def fetch_issuer_keys(name: str) -> IssuerKeys:
    """Fetch the metadata and the keys of the issuer with this URL.

    Raises `NoIssuer` if there is no such issuer, or none of its keys can be used.
    """
    if not is_safe_url(name, whole=True):
        message = f"`{name}` is no issuer"
        raise NoIssuer(message, "write an https URL with --issuer; http is for this machine only")
    places = metadata_urls(name, name)
    url, metadata = next(((url, found) for url in places if (found := _fetch(url)) is not None), ("", None))
    if metadata is None:
        repair = "write --issuer as the issuer writes itself in its tokens (`iss`)"
        raise NoIssuer(f"{name} has no metadata at {', '.join(places)}", repair)
    if metadata.get("issuer") != name:
        shown = str(metadata.get("issuer"))[:_MAX_SHOWN_CHARACTERS]
        message = f"the issuer at {url} is called {shown!a}, not {name}"
        raise NoIssuer(message, "write --issuer as it calls itself, to the last character")
    keys_url = metadata.get("jwks_uri")
    # A remote issuer must not make this server fetch from its own machine.
    if not (isinstance(keys_url, str) and is_safe_url(keys_url)) or (
        _is_loopback(keys_url) and not _is_loopback(name)
    ):
        raise NoIssuer(f"{url} names no place of keys (`jwks_uri`)", "use an issuer that publishes its keys")
    keys = IssuerKeys(keys_url)
    keys.get_jwk_set()
    return keys


# --- keys ---------------------------------------------------------------------------------------------------


def _fetch_keys(source: str) -> dict[str, Any]:
    """Fetch a key set and drop the keys that cannot be used. Raises `NoIssuer` if none is left."""
    key_set = _fetch(source) or {}
    listed = key_set.get("keys")
    keys = [key for key in listed[:_MAX_KEYS] if _is_usable(key)] if isinstance(listed, list) else []
    if not keys:
        repair = (
            "have the issuer publish a key with a `kid`, for "
            f"one of {', '.join(sorted(SIGNATURE_ALGORITHMS))}"
        )
        raise NoIssuer(f"no key at {source} can be used", repair)
    return {"keys": keys}


def _is_usable(data: object) -> bool:
    """True if a key can verify tokens: public, for signatures, strong enough, and with a `kid`."""
    if not isinstance(data, dict) or "d" in data or data.get("use", "sig") != "sig":
        return False
    kid, operations, algorithm = data.get("kid"), data.get("key_ops", ["verify"]), data.get("alg")
    if not (kid and isinstance(kid, str) and isinstance(operations, list) and "verify" in operations):
        return False
    if algorithm is not None and not (isinstance(algorithm, str) and algorithm in SIGNATURE_ALGORITHMS):
        return False
    try:
        key = jwt.PyJWK(data)
    except jwt.PyJWTError:
        return False
    return not key.Algorithm.check_key_length(key.key) and key.algorithm_name in SIGNATURE_ALGORITHMS


# --- fetching -----------------------------------------------------------------------------------------------


def is_safe_url(url: str, *, whole: bool = False) -> bool:
    """True if a URL is safe to fetch: https, or http on loopback, without user info or odd characters.

    With `whole`, it must not have a query either.
    """
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0 and parts.username is None
    except ValueError:
        return False
    shown = url.isascii() and url.isprintable() and not set(url) & set(' "\\<>#')
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK_NAMES)
    return named and shown and safe and not (whole and "?" in url)


def _is_loopback(url: str) -> bool:
    return urlsplit(url).hostname in _LOOPBACK_NAMES


def _fetch(url: str) -> Mapping[str, Any] | None:
    """Fetch a JSON object; None if the status is not 200. Follows no redirects and decompresses nothing.

    Raises `NoIssuer` if it cannot be read in time, is too long, or is not a JSON object.
    """
    end, body = time.monotonic() + _FETCH_SECONDS, bytearray()
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    too_slow = NoIssuer(f"{url} was not read within {_FETCH_SECONDS:.0f} seconds", _FETCH_REPAIR)
    try:
        with (
            httpx2.Client(headers=headers, timeout=_FETCH_SECONDS, trust_env=not _is_loopback(url)) as client,
            client.stream("GET", url, follow_redirects=False) as response,
        ):
            if response.status_code != 200:
                return None
            for part in response.iter_raw():
                body += part
                if len(body) > _MAX_FETCH_BYTES:
                    raise NoIssuer(f"{url} says more than {_MAX_FETCH_BYTES} bytes", _FETCH_REPAIR)
                if time.monotonic() > end:
                    raise too_slow
        return msgspec.json.decode(body, type=dict[str, Any])
    except httpx2.TimeoutException as error:
        raise too_slow from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise NoIssuer(f"{url} cannot be read: {error or type(error).__name__}", _FETCH_REPAIR) from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NoIssuer(f"what {url} says is no JSON object", _FETCH_REPAIR) from error


# The maximum length of an issuer's token, in characters.
MAX_ISSUED_TOKEN_CHARACTERS: Final = 8192
# How many seconds the clocks of issuer and server may differ.
_CLOCK_SKEW_SECONDS: Final = 30
# The most threads that wait for keys. All of them block while PyJWT fetches; the rest is for other work.
_MAX_KEY_THREADS: Final = 8
_TOKEN_TYPES: Final = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_MAX_SUBJECT_CHARACTERS: Final = 255
_MAX_SHOWN_SUBJECT_CHARACTERS: Final = 64
_SAFE_SUBJECT_CHARACTERS: Final = "@:|+/="
_SCOPES_BY_NAME: Final = {str(scope): scope for scope in AccessScope}


@dataclass(frozen=True, slots=True)
class IssuerTokenVerifier:
    """Verifies the tokens of one issuer.

    `claim` names the claim that lists the bearer's projects; if empty, a token is valid for all projects.
    """

    issuer: str
    keys: IssuerKeys
    claim: str = ""
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_MAX_KEY_THREADS))

    async def grant(self, token: str, audiences: Iterable[str]) -> Grant | None:
        """Return what a token for one of these audiences allows; None if it is not valid."""
        if len(token) > MAX_ISSUED_TOKEN_CHARACTERS:
            return None
        try:
            header = jwt.get_unverified_header(token)
            kind = header.get("typ", "jwt")
            if not (isinstance(kind, str) and kind.lower() in _TOKEN_TYPES and "kid" in header):
                return None
            if {"crit", "b64"} & header.keys():  # extensions that are not supported here
                return None
            key = await run_sync(self.keys.get_signing_key, header["kid"], limiter=self._threads)
            claims = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=list(audiences),
                issuer=self.issuer,
                leeway=_CLOCK_SKEW_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError:
            return None
        subject = claims["sub"]
        # A token with `cnf` is bound to a key. Its bearer would have to prove that they own the key.
        if not 0 < len(subject) <= _MAX_SUBJECT_CHARACTERS or "cnf" in claims:
            return None
        named = _split_claim(claims.get("scope", claims.get("scp")))
        scopes = frozenset(_SCOPES_BY_NAME[name] for name in named if name in _SCOPES_BY_NAME)
        projects = frozenset(_split_claim(claims.get(self.claim))) if self.claim else None
        return Grant(principal_of_subject(subject), scopes, projects)


def principal_of_subject(subject: str) -> str:
    """Return the principal for a subject: short, safe to print, and never that of one of our own tokens."""
    shown = quote(subject, safe=_SAFE_SUBJECT_CHARACTERS, errors="surrogatepass")
    if len(shown) > _MAX_SHOWN_SUBJECT_CHARACTERS:
        digest = hashlib.sha256(shown.encode()).hexdigest()[:32]
        shown = f"{shown[:_MAX_SHOWN_SUBJECT_CHARACTERS]}#{digest}"
    return f"sub:{shown}"


def _split_claim(claim: object) -> tuple[str, ...]:
    """Return the names in a claim, which is a text with spaces between them, or a list."""
    if isinstance(claim, str):
        return tuple(claim.split())
    return tuple(name for name in claim if isinstance(name, str)) if isinstance(claim, list) else ()


METADATA_PATH: Final = "/.well-known/oauth-protected-resource"
# The scopes that an agent needs by default; a call that needs more names the missing scope.
DEFAULT_SCOPES: Final = (AccessScope.READ, AccessScope.WRITE)
# Keeps a URL without a path as it is: clients compare it as text.
_URL_ADAPTER: Final = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True))


@dataclass(frozen=True, slots=True)
class ProtectedResource:
    """A server as an OAuth protected resource: its `url` for clients, its issuer, the paths of its faces."""

    url: str
    issuer: str
    faces: frozenset[str]

    def is_open(self, path: str) -> bool:
        """True if the path is the public metadata of the server or of one of its faces."""
        face = path.removeprefix(METADATA_PATH)
        return face != path and (not face or face in self.faces)

    def audiences(self, path: str) -> tuple[str, ...]:
        """Return the audiences that are valid at this path: the whole server, and the face there."""
        return (self.url, f"{self.url}{path}") if path in self.faces else (self.url,)

    def challenge(self, path: str, scopes: Iterable[AccessScope] = DEFAULT_SCOPES, error: str = "") -> str:
        """Return the `WWW-Authenticate` value: what is missing, and where to find the issuer."""
        parameters = {
            "error": error,
            "scope": " ".join(scopes),
            "resource_metadata": f"{self.url}{METADATA_PATH}{path if path in self.faces else ''}",
        }
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parameters.items() if value)

    def routes(self) -> list[Route]:
        """Return the metadata routes for the server and for each of its faces."""
        issuer = _URL_ADAPTER.validate_python(self.issuer)
        return [
            route
            for face in ("", *sorted(self.faces))
            for route in create_protected_resource_routes(
                _URL_ADAPTER.validate_python(f"{self.url}{face}"), [issuer], list(DEFAULT_SCOPES), "Handrail"
            )
        ]


_BEARER_PREFIX: Final = "bearer "
_MAX_TOKEN_CHARACTERS: Final = 512
_SIGN_IN_TEXT: Final = "say who you are: Authorization: Bearer and a token that "
_OWN_TOKEN_TEXT: Final = f"{_SIGN_IN_TEXT}`handrail token create` made for this server"

_ISSUED_TOKEN_TEXT: Final = (
    f"{_SIGN_IN_TEXT}the issuer gave out for this server; WWW-Authenticate leads to it"
)


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authenticates requests by the tokens in `access`, and by the issuer's tokens for `audience` (`issued`).

    Without either, every request is allowed as anonymous. `protected` is set by `bind_to`.
    """

    access: AccessTokens | None
    clock: Clock
    limits: CallLimits = field(default_factory=lambda: CallLimits(RateLimit()))
    issued: IssuerTokenVerifier | None = None
    audience: str = ""
    protected: ProtectedResource | None = None

    @property
    def requires_token(self) -> bool:
        """True if requests must carry a token."""
        return self.access is not None or self.issued is not None

    def bind_to(self, url: str, faces: Iterable[str]) -> "Authenticator":
        """Return the authenticator of a server at this URL, with these paths of faces."""
        if self.issued is None:
            return self
        protected = ProtectedResource(self.audience or url, self.issued.issuer, frozenset(faces))
        return replace(self, protected=protected)

    def is_open(self, path: str) -> bool:
        """True if the path needs no token: it tells clients where to get one."""
        return self.protected is not None and self.protected.is_open(path)

    def routes(self) -> list[Route]:
        """Return the routes of the paths that need no token."""
        return self.protected.routes() if self.protected else []

    async def authenticate(self, scope: Scope, headers: Headers) -> HttpRefusal | None:
        """Set the grant of a request, or return its refusal."""
        if not self.requires_token:
            set_grant(scope, ANONYMOUS_GRANT)
            return None
        given = headers.getlist("authorization")
        shown = given[0] if len(given) == 1 else ""
        grant = await self._admit(scope, shown)
        if isinstance(grant, HttpRefusal):
            return grant
        set_grant(scope, grant)
        if (protected := self.protected) and not _bearer_token(shown).startswith(SECRET_PREFIX):
            scope["state"][CHALLENGE_KEY] = lambda needed: protected.challenge(
                scope["path"], (needed,), "insufficient_scope"
            )
        return None

    async def check_token(self, scope: Scope, token: str) -> Grant | HttpRefusal:
        """Return what a token allows, or the refusal. Counts against the rate limit."""
        return await self._admit(scope, f"{_BEARER_PREFIX}{token}")

    async def find_grant(self, scope: Scope, token: str) -> Grant | None:
        """Return what an already accepted token allows now, or None. Doesn't count against the rate limit."""
        return await self._grant(f"{_BEARER_PREFIX}{token}", scope["path"])

    async def _admit(self, scope: Scope, shown: str) -> Grant | HttpRefusal:
        visit = self.limits.visit(peer_of(scope), shown)
        if isinstance(visit, HttpRefusal):
            return visit
        grant = await self._grant(shown, scope["path"])
        if grant is not None:
            return visit.accept(grant.principal) or grant
        visit.reject()
        challenge, text = "Bearer", _OWN_TOKEN_TEXT if self.access else _ISSUED_TOKEN_TEXT
        if self.protected:
            error = "invalid_token" if shown else ""
            challenge = self.protected.challenge(scope["path"], error=error)
        return HttpRefusal(401, text, {"www-authenticate": challenge})

    async def _grant(self, shown: str, path: str) -> Grant | None:
        """Return what the `Authorization` value allows, or None if it holds no valid token."""
        token = _bearer_token(shown)
        ours = token.startswith(SECRET_PREFIX)
        if self.access and len(token) <= _MAX_TOKEN_CHARACTERS and (ours or not self.issued):
            stored = await run_sync(self.access.use_token, hash_secret(token), self.clock.now())
            return stored.grant if stored else None
        if self.issued and self.protected and token and not ours:
            return await self.issued.grant(token, self.protected.audiences(path))
        return None


def _bearer_token(shown: str) -> str:
    return shown[len(_BEARER_PREFIX) :].strip() if shown.lower().startswith(_BEARER_PREFIX) else ""


def set_grant(scope: Scope, grant: Grant) -> None:
    """Store the grant in the request, and the principal for the SDK, which ties sessions to their owner."""
    scope.setdefault("state", {})[GRANT_KEY] = grant
    if grant.principal:
        scopes = sorted(map(str, grant.scopes))
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=grant.principal, scopes=scopes))
