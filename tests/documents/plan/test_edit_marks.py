"""Marking tasks: exactly one is meant, or the candidates are named."""

import pytest

from handrail.documents.plan.edit import mark_task
from handrail.documents.plan.grammar import COMMIT_MESSAGE, COMMITS, PlanConfig
from handrail.documents.plan.model import Plan, PlanRefusal, list_task_paths
from handrail.documents.plan.parse import parse_plan
from helpers.requirement import requirement

PLANNER = (
    "feat(x): t\n\n- [ ]: Write the parser\n  - [ ]: Read lines\n- [ ]: Write tests\n- [ ]: Tests\n"
    "- [ ]: Read Lines\n"
)
ALL = ("write-the-parser", "write-the-parser/read-lines", "write-tests", "tests", "read-lines")
COMMIT = "feat: t\n\nTasks [ ]:\n- [ ] A: x\n  - [ ] T: 1\n  - [ ] U: 2\n- [ ] B: x\n  - [ ] T: 3\n"


def _ticked(plan: Plan | PlanRefusal) -> list[int]:
    assert isinstance(plan, Plan), plan
    return [index for index, task in enumerate(plan.tasks or ()) if task.ticked]


def _refused(plan: Plan | PlanRefusal) -> tuple[str, tuple[str, ...]]:
    assert isinstance(plan, PlanRefusal)
    assert plan.problems[0].message
    return plan.problems[0].code, plan.candidates


@requirement("planner:C40")
@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("parser", 0),
        (" PARSER ", 0),
        ("Tests", 3),
        ("write-tests", 2),
        ("write-the-parser/read-lines", 1),
        ("Read lines", 1),
        ("Read Lines", 4),
        ("read-lines", 4),
    ],
)
def test_a_task_is_meant_by_its_text_a_part_of_it_its_id_or_its_path(name: str, index: int) -> None:
    assert _ticked(mark_task(parse_plan(PLANNER), name)) == [index]


@pytest.mark.parametrize(
    ("name", "code", "candidates"),
    [
        ("write", "task_ambiguous", ("write-the-parser", "write-tests")),
        ("nothing", "task_not_found", ALL),
        (" ", "task_not_found", ALL),
    ],
)
def test_several_or_none_are_refused_with_the_candidates(
    name: str, code: str, candidates: tuple[str, ...]
) -> None:
    assert _refused(mark_task(parse_plan(PLANNER), name)) == (code, candidates)


def test_tasks_with_the_same_text_have_numbered_paths() -> None:
    plan = parse_plan("feat(x): t\n\n- [ ]: a\n- [ ]: a\n- [ ]: a 1\n- [ ]: !\n  - [ ]: a\n")

    assert list_task_paths(plan.tasks or ()) == ("a-2", "a-3", "a-1", "task", "task/a")
    assert _refused(mark_task(plan, "a")) == ("task_ambiguous", ("a-2", "a-3", "task/a"))
    assert _ticked(mark_task(plan, "a-3")) == [1]


def test_many_candidates_are_not_all_named_in_the_sentence() -> None:
    plan = parse_plan("feat(x): t\n\n" + "".join(f"- [ ]: task {n}\n" for n in range(12)))

    refused = mark_task(plan, "task")
    assert isinstance(refused, PlanRefusal)
    assert len(refused.candidates) == 12
    assert refused.problems[0].message.endswith("task-9 and 2 more")


def test_in_planner_only_the_task_that_is_meant_changes() -> None:
    plan = parse_plan("feat(x): t\n\n- [x]: a\n  - [x]: b\n")

    assert _ticked(mark_task(plan, "b", completed=False)) == [0]
    assert _ticked(mark_task(plan, "a", completed=False)) == [1]


@requirement("commits:unfinish")
def test_an_open_task_takes_back_that_the_plan_is_complete() -> None:
    planner = mark_task(parse_plan("feat(x): t\n\n- [x]: a\n\n~~~ COMPLETE ~~~"), "a", completed=False)
    assert isinstance(planner, Plan)
    assert (planner.direction, [one.code for one in planner.warnings]) == (None, ["marker_removed"])

    commits = mark_task(
        parse_plan("feat: t\n\nTasks [X]:\n- [x] a: b", COMMITS), "a", COMMITS, completed=False
    )
    assert isinstance(commits, Plan)
    assert (commits.finished, [one.code for one in commits.warnings]) == (False, ["box_opened"])


@requirement("commits:K17")
def test_in_commits_the_tasks_above_follow() -> None:
    plan = parse_plan(COMMIT, COMMITS)

    one = mark_task(plan, "u", COMMITS)
    assert _ticked(one) == [2]
    assert isinstance(one, Plan)
    two = mark_task(one, "a/t", COMMITS)
    assert _ticked(two) == [0, 1, 2]
    assert isinstance(two, Plan)
    assert _ticked(mark_task(two, "a/u", COMMITS, completed=False)) == [1]


@requirement("commits:K13")
@pytest.mark.parametrize(
    ("name", "code", "candidates"),
    [
        ("t", "task_ambiguous", ("a/t", "b/t")),
        ("a", "task_has_others_below", ()),
        ("T", "task_not_found", ("a", "a/t", "a/u", "b", "b/t")),
    ],
)
def test_commits_takes_an_id_that_is_unique_or_a_path_of_a_task_without_others_below(
    name: str, code: str, candidates: tuple[str, ...]
) -> None:
    assert _refused(mark_task(parse_plan(COMMIT, COMMITS), name, COMMITS)) == (code, candidates)


@pytest.mark.parametrize(
    ("text", "config", "code"),
    [
        ("feat(x): t", COMMIT_MESSAGE, "no_tasks_found"),
        ("feat: t", COMMITS, "no_tasks_found"),
        ("", COMMITS, "goal_missing"),
    ],
)
def test_without_tasks_nothing_is_marked(text: str, config: PlanConfig, code: str) -> None:
    assert _refused(mark_task(parse_plan(text, config), "a", config)) == (code, ())
