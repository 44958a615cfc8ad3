import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.engine.problems import Place, Problem, build_error, build_warning
from handrail.workflows.problem_report import format_problems


def show(problem: Problem, source: str) -> str:
    """One problem, without the line that counts."""
    return format_problems([problem], {problem.place.file: source}).rpartition("\n")[0]


def at(line: int, column: int, length: int = 1) -> Problem:
    return build_error("some-code", Place("f.yaml", line, column, length), "some message")


def test_a_problem_is_shown_with_its_line_its_repair_and_the_way_there() -> None:
    problem = build_error(
        "unknown-fact",
        Place("spells.yaml", 12, 12, 10),
        "no fact is called `plan.exist`",
        "did you mean `plan.exists`?",
        ("G1", "G2"),
    )
    source = "\n" * 11 + "    when: [plan.exist, results.exists]\n"
    assert show(problem, source) == (
        "spells.yaml:12:12: error[unknown-fact]: no fact is called `plan.exist`\n"
        "   12 |     when: [plan.exist, results.exists]\n"
        "      |            ^^^^^^^^^^\n"
        "      = did you mean `plan.exists`?\n"
        "      = way there: G1, G2"
    )


def test_repair_and_way_are_shown_only_if_there_are_any() -> None:
    assert show(at(1, 1, 2), "ab c") == (
        "f.yaml:1:1: error[some-code]: some message\n    1 | ab c\n      | ^^"
    )


@pytest.mark.parametrize("source", ["", "a: b"])
def test_a_line_that_is_not_there_is_not_shown(source: str) -> None:
    assert show(at(7, 1), source) == "f.yaml:7:1: error[some-code]: some message"


def test_long_line_numbers_keep_the_margin_aligned() -> None:
    assert show(at(123456, 1), "\n" * 123455 + "a").splitlines()[1:] == ["123456 | a", "       | ^"]


@pytest.mark.parametrize(
    ("line", "column", "length", "shown", "carets"),
    [
        ("\ta:\tb", 5, 1, " a: b", "    ^"),
        ("日本: x", 5, 1, "日本: x", "      ^"),
        ("a日本", 2, 2, "a日本", " ^^^^"),
        ("e\u0301e\u0301x", 5, 1, "e\u0301e\u0301x", "  ^"),
        ("e\u0301", 2, 1, "e\u0301", " ^"),
        ("a\u202eb", 3, 1, "a\\u{202e}b", "         ^"),
        ("a\u200bb", 2, 1, "a\\u{200b}b", " ^^^^^^^^"),
        ("a\x1b[2Jb", 1, 1, "a\\u{1b}[2Jb", "^"),
        ("❤\ufe0f", 1, 1, "❤\\u{fe0f}", "^"),
        ("ab", 3, 0, "ab", "  ^"),
        ("ab", 99, 5, "ab", "  ^"),
        ("ab", 0, 1, "ab", "^"),
        ("ab", 2, 99, "ab", " ^"),
        ("", 1, 1, "", "^"),
        ("x" * 160, 160, 1, "x" * 160, " " * 159 + "^"),
        ("x" * 161, 1, 2, "x" * 158 + "…", "^^"),
        ("x" * 99 + "y" + "z" * 300, 100, 1, "…" + "x" * 60 + "y" + "z" * 97 + "…", " " * 61 + "^"),
        ("x" * 299 + "y", 300, 1, "…" + "x" * 60 + "y", " " * 61 + "^"),
        ("x" * 199 + "y" * 300, 200, 300, "…" + "x" * 60 + "y" * 98 + "…", " " * 61 + "^" * 98),
    ],
)
def test_carets_stand_under_the_spot(line: str, column: int, length: int, shown: str, carets: str) -> None:
    rows = show(at(1, column, length), f"{line}\nnext").split("\n")
    assert rows[1:] == [f"    1 | {shown}".rstrip(), f"      | {carets}"]


def test_a_byte_order_mark_is_not_shown() -> None:
    assert show(at(1, 1), "\ufeffab").split("\n")[1:] == ["    1 | ab", "      | ^"]


def test_no_message_file_repair_or_way_can_forge_a_line() -> None:
    problem = build_error("c", Place("f\n.yaml", 9, 1), "a\nb\u2066", "c\rd", ("G\x1b1",))
    assert show(problem, "") == (
        "f\\u{a}.yaml:9:1: error[c]: a\\u{a}b\\u{2066}\n      = c\\u{d}d\n      = way there: G\\u{1b}1"
    )


def test_all_problems_are_shown_and_counted() -> None:
    problems = [at(1, 1), at(1, 2), build_warning("w", Place("g.yaml", 1, 1), "odd")]
    assert format_problems(problems, {"f.yaml": "ab"}) == (
        "f.yaml:1:1: error[some-code]: some message\n    1 | ab\n      | ^\n"
        "f.yaml:1:2: error[some-code]: some message\n    1 | ab\n      |  ^\n"
        "g.yaml:1:1: warning[w]: odd\n"
        "2 errors, 1 warning"
    )


def test_one_error_alone_is_singular_and_none_is_said() -> None:
    assert format_problems([at(9, 1)], {}).split("\n")[-1] == "1 error"
    assert format_problems([], {}) == "no problems"


@settings(derandomize=True, deadline=None)
@given(st.text(), st.text(max_size=300), st.integers(-1, 4), st.integers(-1, 400), st.integers(0, 400))
def test_whatever_is_shown_is_safe(message: str, source: str, line: int, column: int, length: int) -> None:
    shown = show(build_error("c", Place("f", line, column, length), message), source)
    assert {unicodedata.category(char) for char in shown} & {"Cf", "Cs", "Zl", "Zp"} == set()
    assert {char for char in shown if unicodedata.category(char) == "Cc"} <= {"\n"}
    assert len(shown.split("\n")) in {1, 3}
