"""One short path through each of the five modes, over stdin, with a real client. `make quick` runs it.

So it has no mark `unmeasured`, which `make quick` leaves out; the servers are not measured.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from handrail.app.faces import StepsStatus
from handrail.engine.refusals import RefusalCode
from helpers.crash import build_unmeasured_environment
from helpers.program import PROGRAM

Calls = tuple[tuple[str, dict[str, Any]], ...]

WALK: Final = """
workflow: walk
version: 1
authority: sql
about: Two steps in a row
steps:
  - {name: one, agent: architect, task: "First."}
  - {name: two, agent: implementer, task: "Second."}
"""
DONE: Final = {"summary": "Done.", "artifacts": [], "references": [], "confidence": 0.8}
TOKEN: Final = "<the last token>"  # noqa: S105 - replaced by a token, and none itself


def replies_of(face: str, project: Path, calls: Calls) -> list[Mapping[str, Any]]:
    """What a server of this face answers to these calls, each with the last token that a reply had."""

    async def converse() -> list[Mapping[str, Any]]:
        words = ["serve", "--face", face, "--project", str(project)]
        server = StdioServerParameters(
            command=str(PROGRAM), args=words, env=build_unmeasured_environment(), cwd=str(project)
        )
        found: list[Mapping[str, Any]] = []
        token = None
        async with Client(stdio_client(server)) as client:
            for tool, given in calls:
                arguments = {name: token if value == TOKEN else value for name, value in given.items()}
                answer = await client.call_tool(tool, arguments)
                found.append(answer.structured_content or {})
                token = found[-1].get("new_step_token") or found[-1].get("step_token") or token
        return found

    return anyio.run(converse)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in a git repository, with a workflow of its own."""
    root = tmp_path / "project"
    (root / ".handrail" / "workflows").mkdir(parents=True)
    (root / ".handrail" / "workflows" / "walk.yaml").write_text(WALK)
    subprocess.run(["git", "init", "-q", root], check=True)  # noqa: S607 - the git of the machine
    return root


def test_steps_refuses_a_forged_token_and_completes_two_steps(project: Path) -> None:
    tool = "workflow_next_step"
    handed_in = (tool, {"step_token": TOKEN, "model_output_so_far": DONE})
    start, forged, second, last = replies_of(
        "steps",
        project,
        (
            (tool, {"template_name": "walk"}),
            (tool, {"step_token": "forged", "model_output_so_far": DONE}),
            handed_in,
            handed_in,
        ),
    )

    assert (start["status"], start["next_step_contract"]["step_name"]) == ("ok", "one")
    assert (forged["status"], forged["code"]) == ("error", RefusalCode.MALFORMED)
    assert [reply["status"] for reply in (second, last)] == [StepsStatus.OK, StepsStatus.TASK_CLOSED]


def test_spells_begins_a_plan_at_the_first_accio(project: Path) -> None:
    accio, expecto = replies_of("spells", project, (("accio", {}), ("expecto", {"step_token": TOKEN})))

    assert (accio["state"], accio["phase"]) == ("GATHER_EDITING", "Gather Acceptance Criteria")
    assert expecto["state"] == "GATHER_EDITING"
    assert (project / ".ai" / "task" / "plan.md").is_file()


def test_skills_names_the_skill_that_begins_a_session(project: Path) -> None:
    session = {"project": str(project), "session": "demo"}
    skipped, begun = replies_of(
        "skills",
        project,
        (
            ("complete_skill", {**session, "skill": "gather-session-goals"}),
            ("complete_skill", {**session, "skill": "collab-start"}),
        ),
    )

    assert skipped["code"] == RefusalCode.UNKNOWN_SESSION
    assert [one["arguments"]["skill"] for one in skipped["next"]] == ["collab-start"]
    assert begun["next_skill"] == "gather-session-goals"


def test_planner_keeps_a_goal_and_refuses_to_finish_without_tasks(project: Path) -> None:
    goal = {"type": "feat", "scope": "kettle", "breaking": False, "title": "whistle when the water boils"}
    none, stored, finished = replies_of(
        "planner",
        project,
        (("gather_requirements", {}), ("set_overarching_goal", {"goal": goal}), ("finish_job", {})),
    )

    assert (none["stage"], none["options"]) == ("0", ["set_overarching_goal"])
    assert stored["plan"]["text"] == "feat(kettle): whistle when the water boils\n"
    assert finished["error_type"] == "no tasks found"


def test_commits_begins_a_plan_once_a_person_has_confirmed(project: Path) -> None:
    plan = {"type": "feat", "scope": "tea", "summary": "brew tea"}
    none, unsure, begun = replies_of(
        "commits",
        project,
        (
            ("get_plan", {}),
            ("start_planning", plan),
            ("start_planning", {**plan, "confirm": True}),
        ),
    )

    assert none["current_state"]["phase"] == "uninitialized"
    assert unsure["status"] == "error"
    assert (begun["status"], begun["current_state"]["has_goal"]) == ("success", True)
