"""Insights: every number on the pages is the one that the SQL of the source gives."""

import csv
import io
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from handrail.app.insights import TABLE_NAMES
from helpers.browser import DashboardProcess, open_signed_in_page, run_dashboard
from helpers.history import open_sample_store, play_lifecycles
from helpers.hostile_texts import WatchedPage
from helpers.printed_queries import PRINTED
from helpers.servers import Place, create_place

Rows: TypeAlias = list[tuple[Any, ...]]
Asked: TypeAlias = tuple[str, str, str, tuple[str, ...]]
MINUTE_MS: Final = 60_000
DAY_MS: Final = 24 * 60 * MINUTE_MS

AGREED: Final[Mapping[str, Asked]] = {
    # the query of the source; then the dashboard, its table, the time, and the columns in the query's order
    "by_state": ("workflows", "lifecycles", "24h", ("lifecycle", "runs")),
    "average_duration": ("workflows", "workflows", "7d", ("workflow", "mean_completed_ms", "completed")),
    "completion_rate": ("workflows", "workflows", "all", ("workflow", "completion_rate")),
    "abandonment_rate": ("workflows", "workflows", "30d", ("workflow", "abandonment_rate")),
    "most_used": ("workflows", "workflows", "7d", ("workflow", "runs")),
    "step_duration": ("steps", "times", "7d", ("step", "agent", "mean_ms", "completed")),
    "step_failure_rate": ("steps", "steps", "7d", ("step", "failure_rate")),
    "events_by_type": ("telemetry", "kinds", "24h", ("kind", "entries")),
    "token_expiry_rate": ("telemetry", "tokens", "all", ("expiry_rate",)),
    "errors_by_type": ("telemetry", "errors", "all", ("code", "entries")),
    "active_workflows": ("activity", "days", "7d", ("day", "runs")),
    "abandonment": ("activity", "abandonment", "7d", ("workflow", "abandoned", "mean_ms")),
    "average_days": ("workflows", "workflows", "all", ("workflow", "mean_completed_ms")),
    "step_days": ("steps", "steps", "7d", ("step", "mean_completed_ms")),
}
TIMES: Final = {"abandonment": (2, MINUTE_MS), "average_days": (1, DAY_MS), "step_days": (1, DAY_MS)}
"""Where a query tells a time in another unit than milliseconds: in which column, and how many are in it."""

COMPLETED: Final = frozenset({"average_duration", "average_days", "step_days"})
"""Queries that tell of what was completed only; tables tell of the others too, without a mean."""


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A store with runs of every lifecycle: of three weeks, three days and an hour ago."""
    made = create_place(Path(tmp_path_factory.mktemp("insights")) / "place")
    made.store.parent.mkdir(mode=0o700)
    with open_sample_store(made.store) as play:
        for ago in (timedelta(days=21), timedelta(days=3), timedelta(hours=3)):
            play.clock.at = datetime.now(UTC) - ago
            play_lifecycles(play)
    return made


@pytest.fixture(scope="module")
def shown(at: Place) -> Iterator[DashboardProcess]:
    """The pages over it."""
    with run_dashboard(at) as made:
        yield made


@pytest.fixture
def page(context: BrowserContext, shown: DashboardProcess) -> Page:
    """A page of a browser that was let in."""
    return open_signed_in_page(context, shown)


def path(asked: Asked, **more: str) -> str:
    """Where a table stands, or is told in another form."""
    board, _, within, _ = asked
    return f"/insights/{board}?range={within}" + "".join(f"&{name}={value}" for name, value in more.items())


def as_csv(page: Page, url: str, asked: Asked) -> list[dict[str, str]]:
    """The table as a spreadsheet reads it."""
    got = page.request.get(url + path(asked, table=asked[1], **{"as": "csv"}))
    assert got.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(got.text())))


def as_json(page: Page, url: str, asked: Asked) -> list[dict[str, Any]]:
    """The table as a program reads it; the dashboard as a whole says the same of it."""
    found: list[dict[str, Any]] = page.request.get(url + path(asked, table=asked[1], **{"as": "json"})).json()
    assert page.request.get(url + path(asked, **{"as": "json"})).json()[asked[1]] == found
    return found


def as_shown(page: Page, url: str, asked: Asked) -> list[dict[str, str]]:
    """The table as it stands on the page; heads are for people, so the names are those of the CSV."""
    page.goto(url + path(asked))
    rows = page.locator(f"table[data-table={asked[1]}] tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.querySelector('data')?.value"
        " ?? cell.textContent.trim()))"
    )
    names = list(as_csv(page, url, asked)[0])
    return [dict(zip(names, row, strict=True)) for row in rows]


def number(cell: object) -> object:
    """A cell as a query has it."""
    if cell in {"", "-", None}:
        return None
    try:
        return float(str(cell))
    except ValueError:
        return cell


def told(name: str, rows: list[dict[str, Any]]) -> Rows:
    """What a table says of what a query asks."""
    columns = AGREED[name][3]
    found = [tuple(number(row[column]) for column in columns) for row in rows]
    return [row for row in found if name not in COMPLETED or row[1] is not None]


def queried(at: Place, name: str) -> Rows:
    """What the query of the source gives."""
    with closing(sqlite3.connect(at.store)) as store:
        rows = store.execute(PRINTED[name]).fetchall()
    place_, unit = TIMES.get(name, (0, 1))
    return [
        tuple(number(cell * unit if unit > 1 and index == place_ else cell) for index, cell in enumerate(row))
        for row in rows
    ]


def _key(row: tuple[Any, ...]) -> str:
    return str([cell for cell in row if not isinstance(cell, float)])


def _numbers(row: tuple[Any, ...]) -> list[float]:
    return [cell for cell in row if isinstance(cell, float)]


@pytest.mark.parametrize("form", [as_shown, as_csv, as_json])
def test_every_number_agrees_with_the_sql_of_the_source(
    form: Callable[[Page, str, Asked], list[dict[str, Any]]], page: Page, shown: DashboardProcess, at: Place
) -> None:
    for name, asked in AGREED.items():
        ours, theirs = told(name, form(page, shown.url, asked)), queried(at, name)
        assert theirs, name
        assert len(ours) == len(theirs), name
        for mine, other in zip(sorted(ours, key=_key), sorted(theirs, key=_key), strict=True):
            assert _key(mine) == _key(other), name
            assert _numbers(mine) == pytest.approx(_numbers(other), rel=1e-4), name


def test_each_query_that_tells_how_runs_go_is_held(at: Place) -> None:
    others = {"current_step", "current_artifacts", "execution", "steps_of", "artifacts_of"}

    assert set(PRINTED) - set(AGREED) == others | {"recent", "final", "final_of", "of_type"}
    assert queried(at, "by_state") == [
        *(("abandoned", 3.0), ("completed", 3.0), ("diverged", 3.0), ("failed", 3.0)),
        *(("paused", 3.0), ("running", 6.0)),
    ]


def test_each_dashboard_has_its_charts_and_every_table(page: Page, shown: DashboardProcess) -> None:
    found: list[str | None] = []
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.goto(f"{shown.url}/insights")
    for board in page.locator(".tabs a").all_inner_texts():
        page.get_by_role("link", name=board).click()
        expect(page.locator(".tabs [aria-current]")).to_have_text(board)
        found += [one.get_attribute("data-table") for one in page.locator("table").all()]
        assert page.locator("figure svg.chart").count() >= 2
        widest = page.locator("svg.chart .mark").first.evaluate("one => getComputedStyle(one).fill")
        assert widest.startswith("rgb("), board

    assert found == [*TABLE_NAMES]
    assert errors == []


def test_the_time_stands_in_the_url_and_is_chosen_without_javascript(
    scriptless: BrowserContext, shown: DashboardProcess
) -> None:
    page = open_signed_in_page(scriptless, shown, "/insights/activity")
    expect(page.locator(".ranges [aria-current]")).to_have_text("7 days")
    started = "table[data-table=days] td.num"
    week = page.locator(started).all_text_contents()

    page.get_by_role("button", name="24 hours").click()
    page.wait_for_url("**/insights/activity?range=24h")
    day = page.locator(started).all_text_contents()
    page.get_by_role("button", name="All time").click()
    page.wait_for_url("**range=all")
    ever = page.locator(started).all_text_contents()

    assert [sum(map(int, found)) for found in (day, week, ever)] == [7, 14, 21]
    page.get_by_role("link", name="Telemetry").click()
    page.wait_for_url("**/insights/telemetry?range=all")


def test_what_is_not_there_is_told(page: Page, shown: DashboardProcess) -> None:
    for wrong in ("/nothing", "/steps?as=xml", "/steps?as=csv", "/steps?as=csv&table=kinds", "/a/b"):
        assert page.request.get(f"{shown.url}/insights{wrong}").status == 404, wrong
    page.goto(f"{shown.url}/insights?range=never")

    expect(page.get_by_role("alert")).to_contain_text("There is no such time to choose")
    expect(page.locator(".ranges [aria-current]")).to_have_text("7 days")


def test_words_lead_to_the_runs_they_tell_of(page: Page, shown: DashboardProcess) -> None:
    page.goto(f"{shown.url}/insights")
    page.locator("#lifecycles summary").click()
    page.locator("#lifecycles").get_by_role("link", name="failed").click()
    page.wait_for_url("**/?lifecycle=failed")

    assert page.locator("[data-pieces=runs] tr").count() == 3


def test_a_time_without_anything_says_what_to_do(at: Place, context: BrowserContext) -> None:
    other = create_place(at.folder / "past")
    other.store.parent.mkdir(mode=0o700)
    with open_sample_store(other.store) as play:
        play.start("Long ago")
    with run_dashboard(other) as pages:
        page = open_signed_in_page(context, pages, "/insights/telemetry?range=24h")

        expect(page.locator("#kinds .nothing")).to_have_text(
            "Nothing happened in this time. Choose a longer one above."
        )
        page.goto(f"{pages.url}/insights/activity?range=24h")
        expect(page.locator("#abandonment .nothing")).to_have_text(
            "Nothing to tell yet. It appears here as soon as it happens."
        )


def test_without_a_run_the_page_says_how_to_start_one(at: Place, context: BrowserContext) -> None:
    other = create_place(at.folder / "empty")
    with run_dashboard(other) as pages:
        page = open_signed_in_page(context, pages, "/insights")

        expect(page.get_by_role("heading", name="Nothing to measure yet")).to_be_visible()
        expect(page.locator(".empty code")).to_have_text("claude mcp add handrail -- handrail serve")
        assert json.loads(page.request.get(f"{pages.url}/insights?as=json&table=lifecycles").text()) == []


HOSTILE: Final = ("<img src=x onerror=alert(1)>", '=cmd|"/c calc"!A1', "\u202egnp.exe </svg><script>alert(1)")


def test_hostile_names_stand_in_charts_and_tables_as_text(at: Place, context: BrowserContext) -> None:
    other = create_place(at.folder / "hostile")
    other.store.parent.mkdir(mode=0o700)
    with open_sample_store(other.store) as play:
        play.clock.at = datetime.now(UTC) - timedelta(hours=5)
        for number_, name in enumerate(HOSTILE, start=1):
            run = play.start("")
            play.send(run, name)
            play.send(run, "abandon", note=name)
            with play.database.transaction() as execute:
                execute("UPDATE runs SET workflow_name = ? WHERE k = ?", (name, number_))
    with run_dashboard(other) as pages:
        watched = WatchedPage(open_signed_in_page(context, pages), pages.url)
        page = watched.page
        for board in ("workflows", "steps", "telemetry", "activity"):
            page.goto(f"{pages.url}/insights/{board}")
            assert page.locator("#main script, #main img, #main [style], #main [onerror]").count() == 0
            assert "\u202e" not in page.content()
        page.goto(f"{pages.url}/insights")
        names = page.locator("#workflows td:first-child").all_text_contents()
        got = page.request.get(f"{pages.url}/insights?as=csv&table=workflows")
        assert sorted(names) == sorted([*HOSTILE[:2], "\\u{202e}gnp.exe </svg><script>alert(1)"])
        assert '"\'=cmd|""/c calc""!A1"' in got.text()
        assert got.headers["content-disposition"] == 'attachment; filename="handrail-workflows-7d.csv"'
        assert watched.bad == []
