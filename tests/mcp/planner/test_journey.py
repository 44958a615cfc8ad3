"""The face `planner` over the wire, on real jj and real git: from nothing to the complete plan."""

from itertools import groupby
from pathlib import Path

import pytest

from handrail.engine.model import Lifecycle
from helpers.planner_agents import CONSTRAINTS, DETAIL, GOAL, TASKS, create_repository_place
from helpers.program import run_handrail
from helpers.repositories import KINDS
from helpers.requirement import requirement

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
@requirement("planner:finish", "planner:C39", "planner:stage.0", "planner:stage.1", "planner:stage.2")
@requirement("planner:stage.4", "planner:stage.5", "planner:stage.6")
@pytest.mark.parametrize(("kind", "era"), [*((kind, "auto") for kind in KINDS), ("git", "legacy")])
def test_the_whole_way_from_nothing_to_the_complete_plan_with_a_new_server_at_every_stage(
    tmp_path: Path, kind: str, era: str
) -> None:
    at = create_repository_place(tmp_path, kind)
    token, stage, options = "", "0", ["set_overarching_goal"]
    for begins, calls in groupby(WAY, key=lambda call: call[2]):
        with at.server(era) as pipe:
            shown = pipe.call({}, "gather_requirements").reply
            assert (shown["stage"], shown["options"]) == (stage, options)
            token = token or shown["step_token"]
            for tool, given, stage in calls:
                answer = pipe.call({**given, "step_token": token}, tool)
                assert not answer.failed, answer.text
                assert answer.reply["stage"] == stage == begins
                token, options = answer.reply["step_token"], answer.reply["options"]

    assert at.text() == COMPLETE
    (run,) = run_handrail("runs", "list", "--store", at.at.store, "--json", HOME=at.at.env["HOME"]).data[
        "runs"
    ]
    assert (run["face"], run["lifecycle"]) == ("planner", Lifecycle.COMPLETED)
    checked = run_handrail("store", "check", "--store", at.at.store, HOME=at.at.env["HOME"])
    assert checked.status == 0, checked.err
