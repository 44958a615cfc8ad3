"""Edits: each gives a new plan that can be written, or says why there is none."""

from typing import Any

import pytest

from handrail.documents.plan.edit import (
    finish_plan,
    parse_writable_plan,
    reopen_plan,
    set_constraints,
    set_description,
    set_goal,
    set_tasks,
)
from handrail.documents.plan.format import format_plan
from handrail.documents.plan.grammar import COMMIT_MESSAGE, COMMITS, PlanConfig
from handrail.documents.plan.model import Header, Plan, PlanRefusal
from handrail.documents.plan.parse import parse_plan
from helpers.requirement import requirement

NODE = {"summary": "a", "details": "b"}


def _text(plan: Plan | PlanRefusal, config: PlanConfig = COMMIT_MESSAGE) -> str:
    assert isinstance(plan, Plan), plan
    written = format_plan(plan, config)
    assert isinstance(written, str)
    return written


def _why(plan: Plan | PlanRefusal) -> list[tuple[str, ...]]:
    assert isinstance(plan, PlanRefusal)
    assert all(one.message and one.repair for one in plan.problems)
    return [(one.code,) for one in plan.problems] + [(one.field, one.code) for one in plan.findings]


def test_a_goal_is_set_and_changed_and_the_rest_stays() -> None:
    goal = Header("feat", "api", title="t")

    assert _text(set_goal(parse_plan(""), goal)) == "feat(api): t\n"
    assert _text(set_goal(parse_plan("fix: old\n\nd\n\n- [ ]: a"), goal)) == "feat(api): t\n\nd\n\n- [ ]: a\n"
    assert _text(set_goal(parse_plan("", COMMITS), Header("ci", title="t"), COMMITS), COMMITS) == "ci: t\n"


@requirement("commits:K4")
def test_the_scope_of_a_goal_is_written_small_and_warned_of() -> None:
    plan = set_goal(parse_plan(""), Header("feat", "API", title="t"))

    assert _text(plan) == "feat(api): t\n"
    assert isinstance(plan, Plan)
    assert [one.code for one in plan.warnings] == ["scope_lowercased"]


@pytest.mark.parametrize(
    ("goal", "why"),
    [
        (Header("ci", "x", title="t"), [("header.type", "INVALID_VALUE")]),
        (Header("feat", "a b", title="t"), [("header.scope", "INVALID_FORMAT")]),
        (Header("feat", "x", title="t" * 121), [("header.title", "TOO_BIG")]),
        (Header("feat", "x", title="a\nb"), [("header.title", "INVALID_FORMAT")]),
        (Header("feat", title="t"), [("header_not_representable",)]),
    ],
)
def test_a_goal_that_is_none_is_refused(goal: Header, why: list[tuple[str, ...]]) -> None:
    assert _why(set_goal(parse_plan(""), goal)) == why


@pytest.mark.parametrize(
    ("text", "why"),
    [("", [("goal_missing",)]), ("hello", [("plan_unread",), ("header_malformed",)])],
)
def test_what_is_no_plan_is_not_edited(text: str, why: list[tuple[str, ...]]) -> None:
    plan = parse_plan(text)

    assert _why(set_description(plan, "d")) == why
    assert _why(set_constraints(plan, ["Never: x"])) == why
    assert _why(set_tasks(plan, [[False, "a", []]])) == why
    assert _why(finish_plan(plan)) == why
    assert _why(reopen_plan(plan)) == why
    assert text == "" or _why(set_goal(plan, Header("feat", "x", title="t"))) == why


def test_a_description_is_set_without_the_empty_lines_around_it() -> None:
    assert (
        _text(set_description(parse_plan("feat(x): t"), "\n a\r\n\r\nb \n\n")) == "feat(x): t\n\n a\n\nb \n"
    )


def test_a_description_that_says_nothing_or_would_be_more_is_refused() -> None:
    plan = parse_plan("feat(x): t\n\nold")

    assert _why(set_description(plan, " \n")) == [("description", "TOO_SMALL")]
    refused = set_description(plan, "\n\na\n- Key: Value")
    assert isinstance(refused, PlanRefusal)
    assert [(one.code, one.line) for one in refused.problems] == [("description_not_representable", 4)]
    assert _why(set_description(plan, "a\0")) == [("unsafe_character",)]
    assert _why(set_description(plan, "a" * 100_000)) == [("input_too_long",)]


def test_constraints_are_set_and_taken_away() -> None:
    plan = parse_plan("feat(x): t\n\nd")

    assert (
        _text(set_constraints(plan, ["Never: x", ["Avoid", "y"]]))
        == "feat(x): t\n\nd\n\n- Never: x\n- Avoid: y\n"
    )
    assert _text(set_constraints(parse_plan("feat(x): t\n\nd\n\n- Never: x"), [])) == "feat(x): t\n\nd\n"
    assert (
        _text(set_constraints(parse_plan("feat(x): t\n\n- Never: x\n- [ ]: a"), []))
        == "feat(x): t\n\n- [ ]: a\n"
    )
    none = set_constraints(parse_plan("feat: t", COMMITS), [], COMMITS)
    assert _text(none, COMMITS) == "feat: t\n\nConstraints: none\n"


def test_lines_that_were_skipped_stay_when_their_section_gets_shorter() -> None:
    plan = parse_plan("feat(x): t\n\n- Never: a\n- Never: b\n- Bad: One\n- [ ]: a\n- [ ]: b\n- Bad: Two\n")

    fewer = set_constraints(plan, [])
    assert isinstance(fewer, Plan)
    assert _text(set_tasks(fewer, [[False, "c", []]])) == "feat(x): t\n\n- Bad: One\n\n- [ ]: c\n- Bad: Two\n"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["Must: x"], [("constraints.0.0", "INVALID_VALUE")]),
        (["Never: X"], [("constraints.0.1", "CUSTOM")]),
        (["Never"], [("constraints.0.1", "TOO_SMALL")]),
        (["Never: 1"], [("constraint_not_representable",)]),
        (["Never: a\nb"], [("constraints.0.1", "INVALID_FORMAT")]),
    ],
)
def test_constraints_that_are_none_are_refused(given: list[str], why: list[tuple[str, ...]]) -> None:
    assert _why(set_constraints(parse_plan("feat(x): t\n\nd"), given)) == why


def test_the_last_constraint_ahead_of_a_direction_stays() -> None:
    plan = parse_plan("feat(x): t\n\n- Never: x\n\nGo on")

    assert _why(set_constraints(plan, [])) == [("direction_not_representable",)]
    plan = parse_plan("feat(x): t\n\nd\n\n- Never: x\n- bullet")
    assert _why(set_constraints(plan, [])) == [("skipped_not_representable",)]


def test_tasks_are_set() -> None:
    tasks = [[True, "a", [[False, "b", []]]]]

    assert _text(set_tasks(parse_plan("feat(x): t"), tasks)) == "feat(x): t\n\n- [x]: a\n  - [ ]: b\n"


@requirement("commits:K15")
def test_tasks_of_commits_are_set_nested_or_by_level_and_parents_follow() -> None:
    plan = parse_plan("feat: t\n\nTasks [X]:\n- [x] a: b", COMMITS)
    nested = [{**NODE, "children": [{**NODE, "completed": True}]}, {"summary": "c", "details": "d"}]
    leveled = [
        {**NODE, "completed": True, "level": 0},
        {**NODE, "completed": True, "level": 1},
        {"summary": "c", "details": "d", "level": 0},
    ]

    for given in (nested, leveled):
        edited = set_tasks(plan, given, COMMITS)
        assert _text(edited, COMMITS) == "feat: t\n\nTasks [ ]:\n- [x] a: b\n  - [x] a: b\n- [ ] c: d\n"
        assert isinstance(edited, Plan)
        assert [one.code for one in edited.warnings] == ["box_opened"]


def test_tasks_that_are_set_open_the_box_of_commits_even_if_all_are_complete() -> None:
    plan = parse_plan("feat: t\n\nTasks [X]:\n- [x] a: b", COMMITS)

    edited = set_tasks(plan, [{**NODE, "completed": True}], COMMITS)

    assert _text(edited, COMMITS) == "feat: t\n\nTasks [ ]:\n- [x] a: b\n"
    assert isinstance(edited, Plan)
    assert [one.message for one in edited.warnings] == ["the plan was complete: its box is open again"]


@requirement("commits:K19")
def test_a_whole_text_is_written_anew_or_not_at_all() -> None:
    assert _text(parse_writable_plan("feat(X): t\n\n\nd\n\n\n", COMMITS), COMMITS) == "feat(x): t\n\nd\n"
    assert _why(parse_writable_plan("feat: t\n\nTasks [ ]:\n- [ ] a", COMMITS)) == [("task_malformed",)]
    assert _why(parse_writable_plan("feat: t\n\nTasks [ ]:", COMMITS)) == [("tasks_empty",)]
    assert _why(parse_writable_plan(" \n", COMMITS)) == [("goal_missing",)]


@pytest.mark.parametrize(
    ("config", "given", "why"),
    [
        (COMMIT_MESSAGE, [], [("tasks", "TOO_SMALL")]),
        (COMMIT_MESSAGE, [[False, "", []]], [("tasks.0.1", "TOO_SMALL")]),
        (COMMIT_MESSAGE, [[False, "a\nb", []]], [("tasks.0.1", "INVALID_FORMAT")]),
        (
            COMMIT_MESSAGE,
            [[False, "0", [[False, "1", [[False, "2", [[False, "3", [[False, "4", []]]]]]]]]]],
            [("tasks.0.2.0.2.0.2.0.2", "TOO_BIG")],
        ),
        (COMMITS, [NODE, NODE], [("tasks.1.summary", "INVALID_VALUE")]),
        (COMMITS, [{**NODE, "level": 1}], [("tasks.0.level", "INVALID_VALUE")]),
        (COMMITS, [{**NODE, "level": True}], [("tasks.0.level", "INVALID_VALUE")]),
        (COMMITS, [{**NODE, "summary": "a: b"}], [("not_representable",)]),
        (COMMITS, [1], [("tasks.0", "INVALID_TYPE")]),
    ],
)
def test_tasks_that_are_none_are_refused(
    config: PlanConfig, given: list[Any], why: list[tuple[str, ...]]
) -> None:
    assert _why(set_tasks(parse_plan("fix(x): t", config), given, config)) == why


@requirement("planner:plan.reopen")
def test_new_tasks_that_are_open_take_the_marker_away() -> None:
    plan = parse_plan("feat(x): t\n\n- [x]: a\n\nGo on\n- Bad: One\n\n~~~ COMPLETE ~~~")

    edited = set_tasks(plan, [[False, "b", []]])
    assert _text(edited) == "feat(x): t\n\n- [ ]: b\n\nGo on\n- Bad: One\n"
    assert isinstance(edited, Plan)
    assert [one.code for one in edited.warnings] == ["marker_removed"]
    stored = set_tasks(plan, [[True, "b", []]])
    assert _text(stored).endswith("~~~ COMPLETE ~~~\n")


def test_a_direction_that_was_only_a_marker_goes_and_what_was_skipped_stays() -> None:
    text = "feat(x): t\n\n- [x]: a\n- Bad: One\n\nCOMPLETE"

    assert _text(reopen_plan(parse_plan(text))) == "feat(x): t\n\n- [x]: a\n- Bad: One\n"


@pytest.mark.parametrize("ahead", ["- [x]: a", "- Never: x", "- Bad: Two"])
def test_a_skipped_line_behind_a_bare_marker_moves_to_the_section_that_is_left(ahead: str) -> None:
    plan = parse_plan(f"feat(x): t\n\n{ahead}\n\nCOMPLETE\n- Bad: One")

    assert _text(reopen_plan(plan)) == f"feat(x): t\n\n{ahead}\n- Bad: One\n"


@pytest.mark.parametrize(
    ("tail", "direction"),
    [
        ("", "~~~ COMPLETE ~~~\n"),
        ("\nGo on", "Go on\n~~~ COMPLETE ~~~\n"),
        ("\nGo on\n\n~~~ EXECUTE ~~~", "Go on\n~~~ COMPLETE ~~~\n"),
        ("\nCOMPLETE", "~~~ COMPLETE ~~~\n"),
    ],
)
def test_a_finished_plan_says_so_in_its_last_line(tail: str, direction: str) -> None:
    assert (
        _text(finish_plan(parse_plan("feat(x): t\n\n- [x]: a\n" + tail)))
        == "feat(x): t\n\n- [x]: a\n\n" + direction
    )


@requirement("commits:K18")
def test_a_plan_of_commits_is_finished_and_unfinished_by_its_box() -> None:
    plan = parse_plan("feat: t\n\nTasks [ ]:\n- [x] a: b", COMMITS)

    complete = finish_plan(plan, COMMITS)
    assert _text(complete, COMMITS) == "feat: t\n\nTasks [X]:\n- [x] a: b\n"
    assert isinstance(complete, Plan)
    assert _text(reopen_plan(complete, COMMITS), COMMITS) == "feat: t\n\nTasks [ ]:\n- [x] a: b\n"


@requirement("planner:C40")
def test_only_a_plan_whose_tasks_are_all_complete_can_be_finished() -> None:
    assert _why(finish_plan(parse_plan("feat(x): t"))) == [("no_tasks_found",)]
    refused = finish_plan(parse_plan("feat(x): t\n\n- [x]: a\n  - [ ]: b"))
    assert _why(refused) == [("not_all_tasks_complete",)]
    assert isinstance(refused, PlanRefusal)
    assert refused.problems[0].message == "1 of 2 tasks are open: b"
    assert refused.candidates == ("b",)


def test_an_edit_of_a_plan_that_is_not_valid_says_what_is_wrong_with_it() -> None:
    assert _why(set_description(parse_plan("ci(x): t"), "d")) == [("header.type", "INVALID_VALUE")]
