"""The timeline of a run: a bar for each step, links to its numbers, and the same in a table."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from handrail.workflows.load import WorkflowSource
from helpers.browser import DashboardProcess, open_signed_in_page, run_dashboard
from helpers.history import PLAIN, History, open_sample_store, play_lifecycles
from helpers.servers import Place, create_place
from tools.sample_store import MINUTE

ROUND = WorkflowSource(
    "round.yaml",
    """\
workflow: round
version: 1
authority: sql
states:
  there: {agent: builder, task: Go there.}
  back: {agent: builder, task: Come back.}
  home: {terminal: true}
transitions:
  - {id: R1, from: there, trigger: continue, accept: [output.confidence > 0.5], to: back}
  - {id: R2, from: back, trigger: continue, accept: [output.confidence > 0.5], to: there}
  - {id: R3, from: back, trigger: continue, to: home}
""",
)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A store with a run of every lifecycle, and one that was often refused and sent back."""
    at = create_place(Path(tmp_path_factory.mktemp("times")) / "place")
    at.store.parent.mkdir(mode=0o700)
    with open_sample_store(at.store) as play:
        runs = play_lifecycles(play)
        long = play.start("Go round", ROUND)
        for _ in range(62):
            play.send(long, "continue", PLAIN)
        idle = play.start("Wait long")
        play.clock.at += 3000 * MINUTE
        play.walk(idle, 2)
    return History(at.store, {**runs, "long": long, "idle": idle})


@pytest.fixture(scope="module")
def shown(past: History) -> Iterator[DashboardProcess]:
    """The pages over it."""
    with run_dashboard(Place(past.path.parent.parent)) as made:
        yield made


@pytest.fixture
def page(context: BrowserContext, shown: DashboardProcess) -> Page:
    """A page of a browser that was let in."""
    return open_signed_in_page(context, shown)


def table(page: Page) -> list[list[str]]:
    """The numbers, without when each began."""
    rows = page.locator(".numbers tr").all()
    return [[cell.strip() for cell in row.locator("th, td:not(.began)").all_inner_texts()] for row in rows]


def test_the_numbers_are_those_of_the_picture(page: Page, shown: DashboardProcess, past: History) -> None:
    page.goto(f"{shown.url}/runs/{past.runs['completed']}/timeline")

    assert table(page) == [
        ["Step", "Began", "Agent", "Together", "Refused"],
        ["1 reproduce", "10 min", "10 min", ""],
        ["2 diagnose", "1 min", "1 min", ""],
        ["3 mend", "1 min", "1 min", ""],
        ["4 prove", "1 min", "1 min", ""],
        ["Together", "13 min", "13 min", ""],
    ]
    bars = page.locator(".when-wide .row > title").all_text_contents()
    assert bars == ["1 reproduce: 10 min", "2 diagnose: 1 min", "3 mend: 1 min", "4 prove: 1 min"]


def test_refusals_pauses_and_steps_that_are_open_are_told(
    page: Page, shown: DashboardProcess, past: History
) -> None:
    page.goto(f"{shown.url}/runs/{past.runs['running']}/timeline")
    assert [row[-1] for row in table(page)] == ["Refused", "2", "", "", "2"]
    expect(page.locator(".lasting")).to_have_text("still open")

    page.goto(f"{shown.url}/runs/{past.runs['paused']}/timeline")
    assert table(page)[0] == ["Step", "Began", "Agent", "Paused", "Together", "Refused"]
    assert page.locator(".when-wide .bar.pause").count() >= 1


def test_a_bar_leads_to_its_numbers_and_those_to_the_graph(
    scriptless: BrowserContext, shown: DashboardProcess, past: History
) -> None:
    page = open_signed_in_page(scriptless, shown, f"/runs/{past.runs['completed']}/timeline")
    page.locator(".when-wide a.row .name").nth(2).click()

    expect(page.locator(".numbers tr:target th")).to_have_text("3 mend")
    page.locator(".numbers").get_by_role("link", name="3 mend").click()
    expect(page.locator("#state h2")).to_have_text("mend")


def test_idle_times_are_shortened_unless_they_shall_not_be(
    page: Page, shown: DashboardProcess, past: History
) -> None:
    page.goto(f"{shown.url}/runs/{past.runs['idle']}/timeline")
    assert page.locator(".when-wide .break").count() >= 1

    page.get_by_role("link", name="To scale").click()
    page.wait_for_url("**linear=1")
    assert page.locator(".break").count() == 0
    expect(page.get_by_role("link", name="To scale")).to_have_attribute("aria-current", "true")


def test_with_many_steps_a_row_is_a_state(page: Page, shown: DashboardProcess, past: History) -> None:
    page.goto(f"{shown.url}/runs/{past.runs['long']}/timeline")
    assert [row[0].partition(" still")[0] for row in table(page)] == [
        "Step",
        "there (32 times)",
        "back (31 times)",
        "Together",
    ]

    page.locator(".when-wide a.row .name").last.click()
    expect(page.locator(".numbers tr:target th")).to_contain_text("back")


def test_a_phone_gets_a_picture_of_its_own(
    context: BrowserContext, shown: DashboardProcess, past: History
) -> None:
    page = open_signed_in_page(context, shown)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{shown.url}/runs/{past.runs['completed']}/timeline")

    expect(page.locator(".when-narrow svg")).to_be_visible()
    expect(page.locator(".when-wide svg")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
