"""The dialect `planner`: what each line of a text becomes, and where reading halts."""

import pytest

from handrail.documents.plan.grammar import COMMIT_MESSAGE
from handrail.documents.plan.model import Header, Plan, PlanState, Section, SkippedLine, Task
from handrail.documents.plan.parse import parse_plan
from helpers.requirement import requirement

T = "feat(x): t\n\n"


def _codes(plan: Plan) -> list[tuple[str, int]]:
    return [(one.code, one.line) for one in plan.problems]


def _warned(plan: Plan) -> list[tuple[str, int]]:
    return [(one.code, one.line) for one in plan.warnings]


@requirement("planner:C1")
@requirement("planner:C15")
def test_a_document_is_header_description_constraints_tasks_and_direction_in_this_order() -> None:
    text = "feat(api)!: add it\n\nwhy\nand how\n\n- Do not: break it\n\n- [x]: one\n  - [ ]: two\n\nGo on\n"

    assert parse_plan(text) == Plan(
        PlanState.PARSED,
        Header("feat", "api", breaking=True, title="add it"),
        "why\nand how",
        (("Do not", "break it"),),
        (Task(0, ticked=True, text="one"), Task(1, ticked=False, text="two")),
        "Go on",
    )


@requirement("planner:C2")
@requirement("planner:C3")
@requirement("planner:C5")
@pytest.mark.parametrize(
    ("line", "header"),
    [
        ("feat(x)!: t", Header("feat", "x", breaking=True, title="t")),
        ("feat(x)!:", Header("feat", "x", breaking=True)),
        ("feat(x): ", Header("feat", "x", title=" ")),
        ("feat(x):   ", Header("feat", "x", title=" ")),
        ("feat(x):  \ufeff t", Header("feat", "x", title="t")),
        ("feat(x):\x1ct", Header("feat", "x", title="\x1ct")),
        ("feat(A/b_1.c): t", Header("feat", "A/b_1.c", title="t")),
        ("feat(x:y): t", Header("feat", "x:y", title="t")),
        ("z(x): a: b", Header("z", "x", title="a: b")),
    ],
)
def test_the_first_pattern_that_takes_the_first_line_gives_the_header(line: str, header: Header) -> None:
    assert parse_plan(line) == Plan(PlanState.PARSED, header)


@requirement("planner:C6")
@pytest.mark.parametrize(
    ("line", "ignored", "warned"),
    [("fix: Description", " Description", [("title_ignored", 1)]), ("fix:", "", []), ("fix:  ", "  ", [])],
)
def test_a_title_without_a_scope_is_kept_aside_and_warned_of(
    line: str, ignored: str, warned: list[tuple[str, int]]
) -> None:
    plan = parse_plan(line)

    assert plan.header == Header("fix", ignored=ignored)
    assert _warned(plan) == warned


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        "feat (x): t",
        "feat(): t",
        "feat(x) : t",
        "Feat(x): t",
        "feat(x): a\rb",
        "feat(x):\r",
        " feat: t",
    ],
)
def test_a_first_line_that_is_no_header_is_unknown(line: str) -> None:
    plan = parse_plan(line)

    assert plan == Plan(PlanState.UNKNOWN)
    assert _codes(plan) == [("header_malformed", 1)]


def test_a_mark_without_a_scope_is_unknown_and_gets_a_hint() -> None:
    plan = parse_plan("feat!: t")

    assert plan == Plan(PlanState.UNKNOWN)
    assert [(one.code, one.column, one.span) for one in plan.problems] == [("breaking_without_scope", 5, 1)]
    assert plan.problems[0].repair == "name a scope: `feat(scope)!:`"
    assert (plan.problems[0].shown, plan.problems[0].carets) == ("feat!: t", "    ^")


@requirement("planner:C4")
@requirement("planner:C17")
def test_a_title_that_is_too_long_halts_with_the_header_without_it() -> None:
    plan = parse_plan("feat(x): " + "é" * 121 + "\n\nbody")

    assert plan == Plan(PlanState.HALTED, Header("feat", "x"))
    assert [(one.code, one.line, one.column, one.span) for one in plan.problems] == [
        ("title_too_long", 1, 130, 1)
    ]
    assert plan.problems[0].message == "the title has 121 characters; 120 are read"


@requirement("planner:C7")
@requirement("planner:C23")
def test_text_right_below_the_header_halts() -> None:
    plan = parse_plan("feat: Title\nDescription starts immediately")

    assert plan == Plan(PlanState.HALTED, Header("feat", ignored=" Title"))
    assert _codes(plan) == [("header_line_not_alone", 2)]
    assert plan.problems[0].repair == "put an empty line below the header"
    assert parse_plan("feat(x): t\n- [ ]: a").state is PlanState.HALTED
    assert parse_plan("feat(x): t\n \t\nbody").description == "body"


@requirement("planner:C8")
@pytest.mark.parametrize(
    ("body", "description"),
    [
        ("one\n\ntwo", "one\n\ntwo"),
        ("\n\n  indented\nand more  \n\n \n", "  indented\nand more  "),
        ("* star\n* more", "* star\n* more"),
        ("a\n- b\n- c", "a\n- b\n- c"),
        ("\n\na\n- b", "a\n- b"),
        (
            "see [1]\n\n[1]: address\n- [x](address)\n- [x][1]",
            "see [1]\n\n[1]: address\n- [x](address)\n- [x][1]",
        ),
        ("a\x0bb\x85c\u2028d", "a\x0bb\x85c\u2028d"),
        ("COMPLETE", "COMPLETE"),
        ("--- a\n~~~\n~~~ x ~~~", "--- a\n~~~\n~~~ x ~~~"),
        ("\x0b\n a", " a"),
    ],
)
def test_lines_that_are_nothing_else_are_the_description(body: str, description: str) -> None:
    assert parse_plan(T + body) == Plan(PlanState.PARSED, Header("feat", "x", title="t"), description)


@requirement("planner:C9")
@requirement("planner:C10")
def test_a_malformed_constraint_is_skipped_and_kept_in_its_place() -> None:
    text = (
        "feat(x): t\n\nd\n- Must: Shout\n- Never: whisper\n- no colon\n\n- [ ]: a\n- [ ]: b\n- Key: Late\n"
        "Text here\n- X: Y\nend"
    )
    plan = parse_plan(text)

    assert plan == Plan(
        PlanState.PARSED,
        Header("feat", "x", title="t"),
        "d",
        (("Never", "whisper"),),
        (Task(0, ticked=False, text="a"), Task(0, ticked=False, text="b")),
        "Text here\nend",
        kept=(
            SkippedLine(Section.CONSTRAINTS, 0, "- Must: Shout"),
            SkippedLine(Section.CONSTRAINTS, 1, "- no colon"),
            SkippedLine(Section.TASKS, 2, "- Key: Late"),
            SkippedLine(Section.DIRECTION, 1, "- X: Y"),
        ),
    )
    assert _warned(plan) == [(("constraint_skipped"), line) for line in (4, 6, 10, 12)]
    assert plan.warnings[0].field == "constraints"
    assert plan.warnings[0].message.startswith("`- Must: Shout` is kept and not read")


def test_a_skipped_line_behind_the_last_empty_ones_stands_behind_the_last_line() -> None:
    plan = parse_plan(T + "- [ ]: a\nText here\n\n- X: Y\n\n")

    assert plan.direction == "Text here"
    assert plan.kept == (SkippedLine(Section.DIRECTION, 1, "- X: Y"),)


def test_a_malformed_constraint_may_open_the_body_and_another_bullet_may_not() -> None:
    assert parse_plan(T + "- DO NOT: x").constraints == ()
    plan = parse_plan(T + "- invalid constraint format")
    assert plan == Plan(PlanState.HALTED, Header("feat", "x", title="t"))
    assert _codes(plan) == [("body_opens_with_bullet", 3)]


@requirement("planner:C11")
@pytest.mark.parametrize(
    "line",
    [
        "- [X]: t",
        "- [ ] t",
        "[x]: t",
        "* [ ]: t",
        "- [ ]:",
        "- [ ]: ",
        "-[ ]: t",
        "- []: t",
        "+ [x] t",
        "  [ ]",
        "- [x]t",
    ],
)
def test_what_looks_like_a_task_and_is_none_halts_wherever_it_stands(line: str) -> None:
    for ahead in ("", "text\n", "- Never: x\n", "- [ ]: a\n", "- [ ]: a\nText\n"):
        plan = parse_plan(T + ahead + line)
        expected = "- [ ]: " if line == "- [ ]: " else line

        assert plan.state is PlanState.HALTED
        assert _codes(plan) == [("task_malformed", 3 + ahead.count("\n"))]
        assert plan.problems[0].text == expected


@requirement("planner:C12")
@requirement("planner:C13")
def test_levels_follow_the_widths_and_gaps_are_closed() -> None:
    text = (
        "feat(x): t\n\n    - [ ]: deep first\n- [ ]: a\n\t- [ ]: tab\n      - [x]: gap\n"
        "   - [ ]: three\n  - [ ]: two\n- [ ]: b"
    )

    tasks = parse_plan(text).tasks
    assert tasks is not None
    assert [(task.level, task.text) for task in tasks] == [
        (0, "deep first"),
        (0, "a"),
        (1, "tab"),
        (2, "gap"),
        (2, "three"),
        (1, "two"),
        (0, "b"),
    ]
    assert parse_plan(text).constraints == ()


@requirement("planner:C14")
@requirement("planner:C39")
@pytest.mark.parametrize(
    ("tail", "direction"),
    [
        ("abcd", "abcd"),
        ("line one\n\nline two\n", "line one\n\nline two"),
        ("~~~ EXECUTE ~~~", "~~~ EXECUTE ~~~"),
        ("go on\n- like this\n~~~ COMPLETE ~~~\n\n", "go on\n- like this\n~~~ COMPLETE ~~~"),
        ("COMPLETE\nnot yet", "COMPLETE\nnot yet"),
    ],
)
def test_text_behind_the_tasks_is_the_direction(tail: str, direction: str) -> None:
    assert parse_plan(T + "- [x]: a\n\n" + tail).direction == direction


def test_a_marker_ends_the_document_even_without_tasks() -> None:
    assert parse_plan(T + "d\n\n~~~ COMPLETE ~~~") == Plan(
        PlanState.PARSED, Header("feat", "x", title="t"), "d", direction="~~~ COMPLETE ~~~"
    )


@pytest.mark.parametrize(
    ("body", "code", "line"),
    [
        ("- [ ]: a\n\nabc", "direction_too_short", 5),
        ("- [ ]: a\nText\n- [ ]: b", "section_order", 5),
        ("- [ ]: a\nText\n- Do not: b", "section_order", 5),
        ("- [ ]: a\n- Do not: b", "section_order", 4),
        ("- [ ]: a\n~~~ GO ~~~\nmore", "text_after_end", 5),
        ("- [ ]: a\n~~~ GO ~~~\n~~~ GO ~~~", "text_after_end", 5),
        ("- [ ]: a\n~~~ GO ~~~\n- Key: Value", "text_after_end", 5),
        ("".join(f"{'  ' * level}- [ ]: a\n" for level in range(6)), "task_too_deep", 8),
        ("- [ ]: t\n" * 1001, "too_many_tasks", 1003),
    ],
)
def test_what_stands_out_of_order_or_beyond_a_limit_halts(body: str, code: str, line: int) -> None:
    plan = parse_plan(T + body)

    assert plan.state is PlanState.HALTED
    assert _codes(plan) == [(code, line)]
    assert plan.problems[0].message
    assert plan.problems[0].repair


def test_what_was_read_before_a_halt_is_there() -> None:
    plan = parse_plan(T + "d\n- Never: x\n- [ ]: a\n- [X]: b\n- [ ]: c")

    assert (plan.description, plan.constraints) == ("d", (("Never", "x"),))
    assert plan.tasks == (Task(0, ticked=False, text="a"),)


@requirement("planner:C16")
@requirement("planner:C18")
@requirement("planner:C19")
@pytest.mark.parametrize(
    ("text", "state", "codes"),
    [
        ("", PlanState.EMPTY, []),
        (" \n\t\n", PlanState.EMPTY, []),
        ("\nfeat(x): t", PlanState.UNKNOWN, [("header_malformed", 1)]),
        ("a\n\0b", PlanState.HALTED, [("unsafe_character", 2)]),
        ("feat(x): é\n\ud800", PlanState.HALTED, [("unsafe_character", 2)]),
        (T + "a" * 99_988, PlanState.PARSED, []),
        (T + "a" * 99_989, PlanState.HALTED, [("input_too_long", 0)]),
        (" " * 100_001, PlanState.HALTED, [("input_too_long", 0)]),
    ],
)
def test_every_text_has_a_state(text: str, state: PlanState, codes: list[tuple[str, int]]) -> None:
    plan = parse_plan(text)

    assert plan.state is state
    assert _codes(plan) == codes
    assert (plan.header is None) is (state is not PlanState.PARSED)


def test_lines_that_end_in_crlf_are_read_and_warned_of_once() -> None:
    plan = parse_plan("fix: a\r\n\r\nb\r\n")

    assert plan == Plan(PlanState.PARSED, Header("fix", ignored=" a"), "b")
    assert _warned(plan) == [("crlf_normalised", 0), ("title_ignored", 1)]
    assert plan.warnings[0].field == ""
    assert parse_plan("feat(x): t\n\na\rb\r").description == "a\rb"
    assert parse_plan("feat(x): t\r").state is PlanState.UNKNOWN


def test_the_spot_in_a_long_line_is_shown_with_what_is_around_it() -> None:
    problem = parse_plan(T + "\t- [X]: " + "a" * 200).problems[0]

    assert (problem.line, problem.column, problem.span) == (3, 2, 207)
    assert problem.shown == "\t- [X]: " + "a" * 92
    assert problem.carets == "\t" + "^" * 99

    problem = parse_plan("feat(x): " + "a" * 300).problems[0]
    assert (problem.column, problem.span) == (130, 180)
    assert problem.shown == "a" * 100
    assert problem.carets == " " * 40 + "^" * 60


def test_two_plans_are_equal_if_they_say_the_same() -> None:
    assert parse_plan("feat(x): t\r\n") == parse_plan("feat(x): t")
    assert hash(parse_plan("feat(x): t\r\n")) == hash(parse_plan("feat(x): t"))
    assert parse_plan("feat(x): t") != "feat(x): t"
    assert parse_plan("feat(x): t", COMMIT_MESSAGE) != parse_plan("feat(x): u")
