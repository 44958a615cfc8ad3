"""Who gives out tokens for a server, and the keys by which they are known.

PyJWT keeps the keys. What it does not do is done here: an answer is short, soon, JSON, and from where it was
asked; a key is fit for signatures; and the keys outlive an issuer that is away. Nothing that a token says
decides where anything is fetched from.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import jwt
import msgspec
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls as metadata_urls

from handrail.shell.faults import NoIssuer

ALGORITHMS: Final = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
)
"""How tokens may be signed: with a key that only the issuer has."""

MINUTE: Final = 60.0
"""How many seconds pass at least from one fetching for an unknown key to the next."""

FRESH: Final = 600.0
"""After how many seconds keys are fetched again."""

STALE: Final = 86_400.0
"""For how many seconds keys are good if they cannot be fetched again."""

_KEYS: Final = 64
_SHOWN: Final = 200
_SECONDS: Final = 5.0
_BYTES: Final = 256 * 1024
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_REPAIR: Final = "look whether the issuer is up and --issuer names it, and start again"

log = logging.getLogger("handrail")


class IssuerKeys(jwt.PyJWKClient):
    """The keys of an issuer, by their `kid`: fetched again when they are old or one is missing.

    However many ask for keys that do not exist, the issuer is asked once in `pause` seconds. If it cannot be
    reached, its keys stay good for `stale` seconds.
    """

    def __init__(
        self, source: str, *, fresh: float = FRESH, pause: float = MINUTE, stale: float = STALE
    ) -> None:
        super().__init__(source, lifespan=fresh, cooldown_duration=pause)
        self._pause, self._stale = pause, stale
        self._good: dict[str, Any] = {}
        self._fetched_at = self._failed_at = float("-inf")

    def fetch_data(self) -> dict[str, Any]:
        """The keys that can be used: new ones, or the last that could be had.

        Raises `NoIssuer` if there have never been any, PyJWT's error if they are too old.
        """
        now = time.monotonic()
        if now - self._failed_at >= self._pause:
            try:
                self._good, self._fetched_at = _keys_at(self.uri), now
            except NoIssuer as fault:
                if not self._good:
                    raise
                self._failed_at = now
                log.warning("%s; the keys known so far are used", fault.message)
        if now - self._fetched_at > self._stale:
            raise jwt.PyJWKClientError("the keys are too old")
        return self._good


def find_keys(name: str) -> IssuerKeys:
    """The keys of the issuer of this name.

    Raises `NoIssuer` if there is none, or none of its keys can be used.
    """
    if not is_web(name, whole=True):
        message = f"`{name}` is no issuer"
        raise NoIssuer(message, "write an https URL with --issuer; http is for this machine only")
    places = metadata_urls(name, name)
    for url in places:
        said = _fetch(url)
        if said is not None:
            keys = IssuerKeys(_source(name, url, said))
            keys.get_jwk_set()
            return keys
    repair = "write --issuer as the issuer writes itself in its tokens (`iss`)"
    raise NoIssuer(f"{name} has no metadata at {', '.join(places)}", repair)


def _source(name: str, url: str, said: Mapping[str, Any]) -> str:
    """Where the keys are, by the metadata of the issuer."""
    if said.get("issuer") != name:
        message = f"the issuer at {url} is called {str(said.get('issuer'))[:_SHOWN]!a}, not {name}"
        raise NoIssuer(message, "write --issuer as it calls itself, to the last character")
    source = said.get("jwks_uri")
    if not (isinstance(source, str) and is_web(source)) or (_is_loopback(source) and not _is_loopback(name)):
        raise NoIssuer(f"{url} names no place of keys (`jwks_uri`)", "use an issuer that publishes its keys")
    return source


# --- keys ---------------------------------------------------------------------------------------------------


def _keys_at(source: str) -> dict[str, Any]:
    """The set of keys there, without those that cannot be used. Raises `NoIssuer` if none is left."""
    said = _fetch(source) or {}
    listed = said.get("keys")
    keys = [key for key in listed[:_KEYS] if _is_usable(key)] if isinstance(listed, list) else []
    if not keys:
        repair = f"have the issuer publish a key with a `kid`, for one of {', '.join(sorted(ALGORITHMS))}"
        raise NoIssuer(f"no key at {source} can be used", repair)
    return {"keys": keys}


def _is_usable(said: object) -> bool:
    """Whether tokens can be known by a key: it is public, for signatures, strong, and has a name."""
    if not isinstance(said, dict) or "d" in said:
        return False
    kid, operations = said.get("kid"), said.get("key_ops", ["verify"])
    for_signatures = (
        said.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations
    )
    if not (kid and isinstance(kid, str) and for_signatures and _signs(said.get("alg"))):
        return False
    try:
        key = jwt.PyJWK(said)
    except jwt.PyJWTError:
        return False
    return not key.Algorithm.check_key_length(key.key) and key.algorithm_name in ALGORITHMS


def _signs(algorithm: object) -> bool:
    return algorithm is None or (isinstance(algorithm, str) and algorithm in ALGORITHMS)


# --- what is said on the web --------------------------------------------------------------------------------


def is_web(url: str, *, whole: bool = False) -> bool:
    """Whether nobody else answers for this URL, and it hides nothing; one that is `whole` has no query."""
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0 and parts.username is None
    except ValueError:
        return False
    shown = url.isascii() and url.isprintable() and not set(url) & set(' "\\<>#')
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    return named and shown and safe and not (whole and "?" in url)


def _is_loopback(url: str) -> bool:
    return urlsplit(url).hostname in _LOOPBACK


def _fetch(url: str) -> Mapping[str, Any] | None:
    """The JSON object at a URL; None if there is nothing. Nothing leads elsewhere, and nothing is unpacked.

    Raises `NoIssuer` if it cannot be had, or is something else.
    """
    try:
        body = _read_body(url)
    except (TimeoutError, httpx2.TimeoutException) as error:
        raise NoIssuer(f"{url} was not read within {_SECONDS:.0f} seconds", _REPAIR) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise NoIssuer(f"{url} cannot be read: {error or type(error).__name__}", _REPAIR) from error
    if body is None:
        return None
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NoIssuer(f"what {url} says is no JSON object", _REPAIR) from error


def _read_body(url: str) -> bytes | None:
    end = time.monotonic() + _SECONDS
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    with (
        httpx2.Client(headers=headers, timeout=_SECONDS, trust_env=not _is_loopback(url)) as client,
        client.stream("GET", url, follow_redirects=False) as response,
    ):
        if response.status_code != 200:
            return None
        body = bytearray()
        for part in response.iter_raw():
            body += part
            if len(body) > _BYTES:
                raise NoIssuer(f"{url} says more than {_BYTES} bytes", _REPAIR)
            if time.monotonic() > end:
                raise TimeoutError
        return bytes(body)
