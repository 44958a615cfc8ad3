"""The face `planner` over the wire, on real jj and real git: from nothing to the complete plan."""

from pathlib import Path

import pytest

from helpers.planner_agents import CONSTRAINTS, DETAIL, GOAL, TASKS, repository_place
from helpers.program import handrail
from helpers.repositories import KINDS
from helpers.requirement import requirement
from helpers.servers import Pipe, Told

COMPLETE = """feat(tea): brew tea

People are thirsty.

TARGETS OF CHANGE:
1. The kettle

- Never: boil it twice

- [x]: Heat water
  - [x]: Fill the kettle
- [x]: Add leaves

~~~ COMPLETE ~~~
"""
WAY: tuple[tuple[str, dict[str, object], str], ...] = (
    # a tool and what it is given; then the stage that the plan has come to, as ruled
    ("set_overarching_goal", {"goal": GOAL}, "1"),
    ("set_detailed_goal", {"description": DETAIL}, "2/3"),
    ("set_detailed_goal", {"description": DETAIL, "constraints": CONSTRAINTS}, "4"),
    ("set_plan", {"plan": TASKS}, "5"),
    ("mark_task", {"task_id": "kettle"}, "5"),
    ("mark_task", {"task_id": "heat water", "completed": True}, "5"),
    ("mark_task", {"task_id": "leaves"}, "5"),
    ("finish_job", {}, "6"),
)


@requirement("planner:flows", "planner:goal", "planner:detailed", "planner:plan", "planner:mark")
@requirement("planner:finish", "planner:C39")
@pytest.mark.parametrize(("kind", "era"), [*((kind, "auto") for kind in KINDS), ("git", "legacy")])
def test_the_whole_way_from_nothing_to_the_complete_plan(tmp_path: Path, kind: str, era: str) -> None:
    at = repository_place(tmp_path, kind)
    with at.server(era) as pipe:
        told = pipe.call({}, "gather_requirements")
        assert (told.reply["stage"], told.reply["options"]) == ("0", ["set_overarching_goal"])
        for tool, given, stage in WAY:
            told = pipe.call({**given, "step_token": told.reply["step_token"]}, tool)
            assert not told.failed, told.text
            assert told.reply["stage"] == stage

    assert at.text() == COMPLETE
    (run,) = handrail("runs", "list", "--store", at.at.store, "--json", HOME=at.at.env["HOME"]).data["runs"]
    assert (run["face"], run["lifecycle"]) == ("planner", "completed")
    checked = handrail("store", "check", "--store", at.at.store, HOME=at.at.env["HOME"])
    assert checked.status == 0, checked.err


def finished(pipe: Pipe) -> list[Told]:
    """Every task marked, and the job finished, without a token."""
    return [pipe.call(given, tool) for tool, given, _ in WAY[4:]]


@requirement("planner:stage.0", "planner:stage.1", "planner:stage.2", "planner:stage.4")
@requirement("planner:stage.5", "planner:stage.6")
@pytest.mark.parametrize("kind", ["colocated", "git"])
def test_every_stage_is_gone_on_with_by_a_new_server(tmp_path: Path, kind: str) -> None:
    at = repository_place(tmp_path, kind)
    token, stands = "", "0"
    for tool, given, stage in WAY:
        if stage == stands:
            continue
        with at.server() as pipe:
            shown = pipe.call({}, "gather_requirements")
            assert (shown.reply["stage"], shown.failed) == (stands, False)
            held = {"step_token": token} if token else {}
            told = [pipe.call({**given, **held}, tool)] if stage != "6" else finished(pipe)
        token, stands = told[-1].reply["step_token"], stage
        assert told[-1].reply["stage"] == stage, told[-1].text

    assert at.text() == COMPLETE
