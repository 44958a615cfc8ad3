"""The face `commits` over the wire, on real jj and real git: from nothing to the complete plan."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.model import Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.mcp.faces.commits import CommitsStatus
from handrail.runtime.ports.queries import RunFilter
from helpers.commit_plans import (
    COMPLETE,
    START,
    TO_ADD,
    TO_BIND,
    TO_DESCRIBE,
    TO_FILL,
    TO_FINISH,
    TO_PLAN,
    TO_START,
    create_clean_place,
)
from helpers.planner_agents import PlanAgent
from helpers.requirement import requirement

WAY: tuple[tuple[tuple[str, dict[str, Any]], str, str, int], ...] = (
    # a tool and what it is given; then phase, current task and completed tasks, as the source says
    (TO_START, "planning", "", 0),
    (TO_DESCRIBE, "planning", "", 0),
    (TO_BIND, "planning", "", 0),
    (TO_PLAN, "executing", "heat-water/fill-it", 0),
    (TO_FILL, "executing", "add-leaves", 2),
    (TO_ADD, "executing", "", 3),
    (TO_FINISH, "complete", "", 3),
)


@requirement("commits:stateless", "commits:state", "commits:K1", "commits:K23", "commits:K24")
@pytest.mark.parametrize(("kind", "era"), [("jj", "auto"), ("colocated", "auto"), ("git", "legacy")])
def test_the_whole_way_from_nothing_to_the_complete_plan_with_a_new_server_in_every_phase(
    tmp_path: Path, kind: str, era: str
) -> None:
    at = create_clean_place(tmp_path, kind)
    token, way = "", iter(WAY)
    for entered, calls in (("uninitialized", 3), ("planning", 1), ("executing", 3), ("complete", 0)):
        with at.server(era) as pipe:
            shown = pipe.call({}, "get_plan")
            assert (shown.reply["current_state"]["phase"], shown.failed) == (entered, False)
            for (tool, given), phase, current, completed in islice(way, calls):
                answer = pipe.call({**given, "step_token": token or shown.reply["step_token"]}, tool)
                assert (answer.failed, answer.reply["status"]) == (False, CommitsStatus.SUCCESS), answer.text
                state = answer.reply["current_state"]
                assert (state["phase"], state["completed_tasks"]) == (phase, completed)
                assert state.get("current_task_id", "") == current
                token = answer.reply["step_token"]

    assert at.text() == COMPLETE


def test_a_plan_is_shown_among_the_runs_and_completed_there(agent: PlanAgent) -> None:
    agent.does(TO_START, TO_PLAN)
    (row,) = agent.app.runs.runs(RunFilter())
    assert (row.lifecycle, row.state) == (Lifecycle.RUNNING, "phase-executing-open")
    assert (row.face, row.goal) == ("commits", "feat(tea): brew tea")

    agent.does(TO_FILL, TO_ADD, TO_FINISH)

    (row,) = agent.app.runs.runs(RunFilter())
    assert row.lifecycle is Lifecycle.COMPLETED
    steps = [step.state for step in agent.app.world.runs.steps(row.id)]
    assert steps == ["phase-planning-description", "phase-executing-open", "phase-executing-ticked"]


@requirement("commits:empty", "commits:active", "commits:malformed")
def test_in_jj_changed_files_are_confirmed_a_message_is_reformatted_and_a_new_commit_is_begun(
    tmp_path: Path,
) -> None:
    at = create_clean_place(tmp_path, "jj")
    (at.repo.folder / "kettle").write_text("hot\n")
    with at.server() as pipe:
        unsure = pipe.call(START, "start_planning")
        assert (unsure.reply["code"], unsure.reply["raw_commit_content"]) == (RefusalCode.REFUSED, "")
        at.repo.jj("describe", "-m", "Merge the kettle")
        blocked = pipe.call({**START, "confirm": True}, "start_planning")
        assert (blocked.failed, blocked.reply["raw_commit_content"]) == (True, "Merge the kettle\n")
        done = "feat(tea): brew tea\n\nTasks [ ]:\n- [x] a: b\n"
        pipe.call({"choice": "reformat", "message": done}, "verify_plan")
        assert at.text() == done
        old = at.repo.jj("log", "-r", "@", "--no-graph", "-T", "change_id")
        pipe.call({}, "finish_job")
        answer = pipe.call({**START, "type": "docs", "new_commit": True}, "start_planning")
        assert not answer.failed, answer.text

    assert at.text() == "docs(tea): brew tea\n"
    assert at.repo.jj("log", "-r", "@-", "--no-graph", "-T", "change_id") == old
    assert at.repo.jj("log", "-r", "@-", "--no-graph", "-T", "description") == done.replace("s [ ]", "s [X]")
