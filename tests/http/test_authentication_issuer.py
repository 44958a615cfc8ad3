"""What is asked of an issuer before anything is served, and how seldom afterwards."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import anyio
import jwt
import pytest
from starlette.datastructures import Headers

from handrail.app.asgi import HttpRefusal, ProxySettings
from handrail.cli.output import Failure
from handrail.cli.serve import AuthOptions
from handrail.cli.serve_http import prepare_http_service
from handrail.http import authentication as issuers
from handrail.http.authentication import (
    KEYS_STALE_SECONDS,
    Authenticator,
    IssuerKeys,
    IssuerTokenVerifier,
    fetch_issuer_keys,
    principal_of_subject,
)
from handrail.runtime.errors import NoIssuer
from handrail.runtime.ports.access import AccessScope, Grant
from handrail.runtime.system import SystemClock
from helpers.token_issuer import KEYS, METADATA, OPENID, TokenIssuer, create_key, run_issuer

READ: Final = "https://handrail.example"


@pytest.fixture
def issuer() -> Iterator[TokenIssuer]:
    with run_issuer() as made:
        yield made


@pytest.mark.parametrize("path", ["", "/", "/tenant", "/tenant/"])
@pytest.mark.parametrize("kind", ["rfc", "openid inserted", "openid appended"])
def test_an_issuer_is_found_wherever_its_metadata_may_be(issuer: TokenIssuer, path: str, kind: str) -> None:
    name, inner = issuer.url + path, path.rstrip("/")
    answer = {"issuer": name, "jwks_uri": f"{issuer.url}{KEYS}?p=1"}
    issuer.pages = {f"{KEYS}?p=1": issuer.pages[KEYS]}
    places = {"rfc": METADATA + inner, "openid inserted": OPENID + inner, "openid appended": inner + OPENID}
    issuer.pages[places[kind]] = answer

    known = fetch_issuer_keys(name)

    assert known.uri == f"{issuer.url}{KEYS}?p=1"
    assert [key.key_id for key in known.get_signing_keys()] == ["first"]


@dataclass(frozen=True)
class Wrong:
    """What is wrong with an issuer, and what is said of it."""

    change: Callable[[TokenIssuer], object]
    said: str


def _page(path: str, page: Any) -> Callable[[TokenIssuer], object]:  # noqa: ANN401 - whatever an issuer says
    return lambda issuer: issuer.pages.update({path: page})


def _told(**other: object) -> Callable[[TokenIssuer], object]:
    return lambda issuer: issuer.pages[METADATA].update(other)


WRONG: Final = {
    "no metadata": Wrong(_page(METADATA, None), "has no metadata at"),
    "metadata that fail": Wrong(_page(METADATA, 500), "has no metadata at"),
    "metadata elsewhere": Wrong(_page(METADATA, 302), "has no metadata at"),
    "metadata without end": Wrong(_page(METADATA, b" " * 300_000), "says more than 262144 bytes"),
    "metadata that are a list": Wrong(_page(METADATA, []), "says is no JSON object"),
    "metadata that are no JSON": Wrong(_page(METADATA, b"<html>"), "says is no JSON object"),
    "metadata that are no text": Wrong(_page(METADATA, b'{"issuer": "\xff"}'), "says is no JSON object"),
    "metadata that nest": Wrong(_page(METADATA, b'{"a":' * 50_000), "says is no JSON object"),
    "metadata of another": Wrong(_told(issuer="https://other.example"), "is called 'https://other.example'"),
    "metadata of nobody": Wrong(_told(issuer=None), "is called 'None'"),
    "metadata with a slash more": Wrong(lambda m: _told(issuer=f"{m.url}/")(m), "is called"),
    "no place of keys": Wrong(_told(jwks_uri=None), "names no place of keys"),
    "keys in the open": Wrong(_told(jwks_uri="http://other.example/keys"), "names no place of keys"),
    "keys in a file": Wrong(_told(jwks_uri="file:///etc/passwd"), "names no place of keys"),
    "keys with a password": Wrong(_told(jwks_uri="https://a:b@other.example"), "names no place of keys"),
    "keys at no port": Wrong(_told(jwks_uri="https://other.example:x"), "names no place of keys"),
    "keys on two lines": Wrong(_told(jwks_uri="https://other.example/\n"), "names no place of keys"),
    "no keys": Wrong(_page(KEYS, {"keys": []}), "can be used"),
    "keys that are no list": Wrong(_page(KEYS, {"keys": {"kid": "first"}}), "can be used"),
    "keys that are gone": Wrong(_page(KEYS, 404), "can be used"),
    "keys elsewhere": Wrong(_page(KEYS, 307), "can be used"),
    "keys without end": Wrong(_page(KEYS, {"keys": [], "x": "x" * 300_000}), "says more than 262144 bytes"),
    "keys of no use": Wrong(_page(KEYS, {"keys": [{"kty": ["RSA"], "kid": "x"}, 7]}), "can be used"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_issuer_that_is_not_as_it_should_be_is_told_with_its_repair(
    issuer: TokenIssuer, name: str
) -> None:
    WRONG[name].change(issuer)

    with pytest.raises(NoIssuer) as answer:
        fetch_issuer_keys(issuer.url)

    assert WRONG[name].said in answer.value.message
    assert answer.value.repair


@pytest.mark.parametrize(
    "name",
    [
        "handrail",
        "http://issuer.example",
        "ftp://issuer.example",
        "https://",
        "https://issuer.example?x=1",
        "https://issuer.example#x",
        "https://a:b@issuer.example",
        "https://issuer.example/a b",
        "https://issuer.example\\x",
        "https://issuer.example:0",
        "https://issuer.example:99999",
        "https://[issuer.example",
        "https://issüer.example",
    ],
)
def test_what_is_no_issuer_is_not_asked(name: str) -> None:
    with pytest.raises(NoIssuer, match="is no issuer") as answer:
        fetch_issuer_keys(name)

    assert answer.value.repair == "write an https URL with --issuer; http is for this machine only"


def test_an_issuer_that_is_not_there_is_told() -> None:
    with run_issuer() as gone:
        url = gone.url

    with pytest.raises(NoIssuer, match=f"{url}{METADATA} cannot be read") as answer:
        fetch_issuer_keys(url)

    assert answer.value.repair == "look whether the issuer is up and --issuer names it, and start again"


def test_an_issuer_that_does_not_answer_is_waited_for_no_longer_than_said(
    issuer: TokenIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuers, "_FETCH_SECONDS", 0.2)
    answer = threading.Event()
    issuer.pages[METADATA] = answer.wait
    try:
        with pytest.raises(NoIssuer, match="was not read within"):
            fetch_issuer_keys(issuer.url)
    finally:
        answer.set()


def test_an_issuer_that_answers_byte_by_byte_is_not_waited_for_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(issuers, "_FETCH_SECONDS", 0.2)
    ended = threading.Event()

    def drip(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with client, suppress(OSError):
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
            while not ended.wait(0.01):
                client.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        try:
            with pytest.raises(NoIssuer, match="was not read within"):
                fetch_issuer_keys(f"http://127.0.0.1:{listener.getsockname()[1]}")
        finally:
            ended.set()
            thread.join()


@pytest.mark.parametrize(
    ("where", "asking", "said"),
    [
        ("127.0.0.1:0", AuthOptions(("oauth",), "", "", ""), "name them with --issuer URL"),
        (
            "192.0.2.1:0",
            AuthOptions((), READ, "", ""),
            "say what clients call this server with --audience URL",
        ),
        ("0.0.0.0:0", AuthOptions((), READ, "", ""), "say what requests call it with --known-as HOST:PORT"),
        ("127.0.0.1:0", AuthOptions((), READ, "handrail", ""), "write --audience as https://HOST"),
        (
            "127.0.0.1:0",
            AuthOptions((), READ, "http://handrail.example", ""),
            "write --audience as https://HOST",
        ),
        ("127.0.0.1:0", AuthOptions((), READ, f"{READ}/mcp", ""), "write --audience as https://HOST"),
        ("127.0.0.1:0", AuthOptions((), READ, f"{READ}/", ""), "write --audience as https://HOST"),
        ("127.0.0.1:0", AuthOptions(("none",), READ, "", ""), "say --auth oauth, or leave --issuer out"),
        ("127.0.0.1:0", AuthOptions(("token",), READ, "", ""), "say --auth oauth, or leave --issuer out"),
        ("127.0.0.1:0", AuthOptions(("none", "token"), "", "", ""), "leave --auth none out, or the rest"),
        (
            "192.0.2.1:0",
            AuthOptions(("none",), "", "", ""),
            "leave --auth out, or listen at 127.0.0.1 or [::1]",
        ),
    ],
)
def test_who_comes_in_must_be_said_in_full(where: str, asking: AuthOptions, said: str) -> None:
    with pytest.raises(Failure) as answer:
        prepare_http_service(where, asking, ProxySettings())

    assert said in answer.value.repair


def test_a_server_whose_issuer_is_gone_does_not_begin(issuer: TokenIssuer) -> None:
    issuer.publish()

    with pytest.raises(NoIssuer, match="can be used"):
        prepare_http_service(
            "0.0.0.0:0", AuthOptions(("oauth", "token"), issuer.url, READ, ""), ProxySettings()
        )


def _has(keys: IssuerKeys, kid: str) -> bool:
    try:
        keys.get_signing_key(kid)
    except jwt.PyJWKClientError:
        return False
    return True


def test_the_issuer_is_asked_once_for_keys_that_somebody_makes_up(issuer: TokenIssuer) -> None:
    keys = IssuerKeys(issuer.url + KEYS)

    seen = [(_has(keys, kid), issuer.asked[KEYS]) for kid in ("first", "made up", "made up too", "first")]
    issuer.publish(create_key("second", "ES256").public())
    seen.append((_has(keys, "second"), issuer.asked[KEYS]))

    assert seen == [(True, 1), (False, 2), (False, 2), (True, 2), (False, 2)]


def test_a_new_key_is_found_once_the_pause_is_over(issuer: TokenIssuer) -> None:
    keys = IssuerKeys(issuer.url + KEYS, pause=0)
    assert not _has(keys, "second")
    issuer.publish(create_key("second", "ES256").public())

    assert _has(keys, "second")
    assert not _has(keys, "first")


def test_keys_that_are_old_are_fetched_again(issuer: TokenIssuer) -> None:
    keys = IssuerKeys(issuer.url + KEYS, fresh=1e-9)

    assert [(_has(keys, "first"), issuer.asked[KEYS]) for _ in range(3)] == [(True, 1), (True, 2), (True, 3)]


def test_a_hundred_who_ask_at_once_for_a_new_key_all_get_it_and_the_issuer_is_asked_once(
    issuer: TokenIssuer,
) -> None:
    keys = fetch_issuer_keys(issuer.url)
    begun = issuer.asked[KEYS]
    issuer.publish(create_key("second", "ES256").public())
    issued, token = IssuerTokenVerifier(issuer.url, keys), by_second(issuer)

    async def tried() -> list[Grant | None]:
        got = []

        async def look() -> None:
            got.append(await issued.grant(token, [READ]))

        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(look)
        return got

    assert [grant is not None for grant in anyio.run(tried)] == [True] * 100
    assert issuer.asked[KEYS] - begun == 1


def by_second(issuer: TokenIssuer) -> str:
    """A token that is signed with the second key."""
    key = create_key("second", "ES256")
    return jwt.encode(issuer.claims(READ), key.private, "ES256", {"kid": "second"})


@pytest.mark.parametrize(("stale", "good"), [(KEYS_STALE_SECONDS, True), (0, False)])
def test_while_the_issuer_is_away_its_keys_are_good_for_a_day_and_it_is_asked_once_a_minute(
    issuer: TokenIssuer, caplog: pytest.LogCaptureFixture, stale: float, *, good: bool
) -> None:
    keys = IssuerKeys(issuer.url + KEYS, fresh=1e-9, stale=stale)
    assert _has(keys, "first")
    issuer.pages[KEYS] = 503

    assert [_has(keys, kid) for kid in ("first", "made up", "first")] == [good, False, good]
    assert issuer.asked[KEYS] == 2
    assert "the keys known so far are used" in caplog.text


def test_an_issuer_that_is_back_is_heard_once_the_pause_is_over(issuer: TokenIssuer) -> None:
    keys = IssuerKeys(issuer.url + KEYS, fresh=1e-9, pause=0, stale=0)
    assert _has(keys, "first")
    issuer.pages[KEYS] = 503
    assert not _has(keys, "first")
    issuer.publish(issuer.key.public())

    assert _has(keys, "first")


@pytest.mark.parametrize(
    ("claims", "scopes", "projects"),
    [
        ({"scope": "run:read run:write"}, {AccessScope.READ, AccessScope.WRITE}, set()),
        ({"scope": "run:read  nonsense admin"}, {AccessScope.READ, AccessScope.ADMIN}, set()),
        (
            {"scope": None, "scp": ["run:read", 7, "gate:approve"]},
            {AccessScope.READ, AccessScope.APPROVE},
            set(),
        ),
        ({"scope": None, "scp": "run:write"}, {AccessScope.WRITE}, set()),
        ({"scope": None}, set(), set()),
        ({"scope": {"run:read": True}, "scp": "admin"}, set(), set()),
        ({"scope": "", "teams": ["a", "b", 7]}, set(), {"a", "b"}),
        ({"scope": "", "teams": "a b"}, set(), {"a", "b"}),
        ({"scope": "", "teams": {"a": "b"}}, set(), set()),
    ],
)
def test_a_token_is_good_for_the_scopes_and_projects_that_it_names_and_no_others(
    issuer: TokenIssuer, claims: dict[str, Any], scopes: set[AccessScope], projects: set[str]
) -> None:
    async def granted(claim: str) -> Grant | None:
        issued = IssuerTokenVerifier(issuer.url, fetch_issuer_keys(issuer.url), claim)
        return await issued.grant(issuer.token(READ, **claims), [READ])

    assert anyio.run(granted, "teams") == Grant("sub:ada", frozenset(scopes), frozenset(projects))
    assert anyio.run(granted, "") == Grant("sub:ada", frozenset(scopes), None)


@pytest.mark.parametrize(
    ("subject", "called"),
    [
        ("ada", "sub:ada"),
        ("auth0|5f7c8ec7", "sub:auth0|5f7c8ec7"),
        ("ada@example.com", "sub:ada@example.com"),
        ("a b", "sub:a%20b"),
        ("a%20b", "sub:a%2520b"),
        ("\x1b[31m\u202e", "sub:%1B%5B31m%E2%80%AE"),
        ("\ud800", "sub:%ED%A0%80"),
        ("a" * 64, "sub:" + "a" * 64),
        ("a" * 65, "sub:" + "a" * 64 + "#635361c48bb9eab14198e76ea8ab7f1a"),
        ("a" * 66, "sub:" + "a" * 64 + "#ac137fce49837c7c2945f6160d3c0e67"),
    ],
)
def test_who_a_token_is_of_is_short_safe_to_print_and_nobody_else(subject: str, called: str) -> None:
    assert principal_of_subject(subject) == called


def test_a_door_that_does_not_know_yet_what_the_server_is_called_lets_nobody_in(issuer: TokenIssuer) -> None:
    async def asked() -> HttpRefusal | None:
        issued = IssuerTokenVerifier(issuer.url, fetch_issuer_keys(issuer.url))
        headers = [(b"authorization", f"Bearer {issuer.token(READ)}".encode())]
        scope = {"type": "http", "path": "/", "headers": headers}
        return await Authenticator(None, SystemClock(), issued=issued, audience=READ).authenticate(
            scope, Headers(scope=scope)
        )

    refused = anyio.run(asked)

    assert refused is not None
    assert refused.status == 401
