"""Who gives out tokens for a server, and the keys by which they are known.

Nothing that a token says decides where anything is fetched from.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import jwt

from handrail.faces.web.fetching import fetched, is_loopback, is_web
from handrail.shell.faults import NoIssuer

ALGORITHMS: Final = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
)
"""How tokens may be signed: with a key that only the issuer has."""

MINUTE: Final = 60.0
"""How many seconds pass at least from one fetching of keys to the next."""

FRESH: Final = 600.0
"""After how many seconds keys are fetched again."""

STALE: Final = 86_400.0
"""For how many seconds keys are good if they cannot be fetched again."""

_KEYS: Final = 64
_SHOWN: Final = 200

Keys = Mapping[str, jwt.PyJWK]

log = logging.getLogger("handrail")


@dataclass(frozen=True, slots=True)
class Issuer:
    """An issuer as it was found: its name, where its keys are, and the keys."""

    name: str
    source: str
    keys: Keys


async def found(name: str) -> Issuer:
    """The issuer of this name. Raises `NoIssuer` if there is none, or none of its keys can be used."""
    if not is_web(name, whole=True):
        message = f"`{name}` is no issuer"
        raise NoIssuer(message, "write an https URL with --issuer; http is for this machine only")
    for url in _places(name):
        said = await fetched(url)
        if said is not None:
            source = _source(name, url, said)
            return Issuer(name, source, await keys_at(source))
    repair = "write --issuer as the issuer writes itself in its tokens (`iss`)"
    raise NoIssuer(f"{name} has no metadata at {', '.join(_places(name))}", repair)


def _places(name: str) -> tuple[str, ...]:
    """Where the metadata of an issuer may be, by RFC 8414 and by OpenID."""
    parts = urlsplit(name)
    host, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    return tuple(
        dict.fromkeys(
            (
                f"{host}/.well-known/oauth-authorization-server{path}",
                f"{host}/.well-known/openid-configuration{path}",
                f"{host}{path}/.well-known/openid-configuration",
            )
        )
    )


def _source(name: str, url: str, said: Mapping[str, Any]) -> str:
    """Where the keys are, by the metadata of the issuer."""
    if said.get("issuer") != name:
        message = f"the issuer at {url} is called {str(said.get('issuer'))[:_SHOWN]!a}, not {name}"
        raise NoIssuer(message, "write --issuer as it calls itself, to the last character")
    source = said.get("jwks_uri")
    if not (isinstance(source, str) and is_web(source)) or (is_loopback(source) and not is_loopback(name)):
        raise NoIssuer(f"{url} names no place of keys (`jwks_uri`)", "use an issuer that publishes its keys")
    return source


async def keys_at(source: str) -> Keys:
    """The keys there that can be used, by their `kid`. Raises `NoIssuer` if there are none."""
    said = await fetched(source) or {}
    listed = said.get("keys")
    keys = dict(filter(None, map(_usable, listed[:_KEYS]))) if isinstance(listed, list) else {}
    if not keys:
        repair = f"have the issuer publish a key with a `kid`, for one of {', '.join(sorted(ALGORITHMS))}"
        raise NoIssuer(f"no key at {source} can be used", repair)
    return keys


def _usable(said: object) -> tuple[str, jwt.PyJWK] | None:
    """A key and its `kid`, if tokens can be known by it: public, for signatures, strong, and named."""
    if not isinstance(said, dict) or "d" in said:
        return None
    kid, operations = said.get("kid"), said.get("key_ops", ["verify"])
    for_signatures = (
        said.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations
    )
    if not (kid and isinstance(kid, str) and for_signatures and _signs(said.get("alg"))):
        return None
    try:
        key = jwt.PyJWK(said)
    except jwt.PyJWTError:
        return None
    weak = key.Algorithm.check_key_length(key.key)
    return None if weak or key.algorithm_name not in ALGORITHMS else (kid, key)


def _signs(algorithm: object) -> bool:
    return algorithm is None or (isinstance(algorithm, str) and algorithm in ALGORITHMS)


class Keyring:
    """The keys of an issuer: fetched again when they are old or one is missing, and seldom.

    However many ask for keys that do not exist, the issuer is asked once a minute. If it cannot be reached,
    the keys stay good for a day. `clock` gives seconds, and never goes back.
    """

    def __init__(self, issuer: Issuer, clock: Callable[[], float]) -> None:
        self._source, self._keys, self._clock = issuer.source, issuer.keys, clock
        self._fetched, self._tried = clock(), float("-inf")
        self._fetching = anyio.Lock()

    async def key(self, kid: str) -> jwt.PyJWK | None:
        """The key of this `kid`, if the issuer has it."""
        missing = kid not in self._keys
        if missing or (self._age() >= FRESH and not self._fetching.locked()):
            async with self._fetching:
                await self._fetch_if_due(kid)
        return self._keys.get(kid) if self._age() < STALE else None

    async def _fetch_if_due(self, kid: str) -> None:
        wanted = kid not in self._keys or self._age() >= FRESH
        if not wanted or self._clock() - self._tried < MINUTE:
            return
        self._tried = self._clock()
        try:
            self._keys = await keys_at(self._source)
        except NoIssuer as fault:
            log.warning("%s; the keys known so far are used", fault.message)
        else:
            self._fetched = self._tried

    def _age(self) -> float:
        return self._clock() - self._fetched
