"""Documents made to hurt: each is read to its end, in steps that grow with its size and no faster."""

from collections.abc import Callable
from cProfile import Profile

import pytest

from handrail.documents.criteria import MAX_CHARACTERS, check_off_criteria, parse_criteria

pytestmark = pytest.mark.unmeasured
HEAD = "# Acceptance Criteria\n"

HOSTILE: dict[str, Callable[[int], str]] = {
    "backticks": lambda size: "`" * size,
    "items of backticks": lambda size: "- [ ] `" * (size // 7),
    "fences": lambda size: "- ```\n" * (size // 6),
    "bullets in a line": lambda size: "- " * (size // 2) + "[ ] a",
    "quotes in a line": lambda size: "> " * (size // 2) + "- [ ] a",
    "quoted bullets": lambda size: ("- > " * 20 + "\n") * (size // 81),
    "ever deeper": lambda size: "".join("  " * depth + "- [ ] a\n" for depth in range(int(size**0.5))),
    "items": lambda size: "- [ ] a\n" * (size // 8),
    "items apart": lambda size: "- [ ] a\n\n" * (size // 9),
    "lazy lines": lambda size: "- " * 40 + "[ ] a\n" + "b\n" * (size // 2),
    "brackets": lambda size: "- [" * (size // 3),
    "brackets below each other": lambda size: "[\n" * (size // 2),
    "definitions": lambda size: "[a]: b\n'c\n" * (size // 10),
    "tags": lambda size: "<a \n" * (size // 4),
    "comments": lambda size: "<!--\n" * (size // 5),
    "rules": lambda size: "* " * (size // 2) + "a",
    "underlines": lambda size: "a\n=\n" * (size // 4),
    "tabs": lambda size: "-\t" * (size // 2),
    "returns": lambda size: "\r" * size,
    "links": lambda size: "- [ ] a" + " ([results](x))" * (size // 15) + "!",
    "link ends": lambda size: "- [ ] a" + ")" * size,
    "link beginnings": lambda size: "- [ ] a" + " ([results](" * (size // 12) + "))",
    "bytes that are no text": lambda size: "- [ ] \udcff\udc80" * (size // 8),
    "nulls": lambda size: "- [ ] \0\n" * (size // 8),
}


def steps(text: str) -> int:
    """How many functions are called to read a text as a plan and as results, and to check it off."""
    profile = Profile()
    profile.enable()
    parse_criteria(text)
    check_off_criteria("", text, "")
    check_off_criteria(text, text, "x")
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("name", HOSTILE)
def test_twice_as_much_takes_no_more_than_twice_the_steps(name: str) -> None:
    parse_criteria("- [ ] the parser is made")
    once, twice = (steps(HEAD + HOSTILE[name](size)) for size in (5_000, 10_000))

    assert 0 < twice <= 2.2 * once + 500


@pytest.mark.parametrize("name", HOSTILE)
def test_the_rest_of_a_hostile_document_is_read_or_left_and_never_fails(name: str) -> None:
    text = HEAD + HOSTILE[name](20_000)

    assert len(check_off_criteria(text, HEAD + "- [x] a\n", "x").text) >= len(text)


def test_as_many_backticks_as_anybody_sends_hide_no_criterion_before_them() -> None:
    plan = f"{HEAD}- [ ] a\n- [ ] {'`' * 100_000}\n"

    assert [len(criterion.text) for criterion in parse_criteria(plan)] == [1, 100_000]


def test_items_deeper_than_fortynine_lists_are_no_criteria_and_no_trouble() -> None:
    plan = HEAD + "".join("  " * depth + f"- [ ] {depth}\n" for depth in range(300))

    assert [criterion.text for criterion in parse_criteria(plan)] == [str(depth) for depth in range(49)]


def test_a_line_of_ten_megabytes_is_not_read() -> None:
    line = f"{HEAD}- [ ] {'a' * 10_000_000}"

    assert len(line) > MAX_CHARACTERS
    assert (parse_criteria(line), check_off_criteria("", line, "").unmatched) == ((), ())
    assert check_off_criteria(line, line, "x").text == line
