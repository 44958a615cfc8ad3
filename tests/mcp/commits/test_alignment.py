"""After every change the agent is asked whether the plan still fits; new tasks reset what was complete."""

import pytest

from helpers.commit_plans import (
    CONSTRAINTS,
    DESCRIPTION,
    TASKS,
    TO_ADD,
    TO_FILL,
    TO_FINISH,
    TO_PLAN,
    TO_START,
)
from helpers.planner_agents import PlanAgent
from helpers.requirement import requirement


@requirement("commits:align")
@pytest.mark.parametrize(
    ("tool", "given", "asked"),
    [
        ("update_goal", {"summary": "brew"}, "Do the description, the constraints and each task still serve"),
        ("update_description", {"description": DESCRIPTION}, "Does it say why the change is necessary"),
        ("set_constraints", {"constraints": CONSTRAINTS}, "Does each task keep to these constraints"),
        ("mark_task", {"task_id": "add-leaves"}, "Was all of this task really done"),
        ("mark_task", {"task_id": "fill-it", "completed": False}, "Which of the tasks behind it"),
    ],
)
def test_a_change_asks_and_resets_nothing(
    agent: PlanAgent, tool: str, given: dict[str, object], asked: str
) -> None:
    agent.does(TO_START, TO_PLAN, ("mark_task", {"task_id": "add-leaves"}))

    reply = agent.does((tool, given)).reply

    assert reply["alignment_check"]["question"].startswith(asked)
    assert reply["alignment_check"]["required_confirmation"] is False
    assert reply["current_state"]["completed_tasks"] == 1


@requirement("commits:align", "commits:K26")
def test_new_tasks_are_as_they_are_given_and_each_that_was_complete_is_asked_for_by_name(
    agent: PlanAgent,
) -> None:
    agent.does(TO_START)
    first = agent.does(TO_PLAN).reply["alignment_check"]
    assert first["question"].startswith("Is the box of each task as it really is")
    assert first["required_confirmation"] is False
    agent.does(TO_FILL, TO_ADD, TO_FINISH)

    answer = agent.does(("set_tasks", {"tasks": [{**TASKS[1], "completed": True}, TASKS[0]]}))

    check = answer.reply["alignment_check"]
    assert check["required_confirmation"] is True
    assert check["question"] == (
        "These tasks were complete before the plan was updated. What is the status of each of them now?"
        " Confirm it: call `mark_task` for what is still done, and do again what is not.\n"
        "- heat-water\n- heat-water/fill-it\n- add-leaves"
    )
    assert answer.reply["action_taken"] == (
        "The tasks are set. Each is complete or open as it was given, whatever it was before.\n"
        "- the plan was complete: its box is open again"
    )
    tasks = "- [x] Add leaves: two spoons\n- [ ] Heat water: in the kettle\n  - [ ] Fill it: from the tap\n"
    assert agent.text() == f"feat(tea): brew tea\n\nTasks [ ]:\n{tasks}"


@requirement("commits:K10", "commits:K16")
def test_tasks_may_be_given_in_one_list_with_their_levels(agent: PlanAgent) -> None:
    flat = [
        {"summary": "Heat", "details": "x", "level": 0},
        {"summary": "Fill", "details": "y", "level": 1, "completed": True},
        {"summary": "Boil", "details": "z", "level": 1},
    ]
    answer = agent.does(TO_START, ("set_tasks", {"tasks": flat}))

    assert agent.text() == (
        "feat(tea): brew tea\n\nTasks [ ]:\n- [ ] Heat: x\n  - [x] Fill: y\n  - [ ] Boil: z\n"
    )
    state = answer.reply["current_state"]
    assert (state["total_tasks"], state["completed_tasks"], state["current_task_id"]) == (3, 1, "heat/boil")


@requirement("commits:K8")
def test_an_empty_list_says_that_there_are_no_constraints(agent: PlanAgent) -> None:
    answer = agent.does(TO_START, ("set_constraints", {"constraints": []}))

    assert answer.reply["current_state"]["has_constraints"] is True
    assert agent.text() == "feat(tea): brew tea\n\nConstraints: none\n"
    assert agent.calls("get_constraints").reply["constraints"] == []
