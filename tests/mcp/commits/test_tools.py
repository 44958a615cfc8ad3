"""The twelve tools as they are listed, what they answer, and what is told about the face."""

import jsonschema_rs
import pytest

from handrail.app.faces import UnknownPrompt
from handrail.documents.plan.grammar import COMMITS
from handrail.engine.refusals import RefusalCode
from handrail.mcp.faces.commits import CommitsStatus
from helpers.commit_plans import (
    CONSTRAINTS,
    DESCRIPTION,
    TO_ADD,
    TO_BIND,
    TO_DESCRIBE,
    TO_FINISH,
    TO_PLAN,
    TO_READ,
    TO_START,
)
from helpers.planner_agents import PlanAgent
from helpers.requirement import requirement

TOKEN = ["project", "step_token"]
PARAMETERS = {
    "start_planning": ["type", "summary", "scope", "breaking", "confirm", "new_commit", *TOKEN],
    "get_plan": ["project"],
    "update_goal": ["type", "summary", "scope", "breaking", *TOKEN],
    "update_description": ["description", *TOKEN],
    "get_constraints": ["project"],
    "set_constraints": ["constraints", *TOKEN],
    "get_tasks": ["project"],
    "set_tasks": ["tasks", *TOKEN],
    "mark_task": ["task_id", "completed", *TOKEN],
    "finish_job": TOKEN,
    "unfinish_job": TOKEN,
    "verify_plan": ["choice", "message", *TOKEN],
}
REQUIRED = {
    "start_planning": ["type", "summary"],
    "update_description": ["description"],
    "set_constraints": ["constraints"],
    "set_tasks": ["tasks"],
    "mark_task": ["task_id"],
}

CHILD = {
    "id": "fill-it",
    "summary": "Fill it",
    "details": "from the tap",
    "completed": False,
    "children": [],
    "level": 1,
    "parent_id": "heat-water",
}
NODES = [
    {
        "id": "heat-water",
        "summary": "Heat water",
        "details": "in the kettle",
        "completed": False,
        "children": [CHILD],
        "level": 0,
    },
    {
        "id": "add-leaves",
        "summary": "Add leaves",
        "details": "two spoons",
        "completed": True,
        "children": [],
        "level": 0,
    },
]


@requirement("commits:tools.12")
def test_the_twelve_tools_take_what_is_ruled(agent: PlanAgent) -> None:
    schemas = {tool.names[0]: tool.listed["inputSchema"] for tool in agent.face.tools}

    assert {name: list(schema["properties"]) for name, schema in schemas.items()} == PARAMETERS
    assert {name: s["required"] for name, s in schemas.items() if s["required"]} == REQUIRED
    start = schemas["start_planning"]["properties"]
    defaults = {name: one["default"] for name, one in start.items() if "default" in one}
    assert defaults == {"breaking": False, "confirm": False, "new_commit": False}
    assert schemas["mark_task"]["properties"]["completed"]["default"] is True
    assert schemas["verify_plan"]["properties"]["choice"]["enum"] == ["reformat", "read_only"]


@requirement("commits:K2", "commits:matrix")
def test_the_types_stand_in_the_order_that_decides_between_them(agent: PlanAgent) -> None:
    types = ["feat", "fix", "refactor", "ci", "build", "docs", "chore", "lint"]

    for tool in ("start_planning", "update_goal"):
        (listed,) = [one.listed for one in agent.face.tools if one.names == (tool,)]
        assert listed["inputSchema"]["properties"]["type"]["enum"] == types
    assert list(COMMITS.types) == types
    assert "feat, fix, refactor, ci, build, docs, chore, lint" in agent.face.instructions


def test_every_tool_has_its_title_and_its_hints(agent: PlanAgent) -> None:
    reads = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    writes = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}
    hints = {tool.names[0]: tool.listed["annotations"] for tool in agent.face.tools}

    assert hints["get_tasks"] == {"title": "Get Tasks", **reads}
    assert hints["verify_plan"] == {"title": "Verify Plan", **writes}
    assert [name for name, one in hints.items() if one["readOnlyHint"]] == [
        "get_plan",
        "get_constraints",
        "get_tasks",
    ]


@requirement("commits:prompt", "commits:K7")
def test_the_initial_prompt_is_what_a_server_says_of_itself(agent: PlanAgent) -> None:
    first, second = agent.face.prompts()

    assert (first.name, second.name) == ("plan_commit", "reformat_commit")
    said = agent.face.prompt("plan_commit", {})
    assert agent.face.instructions == said.rstrip("\n")
    for words in (
        "2. `start_planning`: type, scope and summary, such as `feat(auth): add login by e-mail`.",
        "    - [x] Store addresses: a unique column, small letters",
        "`Do not:`, `Never:`, `Avoid:`, `Decide against:`, `Must not:`, `Cannot:`, `Forbidden:`",
        "the reason for the change, what needed to be changed, how it was changed, and important context",
        "Any part may be changed at any time, in any order.",
    ):
        assert words in said
    for name, given in (("other", {}), ("plan_commit", {"a": "b"})):
        with pytest.raises(UnknownPrompt):
            agent.face.prompt(name, given)


@requirement("commits:reply", "commits:K22")
def test_what_is_answered_keeps_to_the_schema_it_is_listed_with(agent: PlanAgent) -> None:
    (listed,) = [one.listed for one in agent.face.tools if one.names == ("get_plan",)]
    schema = jsonschema_rs.Draft202012Validator(listed["outputSchema"])
    way = (TO_START, TO_DESCRIBE, TO_BIND, TO_PLAN, TO_ADD, TO_FINISH, TO_READ)
    for tool, given in way:
        reply = agent.calls(tool, **given).reply
        assert [fault.message for fault in schema.iter_errors(reply)] == []
        assert list(reply)[:4] == ["status", "action_taken", "current_state", "next_actions"]


@requirement("commits:plan.types", "commits:reply")
def test_the_reading_tools_show_the_plan_in_the_shape_of_the_source(agent: PlanAgent) -> None:
    agent.does(TO_START)
    bare = agent.calls("get_plan").reply["plan"]
    assert (bare["description"], bare["constraints"], bare["tasks"]) == ("", [], [])
    agent.does(TO_DESCRIBE, TO_BIND, TO_PLAN, TO_ADD)

    assert agent.calls("get_plan").reply["plan"] == {
        "header": {"type": "feat", "scope": "tea", "breaking": False, "summary": "brew tea"},
        "description": DESCRIPTION,
        "constraints": CONSTRAINTS,
        "tasks": NODES,
        "metadata": {"totalTasks": 3, "completedTasks": 1, "isComplete": False},
    }
    assert agent.calls("get_constraints").reply["constraints"] == CONSTRAINTS
    answer = agent.calls("get_tasks")
    assert answer.reply["tasks"] == NODES
    assert (
        "  - [ ] (fill-it) Fill it: from the tap\n- [x] (add-leaves) Add leaves: two spoons\n" in answer.text
    )


def test_before_there_is_a_plan_the_reading_tools_have_nothing_to_show(agent: PlanAgent) -> None:
    assert "plan" not in agent.calls("get_plan").reply
    assert agent.calls("get_constraints").reply["constraints"] == []
    assert agent.calls("get_tasks").reply["tasks"] == []
    assert "raw_commit_content" not in agent.calls("get_plan").reply


def test_a_project_that_is_not_served_blocks_every_tool(agent: PlanAgent) -> None:
    answer = agent.calls("get_plan", project="elsewhere")

    assert (answer.reply["status"], answer.reply["code"], answer.failed) == (
        CommitsStatus.ERROR,
        RefusalCode.UNKNOWN_PROJECT,
        True,
    )
    assert answer.reply["next_actions"]["available"] == []
    blocked = answer.reply["next_actions"]["blocked"]
    assert len(blocked) == 12
    assert blocked[0] == "start_planning: This server does not serve that project."
    assert agent.calls("get_plan", project=str(agent.repo.folder)).reply["status"] == CommitsStatus.SUCCESS


@pytest.mark.parametrize(
    ("tool", "given", "needed"),
    [
        ("start_planning", {"type": "tea", "summary": "s"}, "type: must be one of feat, fix, refactor, ci, "),
        ("start_planning", {"type": "feat"}, "summary: must be given"),
        ("set_constraints", {"constraints": "none"}, "constraints: must be of the JSON type array"),
        ("set_tasks", {"tasks": [{"summary": "a"}]}, "tasks.0.details: must be given"),
        (
            "set_tasks",
            {"tasks": [{"summary": "a", "details": "b", "children": [{"summary": "c", "done": True}]}]},
            "done: must be left out",
        ),
        ("mark_task", {"task_id": "a", "completed": "yes"}, "completed: must be of the JSON type boolean"),
        ("verify_plan", {"choice": "C"}, "choice: must be one of reformat, read_only"),
        ("finish_job", {"now": True}, "now: must be left out"),
    ],
)
def test_an_argument_that_the_schema_does_not_take_is_named_and_the_state_is_shown(
    agent: PlanAgent, tool: str, given: dict[str, object], needed: str
) -> None:
    agent.does(TO_START)

    answer = agent.calls(tool, **given)

    assert (answer.reply["code"], answer.failed) == (RefusalCode.ARGUMENTS, True)
    assert any(needed in line for line in answer.reply["why"]["needed"]), answer.reply["why"]
    assert answer.reply["current_state"]["phase"] == "planning"
    assert answer.reply["step_token"]
