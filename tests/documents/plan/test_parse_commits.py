"""The dialect `commits`: all of a text is right, or it is no plan."""

from typing import Any

import pytest

from handrail.documents.plan.data import describe_plan
from handrail.documents.plan.grammar import COMMITS
from handrail.documents.plan.model import Header, Plan, PlanState, Task
from handrail.documents.plan.parse import parse_plan
from helpers.requirement import requirement

H = "feat(api): add thing\n\nwhy\n\n"
GOAL = Header("feat", "api", title="add thing")


def _read(text: str) -> Plan:
    return parse_plan(text, COMMITS)


def _data(text: str, **given: bool) -> dict[str, Any]:
    return describe_plan(parse_plan(text, COMMITS, **given), COMMITS, text)


@requirement("commits:K1")
@requirement("commits:K10")
@requirement("commits:K19")
@requirement("commits:plan.types")
def test_a_whole_commit_is_read_and_given_in_the_shape_of_its_types() -> None:
    text = (
        "feat(api)!: add thing\n\nwhy\n\nConstraints:\n- Do not: Break X\n- Forbidden: y\n\n"
        "Tasks [ ]:\n- [ ] Step 1: more: yet\n  - [x] Step 1.1: details\n  - [ ] b: c\n"
    )

    plain = {"level": 1, "parent_id": "step-1", "children": []}
    below = [
        {"id": "step-1-1", "summary": "Step 1.1", "details": "details", "completed": True, **plain},
        {"id": "b", "summary": "b", "details": "c", "completed": False, **plain},
    ]
    first = {"id": "step-1", "summary": "Step 1", "details": "more: yet", "completed": False}
    assert _data(text) == {
        "ok": True,
        "phase": "executing",
        "header": {"type": "feat", "scope": "api", "breaking": True, "summary": "add thing"},
        "description": "why",
        "constraints": ["Do not: Break X", "Forbidden: y"],
        "tasks": [{**first, "level": 0, "children": below}],
        "metadata": {"totalTasks": 3, "completedTasks": 1, "isComplete": False},
        "warnings": [],
        "problems": [],
    }


@requirement("commits:K2")
@requirement("commits:K5")
@requirement("commits:K6")
@pytest.mark.parametrize(
    ("line", "header"),
    [
        ("ci(x): t", Header("ci", "x", title="t")),
        ("feat!: t", Header("feat", breaking=True, title="t")),
        ("lint(a-1)!: a: b", Header("lint", "a-1", breaking=True, title="a: b")),
        ("docs: " + "é" * 120, Header("docs", title="é" * 120)),
    ],
)
def test_a_header_has_a_type_an_optional_scope_and_a_summary(line: str, header: Header) -> None:
    assert _read(line) == Plan(PlanState.PARSED, header)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("infra(x): t", "type_unknown"),
        ("feat(a_b): t", "header_malformed"),
        ("feat(1a): t", "header_malformed"),
        ("feat(): t", "header_malformed"),
        ("feat(x):t", "header_malformed"),
        ("feat(x): ", "header_malformed"),
        ("feat(x):  t", "header_malformed"),
        ("feat(x): t ", "header_malformed"),
        ("feat", "header_malformed"),
        ("\nfeat: t", "header_malformed"),
        ("feat(x): " + "a" * 121, "title_too_long"),
    ],
)
def test_any_other_first_line_is_no_plan(line: str, code: str) -> None:
    data = _data(line)

    assert (data["ok"], data["phase"], data["raw_commit_content"]) == (False, "uninitialized", line)
    assert [one["code"] for one in data["problems"]] == [code]


def test_a_header_with_too_long_a_summary_is_there_without_it() -> None:
    assert _read("feat(x): " + "a" * 121) == Plan(PlanState.HALTED, Header("feat", "x"))
    assert _data("feat(x): " + "a" * 121)["header"] == {"type": "feat", "scope": "x", "breaking": False}


@requirement("commits:K4")
def test_a_scope_in_capital_letters_is_read_small_and_warned_of() -> None:
    plan = _read("feat(API): t")

    assert plan == Plan(PlanState.PARSED, Header("feat", "api", title="t"))
    assert [(one.code, one.line, one.field) for one in plan.warnings] == [
        ("scope_lowercased", 1, "header.scope")
    ]
    assert plan.warnings[0].message == "the scope `API` is read in small letters"


@requirement("commits:K20")
def test_nothing_written_is_uninitialised_only_if_nothing_was_changed() -> None:
    untouched = _data(" \n", has_modifications=False)
    assert (untouched["ok"], untouched["phase"], untouched["problems"]) == (True, "uninitialized", [])
    assert "raw_commit_content" not in untouched

    changed = _data("", has_modifications=True)
    assert (changed["ok"], changed["phase"], changed["raw_commit_content"]) == (False, "uninitialized", "")
    assert [one["code"] for one in changed["problems"]] == ["description_missing"]


@requirement("commits:K8")
@requirement("commits:K9")
@pytest.mark.parametrize(
    ("body", "constraints"),
    [
        ("", None),
        ("Constraints: none", ()),
        ("Constraints:\n- Never: X\n\n- Decide against: 1", (("Never", "X"), ("Decide against", "1"))),
    ],
)
def test_constraints_are_undecided_none_or_some(
    body: str, constraints: tuple[tuple[str, str], ...] | None
) -> None:
    assert _read(H + body) == Plan(PlanState.PARSED, GOAL, "why", constraints)


@pytest.mark.parametrize(
    ("body", "code", "line"),
    [
        ("Constraints:", "constraints_empty", 5),
        ("Constraints:\n\nTasks [ ]:\n- [ ] a: b", "constraints_empty", 5),
        ("Constraints:\n- constraint 1", "constraint_malformed", 6),
        ("Constraints:\n- Must: x", "constraint_malformed", 6),
        ("Constraints:\n- Never: ", "constraint_malformed", 6),
        ("Constraints:\n- Never: x\nmore", "constraint_malformed", 7),
        ("Constraints: none\n- Never: x", "text_after_end", 6),
        ("Constraints: none\n\nConstraints: none", "section_order", 7),
        ("Constraints: None", "section_malformed", 5),
        ("Constraints (hard):", "section_malformed", 5),
        ("Tasks [ ]", "section_malformed", 5),
        ("Tasks [x]:", "section_malformed", 5),
        ("Tasks [ ]: ", "section_malformed", 5),
        ("Tasks [ ]:", "tasks_empty", 5),
        ("Tasks [ ]:\n- [ ] a: b\n\nConstraints: none", "section_order", 8),
        ("Tasks [ ]:\n- [ ] a: b\nTasks [ ]:", "section_order", 7),
        ("Tasks [ ]:\n- [ ] a: b\n\ntrailing text", "task_malformed", 8),
        ("Tasks [ ]:\n- [ ]: a", "task_malformed", 6),
        ("Tasks [ ]:\n- [X] a: b", "task_malformed", 6),
        ("Tasks [ ]:\n- [ ] a", "task_malformed", 6),
        ("Tasks [ ]:\n- [ ] a:  ", "task_malformed", 6),
        ("Tasks [ ]:\n\t- [ ] a: b", "task_malformed", 6),
        ("Tasks [ ]:\n  - [ ] a: b", "task_indentation", 6),
        ("Tasks [ ]:\n- [ ] a: b\n   - [ ] c: d", "task_indentation", 7),
        ("Tasks [ ]:\n- [ ] a: b\n    - [ ] c: d", "task_indentation", 7),
        ("Tasks [ ]:\n- [ ] A: x\n- [ ] a!: y", "task_id_taken", 7),
        ("Tasks [ ]:\n- [ ] !!!: x", "task_id_missing", 6),
        ("Tasks [ ]:\n" + "".join(f"{'  ' * n}- [ ] a: b\n" for n in range(5)), "task_too_deep", 10),
        ("Tasks [ ]:\n" + "".join(f"- [ ] a{n}: b\n" for n in range(1001)), "too_many_tasks", 1006),
        ("Tasks [ ]:\n- [x] a: b\n  - [ ] c: d", "boxes_contradict", 6),
        ("Tasks [X]:\n- [ ] a: b", "finished_too_soon", 5),
    ],
)
@requirement("commits:K14")
@requirement("commits:K11")
def test_one_wrong_line_makes_it_no_plan(body: str, code: str, line: int) -> None:
    plan = _read(H + body)

    assert plan.state is PlanState.HALTED
    assert [(one.code, one.line) for one in plan.problems] == [(code, line)]
    assert plan.problems[0].message
    assert plan.problems[0].repair
    assert _data(H + body)["raw_commit_content"] == H + body


def test_the_repair_of_a_task_shows_how_one_is_written() -> None:
    (problem,) = _read(H + "Tasks [ ]:\n- [ ]: a").problems

    assert problem.repair.startswith(
        "write `- [ ] summary: details`, or `- [x] summary: details` if it is done"
    )


def test_the_line_below_the_header_is_empty() -> None:
    assert [one.code for one in _read("feat(x): t\nbody").problems] == ["header_line_not_alone"]


def test_a_section_needs_no_description_ahead_of_it() -> None:
    assert _read("feat: t\n\nTasks [ ]:\n- [ ] a: b").tasks == (Task(0, ticked=False, text="a", details="b"),)


@requirement("commits:K12")
def test_levels_go_from_0_to_3_and_ids_are_unique_among_siblings_only() -> None:
    body = "Tasks [ ]:\n- [ ] A: x\n  - [ ] T: 1\n    - [ ] T: 2\n      - [ ] T: 3\n- [ ] B: x\n  - [ ] T: 4"

    assert [(task.level, task.text) for task in _read(H + body).tasks or ()] == [
        (0, "A"),
        (1, "T"),
        (2, "T"),
        (3, "T"),
        (0, "B"),
        (1, "T"),
    ]


@requirement("commits:K17")
def test_a_parent_of_ticked_tasks_is_read_as_ticked_on_every_level() -> None:
    plan = _read(H + "Tasks [ ]:\n- [ ] a: 1\n  - [ ] b: 2\n    - [x] c: 3\n- [ ] d: 4")

    assert [task.ticked for task in plan.tasks or ()] == [True, True, True, False]
    assert [(one.code, one.line) for one in plan.warnings] == [
        ("completion_propagated", 6),
        ("completion_propagated", 7),
    ]


@requirement("commits:K16")
@requirement("commits:K18")
@pytest.mark.parametrize(
    ("body", "phase", "metadata"),
    [
        ("", "planning", (0, 0, False)),
        ("Constraints: none", "planning", (0, 0, False)),
        ("Tasks [ ]:\n- [x] a: b", "executing", (1, 1, False)),
        ("Tasks [X]:\n- [x] a: b\n  - [x] c: d", "complete", (2, 2, True)),
    ],
)
def test_the_phase_follows_from_the_tasks_and_their_box(
    body: str, phase: str, metadata: tuple[int, int, bool]
) -> None:
    data = _data(H + body)

    assert data["phase"] == phase
    assert tuple(data["metadata"].values()) == metadata
