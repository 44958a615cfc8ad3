"""Several casts in a row: a review begun anywhere leads back to the exact place, leaving nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.requirement import requirement
from helpers.spell_table import Line, SpellScene, load_spells, read_lines

FLOW = load_spells()
OUTSIDE = (
    "GATHER_NEEDS_PLAN",
    "GATHER_EDITING",
    "ACHIEVE_TASK_DRAFTING",
    "ACHIEVE_COMPLETE",
    "ERROR_TASK_MISSING",
    "ERROR_TASK_RESULTS_MISSING",
)


def _begins(state: str, row: str) -> Line:
    """A line with which a review begins, or is asked about, where none is known of."""
    found = (line for line in read_lines() if (line.state, line.row, line.spell) == (state, row, "Reparo"))
    return next(line for line in found if "pr=" not in line.context and not line.refused)


def _standing(scene: SpellScene) -> tuple[str, Any]:
    answer = json.loads((scene.task / "state.json").read_bytes())
    return answer["current_state"], answer["context"]


@requirement("spells:anytime")
@pytest.mark.parametrize("row", ["R1", "R2", "R3"])
@pytest.mark.parametrize("state", OUTSIDE)
def test_leaving_a_review_leads_exactly_back_to_where_it_began(tmp_path: Path, state: str, row: str) -> None:
    scene = SpellScene(tmp_path / "project", FLOW, _begins(state, row))
    before = _standing(scene)

    scene.cast()
    assert _standing(scene) != before
    scene.cast("Reverto")

    assert _standing(scene) == before


@pytest.mark.parametrize("row", ["R2", "R3"])
@pytest.mark.parametrize("state", OUTSIDE)
def test_a_no_to_a_confirmation_changes_nothing(tmp_path: Path, state: str, row: str) -> None:
    scene = SpellScene(tmp_path / "project", FLOW, _begins(state, row))
    before, files = _standing(scene), scene.files()

    scene.cast()
    scene.cast("Accio")

    assert (_standing(scene), scene.files()) == (before, files)


def test_a_confirmation_asked_within_a_review_does_not_lose_where_the_review_began(tmp_path: Path) -> None:
    scene = SpellScene(tmp_path / "project", FLOW, _begins("ACHIEVE_COMPLETE", "R1"))

    scene.cast()
    scene.cast("Reparo")
    asked = _standing(scene)
    scene.cast("Accio")
    within = _standing(scene)
    scene.cast("Reparo")
    scene.cast("Reverto")

    began = {"pr_return_state": "ACHIEVE_COMPLETE"}
    assert asked == (
        "PR_CONFIRM_RESTART_COMMENTS",
        {**began, "confirm_return_state": "PR_GATHERING_COMMENTS"},
    )
    assert within == ("PR_GATHERING_COMMENTS", began)
    assert _standing(scene) == ("ACHIEVE_COMPLETE", {})


@requirement("spells:context.clear")
@pytest.mark.parametrize("state", OUTSIDE)
def test_finite_forgets_where_a_review_or_an_error_came_from(tmp_path: Path, state: str) -> None:
    scene = SpellScene(tmp_path / "project", FLOW, _begins(state, "R2"))

    scene.cast()
    scene.cast("Finite")

    assert _standing(scene) == ("GATHER_EDITING", {})
