"""Which lines of a plan are acceptance criteria, and which of results say that one is satisfied."""

import pytest

from handrail.documents.criteria import (
    MAX_CHARACTERS,
    Criterion,
    check_off_criteria,
    parse_criteria,
    strip_result_links,
)
from helpers.requirement import requirement

HEAD = "# Plan\n\n## Acceptance Criteria\n\n"

FOUND: dict[str, tuple[str, list[str]]] = {
    "every bullet": (HEAD + "- [ ] a\n\n* [ ] b\n\n+ [ ] c\n", ["a", "b", "c"]),
    "no box": (HEAD + "- a\n- [] b\n- [y] c\n- [ ]\n- [ ]d\n- [x](e)\n", []),
    "numbers are no bullets": (HEAD + "1. [ ] a\n2) [x] b\n", []),
    "nested": (HEAD + "- [ ] a\n  - [x] b\n    - [ ] c\n- d\n  * [X] e\n", ["a", "+b", "c", "+e"]),
    "nested in numbers": (HEAD + "1. a\n   - [ ] b\n", ["b"]),
    "two bullets in a line": (HEAD + "- - [ ] a\n", ["a"]),
    "in a quote": (HEAD + "> - [ ] a\n", ["a"]),
    "tabs": (HEAD + "-\t[ ]\ta\tb\n\t- [\t] c\n", ["a b", "c"]),
    "wrapped": (HEAD + "- [ ] a\n  b\nc\n- [x]\n  d\n", ["a b c", "+d"]),
    "a second paragraph is no text of it": (HEAD + "- [ ] a\n\n  b\n", ["a"]),
    "an item that begins with something else": (HEAD + "- # [ ] a\n- ```\n  [ ] b\n  ```\n", []),
    "indented code": (HEAD + "    - [ ] a\n", []),
    "a fence": (HEAD + "```\n- [ ] a\n```\n~~~~ md\n- [ ] b\n~~~\n~~~~\n- [ ] c\n", ["c"]),
    "a fence without an end": (HEAD + "- [ ] a\n\n```\n- [ ] b\n", ["a"]),
    "a fence inside an item": (HEAD + "- [ ] a\n  ```\n  - [ ] b\n  ```\n- [ ] c\n", ["a", "c"]),
    "a comment": (HEAD + "<!--\n- [ ] a\n\n- [ ] b\n-->\n- [ ] c\n", ["c"]),
    "a comment inside an item": (HEAD + "- [ ] a\n  <!-- no\n  - [ ] b\n  -->\n- [ ] c\n", ["a", "c"]),
    "a comment in a line": (HEAD + "- [ ] a <!-- b -->\n<!-- - [ ] c -->\n", ["a <!-- b -->"]),
    "windows": ((HEAD + "- [ ] a\n- [X] b\n").replace("\n", "\r\n"), ["a", "+b"]),
    "old macs": ((HEAD + "- [ ] a\n- [X] b\n").replace("\n", "\r"), ["a", "+b"]),
    "a byte order mark": ("\ufeff# Acceptance Criteria\n- [ ] a", ["a"]),
    "a heading of the same level ends it": (HEAD + "- [ ] a\n## Risks\n- [ ] b\n", ["a"]),
    "a higher one too": (HEAD + "- [ ] a\n# Risks\n- [ ] b\n", ["a"]),
    "a lower one does not": (HEAD + "### First\n- [ ] a\n###### Last\n- [ ] b\n", ["a", "b"]),
    "a line below makes a heading": ("Acceptance Criteria\n---\n- [ ] a\n\nRisks\n---\n- [ ] b\n", ["a"]),
    "a lower one of the name is inside": (
        HEAD + "### Acceptance Criteria\n- [ ] a\n### B\n- [ ] b",
        ["a", "b"],
    ),
    "it may stand there twice": (HEAD + "- [ ] a\n# B\n- [ ] b\n" + HEAD + "- [ ] c\n", ["a", "c"]),
    "a heading in a fence ends nothing": (HEAD + "```\n# no\n```\n- [ ] a\n", ["a"]),
    "a heading in an item ends nothing": (HEAD + "- # no\n- [ ] a\n", ["a"]),
    "a heading in a quote begins nothing": ("> # Acceptance Criteria\n\n- [ ] a\n", []),
    "a rule ends nothing": (HEAD + "- [ ] a\n\n---\n\n- [ ] b\n", ["a", "b"]),
    "how the heading is written": ("#  **ACCEPTANCE\tcriteria**:  ##\n- [ ] a\n", ["a"]),
    "another heading": ("# Acceptance Criteria of old\n- [ ] a\n# Criteria\n- [ ] b\n", []),
    "no heading": ("- [ ] a\n", []),
    "nothing": ("", []),
    "before it": ("- [ ] a\n" + HEAD, []),
}


@requirement("spells:gather.count")
@pytest.mark.parametrize("name", FOUND)
def test_the_criteria_of_a_plan(name: str) -> None:
    plan, expected = FOUND[name]

    assert ["+" * found.checked + found.text for found in parse_criteria(plan)] == expected


@requirement("spells:gather.count")
def test_items_of_the_template_are_no_criteria_checked_or_not() -> None:
    template = HEAD + "- [ ] <what can be seen, one per line>\n- [ ] ...\n"
    plan = HEAD + "- [x] <What can be seen,  one per line>\n- [ ] ...\n- [ ] The door opens\n"

    assert parse_criteria(template, template) == ()
    assert parse_criteria(plan, template) == (Criterion("The door opens", checked=False),)


def test_what_is_no_text_is_shown_as_such() -> None:
    plan = (HEAD.encode() + b"- [ ] caf\xe9\n").decode("utf-8", "surrogateescape")

    assert parse_criteria(plan) == (Criterion("caf\ufffd", checked=False),)


def test_a_text_that_is_too_long_has_no_criteria_and_one_that_just_fits_has() -> None:
    plan = HEAD + "- [ ] a\n\n"

    assert len(parse_criteria(plan + "b" * (MAX_CHARACTERS - len(plan)))) == 1
    assert parse_criteria(plan + "b" * (MAX_CHARACTERS - len(plan) + 1)) == ()


LISTED: dict[str, tuple[str, list[str]]] = {
    "with a box, or without": (
        "# Acceptance Criteria\n- [x] a\n- [X] b\n* c\n1. d\n2. [x] e\n",
        list("abcde"),
    ),
    "an empty box": ("# Acceptance Criteria\n- [ ] a\n1. [ ] b\n- [x] c\n", ["c"]),
    "a heading that contains the words": ("## Satisfied acceptance  criteria (2 of 3)\n- a\n", ["a"]),
    "another heading": ("# Learned\n- a\n", []),
    "the heading after it": ("## Acceptance Criteria\n- a\n## Learned\n- b\n", ["a"]),
    "each once": ("# Acceptance Criteria\n- a  b\n- A B\n- [x] a\n  b\n", ["a b"]),
    "a note on an item": ("# Acceptance Criteria\n- a\n  - seen in b.py\n- [ ] c\n  - not yet\n", ["a"]),
    "a box inside an item": ("# Acceptance Criteria\n- Done:\n  - [x] a\n  - [ ] b\n", ["Done:", "a"]),
    "front matter": ("---\nsatisfied: [a, 'b, c']\n---\n# Learned\n- d\n", ["a", "b, c"]),
    "a list in front matter": ("---\nsatisfied:\n- a\n- b:  c\n---\n", ["a", "b: c"]),
    "one in front matter": ("---\nsatisfied: a\n---\n", ["a"]),
    "none in front matter": ("---\nsatisfied:\n---\n", []),
    "both": ("---\nsatisfied: [A, b]\n---\n# Acceptance Criteria\n- a\n", ["a", "b"]),
    "front matter is no heading": ("---\ntitle: Acceptance Criteria\n---\n- a\n", []),
    "windows": ("---\r\nsatisfied: [a]\r\n---\r\n# Acceptance Criteria\r\n- b\r\n", ["b", "a"]),
    "a link to results": (
        "# Acceptance Criteria\n- a ([results](tasks/t))\n- A\n",
        ["a ([results](tasks/t))"],
    ),
    "nothing": ("", []),
}


@pytest.mark.parametrize("name", LISTED)
def test_what_results_list_as_satisfied(name: str) -> None:
    results, expected = LISTED[name]

    assert list(check_off_criteria("", results, "").unmatched) == expected


@pytest.mark.parametrize(
    ("text", "bare_text"),
    [
        ("It works", "It works"),
        ("It works ([results](tasks/a/results.md))", "It works"),
        ("It works ([results](a.md)) ([results](b.md))", "It works"),
        ("It works ([results](a b.md))", "It works ([results](a b.md))"),
        ("Odd))", "Odd))"),
    ],
)
def test_a_criterion_is_told_without_the_links_to_its_results(text: str, bare_text: str) -> None:
    assert strip_result_links(text) == bare_text
