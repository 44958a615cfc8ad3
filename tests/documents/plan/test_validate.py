"""The validator: which field is wrong, and by which code."""

from typing import Any

import pytest

from handrail.documents.plan.grammar import COMMITS, SCOPE_WITH_PATHS, PlanConfig
from handrail.documents.plan.model import Finding
from handrail.documents.plan.parse import parse_plan
from handrail.documents.plan.validate import (
    VALIDATION_CODES,
    ValidationResult,
    create_config,
    is_validated,
    validate_plan,
)
from helpers.requirement import requirement

GOAL = {"type": "feat", "scope": "x", "breaking": False, "title": "t"}
SAID = {"type": "feat", "summary": "t"}


def _found(verdict: ValidationResult) -> list[tuple[str, str]]:
    assert all(one.message for one in verdict.errors)
    return [(one.field, one.code) for one in verdict.errors]


@requirement("planner:C25")
@requirement("planner:C26")
@requirement("planner:C27")
@requirement("planner:C28")
@pytest.mark.parametrize(
    ("header", "errors"),
    [
        (GOAL, []),
        ({**GOAL, "type": "infra"}, []),
        ({**GOAL, "type": "ci"}, [("header.type", "INVALID_VALUE")]),
        ({**GOAL, "type": 1}, [("header.type", "INVALID_TYPE")]),
        ({**GOAL, "scope": "a/b"}, [("header.scope", "INVALID_FORMAT")]),
        ({**GOAL, "scope": "a\n"}, [("header.scope", "INVALID_FORMAT")]),
        ({**GOAL, "scope": 1}, [("header.scope", "INVALID_TYPE")]),
        ({**GOAL, "breaking": "yes"}, [("header.breaking", "INVALID_TYPE")]),
        ({**GOAL, "title": "a" * 120}, []),
        ({**GOAL, "title": "a" * 121}, [("header.title", "TOO_BIG")]),
        ({**GOAL, "title": " t"}, [("header.title", "CUSTOM")]),
        ({**GOAL, "title": 1}, [("header.title", "INVALID_TYPE")]),
        ({"type": "feat"}, []),
        ({"type": "x", "scope": "X", "title": " "}, None),
    ],
)
def test_a_header_is_checked_field_by_field(
    header: dict[str, Any], errors: list[tuple[str, str]] | None
) -> None:
    found = _found(validate_plan({"header": header}))

    if errors is None:
        errors = [
            ("header.type", "INVALID_VALUE"),
            ("header.scope", "INVALID_FORMAT"),
            ("header.title", "CUSTOM"),
        ]
    assert found == errors


@requirement("planner:C29")
@requirement("planner:C30")
@pytest.mark.parametrize(
    ("constraints", "errors"),
    [
        ([[prefix, "x"] for prefix in ("Do not", "Never", "Avoid", "Decide against", "Must not")], []),
        ([["Cannot", "x"], ["Forbidden", "1"]], []),
        ([["Must", "x"]], [("constraints.0.0", "INVALID_VALUE")]),
        ([["Never", "x"], ["Never", ""]], [("constraints.1.1", "TOO_SMALL")]),
        ([["Never", "Shout"]], [("constraints.0.1", "CUSTOM")]),
        ([["Never"], 1, ["Never", 1]], [(f"constraints.{n}", "INVALID_TYPE") for n in range(3)]),
        ("Never", [("constraints", "INVALID_TYPE")]),
        (["Never: x"], []),
    ],
)
def test_constraints_are_checked_one_by_one(constraints: object, errors: list[tuple[str, str]]) -> None:
    assert _found(validate_plan({"header": GOAL, "constraints": constraints})) == errors


@requirement("planner:C31")
@pytest.mark.parametrize(
    ("tasks", "errors"),
    [
        ([[False, "a", [[True, "b", []]]]], []),
        ([[False, "0", [[False, "1", [[False, "2", [[False, "3", [[False, "4", []]]]]]]]]]], []),
        (
            [
                [
                    False,
                    "0",
                    [[False, "1", [[False, "2", [[False, "3", [[False, "4", [[False, "5", []]]]]]]]]]],
                ]
            ],
            [("tasks.0.2.0.2.0.2.0.2.0.2", "TOO_BIG")],
        ),
        ([["yes", "a", []]], [("tasks.0.0", "INVALID_TYPE")]),
        ([[True, " ", [[True, 1, []]]]], [("tasks.0.1", "TOO_SMALL"), ("tasks.0.2.0.1", "INVALID_TYPE")]),
        ([[True, "a"]], [("tasks.0", "INVALID_TYPE")]),
        ([[True, "a", "b"]], [("tasks.0.2", "INVALID_TYPE")]),
        ("a", [("tasks", "INVALID_TYPE")]),
        ([], [("tasks", "TOO_SMALL")]),
        ([[True, "a", []]] * 1001, [("tasks", "TOO_BIG")]),
    ],
)
def test_tasks_are_checked_on_every_level(tasks: object, errors: list[tuple[str, str]]) -> None:
    assert _found(validate_plan({"header": GOAL, "tasks": tasks})) == errors


@requirement("commits:K13")
@pytest.mark.parametrize(
    ("tasks", "errors"),
    [
        ([{"summary": "a", "details": "b", "children": [{"summary": "a", "details": "b"}]}], []),
        (
            [{"summary": "A", "details": "b"}, {"summary": "a!", "details": "b"}],
            [("tasks.1.summary", "INVALID_VALUE")],
        ),
        ([{"summary": "!", "details": "b"}], [("tasks.0.summary", "INVALID_FORMAT")]),
        (
            [{"summary": "", "details": 1}],
            [("tasks.0.summary", "TOO_SMALL"), ("tasks.0.details", "INVALID_TYPE")],
        ),
        ([1], [("tasks.0", "INVALID_TYPE")]),
        ([{"summary": "a", "details": "b", "completed": 1}], [("tasks.0.completed", "INVALID_TYPE")]),
    ],
)
def test_tasks_of_commits_have_summaries_details_and_ids(
    tasks: object, errors: list[tuple[str, str]]
) -> None:
    assert _found(validate_plan({"header": SAID, "tasks": tasks}, COMMITS)) == errors


@requirement("planner:C32")
def test_description_and_direction_are_texts() -> None:
    found = _found(validate_plan({"header": GOAL, "description": 1, "direction": []}))

    assert found == [("description", "INVALID_TYPE"), ("direction", "INVALID_TYPE")]


@requirement("planner:C33")
@pytest.mark.parametrize("text", ["", "hello", "feat(x): t\nbody", "\0"])
def test_only_what_was_read_whole_can_be_valid(text: str) -> None:
    assert _found(validate_plan(parse_plan(text))) == [("state", "INVALID_VALUE")]
    assert _found(validate_plan(parse_plan(text, COMMITS), COMMITS)) == [("state", "INVALID_VALUE")]


def test_a_header_must_be_there() -> None:
    assert _found(validate_plan({"state": "parsed"})) == [("header", "INVALID_TYPE")]


@requirement("commits:K6")
@pytest.mark.parametrize(("summary", "code"), [(None, "INVALID_TYPE"), ("", "TOO_SMALL"), ("t ", "CUSTOM")])
def test_commits_needs_a_summary(summary: str | None, code: str) -> None:
    verdict = validate_plan({"header": {**SAID, "summary": summary}}, COMMITS)

    assert _found(verdict) == [("header.summary", code)]


def test_a_plan_of_commits_is_valid_with_values_in_capital_letters() -> None:
    plan = parse_plan("ci: t\n\nConstraints:\n- Never: Shout\n\nTasks [X]:\n- [x] a: b", COMMITS)

    assert validate_plan(plan, COMMITS) == ValidationResult()


@requirement("planner:C34")
@requirement("planner:codes")
def test_an_error_has_a_field_a_message_and_one_of_six_codes() -> None:
    verdict = validate_plan(parse_plan("feat(x): t\n\nd\n\n- Must: do it"))

    assert verdict.to_data() == {
        "isValid": False,
        "errors": [
            {
                "field": "constraints.0.0",
                "message": "`Must` is no prefix; take one of Do not, Never, Avoid, Decide against, Must not, "
                "Cannot, Forbidden",
                "code": "INVALID_VALUE",
            }
        ],
        "warnings": [],
    }
    assert sorted(VALIDATION_CODES) == [
        "CUSTOM",
        "INVALID_FORMAT",
        "INVALID_TYPE",
        "INVALID_VALUE",
        "TOO_BIG",
        "TOO_SMALL",
    ]


@requirement("planner:C35")
def test_a_scope_in_capital_letters_is_warned_of_beside_its_error() -> None:
    verdict = validate_plan(parse_plan("feat(Auth): t"))

    assert _found(verdict) == [("header.scope", "INVALID_FORMAT")]
    assert verdict.warnings == (Finding("header.scope", "write the scope small: `auth`", "SCOPE_CASE"),)


@requirement("planner:C36")
@pytest.mark.parametrize(
    ("text", "validated"), [("feat(x): t", True), ("ci(x): t", False), ("hello", False), ("", False)]
)
def test_the_guard_asks_for_both(text: str, validated: object) -> None:
    plan = parse_plan(text)

    assert is_validated(plan, validate_plan(plan)) is validated
    assert is_validated(plan, ValidationResult()) is (text not in {"hello", ""})


def test_the_scope_of_a_monorepo_is_a_choice() -> None:
    config = create_config({"scope_pattern": SCOPE_WITH_PATHS})

    assert isinstance(config, PlanConfig)
    assert validate_plan(parse_plan("feat(a/b.c): t", config), config).is_valid
