"""The official TypeScript clients, new and old, lead a run to its end, over stdio and over HTTP."""

from pathlib import Path
from typing import Any

import pytest

from handrail.app.faces import StepsStatus
from handrail.engine.refusals import RefusalCode
from helpers.foreign_clients import ServerCommand, run_script
from helpers.http_servers import run_http_server
from helpers.requirement import requirement
from helpers.servers import create_place

pytestmark = pytest.mark.unmeasured
SCRIPT = Path(__file__).with_name("walk.mjs")
COMMAND = "pytest tests/test_export.py -k twice"
CLIENTS = [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("sdk", None)]
REPORT = "The second export of a day overwrites the first one"


def _output(summary: str, artifact: str, confidence: float, **more: object) -> dict[str, object]:
    made = {"type": artifact, "title": f"The {artifact}", "content": f"What the {artifact} says"}
    answer = {
        "summary": summary,
        "artifacts": [made],
        "references": ["src/export.py"],
        "confidence": confidence,
    }
    return {**answer, **more}


REPRODUCED = _output("It fails on demand", "reproduction", 0.9, command=COMMAND, exit_code=1)
UNSURE = {**REPRODUCED, "confidence": 0.5, "artifacts": []}
OUTPUTS = [
    REPRODUCED,
    _output(
        "The name has only the day in it", "diagnosis", 0.8, reproducible=True, location="src/export.py:12"
    ),
    _output(
        "The name has the second in it",
        "patch",
        0.9,
        files=["src/export.py"],
        exit_code=0,
        suite="pytest",
        failing_before=1,
        failing_after=0,
    ),
    _output(
        "Seen to fail without it and to pass with it",
        "review",
        1.0,
        verdict="good",
        checked_by="other_agent",
        command=COMMAND,
        exit_before=1,
        exit_after=0,
    ),
]


def _started(project: Path) -> dict[str, Any]:
    """What a client needs to start a server for itself."""
    server = ServerCommand(project)
    command, *args = server.command
    return {"server": {"command": command, "args": args, "cwd": str(project), "env": server.env}}


def _walked(client: str, where: dict[str, Any], project: Path) -> dict[str, Any]:
    job = {
        "client": client,
        **where,
        "start": {
            "name": "workflow.next_step",
            "arguments": {"template_name": "bug-fix", "inputs": {"report": REPORT}},
        },
        "refused": UNSURE,
        "outputs": OUTPUTS,
        "status": "workflow-status://",
        "prompt": {"name": "bug-fix", "arguments": {"report": REPORT}},
        "complete": {
            "ref": {"type": "ref/resource", "uri": "persona://{agent}"},
            "argument": {"name": "agent", "value": "de"},
        },
    }
    return run_script(SCRIPT, job, project)


def _told(seen: dict[str, Any]) -> list[tuple[str, str]]:
    """What the client was told in answer to each output: the status, and the step that comes next."""
    replies = [one["reply"] for one in seen["replies"]]
    return [(reply["status"], reply.get("next_step_contract", {}).get("step_name", "")) for reply in replies]


@requirement("steps:tool.one")
@requirement("steps:tool.names")
@requirement("steps:tool.start")
@requirement("steps:tool.continue")
@requirement("steps:reply.status")
@requirement("steps:reply.contract")
@requirement("steps:reply.token")
@requirement("steps:reply.message")
@requirement("steps:reply.closed")
@requirement("steps:output.contract")
@requirement("steps:res.subscribe")
@pytest.mark.parametrize(("client", "version"), CLIENTS)
def test_a_typescript_client_walks_a_run_to_its_end(client: str, version: str | None, tmp_path: Path) -> None:
    _assert_walked(_walked(client, _started(tmp_path), tmp_path), version)


@requirement("steps:res.subscribe")
@pytest.mark.parametrize(("client", "version"), CLIENTS)
def test_a_typescript_client_walks_a_run_to_its_end_over_http(
    client: str, version: str | None, tmp_path: Path
) -> None:
    at = create_place(tmp_path)
    with run_http_server(at) as served:
        seen = _walked(client, {"url": served.url("steps")}, at.project)

    _assert_walked(seen, version)


def _assert_walked(seen: dict[str, Any], version: str | None) -> None:
    assert (seen["server"]["name"], seen["version"]) == ("handrail", version)
    assert seen["instructions"].startswith("Handrail leads you through a workflow with one tool")
    assert [tool["name"] for tool in seen["tools"]] == ["workflow_next_step"]
    _assert_started(seen["started"])
    _assert_refused(seen["refused"], seen["started"])
    assert _told(seen) == [("ok", "diagnose"), ("ok", "mend"), ("ok", "prove"), ("task_closed", "")]
    _assert_closed(seen["replies"][-1])
    run = seen["started"]["reply"]["execution_id"]
    assert seen["heard"] == [f"workflow-status://{run}", f"workflow-status://{run}"]
    _assert_status(seen["status"], run)
    _assert_offered(seen)


def _assert_started(started: dict[str, Any]) -> None:
    reply = started["reply"]
    assert (started["failed"], reply["status"]) == (False, StepsStatus.OK)
    assert reply["next_step_contract"]["step_name"] == "reproduce"
    assert (
        "Name a cause; what happens is all that counts here"
        in (reply["next_step_contract"]["forbidden_actions"])
    )
    assert reply["human_message"].startswith("# Debugger\n\nBelieve what the report observed")
    assert f"The report:\n\n> {REPORT}" in reply["human_message"]
    assert reply["human_message"] in started["text"]
    assert f"new_step_token: `{reply['new_step_token']}`" in started["text"]


def _assert_refused(refused: dict[str, Any], started: dict[str, Any]) -> None:
    """A refusal reaches the client as an answer, and the token is still good."""
    reply = refused["reply"]
    assert (refused["failed"], reply["status"], reply["code"]) == (
        True,
        StepsStatus.ERROR,
        RefusalCode.CONTRACT,
    )
    assert reply["why"]["needed"] == [
        "artifacts must hold one of type `reproduction`; types handed in: none",
        "confidence must be at least 0.6; it is 0.5",
    ]
    assert reply["new_step_token"] == started["reply"]["new_step_token"]
    assert "- needed: confidence must be at least 0.6; it is 0.5" in refused["text"]


def _assert_closed(closed: dict[str, Any]) -> None:
    synthesis = closed["reply"]["synthesis"]
    assert "new_step_token" not in closed["reply"]
    assert synthesis["outcome_summary"] == "Seen to fail without it and to pass with it"
    assert synthesis["model_output"]["steps_completed"] == 4
    assert [one["type"] for one in synthesis["model_output"]["artifacts"]] == [
        "reproduction",
        "diagnosis",
        "patch",
        "review",
    ]


def _assert_status(status: dict[str, Any], run: str) -> None:
    """What the other server tells of the run that the first one moved."""
    execution = status["execution"]
    assert (execution["execution_id"], execution["state"]) == (run, "completed")
    assert [(step["step_name"], step["status"]) for step in status["steps"]] == [
        ("reproduce", "completed"),
        ("diagnose", "completed"),
        ("mend", "completed"),
        ("prove", "completed"),
    ]


def _assert_offered(seen: dict[str, Any]) -> None:
    """Prompts and completion, and that what is not there is an error of the protocol."""
    [message] = seen["prompt"]["messages"]
    assert message["role"] == "user"
    assert f'{{"template_name": "bug-fix", "inputs": {{"report": "{REPORT}"}}}}' in message["content"]["text"]
    assert seen["completed"] == ["default", "debugger"]
    assert (seen["missing"], seen["unknown"]) == (-32602, -32602)
