"""How far a plan has come."""

import pytest

from handrail.documents.plan.grammar import COMMITS
from handrail.documents.plan.parse import parse_plan
from handrail.documents.plan.stages import (
    Phase,
    Progress,
    decide_type,
    detect_stage,
    list_missing_parts,
    measure_progress,
    read_directive,
)
from helpers.requirement import requirement

TASKS = "feat(x): t\n\nd\n\n- [x]: a\n\n"


@requirement("planner:C38")
@pytest.mark.parametrize(
    ("text", "stage"),
    [
        ("", 0),
        ("hello", 0),
        ("feat(x): t", 1),
        ("feat(x): t\n\n- [ ]: a", 1),
        ("feat(x): t\n\nd", 2),
        ("feat(x): t\n\nd\n\n- Never: x", 4),
        ("feat(x): t\n\nd\n\n- Never: X", 4),
        (TASKS, 5),
        (TASKS + "~~~ EXECUTE ~~~", 5),
        (TASKS + "~~~ COMPLETE ~~~", 6),
        (TASKS + "COMPLETE", 6),
        ("feat(x): t\n\n- [x]: a\n\n~~~ COMPLETE ~~~", 6),
        ("feat(x): t\n\n- Never: x\n\n~~~ COMPLETE ~~~", 1),
    ],
)
def test_the_stage_follows_from_what_is_there(text: str, stage: int) -> None:
    assert detect_stage(parse_plan(text)) == stage


def test_a_finished_plan_of_commits_is_of_the_last_stage() -> None:
    assert (
        detect_stage(parse_plan("feat: t\n\nd\n\nConstraints: none\n\nTasks [X]:\n- [x] a: b", COMMITS)) == 6
    )


@pytest.mark.parametrize(
    ("tail", "order"),
    [("", None), ("go on", None), ("go on\n~~~ GO ON ~~~", "GO ON"), ("COMPLETE", "COMPLETE")],
)
def test_the_directive_is_in_the_last_line(tail: str, order: str | None) -> None:
    assert read_directive(parse_plan(TASKS + tail)) == order


@requirement("commits:state")
@requirement("commits:K23")
def test_the_progress_names_the_first_open_task_that_has_none_below_it() -> None:
    text = "feat: t\n\nd\n\nTasks [ ]:\n- [ ] A: x\n  - [x] B: y\n  - [ ] C: z\n- [ ] D: w"

    assert measure_progress(parse_plan(text, COMMITS)) == Progress(
        Phase.EXECUTING,
        has_goal=True,
        has_description=True,
        has_constraints=False,
        has_tasks=True,
        current="a/c",
        total=4,
        ticked=1,
    )


@pytest.mark.parametrize("text", ["", "hello", "feat: t\nbody"])
def test_what_is_no_plan_has_no_progress(text: str) -> None:
    assert measure_progress(parse_plan(text, COMMITS)) == Progress(
        Phase.UNINITIALIZED,
        has_goal=False,
        has_description=False,
        has_constraints=False,
        has_tasks=False,
        current=None,
        total=0,
        ticked=0,
    )


def test_decided_constraints_count_and_ticked_tasks_leave_none_open() -> None:
    planning = measure_progress(parse_plan("feat: t\n\nConstraints: none", COMMITS))
    assert (planning.phase, planning.has_constraints, planning.current) == (Phase.PLANNING, True, None)
    complete = measure_progress(parse_plan("feat: t\n\nTasks [X]:\n- [x] a: b", COMMITS))
    assert (complete.phase, complete.has_description, complete.current) == (Phase.COMPLETE, False, None)


@requirement("commits:K3")
@requirement("commits:matrix")
@pytest.mark.parametrize(
    ("types", "decided"),
    [
        (["lint", "chore", "docs", "build", "ci", "refactor", "fix", "feat"], "feat"),
        (["lint", "chore", "docs", "build", "ci", "refactor", "fix"], "fix"),
        (["lint", "chore", "docs", "build", "ci", "refactor"], "refactor"),
        (["lint", "chore", "docs", "build", "ci"], "ci"),
        (["lint", "chore", "docs", "build"], "build"),
        (["lint", "chore", "docs"], "docs"),
        (["lint", "chore"], "chore"),
        (["lint"], "lint"),
        ([], None),
        (["spec"], None),
    ],
)
def test_the_matrix_decides_the_type(types: list[str], decided: str | None) -> None:
    assert decide_type(types) == decided


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("description", "constraints", "tasks")),
        ("feat: t\n\nd", ("constraints", "tasks")),
        ("feat: t\n\nConstraints: none", ("description", "tasks")),
        ("feat: t\n\nd\n\nConstraints: none\n\nTasks [ ]:\n- [ ] a: b", ()),
    ],
)
def test_what_a_plan_has_not_is_named_in_order(text: str, parts: tuple[str, ...]) -> None:
    assert list_missing_parts(parse_plan(text, COMMITS)) == parts
