"""Too many calls and too large ones: held up is who makes them, and nobody else."""

import json
from collections.abc import Iterator
from typing import Final

import pytest

from handrail.app.asgi import HttpRefusal, ProxySettings
from handrail.cli.serve import AuthOptions
from handrail.cli.serve_http import prepare_http_service
from handrail.http.limits import NANOSECONDS_PER_SECOND, CallLimits, RateLimit, Visit, peer_of
from handrail.runtime.errors import Unreadable
from helpers.http_servers import HttpAnswer, HttpServer, run_http_server
from helpers.servers import Place
from helpers.token_issuer import TokenIssuer

SMALL: Final = {"HANDRAIL_RATE": "1", "HANDRAIL_BURST": "5", "HANDRAIL_SIZE": "1000"}
"""One call a minute, so that no test is slow enough for another one."""


@pytest.fixture(scope="module")
def served(at: Place, issuer: TokenIssuer) -> Iterator[HttpServer]:
    with run_http_server(at, "--issuer", issuer.url, "--known-as", "plans.example.org:443", **SMALL) as made:
        yield made


def ask(served: HttpServer, token: str, path: str = "/nothing", come_by: str = "192.0.2.1") -> HttpAnswer:
    """A request that a proxy on this machine passes on."""
    return served.send(path, method="GET", Authorization=f"Bearer {token}", X_Forwarded_For=come_by)


def test_who_calls_too_often_is_told_when_to_come_again_and_nobody_else_is(
    served: HttpServer, issuer: TokenIssuer
) -> None:
    url = f"http://{served.address}"
    seen = [ask(served, issuer.token(url, jti=str(number))) for number in range(7)]
    others = [ask(served, issuer.token(url, sub=name)).status for name in ("bob", "ada ", "Ada")]

    assert [one.status for one in seen] == [404] * 5 + [429] * 2
    assert 1 <= int(seen[-1].headers["retry-after"]) <= 60
    assert seen[-1].text == (
        f"you call too often: send the same request again in {seen[-1].headers['retry-after']} s\n"
    )
    assert others == [404, 404, 404]


def test_an_address_that_shows_nothing_good_is_held_up_before_anything_is_looked_at(
    served: HttpServer, issuer: TokenIssuer
) -> None:
    """Who came in before still does, from the same address; so does everybody from another one."""
    url, there = f"http://{served.address}", "192.0.2.2"
    known, late = issuer.token(url, sub="known"), issuer.token(url, sub="late")
    assert ask(served, known, come_by=there).status == 404
    before = sum(issuer.asked.values())
    made_up = [issuer.token(url, {"kid": f"made up {number}"}) for number in range(8)]

    assert [ask(served, one, come_by=there).status for one in made_up] == [401] * 5 + [429] * 3
    assert sum(issuer.asked.values()) - before == 1
    assert [ask(served, late, path, there).status for path in ("/mcp/steps", "/nothing")] == [429] * 2
    assert [ask(served, "", path, there).status for path in OPEN] == [200, 200]
    assert ask(served, late, come_by="192.0.2.3").status == 404
    assert ask(served, known, come_by=there).status == 404
    assert ask(served, issuer.token(url, sub="later"), come_by=there).status == 429


OPEN: Final = ("/healthz", "/.well-known/oauth-protected-resource")


@pytest.mark.parametrize(("size", "status"), [(1000, 400), (1001, 413)])
def test_how_large_a_message_may_be_is_a_setting(
    served: HttpServer, issuer: TokenIssuer, size: int, status: int
) -> None:
    body = json.dumps({"jsonrpc": "1.0"}).encode().ljust(size)
    token = issuer.token(served.url("steps"), sub="large")
    whole = served.send("/mcp/steps", body, token=token)
    piece = f"{size:x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    headers = {"Host": served.address, "Authorization": f"Bearer {token}", "Transfer-Encoding": "chunked"}
    pieces = served.ask("POST", "/mcp/steps", headers, piece)

    assert (whole.status, pieces.status) == (status, status)
    assert ("the limit is 1000" in whole.text, "the limit is 1000" in pieces.text) == (status == 413,) * 2


@pytest.mark.parametrize("setting", SMALL)
def test_a_setting_that_is_no_number_is_told_before_anything_is_begun(
    monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv(setting, "many")

    with pytest.raises(Unreadable, match=f"{setting} is 'many'"):
        prepare_http_service("127.0.0.1:0", AuthOptions((), "", "", ""), ProxySettings())


class Ticks:
    """A clock that the test moves."""

    now = 0

    def __call__(self) -> int:
        return self.now


def through(limits: CallLimits, peer: str, shown: str) -> Visit:
    visit = limits.visit(peer, shown)
    assert isinstance(visit, Visit)
    return visit


def test_many_at_once_with_one_new_token_cost_their_address_nothing() -> None:
    limits = CallLimits(RateLimit(calls=60, burst=10), Ticks())
    at_once = [through(limits, "192.0.2.7", "good") for _ in range(10)]
    assert isinstance(limits.visit("192.0.2.7", "other"), HttpRefusal)

    assert [visit.accept("ada") for visit in at_once] == [None] * 10
    assert [isinstance(limits.visit("192.0.2.7", "other"), Visit) for _ in range(11)] == [True] * 10 + [False]


def test_a_token_that_is_good_no_more_is_counted_like_any_other() -> None:
    clock = Ticks()
    limits = CallLimits(RateLimit(calls=60, burst=3), clock)
    assert through(limits, "192.0.2.7", "good").accept("ada") is None
    for _ in range(3):
        through(limits, "192.0.2.7", "good").reject()

    held = limits.visit("192.0.2.7", "good")

    assert isinstance(held, HttpRefusal)
    assert (held.status, held.headers) == (429, {"retry-after": "1"})
    clock.now = NANOSECONDS_PER_SECOND
    assert isinstance(limits.visit("192.0.2.7", "good"), Visit)


def test_of_very_many_tokens_addresses_and_principals_only_the_last_are_remembered() -> None:
    limits = CallLimits(RateLimit(calls=1, burst=1), Ticks(), most=50)
    for number in range(1000):
        assert through(limits, f"192.0.2.{number}", f"good {number}").accept(f"ada {number}") is None
        through(limits, f"198.51.100.{number}", "bad").reject()

    assert (len(limits.callers), len(limits.strangers)) == (50, 50)
    assert [through(limits, str(number), f"good {number}").known for number in (949, 950)] == [False, True]


@pytest.mark.parametrize(
    ("client", "peer"),
    [
        (("192.0.2.7", 1234), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 1234), "2001:db8:1:2::/64"),
        (("2001:db8:1:2:ffff::", 1), "2001:db8:1:2::/64"),
        (("::ffff:192.0.2.7", 1234), "192.0.2.7"),
        (("::1", 1234), "::/64"),
        (("fe80::1%eth0", 1), "fe80::/64"),
        (("somewhere", 0), "somewhere"),
        (None, ""),
    ],
)
def test_an_address_is_that_of_a_machine_or_of_a_network(client: object, peer: str) -> None:
    assert peer_of({"type": "http", "client": client}) == peer
