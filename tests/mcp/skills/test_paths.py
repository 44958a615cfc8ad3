"""Every path of the graph, walked at the face: each reply is the one that the oracle gives."""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from helpers.requirement import requirement
from helpers.skill_oracle import PHASES, ROUTERS, ROWS, SKILLS, Oracle
from helpers.skill_sessions import FLOW, SkillAgent, open_skill_agent, write_design, write_task_graph

KINDS: Final = ("code", "task", "bugfix")
ORDERS: Final = [order for count in (1, 2, 3) for order in product(KINDS, repeat=count)]
RETRIED: Final = ("in_progress", "failed", "pending", "completed")
GRAPHS: Final[dict[str, tuple[dict[str, tuple[str, ...]], tuple[tuple[str, ...], ...]]]] = {
    # the tasks and what each depends on, and the batches that these are layered into
    "one": ({"a": ()}, (("a",),)),
    "wide": ({"a": (), "b": ()}, (("a", "b"),)),
    "chain": ({"c": ("b",), "a": (), "b": ("a",)}, (("a",), ("b",), ("c",))),
    "diamond": (
        {"top": (), "left": ("top",), "right": ("top",), "end": ("left", "right")},
        (("top",), ("left", "right"), ("end",)),
    ),
}


def told(reply: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in reply.items() if name != "step_token"}


def walked(agent: SkillAgent, oracle: Oracle, session: str, statuses: Sequence[str]) -> list[str]:
    """The states of a session on its way to its end; each task goes through these statuses."""
    states = []
    while oracle.skill is not None:
        if oracle.state == "execute-batch":
            assert oracle.batch is not None
            executed(agent, oracle.batches[oracle.batch], session, statuses)
        answer = agent.completes(oracle.skill, session=session)
        assert told(answer.reply) == oracle.complete(), f"{oracle.types}: {answer.text}"
        states.append(oracle.state)
    return states


def executed(agent: SkillAgent, tasks: Sequence[str], session: str, statuses: Sequence[str]) -> None:
    """A batch: until all of its tasks are completed it is not."""
    for task in tasks:
        for status in statuses:
            early = agent.completes("executing-plans", session=session)
            assert (early.failed, early.reply["state"]) == (True, "execute-batch")
            assert f"`{task}`" in early.reply["error"]
            assert not agent.sets(task, status, session=session).failed


@pytest.mark.unmeasured
@requirement("skills:edges", "skills:cond.item_type", "skills:cond.items_remaining")
@requirement("skills:cond.no_items_remaining", "skills:router")
def test_items_of_every_type_in_every_order_up_to_three_go_their_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: Counter[str] = Counter()
    with open_skill_agent(tmp_path) as agent:
        for order in ORDERS:
            session = "-".join(order)
            agent.writes("design.md", write_design(order), session)
            batches = (tuple(f"item-{number}" for number in range(1, len(order) + 1)),)
            seen.update(walked(agent, Oracle(order, batches), session, ["completed"]))

    with capsys.disabled():
        print(f" [{len(ORDERS)} orders, {seen.total()} moves]", end="")  # noqa: T201 - the count
    assert len(ORDERS) == 39
    assert set(seen) == set(ROWS) - {*ROUTERS, "collab-start"}


@requirement("skills:cond.batches_remaining", "skills:cond.no_batches_remaining")
@requirement("skills:batches.layers", "skills:batch.gate")
@pytest.mark.parametrize("name", GRAPHS)
def test_batches_are_executed_in_layers_with_failures_and_retries(agent: SkillAgent, name: str) -> None:
    tasks, batches = GRAPHS[name]
    agent.writes("design.md", write_design(["bugfix"]))
    agent.writes("task-graph.md", write_task_graph(tasks))

    states = walked(agent, Oracle(("bugfix",), batches), "demo", RETRIED)

    assert states.count("execute-batch") == len(batches)
    assert agent.state()["completedTasks"] == [task for batch in batches for task in batch]
    assert agent.state()["pendingTasks"] == []
    assert [batch["status"] for batch in agent.state()["batches"]] == ["completed"] * len(batches)


@requirement("skills:states.34", "skills:clear")
def test_the_workflow_has_the_34_states_with_their_skills_and_phases() -> None:
    found = FLOW.states

    assert list(found) == list(ROWS)
    assert len(found) == 34
    assert {name: state.extra.get("skill") for name, state in found.items()} == SKILLS
    assert [name for name, state in found.items() if state.router] == list(ROUTERS)
    stays = [name for name in found if name not in ROUTERS]
    assert {name: found[name].phase for name in stays} == {
        name: PHASES.get(name, "brainstorming") for name in stays
    }
    clearing = [name for name, state in found.items() if state.extra.get("action") == "clear"]
    assert clearing == [name for name, skill in SKILLS.items() if skill == "collab-clear"]
    assert len(clearing) == 12
