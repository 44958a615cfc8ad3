"""The MCP Inspector, in both protocol eras, drives the real server over stdio and over HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.app.faces import StepsStatus
from handrail.engine.refusals import RefusalCode
from helpers.foreign_clients import Inspector, Remote, Server
from helpers.http_servers import site
from helpers.requirement import requirement
from helpers.servers import place

pytestmark = pytest.mark.unmeasured

ERRAND = """
workflow: errand
version: 1
authority: sql
about: Understand a wish, then fulfil it
inputs:
  wish: {type: string, about: What is wanted}
steps:
  - name: understand
    about: The wish is understood
    agent: supervisor
    task: Say what is wanted, in one sentence of your own. The wish is {{run.inputs.wish|quote}}
    contract: {artifacts: [note]}
  - name: fulfil
    about: The wish is fulfilled
    agent: implementer
    task: Do that, and nothing else.
    contract: {artifacts: [patch]}
"""
ERAS = ("legacy", "modern")


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """The server of a project that has a workflow of its own."""
    folder = tmp_path / ".handrail" / "workflows"
    folder.mkdir(parents=True)
    (folder / "errand.yaml").write_text(ERRAND)
    return Server(tmp_path)


def _output(summary: str, artifact: str) -> dict[str, Any]:
    made = {"type": artifact, "title": "What was made", "content": "Two lines\nof it"}
    return {"summary": summary, "artifacts": [made], "references": [], "confidence": 1}


@requirement("steps:tool.start")
@requirement("steps:tool.continue")
@requirement("steps:reply.closed")
@requirement("steps:res.status")
@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_walks_a_run_to_its_end(server: Server, era: str) -> None:
    inspector = Inspector(server, era)

    first = inspector.call(template_name="errand", inputs={"wish": "tea"})["structuredContent"]
    assert (first["status"], first["next_step_contract"]["step_name"]) == ("ok", "understand")
    note = _output("A cup of tea, with milk", "note")
    second = inspector.call(step_token=first["new_step_token"], model_output_so_far=note)["structuredContent"]
    assert (second["status"], second["next_step_contract"]["step_name"]) == ("ok", "fulfil")
    patch = _output("The tea is made", "patch")
    last = inspector.call(step_token=second["new_step_token"], model_output_so_far=patch)
    assert last["structuredContent"]["status"] == StepsStatus.TASK_CLOSED
    assert last["structuredContent"]["synthesis"]["outcome_summary"] == "The tea is made"
    assert last["content"][0]["text"].startswith("status **task_closed**")
    [content] = inspector.result("resources/read", "--uri", f"workflow-status://{first['execution_id']}")[
        "contents"
    ]
    assert content["mimeType"] == "application/json"
    status = json.loads(content["text"])
    assert status["execution"]["state"] == "completed"
    assert [step["step_name"] for step in status["steps"]] == ["understand", "fulfil"]


@requirement("steps:tool.one")
@requirement("steps:tool.names")
def test_the_inspector_finds_no_error_in_the_tool_as_it_is_listed(server: Server) -> None:
    done = Inspector(server, "modern").run("tools/list", "--strict")

    assert done.returncode == 0, done.stderr
    [tool] = json.loads(done.stdout)["result"]["tools"]
    assert tool["name"] == "workflow_next_step"
    assert tool["outputSchema"]["required"] == ["status"]


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_finds_no_error_in_the_tools_of_any_face_over_http(era: str, tmp_path: Path) -> None:
    at = place(tmp_path)
    with site(at) as served:
        for face, first in {"spells": "accio", "steps": "workflow_next_step"}.items():
            done = Inspector(Remote(at.project, served.url(face)), era).run("tools/list", "--strict")
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["result"]["tools"][0]["name"] == first
        started = Inspector(Remote(at.project, served.url("steps")), era).call(template_name="brief")

    assert started["structuredContent"]["status"] == StepsStatus.OK


@requirement("steps:tool.forms")
@requirement("steps:reply.status")
def test_the_inspector_shows_a_refusal_as_an_answer(server: Server) -> None:
    """5 is how it ends when a tool has said no; what the tool said is still on stdout."""
    words = ("--tool-name", "workflow_next_step", "--tool-arg", "goal=tea")
    done = Inspector(server, "legacy").run("tools/call", *words)

    assert done.returncode == 5
    told = json.loads(done.stdout)["result"]
    assert told["isError"] is True
    assert (told["structuredContent"]["status"], told["structuredContent"]["code"]) == (
        StepsStatus.ERROR,
        RefusalCode.FORM,
    )
    assert '- needed: recover: {"execution_id"}' in told["content"][0]["text"]


@requirement("steps:res.listed")
def test_the_inspector_lists_what_takes_an_argument(server: Server) -> None:
    templates = Inspector(server, "modern").result("resources/templates/list")["resourceTemplates"]

    assert [template["uriTemplate"] for template in templates] == [
        "persona://{agent}",
        "current-step://{execution_id}",
        "workflow-status://{execution_id}",
        "project-context://{project_id}",
        "workflow-artifacts://{+pattern}",
    ]


def test_the_inspector_lists_a_prompt_for_each_workflow_and_gets_one(server: Server) -> None:
    listed = Inspector(server, "legacy").result("prompts/list")["prompts"]
    words = ("--prompt-name", "errand", "--prompt-args", "wish=tea")
    got = Inspector(server, "modern").result("prompts/get", *words)

    assert [prompt["name"] for prompt in listed] == [
        "bug-fix",
        "code-review",
        "docs",
        "errand",
        "feature",
        "refactor",
        "release",
        "resume",
    ]
    assert [argument["name"] for argument in listed[3]["arguments"]] == ["wish", "goal"]
    [message] = got["messages"]
    assert '{"template_name": "errand", "inputs": {"wish": "tea"}}' in message["content"]["text"]
