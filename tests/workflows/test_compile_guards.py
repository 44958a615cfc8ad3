"""Which facts a row may name, and what is said about guards that are none."""

import pytest

from handrail.engine.facts import Kind, Provenance, Type
from handrail.engine.model import ToDerived
from helpers.workflow_files import list_problems, load_text, read_text

HEAD = "workflow: w\nversion: 1\nauthority: files\n"
VARS = "vars: {n: int, f: float, s: string, l: strings, o: int?, mood: {type: string?, choices: [a, b]}}\n"
EARLY = "the guard ends too early"
FINISH = "finish it, or close what is open"
STATES = "states:\n  A:\n  Z: {terminal: true}\ntransitions:\n"
ROW = '  - {{id: A1, from: A, trigger: go, to: Z, when: ["{guard}"]}}\n'


def told(guard: str) -> list[tuple[str, int, str, str]]:
    """What is said about a guard: code, column within it, message and repair."""
    found = read_text(HEAD + VARS + STATES + ROW.format(guard=guard)).problems
    assert all(problem.place.line == 9 for problem in found)
    prefix = "`when` of row `A1`: "
    return [(p.code, p.place.column - 50, p.message.removeprefix(prefix), p.repair) for p in found]


@pytest.mark.parametrize(
    ("guard", "code", "column", "message", "repair"),
    [
        ("", "guard-syntax", 1, EARLY, FINISH),
        ("plan.exists &&", "guard-syntax", 15, EARLY, FINISH),
        ("(plan.exists", "guard-syntax", 13, EARLY, FINISH),
        ("plan.exists)", "guard-syntax", 12, "`)` cannot stand here", "close the bracket, or drop one"),
        ("plan.exists and task.exists", "guard-syntax", 13, "`and` cannot stand here", "write `&&`"),
        ("plan.exists or task.exists", "guard-syntax", 13, "`or` cannot stand here", "write `||`"),
        ("plan.exists & task.exists", "guard-syntax", 13, "`&` cannot stand here", "write `&&` for and"),
        ("plan.exists | task.exists", "guard-syntax", 13, "`|` cannot stand here", "write `||` for or"),
        ("criteria.total = 0", "guard-syntax", 16, "`=` cannot stand here", "write `==` to compare"),
        ("run.vars.s == 'x", "guard-syntax", 15, "`'x` cannot stand here", "close the quote"),
        ("plan.exists; 1", "guard-syntax", 12, "`;` cannot stand here", "mend the expression here"),
        ("run.vars.n", "guard-type", 0, "a guard must be true or false; this one is of type int",
         "compare it with a value, such as `criteria.total > 0`"),
        ("run.vars.n > 1.5", "guard-type", 12, "`>` does not go between an int and a float",
         "a float is compared with a float: write 1.0, not 1"),
        ("run.vars.o == 'x'", "guard-type", 12, "`==` does not go between an int or null and a text",
         "compare two values of one type"),
        ("run.vars.n in run.vars.l", "guard-type", 12, "`in` does not go between an int and a list of texts",
         "compare two values of one type"),
        ("run.vars.s == null", "guard-type", 12, "`==` does not go between a text and null",
         "only what is declared with `?` can be null"),
        ("!run.vars.n", "guard-type", 1, "`!` does not go with an int",
         "compare with a value first, or use a fact that fits"),
        ("size(run.vars.n) > 1", "guard-type", 5, "`size` does not go with an int",
         "compare with a value first, or use a fact that fits"),
        ("run.vars.s.length > 1", "guard-type", 11, "a text has nothing behind a dot",
         "call a function, such as `size(task.name)`"),
        ("plan.exists == True", "unknown-fact", 16, "no fact is called `True`", "write `true`"),
        ("plan.exists == yes", "unknown-fact", 16, "no fact is called `yes`", "write `true`"),
        ("plan.exists && plan.exist", "unknown-fact", 16, "no fact is called `plan.exist`",
         "did you mean `plan.exists`?"),
        ("plan . exist", "unknown-fact", 6, "no fact is called `plan.exist`", "did you mean `plan.exists`?"),
        ("event.note == ''", "payload-in-when", 1,
         "`event.note` comes with the event, so `when` cannot read it", "move the line to `accept`"),
        ("begins(run.vars.s)", "guard-type", 1, "no function is called `begins`",
         "guards know size, startsWith, endsWith, contains, matches, has, all, exists and few more"),
    ],
)  # fmt: skip
def test_a_guard_that_is_none_is_told_where_and_why(
    guard: str, code: str, column: int, message: str, repair: str
) -> None:
    assert told(guard) == [(code, column, message, repair)]


def test_every_unknown_name_of_a_guard_is_told() -> None:
    assert [
        (code, column) for code, column, _, _ in told("plan.exist && tests.green && run.vars.n == 'x'")
    ] == [
        ("unknown-fact", 1),
        ("unknown-fact", 15),
        ("guard-type", 41),
    ]


def test_what_follows_from_an_unknown_name_is_not_told() -> None:
    assert [(code, column) for code, column, _, _ in told("nothing.at_all.all(x, x)")] == [
        ("unknown-fact", 1)
    ]


def test_a_guard_that_ends_too_early_in_a_block_is_told_at_its_end() -> None:
    row = (
        "  - id: A1\n    from: A\n    trigger: go\n    to: Z\n    when:\n      - |\n        plan.exists &&\n"
    )

    assert list_problems(HEAD + STATES + row) == [("guard-syntax", 14, 23)]


def test_a_guard_that_is_folded_is_told_as_a_whole() -> None:
    row = "  - id: A1\n    from: A\n    trigger: go\n    to: Z\n    when:\n      - >\n        plan.exist\n"

    assert list_problems(HEAD + STATES + row) == [("unknown-fact", 13, 9)]


def test_variables_inputs_and_the_state_are_facts_of_the_run() -> None:
    facts = load_text(HEAD + VARS + "inputs: {i: bool?}\nstates:\n  A: {terminal: true}\n").facts

    assert facts["run.state"].domain == ("A",)
    assert (facts["run.vars.mood"].domain, facts["run.vars.mood"].closed) == (("a", "b", None), True)
    assert facts["run.vars.f"].type == Type(Kind.FLOAT)
    assert facts["run.vars.n"].provenance is Provenance.MEASURED
    assert facts["run.inputs.i"].domain == (True, False, None)
    assert facts["run.inputs.i"].provenance is Provenance.CLAIMED


def test_a_row_out_of_several_states_may_name_what_all_their_outputs_have() -> None:
    schema = "{agent: a, task: t, contract: {schema: {properties: {x: {type: boolean}%s}, required: [x]}}}\n"
    states = "states:\n  A: " + schema % ", y: {type: integer}" + "  B: " + schema % ""
    rest = "  Z: {terminal: true}\ntransitions:\n"
    row = "  - {id: A1, from: [A, B], trigger: continue, accept: [output.x%s], to: Z}\n"

    assert load_text(HEAD + states + rest + row % "").rows[0].accept[0].text == "output.x"
    assert list_problems(HEAD + states + rest + row % ", 'output.y > 1'") == [("unknown-fact", 9, 67)]


def test_where_a_derived_state_leads_is_said_by_the_draft_that_knows() -> None:
    written = (
        "workflow: w\nversion: 1\nauthority: description\nderive: plan.stage\nstates: {A: }\ntransitions:\n"
        "  - {id: A1, from: A, trigger: go, to: '@derived',"
        " draft: {marked: criteria.check_off, new: plan.with_tasks}}\n"
    )

    assert load_text(written).rows[0].to == ToDerived("new.stage")


def test_what_follows_from_something_misspelt_in_a_row_is_not_told() -> None:
    schema = "{properties: {x: {type: boolean}}, required: [x]}"
    states = f"states:\n  A: {{agent: a, task: t, contract: {{schema: {schema}}}}}\n"
    tools = "tools:\n  go: {params: {force: bool}}\n"
    rows = (
        "  Z: {terminal: true}\ntransitions:\n"
        "  - {id: A1, from: B, trigger: continue, accept: [output.x], to: Z}\n"
        "  - {id: A2, from: A, trigger: og, accept: [event.force], to: Z}\n"
        "  - {id: A3, from: A, trigger: contniue, accept: [output.x], to: Z}\n"
    )

    assert list_problems(HEAD + states + rows + tools) == [
        ("unknown-state", 8, 20),
        ("unknown-trigger", 9, 32),
        ("unknown-trigger", 10, 32),
    ]


def test_a_long_name_is_cut_and_not_guessed_at() -> None:
    ((_, _, message, repair),) = told(f"{'x' * 200} == 1")

    assert message == f"no fact is called `{'x' * 60}…`"
    assert repair == ""


def test_a_name_far_from_all_that_are_known_gets_the_nearest() -> None:
    ((_, _, _, repair),) = told("zzz")

    assert repair.startswith("the nearest are ")
