"""Whatever somebody writes into a run stands on the pages as text: nothing runs, loads, hides or breaks."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import BrowserContext

from helpers.browser import DashboardProcess, await_live_updates, open_signed_in_page, run_dashboard
from helpers.hostile_texts import WatchedPage, list_hostile_texts
from helpers.servers import Pipe, Place, build_note_output, create_place

pytestmark = pytest.mark.unmeasured

TABS: Final = (
    "",
    "/history?only=all",
    "/artifacts",
    "/graph?state=one",
)


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place for all of these."""
    return create_place(Path(tmp_path_factory.mktemp("hostile")) / "place")


@pytest.fixture(scope="module")
def runs(at: Place) -> list[tuple[str, str]]:
    """A run for each text, which has it in every field that an agent can write, and its id."""
    found = []
    with Pipe(at) as agent:
        for text in list_hostile_texts():
            begun = agent.start(goal=text, metadata={"who": text}, inputs={"what": text})
            stored = [{"type": "note", "title": text, "content": text, "description": text}]
            done = build_note_output(summary=text, artifacts=stored, references=[text], decisions=[text])
            answer = agent.continue_run(begun.token, **done)
            assert not answer.failed, (text, answer.text)
            agent.control(begun.run, text, reason=text)
            agent.control(begun.run, "pause", reason=text)
            found.append((text, begun.run))
    return found


@pytest.fixture(scope="module")
def shown(at: Place, runs: list[tuple[str, str]]) -> Iterator[DashboardProcess]:
    """The pages that show them."""
    assert runs
    with run_dashboard(at) as made:
        yield made


def test_there_are_enough_texts() -> None:
    assert len(list_hostile_texts()) >= 120
    assert len(set(list_hostile_texts())) == len(list_hostile_texts())


def test_hostile_texts_stand_on_every_page_as_text(
    context: BrowserContext,
    shown: DashboardProcess,
    runs: list[tuple[str, str]],
    record_property: Callable[[str, object], None],
) -> None:
    watched = WatchedPage(open_signed_in_page(context, shown, "/"), shown.url)
    page, points = watched.page, 0
    odd = (Path(__file__).parent / "odd.js").read_text("utf-8")
    for text, run in runs:
        paths = [f"/runs/{run}{tab}" for tab in TABS]
        assert page.evaluate(odd, paths) == "", text
        points += len(paths)
    for path in (
        "/",
        f"/?after={runs[60][1]}",
        f"/?after={runs[110][1]}",
        "/?q=%3Cscript%3E&agent=%22%3E%3Cimg+src%3Dx%3E",
    ):
        page.goto(shown.url + path)
        await_live_updates(page)
        points += 1

    record_property("points", points)
    assert watched.bad == []
    assert page.evaluate("window.owned") is None
    assert points == 4 * len(runs) + 4


@pytest.mark.parametrize("number", [0, 20, 60, 100])
def test_hostile_texts_are_read_as_they_were_written(
    number: int, context: BrowserContext, shown: DashboardProcess, runs: list[tuple[str, str]]
) -> None:
    text, run = runs[number]
    watched = WatchedPage(open_signed_in_page(context, shown, f"/runs/{run}"), shown.url)
    await_live_updates(watched.page)

    assert watched.page.get_by_role("heading", level=1).inner_text() == text
    watched.page.goto(f"{shown.url}/runs/{run}/artifacts?n=1&raw=1")
    assert watched.page.locator(".raw").inner_text() == text
    assert watched.bad == []


def test_what_is_hidden_in_a_text_is_written_out(
    context: BrowserContext, shown: DashboardProcess, runs: list[tuple[str, str]]
) -> None:
    run = dict(runs)["\u202egnp.exe"]
    page = open_signed_in_page(context, shown, f"/runs/{run}")

    assert page.get_by_role("heading", level=1).inner_text() == "\\u{202e}gnp.exe"
    assert json.dumps(page.title()).startswith('"\\\\u{202e}gnp.exe')
