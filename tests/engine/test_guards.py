import pytest

from handrail.engine.facts import PENDING, Fact, Kind, Provenance, Type, Value
from handrail.engine.guards import Guard, Outcome, Verdict, evaluate_guard
from handrail.engine.problems import Place
from handrail.engine.rows import combine_outcomes
from handrail.workflows.guard_compiler import Diagnostic, Vocabulary

HERE = Place("test.yaml", 7, 3)
TYPES = {
    "plan.exists": "bool",
    "results.exists": "bool",
    "tests.failed": "int",
    "tests.share": "float",
    "task.name": "string",
    "run.back": "state",
    "run.labels": "strings",
    "report.data": "json",
    "maybe.agreed": "bool?",
    "maybe.count": "int?",
    "maybe.share": "float?",
    "maybe.name": "string?",
    "maybe.back": "state?",
    "maybe.labels": "strings?",
    "maybe.data": "json?",
}
FACTS = {
    name: Fact(
        name, Type(Kind(kind.removesuffix("?")), kind.endswith("?")), Provenance.OBSERVED, f"about {name}"
    )
    for name, kind in TYPES.items()
}
VOCABULARY = Vocabulary(FACTS)


def guard(text: str) -> Guard:
    compiled = VOCABULARY.compile(text, HERE)
    assert isinstance(compiled, Guard), compiled
    return compiled


def verdict(text: str, facts: dict[str, Value]) -> str:
    return evaluate_guard(guard(text), facts).verdict.value


def complaints(text: str) -> tuple[Diagnostic, ...]:
    compiled = VOCABULARY.compile(text, HERE)
    assert not isinstance(compiled, Guard)
    return compiled


def test_a_guard_keeps_its_text_and_its_place() -> None:
    assert (guard("plan.exists").text, guard("plan.exists").place) == ("plan.exists", HERE)


@pytest.mark.parametrize(
    ("text", "facts", "error"),
    [
        ("1 / tests.failed == 1", {"tests.failed": 0}, "INVALID_ARGUMENT: divide by zero"),
        ("1 % tests.failed == 1", {"tests.failed": 0}, "INVALID_ARGUMENT: modulus by zero"),
        ("tests.failed + 1 > 0", {"tests.failed": 2**63 - 1}, "OUT_OF_RANGE: integer overflow"),
        ("report.data.key == 1", {"report.data": {}}, 'NOT_FOUND: Key not found in map : "key"'),
        (
            "task.name.matches('(?=a)')",
            {"task.name": "a"},
            "INVALID_ARGUMENT: invalid regular expression: invalid perl operator: (?=",
        ),
        ("plan.exists", {}, 'UNKNOWN: No value with name "plan.exists" found in Activation'),
        ("maybe.agreed == null", {}, 'UNKNOWN: No value with name "maybe.agreed" found in Activation'),
        ("has(report.data.key)", {}, 'UNKNOWN: No value with name "report.data" found in Activation'),
        (
            "maybe.count > 3",
            {"maybe.count": None},
            "UNKNOWN: No matching overloads found : _>_(null_type, int64)",
        ),
        ("maybe.agreed", {"maybe.agreed": None}, "the value is neither true nor false"),
    ],
)
def test_a_guard_that_cannot_be_evaluated_does_not_hold_and_says_why(
    text: str, facts: dict[str, Value], error: str
) -> None:
    assert evaluate_guard(guard(text), facts) == Outcome(Verdict.ERROR, error)


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("plan.exists", "plan.exists", 1),
        ("plan.exists", "plan.exists", "true"),
        ("plan.exists", "plan.exists", "yes"),
        ("plan.exists", "plan.exists", [True]),
        ("plan.exists", "plan.exists", None),
        ("plan.exists != true", "plan.exists", "false"),
        ("!(plan.exists == true)", "plan.exists", 0),
        ("tests.failed > 0", "tests.failed", True),
        ("tests.failed > 0", "tests.failed", 1.0),
        ("tests.failed > 0", "tests.failed", 2**63),
        ("tests.failed != 3", "tests.failed", -(2**63) - 1),
        ("tests.share != 1.0", "tests.share", float("nan")),
        ("tests.share > 1.0", "tests.share", float("inf")),
        ("tests.share > 1.0", "tests.share", 10**400),
        ("tests.share > 0.0", "tests.share", True),
        ("task.name != 'a'", "task.name", "\ud800"),
        ("task.name != 'a'", "task.name", b"a"),
        ("size(run.labels) > 0", "run.labels", ["a", 1]),
        ("size(run.labels) > 0", "run.labels", ("a",)),
        ("size(run.labels) > 0", "run.labels", "abc"),
        ("report.data != 1", "report.data", object()),
        ("report.data != 1", "report.data", [2**70]),
        ("report.data != 1", "report.data", {1: 2}),
        ("maybe.agreed != null", "maybe.agreed", "no"),
        ("maybe.count != 3", "maybe.count", "3"),
        ("maybe.count != 3", "maybe.count", False),
        ("maybe.name != 'a'", "maybe.name", 5),
        ("maybe.labels != null", "maybe.labels", "abc"),
    ],
)
def test_a_fact_of_the_wrong_type_is_an_error_and_never_a_yes(text: str, fact: str, value: Value) -> None:
    wanted = f"`{fact}` is no value of type {TYPES[fact]}"
    assert evaluate_guard(guard(text), {fact: value}) == Outcome(Verdict.ERROR, wanted)


def test_a_value_nested_without_end_is_an_error() -> None:
    nested: Value = 1
    for _ in range(100_000):
        nested = [nested]
    assert verdict("report.data != 1", {"report.data": nested}) == "error"


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        ("plan.exists", {"plan.exists": True}, "holds"),
        ("plan.exists", {"plan.exists": False}, "fails"),
        ("tests.failed == 9223372036854775807", {"tests.failed": 2**63 - 1}, "holds"),
        ("tests.share > 0.5", {"tests.share": 1}, "holds"),
        ("run.back == 'Here'", {"run.back": "Here"}, "holds"),
        ("'a' in run.labels", {"run.labels": ["a"]}, "holds"),
        ("report.data.a[0] == 1", {"report.data": {"a": [1]}}, "holds"),
        ("has(report.data.key)", {"report.data": {}}, "fails"),
        ("task.name == 'Zoë ☂'", {"task.name": "Zoë ☂"}, "holds"),
        ("true", {}, "holds"),
    ],
)
def test_a_guard_over_good_facts_holds_or_fails(text: str, facts: dict[str, Value], expected: str) -> None:
    assert verdict(text, facts) == expected


@pytest.mark.parametrize("name", ["agreed", "count", "share", "name", "back", "labels", "data"])
def test_an_optional_fact_compares_with_null(name: str) -> None:
    assert verdict(f"maybe.{name} == null", {f"maybe.{name}": None}) == "holds"
    assert verdict(f"maybe.{name} != null", {f"maybe.{name}": None}) == "fails"


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        ("maybe.agreed == true", {"maybe.agreed": True}, "holds"),
        ("maybe.agreed == true", {"maybe.agreed": None}, "fails"),
        ("maybe.count == 3", {"maybe.count": 3}, "holds"),
        ("maybe.count != null && maybe.count > 2", {"maybe.count": 3}, "holds"),
        ("maybe.count != null && maybe.count > 2", {"maybe.count": None}, "fails"),
        ("maybe.share > 0.5", {"maybe.share": 0.75}, "holds"),
        ("maybe.name == 'a'", {"maybe.name": None}, "fails"),
        ("maybe.back == 'Here'", {"maybe.back": "Here"}, "holds"),
    ],
)
def test_an_optional_fact_compares_with_a_value(text: str, facts: dict[str, Value], expected: str) -> None:
    assert verdict(text, facts) == expected


def test_false_together_with_an_error_is_false_and_true_is_true() -> None:
    assert verdict("plan.exists && 1 / 0 == 1", {"plan.exists": False}) == "fails"
    assert verdict("1 / 0 == 1 && plan.exists", {"plan.exists": False}) == "fails"
    assert verdict("1 / 0 == 1 || plan.exists", {"plan.exists": True}) == "holds"
    assert verdict("plan.exists && results.exists", {"plan.exists": False, "results.exists": "x"}) == "fails"


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        ("plan.exists", {"plan.exists": PENDING}, "pending"),
        ("!plan.exists", {"plan.exists": PENDING}, "pending"),
        ("plan.exists || results.exists", {"plan.exists": True, "results.exists": PENDING}, "holds"),
        ("plan.exists || results.exists", {"plan.exists": False, "results.exists": PENDING}, "pending"),
        ("plan.exists && results.exists", {"plan.exists": False, "results.exists": PENDING}, "fails"),
        ("plan.exists && results.exists", {"plan.exists": True, "results.exists": PENDING}, "pending"),
        ("plan.exists ? results.exists : true", {"plan.exists": False, "results.exists": PENDING}, "holds"),
        ("maybe.count == null", {"maybe.count": PENDING}, "pending"),
        ("report.data != 1", {"report.data": PENDING}, "pending"),
        ("has(report.data.key)", {"report.data": PENDING}, "pending"),
        ("true", {"plan.exists": PENDING}, "holds"),
    ],
)
def test_a_pending_fact_leaves_it_open_unless_the_rest_decides(
    text: str, facts: dict[str, Value], expected: str
) -> None:
    assert verdict(text, facts) == expected


def test_the_verdict_of_a_list_is_an_and() -> None:
    holds, fails = Outcome(Verdict.HOLDS), Outcome(Verdict.FAILS)
    error, pending = Outcome(Verdict.ERROR, "why"), Outcome(Verdict.PENDING)
    assert combine_outcomes([]) is Verdict.HOLDS
    assert combine_outcomes([holds, holds]) is Verdict.HOLDS
    assert combine_outcomes([holds, pending]) is Verdict.PENDING
    assert combine_outcomes([pending, error, holds]) is Verdict.ERROR
    assert combine_outcomes([error, pending, fails]) is Verdict.FAILS


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("plan.exist", 1, 5, "undeclared reference to 'plan.exist'"),
        ("plan.exists && \n  plan.gone", 2, 7, "undeclared reference to 'plan.gone'"),
        ("'Zoë ☂😀' == task.name && gone.by", 1, 30, "undeclared reference to 'gone.by'"),
        ("plan", 1, 1, "undeclared reference to 'plan'"),
        ("plan.exists == 1", 1, 13, "found no matching overload for '_==_' applied to '(bool, int)'"),
        (
            "maybe.count == 'a'",
            1,
            13,
            "found no matching overload for '_==_' applied to '(wrapper(int), string)'",
        ),
        ("tests.failed", 1, 1, "a guard must be true or false; this one is of type int"),
        ("'true'", 1, 1, "a guard must be true or false; this one is of type string"),
        ("report.data.ok", 1, 1, "a guard must be true or false; this one is of type dyn"),
        ("", 1, 1, "Syntax error: mismatched input '<EOF>'"),
        ("plan.exists &&", 1, 15, "Syntax error: mismatched input '<EOF>'"),
        ("__import__('os').system('true') == 0", 1, 11, "undeclared reference to '__import__'"),
    ],
)
def test_what_cannot_be_compiled_is_a_complaint_with_line_and_column(
    text: str, line: int, column: int, message: str
) -> None:
    assert complaints(text)[0] == Diagnostic(line, column, message)


def test_every_complaint_is_told() -> None:
    assert [(c.line, c.column) for c in complaints("gone.by || gone.too")] == [(1, 5), (1, 16)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(" * 100 + "plan.exists" + ")" * 100,
            "Syntax error: Expression recursion limit exceeded. limit: 32",
        ),
        ("1" + " + 1" * 3000 + " == 1", "Exceeded max recursion depth of 32 when parsing."),
        (
            f"task.name == '{'a' * 100_000}'",
            "Syntax error: expression size exceeds codepoint limit. input size: 100015, limit: 100000",
        ),
    ],
)
def test_a_guard_that_is_too_much_for_the_parser_is_a_complaint_and_never_no_guard(
    text: str, message: str
) -> None:
    assert complaints(text) == (Diagnostic(1, 1, message),)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("plan.exists && !results.exists", ["plan.exists", "results.exists"]),
        ("results.exists || plan.exists || plan.exists", ["plan.exists", "results.exists"]),
        ("run.labels.exists(x, x == task.name)", ["run.labels", "task.name"]),
        ("run.labels.all(plan, plan != 'plan.exists')", ["run.labels"]),
        ("[plan.exists].exists(x, x)", ["plan.exists"]),
        ("task.name == 'plan.exists'", ["task.name"]),
        ('task.name == "results.exists && plan.exists"', ["task.name"]),
        ("plan.exists // results.exists", ["plan.exists"]),
        ("// results.exists\nplan.exists", ["plan.exists"]),
        ("( plan.exists )", ["plan.exists"]),
        ("plan . exists", ["plan.exists"]),
        ("plan.\n  exists", ["plan.exists"]),
        (".plan.exists", ["plan.exists"]),
        ("has(report.data.plan)", ["report.data"]),
        ("report.data['plan.exists'] == 1.5", ["report.data"]),
        ("true ? plan.exists : results.exists", ["plan.exists", "results.exists"]),
        ("type(plan.exists) == bool", ["plan.exists"]),
        ("1 + 1 == 2", []),
        ("task.name == '" + "x" * 500 + "'", ["task.name"]),
    ],
)
def test_a_guard_names_exactly_the_facts_it_reads(text: str, names: list[str]) -> None:
    assert [fact.name for fact in guard(text).facts] == names


def test_a_guard_that_goes_on_for_too_long_goes_wrong_and_does_not_raise() -> None:
    many = "[" + ",".join(["1"] * 300) + "]"
    endless = f"{many}.all(x, {many}.all(y, {many}.all(z, x + y + z > 0)))"
    compiled = Vocabulary({}).compile(endless, Place("f", 1, 1))
    assert isinstance(compiled, Guard)

    outcome = evaluate_guard(compiled, {})

    assert outcome.verdict is Verdict.ERROR
    assert "udget" in outcome.error


@pytest.mark.parametrize(
    ("text", "fact", "said"),
    [
        (
            "report.data == 1",
            "report.data",
            [(1, "holds"), (True, "fails"), (1.0, "holds"), (True, "fails"), (1, "holds"), ("1", "fails")],
        ),
        ("type(report.data) == int", "report.data", [(True, "fails"), (1, "holds"), (1.0, "fails")]),
        ("1.0 / tests.share > 0.0", "tests.share", [(0.0, "holds"), (-0.0, "fails"), (0.0, "holds")]),
        ("maybe.agreed == true", "maybe.agreed", [(PENDING, "pending"), (None, "fails"), (True, "holds")]),
        ("tests.failed < 3", "tests.failed", [(True, "error"), (1, "holds"), (None, "error"), (3, "fails")]),
        ("run.labels == ['a']", "run.labels", [(["a"], "holds"), (["b"], "fails"), (["a"], "holds")]),
        (
            "size(task.name) > 99",
            "task.name",
            [("x" * 99, "fails"), ("x" * 100, "holds"), ("x" * 99, "fails")],
        ),
    ],
)
def test_a_guard_that_was_asked_before_says_what_a_new_one_says(
    text: str, fact: str, said: list[tuple[Value, str]]
) -> None:
    asked = guard(text)

    for value, wanted in said * 2:
        assert evaluate_guard(asked, {fact: value}).verdict.value == wanted, value
        assert verdict(text, {fact: value}) == wanted


def test_a_guard_does_not_remember_without_end() -> None:
    asked = guard("tests.failed >= 0")

    for value in range(1000):
        assert evaluate_guard(asked, {"tests.failed": value}).verdict is Verdict.HOLDS
    assert 0 < len(asked.outcome_cache) <= 256
