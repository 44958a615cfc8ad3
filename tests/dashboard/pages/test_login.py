"""Nobody sees a page who was not let in; and from a page of another site nothing is taken."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from cryptography.fernet import Fernet
from playwright.sync_api import BrowserContext, expect
from starlette.applications import Starlette
from starlette.routing import Route, WebSocketRoute

from handrail.dashboard.application import SECURITY_HEADERS, SecurityHeadersMiddleware, build_application
from handrail.dashboard.login import Login, LoginLink, LoginMiddleware
from handrail.dashboard.viewer import Dashboards
from helpers.browser import DashboardProcess, run_dashboard
from helpers.history import create_history
from helpers.servers import Place, create_place

RUN: Final = "00000001-0000-4000-8000-000000000000"
_UPGRADE: Final = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardProcess]:
    """A dashboard over a store with a past."""
    at = create_place(Path(tmp_path_factory.mktemp("entrance")) / "place")
    at.store.parent.mkdir(mode=0o700)
    create_history(at.store)
    with run_dashboard(at) as made:
        yield made


@pytest.fixture(scope="module")
def cookie(shown: DashboardProcess) -> str:
    """What a browser sends that was let in."""
    return shown.cookie()


def routes() -> list[tuple[str, str]]:
    """Every way in that the pages have, by method, whatever is added to them."""
    app = build_application(Login(Dashboards(lambda _: pytest.fail("nobody looks")), Fernet.generate_key()))
    assert isinstance(app, SecurityHeadersMiddleware)
    assert isinstance(app.app, LoginMiddleware)
    inner = app.app.app
    assert isinstance(inner, Starlette)
    found = []
    for route in inner.routes:
        assert isinstance(route, Route | WebSocketRoute)
        path = route.path.replace("{run}", RUN).replace("{action}", "pause").replace("{number:int}", "1")
        path = path.replace("{tab}", "history").replace("{name}", "board.css").replace("{secret}", "x" * 43)
        methods = route.methods or {"GET"} if isinstance(route, Route) else {"WEBSOCKET"}
        found += [(method, path) for method in sorted(methods - {"HEAD"})]
    return found


OPEN: Final = {("GET", "/static/board.css")}
"""What anybody may have: what the page is made of that says how to come in."""


def ask(shown: DashboardProcess, way: tuple[str, str], headers: Mapping[str, str]) -> tuple[int, str]:
    """The status and the text of an answer."""
    method, path = way
    given = {"Host": shown.host, **({"Content-Length": "0"} if method == "POST" else {}), **headers}
    if method == "WEBSOCKET":
        method, given = "GET", {**given, **_UPGRADE}
    answered = shown.ask(method, path, given)
    return answered.status, answered.text


def test_there_are_as_many_ways_in_as_are_tried() -> None:
    assert len(routes()) == 22


@pytest.mark.parametrize("way", routes(), ids=" ".join)
def test_without_a_cookie_every_page_says_how_to_come_in(
    way: tuple[str, str], shown: DashboardProcess
) -> None:
    for sent in ({}, {"Cookie": "handrail=x"}, {"Cookie": f"handrail-{shown.host.partition(':')[2]}=x"}):
        status, text = ask(shown, way, {**sent, "Origin": shown.url})
        if way in OPEN:
            assert status == 200
        else:
            assert (status, "handrail dashboard" in text) == (403, True)


@pytest.mark.parametrize("way", routes(), ids=" ".join)
def test_a_cookie_of_another_key_or_store_lets_nobody_in(
    way: tuple[str, str], shown: DashboardProcess
) -> None:
    name = f"handrail-{shown.host.partition(':')[2]}"
    forged = Fernet(Fernet.generate_key()).encrypt(b"person").decode()

    status, _ = ask(shown, way, {"Cookie": f"{name}={forged}", "Origin": shown.url})

    assert status == (200 if way in OPEN else 403)


HOSTS: Final = ("evil.example", "evil.example:PORT", "HOST.evil.example", "127.0.0.1:1", "a/?x#", "NONE")
ORIGINS: Final = ("http://evil.example", "null", "http://127.0.0.1:1", "http://HOST.evil.example", "OTHER")


@pytest.mark.parametrize("way", routes(), ids=" ".join)
def test_by_another_name_or_from_another_page_nothing_is_answered(
    way: tuple[str, str], shown: DashboardProcess, cookie: str
) -> None:
    port = shown.host.partition(":")[2]
    for host in HOSTS:
        named = host.replace("PORT", port).replace("HOST", shown.host)
        sent = {"Cookie": cookie, "Origin": shown.url, "Host": named}
        assert ask(shown, way, sent)[0] in {400, 421}
    for origin in ORIGINS:
        other = "http://localhost:PORT" if way[0] != "GET" else "http://localhost:1"
        named = origin.replace("OTHER", other).replace("PORT", port).replace("HOST", shown.host)
        assert ask(shown, way, {"Cookie": cookie, "Origin": named})[0] == 403


@pytest.mark.parametrize("way", [way for way in routes() if way[0] != "GET"], ids=" ".join)
def test_what_changes_or_listens_must_say_which_page_it_comes_from(
    way: tuple[str, str], shown: DashboardProcess, cookie: str
) -> None:
    status, text = ask(shown, way, {"Cookie": cookie})

    assert (status, "That came from another page" in text) == (403, True)


@pytest.mark.parametrize("way", routes(), ids=" ".join)
def test_every_answer_forbids_what_pages_do_not_need(
    way: tuple[str, str], shown: DashboardProcess, cookie: str
) -> None:
    if way[0] != "GET" or way[1] == "/events":
        headers = shown.ask("GET", "/nothing", {"Host": shown.host, "Cookie": cookie}).headers
    else:
        headers = shown.ask("GET", way[1], {"Host": shown.host, "Cookie": cookie}).headers

    assert {name: headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert headers["content-security-policy"].startswith("default-src 'none'; ")
    assert headers["cache-control"] == ("no-cache" if way in OPEN else "no-store")


def test_a_link_lets_one_browser_in_and_never_again(shown: DashboardProcess, context: BrowserContext) -> None:
    link = shown.links[-1]
    page = context.new_page()
    page.goto(link)
    shown.link()
    expect(page.get_by_role("heading", name="All runs")).to_be_visible()
    (cookie,) = context.cookies()

    again = page.goto(link)

    assert page.url == link
    assert again is not None
    assert again.status == 403
    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
    assert shown.links[-1] != link


def test_every_link_is_another_and_is_told_to_who_started_the_program() -> None:
    answer: list[str] = []
    links = LoginLink(answer.append)
    links.renew()
    secret = answer[0].removeprefix("/in/")

    assert [links.redeem(one) for one in ("", "x", secret[:-1], secret, secret)] == [False] * 3 + [
        True,
        False,
    ]
    assert len(answer) == 2
    assert all(re.fullmatch(r"/in/[\w-]{43}", one) for one in answer)


def test_a_browser_that_has_a_file_is_not_sent_it_again(shown: DashboardProcess) -> None:
    first = shown.ask("GET", "/static/board.js", {"Host": shown.host})
    mark = {"If-None-Match": first.headers["etag"]}
    again = shown.ask("GET", "/static/board.js", {"Host": shown.host, **mark})

    assert (first.status, first.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert (again.status, again.text) == (304, "")
    assert shown.ask("GET", "/static/nothing.js", {"Host": shown.host}).status == 404


def test_a_page_that_is_not_there_says_where_the_others_are(shown: DashboardProcess, cookie: str) -> None:
    for path in ("/runs/nobody", f"/runs/{RUN}/nothing", f"/runs/{RUN}/artifacts/99", "/nothing"):
        answered = shown.ask("GET", path, {"Host": shown.host, "Cookie": cookie})
        assert (answered.status, "To the runs" in answered.text) == (404, True), path


def test_the_pages_of_a_program_that_ends_are_over_at_once(at: Place) -> None:
    with run_dashboard(at) as pages:
        cookie = pages.cookie()
        assert pages.ask("GET", "/", {"Host": pages.host, "Cookie": cookie}).status == 200
        assert pages.end() == 0
