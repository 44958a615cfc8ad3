"""Writing plans: what is written reads back as the same plan, and no word is lost."""

import pytest

from handrail.documents.plan.edit import parse_plan_data
from handrail.documents.plan.format import format_plan, to_description
from handrail.documents.plan.grammar import COMMIT_MESSAGE, COMMITS, PlanConfig
from handrail.documents.plan.model import Header, Plan, PlanRefusal, PlanState, Task
from handrail.documents.plan.parse import parse_plan
from handrail.documents.plan.validate import ValidationResult
from helpers.requirement import requirement

GOAL = Header("feat", "x", title="t")
KEPT = (
    "feat(x): t\n\nd\n- Bad: One\n- Never: a\n\n- Bad: Two\n- [ ]: a\n- Bad: Three\n\t- [x]: b\nText\n"
    "- Bad: Four\nend"
)
KEPT_WRITTEN = (
    "feat(x): t\n\nd\n\n- Bad: One\n- Never: a\n- Bad: Two\n\n- [ ]: a\n- Bad: Three\n  - [x]: b\n\n"
    "Text\n- Bad: Four\nend\n"
)


def _codes(written: str | PlanRefusal) -> list[tuple[str, int]]:
    assert isinstance(written, PlanRefusal)
    return [(one.code, one.line) for one in written.problems]


@requirement("planner:C37")
@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("", ""),
        ("feat:", "feat:\n"),
        ("feat:  two spaces ", "feat:  two spaces \n"),
        ("feat(x)!:\n\n", "feat(x)!:\n"),
        ("feat(x):no space", "feat(x): no space\n"),
        ("feat(x):    ", "feat(x):  \n"),
        ("feat(x): t\r\n\r\n\r\nd\r\n", "feat(x): t\n\nd\n"),
        ("feat(x): t\n\na\rb\r\r\nc\r", "feat(x): t\n\na\rb\nc\n"),
        ("feat(x): t\n\n- Never: a\n- Never: b", "feat(x): t\n\n- Never: a\n- Never: b\n"),
        (KEPT, KEPT_WRITTEN),
        (
            "feat(x): t\n\n- [ ]: a\n\n\n- [ ]: b\n\nCOMPLETE",
            "feat(x): t\n\n- [ ]: a\n- [ ]: b\n\nCOMPLETE\n",
        ),
    ],
)
def test_partial_plans_are_written_with_one_empty_line_between_sections(text: str, written: str) -> None:
    assert format_plan(parse_plan(text)) == written
    assert parse_plan(written) == parse_plan(text)


@requirement("commits:K19")
@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("feat!: t", "feat!: t\n"),
        ("feat(API): t\n\n\nd\n\n", "feat(api): t\n\nd\n"),
        ("feat: t\n\nConstraints: none", "feat: t\n\nConstraints: none\n"),
        (
            "feat: t\n\nd\nConstraints:\n\n- Never: X\nTasks [X]:\n\n- [ ] a: b: c\n  - [x] d: e",
            "feat: t\n\nd\n\nConstraints:\n- Never: X\n\nTasks [X]:\n- [x] a: b: c\n  - [x] d: e\n",
        ),
    ],
)
def test_plans_of_commits_are_written_in_their_layout(text: str, written: str) -> None:
    plan = parse_plan(text, COMMITS)

    assert format_plan(plan, COMMITS) == written
    assert parse_plan(written, COMMITS) == plan


@pytest.mark.parametrize(
    ("line", "config"),
    [
        ("- Key: Value", COMMIT_MESSAGE),
        ("- Never: x", COMMIT_MESSAGE),
        ("  - [x]: t", COMMIT_MESSAGE),
        ("[x] t", COMMIT_MESSAGE),
        ("~~~ GO ~~~", COMMIT_MESSAGE),
        ("Constraints:", COMMITS),
        ("Constraints : x", COMMITS),
        ("Tasks [1]", COMMITS),
    ],
)
def test_a_description_line_that_would_be_more_is_refused_by_its_number(
    line: str, config: PlanConfig
) -> None:
    plan = Plan(PlanState.PARSED, GOAL, f"intro\n\n{line}\nmore")

    refused = format_plan(plan, config)
    assert _codes(refused) == [("description_not_representable", 3)]
    assert isinstance(refused, PlanRefusal)
    assert refused.problems[0].repair == "begin it with `* `, or say it in a sentence"


def test_a_bullet_is_refused_only_where_a_description_begins() -> None:
    assert _codes(format_plan(Plan(PlanState.PARSED, GOAL, "- a\nb"))) == [
        ("description_not_representable", 1)
    ]
    assert format_plan(Plan(PlanState.PARSED, GOAL, "b\n- a")) == "feat(x): t\n\nb\n- a\n"


@pytest.mark.parametrize(
    ("plan", "code", "line"),
    [
        (Plan(PlanState.PARSED, description="d"), "header_not_representable", 0),
        (Plan(PlanState.PARSED, Header("feat", title="t")), "header_not_representable", 1),
        (Plan(PlanState.PARSED, Header("feat", breaking=True)), "header_not_representable", 1),
        (Plan(PlanState.PARSED, Header("Feat", "x")), "header_malformed", 1),
        (Plan(PlanState.PARSED, Header("feat", "x", title=" t")), "header_not_representable", 1),
        (Plan(PlanState.PARSED, Header("feat", "x", title="a\nb")), "header_line_not_alone", 2),
        (Plan(PlanState.PARSED, GOAL, "d\n"), "not_representable", 1),
        (Plan(PlanState.PARSED, GOAL, "a\0"), "unsafe_character", 3),
        (Plan(PlanState.PARSED, GOAL, "d", ()), "not_representable", 1),
        (Plan(PlanState.PARSED, GOAL, "d", (("Never", "Shout"),)), "constraint_not_representable", 1),
        (Plan(PlanState.PARSED, GOAL, "d", (), ()), "not_representable", 1),
        (Plan(PlanState.PARSED, GOAL, "d", None, (Task(0, ticked=True, text="a"),)), "not_representable", 1),
        (Plan(PlanState.PARSED, GOAL, "d", (), (Task(1, ticked=True, text="a"),)), "not_representable", 1),
        (Plan(PlanState.PARSED, GOAL, "d", (), (Task(0, ticked=True, text=""),)), "task_malformed", 5),
        (Plan(PlanState.PARSED, GOAL, "d", direction="go on"), "direction_not_representable", 1),
        (Plan(PlanState.HALTED, GOAL), "not_representable", 1),
    ],
)
def test_what_would_be_read_as_something_else_is_not_written(plan: Plan, code: str, line: int) -> None:
    assert _codes(format_plan(plan)) == [(code, line)]


def test_any_text_becomes_a_description() -> None:
    text = "- first\r\n- [x]: done\n  * [ ] open\n- Key: Value\n[X]:\n~~~ GO ~~~\nplain\n\n"

    fitting = to_description(text)
    assert fitting == "* first\n* (x) done\n* ( ) open\n* Key: Value\n* (X)\n* ~~~ GO ~~~\nplain"
    assert parse_plan(f"feat(x): t\n\n{fitting}").description == fitting
    assert to_description("Tasks [ ]:\n- [ ] a: b", COMMITS) == "* Tasks [ ]:\n- [ ] a: b"
    assert to_description("a\n \ufeff [ ]: b") == "a\n* ( ) b"
    assert to_description(" \n") is None


def test_a_plan_is_made_of_a_plain_value() -> None:
    given = {
        "header": {"type": "feat", "scope": "x", "title": "t"},
        "tasks": [[True, "a", [[False, "b", []]]], [False, "c", []]],
    }
    assert parse_plan_data(given) == parse_plan("feat(x): t\n\n- [x]: a\n  - [ ]: b\n- [ ]: c")

    wrong = parse_plan_data({"header": {"type": "feat"}, "description": 1})
    assert isinstance(wrong, ValidationResult)
    assert [(one.field, one.code) for one in wrong.errors] == [("description", "INVALID_TYPE")]


def test_a_plan_of_commits_is_made_of_a_plain_value() -> None:
    given = {
        "header": {"type": "feat", "summary": "t"},
        "constraints": ["Never: say: never"],
        "tasks": [{"summary": "a", "details": "b", "completed": True}],
        "metadata": {"isComplete": True},
    }

    text = "feat: t\n\nConstraints:\n- Never: say: never\n\nTasks [X]:\n- [x] a: b"
    assert parse_plan_data(given, COMMITS) == parse_plan(text, COMMITS)
