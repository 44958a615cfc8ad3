"""What the tools of the face list and say, and a failure that is not of version control."""

import pytest

from handrail.app.faces import CallFailure, UnknownPrompt
from handrail.engine.refusals import RefusalCode
from handrail.runtime.errors import FaultCode
from helpers.planner_agents import PlanAgent
from helpers.requirement import requirement


def test_a_failure_outside_version_control_is_not_critical(agent: PlanAgent) -> None:
    tool = agent.face.tools[0]

    answer = agent.face.answer_failure(
        tool, {}, CallFailure(FaultCode.BUSY, "store", "held", "send it again", again=True)
    )

    assert (answer.reply["error"], answer.reply["code"]) == ("held: send it again", FaultCode.BUSY)
    assert answer.reply["next"] == [{"tool": "gather_requirements", "arguments": {}, "who": "agent"}]


@requirement("planner:gather", "planner:diff")
def test_changed_files_are_listed_and_counted_and_no_more_than_fifty(agent: PlanAgent) -> None:
    empty = agent.calls("gather_requirements")
    assert (empty.reply["files"], empty.reply["files_total"]) == ([], 0)
    for number in range(60):
        (agent.repo.folder / f"file-{number:02}").write_text("tea\n")

    answer = agent.calls("gather_requirements")

    assert (len(answer.reply["files"]), answer.reply["files_total"]) == (50, 60)
    assert answer.reply["files"][0] == {"path": "file-00", "status": "added"}
    assert "50 of 60 changed files:" in answer.text


@requirement("planner:annotations")
def test_every_tool_has_its_title_and_its_hints(agent: PlanAgent) -> None:
    hints = {tool.names[0]: tool.listed["annotations"] for tool in agent.face.tools}
    reads = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    writes = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}

    assert hints == {
        "gather_requirements": {"title": "Gather Requirements", **reads},
        "set_overarching_goal": {"title": "Set Overarching Goal", **writes},
        "set_detailed_goal": {"title": "Set Detailed Goal", **writes},
        "set_plan": {"title": "Set Plan", **writes},
        "mark_task": {"title": "Mark Task", **writes},
        "finish_job": {"title": "Finish Job", **writes},
    }


def test_what_must_be_given_is_listed_as_required(agent: PlanAgent) -> None:
    asked = {tool.names[0]: tool.listed["inputSchema"]["required"] for tool in agent.face.tools}

    assert asked == {
        "gather_requirements": [],
        "set_overarching_goal": ["goal"],
        "set_detailed_goal": ["description"],
        "set_plan": ["plan"],
        "mark_task": ["task_id"],
        "finish_job": [],
    }


def test_the_prompt_and_the_instructions_say_what_is_called_first(agent: PlanAgent) -> None:
    (prompt,) = agent.face.prompts()

    assert "Call `gather_requirements` first" in agent.face.prompt(prompt.name, {})
    assert "`gather_requirements` first" in agent.face.instructions
    for name, given in (("other", {}), (prompt.name, {"a": "b"})):
        with pytest.raises(UnknownPrompt):
            agent.face.prompt(name, given)


def test_a_project_that_is_not_served_is_refused(agent: PlanAgent) -> None:
    answer = agent.calls("gather_requirements", project="elsewhere")

    assert (answer.reply["code"], answer.failed) == (RefusalCode.UNKNOWN_PROJECT, True)
    assert agent.calls("gather_requirements", project=str(agent.repo.folder)).reply["stage"] == "0"
