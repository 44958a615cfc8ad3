"""Every stage: what is there, what may be called, what the agent is told to do, and what follows."""

import pytest

from helpers.planner_agents import CONSTRAINTS, DETAIL, GOAL, TASKS, PlanAgent
from helpers.requirement import requirement

ALL = ["set_overarching_goal", "set_detailed_goal", "set_plan"]
HEAD = "feat(tea): brew tea\n"
BODY = f"{HEAD}\nWhy.\n"
OPEN = f"{BODY}\n- Never: boil it twice\n\n- [x]: Heat water\n- [ ]: Add leaves\n"
DONE = OPEN.replace("[ ]", "[x]")


@requirement("planner:stage.0", "planner:stage.1", "planner:stage.2", "planner:stage.4")
@requirement("planner:stage.5", "planner:stage.6", "planner:C38")
@pytest.mark.parametrize(
    ("text", "stage", "options", "told"),
    [
        ("", "0", ["set_overarching_goal"], "Then call `set_overarching_goal`"),
        (HEAD, "1", ALL, "call `set_detailed_goal` with the reasons"),
        (BODY, "2/3", ALL, "call `set_plan` with tasks"),
        (f"{BODY}\n- Never: boil it twice\n", "4", ALL, "keep to the constraints"),
        (OPEN, "5", [*ALL, "mark_task"], "Work on the first open task, and on that only"),
        (DONE, "5", [*ALL, "mark_task", "finish_job"], "When every task is completed, call `finish_job`"),
        (f"{OPEN}\n~~~ EXECUTE ~~~\n", "5", [*ALL, "mark_task"], "Call `mark_task` as soon as it is done"),
        (f"{DONE}\n~~~ COMPLETE ~~~\n", "6", [*ALL, "mark_task", "finish_job"], "The work is complete"),
        ("Tea\n", "0", ["set_overarching_goal"], "is a text that is no plan"),
        ("feat(tea): brew tea\nnow\n", "0", ["set_overarching_goal"], "cannot be read to its end"),
    ],
)
def test_the_text_decides_the_stage_the_message_and_the_options(
    agent: PlanAgent, text: str, stage: str, options: list[str], told: str
) -> None:
    if text:
        agent.writes(text)

    shown = agent.calls("gather_requirements")

    assert (shown.reply["stage"], shown.reply["options"], shown.failed) == (stage, options, False)
    assert told in shown.reply["message"]
    assert shown.reply["plan"]["text"] == agent.text() == text


@requirement("planner:flows")
def test_the_order_is_free_once_there_is_a_goal(agent: PlanAgent) -> None:
    agent.does(
        ("set_overarching_goal", {"goal": GOAL}),
        ("set_plan", {"plan": TASKS}),
        ("mark_task", {"task_id": "leaves"}),
        ("set_overarching_goal", {"goal": {**GOAL, "breaking": True}}),
        ("set_detailed_goal", {"description": DETAIL, "constraints": CONSTRAINTS}),
    )

    answer = agent.calls("gather_requirements")

    assert answer.reply["stage"] == "5"
    assert answer.reply["plan"] == {
        "text": agent.text(),
        "header": {"type": "feat", "scope": "tea", "breaking": True, "title": "brew tea"},
        "description": DETAIL,
        "constraints": [["Never", "boil it twice"]],
        "tasks": [[False, "Heat water", [[False, "Fill the kettle", []]]], [True, "Add leaves", []]],
    }
