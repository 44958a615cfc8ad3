"""The page in the chat, in a real browser: a host of our own embeds it and speaks the protocol with it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
from playwright.sync_api import BrowserContext, Frame, FrameLocator, Page, expect

from helpers import face_runs
from helpers.hostile_texts import WatchedPage, list_hostile_texts
from helpers.repositories import create_repository
from helpers.servers import TOOL, PageShowingPipe, Place, create_place, wait_until

HOST: Final = Path(__file__).with_name("host.html")
SCHEMA: Final = Path(".node/node_modules/@modelcontextprotocol/ext-apps/dist/src/generated/schema.json")


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A store with a run of every face that has a plan, and one of steps."""
    made_at = create_place(Path(tmp_path_factory.mktemp("app")) / "place")
    create_repository("git", made_at.project, made_at.folder / "home")
    return made_at


@pytest.fixture(scope="module")
def html(at: Place) -> str:
    """The page."""
    with PageShowingPipe(at) as agent:
        (read,) = agent.ask("resources/read", {"uri": "ui://handrail/run"})["result"]["contents"]
    return str(read["text"])


class Host:
    """A host with the page in it, of which everything is noted that it must not do."""

    def __init__(self, page: Page, html: str, theme: str = "") -> None:
        self.watched = WatchedPage(page, "data:")
        self.page = page
        page.set_content(HOST.read_text("utf-8"))
        page.evaluate("([html, theme]) => embed(html, theme)", [html, theme])
        page.wait_for_function("said.some((one) => one.method === 'ui/notifications/initialized')")

    def hand(self, result: Mapping[str, Any]) -> FrameLocator:
        """The page once it has been handed what a tool answered."""
        self.page.evaluate("(result) => hand(result)", result)
        return self.page.frame_locator("#app")

    @property
    def frame(self) -> Frame:
        """The page inside."""
        return self.page.frames[1]

    @property
    def said(self) -> list[dict[str, Any]]:
        """What the page has said to its host."""
        found: list[dict[str, Any]] = self.page.evaluate("said")
        return found


@pytest.fixture
def host(context: BrowserContext, html: str) -> Host:
    """A host that says nothing of its theme."""
    return Host(context.new_page(), html)


def called(agent: PageShowingPipe, tool: str, **arguments: object) -> dict[str, Any]:
    """What a tool answers, as it goes to a host."""
    result: dict[str, Any] = agent.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
    return result


def test_the_page_shows_where_a_run_of_steps_stands_and_moves_with_it(host: Host, at: Place) -> None:
    with PageShowingPipe(at) as agent:
        begun = called(agent, TOOL, template_name="walk", goal="Walk to the end")
        page = host.hand(begun)
        expect(page.locator("h1")).to_have_text("Walk to the end")
        expect(page.locator("#about")).to_have_text("walk · Running · one")
        expect(page.locator("[aria-current] > text")).to_have_text("one")
        expect(page.locator("#far")).to_be_hidden()
        assert page.locator("#text").text_content() == begun["content"][0]["text"]

        answer = agent.continue_run(begun["structuredContent"]["new_step_token"])
        page = host.hand(called(agent, TOOL, execution_id=answer.run))
        expect(page.locator("[aria-current] > text")).to_have_text("two")
        expect(page.locator(".visited > text")).to_have_text("one")
    assert host.watched.bad == []


def test_the_page_shows_how_far_the_criteria_of_a_task_are_met(host: Host, at: Place) -> None:
    face_runs.play_spells(at)
    with PageShowingPipe(at, "--face", "spells") as agent:
        page = host.hand(called(agent, "lumos"))

    expect(page.locator("#about")).to_have_text("spells · Running · ACHIEVE_TASK_EXECUTED")
    expect(page.locator("[aria-current]")).to_have_count(1)
    expect(page.locator("#progress")).to_have_text("1 of 3 done")
    assert page.locator("progress").evaluate("(bar) => [bar.value, bar.max]") == [1, 3]
    assert host.watched.bad == []


def test_the_page_shows_how_many_tasks_of_a_session_are_done(host: Host, at: Place) -> None:
    face_runs.play_skills(at)
    with PageShowingPipe(at, "--face", "skills") as agent:
        page = host.hand(called(agent, "session_status", project=str(at.project), session=face_runs.SESSION))

    expect(page.locator("h1")).to_have_text("sorting")
    expect(page.locator("#progress")).to_have_text("1 of 3 done")
    expect(page.locator("[aria-current]")).to_have_count(1)
    assert host.watched.bad == []


def test_the_page_shows_how_many_tasks_of_a_plan_are_ticked(host: Host, at: Place) -> None:
    face_runs.play_planner(at)
    with PageShowingPipe(at, "--face", "planner") as agent:
        page = host.hand(called(agent, "gather_requirements"))

    expect(page.locator("#progress")).to_have_text("5 of 7 done")
    expect(page.locator("#about")).to_have_text("planner · Running · stage-5")
    assert host.watched.bad == []


def test_the_page_shows_how_many_tasks_of_a_commit_are_ticked(host: Host, at: Place) -> None:
    second = create_place(at.folder / "second")
    create_repository("git", second.project, second.folder / "home")
    face_runs.play_commits(second, at)
    with PageShowingPipe(second, "--face", "commits", "--store", str(at.store)) as agent:
        page = host.hand(called(agent, "get_plan"))

    expect(page.locator("#progress")).to_have_text("2 of 3 done")
    expect(page.locator("#about")).to_have_text("commits · Running · phase-executing-open")
    assert host.watched.bad == []


# --- the protocol -------------------------------------------------------------------------------------------


def test_the_page_says_what_the_protocol_has_and_nothing_more(host: Host) -> None:
    host.page.evaluate("ask(7, 'ping')")
    host.page.evaluate("ask(8, 'ui/resource-teardown')")
    host.page.evaluate("ask(9, 'tools/call')")
    host.page.wait_for_function("said.some((one) => one.id === 9)")
    kinds = json.loads(SCHEMA.read_text("utf-8"))
    forms = {
        "ui/initialize": "McpUiInitializeRequest",
        "ui/notifications/initialized": "McpUiInitializedNotification",
        "ui/notifications/size-changed": "McpUiSizeChangedNotification",
    }

    asked = [one for one in host.said if "method" in one]
    assert {one["method"] for one in asked} == set(forms)
    for one in asked:
        bare = {name: value for name, value in one.items() if name in {"method", "params"}}
        schema = {"$defs": kinds["$defs"], **kinds["$defs"][forms[one["method"]]]}
        assert [*jsonschema_rs.validator_for(schema).iter_errors(bare)] == []
    answers = {one["id"]: one.get("result", one.get("error")) for one in host.said if "method" not in one}
    assert answers == {7: {}, 8: {}, 9: {"code": -32601, "message": "Method not found"}}
    assert {one["origin"] for one in host.said} == {"null"}
    assert host.watched.bad == []


def test_the_page_wears_what_its_host_wears(context: BrowserContext, html: str) -> None:
    paper = "() => getComputedStyle(document.documentElement).backgroundColor"
    for theme, colour in (("light", "rgb(252, 252, 253)"), ("dark", "rgb(15, 20, 28)")):
        host = Host(context.new_page(), html, theme)
        assert host.frame.evaluate(paper) == colour

    host.page.evaluate("change('light')")
    host.frame.wait_for_function("document.documentElement.dataset.theme === 'light'")
    assert host.frame.evaluate(paper) == "rgb(252, 252, 253)"


def test_without_a_picture_the_page_shows_the_words(host: Host) -> None:
    page = host.hand({"content": [{"type": "text", "text": "There is no run of that id."}], "isError": True})

    expect(page.locator("#text")).to_be_visible()
    expect(page.locator("#text")).to_have_text("There is no run of that id.")
    expect(page.locator("#picture")).to_be_hidden()


# --- harm ---------------------------------------------------------------------------------------------------


def test_hostile_texts_of_a_run_stand_on_the_page_as_text(host: Host, at: Place) -> None:
    texts = [one for one in list_hostile_texts() if one.isprintable()][::3]
    with PageShowingPipe(at) as agent:
        for text in texts:
            page = host.hand(called(agent, TOOL, template_name="walk", goal=text))
            assert page.locator("h1").evaluate("(one) => one.textContent") == text
    assert len(texts) >= 40
    assert host.watched.bad == []
    assert host.frame.evaluate("window.owned") is None


def test_a_hostile_picture_is_only_shapes_and_words(host: Host) -> None:
    bad = (
        '<script>alert(1)</script><g onclick="alert(1)"><a href="javascript:alert(1)"><text>a</text></a></g>'
        '<image href="http://evil.example/x.png"/><use href="http://evil.example/x.svg#a"/>'
        '<rect style="fill:url(http://evil.example/)" width="9" height="9" onmouseover="alert(1)"/>'
        '<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="http://evil.example/"/></foreignObject>'
        '<animate attributeName="href" to="javascript:alert(1)"/><style>@import "http://evil.example/"</style>'
    )
    good = '<g class="node"><text>b</text></g>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">{bad}{good}</svg>'
    stands = {"title": "t", "about": "a", "ticked": 0, "total": 0, "progress": "", "svg": svg}
    page = host.hand({"content": [], "_meta": {"handrail/stands": stands}})

    expect(page.locator("#picture .node")).to_have_text("b")
    assert page.locator("#picture").evaluate("(one) => one.innerHTML") == (
        '<svg><g></g><rect width="9" height="9"></rect><g class="node"><text>b</text></g></svg>'
    )
    host.hand({"content": [], "_meta": {"handrail/stands": {**stands, "svg": "<svg>"}}})
    expect(page.locator("#picture svg")).to_have_count(0)
    wait_until(lambda: [*host.said, *host.watched.bad] != host.said, "the picture's style to be refused")
    refused = ("console Applying inline style violates", "console Executing inline event handler violates")
    assert [one for one in host.watched.bad if not one.startswith(refused)] == []


def test_the_policy_of_the_page_holds_where_its_host_has_none(context: BrowserContext, html: str) -> None:
    loose = HOST.read_text("utf-8").replace(" csp=", " data-csp=")
    assert loose.count("data-csp=") == 1
    page = context.new_page()
    page.set_content(loose)
    page.evaluate("(html) => embed(html, '')", html)
    page.wait_for_function("said.length > 1")

    tried = """async () => {
      const script = document.createElement('script');
      script.textContent = 'window.owned = 1';
      document.body.append(script);
      const loaded = await fetch('http://127.0.0.1:9/').then(() => 'yes', (error) => error.name);
      return [window.owned === undefined, loaded];
    }"""
    noted = "addEventListener('securitypolicyviolation', (one) => blocked.push(one.effectiveDirective))"
    page.frames[1].evaluate(f"window.blocked = []; {noted}")
    assert page.frames[1].evaluate(tried) == [True, "TypeError"]
    assert page.frames[1].evaluate("blocked") == ["script-src-elem", "connect-src"]
