"""What the face refuses: the old text stands, and the answer says what is needed."""

from typing import Any

import pytest

from handrail.engine.refusals import RefusalCode
from helpers.planner_agents import DETAIL, GOAL, TASKS, TO_DETAIL, TO_GOAL, TO_PLAN, PlanAgent
from helpers.requirement import requirement

FOREIGN = "Merge the kettle\n\n- [ ] fill it\nand boil\n"
DEEP = [[False, "a", [[False, "b", [[False, "c", [[False, "d", [[False, "e", []]]]]]]]]]]
HALTED = "feat(tea): brew tea\nno empty line\n"


def refused(agent: PlanAgent, tool: str, **given: object) -> dict[str, Any]:
    """A call that is refused and leaves everything as it was."""
    before = agent.text()
    answer = agent.calls(tool, **given)
    assert answer.failed, answer.text
    assert agent.text() == before
    assert answer.reply["why"]["needed"] != []
    assert answer.reply["next"][-1] == {"tool": "gather_requirements", "arguments": {}, "who": "agent"}
    return answer.reply


@requirement("planner:errors.types", "planner:C40")
def test_an_unknown_task_is_answered_with_those_there_are(agent: PlanAgent) -> None:
    agent.does(TO_GOAL, TO_PLAN)

    reply = refused(agent, "mark_task", task_id="sugar")

    assert (reply["code"], reply["error_type"]) == (RefusalCode.REFUSED, "task not found")
    assert "heat-water, heat-water/fill-the-kettle, add-leaves" in reply["error"]


def test_a_part_of_several_tasks_is_refused_with_each_of_them(agent: PlanAgent) -> None:
    agent.does(TO_GOAL, TO_PLAN)

    reply = refused(agent, "mark_task", task_id="l")

    assert reply["error_type"] == "task not found"
    assert "may mean 2 tasks: heat-water/fill-the-kettle, add-leaves" in reply["error"]


@requirement("planner:errors.types")
def test_a_job_is_not_finished_while_a_task_is_open(agent: PlanAgent) -> None:
    agent.does(TO_GOAL, TO_PLAN, ("mark_task", {"task_id": "Add leaves"}))

    reply = refused(agent, "finish_job")

    assert reply["error_type"] == "not all tasks complete"
    assert "2 of 3 tasks are open: Heat water, Fill the kettle" in reply["error"]
    assert "finish_job" not in reply["options"]


@requirement("planner:errors.types")
@pytest.mark.parametrize(("tool", "given"), [("mark_task", {"task_id": "x"}), ("finish_job", {})])
def test_without_tasks_there_is_nothing_to_mark_or_finish(
    agent: PlanAgent, tool: str, given: dict[str, object]
) -> None:
    agent.does(TO_GOAL, TO_DETAIL)

    assert refused(agent, tool, **given)["error_type"] == "no tasks found"


@pytest.mark.parametrize(
    ("tool", "given"), [("set_detailed_goal", {"description": DETAIL}), ("set_plan", {"plan": TASKS})]
)
def test_without_a_goal_nothing_else_can_be_set(
    agent: PlanAgent, tool: str, given: dict[str, object]
) -> None:
    reply = refused(agent, tool, **given)

    assert (reply["error_type"], reply["options"]) == ("commit validation failed", ["set_overarching_goal"])
    assert "call `set_overarching_goal` first" in reply["error"]


@requirement("planner:codes")
@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("set_overarching_goal", {"goal": {**GOAL, "scope": "the tea"}}, "header.scope: "),
        ("set_overarching_goal", {"goal": {**GOAL, "title": "t" * 121}}, "header.title: "),
        ("set_detailed_goal", {"description": " \n"}, "the description says nothing (TOO_SMALL)"),
        ("set_detailed_goal", {"description": "Why\n- [ ]: no task"}, "line 2: this line of the description"),
        ("set_detailed_goal", {"description": "Why", "constraints": ["Please: do"]}, "constraints.0"),
        ("set_plan", {"plan": []}, "TOO_SMALL"),
        ("set_plan", {"plan": [[False, " ", []]]}, "tasks.0.1"),
        ("set_plan", {"plan": DEEP}, "deep"),
    ],
)
def test_an_edit_that_makes_no_valid_plan_says_which_field_is_wrong(
    agent: PlanAgent, tool: str, given: dict[str, object], said: str
) -> None:
    agent.does(TO_GOAL)

    reply = refused(agent, tool, **given)

    assert reply["error_type"] == "commit validation failed"
    assert said in reply["error"]


@pytest.mark.parametrize(
    ("tool", "given", "needed"),
    [
        ("set_overarching_goal", {"goal": {**GOAL, "type": "tea"}}, "goal.type: must be one of feat, fix, "),
        ("set_overarching_goal", {}, "goal"),
        ("set_plan", {"plan": [["no", "a", []]]}, "plan.0.0: must be of the JSON type boolean"),
        ("mark_task", {"task_id": 1}, "task_id: must be of the JSON type string"),
        ("finish_job", {"now": True}, "now: must be left out"),
        ("set_detailed_goal", {"description": "d" * 100_001}, "at most 100000 characters"),
    ],
)
def test_an_argument_that_the_schema_does_not_take_is_named(
    agent: PlanAgent, tool: str, given: dict[str, object], needed: str
) -> None:
    reply = refused(agent, tool, **given)

    assert reply["code"] == RefusalCode.ARGUMENTS
    assert any(needed in line for line in reply["why"]["needed"])


@requirement("planner:goal.keep")
@pytest.mark.parametrize("text", [FOREIGN, HALTED])
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("set_overarching_goal", {"goal": GOAL}),
        ("set_detailed_goal", {"description": DETAIL}),
        ("set_plan", {"plan": TASKS}),
        ("mark_task", {"task_id": "fill"}),
        ("finish_job", {}),
    ],
)
def test_no_tool_overwrites_a_foreign_text(
    agent: PlanAgent, text: str, tool: str, given: dict[str, object]
) -> None:
    agent.writes(text)

    reply = refused(agent, tool, **given)

    assert (reply["error_type"], reply["options"]) == ("commit validation failed", ["set_overarching_goal"])
    assert reply["plan"]["text"] == text
    assert reply["plan"]["problems"][0].startswith("line ")
    assert "keep: true" in reply["error"] or {**given, "keep": True} == reply["next"][0]["arguments"]


@requirement("planner:goal.keep")
def test_a_foreign_text_is_kept_below_the_new_goal(agent: PlanAgent) -> None:
    agent.writes(FOREIGN)
    shown = agent.calls("gather_requirements")
    assert (shown.reply["stage"], shown.failed) == ("0", False)

    answer = agent.does(("set_overarching_goal", {"goal": GOAL, "keep": True}))

    assert answer.reply["stage"] == "2/3"
    assert agent.text() == "feat(tea): brew tea\n\nMerge the kettle\n\n* ( ) fill it\nand boil\n"


@requirement("planner:plan.reopen")
def test_a_task_that_is_opened_again_takes_the_marker_away_and_says_so(agent: PlanAgent) -> None:
    done = [[True, "Heat water", []]]
    agent.does(TO_GOAL, TO_DETAIL, ("set_plan", {"plan": done}), ("finish_job", {}))
    assert agent.text().endswith("- [x]: Heat water\n\n~~~ COMPLETE ~~~\n")

    answer = agent.does(("mark_task", {"task_id": "water", "completed": False}))

    assert answer.reply["stage"] == "5"
    assert "its marker was taken away" in answer.reply["message"]
    assert agent.text().endswith("\n\n- [ ]: Heat water\n")


def test_a_scope_in_capital_letters_is_written_small_and_that_is_said(agent: PlanAgent) -> None:
    answer = agent.does(("set_overarching_goal", {"goal": {**GOAL, "scope": "Tea"}}))

    assert agent.text() == "feat(tea): brew tea\n"
    assert "the scope `Tea` is read in small letters" in answer.reply["message"]


def test_a_complete_plan_keeps_its_goal_until_a_new_plan_is_asked_for(agent: PlanAgent) -> None:
    agent.does(TO_GOAL, TO_DETAIL, ("set_plan", {"plan": [[True, "Heat water", []]]}), ("finish_job", {}))
    complete, next_goal = agent.text(), {**GOAL, "title": "drink it"}
    assert "new_plan: true" in refused(agent, "set_overarching_goal", goal=next_goal)["error"]
    bad = {"goal": {**GOAL, "scope": "the tea"}, "new_plan": True}
    assert "header.scope" in refused(agent, "set_overarching_goal", **bad)["error"]

    answer = agent.does(("set_overarching_goal", {"goal": next_goal, "new_plan": True}))
    going = agent.calls("set_detailed_goal", description="Now.", step_token=answer.reply["step_token"])

    assert going.reply["stage"] == "2/3"
    assert agent.text() == "feat(tea): drink it\n\nNow.\n"
    stored = agent.repo.git("for-each-ref", "--format=%(refname)", "refs/handrail/done/").split()
    assert [agent.repo.git("cat-file", "blob", f"{ref}:plan") for ref in stored] == [complete]
