"""The page in the chat: it is there for clients that declare it, and for nobody else by a single byte."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import anyio
import pytest

from handrail.app.faces import RunStatus
from handrail.engine.model import Lifecycle, Run
from handrail.mcp import apps
from handrail.mcp.run_picture import build_picture
from handrail.runtime.errors import Busy
from handrail.workflows.load import WorkflowSource, load_workflow
from helpers.large_workflow import build_large_text
from helpers.servers import ERAS, TOOL, PageShowingPipe, Pipe, Place, open_in_process

URI: Final = "ui://handrail/run"
UI: Final = {"ui": {"resourceUri": "ui://handrail/run"}}
CLOSED: Final = {
    "ui": {
        "csp": {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []},
        "prefersBorder": True,
    }
}
SHOWS: Final = {
    "steps": ["workflow_next_step"],
    "spells": ["lumos"],
    "skills": ["session_status"],
    "planner": ["gather_requirements"],
    "commits": ["get_plan", "get_constraints", "get_tasks"],
}


class Plain(Pipe):
    """A client that has the extension, and can show pages of another kind."""

    ABLE: ClassVar[Mapping[str, Any]] = {
        "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}}
    }


def told(pipe: Pipe) -> dict[str, Any]:
    """Everything a client is told before its first call."""
    hello = pipe.hello if pipe.era == "legacy" else pipe.ask("server/discover")["result"]
    lists = ("tools", "resources", "prompts")
    return {"hello": hello, **{name: pipe.ask(f"{name}/list")["result"][name] for name in lists}}


@pytest.mark.parametrize(("face", "era"), [("steps", "legacy"), *((face, "auto") for face in SHOWS)])
def test_a_client_without_the_extension_sees_nothing_of_the_page(at: Place, face: str, era: str) -> None:
    with Pipe(at, "--face", face, era=era) as plain, PageShowingPipe(at, "--face", face, era=era) as showing:
        without, with_ = told(plain), told(showing)

    assert re.findall(r"ui:|mcp-app|modelcontextprotocol/ui", json.dumps(without)) == []
    assert [tool["name"] for tool in with_["tools"] if tool.pop("_meta", None) == UI] == SHOWS[face]
    page = with_["resources"].pop()
    assert (page["uri"], page["mimeType"], page["_meta"]) == (URI, "text/html;profile=mcp-app", CLOSED)
    assert with_["hello"]["capabilities"].pop("extensions") == {"io.modelcontextprotocol/ui": {}}
    assert json.dumps(with_) == json.dumps(without)


def test_a_client_with_other_pages_sees_nothing_either(at: Place) -> None:
    with Pipe(at, era="legacy") as plain, Plain(at, era="legacy") as other:
        assert json.dumps(told(other)) == json.dumps(told(plain))
        call = {"name": TOOL, "arguments": {"template_name": "walk"}}
        assert "handrail/stands" not in json.dumps(other.ask("tools/call", call))


@pytest.mark.parametrize("era", ERAS)
def test_the_answer_is_the_same_with_the_picture_beside_it(at: Place, era: str) -> None:
    with Pipe(at, era=era) as plain, PageShowingPipe(at, era=era) as showing:
        run = plain.start(goal="Walk it").run
        asked = {"name": TOOL, "arguments": {"execution_id": run, "action": "why"}}
        without, with_ = (pipe.ask("tools/call", asked)["result"] for pipe in (plain, showing))
        stands = with_["_meta"].pop("handrail/stands")
        beside = with_.pop("_meta") or {}

    assert without.pop("_meta", {}) == beside
    texts = [
        json.dumps(result).replace(result["structuredContent"]["new_step_token"], "TOKEN")
        for result in (without, with_)
    ]
    assert texts[0] == texts[1]
    assert (stands["title"], stands["about"]) == ("Walk it", "walk · Running · one")
    assert (stands["ticked"], stands["total"]) == (0, 0)
    assert stands["svg"].count(' aria-current="step"') == 1
    assert stands["svg"].count(" data-state=") == 7


def test_a_call_that_is_about_no_run_has_no_picture(at: Place) -> None:
    with PageShowingPipe(at) as showing:
        for arguments in (
            {"execution_id": "nobody"},
            {"step_token": "x", "model_output_so_far": {}},
            {"x": 1},
        ):
            result = showing.ask("tools/call", {"name": TOOL, "arguments": arguments})["result"]
            assert result["isError"] is True
            assert "handrail/stands" not in json.dumps(result)


def test_a_tool_that_moves_a_run_shows_nothing_where_another_reads(at: Place) -> None:
    with PageShowingPipe(at, "--face", "spells") as showing:
        moved = showing.ask("tools/call", {"name": "accio", "arguments": {}})
        assert "handrail/stands" not in json.dumps(moved)
        read = showing.ask("tools/call", {"name": "lumos", "arguments": {}})["result"]
        assert read["_meta"]["handrail/stands"]["about"] == "spells · Running · GATHER_EDITING"
        wrong = showing.ask("tools/call", {"name": "lumos", "arguments": {"project": "/nowhere"}})["result"]
        assert "handrail/stands" not in json.dumps(wrong)


@pytest.mark.parametrize("wrong", [Busy("the store is busy", "send it again"), KeyError("a bug of ours")])
def test_an_answer_has_no_picture_if_the_store_is_away_by_then_or_drawing_has_a_bug(
    at: Place, wrong: Exception
) -> None:
    async def away() -> None:
        raise wrong

    with open_in_process(at) as client:
        assert anyio.run(lambda: apps.load_picture_meta(away(), client.app.runs)) is None


def test_a_large_graph_is_drawn_in_part_also_before_its_run_has_begun() -> None:
    loaded = load_workflow(WorkflowSource("large.yaml", build_large_text()))
    assert loaded.workflow is not None
    run = Run("r", "large", loaded.workflow.digest, Lifecycle.IDLE)

    stands = build_picture(RunStatus("r", loaded.workflow, run, {}), "", ())
    assert (stands["title"], stands["about"]) == ("large", "large · Idle")
    assert stands["svg"].count('class="node') <= 14


def test_the_page_is_complete_in_itself_and_its_policy_lets_nothing_else_in(at: Place) -> None:
    with PageShowingPipe(at) as showing:
        (page,) = showing.ask("resources/read", {"uri": URI})["result"]["contents"]

    assert (page["uri"], page["mimeType"], page["_meta"]) == (URI, "text/html;profile=mcp-app", CLOSED)
    html = page["text"]
    assert (
        re.findall(r"https?://(?!www\.w3\.org/2000/svg)|url\(|@import|src=|href=|\{\{|eval|innerHTML", html)
        == []
    )
    ends = "base-uri 'none'; form-action 'none'"
    (style,), (script,) = (
        re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL) for tag in ("style", "script")
    )
    hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (style, script)]
    assert re.findall(r'Content-Security-Policy" content="([^"]*)"', html) == [
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; {ends}"
    ]
    assert len(html.encode()) < 16_000
