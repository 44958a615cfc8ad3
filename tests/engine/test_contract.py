import time
from dataclasses import replace

import pytest

from handrail.engine.contract import Violation, find_schema_problem, find_violations
from handrail.engine.facts import Value
from handrail.engine.model import Contract, FactReading, Tool
from handrail.engine.refusals import RefusalCode
from helpers.workflows import build_output, expect_refusal, list_open_states, load_valid_workflow, start_run

PATCH: dict[str, Value] = {"type": "patch", "title": "The change", "content": "--- a"}
ANYTHING = Contract(schema={"properties": {"extra": {}}})


def broken(contract: Contract | None = None, /, **changes: Value) -> list[tuple[str, str]]:
    found = find_violations(contract or Contract(), build_output(**changes))
    return [(violation.path, violation.message) for violation in found]


def paths(contract: Contract | None = None, /, **changes: Value) -> list[str]:
    return [path for path, _ in broken(contract, **changes)]


def nested(levels: int) -> Value:
    value: Value = 1
    for _ in range(levels):
        value = [value]
    return value


def test_an_output_of_the_common_form_is_good() -> None:
    assert broken() == []


def test_every_field_of_the_common_form_may_be_given() -> None:
    assert (
        broken(
            artifacts=[PATCH, {**PATCH, "description": "smaller"}],
            references=["src/a.py:3"],
            confidence=1,
            decisions=[{"what": "keep it"}],
            findings=["one"],
            blockers=[],
        )
        == []
    )


@pytest.mark.parametrize("field", ["decisions", "findings", "blockers"])
def test_an_optional_field_may_be_null(field: str) -> None:
    assert broken(**{field: None}) == []


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("summary", "must be a text that is not empty"),
        ("artifacts", "must be a list; an empty one if there is nothing to hand in"),
        ("references", "must be a list of texts; an empty one if there are none"),
        ("confidence", "must be a number from 0 to 1"),
    ],
)
def test_a_required_field_that_is_missing_or_null_is_told(field: str, message: str) -> None:
    given = {name: value for name, value in build_output().items() if name != field}
    assert find_violations(Contract(), given) == (Violation(field, message),)
    assert broken(**{field: None}) == [(field, message)]


def test_an_empty_output_breaks_each_of_the_four() -> None:
    assert sorted(violation.path for violation in find_violations(Contract(), {})) == [
        "artifacts",
        "confidence",
        "references",
        "summary",
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("summary", ""),
        ("summary", " \n\t"),
        ("summary", 5),
        ("summary", ["a"]),
        ("confidence", -0.01),
        ("confidence", 1.01),
        ("confidence", True),
        ("confidence", "0.9"),
        ("confidence", float("nan")),
        ("confidence", float("inf")),
        ("confidence", 10**400),
        ("references", "a"),
        ("references", ["a", 1]),
        ("references", {"a": 1}),
        ("blockers", "none"),
        ("blockers", [None]),
        ("decisions", "one"),
        ("decisions", {"a": 1}),
        ("findings", 3),
        ("artifacts", "patch"),
        ("artifacts", {"type": "patch"}),
    ],
)
def test_a_field_of_the_wrong_shape_is_told(field: str, value: Value) -> None:
    assert paths(**{field: value}) == [field]


@pytest.mark.parametrize("confidence", [0, 0.0, 0.5, 1, 1.0])
def test_confidence_runs_from_nothing_to_one(confidence: float) -> None:
    assert broken(confidence=confidence) == []


@pytest.mark.parametrize(
    ("artifact", "expected"),
    [
        ("patch", ["artifacts[1]"]),
        (None, ["artifacts[1]"]),
        ({}, ["artifacts[1].type", "artifacts[1].title", "artifacts[1].content"]),
        ({**PATCH, "type": ""}, ["artifacts[1].type"]),
        ({**PATCH, "title": None}, ["artifacts[1].title"]),
        ({**PATCH, "content": 3}, ["artifacts[1].content"]),
        ({**PATCH, "description": 3}, ["artifacts[1].description"]),
        ({**PATCH, "path": "/etc/passwd", "mode": 7}, ["artifacts[1].mode", "artifacts[1].path"]),
    ],
)
def test_each_fault_of_an_artifact_is_told_with_its_path(artifact: Value, expected: list[str]) -> None:
    assert paths(artifacts=[PATCH, artifact]) == expected


def test_an_unknown_field_is_told_with_those_that_are_known() -> None:
    known = "artifacts, blockers, confidence, decisions, findings, references, summary"
    message = f"is no field of this output; known are {known}"
    assert broken(comment="hi", verdict="good") == [("comment", message), ("verdict", message)]


def test_a_field_of_the_schema_is_known() -> None:
    assert broken(Contract(schema={"properties": {"verdict": {"type": "string"}}}), verdict="good") == []


def test_a_required_artifact_type_must_be_handed_in() -> None:
    contract = Contract(artifacts=("patch", "review"))
    assert broken(contract, artifacts=[PATCH, {**PATCH, "type": "review"}]) == []
    assert broken(contract, artifacts=[PATCH]) == [
        ("artifacts", "must hold one of type `review`; types handed in: patch")
    ]
    assert broken(contract)[0] == ("artifacts", "must hold one of type `patch`; types handed in: none")


def test_confidence_may_not_be_below_what_the_step_asks() -> None:
    contract = Contract(min_confidence=0.6)
    assert broken(contract, confidence=0.6) == []
    assert broken(contract, confidence=1) == []
    assert broken(contract, confidence=0.59) == [("confidence", "must be at least 0.6; it is 0.59")]
    assert broken(contract, confidence=0) == [("confidence", "must be at least 0.6; it is 0.0")]


@pytest.mark.parametrize(("blockers", "count"), [(None, 0), ([], 0), (["no access"], 1), ([""], 1)])
def test_blockers_are_refused_where_the_step_wants_none(blockers: Value, count: int) -> None:
    assert paths(Contract(no_blockers=True), blockers=blockers) == ["blockers"] * count
    assert paths(blockers=blockers) == []


def test_everything_that_is_wrong_is_told_at_once() -> None:
    contract = Contract(("patch",), 0.9, no_blockers=True, schema={"required": ["verdict"]})
    found = paths(contract, summary="", blockers=["x"], comment=1)
    assert found == ["comment", "summary", "artifacts", "confidence", "blockers", "output"]


def test_a_demand_on_a_field_that_is_broken_is_not_asked() -> None:
    contract = Contract(("patch",), 0.9, no_blockers=True)
    assert paths(contract, artifacts=["patch"], confidence="low", blockers=[3]) == [
        "confidence",
        "blockers",
        "artifacts[0]",
    ]


SCHEMA: dict[str, Value] = {
    "type": "object",
    "properties": {
        "verdict": {"enum": ["good", "again"]},
        "files": {"type": "array", "items": {"type": "object", "properties": {"lines": {"minimum": 1}}}},
        "confidence": {"maximum": 0.9},
    },
    "required": ["verdict"],
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["output"]),
        ({"verdict": "fine"}, ["verdict"]),
        ({"verdict": "good", "files": [{}, {"lines": 0}]}, ["files[1].lines"]),
        ({"verdict": "good", "files": [1, 2]}, ["files[0]", "files[1]"]),
        ({"verdict": "good", "confidence": 0.95}, ["confidence"]),
        ({"verdict": "good", "files": []}, []),
    ],
)
def test_a_violation_of_the_schema_is_told_with_its_path(
    changes: dict[str, Value], expected: list[str]
) -> None:
    assert paths(Contract(schema=SCHEMA), **changes) == expected


def test_a_violation_of_the_schema_says_what_is_wrong() -> None:
    assert broken(Contract(schema=SCHEMA)) == [("output", '"verdict" is a required property')]
    assert broken(Contract(schema=SCHEMA), verdict="fine") == [("verdict", 'is not one of "good" or "again"')]


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        (float("nan"), "extra", "must be a finite number"),
        ([1.5, float("-inf")], "extra[1]", "must be a finite number"),
        ({"a": {"b": 2**63}}, "extra.a.b", "must be a number of at most 64 bits"),
        (-(2**63) - 1, "extra", "must be a number of at most 64 bits"),
        ("half \ud83d", "extra", "must be a text without halves of characters"),
        ({"a": {"\udc00": 1}}, "extra.a", "must have texts as keys"),
        ({"a": {5: 1}}, "extra.a", "must have texts as keys"),
        ((1, 2), "extra", "must be a JSON value"),
        (b"bytes", "extra", "must be a JSON value"),
        (nested(32), "extra" + "[0]" * 31, "must not nest deeper than 32 levels"),
        (nested(100_000), "extra" + "[0]" * 31, "must not nest deeper than 32 levels"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_cannot_be_kept_is_told_with_its_path(value: Value, path: str, message: str) -> None:
    assert broken(ANYTHING, extra=value) == [(path, message)]


@pytest.mark.parametrize("value", [nested(31), 2**63 - 1, -(2**63), 1e308, "☂😀", {"": [None, True]}])
def test_any_other_json_value_is_good_where_the_schema_does_not_mind(value: Value) -> None:
    assert broken(ANYTHING, extra=value) == []


@pytest.mark.parametrize("field", ["findings", "decisions"])
def test_what_is_nested_in_the_common_form_is_looked_at_too(field: str) -> None:
    assert paths(**{field: [{"a": float("nan")}]}) == [f"{field}[0].a"]


@pytest.mark.parametrize("value", [True, "3", 1.5, None])
def test_a_truth_value_or_a_text_is_no_number(value: Value) -> None:
    contract = Contract(schema={"properties": {"count": {"type": "integer"}}})
    assert paths(contract, count=value) == ["count"]


def test_a_hostile_pattern_does_not_hang() -> None:
    contract = Contract(schema={"properties": {"name": {"type": "string", "pattern": "^(a+)+$"}}})
    before = time.monotonic()
    assert paths(contract, name="a" * 50_000 + "!") == ["name"]
    assert time.monotonic() - before < 10


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"properties": {"a": {"$ref": "urn:other"}}},
        {"$id": "http://example.com/a", "$ref": "b"},
        {"$dynamicRef": "http://example.com/a"},
        {"$ref": "other.json"},
        {"$ref": "#/nowhere"},
        {"type": "text"},
        {"properties": 5},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"pattern": "(?=lookahead)"}}},
        {"properties": {"a": {"pattern": "((a{1000}){1000}){1000}"}}},
    ],
)
def test_a_schema_that_is_none_or_points_outside_is_a_problem(schema: dict[str, Value]) -> None:
    assert find_schema_problem(schema)


def test_the_problem_of_a_schema_that_points_outside_names_the_reference() -> None:
    assert "`file:///etc/passwd`: a schema may only refer to itself" in find_schema_problem(
        {"$ref": "file:///etc/passwd"}
    )


def test_a_schema_may_refer_to_itself_even_in_a_circle() -> None:
    tree: dict[str, Value] = {
        "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}, "type": "object"}},
        "properties": {"tree": {"$ref": "#/$defs/node"}},
    }
    assert find_schema_problem(tree) == ""
    assert paths(Contract(schema=tree), tree={"next": {"next": 5}}) == ["tree.next.next"]
    circle: dict[str, Value] = {"allOf": [{"$ref": "#"}]}
    assert (find_schema_problem(circle), broken(Contract(schema=circle))) == ("", [])


STEP = """
workflow: contracts
version: 1
authority: sql
steps:
  - name: mend
    agent: implementer
    task: Mend it
    contract: {artifacts: [patch], min_confidence: 0.5}
"""


def test_an_output_that_breaks_the_contract_moves_nothing_and_names_each_path() -> None:
    flow = load_valid_workflow(STEP)
    run = start_run(flow)
    refusal = expect_refusal(flow, run, "continue", {}, **build_output(confidence=0.1, comment="x"))
    assert (refusal.code, refusal.rule) == (RefusalCode.CONTRACT, "mend")
    assert refusal.seen == (
        FactReading("output.comment", "x"),
        FactReading("output.artifacts", []),
        FactReading("output.confidence", 0.1),
    )
    assert [line.split()[0] for line in refusal.needed] == ["comment", "artifacts", "confidence"]
    assert [option.trigger for option in refusal.next] == ["continue"]
    assert list_open_states(run) == ["mend"]


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (build_output(artifacts=[PATCH, 5]), FactReading("output.artifacts[1]", 5)),
        (build_output(artifacts=[{**PATCH, "title": ""}]), FactReading("output.artifacts[0].title", "")),
        (
            build_output(artifacts=[{"type": "patch", "title": "t"}]),
            FactReading("output.artifacts[0].content", None),
        ),
        (build_output(artifacts=[PATCH], summary=None), FactReading("output.summary", None)),
        ({"a[b": 1, **build_output(artifacts=[PATCH])}, FactReading("output.a[b", None)),
        ({"summary.x": 1, **build_output(artifacts=[PATCH])}, FactReading("output.summary.x", None)),
    ],
)
def test_a_refusal_shows_what_stands_at_the_path(given: dict[str, Value], seen: FactReading) -> None:
    flow = load_valid_workflow(STEP)
    assert expect_refusal(flow, start_run(flow), "continue", {}, **given).seen == (seen,)


def test_a_refusal_of_the_whole_output_shows_the_fields_given() -> None:
    flow = load_valid_workflow(STEP.replace("min_confidence: 0.5", "schema: {required: [verdict]}"))
    refusal = expect_refusal(flow, start_run(flow), "continue", {}, **build_output(artifacts=[PATCH]))
    assert refusal.seen == (FactReading("output", ["artifacts", "confidence", "references", "summary"]),)


def test_what_a_refusal_saw_can_be_written_down_even_if_the_output_cannot() -> None:
    flow = load_valid_workflow(STEP)
    refusal = expect_refusal(flow, start_run(flow), "continue", {}, **build_output(summary="\ud800"))
    assert refusal.seen == (FactReading("output.summary", "<str that cannot be written down>"),)
    assert refusal.needed == ("summary must be a text without halves of characters",)


def test_no_tool_of_the_same_name_gets_round_the_contract() -> None:
    flow = load_valid_workflow(STEP)
    tricked = replace(flow, tools={"continue": Tool("continue", flow.place)})
    assert expect_refusal(tricked, start_run(tricked), "continue").code == RefusalCode.CONTRACT


def test_a_schema_that_allows_no_other_field_does_not_forbid_the_common_ones() -> None:
    closed = {"properties": {"verdict": {"enum": ["good"]}}, "additionalProperties": False}

    assert broken(Contract(schema=closed), verdict="good") == []


def test_a_schema_can_narrow_a_common_field() -> None:
    short = {"properties": {"summary": {"maxLength": 5}}}

    assert broken(Contract(schema=short), summary="Much too long") == [
        ("summary", "is longer than 5 characters")
    ]


def test_a_violation_does_not_repeat_what_was_sent() -> None:
    found = broken(Contract(schema=SCHEMA), verdict="x" * 100_000)

    assert found == [("verdict", 'is not one of "good" or "again"')]
