"""Writing plans: what is written reads back as the same plan, and no word is lost."""

import pytest

from handrail.plan.check import Verdict
from handrail.plan.format import as_description, format_plan
from handrail.plan.given import plan_of
from handrail.plan.grammar import COMMIT_MESSAGE, COMMITS, Config
from handrail.plan.model import Header, Plan, Refused, State, Task
from handrail.plan.parse import parse
from requirement import requirement

GOAL = Header("feat", "x", title="t")
KEPT = (
    "feat(x): t\n\nd\n- Bad: One\n- Never: a\n\n- Bad: Two\n- [ ]: a\n- Bad: Three\n\t- [x]: b\nText\n"
    "- Bad: Four\nend"
)
KEPT_WRITTEN = (
    "feat(x): t\n\nd\n\n- Bad: One\n- Never: a\n- Bad: Two\n\n- [ ]: a\n- Bad: Three\n  - [x]: b\n\n"
    "Text\n- Bad: Four\nend\n"
)


def _codes(written: str | Refused) -> list[tuple[str, int]]:
    assert isinstance(written, Refused)
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
    assert format_plan(parse(text)) == written
    assert parse(written) == parse(text)


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
    plan = parse(text, COMMITS)

    assert format_plan(plan, COMMITS) == written
    assert parse(written, COMMITS) == plan


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
def test_a_description_line_that_would_be_more_is_refused_by_its_number(line: str, config: Config) -> None:
    plan = Plan(State.PARSED, GOAL, f"intro\n\n{line}\nmore")

    refused = format_plan(plan, config)
    assert _codes(refused) == [("description_not_representable", 3)]
    assert isinstance(refused, Refused)
    assert refused.problems[0].repair == "begin it with `* `, or say it in a sentence"


def test_a_bullet_is_refused_only_where_a_description_begins() -> None:
    assert _codes(format_plan(Plan(State.PARSED, GOAL, "- a\nb"))) == [("description_not_representable", 1)]
    assert format_plan(Plan(State.PARSED, GOAL, "b\n- a")) == "feat(x): t\n\nb\n- a\n"


@pytest.mark.parametrize(
    ("plan", "code", "line"),
    [
        (Plan(State.PARSED, description="d"), "header_not_representable", 0),
        (Plan(State.PARSED, Header("feat", title="t")), "header_not_representable", 1),
        (Plan(State.PARSED, Header("feat", breaking=True)), "header_not_representable", 1),
        (Plan(State.PARSED, Header("Feat", "x")), "header_malformed", 1),
        (Plan(State.PARSED, Header("feat", "x", title=" t")), "header_not_representable", 1),
        (Plan(State.PARSED, Header("feat", "x", title="a\nb")), "header_line_not_alone", 2),
        (Plan(State.PARSED, GOAL, "d\n"), "not_representable", 1),
        (Plan(State.PARSED, GOAL, "a\0"), "unsafe_character", 3),
        (Plan(State.PARSED, GOAL, "d", ()), "not_representable", 1),
        (Plan(State.PARSED, GOAL, "d", (("Never", "Shout"),)), "constraint_not_representable", 1),
        (Plan(State.PARSED, GOAL, "d", (), ()), "not_representable", 1),
        (Plan(State.PARSED, GOAL, "d", None, (Task(0, ticked=True, text="a"),)), "not_representable", 1),
        (Plan(State.PARSED, GOAL, "d", (), (Task(1, ticked=True, text="a"),)), "not_representable", 1),
        (Plan(State.PARSED, GOAL, "d", (), (Task(0, ticked=True, text=""),)), "task_malformed", 5),
        (Plan(State.PARSED, GOAL, "d", direction="go on"), "direction_not_representable", 1),
        (Plan(State.HALTED, GOAL), "not_representable", 1),
    ],
)
def test_what_would_be_read_as_something_else_is_not_written(plan: Plan, code: str, line: int) -> None:
    assert _codes(format_plan(plan)) == [(code, line)]


def test_any_text_becomes_a_description() -> None:
    text = "- first\r\n- [x]: done\n  * [ ] open\n- Key: Value\n[X]:\n~~~ GO ~~~\nplain\n\n"

    fitting = as_description(text)
    assert fitting == "* first\n* (x) done\n* ( ) open\n* Key: Value\n* (X)\n* ~~~ GO ~~~\nplain"
    assert parse(f"feat(x): t\n\n{fitting}").description == fitting
    assert as_description("Tasks [ ]:\n- [ ] a: b", COMMITS) == "* Tasks [ ]:\n- [ ] a: b"
    assert as_description("a\n \ufeff [ ]: b") == "a\n* ( ) b"
    assert as_description(" \n") is None


def test_a_plan_is_made_of_a_plain_value() -> None:
    given = {
        "header": {"type": "feat", "scope": "x", "title": "t"},
        "tasks": [[True, "a", [[False, "b", []]]], [False, "c", []]],
    }
    assert plan_of(given) == parse("feat(x): t\n\n- [x]: a\n  - [ ]: b\n- [ ]: c")

    wrong = plan_of({"header": {"type": "feat"}, "description": 1})
    assert isinstance(wrong, Verdict)
    assert [(one.field, one.code) for one in wrong.errors] == [("description", "INVALID_TYPE")]


def test_a_plan_of_commits_is_made_of_a_plain_value() -> None:
    given = {
        "header": {"type": "feat", "summary": "t"},
        "constraints": ["Never: say: never"],
        "tasks": [{"summary": "a", "details": "b", "completed": True}],
        "metadata": {"isComplete": True},
    }

    text = "feat: t\n\nConstraints:\n- Never: say: never\n\nTasks [X]:\n- [x] a: b"
    assert plan_of(given, COMMITS) == parse(text, COMMITS)
