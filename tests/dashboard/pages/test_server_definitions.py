"""Insights and definitions on a server: each token shows those of its projects, and no path of the server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.server_pages import create_secret, get_cookie, request_page
from helpers.servers import wait_until
from helpers.tenants import TenantServer, run_json_command, run_tenant_server


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantServer]:
    """A server with the projects alpha and beta, which asks for tokens, and a run in each."""
    with run_tenant_server(Path(tmp_path_factory.mktemp("served")) / "place") as made:
        for who, name in (("ann", "alpha"), ("bob", "beta")):
            made.person(who, name).step(template_name="walk", goal=f"the goal of {name}")
        yield made


@pytest.mark.parametrize(
    "path", ["", "/activity", "?as=json", "/workflows?as=csv&table=workflows", "/nothing"]
)
def test_who_may_not_see_every_project_sees_no_number_and_is_told_why(house: TenantServer, path: str) -> None:
    for projects in (("alpha",), ("alpha", "beta")):
        answered = request_page(
            house, "GET", f"/insights{path}", get_cookie(house, create_secret(house, *projects))
        )

        assert (answered.status, answered.headers["content-type"]) == (403, "text/html; charset=utf-8")
        assert "These numbers are of every project" in answered.text
        assert "handrail token create NAME --scope run:read" in answered.text
        assert "walk" not in answered.text


def test_a_token_for_every_project_shows_the_numbers(house: TenantServer) -> None:
    cookie = get_cookie(house, create_secret(house))

    answer = request_page(house, "GET", "/insights?as=csv&table=lifecycles", cookie)

    assert (answer.status, answer.text) == (200, "lifecycle,runs\r\nrunning,2\r\n")


def test_whoever_is_not_let_in_sees_none_of_these_pages(house: TenantServer) -> None:
    for path in ("/insights", "/workflows", "/workflows/walk", "/personas", "/guardrails/alpha-rule"):
        answered = request_page(house, "GET", path)
        assert (answered.status, "handrail token create" in answered.text) == (403, True), path
        assert "alpha" not in answered.text


def test_definitions_of_another_project_are_not_there(house: TenantServer) -> None:
    theirs, ours = (get_cookie(house, create_secret(house, name)) for name in ("beta", "alpha"))
    paths = ("/workflows/alpha-only", "/personas/alpha-hand", "/guardrails/alpha-rule")

    assert [request_page(house, "GET", path, ours).status for path in paths] == [200, 200, 200]
    assert [request_page(house, "GET", path, theirs).status for path in paths] == [404, 404, 404]
    for path in (*paths, "/workflows", "/personas"):
        assert request_page(house, "GET", f"{path}?project=alpha", theirs).status == 404, path
    for path in ("/workflows", "/personas", "/guardrails"):
        assert "alpha" not in request_page(house, "GET", path, theirs).text, path


def test_no_path_of_the_server_is_told(house: TenantServer) -> None:
    cookie = get_cookie(house, create_secret(house))
    wrong = house.alpha / ".handrail" / "workflows" / "wrong.yaml"
    wrong.symlink_to(house.beta)
    for path in (
        *("/workflows", "/workflows/alpha-only", "/workflows/bug-fix", "/workflows/wrong"),
        *("/personas/alpha-hand", "/personas/architect", "/guardrails/alpha-rule"),
    ):
        answered = request_page(house, "GET", f"{path}?project=alpha", cookie)
        assert answered.status == 200, path
        assert str(house.at.folder) not in answered.text, path
        assert str(Path(__file__).parents[3]) not in answered.text, path


def test_a_token_for_projects_that_are_served_no_longer_sees_what_is_built_in(house: TenantServer) -> None:
    root = house.at.folder / "srv" / "gamma-root"
    root.mkdir()
    run_json_command(house.at, "project", "add", "gamma", root)
    shown = create_secret(house, "gamma")
    run_json_command(house.at, "project", "remove", "gamma")
    cookie = get_cookie(house, shown)
    wait_until(
        lambda: "project=gamma" not in request_page(house, "GET", "/workflows", cookie).text,
        "gamma is forgotten",
    )

    answered = request_page(house, "GET", "/workflows", cookie)

    assert (answered.status, "bug-fix" in answered.text, "alpha-only" in answered.text) == (200, True, False)
