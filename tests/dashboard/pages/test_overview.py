"""The overview: what needs somebody first, then every run that fits; all of it also without JavaScript."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from handrail.engine.lifecycle import CONTINUE, FAIL, PAUSE
from handrail.engine.model import Lifecycle
from helpers.browser import DashboardProcess, open_signed_in_page, run_dashboard
from helpers.history import GATE, PLAIN, PROJECT, create_history, open_sample_store
from helpers.servers import Pipe, Place, create_place

OLD = "00000001-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardProcess]:
    """A dashboard over a store with a run of every lifecycle, of long ago."""
    at = create_place(Path(tmp_path_factory.mktemp("overview")) / "place")
    at.store.parent.mkdir(mode=0o700)
    create_history(at.store)
    with run_dashboard(at) as made:
        yield made


@pytest.fixture
def plain(scriptless: BrowserContext, shown: DashboardProcess) -> Page:
    """A page of a browser without JavaScript."""
    return open_signed_in_page(scriptless, shown, "/")


def titles(page: Page) -> list[str]:
    """The runs that are listed."""
    return page.locator(".list .title").all_inner_texts()


def test_every_run_is_listed_the_last_started_first(plain: Page) -> None:
    assert titles(plain) == [
        "To be waiting",
        "To be diverged",
        "To be abandoned",
        "To be failed",
        "To be completed",
        "To be paused",
        "To be running",
    ]
    assert plain.locator(".counts").inner_text().split("\n") == ["2 running", "1 paused"]


def test_what_needs_somebody_comes_first_and_says_why(plain: Page) -> None:
    cards = plain.locator(".needs .card")

    assert cards.locator(".mark").all_inner_texts() == ["Waiting", "Paused", "Quiet"]
    assert cards.locator(".why").all_inner_texts()[:2] == [
        "Its step build waits for a check or for a person.",
        "Paused: lunch",
    ]
    assert "It is given up at 2026-01-31 09:40:00 UTC, unless" in cards.locator(".why").all_inner_texts()[2]


@pytest.mark.parametrize(
    ("fill", "found"),
    [
        ({"q": "to be P"}, ["To be paused"]),
        ({"project": "editor", "workflow": "gate"}, []),
        ({"project": PROJECT, "agent": "tester"}, ["To be failed", "To be completed"]),
        ({"workflow": "gate", "face": "steps"}, ["To be waiting"]),
        ({"face": "spells"}, []),
        ({"since": "1d"}, []),
        ({"until": "2026-01-31T09:02"}, ["To be running"]),
        ({"lifecycle": Lifecycle.FAILED}, ["To be failed"]),
        ({"lifecycle": Lifecycle.PAUSED, "q": "lunch"}, []),
    ],
)
def test_filters_combine_without_javascript_and_stand_in_the_url(
    fill: dict[str, str], found: list[str], plain: Page
) -> None:
    plain.locator(".more summary").click()
    for name, value in fill.items():
        field = plain.locator(f"[name={name}]")
        if name in {"face", "since"}:
            field.select_option(value)
        elif name == "lifecycle":
            plain.locator(f"[value={value}]").check()
        else:
            field.fill(value)
    plain.get_by_role("button", name="Apply").click()
    expect(plain.locator(".chips")).to_be_visible()

    assert titles(plain) == found
    assert all(f"{name}=" in plain.url for name in fill)
    assert plain.locator("#runs-empty").is_visible() == (not found)
    plain.locator(".chip").first.click()
    expect(plain.locator(".chip")).to_have_count(len(fill) - 1)
    assert plain.url.count("=") == len(fill) - 1


def test_a_time_that_is_none_is_left_out_and_named(plain: Page, shown: DashboardProcess) -> None:
    plain.goto(f"{shown.url}/?since=soon&until=2026-13-01")

    assert len(titles(plain)) == 7
    assert [one.partition(":")[0] for one in plain.locator(".note.bad").all_inner_texts()] == [
        "Started was left out",
        "Started before was left out",
    ]


def test_what_could_be_no_filter_is_passed_over(plain: Page, shown: DashboardProcess) -> None:
    odd = ("q=%00", "q=%ED%A0%80", f"q={'x' * 300}", "lifecycle=nothing", "after=nobody", "project=%FF")
    for query in odd:
        answered = plain.goto(f"{shown.url}/?{query}")
        assert answered is not None
        assert answered.status == 200, query


def test_pages_go_on_where_the_one_before_ended(at: Place, context: BrowserContext) -> None:
    at.store.parent.mkdir(mode=0o700)
    with open_sample_store(at.store) as play:
        for number in range(55):
            play.start(f"number {number}", GATE)
    with run_dashboard(at) as pages:
        page = open_signed_in_page(context, pages, "/?q=number")
        seen = titles(page)
        while page.get_by_role("link", name="Older runs").is_visible():
            page.get_by_role("link", name="Older runs").click()
            page.wait_for_url("**after=**")
            expect(page.locator(".list .title").first).to_have_text("number 4")
            seen += titles(page)

        assert seen == [f"number {number}" for number in reversed(range(55))]
        page.get_by_role("link", name="Back to the newest").click()
        expect(page.locator(".list .title").first).to_have_text("number 54")


def test_an_empty_store_says_how_a_run_comes_into_it(at: Place, context: BrowserContext) -> None:
    with run_dashboard(at) as pages, Pipe(at) as agent:
        page = open_signed_in_page(context, pages, "/")
        expect(page.get_by_text("claude mcp add handrail -- handrail serve")).to_be_visible()
        expect(page.get_by_text("Nothing needs you.")).to_be_visible()

        run = agent.start(goal="The first of all").run

        expect(page.locator(f"#run-{run} .title")).to_have_text("The first of all")
        expect(page.get_by_text("claude mcp add")).to_be_hidden()


def test_lately_failed_runs_need_somebody_until_they_are_forked(at: Place, context: BrowserContext) -> None:
    at.store.parent.mkdir(mode=0o700)
    with open_sample_store(at.store) as play:
        play.clock.at = datetime.now(UTC) - timedelta(minutes=5)
        for number in range(15):
            run = play.start(f"number {number}")
            play.send(run, FAIL, note="it burnt")
        paused = play.start("a rest", GATE)
        play.send(paused, PAUSE)
        waits = play.start("a wait", GATE)
        play.send(waits, CONTINUE, PLAIN)
    with run_dashboard(at) as pages:
        page = open_signed_in_page(context, pages, "/")

        assert page.locator(".needs .count").inner_text() == "17"
        assert page.locator(".needs .card .mark").all_inner_texts() == ["Waiting", "Paused", *["Failed"] * 10]
        expect(page.get_by_text("And 5 more.")).to_be_visible()
        page.goto(f"{pages.url}/runs/{run}/do/fork")
        page.get_by_role("button", name="Fork").click()
        expect(page.get_by_role("heading", name="The run is running.")).to_be_visible()
        page.goto(pages.url)
        expect(page.locator(".needs .count")).to_have_text("16")
