"""A check-off writes boxes and links, and not one character besides."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.documents.criteria import check_off_criteria, parse_criteria

HEAD = "# Acceptance Criteria\n"
LINK = "tasks/task-tea-2026-03-01-1200/task-results.md"
DONE = f" ([results]({LINK}))"


def listing(*texts: str) -> str:
    return HEAD + "".join(f"- {text}\n" for text in texts)


MARKED: dict[str, tuple[str, str]] = {
    "a box and a link": ("- [ ] one\n", f"- [x] one{DONE}\n"),
    "the link goes before trailing spaces": ("- [ ] one \t \n", f"- [x] one{DONE} \t \n"),
    "at the end of the text": ("- [ ] one", f"- [x] one{DONE}"),
    "at the end of what is wrapped": (
        "- [ ] two\n  words  \n\n  more\n",
        f"- [x] two\n  words{DONE}  \n\n  more\n",
    ),
    "white space and case": ("+ [ ]  TWO \t Words\n", f"+ [x]  TWO \t Words{DONE}\n"),
    "windows": (
        "- [ ] one\r\n- [ ] two\r\n  words\r\n",
        f"- [x] one{DONE}\r\n- [x] two\r\n  words{DONE}\r\n",
    ),
    "old macs": ("- [ ] one\r- [ ] no\r", f"- [x] one{DONE}\r- [ ] no\r"),
    "tabs": ("-\t[\t]\tone\t\n", f"-\t[x]\tone{DONE}\t\n"),
    "nested": ("- [ ] no\n\t- [ ] one\n", f"- [ ] no\n\t- [x] one{DONE}\n"),
    "two bullets in a line": ("- * [ ] one\n", f"- * [x] one{DONE}\n"),
    "in a quote": ("> - [ ] two\n> words\n", f"> - [x] two\n> words{DONE}\n"),
    "twice in the plan": ("- [ ] one\n- [ ] ONE\n", f"- [x] one{DONE}\n- [x] ONE{DONE}\n"),
    "checked already": ("- [x] one\n- [X] two words\n", "- [x] one\n- [X] two words\n"),
    "less, more or other than listed": (
        "- [ ] one.\n- [ ] two\n- [ ] **one**\n",
        "- [ ] one.\n- [ ] two\n- [ ] **one**\n",
    ),
    "code": ("```\n- [ ] one\n```\n", "```\n- [ ] one\n```\n"),
    "a comment": ("<!--\n- [ ] one\n-->\n", "<!--\n- [ ] one\n-->\n"),
    "opened again": ("- [ ] one ([results](old))\n", f"- [x] one ([results](old)){DONE}\n"),
    "another link": ("- [ ] one ([results](a b))\n", "- [ ] one ([results](a b))\n"),
    "half a link": ("- [ ] one))\n", "- [ ] one))\n"),
}


@pytest.mark.parametrize("name", MARKED)
def test_a_criterion_that_is_listed_is_checked_and_linked(name: str) -> None:
    before, after = MARKED[name]

    assert check_off_criteria(HEAD + before, listing("[x] one", "Two words"), LINK).text == HEAD + after


def test_items_of_the_template_are_left_alone() -> None:
    plan = HEAD + "- [ ] one\n"

    assert check_off_criteria(plan, listing("one"), LINK, template=plan).text == plan


def test_what_was_checked_and_what_was_listed_for_nothing_is_told() -> None:
    plan = HEAD + "- [ ] One  thing\n- [x] old\n- [ ] left\n"

    found = check_off_criteria(plan, listing("one thing", "OLD", "[ ] left", "Other", "other"), LINK)

    assert found.checked == ("One thing",)
    assert found.unmatched == ("Other",)


def test_bytes_that_are_no_text_stay_what_they_were() -> None:
    plan = b"# Acceptance Criteria\n- [ ] caf\xe9 \xff\n- [ ] no\xc3\n".decode("utf-8", "surrogateescape")
    results = b"# Acceptance Criteria\n- Caf\xe9 \xff\n- \xfe\n".decode("utf-8", "surrogateescape")

    found = check_off_criteria(plan, results, LINK)

    assert found.text.encode("utf-8", "surrogateescape") == (
        b"# Acceptance Criteria\n- [x] caf\xe9 \xff" + DONE.encode() + b"\n- [ ] no\xc3\n"
    )
    assert (found.checked, found.unmatched) == (("caf\ufffd \ufffd",), ("\ufffd",))


PIECES = [
    *(
        "- [ ] ",
        "* [x] ",
        "+ [ ]\t",
        "- ",
        "1. [ ] ",
        "> ",
        "  ",
        "\t",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "a",
        "b",
        "A b",
    ),
    *(
        "# Acceptance Criteria\n",
        "## More\n",
        "```\n",
        "<!--\n",
        "-->\n",
        "---\n",
        " ([results](x))",
        "[",
        "`",
    ),
    *("\ufeff", "\0", "\udcff", "\x0b", "\x85", "\u2028", "\\", "é"),
]
documents = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
MARK = "\uffff"


@given(plan=documents, results=documents)
def test_all_but_boxes_and_links_is_as_it_was(plan: str, results: str) -> None:
    plan, results = HEAD + plan, HEAD + "- a\n- b\n\n" + results
    found = check_off_criteria(plan, results, MARK)

    unlinked = found.text.replace(f" ([results]({MARK}))", "")
    assert found.text.count(MARK) == len(found.checked)
    assert len(unlinked) == len(plan)
    changed = [at for at, (old, new) in enumerate(zip(plan, unlinked, strict=True)) if old != new]
    assert len(changed) == len(found.checked)
    assert all(re.fullmatch(r"\[[ \t]\]", plan[at - 1 : at + 2]) and unlinked[at] == "x" for at in changed)


@given(plan=documents, results=documents)
def test_what_was_checked_off_is_checked_and_a_second_time_changes_nothing(plan: str, results: str) -> None:
    before = parse_criteria(HEAD + plan)
    found = check_off_criteria(HEAD + plan, HEAD + "- a\n- b\n\n" + results, "x")
    after = parse_criteria(found.text)

    assert len(after) == len(before)
    assert sum(c.checked for c in after) == sum(c.checked for c in before) + len(found.checked)
    assert check_off_criteria(found.text, HEAD + "- a\n- b\n\n" + results, "x").text == found.text
