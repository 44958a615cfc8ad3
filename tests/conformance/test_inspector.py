"""The MCP Inspector, in both protocol eras, drives the real server over stdio and over HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from handrail.app.faces import StepsStatus
from handrail.engine.refusals import RefusalCode
from helpers.foreign_clients import Inspector, RemoteServer, ServerCommand
from helpers.http_servers import HttpServer, run_http_server
from helpers.requirement import requirement
from helpers.servers import Place, create_place

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


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A project that has a workflow of its own."""
    return create_place(tmp_path_factory.mktemp("inspector"), errand=ERRAND)


@pytest.fixture(scope="module")
def served(at: Place) -> Iterator[HttpServer]:
    """A server that listens."""
    with run_http_server(at) as made:
        yield made


@pytest.fixture(params=["legacy", "modern"])
def remote(request: pytest.FixtureRequest, at: Place, served: HttpServer) -> Inspector:
    """The Inspector in each era, at that server."""
    return Inspector(RemoteServer(at.project, served.url("steps")), request.param)


def _output(summary: str, artifact: str) -> dict[str, Any]:
    made = {"type": artifact, "title": "What was made", "content": "Two lines\nof it"}
    return {"summary": summary, "artifacts": [made], "references": [], "confidence": 1}


@requirement("steps:tool.start")
@requirement("steps:tool.continue")
@requirement("steps:reply.closed")
@requirement("steps:res.status")
def test_the_inspector_walks_a_run_to_its_end_over_both_transports(remote: Inspector, at: Place) -> None:
    """It starts the run at a server that it has started itself, and goes on at the one that listens."""
    own = Inspector(ServerCommand(at.project, ("--store", str(at.store))), remote.era)

    first = own.call(template_name="errand", inputs={"wish": "tea"})["structuredContent"]
    assert (first["status"], first["next_step_contract"]["step_name"]) == ("ok", "understand")
    note = _output("A cup of tea, with milk", "note")
    second = remote.call(step_token=first["new_step_token"], model_output_so_far=note)["structuredContent"]
    assert (second["status"], second["next_step_contract"]["step_name"]) == ("ok", "fulfil")
    patch = _output("The tea is made", "patch")
    last = own.call(step_token=second["new_step_token"], model_output_so_far=patch)
    assert last["structuredContent"]["status"] == StepsStatus.TASK_CLOSED
    assert last["structuredContent"]["synthesis"]["outcome_summary"] == "The tea is made"
    assert last["content"][0]["text"].startswith("status **task_closed**")
    [content] = remote.result("resources/read", "--uri", f"workflow-status://{first['execution_id']}")[
        "contents"
    ]
    assert content["mimeType"] == "application/json"
    status = json.loads(content["text"])
    assert status["execution"]["state"] == "completed"
    assert [step["step_name"] for step in status["steps"]] == ["understand", "fulfil"]


@requirement("steps:tool.one")
@requirement("steps:tool.names")
def test_the_inspector_finds_no_error_in_the_tools_as_they_are_listed(
    remote: Inspector, at: Place, served: HttpServer
) -> None:
    listed = {
        face: Inspector(RemoteServer(at.project, served.url(face)), remote.era).run("tools/list", "--strict")
        for face in ("spells", "steps")
    }

    assert {face: (done.returncode, done.stderr) for face, done in listed.items() if done.returncode} == {}
    tools = {face: json.loads(done.stdout)["result"]["tools"] for face, done in listed.items()}
    assert tools["spells"][0]["name"] == "accio"
    [tool] = tools["steps"]
    assert tool["name"] == "workflow_next_step"
    assert tool["outputSchema"]["required"] == ["status"]


@requirement("steps:tool.forms")
@requirement("steps:reply.status")
def test_the_inspector_shows_a_refusal_as_an_answer(at: Place) -> None:
    """5 is how it ends when a tool has said no; what the tool said is still on stdout."""
    words = ("--tool-name", "workflow_next_step", "--tool-arg", "goal=tea")
    done = Inspector(ServerCommand(at.project), "legacy").run("tools/call", *words)

    assert done.returncode == 5
    answer = json.loads(done.stdout)["result"]
    assert answer["isError"] is True
    assert (answer["structuredContent"]["status"], answer["structuredContent"]["code"]) == (
        StepsStatus.ERROR,
        RefusalCode.FORM,
    )
    assert '- needed: recover: {"execution_id"}' in answer["content"][0]["text"]


@requirement("steps:res.listed")
def test_the_inspector_lists_what_takes_an_argument(at: Place) -> None:
    found = Inspector(ServerCommand(at.project), "modern").result("resources/templates/list")

    assert [template["uriTemplate"] for template in found["resourceTemplates"]] == [
        "persona://{agent}",
        "current-step://{execution_id}",
        "workflow-status://{execution_id}",
        "project-context://{project_id}",
        "workflow-artifacts://{+pattern}",
    ]


def test_the_inspector_lists_a_prompt_for_each_workflow_and_gets_one(at: Place, served: HttpServer) -> None:
    remote = RemoteServer(at.project, served.url("steps"))
    listed = Inspector(remote, "legacy").result("prompts/list")["prompts"]
    words = ("--prompt-name", "errand", "--prompt-args", "wish=tea")
    got = Inspector(remote, "modern").result("prompts/get", *words)

    between = ["bug-fix", "code-review", "docs", "errand", "feature", "refactor", "release"]
    assert [prompt["name"] for prompt in listed] == ["brief", *between, "walk", "resume"]
    assert [argument["name"] for argument in listed[4]["arguments"]] == ["wish", "goal"]
    [message] = got["messages"]
    assert '{"template_name": "errand", "inputs": {"wish": "tea"}}' in message["content"]["text"]
