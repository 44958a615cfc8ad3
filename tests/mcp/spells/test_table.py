"""Every line of expected.csv: a state, a spell, the files, and what must come of it, typed from the source.

The notation of the cells is told in helpers/spell_table.py.
"""

from itertools import product
from pathlib import Path

import pytest

from handrail.engine.soundness import check_soundness
from helpers.requirement import requirement
from helpers.spell_table import Line, SpellScene, load_spells, read_lines

pytestmark = pytest.mark.unmeasured
LINES = 792
NOT_RUN = 0
STATES = {
    "GATHER_NEEDS_PLAN": "Gather Acceptance Criteria",
    "GATHER_EDITING": "Gather Acceptance Criteria",
    "ACHIEVE_TASK_DRAFTING": "Achieve Acceptance Criteria",
    "ACHIEVE_TASK_EXECUTED": "Achieve Acceptance Criteria",
    "ACHIEVE_COMPLETE": "Achieve Acceptance Criteria",
    "PR_GATHERING_COMMENTS": "Handle PR Reviews",
    "PR_REVIEW_TASK_DRAFT": "Handle PR Reviews",
    "PR_APPLIED_PENDING_ARCHIVE": "Handle PR Reviews",
    "PR_CONFIRM_RESTART_COMMENTS": "Handle PR Reviews",
    "PR_CONFIRM_RESTART_TASK": "Handle PR Reviews",
    "ERROR_TASK_MISSING": "Achieve Acceptance Criteria",
    "ERROR_TASK_RESULTS_MISSING": "Achieve Acceptance Criteria",
    "ERROR_PLAN_MISSING": "Gather Acceptance Criteria",
    "ERROR_COMMENTS_MISSING": "Handle PR Reviews",
    "ERROR_REVIEW_TASK_MISSING": "Handle PR Reviews",
}
SPELLS = ("Accio", "Expecto", "Reparo", "Reparo resume", "Reverto", "Finite")
COUNTS = """
G1=7 G2=5 G2b=4 G3=9 G4=10 G2c=3 A1=6 A1b=3 A1c/A3b=4 A1d=2 A2=18 A2b=7 A2c=4 A3=9 A6=3 A7=5 P1=10 P1b=7
P1d=4 P2=8 P2b=7 P2d=2 P3=18 P3b=6 P4=20 R1=77 R2=33 R3=60 R4=6 C1=14 C2=28 C3=13 C4=28 E1=7 E2=8 E3=6
E4=7 E5=12 E6=10 E7=5 F1=48 F.noop=5 V1=14 V2=14 V3=17 V4=17 V5=4 resume=98 expecto.start=4
expecto.plan=2 expecto.none=5 expecto.block=3 guard.expecto=38 guard.reverto=28
"""
"""How many lines of the table each row has."""

ROWS = {row: int(count) for row, count in (pair.split("=") for pair in COUNTS.split())}
FLOW = load_spells()


def _wrong(folder: Path, line: Line) -> list[str]:
    return [f"{line}: {what}" for what in SpellScene(folder, FLOW, line).wrong()]


@requirement("spells:options.computed", "spells:persist.shape", "spells:note")
@requirement("spells:G1", "spells:G2", "spells:G2b", "spells:G3", "spells:G4", "spells:G2c", "spells:A1")
@requirement("spells:A1b", "spells:A1c", "spells:A3b", "spells:A1d", "spells:A2", "spells:A2.archive")
@requirement("spells:A2.mark", "spells:task.name", "spells:A2b", "spells:A2c", "spells:A3", "spells:A6")
@requirement("spells:P1", "spells:P1b", "spells:P1d", "spells:P2", "spells:P2b", "spells:P2d", "spells:P3")
@requirement("spells:P.archive", "spells:P4", "spells:R1", "spells:R2", "spells:R3", "spells:R4")
@requirement("spells:guard.reparo", "spells:C1", "spells:C2", "spells:C3", "spells:C4", "spells:E1")
@requirement("spells:E2", "spells:E3", "spells:E4", "spells:E5", "spells:E6", "spells:E7", "spells:F1")
@requirement("spells:F.noop", "spells:V1", "spells:V2", "spells:V3", "spells:V4", "spells:V5")
@requirement("spells:resume", "spells:expecto.start", "spells:guard.expecto", "spells:guard.reverto")
@pytest.mark.parametrize(("row", "count"), ROWS.items())
def test_every_line_of_a_row_comes_out_as_the_table_says(tmp_path: Path, row: str, count: int) -> None:
    those = [line for line in read_lines() if line.row == row]

    assert len(those) == count
    assert [what for n, line in enumerate(those) for what in _wrong(tmp_path / str(n), line)] == []


def test_every_line_of_the_table_is_run_and_takes_every_row_of_the_workflow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = read_lines()
    scenes = [SpellScene(tmp_path / str(n), FLOW, line) for n, line in enumerate(found)]
    not_run = sum(bool(scene.unread()) for scene in scenes)

    with capsys.disabled():
        print(f" [{len(found)} lines, {not_run} not run]", end="")  # noqa: T201 - the count
    assert (len(found), not_run) == (LINES, NOT_RUN)
    assert {line.row for line in found} == set(ROWS)
    assert len({line[:4] for line in found}) == len(found)
    assert {row.id for row in FLOW.rows} <= {scene.row() for scene in scenes}


def test_no_state_meets_a_spell_that_the_table_says_nothing_about() -> None:
    assert {(line.state, line.spell) for line in read_lines()} == set(product(STATES, SPELLS))


@requirement("spells:state.15")
def test_there_are_fifteen_states_each_with_its_phase_and_a_line_about_it() -> None:
    assert {name: state.phase for name, state in FLOW.states.items()} == STATES
    assert [name for name, state in FLOW.states.items() if not state.about] == []
    assert FLOW.initial == "GATHER_NEEDS_PLAN"


def test_the_checker_finds_nothing() -> None:
    assert check_soundness(FLOW) == ()


@pytest.mark.parametrize(
    ("cell", "changed"),
    [
        ("row", "G2"),
        ("next", "GATHER_NEEDS_PLAN"),
        ("effects", "-"),
        ("history", "GATHER_NEEDS_PLAN → ACHIEVE_COMPLETE"),
        ("after", "pr=GATHER_EDITING"),
    ],
)
def test_a_line_that_says_something_else_is_found_wrong(tmp_path: Path, cell: str, changed: str) -> None:
    right = next(line for line in read_lines() if line.effects == "+plan.md")

    assert _wrong(tmp_path / "right", right) == []
    assert _wrong(tmp_path / "wrong", right._replace(**{cell: changed})) != []
