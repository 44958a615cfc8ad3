"""The tools of the face as they are listed, and what a reply of theirs is."""

import jsonschema_rs
import pytest

from handrail.app.faces import CallFailure, UnknownPrompt
from handrail.engine.refusals import RefusalCode
from handrail.runtime.errors import FaultCode
from helpers.requirement import requirement
from helpers.skill_sessions import TO_FIRST_ITEM, SkillAgent, write_design

REQUIRED = {
    "complete_skill": ["project", "session", "skill"],
    "update_task_status": ["project", "session", "task_id", "status"],
    "session_status": ["project", "session"],
}


@requirement("skills:tool.schema")
def test_complete_skill_is_listed_as_the_source_has_it(agent: SkillAgent) -> None:
    listed = agent.face.tools[0].listed

    assert listed["name"] == "complete_skill"
    assert listed["description"] == (
        "Report skill completion and get next skill to invoke. MCP handles all routing and state updates."
    )
    schema = listed["inputSchema"]
    assert schema["required"] == ["project", "session", "skill"]
    assert {name: schema["properties"][name] for name in schema["required"]} == {
        "project": {"type": "string", "description": "Absolute path to project root"},
        "session": {"type": "string", "description": "Session name"},
        "skill": {"type": "string", "description": "Name of the skill that just completed"},
    }
    assert list(schema["properties"]) == [*schema["required"], "graph", "step_token"]


def test_there_are_three_tools_and_one_only_reads(agent: SkillAgent) -> None:
    tools = {tool.names[0]: tool.listed for tool in agent.face.tools}

    assert {name: tool["inputSchema"]["required"] for name, tool in tools.items()} == REQUIRED
    assert [name for name, tool in tools.items() if tool["annotations"]["readOnlyHint"]] == ["session_status"]
    assert tools["update_task_status"]["inputSchema"]["properties"]["status"]["enum"] == [
        "pending",
        "in_progress",
        "completed",
        "failed",
    ]
    assert "step_token" not in tools["session_status"]["inputSchema"]["properties"]


@requirement("skills:tool.output")
def test_every_reply_is_as_its_schema_says(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["code"]))
    schema = dict(agent.face.tools[0].listed["outputSchema"])
    answer = [
        agent.completes("gather-session-goals"),
        agent.looks(),
        *map(agent.completes, TO_FIRST_ITEM),
        agent.completes("nonsense"),
        agent.sets("a"),
        agent.looks(),
        agent.calls("complete_skill"),
    ]

    assert [one.failed for one in answer] == [True, True, False, False, False, True, True, False, True]
    assert [[error.message for error in jsonschema_rs.iter_errors(schema, one.reply)] for one in answer] == [
        [] for _ in answer
    ]
    assert set(answer[4].reply) == {"next_skill", "params", "action", "state", "step_token"}
    where = {"next_skill", "params", "action", "state", "step_token"}
    assert set(answer[5].reply) == where | {"error", "code", "why", "next"}
    assert set(answer[8].reply) == {"error", "code", "why", "next"}


def test_an_argument_that_is_missing_unknown_or_wrong_is_named(agent: SkillAgent) -> None:
    assert agent.calls("complete_skill").reply["why"]["needed"] == ["skill: must be given"]
    wrong = agent.completes("collab-start", step_token=3, more=1).reply
    assert (wrong["code"], wrong["why"]["rule"]) == (RefusalCode.ARGUMENTS, "arguments")
    assert [line.partition(":")[0] for line in wrong["why"]["needed"]] == ["step_token", "more"]
    assert not agent.home().exists()


def test_the_face_has_instructions_and_no_prompts(agent: SkillAgent) -> None:
    assert agent.face.prompts() == ()
    with pytest.raises(UnknownPrompt):
        agent.face.prompt("start", {})
    assert "complete_skill" in agent.face.instructions


def test_a_failure_has_the_shape_of_a_refusal(agent: SkillAgent) -> None:
    tool, given = agent.face.tools[0], {"skill": "a"}
    busy = agent.face.answer_failure(
        tool, given, CallFailure(FaultCode.BUSY, "store", "it is held", "call again", again=True)
    )
    broken = agent.face.answer_failure(
        tool, given, CallFailure(RefusalCode.INTERNAL, "internal", "it broke", "see 7", again=False)
    )

    assert busy.failed
    assert busy.reply == {
        "error": "it is held: call again",
        "code": FaultCode.BUSY,
        "why": {"rule": "store", "seen": [], "needed": ["call again"]},
        "next": [{"tool": "complete_skill", "arguments": {"skill": "a"}, "who": "agent"}],
    }
    assert broken.reply["next"] == []
    assert "it broke" in broken.text
