"""An open page shows what happens, whichever process did it, and what a person does there is done."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import BrowserContext, expect
from websockets.sync.client import ClientConnection, connect

from handrail.app.faces import StepsStatus
from handrail.engine.refusals import RefusalCode
from helpers.browser import LIVE, DashboardProcess, await_live_updates, open_signed_in_page, run_dashboard
from helpers.servers import BOUND, Pipe, Place


def test_a_tool_call_in_another_process_changes_the_open_page_without_a_reload(
    at: Place, context: BrowserContext
) -> None:
    with Pipe(at) as agent, run_dashboard(at) as pages:
        first = agent.start(goal="Walk to the lake")
        page = open_signed_in_page(context, pages, "/")
        row = page.locator(f"#run-{first.run}")
        expect(row.locator(".c-state")).to_have_text("one")
        await_live_updates(page)
        page.evaluate("window.kept = 'here'")

        agent.continue_run(first.token)
        expect(row.locator(".c-state")).to_have_text("two")
        other = agent.start(goal="Another one")
        expect(page.locator(f"#run-{other.run} .title")).to_have_text("Another one")
        expect(page.locator(".counts")).to_contain_text("2 running")

        assert page.evaluate("window.kept") == "here"


def test_over_postgresql_a_call_of_another_process_changes_the_open_page_too(
    at: Place, database: str, context: BrowserContext
) -> None:
    with Pipe(at, "--store", database) as agent, run_dashboard(at, "--store", database) as pages:
        first = agent.start(goal="Walk to the lake")
        page = open_signed_in_page(context, pages, f"/runs/{first.run}")
        await_live_updates(page)
        page.evaluate("window.kept = 'here'")

        second = agent.continue_run(first.token)
        expect(page.locator(".step.is-running .step-name")).to_have_text("two")
        page.get_by_role("button", name="Pause", exact=True).click()
        expect(page.get_by_role("heading", name="The run is paused.")).to_be_visible()

        assert agent.continue_run(second.token).code == RefusalCode.NOT_RUNNING


def test_what_happened_while_a_page_was_on_its_way_is_not_missed(at: Place, context: BrowserContext) -> None:
    with Pipe(at) as agent, run_dashboard(at) as pages:
        first = agent.start(goal="Walk to the lake")
        page = open_signed_in_page(context, pages)
        page.route("**/static/live.js", lambda route: (agent.continue_run(first.token), route.continue_()))
        page.goto(f"{pages.url}/runs/{first.run}")

        expect(page.locator(".step.is-running .step-name")).to_have_text("two")


def test_the_tabs_of_a_run_are_live_and_keep_what_somebody_has_opened(
    at: Place, context: BrowserContext
) -> None:
    with Pipe(at) as agent, run_dashboard(at) as pages:
        first = agent.start(goal="Walk to the lake")
        history = open_signed_in_page(context, pages, f"/runs/{first.run}/history")
        artifacts = context.new_page()
        artifacts.goto(f"{pages.url}/runs/{first.run}/artifacts")
        await_live_updates(history)
        await_live_updates(artifacts)
        history.locator(".entry summary").last.click()
        opened = history.locator(".entry details[open]")
        expect(opened).to_have_count(1)

        agent.continue_run(first.token)

        expect(history.locator(".entry b").first).to_have_text("Step opened")
        expect(history.locator(".entry code").first).to_have_text("two")
        expect(opened).to_have_count(1)
        expect(artifacts.locator(".files b")).to_have_text(["A note"])


def test_a_run_that_is_paused_on_its_page_is_paused_for_its_agent(at: Place, context: BrowserContext) -> None:
    with Pipe(at) as agent, run_dashboard(at) as pages:
        first = agent.start(goal="Walk to the lake")
        page = open_signed_in_page(context, pages, f"/runs/{first.run}")

        page.get_by_role("button", name="Pause", exact=True).click()
        expect(page.get_by_role("heading", name="The run is paused.")).to_be_visible()
        answer = agent.continue_run(first.token)

        assert (answer.failed, answer.code) == (True, RefusalCode.NOT_RUNNING)
        page.get_by_role("button", name="Resume", exact=True).click()
        expect(page.get_by_role("heading", name="The run is running.")).to_be_visible()
        expect(page.locator("#acted code")).to_have_text(
            f"Go on with the Handrail run: call workflow_next_step with execution_id {first.run}"
        )
        assert agent.recover(first.run).reply["status"] == StepsStatus.OK


def test_updates_wait_while_a_person_has_paused_them(at: Place, context: BrowserContext) -> None:
    with Pipe(at) as agent, run_dashboard(at) as pages:
        first = agent.start(goal="Walk to the lake")
        page = open_signed_in_page(context, pages, "/")
        other = open_signed_in_page(context, pages, "/")
        await_live_updates(page)
        await_live_updates(other)
        page.get_by_role("button", name="Pause updates").click()
        expect(page.locator(".live [data-word]")).to_have_text("Paused")

        agent.continue_run(first.token)
        expect(other.locator(f"#run-{first.run} .c-state")).to_have_text("two")
        assert page.locator(f"#run-{first.run} .c-state").inner_text() == "one"

        page.get_by_role("button", name="Resume updates").click()
        expect(page.locator(f"#run-{first.run} .c-state")).to_have_text("two")


def test_a_page_says_that_it_reconnects_and_shows_what_it_missed(at: Place, context: BrowserContext) -> None:
    with Pipe(at) as agent, run_dashboard(at) as pages:
        first = agent.start(goal="Walk to the lake")
        page = open_signed_in_page(context, pages, "/")
        await_live_updates(page)
        context.set_offline(offline=True)
        page.evaluate("document.querySelector('.live').dataset.state = 'unknown'")
        context.set_offline(offline=False)
        agent.continue_run(first.token)
        expect(page.locator(f"#run-{first.run} .c-state")).to_have_text("two")

        assert pages.end() == 0
        expect(page.locator(".live[data-state=again] [data-word]")).to_have_text("Reconnecting")


def test_a_browser_whose_sockets_are_blocked_gets_the_same_by_events(
    at: Place, apart: BrowserContext
) -> None:
    with Pipe(at) as agent, run_dashboard(at) as pages:
        first = agent.start(goal="Walk to the lake")
        apart.add_init_script(
            "window.WebSocket = class { constructor() { setTimeout(() => this.onclose()); } }"
        )
        page = open_signed_in_page(apart, pages, "/")
        expect(page.locator(LIVE)).to_be_visible()

        agent.continue_run(first.token)

        expect(page.locator(f"#run-{first.run} .c-state")).to_have_text("two")


# --- in bytes -----------------------------------------------------------------------------------------------


@contextmanager
def socket(pages: DashboardProcess, cookie: str, since: str = "") -> Iterator[ClientConnection]:
    """A WebSocket of a page that knows what was entered up to here."""
    url = f"ws://{pages.host}/live?since={since}"
    headers = {"Cookie": cookie, "Origin": pages.url}
    with connect(url, additional_headers=headers, open_timeout=BOUND, compression=None) as opened:
        yield opened


@contextmanager
def stream(pages: DashboardProcess, cookie: str, last: str = "") -> Iterator[Iterator[dict[str, Any]]]:
    """The events that a browser is sent that heard this one last."""
    host, _, port = pages.host.partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=BOUND)
    headers = {"Cookie": cookie, "Host": pages.host, **({"Last-Event-ID": last} if last else {})}
    connection.request("GET", "/events", headers=headers)
    response = connection.getresponse()
    assert response.headers["content-type"].startswith("text/event-stream")

    def told() -> Iterator[dict[str, Any]]:
        number = ""
        while line := response.readline().decode():
            if line.startswith("id: "):
                number = line.removeprefix("id: ").strip()
            if line.startswith("data: "):
                found = json.loads(line.removeprefix("data: "))
                assert str(found["id"]) == number
                yield found

    yield told()
    connection.close()


def test_a_patch_says_which_run_changed_and_how_many_are_under_way(at: Place) -> None:
    with Pipe(at) as agent, run_dashboard(at) as pages:
        first = agent.start()
        cookie = pages.cookie()
        with socket(pages, cookie) as opened:
            hello = json.loads(opened.recv(BOUND))
            assert hello == {"id": hello["id"], "runs": [], "counts": {"running": 1, "paused": 0}}
            agent.control(first.run, "pause")
            patch = json.loads(opened.recv(BOUND))
            assert patch == {
                "id": patch["id"],
                "runs": [first.run],
                "counts": {"running": 0, "paused": 1},
            }
            assert patch["id"] > hello["id"]
        with socket(pages, cookie, str(hello["id"])) as again:
            assert json.loads(again.recv(BOUND)) == patch


def test_a_stream_goes_on_behind_the_event_that_was_heard_last(at: Place) -> None:
    with Pipe(at) as agent, run_dashboard(at) as pages:
        first = agent.start()
        cookie = pages.cookie()
        with stream(pages, cookie) as events:
            hello = next(events)
        agent.continue_run(first.token)
        with stream(pages, cookie, str(hello["id"])) as events:
            missed = next(events)
            assert missed["runs"] == [first.run]
        with stream(pages, cookie, str(missed["id"])) as events:
            assert next(events)["runs"] == []
        for odd in ("99999999", "-1", "x", "9" * 30):
            with stream(pages, cookie, odd) as events:
                assert next(events)["runs"] in ([], None)


def test_the_program_ends_while_pages_listen_and_says_so_to_them(at: Place) -> None:
    with run_dashboard(at) as pages:
        cookie = pages.cookie()
        with socket(pages, cookie) as opened, stream(pages, cookie) as events:
            opened.recv(BOUND)
            next(events)
            assert pages.end() == 0
            assert list(events) == []
            assert list(opened) == []
            assert opened.close_code == 1001
