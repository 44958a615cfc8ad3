"""Templates: names and filters, and values that try to be more than values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.workflows.templates import FILTERS, Placeholder, StrayBraces, find_placeholders, render_template


def test_names_are_filled_in_and_everything_else_stays() -> None:
    assert render_template("Hello {{name}}, {not} {{ name }}.", {"name": "Ada"}) == "Hello Ada, {not} Ada."


def test_a_name_without_a_value_is_an_accident() -> None:
    with pytest.raises(KeyError, match="name"):
        render_template("{{name}}", {})


def test_what_is_no_placeholder_stays_as_it_is() -> None:
    assert render_template("{{two words}} {{}} {{a|b|c}}", {}) == "{{two words}} {{}} {{a|b|c}}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("text", "text"),
        (5, "5"),
        (0.5, "0.5"),
        (True, "true"),
        (None, "null"),
        (["a", 1], "a, 1"),
        ({"a": "ü"}, '{"a": "ü"}'),
    ],
)
def test_a_value_is_shown_as_it_is(value: object, shown: str) -> None:
    assert render_template("{{x}}", {"x": value}) == shown


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("bullets", ["a", "b\nc"], "- a\n- b\n  c"),
        ("bullets", "one", "- one"),
        ("bullets", [], ""),
        ("bullets", None, ""),
        ("fence", "code", "```\ncode\n```"),
        ("fence", "a ``` b", "````\na ``` b\n````"),
        ("quote", "a\n\nb", "> a\n>\n> b"),
        ("count", ["a", "b"], "2"),
        ("count", {"a": 1}, "1"),
        ("count", "three little words", "3"),
        ("count", None, "0"),
        ("path", "a/b.md", "`a/b.md`"),
        ("path", "a`b", "`` a`b ``"),
        ("path", "", "`  `"),
        ("json", ["ü", None], '["ü", null]'),
    ],
)
def test_a_filter_says_how_a_value_is_shown(name: str, value: object, shown: str) -> None:
    assert render_template(f"{{{{x|{name}}}}}", {"x": value}) == shown


@pytest.mark.parametrize("value", ["{{y}}", "{{x}}", "}}", "{{", "\\g<0>", "{{y|json}}"])
def test_braces_in_a_value_stay_braces(value: str) -> None:
    assert render_template("<{{x}}|{{y}}>", {"x": value, "y": "secret"}) == f"<{value}|secret>"


def test_a_line_of_a_quoted_value_cannot_leave_the_quote() -> None:
    assert render_template("{{x|quote}}", {"x": "a\r# b\r\nc"}) == "> a\n> # b\n> c"


def test_a_line_of_a_listed_value_cannot_leave_its_item() -> None:
    assert render_template("{{x|bullets}}", {"x": ["a\r- b\n# c"]}) == "- a\n  - b\n  # c"


def test_a_path_stays_on_one_line() -> None:
    assert render_template("{{x|path}}", {"x": "a\n\n# b"}) == "`a  # b`"


@given(st.text(st.sampled_from("`a\n ~{}|"), max_size=40))
def test_no_value_closes_its_fence(value: str) -> None:
    lines = FILTERS["fence"](value).split("\n")

    assert "\n".join(lines[1:-1]) == value
    assert lines[0] == lines[-1]
    assert lines[0] not in value


@given(st.text(max_size=30), st.sampled_from(sorted(FILTERS)))
def test_no_value_is_expanded_or_makes_a_filter_fail(value: str, name: str) -> None:
    assert "secret" not in render_template(
        f"{{{{x|{name}}}}}" if name else "{{x}}", {"x": value, "y": "secret"}
    )


def test_placeholders_are_found_in_order_with_their_places() -> None:
    assert find_placeholders("a {{b}} {{c.d|json}} {{e f}} {{g") == (
        Placeholder("b", "", 2, 5),
        Placeholder("c.d", "json", 8, 12),
        StrayBraces("{{e f}}", 21),
        StrayBraces("{{", 29),
    )
    assert StrayBraces("{{e f}}", 21).length == 7


def test_a_closing_pair_is_misplaced_only_behind_something_like_a_name() -> None:
    assert find_placeholders('{"a": {"b": 1}} {x}}') == (StrayBraces("{x}}", 16),)
