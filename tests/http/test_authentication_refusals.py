"""Tokens that are not good, each in one way only: refused on every route, and all in the same words."""

import hashlib
import hmac
import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.utils import base64url_encode

from helpers.crash import Record
from helpers.http_servers import HttpAnswer, HttpServer, run_http_server
from helpers.servers import create_place
from helpers.token_issuer import Key, TokenIssuer, create_key, create_rsa_key, encode_segment, run_issuer

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
PATHS: Final = ("/mcp/steps", "/mcp/planner", "/nothing", "/metrics")
HOUR: Final = 3600

UNUSABLE: Final = {
    "weak": Key("weak", "RS256", create_rsa_key(1, 1024)).public(),
    "for secrets": create_key("for secrets", "RS256").public(use="enc"),
    "for making": create_key("for making", "RS256").public(key_ops=["sign"]),
    "odd use": create_key("odd use", "RS256").public(key_ops="verify"),
    "of all": {"kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "kid": "of all", "alg": "HS256"},
    "shared": {"kty": "RSA", "alg": "HS256", "kid": "shared", "n": "AQAB", "e": "AQAB"},
    "none": create_key("none", "RS256").public(alg="none"),
    "other": create_key("other", "RS256").public(alg="ES256"),
    "list": create_key("list", "RS256").public(alg=["RS256"]),
    "curve": create_key("curve", "ES256").public(alg="ES256K", crv="secp256k1"),
    "point": create_key("point", "ES256").public(x="AAAA"),
    "of all, unsaid": {"kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "kid": "of all, unsaid"},
    "private": {**create_key("private", "ES256").public(), **create_key("private", "ES256").secret()},
    "number": {**create_key("", "ES256").public(), "kid": 7},
    "": create_key("", "ES256").public(),
}
"""What stands beside the good keys, and opens nothing."""


@pytest.fixture(scope="module")
def issuer() -> Iterator[TokenIssuer]:
    with run_issuer() as made:
        good = [create_key(name, name).public() for name in ALGORITHMS]
        bare = {name: value for name, value in create_key("bare", "ES384").public().items() if name in BARE}
        made.publish(*UNUSABLE.values(), made.key.public(), *good, bare, 7, None, "key")
        yield made


BARE: Final = {"kty", "crv", "x", "y", "kid"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, issuer: TokenIssuer) -> Iterator[HttpServer]:
    at = create_place(Path(tmp_path_factory.mktemp("bad")) / "place")
    with run_http_server(at, "--issuer", issuer.url, "--auth", "oauth", "--auth", "token") as made:
        yield made


def ask(served: HttpServer, token: str, path: str = "/nothing") -> HttpAnswer:
    return served.send(path, token=token)


def by(issuer: TokenIssuer, key: Key, audience: str, headers: dict[str, Any] | None = None) -> str:
    """A good token, signed with another key."""
    head = {"kid": key.kid, "typ": "at+jwt", **(headers or {})}
    return jwt.encode(issuer.claims(audience), key.private, key.algorithm, head)


def written(header: object, claims: object, sign: Callable[[bytes], bytes] = lambda _: b"") -> str:
    """A token by hand."""
    answer = f"{encode_segment(header)}.{encode_segment(claims)}"
    return f"{answer}.{encode_segment(sign(answer.encode()))}"


def hmac_by(key: bytes) -> Callable[[bytes], bytes]:
    return lambda answer: hmac.digest(key, answer, hashlib.sha256)


def signed(key: Key) -> Callable[[bytes], bytes]:
    algorithm = jwt.get_algorithm_by_name(key.algorithm)
    return lambda answer: algorithm.sign(answer, key.private)


def _pem(key: Key) -> bytes:
    return key.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _now(more: float) -> int:
    return int(time.time() + more)


def by_key(key: Key) -> "Bad":
    return lambda issuer, audience: by(issuer, key, audience)


HEAD: Final = {"alg": "ES256", "kid": "first", "typ": "at+jwt"}
Bad = Callable[[TokenIssuer, str], str]

BAD: Final[dict[str, Bad]] = {
    "expired": lambda m, a: m.token(a, exp=_now(-HOUR)),
    "expired a minute ago": lambda m, a: m.token(a, exp=_now(-60)),
    "no exp": lambda m, a: m.token(a, exp=None),
    "exp that is no time": lambda m, a: m.token(a, exp="tomorrow"),
    "exp that is a list": lambda m, a: m.token(a, exp=[_now(HOUR)]),
    "endless exp": lambda m, a: m.token(a, exp=float("inf")),
    "exp that is no number": lambda m, a: m.token(a, exp=float("nan")),
    "not yet good": lambda m, a: m.token(a, nbf=_now(HOUR)),
    "nbf that is no time": lambda m, a: m.token(a, nbf="now"),
    "made tomorrow": lambda m, a: m.token(a, iat=_now(HOUR)),
    "for nobody": lambda m, a: m.token(a, aud=None),
    "for an empty list": lambda m, a: m.token(a, aud=[]),
    "for another server": lambda m, _: m.token("https://other.example"),
    "for more than the server": lambda m, a: m.token(f"{a}.other.example"),
    "for less than the server": lambda m, a: m.token(a[:-1]),
    "for a slash more": lambda m, a: m.token(f"{a}/"),
    "for another face": lambda m, a: m.token(f"{a}/mcp/skills"),
    "for a list with a number": lambda m, a: m.token(a, aud=[a, 7]),
    "for an object": lambda m, a: m.token(a, aud={a: a}),
    "of nobody": lambda m, a: m.token(a, iss=None),
    "of another issuer": lambda m, a: m.token(a, iss="https://other.example"),
    "of a slash more": lambda m, a: m.token(a, iss=f"{m.url}/"),
    "of a list with the issuer": lambda m, a: written(HEAD, m.claims(a, iss=[m.url]), signed(m.key)),
    "about nobody": lambda m, a: m.token(a, sub=None),
    "about an empty name": lambda m, a: m.token(a, sub=""),
    "about a number": lambda m, a: written(HEAD, m.claims(a, sub=7), signed(m.key)),
    "about a name without end": lambda m, a: m.token(a, sub="a" * 256),
    "bound to a key": lambda m, a: m.token(a, cnf={"jkt": "x"}),
    "not signed": lambda m, a: written({**HEAD, "alg": "none"}, m.claims(a)),
    "not signed, in capitals": lambda m, a: written({**HEAD, "alg": "NONE"}, m.claims(a)),
    "no alg": lambda m, a: written({"kid": "first"}, m.claims(a), signed(m.key)),
    "alg that is null": lambda m, a: written({**HEAD, "alg": None}, m.claims(a), signed(m.key)),
    "alg that is a list": lambda m, a: written({**HEAD, "alg": ["ES256"]}, m.claims(a), signed(m.key)),
    "signature taken off": lambda m, a: m.token(a).rpartition(".")[0] + ".",
    "signature of another token": lambda m, a: (
        m.token(a).rpartition(".")[0] + "." + m.token(a, sub="eve").rpartition(".")[2]
    ),
    "signature cut": lambda m, a: m.token(a)[:-4],
    "claims of another token": lambda m, a: ".".join(
        one.split(".")[place] for place, one in enumerate((m.token(a), m.token(a, sub="eve"), m.token(a)))
    ),
    "zero signature": lambda m, a: written(HEAD, m.claims(a), lambda _: bytes(64)),
    "public key as the secret": lambda m, a: written(
        {**HEAD, "alg": "HS256"}, m.claims(a), hmac_by(_pem(m.key))
    ),
    "public JWK as the secret": lambda m, a: written(
        {**HEAD, "alg": "HS256"}, m.claims(a), hmac_by(json.dumps(m.key.public()).encode())
    ),
    "nothing as the secret": lambda m, a: written({**HEAD, "alg": "HS256"}, m.claims(a), hmac_by(b"")),
    "published secret": lambda m, a: written(
        {"alg": "HS256", "kid": "of all"}, m.claims(a), hmac_by(b"secretsecretsecretsecret")
    ),
    "published secret, unsaid": lambda m, a: written(
        {"alg": "HS256", "kid": "of all, unsaid"}, m.claims(a), hmac_by(b"secretsecretsecretsecret")
    ),
    "another algorithm of the key": lambda m, a: by(m, Key("RS256", "RS512", create_rsa_key()), a),
    "padding of another kind": lambda m, a: by(m, Key("RS256", "PS256", create_rsa_key()), a),
    "key of somebody else": lambda m, a: by(m, Key("first", "ES256", create_key("eve", "ES256").private), a),
    "key in the token": lambda m, a: by(
        m,
        Key("first", "ES256", create_key("eve", "ES256").private),
        a,
        {"jwk": create_key("eve", "ES256").public(kid="first")},
    ),
    "keys of somebody else's place": lambda m, a: by(
        m, create_key("eve", "ES256"), a, {"jku": f"{m.url}/eve", "x5u": f"{m.url}/eve"}
    ),
    "no kid": lambda m, a: written({"alg": "ES256"}, m.claims(a), signed(m.key)),
    "kid that is null": lambda m, a: written({**HEAD, "kid": None}, m.claims(a), signed(m.key)),
    "kid that is a number": lambda m, a: written({**HEAD, "kid": 7}, m.claims(a), signed(m.key)),
    "kid that is a list": lambda m, a: written({**HEAD, "kid": ["first"]}, m.claims(a), signed(m.key)),
    "kid that is a path": lambda m, a: by(m, Key("../first", "ES256", m.key.private), a),
    "kid that is a query": lambda m, a: by(m, Key("' OR 1=1 --", "ES256", m.key.private), a),
    "kid with a NUL": lambda m, a: by(m, Key("first\0", "ES256", m.key.private), a),
    "kid that is half a character": lambda m, a: by(m, Key("\ud800", "ES256", m.key.private), a),
    "empty kid": lambda m, a: by(m, Key("", "ES256", create_key("", "ES256").private), a),
    "typ of a logout": lambda m, a: m.token(a, {"typ": "logout+jwt"}),
    "typ of a proof": lambda m, a: m.token(a, {"typ": "dpop+jwt"}),
    "typ that is a number": lambda m, a: written({**HEAD, "typ": 7}, m.claims(a), signed(m.key)),
    "typ that is null": lambda m, a: written({**HEAD, "typ": None}, m.claims(a), signed(m.key)),
    "crit": lambda m, a: written({**HEAD, "crit": ["exp"], "exp": 1}, m.claims(a), signed(m.key)),
    "crit that is known": lambda m, a: written(
        {**HEAD, "crit": ["b64"], "b64": True}, m.claims(a), signed(m.key)
    ),
    "empty crit": lambda m, a: written({**HEAD, "crit": []}, m.claims(a), signed(m.key)),
    "b64": lambda m, a: written({**HEAD, "b64": False}, m.claims(a), signed(m.key)),
    "too long": lambda m, a: m.token(a, note="x" * 8192),
    "far too long": lambda m, a: m.token(a, note="x" * 40_000),
    "claims that are a list": lambda m, a: written(HEAD, [m.claims(a)], signed(m.key)),
    "claims that are no JSON": lambda m, _: written(HEAD, b"{", signed(m.key)),
    "claims without end": lambda m, _: written(HEAD, b"[" * 5000, signed(m.key)),
    "header that is a list": lambda m, a: written([HEAD], m.claims(a), signed(m.key)),
    "header without end": lambda m, a: written(b"[" * 5000, m.claims(a)),
    "header with a number without end": lambda _m, _a: written(b'{"kid": ' + b"9" * 5000 + b"}", {}),
    "header that is no UTF-8": lambda _m, _a: written(b'{"kid": "\xff"}', {}),
    "in another alphabet": lambda m, a: m.token(a).replace("-", "+").replace("_", "/") + "=",
    "with a space in it": lambda m, a: m.token(a).replace(".", ". "),
    "in two parts": lambda m, a: m.token(a).partition(".")[2],
    "in four parts": lambda m, a: m.token(a) + ".e30",
    "in five parts": lambda _m, _a: "e30.e30.e30.e30.e30",
    "of dots": lambda _m, _a: "..",
    "letters": lambda _m, _a: "token",
    "of our own": lambda m, a: "hr_" + m.token(a),
    **{
        f"key that is {name}": by_key(Key(name, "RS256", create_rsa_key()))
        for name in ("for secrets", "for making", "odd use", "none", "other", "list", "shared")
    },
    "key that is weak": lambda m, a: written(
        {"alg": "RS256", "kid": "weak"}, m.claims(a), signed(Key("weak", "RS256", create_rsa_key(1, 1024)))
    ),
    "key that is private": lambda m, a: by(m, create_key("private", "ES256"), a),
    "key that is on no curve": lambda m, a: by(m, create_key("point", "ES256"), a),
}

GOOD: Final[dict[str, Bad]] = {
    "as it is": lambda m, a: m.token(a),
    "typ JWT": lambda m, a: m.token(a, {"typ": "JWT"}),
    "typ in full": lambda m, a: m.token(a, {"typ": "application/at+jwt"}),
    "no typ": lambda m, a: written({"alg": "ES256", "kid": "first"}, m.claims(a), signed(m.key)),
    "for others too": lambda m, a: m.token(a, aud=["https://other.example", a]),
    "a clock that is behind": lambda m, a: m.token(a, exp=_now(-10)),
    "a clock that is ahead": lambda m, a: m.token(a, nbf=_now(10), iat=_now(10)),
    "a long name": lambda m, a: m.token(a, sub="é" * 255),
    "half a character": lambda m, a: m.token(a, sub="\ud800"),
    "almost too long": lambda m, a: m.token(a, note="x" * 5000),
    "a key without alg": lambda m, a: by(m, create_key("bare", "ES384"), a),
    **{name: by_key(create_key(name, name)) for name in ALGORITHMS},
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_token_opens_however_it_is_written(issuer: TokenIssuer, served: HttpServer, name: str) -> None:
    token = GOOD[name](issuer, f"http://{served.address}")

    assert ask(served, token).status == 404


def test_every_bad_token_is_refused_on_every_route_and_all_are_told_the_same(
    issuer: TokenIssuer, served: HttpServer, record_property: Record
) -> None:
    audience = f"http://{served.address}"
    same = {path: ask(served, "x", path) for path in PATHS}
    tried = 0
    for name, bad in BAD.items():
        token = bad(issuer, audience)
        for path in PATHS:
            assert ask(served, token, path) == same[path], name
            tried += 1

    assert {answered.status for answered in same.values()} == {401}
    assert same["/nothing"].headers["www-authenticate"].startswith('Bearer error="invalid_token", scope=')
    assert ask(served, issuer.token(audience)).status == 404
    assert issuer.asked["/eve"] == 0
    record_property("points", tried)
    assert tried == len(BAD) * len(PATHS) > 0


MUTATED: Final = 300


def test_of_a_good_token_with_any_one_character_changed_nothing_opens(
    issuer: TokenIssuer, served: HttpServer, record_property: Record
) -> None:
    chance = random.Random("tokens")  # noqa: S311 - the same ones each time
    token = issuer.token(f"http://{served.address}")
    letters = base64url_encode(bytes(range(256))).decode() + ".=~"
    for _ in range(MUTATED):
        place = chance.randrange(len(token))
        other = token[:place] + chance.choice(letters.replace(token[place], "")) + token[place + 1 :]
        assert ask(served, other).status == 401

    assert ask(served, token).status == 404
    record_property("points", MUTATED)
