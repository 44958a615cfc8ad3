"""Personas and guardrails: what agents are told, whose it is, and where they are told of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from helpers.browser import DashboardProcess, open_signed_in_page, run_dashboard
from helpers.hostile_texts import WatchedPage
from helpers.program import run_handrail
from helpers.servers import Place, create_place

RULES: Final = {
    "everywhere": "---\nabout: Secrets\nworkflows: [walk, brief]\nsteps: [two]\n---\n# Secrets\n\nKept.\n",
    "nowhere": "No *place* <script>alert(1)</script> [x](javascript:alert(1)) \u2068hidden\n",
    "slip": "---\nabuot: Misspelt\n---\nWords.\n",
}


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A project with rules, a persona that hides a built-in one, and one that cannot be read."""
    made = create_place(Path(tmp_path_factory.mktemp("guides")) / "place")
    folders = {name: made.project / ".handrail" / name for name in ("agents", "guardrails")}
    for folder in folders.values():
        folder.mkdir()
    for name, text in RULES.items():
        (folders["guardrails"] / f"{name}.md").write_text(text, "utf-8")
    (folders["agents"] / "tester.md").write_text("---\nabout: Ours\n---\nBreak it.\n", "utf-8")
    (folders["agents"] / "linked.md").symlink_to("/etc/hostname")
    return made


@pytest.fixture(scope="module")
def shown(at: Place) -> Iterator[DashboardProcess]:
    """The pages of somebody who works in it."""
    with run_dashboard(at, "--project", str(at.project)) as made:
        yield made


@pytest.fixture
def page(context: BrowserContext, shown: DashboardProcess) -> Page:
    """A page of a browser that was let in."""
    return open_signed_in_page(context, shown, "/personas")


def tags(page: Page, name: str) -> list[list[str]]:
    """What is said of those of this name in the list."""
    return [
        one.locator(".tag").all_inner_texts()
        for one in page.locator(".files a", has=page.locator("b", has_text=name)).all()
    ]


def test_the_list_says_whose_each_is_and_which_is_used_meanwhile(page: Page, at: Place) -> None:
    assert page.locator(".files b").all_inner_texts() == [
        *("architect", "debugger", "implementer", "reviewer", "supervisor", "tester", "tester", "writer"),
        *("linked", "everywhere", "nowhere", "slip"),
    ]
    assert tags(page, "tester") == [
        ["the project's", "hides the built-in one", "not trusted yet"],
        ["built in", "used meanwhile"],
    ]
    assert tags(page, "linked") == [["the project's", "passed over"]]

    env = {name: at.env[name] for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    page.get_by_role("link", name="tester").first.click()
    page.wait_for_url("**/personas/tester?**")
    expect(page.locator("#untrusted pre")).to_contain_text("+Break it.")
    assert run_handrail("trust", "tester", "--yes", cwd=at.project, **env).status == 0
    page.reload()

    assert tags(page, "tester") == [
        ["the project's", "hides the built-in one", "trusted"],
        ["built in", "hidden"],
    ]


def test_a_persona_says_in_which_steps_it_works(page: Page) -> None:
    expect(page.locator(".paper-head h2")).to_have_text("architect")
    assert page.locator(".paper-head p").first.inner_text() == "Decides the shape, and what must stay true"
    assert "walk · one" in page.locator(".used .tag").all_inner_texts()
    page.get_by_role("link", name="supervisor").click()
    page.wait_for_url("**/personas/supervisor?**")
    assert "walk · six" in page.locator(".used .tag").all_inner_texts()


def test_a_guardrail_says_where_agents_are_told_of_it(page: Page, shown: DashboardProcess) -> None:
    page.goto(f"{shown.url}/guardrails/everywhere")
    assert page.locator(".prose h2").inner_text() == "Secrets"
    assert page.locator(".used li").all_inner_texts() == [
        "in every step of walk, brief",
        "in steps called two",
    ]
    page.goto(f"{shown.url}/guardrails/slip")
    expect(page.get_by_role("alert")).to_contain_text("abuot")
    assert page.locator(".used li").all_inner_texts() == [
        "It names no workflow and no step, so agents read it only if they ask."
    ]


def test_what_cannot_be_read_says_why_and_what_is_not_there_is_not(
    page: Page, shown: DashboardProcess
) -> None:
    page.goto(f"{shown.url}/personas/linked")
    expect(page.get_by_role("alert")).to_contain_text("leads through a link")
    page.goto(f"{shown.url}/guardrails/nowhere")
    expect(page.locator(".paper-head h2")).to_have_text("nowhere")
    for path in ("/personas/nobody", "/guardrails/tester", "/personas?project=elsewhere"):
        assert page.request.get(shown.url + path).status == 404, path


def test_hostile_texts_are_rendered_as_text(context: BrowserContext, shown: DashboardProcess) -> None:
    watched = WatchedPage(open_signed_in_page(context, shown, "/guardrails/nowhere"), shown.url)
    page = watched.page

    assert page.locator("#main script, #main img, #main [style], .prose a").count() == 0
    assert "\u2068" not in page.content()
    assert watched.bad == []


def test_without_a_guardrail_the_page_says_how_to_write_one(at: Place, context: BrowserContext) -> None:
    with run_dashboard(create_place(at.folder / "bare")) as pages:
        page = open_signed_in_page(context, pages, "/guardrails")

        expect(page.get_by_role("heading", name="No guardrail yet")).to_be_visible()
        expect(page.locator(".empty")).to_contain_text(".handrail/guardrails/NAME.md")
        expect(page.locator(".empty pre")).to_contain_text("workflows: [bug-fix, feature]")
