"""What the face refuses: the old text stands, and the answer says what is needed."""

from typing import Any

import pytest

from handrail.mcp.faces.commits import CommitsStatus
from helpers.commit_plans import (
    EDITS,
    START,
    TASKS,
    TO_ADD,
    TO_DESCRIBE,
    TO_FILL,
    TO_FINISH,
    TO_PLAN,
    TO_START,
)
from helpers.planner_agents import PlanAgent
from helpers.requirement import requirement

DEEP: dict[str, Any] = {"summary": "a", "details": "x"}
for _ in range(4):
    DEEP = {"summary": "a", "details": "x", "children": [DEEP]}
TWICE = "feat(x): t\n\nTasks [ ]:\n- [ ] a: one\n  - [ ] same: x\n- [ ] b: two\n  - [ ] same: y\n"


def refused(agent: PlanAgent, tool: str, **given: object) -> dict[str, Any]:
    """A call that is refused, in the shape of every answer, and that leaves everything as it was."""
    before = agent.text()
    answer = agent.calls(tool, **given)
    assert (answer.failed, answer.reply["status"]) == (True, CommitsStatus.ERROR), answer.text
    assert agent.text() == before
    assert answer.reply["why"]["needed"] != []
    assert answer.reply["next"][-1] == {"tool": "get_plan", "arguments": {}, "who": "agent"}
    assert set(answer.reply["next_actions"]) == {"recommended", "blocked", "available"}
    return answer.reply


@requirement("commits:K18")
def test_a_scope_is_not_complete_while_a_task_is_open(agent: PlanAgent) -> None:
    agent.does(TO_START, TO_PLAN)

    reply = refused(agent, "finish_job")

    said = "The scope was not marked as complete: 2 tasks open (heat-water/fill-it, add-leaves). "
    assert reply["action_taken"] == said + "Complete and mark them first."
    assert "finish_job" not in reply["next_actions"]["available"]


def test_a_scope_with_one_open_task_says_which(agent: PlanAgent) -> None:
    agent.does(TO_START, TO_PLAN, TO_FILL)

    reply = refused(agent, "finish_job")

    assert "1 task open (add-leaves). Complete and mark it first." in reply["action_taken"]


@requirement("commits:K18")
@pytest.mark.parametrize(("tool", "given"), [("mark_task", {"task_id": "x"}), ("finish_job", {})])
def test_a_plan_without_tasks_has_nothing_to_mark_and_is_never_complete(
    agent: PlanAgent, tool: str, given: dict[str, object]
) -> None:
    agent.does(TO_START, TO_DESCRIBE)

    said = "Nothing was changed: the plan has no tasks. Call `set_tasks` first."
    assert refused(agent, tool, **given)["action_taken"] == said


@pytest.mark.parametrize(("tool", "given"), [*EDITS, ("verify_plan", {})])
def test_without_a_plan_only_one_can_be_begun(agent: PlanAgent, tool: str, given: dict[str, object]) -> None:
    reply = refused(agent, tool, **given)

    assert reply["action_taken"] == "Nothing was changed: there is no plan yet. Call `start_planning` first."


@requirement("commits:K9", "commits:K12", "commits:K14")
@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("update_goal", {}, "give at least one of `type`, `summary`, `scope` and `breaking`"),
        ("update_goal", {"scope": "the tea"}, "header.scope: a scope begins with a small letter"),
        ("update_goal", {"summary": "t" * 121}, "the summary has 121 characters; 120 are allowed"),
        ("update_goal", {"summary": ""}, "header.summary: the summary is empty (TOO_SMALL)"),
        ("update_description", {"description": " "}, "the description says nothing (TOO_SMALL)"),
        ("update_description", {"description": "a\nTasks [ ]:"}, "line 2: this line of the description"),
        ("set_constraints", {"constraints": ["Must: do"]}, "`Must` is no prefix; take one of Do not, Never"),
        ("set_constraints", {"constraints": ["Never: "]}, "constraints.0.1: the constraint says nothing"),
        ("set_tasks", {"tasks": []}, "tasks: there is no task; give at least one (TOO_SMALL)"),
        ("set_tasks", {"tasks": [DEEP]}, "tasks of level 4; the deepest is 3 (TOO_BIG)"),
        ("set_tasks", {"tasks": [TASKS[1], TASKS[1]]}, "another task beside it is called `add-leaves`"),
        ("set_tasks", {"tasks": [{"summary": "!", "details": "x"}]}, "no id can be made of this"),
        ("set_tasks", {"tasks": [{**TASKS[1], "level": 1}]}, "tasks.0.level"),
        ("unfinish_job", {}, "Nothing was changed: the scope is not marked as complete."),
        ("verify_plan", {"choice": "reformat"}, "so there is nothing to reformat"),
        ("verify_plan", {"message": "feat: x"}, "so there is nothing to reformat"),
    ],
)
def test_an_edit_that_makes_no_valid_plan_says_what_is_wrong(
    agent: PlanAgent, tool: str, given: dict[str, object], said: str
) -> None:
    agent.does(TO_START)

    assert said in refused(agent, tool, **given)["action_taken"]


@requirement("commits:K4", "commits:K5")
def test_an_invalid_header_starts_no_plan(agent: PlanAgent) -> None:
    reply = refused(agent, "start_planning", type="feat", summary="x", scope="the tea")
    assert reply["action_taken"].startswith("No plan was begun. Mend this, then call again:\n- header.scope")

    answer = agent.does(("start_planning", {**START, "scope": "Tea", "breaking": True}))

    said = "The plan is begun.\n- the scope `Tea` is read in small letters"
    assert answer.reply["action_taken"] == said
    assert agent.text() == "feat(tea)!: brew tea\n"


def test_what_is_left_out_of_a_goal_stays_and_an_empty_scope_goes(agent: PlanAgent) -> None:
    agent.does(TO_START, ("update_goal", {"breaking": True, "type": "fix"}))
    assert agent.text() == "fix(tea)!: brew tea\n"
    agent.does(("update_goal", {"summary": "stop brewing", "scope": ""}))
    assert agent.text() == "fix!: stop brewing\n"
    agent.does(("update_goal", {"breaking": False}))
    assert agent.text() == "fix: stop brewing\n"


@requirement("commits:active", "commits:K24")
def test_there_is_one_plan_at_a_time_until_it_is_complete(agent: PlanAgent) -> None:
    agent.does(TO_START)
    for given in (START, {**START, "new_commit": True}, {**START, "confirm": True}):
        reply = refused(agent, "start_planning", **given)
        said = "No plan was begun: one is under way, and there is one at a time."
        assert reply["action_taken"].startswith(said)
    agent.does(TO_PLAN, TO_FILL, TO_ADD, TO_FINISH)
    complete = agent.text()

    reply = refused(agent, "start_planning", **START)

    assert "Call again with `new_commit: true`" in reply["action_taken"]
    assert reply["next"][0] == {
        "tool": "start_planning",
        "arguments": {**START, "new_commit": True},
        "who": "agent",
    }
    answer = agent.does(("start_planning", {"type": "docs", "summary": "praise tea", "new_commit": True}))
    assert answer.reply["action_taken"] == "A new plan is begun; the complete one is kept."
    assert agent.text() == "docs: praise tea\n"
    stored = agent.repo.git("for-each-ref", "--format=%(refname)", "refs/handrail/done/").split()
    assert [agent.repo.git("cat-file", "blob", f"{ref}:plan") for ref in stored] == [complete]


@requirement("commits:empty", "commits:K20")
def test_changed_files_without_a_message_are_planned_in_only_once_that_is_confirmed(agent: PlanAgent) -> None:
    (agent.repo.folder / "kettle").write_text("hot\n")
    shown = agent.calls("get_plan").reply
    assert (shown["status"], shown["current_state"]["phase"]) == ("success", "uninitialized")
    assert shown["raw_commit_content"] == ""
    assert shown["action_taken"].startswith("Files were changed in this commit, and it has no message")

    reply = refused(agent, "start_planning", **START)

    assert "call again with `confirm: true`" in reply["action_taken"]
    assert reply["raw_commit_content"] == ""
    again = reply["next"][0]
    assert again["arguments"] == {**START, "confirm": True}
    answer = agent.does((again["tool"], again["arguments"]))
    assert "raw_commit_content" not in answer.reply
    assert agent.text() == "feat(tea): brew tea\n"


@requirement("commits:K13", "commits:K17")
def test_a_task_is_named_by_its_id_or_its_path_and_a_parent_is_not_marked(agent: PlanAgent) -> None:
    agent.writes(TWICE)
    reply = refused(agent, "mark_task", task_id="same")
    said = "`same` may mean 2 tasks: a/same, b/same; name one of them whole, or by its path"
    assert said in reply["action_taken"]
    reply = refused(agent, "mark_task", task_id="tea")
    assert "no task is called `tea`; name one of a, a/same, b, b/same" in reply["action_taken"]
    reply = refused(agent, "mark_task", task_id="a")
    assert "`a` only groups the tasks below it; mark those" in reply["action_taken"]

    answer = agent.does(("mark_task", {"task_id": "b/same"}))

    assert answer.reply["current_state"]["completed_tasks"] == 2
    assert agent.text() == TWICE.replace("- [ ] b", "- [x] b").replace("[ ] same: y", "[x] same: y")


@requirement("commits:unfinish")
def test_a_finished_scope_is_opened_by_its_box_or_by_a_task(agent: PlanAgent) -> None:
    agent.does(TO_START, TO_PLAN, TO_FILL, TO_ADD, TO_FINISH)
    finished = agent.text()
    assert "the scope is marked as complete already" in refused(agent, "finish_job")["action_taken"]

    answer = agent.does(("unfinish_job", {}))

    assert answer.reply["current_state"]["phase"] == "executing"
    assert agent.text() == finished.replace("Tasks [X]", "Tasks [ ]")
    agent.does(TO_FINISH)
    answer = agent.does(("mark_task", {"task_id": "fill-it", "completed": False}))
    said = "The task is open.\n- the plan was complete: its box is open again"
    assert answer.reply["action_taken"] == said
    state = answer.reply["current_state"]
    assert (state["current_task_id"], state["completed_tasks"]) == ("heat-water/fill-it", 1)
    assert "Tasks [ ]:\n- [ ] Heat water: in the kettle\n  - [ ] Fill it: from the tap\n" in agent.text()
