"""The face `commits` over the wire, on real jj and real git: from nothing to the complete plan."""

from pathlib import Path
from typing import Any

import pytest

from commits.bench import (
    COMPLETE,
    TO_ADD,
    TO_BIND,
    TO_DESCRIBE,
    TO_FILL,
    TO_FINISH,
    TO_PLAN,
    TO_START,
    clean,
)
from program import handrail
from requirement import requirement
from stores.descriptions.repos import KINDS

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


@requirement("commits:state")
@requirement("commits:K23")
@pytest.mark.parametrize(("kind", "era"), [*((kind, "auto") for kind in KINDS), ("git", "legacy")])
def test_the_whole_way_from_nothing_to_the_complete_plan(tmp_path: Path, kind: str, era: str) -> None:
    at = clean(tmp_path, kind)
    with at.server(era) as pipe:
        told = pipe.call({}, "get_plan")
        assert told.reply["current_state"]["phase"] == "uninitialized"
        for (tool, given), phase, current, completed in WAY:
            told = pipe.call({**given, "step_token": told.reply["step_token"]}, tool)
            assert (told.failed, told.reply["status"]) == (False, "success"), told.text
            state = told.reply["current_state"]
            assert (state["phase"], state["completed_tasks"]) == (phase, completed)
            assert state.get("current_task_id", "") == current

    assert at.text() == COMPLETE
    (run,) = handrail("runs", "list", "--store", at.at.store, "--json", HOME=at.at.env["HOME"]).data["runs"]
    assert (run["face"], run["lifecycle"]) == ("commits", "completed")
    checked = handrail("store", "check", "--store", at.at.store, HOME=at.at.env["HOME"])
    assert checked.status == 0, checked.err
