"""The page of a run: what now, what happened, and what it made."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from handrail.engine.lifecycle import CONTINUE
from helpers.browser import DashboardProcess, open_signed_in_page, run_dashboard
from helpers.history import History, create_history, open_sample_store
from helpers.program import run_command
from helpers.servers import Pipe, Place, create_place
from tools.sample_store import OUTPUTS, output

MARKDOWN = """# Findings

A *new* [place](https://example.org/a) and [another](javascript:alert(1)).

| a | b |
|:--|--:|
| 1 | 2 |

<script>alert(1)</script> ![picture](https://example.org/x.png)
"""


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A store with a run of every lifecycle."""
    at = create_place(Path(tmp_path_factory.mktemp("runs")) / "place")
    at.store.parent.mkdir(mode=0o700)
    return create_history(at.store)


@pytest.fixture(scope="module")
def shown(past: History) -> Iterator[DashboardProcess]:
    """A dashboard over it."""
    with run_dashboard(Place(past.path.parent.parent)) as made:
        yield made


@pytest.fixture
def page(context: BrowserContext, shown: DashboardProcess) -> Page:
    """A page of a browser that was let in."""
    return open_signed_in_page(context, shown)


LEADS = {
    "running": "The implementer works on mend, and hands in its output when it is done.",
    "paused": "It rests until a person resumes it.",
    "waiting": "Its step build waits for tests.pass.",
    "completed": "It is complete. What it made stands under Artifacts.",
    "failed": "It failed. What it has is kept; a fork goes on from there.",
    "abandoned": "It was given up. What it has is kept; a fork goes on from there.",
    "diverged": "Its work went on elsewhere. What it has is kept; a fork goes on from there.",
}


@pytest.mark.parametrize("name", LEADS)
def test_the_page_says_what_now_and_who_must_act(
    name: str, page: Page, shown: DashboardProcess, past: History
) -> None:
    page.goto(f"{shown.url}/runs/{past.runs[name]}")

    assert page.locator("#now .lead").all_inner_texts() == [LEADS[name]]
    assert page.locator("#now .copy").is_visible() == (name in {"running", "paused", "waiting"})
    assert page.get_by_role("heading", level=1).inner_text() == f"To be {name}"


def test_what_was_refused_is_explained(page: Page, shown: DashboardProcess, past: History) -> None:
    page.goto(f"{shown.url}/runs/{past.runs['running']}")

    answer = [line.split(" 2")[0] for line in page.locator(".refusals li p:first-child").all_inner_texts()]
    assert answer == ["finish was refused in reproduce", "continue was refused in reproduce"]
    assert page.locator(".refusals li p:last-child").all_inner_texts() == [
        "this state does not know the trigger no_row rule reproduce",
        "the step output breaks the step's contract contract rule reproduce",
    ]
    assert page.locator(".step-name").all_inner_texts() == ["reproduce", "diagnose", "mend"]
    assert page.locator(".step-status").all_inner_texts() == ["completed", "completed", "open"]


def test_the_words_to_say_are_copied(page: Page, shown: DashboardProcess, past: History) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    run = past.runs["running"]
    page.goto(f"{shown.url}/runs/{run}")

    page.get_by_role("button", name="Copy").click()

    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == (
        f"Go on with the Handrail run: call workflow_next_step with execution_id {run}"
    )


def test_the_history_has_every_entry_and_can_be_searched(
    page: Page, shown: DashboardProcess, past: History
) -> None:
    url = f"{shown.url}/runs/{past.runs['running']}/history"
    page.goto(url)
    happened = page.locator(".entry b").all_inner_texts()
    assert happened[0] == "Step opened"
    assert happened[-1] == "Run started"
    assert set(happened) == {
        "Step opened",
        "Step completed",
        "Refused",
        "Lifecycle changed",
        "Run started",
    }

    page.get_by_label("Show").select_option("failed")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**only=failed*")
    assert page.locator(".entry b").all_inner_texts() == ["Refused", "Refused"]

    page.goto(f"{url}?only=all&q=token_gen")
    assert set(page.locator(".entry b").all_inner_texts()) == {"Step token issued"}
    page.goto(f"{url}?q=nothing+like+it")
    expect(page.get_by_text("No entry fits.")).to_be_visible()
    page.goto(f"{url}?before=nothing")
    assert len(page.locator(".entry").all()) == len(happened)


def test_long_histories_are_told_in_pages(at: Place, context: BrowserContext) -> None:
    at.store.parent.mkdir(mode=0o700)
    with open_sample_store(at.store) as play:
        run = play.start("Often refused")
        for _ in range(150):
            play.send(run, "nonsense")
    with run_dashboard(at) as pages:
        page = open_signed_in_page(context, pages, f"/runs/{run}/history?only=failed")
        first = page.locator(".entry-number").all_inner_texts()
        page.get_by_role("link", name="Older entries").click()
        page.wait_for_url("**before=**")
        second = page.locator(".entry-number").all_inner_texts()

    assert (len(first), len(second)) == (100, 50)
    assert [int(number) for number in [*first, *second]] == sorted(map(int, {*first, *second}), reverse=True)


def test_artifacts_are_shown_as_they_stand_side_by_side_and_as_files(
    page: Page, shown: DashboardProcess, past: History
) -> None:
    url = f"{shown.url}/runs/{past.runs['completed']}/artifacts"
    page.goto(url)
    assert page.locator(".files b").all_inner_texts()[:3] == [
        "Save twice",
        "Timestamps too coarse",
        "Compare hashes",
    ]
    data = json.loads(page.locator(".raw").inner_text())
    assert data["outcome_summary"] == "Seen to fail and to pass"

    page.get_by_role("link", name="Save twice").click()
    page.wait_for_url("**n=1")
    page.get_by_role("link", name="As it stands").click()
    page.wait_for_url("**raw=1")
    assert page.locator(".raw").inner_text() == "def test_save_twice(): ...\n"

    page.goto(f"{url}?n=3&from=1")
    assert page.locator(".diff del").all_inner_texts() == ["def test_save_twice(): ..."]
    assert page.locator(".diff ins").all_inner_texts() == ["- if stamp > last", "+ if digest != last"]
    page.goto(f"{url}?n=1&from=1")
    expect(page.get_by_text("Both say the same.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.path().read_text() == "def test_save_twice(): ...\n"


def test_markdown_is_rendered_and_nothing_in_it_runs_or_is_fetched(
    at: Place, context: BrowserContext
) -> None:
    at.store.parent.mkdir(mode=0o700)
    with open_sample_store(at.store) as play:
        run = play.start("Look closely")
        first = {**OUTPUTS[0], **output("reproduction", "Findings", MARKDOWN)}
        play.send(run, CONTINUE, {**OUTPUTS[0], "artifacts": first["artifacts"]})
        long = [{"type": "diagnosis", "title": "Long", "content": "# x\n" + "y" * 40_000}]
        play.send(run, CONTINUE, {**OUTPUTS[1], "artifacts": long})
    with run_dashboard(at) as pages:
        page = open_signed_in_page(context, pages)
        errors: list[str] = []
        page.on("console", lambda message: errors.append(message.text))
        page.goto(f"{pages.url}/runs/{run}/artifacts?n=1")

        assert page.locator(".prose h2").inner_text() == "Findings"
        links = [one.get_attribute("href") for one in page.locator(".prose a").all()]
        assert links == ["https://example.org/a", "https://example.org/x.png"]
        assert page.locator(".prose a").first.get_attribute("rel") == "noopener noreferrer nofollow"
        assert page.locator(".prose td").all_inner_texts() == ["1", "2"]
        assert "<script>alert(1)</script>" in page.locator(".prose").inner_text()
        assert page.locator(".prose img, .prose script, .prose [style]").count() == 0
        page.goto(f"{pages.url}/runs/{run}/artifacts?n=2")
        assert len(page.locator(".raw").inner_text()) == 32768
        expect(page.get_by_text("Only the beginning is shown.")).to_be_visible()
        assert errors == []


def test_runs_of_the_other_faces_say_where_they_are_kept_and_cannot_be_turned_here(
    at: Place, context: BrowserContext
) -> None:
    with Pipe(at, "--face", "spells") as agent:
        agent.call({}, "accio")
    runs = run_command("runs", "list", "--store", at.store, "--json", cwd=at.folder).data["runs"]
    with run_dashboard(at) as pages:
        page = open_signed_in_page(context, pages, f"/runs/{runs[0]['id']}")

        expect(page.locator("#facts")).to_contain_text("files of the project")
        expect(page.locator("#now .copy code").first).to_have_text("Accio")
        assert page.locator(".run-head .actions").count() == 0
        page.goto(f"{pages.url}/runs/{runs[0]['id']}/do/pause")
        expect(page.get_by_role("alert")).to_contain_text("That cannot be done to this run as it stands")


def test_a_run_whose_workflow_cannot_be_read_is_shown_and_what_is_wrong_is_said(
    page: Page, shown: DashboardProcess, past: History
) -> None:
    url = f"{shown.url}/runs/{past.runs['waiting']}"
    answered = page.goto(f"{url}/do/complete-step")
    assert answered is not None
    assert answered.status == 503
    expect(page.get_by_role("heading", name="The store did not answer")).to_be_visible()

    page.goto(url)
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("It was refused")
    page.goto(url)
    expect(page.locator(".run-title .mark")).to_have_text("Waiting")
