"""An issuer of tokens: a real HTTP server with keys of its own, that can be told to misbehave."""

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

METADATA: Final = "/.well-known/oauth-authorization-server"
OPENID: Final = "/.well-known/openid-configuration"
KEYS: Final = "/keys"
TOKEN: Final = "/token"  # noqa: S105 - where tokens are asked for, and no secret
Private = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@cache
def create_rsa_key(number: int = 0, bits: int = 2048) -> rsa.RSAPrivateKey:
    """A key, the same for the same number: making one takes its time."""
    del number
    return rsa.generate_private_key(65537, bits)


@cache
def create_key(kid: str, algorithm: str) -> "Key":
    """A key of this name for this algorithm."""
    curves = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
    if algorithm in curves:
        return Key(kid, algorithm, ec.generate_private_key(curves[algorithm]))
    if algorithm == "EdDSA":
        return Key(kid, algorithm, ed25519.Ed25519PrivateKey.generate())
    return Key(kid, algorithm, create_rsa_key())


@dataclass(frozen=True, slots=True)
class Key:
    """A private key, and how it is called."""

    kid: str
    algorithm: str
    private: Private

    def public(self, **more: object) -> dict[str, Any]:
        """The key as it is published, with these fields instead."""
        stored = self._written(self.private.public_key())
        return {**stored, "kid": self.kid, "use": "sig", "alg": self.algorithm, **more}

    def secret(self) -> dict[str, Any]:
        """The part of the key that nobody publishes."""
        return {"d": self._written(self.private)["d"]}

    def _written(self, key: object) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(get_default_algorithms()[self.algorithm].to_jwk(key))
        return {name: value for name, value in made.items() if name != "key_ops"}


@dataclass(slots=True)
class TokenIssuer:
    """An issuer. `pages` are what it says at a path: data, bytes as they are, or what else it does."""

    url: str
    key: Key
    pages: dict[str, Any] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    scopes: Callable[[str], str] = field(default=lambda wanted: wanted)

    def publish(self, *keys: object) -> None:
        """Have these keys from now on."""
        self.pages[KEYS] = {"keys": list(keys)}

    def claims(self, audience: str, **other: object) -> dict[str, Any]:
        """What a good token says, with these claims instead; those that are None are left out."""
        now = int(time.time())
        usual = {
            "iss": self.url,
            "sub": "ada",
            "aud": audience,
            "exp": now + 600,
            "iat": now,
            "scope": "run:read run:write",
        }
        return {name: value for name, value in {**usual, **other}.items() if value is not None}

    def token(self, audience: str, headers: Mapping[str, Any] | None = None, **other: object) -> str:
        """A good token, but for these claims and headers."""
        head = {"kid": self.key.kid, "typ": "at+jwt", **(headers or {})}
        return jwt.encode(
            self.claims(audience, **other), self.key.private, self.key.algorithm, head, sort_headers=False
        )

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        self.asked[path] += 1
        page = self.pages.get(path)
        if callable(page):
            page = page()
        match page:
            case None:
                return 404, {}, b"there is nothing\n"
            case int():
                return page, {"location": self.url + KEYS}, b""
            case bytes():
                return 200, {}, page
            case _:
                return 200, {"content-type": "application/json"}, json.dumps(page).encode()

    def granted(self, form: str) -> bytes:
        """A token as it is given to who has a secret, for the scopes and the resource they ask for."""
        wanted = {name: values[0] for name, values in parse_qs(form).items()}
        scope = self.scopes(wanted.get("scope", ""))
        made = self.token(wanted["resource"], sub="robot", scope=scope)
        answer = {"access_token": made, "token_type": "Bearer", "expires_in": 600, "scope": scope}
        return json.dumps(answer).encode()


class _Handler(BaseHTTPRequestHandler):
    mint: TokenIssuer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """A page."""
        self._say(*self.mint.answer(self.path))

    def do_POST(self) -> None:
        """A token."""
        self.mint.asked[self.path] += 1
        form = self.rfile.read(int(self.headers["content-length"])).decode()
        self._say(200, {"content-type": "application/json"}, self.mint.granted(form))

    def _say(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body)), "connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: tests print what matters."""


@contextmanager
def run_issuer(algorithm: str = "ES256") -> Iterator[TokenIssuer]:
    """An issuer that listens, with one key."""
    made = TokenIssuer("", create_key("first", algorithm))
    handler = type("Handler", (_Handler,), {"mint": made})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        made.url = f"http://127.0.0.1:{server.server_port}"
        made.pages[METADATA] = {
            "issuer": made.url,
            "jwks_uri": made.url + KEYS,
            "authorization_endpoint": f"{made.url}/authorize",
            "token_endpoint": made.url + TOKEN,
            "response_types_supported": ["code"],
            "grant_types_supported": ["client_credentials"],
        }
        made.publish(made.key.public())
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


def encode_segment(data: object) -> str:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
