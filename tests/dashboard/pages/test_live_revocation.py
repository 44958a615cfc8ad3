"""What somebody hears ends with what let them in: a token that is revoked, a session that they left."""

import http.client
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection, connect

from helpers.browser import await_live_updates
from helpers.program import run_command
from helpers.server_pages import get_cookie, get_pages_url, open_signed_in_page, request_page
from helpers.servers import BOUND
from helpers.tenants import TenantServer, create_token, run_tenant_server


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantServer]:
    """A server that asks for tokens."""
    with run_tenant_server(Path(tmp_path_factory.mktemp("out")) / "place") as made:
        yield made


@pytest.fixture
def given(house: TenantServer) -> dict[str, object]:
    """A new token for somebody, with its id."""
    return dict(create_token(house.at, "eve", "alpha", scopes=("run:read", "run:write")))


def revoked(house: TenantServer, given: dict[str, object], cookie: str) -> None:
    """Revoke the token, on the command line."""
    del cookie
    words = ("token", "revoke", str(given["id"]), "--store", house.at.store)
    assert run_command(*words, cwd=house.at.folder).status == 0


def left(house: TenantServer, given: dict[str, object], cookie: str) -> None:
    """Leave, in another tab of the same browser."""
    del given
    assert request_page(house, "POST", "/logout", cookie).status == 303


@contextmanager
def hearing(house: TenantServer, cookie: str) -> Iterator[tuple[ClientConnection, http.client.HTTPResponse]]:
    """A WebSocket and a stream of events, both of which have heard something."""
    headers = {"Cookie": cookie, "Origin": get_pages_url(house)}
    stream = http.client.HTTPConnection("127.0.0.1", house.served.port, timeout=BOUND)
    stream.request("GET", "/events", headers={"Cookie": cookie})
    events = stream.getresponse()
    with connect(f"{get_pages_url(house).replace('http', 'ws')}/live", additional_headers=headers) as socket:
        socket.recv(BOUND)
        assert events.readline().startswith(b"id: ")
        yield socket, events
    stream.close()


@pytest.mark.parametrize("out", [revoked, left])
def test_both_streams_end_and_no_other_persons(
    house: TenantServer, given: dict[str, object], out: Callable[[TenantServer, dict[str, object], str], None]
) -> None:
    cookie, other = get_cookie(house, str(given["secret"])), get_cookie(house, _of_somebody_else(house))
    with hearing(house, cookie) as (socket, events), hearing(house, other) as (stays, _):
        out(house, given, cookie)

        with pytest.raises(ConnectionClosedError):
            socket.recv(BOUND)
        assert socket.close_code == 1008
        assert events.read().count(b"data: ") <= 1
        assert request_page(house, "GET", "/", cookie).status in {401, 403}
        stays.ping().wait(BOUND)
        assert request_page(house, "GET", "/", other).status == 200


def test_a_page_whose_token_is_revoked_asks_for_another(
    house: TenantServer, given: dict[str, object], context: BrowserContext
) -> None:
    page = open_signed_in_page(context, house, str(given["secret"]))
    await_live_updates(page)
    revoked(house, given, "")

    expect(page.get_by_label("Token")).to_be_visible()


def _of_somebody_else(house: TenantServer) -> str:
    return str(create_token(house.at, "bob", "beta", scopes=("run:read",))["secret"])
