"""Hostile texts: the steps of a reading grow with the text and not faster, and nothing recurses."""

import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest

from handrail.documents.plan.data import describe_plan
from handrail.documents.plan.format import format_plan
from handrail.documents.plan.grammar import COMMIT_MESSAGE, COMMITS, MARKDOWN_TASKS, YAML_LIKE, PlanConfig
from handrail.documents.plan.model import PlanState
from handrail.documents.plan.parse import parse_plan
from handrail.documents.plan.validate import validate_plan
from helpers.requirement import requirement

T = "feat(x): t\n\n"
LIFTED = replace(COMMIT_MESSAGE, max_nesting_depth=10**6, max_task_count=10**6, max_input_length=10**9)

HOSTILE: dict[str, Callable[[int], str]] = {
    "empty lines, then bullets": lambda n: T + "\n" * n + "a\n" + "- b\n" * n,
    "skipped lines": lambda n: T + "- A: B\n" * n,
    "skipped lines in a direction": lambda n: T + "- A: b\ndirection\n" + "- A: B\n\n" * n,
    "tasks": lambda n: T + "- [ ]: a\n" * n,
    "tasks of another dialect": lambda n: T + "Tasks [ ]:\n" + "".join(f"- [ ] {i}: b\n" for i in range(n)),
    "constraints": lambda n: T + "Constraints:\n" + "- Never: b\n" * n,
    "zigzag": lambda n: T + "- [ ]: a\n  - [ ]: b\n    - [ ]: c\n" * n,
    "texts": lambda n: T + "a\n\n" * n,
    "markers": lambda n: T + "a ~~~ A ~~~\n" * n,
}


def _steps(text: str, config: PlanConfig) -> int:
    """How many lines of Python a reading runs."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:  # noqa: ANN401 - what sys.settrace calls
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        parse_plan(text, config)
    finally:
        sys.settrace(before)
    return count


@requirement("planner:C24")
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    "config", [LIFTED, COMMITS, MARKDOWN_TASKS, YAML_LIKE], ids=["planner", "commits", "md", "yaml"]
)
def test_twice_the_text_takes_at_most_twice_the_steps(name: str, config: PlanConfig) -> None:
    once, twice = (_steps(HOSTILE[name](n), config) for n in (200, 400))

    assert once > 0
    assert twice <= 2 * once + 50


@pytest.mark.parametrize(
    "line",
    [
        "feat(x):" + " " * 90_000 + "\rx\r",
        "feat(x):" + " " * 90_000,
        "feat(" + "a" * 90_000,
        "a" * 90_000,
        T + "- " + "a:" * 45_000,
        T + " " * 45_000 + "- " + " " * 45_000,
        T + "- [ ]: a\n~~~ " + "A " * 45_000 + "~~",
        "title: t\n\n- task: " + "(" * 90_000,
        "feat: t" + " " * 90_000,
        T + "Constraints" + " " * 90_000 + "x",
    ],
)
@pytest.mark.parametrize("config", [COMMIT_MESSAGE, COMMITS, MARKDOWN_TASKS, YAML_LIKE])
def test_no_pattern_hangs_on_a_hostile_line(line: str, config: PlanConfig) -> None:
    assert parse_plan(line, config).state in PlanState


@requirement("planner:C20")
def test_a_hundred_thousand_nested_tasks_are_refused() -> None:
    nested = [False, "a", []]
    for _ in range(100_000):
        nested = [False, "a", [nested]]

    flat = T + "".join(f"{' ' * min(level, 50)}- [ ]: a\n" for level in range(100_000))
    assert [one.code for one in parse_plan(flat).problems] == ["input_too_long"]
    found = validate_plan({"header": {"type": "feat"}, "tasks": [nested]})
    assert [(one.field, one.code) for one in found.errors] == [("tasks.0.2.0.2.0.2.0.2.0.2", "TOO_BIG")]


def test_with_the_limits_lifted_deep_and_long_plans_are_read_and_written() -> None:
    deep = T + "".join(f"{' ' * level}- [ ]: a\n" for level in range(3_000))
    long = T + "- [ ]: a\n" * 100_000

    plan = parse_plan(deep, LIFTED)
    assert plan.tasks is not None
    assert (len(plan.tasks), plan.tasks[-1].level) == (3_000, 2_999)
    assert parse_plan(str(format_plan(plan, LIFTED)), LIFTED) == plan
    assert describe_plan(plan, LIFTED)["tasks"]
    assert validate_plan(plan, LIFTED).is_valid
    assert len(parse_plan(long, LIFTED).tasks or ()) == 100_000
