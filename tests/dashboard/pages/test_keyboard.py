"""The pages by keys alone, at the width of a phone, and with less motion."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from helpers.browser import DashboardProcess, await_live_updates, open_signed_in_page, run_dashboard
from helpers.history import create_history
from helpers.servers import create_place

PATHS = (
    "/",
    "/?q=to+be&lifecycle=failed",
    "/runs/00000001-0000-4000-8000-000000000000",
    "/runs/00000003-0000-4000-8000-000000000000/history",
    "/runs/00000003-0000-4000-8000-000000000000/artifacts",
    "/runs/00000003-0000-4000-8000-000000000000/do/fork",
    "/runs/00000001-0000-4000-8000-000000000000/do/complete-step",
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardProcess]:
    """A dashboard over a store with a past."""
    at = create_place(Path(tmp_path_factory.mktemp("keys")) / "place")
    at.store.parent.mkdir(mode=0o700)
    create_history(at.store)
    with run_dashboard(at) as made:
        yield made


@pytest.fixture
def page(context: BrowserContext, shown: DashboardProcess) -> Page:
    """A page of a browser that was let in."""
    return open_signed_in_page(context, shown, "/")


def test_runs_are_chosen_opened_and_left_by_keys(page: Page) -> None:
    chosen = page.locator(".chosen .title")
    page.keyboard.press("j")
    expect(chosen).to_have_text("To be waiting")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(chosen).to_have_text("To be diverged")
    expect(chosen).to_be_focused()

    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("To be diverged")
    await_live_updates(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="All runs")).to_be_visible()


def test_a_slash_goes_to_the_search_field_and_escape_leaves_it(page: Page) -> None:
    field = page.get_by_role("searchbox")
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.type("j/k?")
    expect(field).to_have_value("j/k?")
    page.keyboard.press("Escape")
    expect(field).not_to_be_focused()


def test_a_question_mark_shows_the_keys(page: Page) -> None:
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Go to the search field")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_role("heading", name="All runs")).to_be_visible()


def test_the_first_tab_leads_past_the_bar(page: Page) -> None:
    page.keyboard.press("Tab")

    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()


def test_whatever_is_chosen_is_seen_to_be(page: Page, shown: DashboardProcess) -> None:
    page.goto(f"{shown.url}/runs/00000001-0000-4000-8000-000000000000")
    for _ in range(12):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"


@pytest.mark.parametrize("path", PATHS)
def test_no_page_is_wider_than_a_phone_and_every_field_has_a_name(
    path: str, context: BrowserContext, shown: DashboardProcess
) -> None:
    page = open_signed_in_page(context, shown)
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(reduced_motion="reduce")
    page.goto(shown.url + path)

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    unnamed = "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
    assert page.evaluate(f"{unnamed}.filter((one) => !one.labels.length).length") == 0
    empty = "[...document.querySelectorAll('a, button')].filter((one) => !one.textContent.trim()).length"
    assert page.evaluate(empty) == 0
    assert page.locator("h1").count() == 1
    assert page.evaluate("[...document.getAnimations()].length") == 0
