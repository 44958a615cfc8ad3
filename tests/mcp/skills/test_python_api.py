"""The graph of the skills in Python: the eight functions of the source, over the data of the workflow."""

import re
from pathlib import Path

import pytest

from handrail.skills import (
    AmbiguousSkill,
    Transition,
    TransitionContext,
    WorkflowState,
    build_transition_context,
    evaluate_condition,
    get_next_state,
    get_skill_for_state,
    get_state,
    get_workflow_states,
    skill_to_state,
    state_to_skill,
)
from helpers.requirement import requirement
from helpers.skill_oracle import ROUTERS, ROWS, SKILLS
from helpers.skill_sessions import write_design

NOTHING = TransitionContext()


@requirement("skills:api", "skills:edges")
def test_every_state_has_the_skill_and_the_ways_of_the_ruled_table() -> None:
    states = {state.id: state for state in get_workflow_states()}

    assert list(states) == list(ROWS)
    assert {name: state.skill for name, state in states.items()} == SKILLS
    plain = [name for name in states if name not in {*ROUTERS[:3], "done"}]
    assert {name: states[name].transitions for name in plain} == {
        name: (Transition(ROWS[name][1], {"type": "always"}),) for name in plain
    }
    assert states["done"].transitions == ()
    assert states["work-item-router"].transitions == (
        Transition("ready-to-implement", {"type": "no_items_remaining"}),
        Transition("brainstorm-exploring", {"type": "item_type", "value": "code"}),
        Transition("brainstorm-exploring", {"type": "item_type", "value": "task"}),
        Transition("systematic-debugging", {"type": "item_type", "value": "bugfix"}),
    )
    assert states["item-type-router"].transitions == (
        Transition("clear-pre-rough", {"type": "item_type", "value": "code"}),
        Transition("task-planning", {"type": "item_type", "value": "task"}),
        Transition("systematic-debugging", {"type": "item_type", "value": "bugfix"}),
    )
    assert states["batch-router"].transitions == (
        Transition("execute-batch", {"type": "batches_remaining"}),
        Transition("workflow-complete", {"type": "no_batches_remaining"}),
    )


@requirement("skills:api")
def test_a_state_is_found_by_its_id_and_gives_its_skill() -> None:
    assert get_state("cleanup") == WorkflowState(
        "cleanup", "collab-cleanup", (Transition("done", {"type": "always"}),)
    )
    assert get_state("nowhere") is None
    assert [get_skill_for_state(name) for name in ("cleanup", "done", "nowhere")] == [
        "collab-cleanup",
        None,
        None,
    ]
    assert state_to_skill("execute-batch") == "executing-plans"


@requirement("skills:api")
def test_a_skill_gives_its_state_unless_several_have_it() -> None:
    assert skill_to_state("executing-plans") == "execute-batch"
    assert skill_to_state("nothing") is None
    with pytest.raises(
        AmbiguousSkill, match="12 states have the skill `collab-clear`: clear-pre-item, clear-bs1"
    ):
        skill_to_state("collab-clear")


@requirement("skills:api", "skills:cond.always", "skills:cond.item_type")
@requirement("skills:cond.items_remaining", "skills:cond.no_items_remaining")
@requirement("skills:cond.batches_remaining", "skills:cond.no_batches_remaining")
def test_each_condition_is_evaluated_as_ruled() -> None:
    items = TransitionContext(None, items_remaining=True)
    batches = TransitionContext(None, batches_remaining=True)

    def holds(kind: str) -> list[bool]:
        return [evaluate_condition({"type": kind}, context) for context in (NOTHING, items, batches)]

    assert holds("always") == [True, True, True]
    assert holds("items_remaining") == [False, True, False]
    assert holds("no_items_remaining") == [True, False, True]
    assert holds("batches_remaining") == [False, False, True]
    assert holds("no_batches_remaining") == [True, True, False]
    task = TransitionContext("task")
    assert [evaluate_condition({"type": "item_type", "value": kind}, task) for kind in ("code", "task")] == [
        False,
        True,
    ]
    assert not evaluate_condition({"type": "item_type"}, NOTHING)
    with pytest.raises(ValueError, match="no condition of the type `sometimes`"):
        evaluate_condition({"type": "sometimes"}, NOTHING)


@requirement("skills:api")
def test_the_next_state_is_that_of_the_first_way_that_is_open() -> None:
    code = TransitionContext("code", items_remaining=True)

    assert get_next_state("clear-pre-item", NOTHING) == "work-item-router"
    assert get_next_state("work-item-router", code) == "brainstorm-exploring"
    assert get_next_state("work-item-router", TransitionContext("code")) == "ready-to-implement"
    assert get_next_state("work-item-router", TransitionContext(None, items_remaining=True)) is None
    assert get_next_state("item-type-router", code) == "clear-pre-rough"
    assert get_next_state("batch-router", TransitionContext(batches_remaining=True)) == "execute-batch"
    assert get_next_state("batch-router", NOTHING) == "workflow-complete"
    assert get_next_state("done", NOTHING) is None
    assert get_next_state("nowhere", NOTHING) is None


@requirement("skills:api")
def test_a_context_is_built_from_the_state_file_and_the_design_document() -> None:
    tasks = [{"id": "a", "status": "completed", "dependsOn": []}]
    batches = [{"id": "batch-1", "tasks": tasks, "status": "in_progress"}]
    text = write_design(["code", "bugfix"], documented=[1])

    assert build_transition_context({"currentItem": None, "batches": batches}, text) == TransitionContext(
        "bugfix", items_remaining=True, batches_remaining=True
    )
    assert build_transition_context({}, write_design(["task"], documented=[1])) == TransitionContext(None)
    over = [{**batches[0], "status": "completed"}]
    assert build_transition_context(
        {"totalItems": 2, "documentedItems": 1, "batches": over}
    ) == TransitionContext(None, items_remaining=True)
    assert build_transition_context({"totalItems": 2, "documentedItems": 2, "batches": "none"}) == NOTHING
    with pytest.raises(ValueError, match="line 7: the type of item 1 is 'feature'"):
        build_transition_context({}, write_design(["feature"]))


def test_what_the_guide_shows_is_true() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "skills.md").read_text("utf-8")
    (shown,) = re.findall(r"^```python\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)

    exec(compile(shown, "skills.md", "exec"), {})  # noqa: S102 - the page is ours
