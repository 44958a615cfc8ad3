"""Configurations: the presets, and those of one's own."""

import subprocess
import sys
from typing import Any

import pytest

from handrail.documents.plan.format import format_plan
from handrail.documents.plan.grammar import (
    COMMIT_MESSAGE,
    COMMITS,
    MARKDOWN_TASKS,
    PRESETS,
    STRICT,
    YAML_LIKE,
    PlanConfig,
)
from handrail.documents.plan.model import Header, Plan, PlanState, Task
from handrail.documents.plan.parse import parse_plan
from handrail.documents.plan.validate import ValidationResult, create_config, validate_config, validate_plan
from helpers.requirement import requirement


def _made(overrides: dict[str, Any], base: PlanConfig = COMMIT_MESSAGE) -> PlanConfig:
    config = create_config(overrides, base)
    assert isinstance(config, PlanConfig)
    return config


@requirement("planner:C22")
def test_the_four_presets_have_names() -> None:
    assert PRESETS == {
        "COMMIT_MESSAGE": COMMIT_MESSAGE,
        "MARKDOWN_TASKS": MARKDOWN_TASKS,
        "YAML_LIKE": YAML_LIKE,
        "STRICT": STRICT,
    }
    assert [validate_config(config) for config in (*PRESETS.values(), COMMITS)] == [ValidationResult()] * 5


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("feat(x): " + "a" * 51, "title_too_long"),
        ("feat(x): t\n\n" + "a" * 9_989, "input_too_long"),
        ("feat(x): t\n\n" + "- [ ]: a\n" * 51, "too_many_tasks"),
        ("feat(x): t\n\n" + "".join(f"{'  ' * n}- [ ]: a\n" for n in range(5)), "task_too_deep"),
        ("feat(x): t\n\n- [ ]: a\nb", "direction_too_short"),
    ],
)
def test_strict_has_narrow_limits(text: str, code: str) -> None:
    assert [one.code for one in parse_plan(text, STRICT).problems] == [code]
    assert parse_plan(text.replace("\nb", "\nbcde")).state is PlanState.PARSED


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (MARKDOWN_TASKS, "# Title here\n\nwhy\n\n> Never: Shout\n\n- [x] one\n  - [ ] two: three\n\nok\n"),
        (
            YAML_LIKE,
            "title: Title here\n\nwhy\n\na: b\n\n- task: one (x)\n    - task: two: three ( )\n\nGo on\n",
        ),
    ],
)
def test_markdown_and_yaml_are_read_and_written(config: PlanConfig, text: str) -> None:
    plan = parse_plan(text, config)

    assert plan.header == Header("", title="Title here")
    assert (plan.description, len(plan.constraints or ())) == ("why", 1)
    assert plan.tasks == (Task(0, ticked=True, text="one"), Task(1, ticked=False, text="two: three"))
    assert format_plan(plan, config) == text
    assert validate_plan(parse_plan("# t", MARKDOWN_TASKS), MARKDOWN_TASKS) == ValidationResult()


def test_the_presets_know_what_comes_near_their_patterns() -> None:
    (problem,) = parse_plan("# t\n\n- [X] a", MARKDOWN_TASKS).problems
    assert (problem.code, problem.repair.partition(";")[0]) == (
        "task_malformed",
        "write `- [ ] text`, or `- [x] text` if it is done",
    )
    assert [one.code for one in parse_plan("# t\n\nd\n> no key", MARKDOWN_TASKS).warnings] == [
        "constraint_skipped"
    ]
    assert [one.code for one in parse_plan("title: t\n\n- task: a", YAML_LIKE).problems] == ["task_malformed"]
    assert parse_plan("# t\n\n- bullet", MARKDOWN_TASKS).description == "- bullet"
    assert parse_plan("hello", MARKDOWN_TASKS).state is PlanState.UNKNOWN


@requirement("planner:C21")
def test_overrides_are_merged_and_header_patterns_one_by_one() -> None:
    config = _made(
        {
            "max_title_length": 5,
            "types": ["task"],
            "header_patterns": {"type": r"(?P<type>[A-Z]+):(?P<ignored>.*)"},
            "direction_halt_length": None,
        }
    )

    assert config.header_patterns.complete == COMMIT_MESSAGE.header_patterns.complete
    assert parse_plan("TASK: x", config).header == Header("TASK", ignored=" x")
    assert parse_plan("feat(x): t", config).header == Header("feat", "x", title="t")
    assert parse_plan("feat(x): titles", config).state is PlanState.HALTED
    assert parse_plan("fix: t", config).state is PlanState.UNKNOWN
    assert parse_plan("feat(x): t\n\n- [ ]: a\nb", config).direction == "b"
    assert config.types == ("task",)
    assert create_config({}) == COMMIT_MESSAGE


def test_patterns_and_forms_of_ones_own_are_read_and_written() -> None:
    config = _made(
        {
            "task_pattern": r"(?P<indent> *)# (?P<box>x| ) (?P<text>.+)",
            "constraint_pattern": r"! (?P<key>[A-Z]\w+) (?P<value>.+)",
            "near_task_pattern": "",
            "near_constraint_pattern": "!.*",
            "forms": {"task": "{indent}# {box} {text}", "constraint": "! {key} {value}"},
        }
    )
    plan = parse_plan("feat(x): t\n\nd\n! Never say {key} né\n# x a\n  #   {indent}\n", config)

    assert plan == Plan(
        PlanState.PARSED,
        Header("feat", "x", title="t"),
        "d",
        (("Never", "say {key} né"),),
        (Task(0, ticked=True, text="a"), Task(1, ticked=False, text="{indent}")),
    )
    assert format_plan(plan, config) == "feat(x): t\n\nd\n\n! Never say {key} né\n\n# x a\n  #   {indent}\n"
    assert parse_plan("feat(x): t\n\nd\n!", config).constraints == ()


def test_a_pattern_of_ones_own_cannot_hang() -> None:
    config = _made({"constraint_pattern": r"- (?P<key>(?:a|a?)+)(?P<value>b)"})

    assert parse_plan("feat(x): t\n\nd\n- " + "a" * 90_000, config).state is PlanState.PARSED


@pytest.mark.parametrize(
    ("overrides", "field", "code"),
    [
        ({"max_titel_length": 1}, "max_titel_length", "INVALID_VALUE"),
        ({"max_title_length": "1"}, "max_title_length", "INVALID_TYPE"),
        ({"max_title_length": True}, "max_title_length", "INVALID_TYPE"),
        ({"max_title_length": None}, "max_title_length", "INVALID_TYPE"),
        ({"max_title_length": 0}, "max_title_length", "TOO_SMALL"),
        ({"max_nesting_depth": -1}, "max_nesting_depth", "TOO_SMALL"),
        ({"indent_size": 0}, "indent_size", "TOO_SMALL"),
        ({"types": "feat"}, "types", "INVALID_TYPE"),
        ({"prefixes": [1]}, "prefixes", "INVALID_TYPE"),
        ({"task_pattern": 1}, "task_pattern", "INVALID_TYPE"),
        ({"task_pattern": ""}, "task_pattern", "TOO_SMALL"),
        ({"task_pattern": "("}, "task_pattern", "INVALID_FORMAT"),
        ({"task_pattern": "(?=a)(?P<indent>)(?P<box>x)(?P<text>.)"}, "task_pattern", "INVALID_FORMAT"),
        ({"task_pattern": "(?P<indent>)(?P<box>x)"}, "task_pattern", "INVALID_FORMAT"),
        ({"header_patterns": "a"}, "header_patterns", "INVALID_TYPE"),
        ({"header_patterns": {"all": "a"}}, "header_patterns.all", "INVALID_VALUE"),
        ({"header_patterns": {"type": 1}}, "header_patterns.type", "INVALID_TYPE"),
        ({"header_patterns": {"complete": ""}}, "header_patterns.complete", "TOO_SMALL"),
        ({"header_patterns": {"type": "a"}}, "header_patterns.type", "INVALID_FORMAT"),
    ],
)
def test_what_is_no_configuration_is_told_by_its_field(
    overrides: dict[str, Any], field: str, code: str
) -> None:
    verdict = create_config(overrides)

    assert isinstance(verdict, ValidationResult)
    assert [(one.field, one.code) for one in verdict.errors] == [(field, code)]
    assert verdict.errors[0].message


def test_the_engine_for_other_patterns_is_imported_only_for_them() -> None:
    code = (
        "import sys; from handrail.documents.plan.parse import parse_plan;"
        " from handrail.documents.plan.validate import create_config;"
        "from handrail.documents.plan.grammar import PRESETS, COMMITS;"
        "[parse_plan('feat(x): t\\n\\n- a', one) for one in (*PRESETS.values(), COMMITS)];"
        "print('re2' in sys.modules); create_config({'bullet_pattern': 'a'}); print('re2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\nTrue\n"
