"""What a person does on a page is a turn like any other, and is told with what to say to the agent.

So are several at once; a comment is no turn.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from handrail.app.faces import StepsStatus
from handrail.runtime.entries import EntryKind
from handrail.runtime.system import get_login_name
from helpers.browser import DashboardProcess, await_live_updates, open_signed_in_page, run_dashboard
from helpers.face_runs import play_spells
from helpers.program import run_command
from helpers.servers import Pipe, Place, build_note_output, create_place


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place for all of these."""
    return create_place(Path(tmp_path_factory.mktemp("acting")) / "place")


@pytest.fixture(scope="module")
def agent(at: Place) -> Iterator[Pipe]:
    """An agent at a server of its own."""
    with Pipe(at) as pipe:
        yield pipe


@pytest.fixture(scope="module")
def shown(at: Place, agent: Pipe) -> Iterator[DashboardProcess]:
    """The pages over the same store."""
    agent.start()
    with run_dashboard(at) as made:
        yield made


@pytest.fixture
def page(context: BrowserContext, shown: DashboardProcess) -> Page:
    """A page of a browser that was let in."""
    return open_signed_in_page(context, shown)


def told(at: Place, run: str) -> dict[str, object]:
    """A run as the command line tells it."""
    found: dict[str, object] = run_command(
        "runs", "show", run, "--store", at.store, "--json", cwd=at.folder
    ).data
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
    ended: tuple[str, str, str], page: Page, shown: DashboardProcess, agent: Pipe, at: Place
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


def test_who_acted_stands_in_the_journal(page: Page, shown: DashboardProcess, agent: Pipe, at: Place) -> None:
    run = agent.start().run
    page.goto(f"{shown.url}/runs/{run}")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("heading", name="The run is paused.")).to_be_visible()

    events = run_command("runs", "events", run, "--store", at.store, "--json", cwd=at.folder).data["events"]
    data = events[-1]["data"]

    assert (data["by"], data["client"], data["to"]) == ("person", "board", "paused")
    assert data["principal"]


def test_a_step_done_by_hand_meets_the_contract_of_an_agent(
    page: Page, shown: DashboardProcess, agent: Pipe
) -> None:
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
    page.get_by_label("Output of one").fill(json.dumps(build_note_output(summary="By hand")))
    page.get_by_role("button", name="Complete by hand").click()

    expect(page.get_by_role("heading", name="The run is running.")).to_be_visible()
    expect(page.locator(".step.is-running .step-name")).to_have_text("two")
    assert agent.recover(run).reply["status"] == StepsStatus.OK


def test_a_fork_goes_where_no_agent_could_only_once_that_is_confirmed(
    page: Page, shown: DashboardProcess, agent: Pipe
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


def test_what_cannot_be_done_now_is_refused_and_nothing_moves(
    shown: DashboardProcess, agent: Pipe, at: Place
) -> None:
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


# --- comments -----------------------------------------------------------------------------------------------


def test_a_comment_is_written_told_to_the_agent_and_shown_as_told(
    page: Page, shown: DashboardProcess, agent: Pipe
) -> None:
    begun = agent.start(goal="To be talked about")
    page.goto(f"{shown.url}/runs/{begun.run}")
    page.get_by_role("textbox", name="Comment").fill("Use the <b>old</b> name.\nPlease.")
    page.get_by_role("button", name="Comment", exact=True).click()

    expect(page.get_by_role("heading", name="Your comment was written.")).to_be_visible()
    expect(page.locator("#acted")).to_contain_text("The next answer tells the agent.")
    expect(page.locator("#acted")).to_contain_text(f"call workflow_next_step with execution_id {begun.run}")
    expect(page.locator(".said-text")).to_have_text("Use the <b>old</b> name.\nPlease.")
    expect(page.locator(".said-head")).to_contain_text("not told to the agent yet")
    await_live_updates(page)
    page.get_by_role("textbox", name="Comment").fill("Half a thought")

    answer = agent.continue_run(begun.token)
    assert answer.reply["comments"] == [f"{get_login_name()}: Use the <b>old</b> name. Please."]
    expect(page.locator(".said-head .heard")).to_contain_text("told to the agent")
    assert page.get_by_role("textbox", name="Comment").input_value() == "Half a thought"


def test_the_history_has_comments_and_takes_them(page: Page, shown: DashboardProcess, agent: Pipe) -> None:
    run = agent.start().run
    agent.control(run, "abandon", reason="enough")
    page.goto(f"{shown.url}/runs/{run}/history")
    page.get_by_role("textbox", name="Comment").fill("Why was that?")
    page.get_by_role("button", name="Comment", exact=True).click()

    expect(page.locator("#acted")).to_contain_text("This run is over.")
    page.get_by_role("link", name="History").click()
    expect(page.locator(".entry").first).to_contain_text("Why was that?")


def test_one_that_is_too_long_is_refused_with_the_repair_and_not_cut(
    shown: DashboardProcess, agent: Pipe
) -> None:
    run = agent.start().run
    sent = {"Host": shown.host, "Cookie": shown.cookie(), "Origin": shown.url}
    body = urlencode({"text": "ä" * 4001}).encode()
    answered = shown.ask("POST", f"/runs/{run}/do/comment", {**sent, "Content-Length": str(len(body))}, body)

    assert answered.status == 409
    assert "a text of 1 to 4000 characters" in answered.text
    assert "ä" * 4001 in answered.text
    assert EntryKind.COMMENT_WRITTEN not in shown.ask("GET", f"/runs/{run}/history?only=all", sent).text


# --- several runs at once -----------------------------------------------------------------------------------


def lifecycles(at: Place, *runs: str) -> list[str]:
    """How these runs stand."""
    listed = run_command("runs", "list", "--store", at.store, "--json", cwd=at.folder).data["runs"]
    found = {run["id"]: run["lifecycle"] for run in listed}
    return [found[run] for run in runs]


def sent(shown: DashboardProcess, path: str, **form: object) -> tuple[int, str]:
    """What a form is answered with."""
    body = urlencode(form, doseq=True).encode()
    headers = {"Host": shown.host, "Cookie": shown.cookie(), "Origin": shown.url}
    answered = shown.ask("POST", path, {**headers, "Content-Length": str(len(body))}, body)
    return answered.status, answered.text


def test_what_was_ticked_is_confirmed_and_done_without_any_script(
    scriptless: BrowserContext, shown: DashboardProcess, agent: Pipe, at: Place
) -> None:
    one, two, three = (agent.start(goal=f"Run {number}").run for number in range(3))
    agent.control(two, "pause")
    page = open_signed_in_page(scriptless, shown, "/")
    expect(page.get_by_role("form", name="What to do to the chosen runs")).to_be_hidden()
    for run in (one, two, three):
        page.locator(f"#run-{run} .pick").check()
    page.get_by_role("button", name="Pause", exact=True).click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Pause the chosen runs?")
    expect(page.locator(".panel.each li")).to_have_count(2)
    expect(page.locator(".note .each li")).to_contain_text(["It is paused already."])
    assert lifecycles(at, one, two, three) == ["running", "paused", "running"]
    page.get_by_label("Reason").fill("lunch")
    page.get_by_role("button", name="Pause 2 runs").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Paused")
    expect(page.get_by_role("status")).to_contain_text("It was done to 2 runs.")
    expect(page.locator(".panel.each .mark")).to_have_text(["Paused", "Paused"])
    assert lifecycles(at, one, two, three) == ["paused", "paused", "paused"]
    page.get_by_role("link", name="Back to the runs").click()
    for run in (one, three):
        page.locator(f"#run-{run} .pick").check()
    page.get_by_role("button", name="Resume", exact=True).click()
    page.get_by_role("button", name="Resume 2 runs").click()
    expect(page.locator(".each .copy")).to_have_count(2)
    expect(page.locator(".each .copy").first).to_contain_text(f"execution_id {three}")


def test_ticks_stay_while_runs_move_and_all_are_ticked_at_once(
    context: BrowserContext, shown: DashboardProcess, agent: Pipe
) -> None:
    begun = agent.start(goal="It moves")
    page = open_signed_in_page(context, shown, "/")
    await_live_updates(page)
    page.locator(f"#run-{begun.run} .pick").check()
    agent.continue_run(begun.token)
    expect(page.locator(f"#run-{begun.run} .c-state")).to_have_text("two")
    expect(page.locator(f"#run-{begun.run} .pick")).to_be_checked()
    page.get_by_label("Choose every run of this page").check()

    assert page.locator(".pick:not(:checked)").count() == 0
    page.keyboard.press("j")
    page.keyboard.press("x")
    assert page.locator(".pick:not(:checked)").count() == 1
    expect(page.get_by_label("Choose every run of this page")).not_to_be_checked()


def test_what_cannot_be_done_is_said_for_each_with_the_reason(
    shown: DashboardProcess, agent: Pipe, at: Place
) -> None:
    play_spells(at)
    listed = run_command(
        "runs", "list", "--face", "spells", "--store", at.store, "--json", cwd=at.folder
    ).data
    elsewhere = listed["runs"][0]["id"]
    over, open_ = agent.start(goal="Over").run, agent.start(goal="Open").run
    agent.control(over, "abandon", reason="enough")
    status, text = sent(shown, "/bulk", action="abandon", run=[over, elsewhere, open_, "nobody"])

    assert status == 200
    for reason in ("It is over.", "moved by its agent only", "There is no such run"):
        assert reason in text
    status, text = sent(shown, "/bulk/abandon", run=[over, open_], reason=" ")
    assert (status, "Say why." in text) == (409, True)
    assert lifecycles(at, open_) == ["running"]
    status, text = sent(shown, "/bulk/abandon", run=[over, elsewhere, open_, "nobody"], reason="tidy up")
    assert (status, "It was done to 1 run." in text, "Nothing is done to 3 runs" in text) == (200, True, True)
    assert lifecycles(at, over, open_) == ["abandoned", "abandoned"]


def test_what_is_no_form_of_the_overview_is_turned_away(shown: DashboardProcess) -> None:
    assert "No run was chosen." in sent(shown, "/bulk", action="pause")[1]
    assert sent(shown, "/bulk", action="fork", run="x")[0] == 404
    assert sent(shown, "/bulk/nothing", run="x")[0] == 404
    assert sent(shown, "/bulk", action="pause", run=[str(number) for number in range(201)])[0] == 413
    assert sent(shown, "/bulk", action="pause", run="x" * (1024 * 1024))[0] == 413
