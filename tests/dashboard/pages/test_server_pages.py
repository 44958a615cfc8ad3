"""The pages of a server over HTTP: a token lets in, and shows the runs of its projects and no others."""

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from handrail.engine.model import Lifecycle
from helpers.browser import await_live_updates
from helpers.forks import start_process
from helpers.http_servers import FACES
from helpers.program import run_command
from helpers.server_pages import create_secret, get_cookie, get_pages_url, open_signed_in_page, request_page
from helpers.servers import BOUND, Place
from helpers.tenants import (
    TenantServer,
    TenantWork,
    create_token,
    run_json_command,
    run_tenant_server,
    use_every_face,
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantServer]:
    """A server with the projects alpha and beta, which asks for tokens."""
    with run_tenant_server(Path(tmp_path_factory.mktemp("served")) / "place") as made:
        yield made


@pytest.fixture(scope="module")
def works(house: TenantServer) -> dict[str, TenantWork]:
    """What ann and bob have done, each in their project."""
    people = {"alpha": "ann", "beta": "bob"}
    return {name: use_every_face(house.person(who, name), name) for name, who in people.items()}


def test_a_token_is_shown_once_and_kept_out_of_reach(
    house: TenantServer, works: dict[str, TenantWork], context: BrowserContext
) -> None:
    shown = create_secret(house, "alpha")
    page = open_signed_in_page(context, house, shown)
    expect(page.get_by_text("the goal of alpha").first).to_be_visible()
    await_live_updates(page)
    (cookie,) = context.cookies()

    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
    assert shown not in str(cookie.get("value"))
    assert page.evaluate("document.cookie") == ""
    assert "goal of beta" not in page.content()
    assert str(house.alpha) not in page.content()
    page.goto(f"{get_pages_url(house)}/?project=alpha")
    expect(page.locator(f"#run-{works['alpha'].run}")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    assert context.cookies() == []


def test_who_is_not_let_in_is_told_how_and_learns_nothing_else(house: TenantServer) -> None:
    refused = {
        "nothing": b"token=",
        "unknown": b"token=hr_" + b"A" * 43,
        "long": b"token=" + b"x" * 20_000,
        "no form": b"\xff\xfe",
    }
    for body in refused.values():
        answered = request_page(house, "POST", "/login", body=body)
        assert (answered.status, "handrail token create" in answered.text) == (401, True)
        assert "set-cookie" not in answered.headers
    writes = create_secret(house, "alpha", scopes=("run:write",))
    answered = request_page(house, "POST", "/login", body=urlencode({"token": writes}).encode())
    assert (answered.status, "This token may not read runs" in answered.text) == (403, True)
    assert request_page(house, "GET", "/").status == 403
    assert request_page(house, "GET", "/in/x").status == 403


def test_what_is_of_another_project_is_not_there(house: TenantServer, works: dict[str, TenantWork]) -> None:
    cookie = get_cookie(house, create_secret(house, "alpha"))
    theirs, never = works["beta"].run, "00000000-0000-4000-8000-00000000000a"
    paths = (
        "/runs/{}",
        "/runs/{}/history",
        "/runs/{}/artifacts",
        "/runs/{}/artifacts/1",
        "/runs/{}/do/pause",
        "/?q={}",
        "/?after={}",
        "/?project=beta&q={}",
    )
    for path in paths:
        other, none = (request_page(house, "GET", path.format(run), cookie) for run in (theirs, never))
        assert (other.status, other.text.replace(theirs, never)) == (none.status, none.text), path
    for run in (theirs, never):
        assert request_page(house, "POST", f"/runs/{run}/do/pause", cookie).status == 404
    assert request_page(house, "GET", f"/runs/{works['alpha'].run}", cookie).status == 200
    assert request_page(house, "GET", f"/?project={house.beta}", cookie).text.count("data-item") == 0


def test_who_may_only_read_has_no_buttons_and_moves_nothing(
    house: TenantServer, works: dict[str, TenantWork]
) -> None:
    cookie, run = get_cookie(house, create_secret(house, "alpha", scopes=("run:read",))), works["alpha"].run

    shown = request_page(house, "GET", f"/runs/{run}", cookie)
    done = request_page(house, "POST", f"/runs/{run}/do/pause", cookie)

    assert "/do/" not in shown.text
    assert (done.status, "not by you" in done.text) == (409, True)
    assert run_json_command(house.at, "runs", "show", run)["run"]["lifecycle"] == Lifecycle.RUNNING


def test_a_token_that_was_taken_back_lets_nobody_see_another_page(house: TenantServer) -> None:
    made = create_token(house.at, "eve", "alpha")
    cookie = get_cookie(house, str(made["secret"]))
    assert request_page(house, "GET", "/", cookie).status == 200

    done = run_command("token", "revoke", str(made["id"]), "--store", house.at.store, cwd=house.at.folder)
    assert done.status == 0

    assert request_page(house, "GET", "/", cookie).status == 401


def test_the_cookie_of_a_page_opens_no_way_in_for_agents(house: TenantServer) -> None:
    cookie = get_cookie(house, create_secret(house))

    for path in ("/mcp/steps", "/nothing"):
        assert (
            request_page(house, "POST" if path == "/mcp/steps" else "GET", path, cookie, b"{}").status == 401
        )


def test_a_page_hears_of_its_own_projects_only(house: TenantServer, works: dict[str, TenantWork]) -> None:
    cookie, mine = get_cookie(house, create_secret(house, "alpha")), works["alpha"].run
    headers = {"Cookie": cookie, "Origin": get_pages_url(house)}
    with connect(f"{get_pages_url(house).replace('http', 'ws')}/live", additional_headers=headers) as opened:
        json.loads(opened.recv(BOUND))
        house.person("bob", "beta").step(execution_id=works["beta"].run, action="pause")
        house.person("ann", "alpha").step(execution_id=mine, action="pause")
        patch = json.loads(opened.recv(BOUND))
        house.person("ann", "alpha").step(execution_id=mine, action="resume")
        later = json.loads(opened.recv(BOUND))

    assert [patch["runs"], later["runs"]] == [[mine], [mine]]
    with pytest.raises(InvalidStatus, match="403"):
        connect(
            f"{get_pages_url(house).replace('http', 'ws')}/live",
            additional_headers={"Origin": get_pages_url(house)},
        )


def test_without_tokens_the_server_tells_a_link_to_who_started_it(at: Place, context: BrowserContext) -> None:
    errors, theirs = os.pipe()
    words = at.words("--http", "127.0.0.1:0")
    with os.fdopen(errors) as saying, start_process(words, at.env, at.folder, theirs) as process:
        os.close(theirs)
        lines = [saying.readline() for _ in (*FACES, "pages")]
        found = re.fullmatch(r"handrail: pages at (http://127\.0\.0\.1:\d+)(/in/[\w-]+)\n", lines[-1])
        assert found, lines
        page = context.new_page()
        page.goto(found[1])
        expect(page.get_by_text("The pages of this server open by a link")).to_be_visible()
        page.goto(found[1] + found[2])
        expect(page.get_by_role("heading", name="No run yet")).to_be_visible()
        await_live_updates(page)
        process.send_signal(signal.SIGTERM)
        assert process.wait(BOUND) == 0
