import pytest

from handrail.engine.contract import COMMON_FACTS, declare_output_facts, read_output_facts
from handrail.engine.facts import Value
from handrail.engine.model import Contract, FactReading
from handrail.engine.refusals import RefusalCode
from helpers.workflows import (
    build_output,
    expect_refusal,
    list_open_states,
    load_valid_workflow,
    move_run,
    start_run,
)

SCHEMA: dict[str, Value] = {
    "properties": {
        "sure": {"type": "boolean", "description": "The author is sure"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "name": {"type": "string"},
        "verdict": {"enum": ["good", "again"]},
        "level": {"enum": [1, 2]},
        "none": {"enum": ["a", None]},
        "kind": {"enum": ["a"], "type": "string"},
        "files": {"type": "array"},
        "either": {"type": ["string", "null"]},
        "what": {},
        "any": True,
        "summary": {"maxLength": 80},
    },
    "required": ["sure", "count", "share", "name", "verdict", "either", "what"],
}
FACTS = declare_output_facts(Contract(schema=SCHEMA))


def test_every_output_has_the_facts_of_the_common_form() -> None:
    assert {name: str(fact.type) for name, fact in declare_output_facts(Contract()).items()} == {
        "output.summary": "string",
        "output.artifacts": "strings",
        "output.references": "strings",
        "output.confidence": "float",
        "output.decisions": "json?",
        "output.findings": "json?",
        "output.blockers": "strings",
    }


def test_what_the_agent_says_is_claimed() -> None:
    assert {fact.provenance.value for fact in (*COMMON_FACTS, *FACTS.values())} == {"claimed"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sure", "bool"),
        ("count", "int"),
        ("share", "float"),
        ("name", "string"),
        ("verdict", "string"),
        ("level", "json?"),
        ("none", "json?"),
        ("kind", "string?"),
        ("files", "json?"),
        ("either", "json?"),
        ("what", "json?"),
        ("summary", "string"),
    ],
)
def test_a_property_of_the_schema_is_a_fact_of_its_type_and_optional_unless_required(
    name: str, kind: str
) -> None:
    assert str(FACTS[f"output.{name}"].type) == kind


def test_a_property_that_may_be_anything_without_a_schema_is_no_fact() -> None:
    assert "output.any" not in FACTS


@pytest.mark.parametrize(
    ("name", "domain", "closed"),
    [
        ("sure", (True, False), True),
        ("verdict", ("good", "again"), True),
        ("kind", ("a", None), True),
        ("count", (), False),
        ("level", (), False),
        ("files", (), False),
    ],
)
def test_the_domain_of_a_property_is_its_enum_and_null_where_it_may_be_missing(
    name: str, domain: tuple[Value, ...], *, closed: bool
) -> None:
    fact = FACTS[f"output.{name}"]
    assert (fact.domain, fact.closed) == (domain, closed)


def test_the_description_of_a_property_is_what_the_fact_is_about() -> None:
    assert FACTS["output.sure"].about == "The author is sure"
    assert FACTS["output.count"].about == "`count` of the step output"


@pytest.mark.parametrize("schema", [{}, {"required": ["a"]}, {"properties": {"a": {"type": "string"}}}])
def test_a_schema_without_properties_or_required_is_read_all_the_same(schema: dict[str, Value]) -> None:
    facts = declare_output_facts(Contract(schema=schema))
    assert [str(fact.type) for name, fact in facts.items() if name == "output.a"] == (
        ["string?"] if "properties" in schema else []
    )


def test_facts_are_read_from_an_output() -> None:
    given = build_output(
        artifacts=[{"type": "patch", "title": "t", "content": "c"}],
        confidence=1,
        sure=False,
        count=3.0,
        share=2,
    )
    values = read_output_facts(FACTS, given)
    assert values["output.artifacts"] == ["patch"]
    assert values["output.blockers"] == []
    assert values["output.decisions"] is None
    assert values["output.sure"] is False
    assert values["output.kind"] is None
    read = {name: (values[name], type(values[name])) for name in ("output.confidence", "output.share")}
    assert read == {"output.confidence": (1.0, float), "output.share": (2.0, float)}
    assert (values["output.count"], type(values["output.count"])) == (3, int)


FLOW = """
workflow: outputs
version: 1
authority: sql
steps:
  - name: look
    agent: reviewer
    task: Look at it
    contract:
      schema:
        properties: {count: {type: integer}, share: {type: number}, notes: {}, hint: {type: string}}
        required: [count]
    next:
      - {accept: ["output.count == 3", output.confidence >= 0.5], to: look}
      - {accept: ["output.hint != null", 'output.hint == "stop"']}
      - {accept: ["output.share != null && output.share > 1.5"]}
      - {accept: ["output.notes != null && output.notes.done"]}
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"count": 3}, ["look"]),
        ({"count": 3.0, "confidence": 1}, ["look"]),
        ({"count": 0, "hint": "stop"}, []),
        ({"count": 0, "share": 2}, []),
        ({"count": 0, "notes": {"done": True}}, []),
    ],
)
def test_a_row_looks_at_the_output(given: dict[str, Value], expected: list[str]) -> None:
    flow = load_valid_workflow(FLOW)
    assert (
        list_open_states(move_run(flow, start_run(flow), "continue", {}, **build_output(**given))) == expected
    )


def test_an_output_that_no_row_accepts_is_refused_with_each_line() -> None:
    flow = load_valid_workflow(FLOW)
    refusal = expect_refusal(
        flow, start_run(flow), "continue", {}, **build_output(count=1, hint="go", notes={"done": False})
    )
    assert (refusal.code, refusal.rule) == (RefusalCode.NOT_ACCEPTED, "look.1, look.2, look.3, look.4")
    assert refusal.seen == (
        FactReading("output.count", 1),
        FactReading("output.hint", "go"),
        FactReading("output.share", None),
        FactReading("output.notes", {"done": False}),
    )
    assert refusal.needed == (
        "output.count == 3",
        'output.hint == "stop"',
        "output.share != null && output.share > 1.5",
        "output.notes != null && output.notes.done",
    )


@pytest.mark.parametrize("notes", [{}, {"done": "yes"}, {"done": 1}, "done", [True]])
def test_a_claim_of_the_wrong_shape_never_counts_as_true(notes: Value) -> None:
    flow = load_valid_workflow(FLOW)
    refusal = expect_refusal(flow, start_run(flow), "continue", {}, **build_output(count=1, notes=notes))
    assert (refusal.code, refusal.rule) == (RefusalCode.GUARD_ERROR, "look.4")
    assert refusal.seen[0] == FactReading("output.notes", notes)
