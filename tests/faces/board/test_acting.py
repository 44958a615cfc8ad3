"""What a person does on a page is a turn like any other, and is told with what to say to the agent."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from faces.board.desk import Pages, dashboard, entered
from faces.mcp.desk import Pipe, Place, note, place
from program import command


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place for all of these."""
    return place(Path(tmp_path_factory.mktemp("acting")) / "place")


@pytest.fixture(scope="module")
def agent(at: Place) -> Iterator[Pipe]:
    """An agent at a server of its own."""
    with Pipe(at) as pipe:
        yield pipe


@pytest.fixture(scope="module")
def shown(at: Place, agent: Pipe) -> Iterator[Pages]:
    """The pages over the same store."""
    agent.start()
    with dashboard(at) as made:
        yield made


@pytest.fixture
def page(context: BrowserContext, shown: Pages) -> Page:
    """A page of a browser that was let in."""
    return entered(context, shown)


def told(at: Place, run: str) -> dict[str, object]:
    """A run as the command line tells it."""
    found: dict[str, object] = command("runs", "show", run, "--store", at.store, "--json", cwd=at.folder).data
    return found


@pytest.mark.parametrize(
    "ended",
    [
        ("Abandon", "abandoned", "The run was abandoned."),
        ("Diverge", "diverged", "The run went on elsewhere."),
        ("Fail", "failed", "The run has failed."),
    ],
)
def test_a_run_is_ended_with_a_reason(
    ended: tuple[str, str, str], page: Page, shown: Pages, agent: Pipe, at: Place
) -> None:
    action, lifecycle, says = ended
    run = agent.start(goal="To end").run
    page.goto(f"{shown.url}/runs/{run}")
    page.get_by_role("link", name=action, exact=True).click()
    page.get_by_label("Reason").fill("  it is <b>enough</b>  ")
    page.get_by_role("button", name=action, exact=True).click()

    expect(page.get_by_role("heading", name=says)).to_be_visible()
    expect(page.locator("#acted")).to_contain_text("Tell the agent to stop.")
    expect(page.locator("#now")).to_contain_text("Reason: it is <b>enough</b>")
    row = told(at, run)["run"]
    assert isinstance(row, dict)
    assert (row["lifecycle"], row["metadata"]) == (
        lifecycle,
        {"last_transition_reason": "it is <b>enough</b>"},
    )


def test_who_acted_stands_in_the_journal(page: Page, shown: Pages, agent: Pipe, at: Place) -> None:
    run = agent.start().run
    page.goto(f"{shown.url}/runs/{run}")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("heading", name="The run is paused.")).to_be_visible()

    events = command("runs", "events", run, "--store", at.store, "--json", cwd=at.folder).data["events"]
    data = events[-1]["data"]

    assert (data["by"], data["client"], data["to"]) == ("person", "board", "paused")
    assert data["principal"]


def test_a_step_done_by_hand_meets_the_contract_of_an_agent(page: Page, shown: Pages, agent: Pipe) -> None:
    run = agent.start().run
    page.goto(f"{shown.url}/runs/{run}")
    page.get_by_role("link", name="Complete by hand").click()
    expect(page.get_by_text("Artifacts of the types note are needed.")).to_be_visible()
    expect(page.get_by_text("confidence must be at least 0.5.")).to_be_visible()

    page.get_by_role("button", name="Complete by hand").click()
    expect(page.get_by_role("alert")).to_contain_text("complete-step was refused as contract")
    page.get_by_label("Output of one").fill('{"summary": ')
    page.get_by_role("button", name="Complete by hand").click()
    expect(page.get_by_role("alert")).to_contain_text("Write one JSON object")
    assert page.get_by_label("Output of one").input_value() == '{"summary": '
    page.get_by_label("Output of one").fill(json.dumps(note(summary="By hand")))
    page.get_by_role("button", name="Complete by hand").click()

    expect(page.get_by_role("heading", name="The run is running.")).to_be_visible()
    expect(page.locator(".step.is-running .step-name")).to_have_text("two")
    assert agent.recover(run).reply["status"] == "ok"


def test_a_fork_goes_where_no_agent_could_only_once_that_is_confirmed(
    page: Page, shown: Pages, agent: Pipe
) -> None:
    run = agent.start(goal="To fork").run
    agent.control(run, "abandon", reason="enough")
    page.goto(f"{shown.url}/runs/{run}/do/fork")
    page.get_by_label("Begin with").select_option("five")
    page.get_by_role("button", name="Fork").click()
    expect(page.get_by_role("alert")).to_contain_text("no agent could begin with `five`")
    page.get_by_label("Yes, enter it as my override").check()
    page.get_by_role("button", name="Fork").click()

    expect(page.get_by_role("heading", name="The run is running.")).to_be_visible()
    assert run not in page.url
    expect(page.locator(".step.is-running .step-name")).to_have_text("five")
    page.get_by_role("link", name="forked from another run").click()
    page.wait_for_url(f"**/runs/{run}")


def test_what_cannot_be_done_now_is_refused_and_nothing_moves(shown: Pages, agent: Pipe, at: Place) -> None:
    run = agent.start().run
    sent = {"Host": shown.host, "Cookie": shown.cookie(), "Origin": shown.url}

    def post(action: str, body: bytes) -> tuple[int, str]:
        length = {"Content-Length": str(len(body))}
        answered = shown.ask("POST", f"/runs/{run}/do/{action}", {**sent, **length}, body)
        return answered.status, answered.text

    before = told(at, run)["steps"]
    assert post("resume", b"")[0] == 409
    assert post("fork", b"")[0] == 409
    status, text = post("abandon", b"")
    assert (status, "This needs" in text or "reason" in text) == (409, True)
    assert post("abandon", urlencode({"reason": "\0"}).encode())[0] == 409
    assert post("nothing", b"")[0] == 404
    assert post("pause", b"x" * (1024 * 1024 + 1))[0] == 413
    assert told(at, run)["steps"] == before
    for path in (f"/runs/{run}/do/resume", f"/runs/{run}/do/fork"):
        assert shown.ask("GET", path, sent).status == 409
    assert shown.ask("GET", f"/runs/{run}/do/nothing", sent).status == 404
    assert shown.ask("GET", "/runs/nobody/do/pause", sent).status == 404
