"""Every line of expected.csv: a state, a spell, the files, and what must come of it, typed from the source.

The notation of the cells is told in helpers/spell_table.py.
"""

from itertools import product
from pathlib import Path

import pytest

from handrail.engine.soundness import check_soundness
from helpers.requirement import requirement
from helpers.spell_table import Line, Scene, lines, spells

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
ROWS = [
    pytest.param("G1", 7, marks=requirement("spells:G1")),
    pytest.param("G2", 5, marks=requirement("spells:G2")),
    pytest.param("G2b", 4, marks=requirement("spells:G2b")),
    pytest.param("G3", 9, marks=requirement("spells:G3")),
    pytest.param("G4", 10, marks=requirement("spells:G4")),
    pytest.param("G2c", 3, marks=requirement("spells:G2c")),
    pytest.param("A1", 6, marks=requirement("spells:A1")),
    pytest.param("A1b", 3, marks=requirement("spells:A1b")),
    pytest.param("A1c/A3b", 4, marks=[requirement("spells:A1c"), requirement("spells:A3b")]),
    pytest.param("A1d", 2, marks=requirement("spells:A1d")),
    pytest.param(
        "A2",
        18,
        marks=[
            requirement("spells:A2"),
            requirement("spells:A2.archive"),
            requirement("spells:A2.mark"),
            requirement("spells:task.name"),
        ],
    ),
    pytest.param("A2b", 7, marks=requirement("spells:A2b")),
    pytest.param("A2c", 4, marks=requirement("spells:A2c")),
    pytest.param("A3", 9, marks=requirement("spells:A3")),
    pytest.param("A6", 3, marks=requirement("spells:A6")),
    pytest.param("A7", 5),
    pytest.param("P1", 10, marks=requirement("spells:P1")),
    pytest.param("P1b", 7, marks=requirement("spells:P1b")),
    pytest.param("P1d", 4, marks=requirement("spells:P1d")),
    pytest.param("P2", 8, marks=requirement("spells:P2")),
    pytest.param("P2b", 7, marks=requirement("spells:P2b")),
    pytest.param("P2d", 2, marks=requirement("spells:P2d")),
    pytest.param("P3", 18, marks=[requirement("spells:P3"), requirement("spells:P.archive")]),
    pytest.param("P3b", 6),
    pytest.param("P4", 20, marks=requirement("spells:P4")),
    pytest.param("R1", 77, marks=requirement("spells:R1")),
    pytest.param("R2", 33, marks=requirement("spells:R2")),
    pytest.param("R3", 60, marks=requirement("spells:R3")),
    pytest.param("R4", 6, marks=[requirement("spells:R4"), requirement("spells:guard.reparo")]),
    pytest.param("C1", 14, marks=requirement("spells:C1")),
    pytest.param("C2", 28, marks=requirement("spells:C2")),
    pytest.param("C3", 13, marks=requirement("spells:C3")),
    pytest.param("C4", 28, marks=requirement("spells:C4")),
    pytest.param("E1", 7, marks=requirement("spells:E1")),
    pytest.param("E2", 8, marks=requirement("spells:E2")),
    pytest.param("E3", 6, marks=requirement("spells:E3")),
    pytest.param("E4", 7, marks=requirement("spells:E4")),
    pytest.param("E5", 12, marks=requirement("spells:E5")),
    pytest.param("E6", 10, marks=requirement("spells:E6")),
    pytest.param("E7", 5, marks=requirement("spells:E7")),
    pytest.param("F1", 48, marks=requirement("spells:F1")),
    pytest.param("F.noop", 5, marks=requirement("spells:F.noop")),
    pytest.param("V1", 14, marks=requirement("spells:V1")),
    pytest.param("V2", 14, marks=requirement("spells:V2")),
    pytest.param("V3", 17, marks=requirement("spells:V3")),
    pytest.param("V4", 17, marks=requirement("spells:V4")),
    pytest.param("V5", 4, marks=requirement("spells:V5")),
    pytest.param("resume", 98, marks=requirement("spells:resume")),
    pytest.param("expecto.start", 4, marks=requirement("spells:expecto.start")),
    pytest.param("expecto.plan", 2),
    pytest.param("expecto.none", 5),
    pytest.param("expecto.block", 3),
    pytest.param("guard.expecto", 38, marks=requirement("spells:guard.expecto")),
    pytest.param("guard.reverto", 28, marks=requirement("spells:guard.reverto")),
]

FLOW = spells()


def _wrong(folder: Path, line: Line) -> list[str]:
    return [f"{line}: {what}" for what in Scene(folder, FLOW, line).wrong()]


@requirement("spells:options.computed")
@requirement("spells:persist.shape")
@requirement("spells:note")
@pytest.mark.parametrize(("row", "count"), ROWS)
def test_whatever_a_row_is_about_comes_out_as_the_table_says(tmp_path: Path, row: str, count: int) -> None:
    those = [line for line in lines() if line.row == row]

    assert len(those) == count
    assert [what for n, line in enumerate(those) for what in _wrong(tmp_path / str(n), line)] == []


def test_every_line_of_the_table_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = lines()
    unread = {line: Scene(tmp_path / str(n), FLOW, line).unread() for n, line in enumerate(found)}
    not_run = sum(bool(names) for names in unread.values())

    with capsys.disabled():
        print(f" [{len(found)} lines, {not_run} not run]", end="")  # noqa: T201 - the count
    assert (len(found), not_run) == (LINES, NOT_RUN)
    assert {line.row for line in found} == {str(param.values[0]) for param in ROWS}


def test_no_state_meets_a_spell_that_the_table_says_nothing_about() -> None:
    assert {(line.state, line.spell) for line in lines()} == set(product(STATES, SPELLS))


def test_no_line_stands_twice() -> None:
    found = [line[:4] for line in lines()]

    assert len(set(found)) == len(found)


def test_every_row_of_the_workflow_is_taken_by_a_line(tmp_path: Path) -> None:
    taken = {Scene(tmp_path / str(n), FLOW, line).row() for n, line in enumerate(lines())}

    assert [row.id for row in FLOW.rows if row.id not in taken] == []


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
    right = next(line for line in lines() if line.effects == "+plan.md")

    assert _wrong(tmp_path / "right", right) == []
    assert _wrong(tmp_path / "wrong", right._replace(**{cell: changed})) != []
