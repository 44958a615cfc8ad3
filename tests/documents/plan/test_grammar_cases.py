"""The cases that both dialects were given with, run whole."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from handrail.documents.plan.data import describe_plan
from handrail.documents.plan.edit import parse_plan_data
from handrail.documents.plan.format import format_plan
from handrail.documents.plan.grammar import COMMIT_MESSAGE, COMMITS
from handrail.documents.plan.model import Plan, PlanRefusal
from handrail.documents.plan.parse import parse_plan
from handrail.documents.plan.stages import decide_type, detect_stage
from handrail.documents.plan.validate import validate_plan
from helpers.requirement import requirement

CASES: Final = [
    json.loads(line) for line in (Path(__file__).parent / "cases" / "grammar.jsonl").read_text().splitlines()
]
CONFIGS: Final = {"planner": COMMIT_MESSAGE, "commits": COMMITS}


def _text(case: Mapping[str, Any]) -> str:
    made = case.get("input_gen")
    return str(made["pre"] + made["unit"] * made["n"] + made["post"] if made else case["input"])


def _ids(nodes: list[dict[str, Any]]) -> Iterator[str]:
    for node in nodes:
        yield node["id"]
        yield from _ids(node["children"])


HELPERS: Final[Mapping[str, Callable[[dict[str, Any], Any], object]]] = {
    "absent": lambda data, names: [name for name in names if name not in data],
    "header_absent": lambda data, names: [name for name in names if name not in data["header"]],
    "warning_codes": lambda data, _: [one["code"] for one in data["warnings"]],
    "task_count": lambda data, _: len(data["tasks"]),
    "task_ids": lambda data, _: list(_ids(data["tasks"])),
}


def _parsed(case: Mapping[str, Any]) -> None:
    config = CONFIGS[case["dialect"]]
    text = _text(case)
    plan = parse_plan(text, config, has_modifications=case.get("has_modifications", False))
    data: dict[str, Any] = describe_plan(plan, config, text)
    seen = {name: HELPERS[name](data, case["expect"][name]) for name in case["expect"] if name in HELPERS}

    assert {**{name: data.get(name) for name in case["expect"]}, **seen} == case["expect"]


def _validated(case: Mapping[str, Any]) -> None:
    data: dict[str, Any] = validate_plan(parse_plan(case["input"])).to_data()
    for kind in ("errors", "warnings"):
        data[kind] = [{"field": one["field"], "code": one["code"]} for one in data[kind]]

    assert data == case["expect"]


def _round_trip(case: Mapping[str, Any]) -> None:
    plan = parse_plan(case["input"])
    text = format_plan(plan)

    assert text == case["expect"]["format_equals"]
    assert parse_plan(str(text)) == plan


def _refused(case: Mapping[str, Any]) -> None:
    plan = parse_plan_data(case["input"])
    assert isinstance(plan, Plan)
    refused = format_plan(plan)

    assert isinstance(refused, PlanRefusal)
    assert [(one.code, one.line) for one in refused.problems] == [
        (case["expect"]["reject"], case["expect"]["line"])
    ]


def _staged(case: Mapping[str, Any]) -> None:
    assert detect_stage(parse_plan(case["input"])) == case["expect"]["stage"]


def _decided(case: Mapping[str, Any]) -> None:
    assert decide_type(case["input"]) == case["expect"]["type"]


OPERATIONS: Final = {
    "parse": _parsed,
    "validate": _validated,
    "roundtrip": _round_trip,
    "format": _refused,
    "stage": _staged,
    "decide_type": _decided,
}


@requirement("planner:api")
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_given_case_holds(case: Mapping[str, Any]) -> None:
    OPERATIONS[case["op"]](case)


def test_no_given_case_was_left_out() -> None:
    assert len(CASES) == 106
    assert {case["op"] for case in CASES} == set(OPERATIONS)
