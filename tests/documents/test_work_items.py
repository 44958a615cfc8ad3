"""Work items of a design document: what is one, what is wrong with one, and the one line that is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.documents.work_items import WorkItem, WorkItems, mark_documented, parse_work_items
from helpers.requirement import requirement

DESIGN = """\
# Design

### Item 9: Not under the heading

## Work Items

Some words.

### Item 1: First
**Type:** code
**Status:** documented

### Item 2: Second

- **Type:** task
- **Status:** pending

Text of it.

#### Part

**Status** : not read here, as it is the second

### Notes

**Type:** nonsense

### Item 3: Third ###

## Later

### Item 4: Not under it any more
"""


@requirement("skills:items.read")
def test_items_are_read_with_their_types_and_statuses() -> None:
    found = parse_work_items(DESIGN.replace("**Status** : not read here, as it is the second\n", ""))

    assert found == WorkItems(
        (WorkItem(1, "First", "code", documented=True), WorkItem(2, "Second", "task"), WorkItem(3, "Third")),
        (),
    )
    assert [item.number for item in found.pending] == [2, 3]


def test_a_second_status_of_an_item_is_named_with_its_line() -> None:
    assert parse_work_items(DESIGN).problems == ("line 22: item 2 has a status already",)


@pytest.mark.parametrize(
    "written",
    [
        "**Type:** bugfix",
        "**Type**: bugfix",
        "* **type:**   `BugFix`  ",
        "   **TYPE:**bugfix",
        "+ **Type:** bugfix",
    ],
)
def test_a_type_is_read_however_it_is_set_off(written: str) -> None:
    assert parse_work_items(f"## Work items:\n### item 7 : It\n{written}\n") == WorkItems(
        (WorkItem(7, "It", "bugfix"),), ()
    )


@requirement("skills:items.read")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "### Item 1: A\n**Type:** feature\n",
            "line 3: the type of item 1 is 'feature'; write code or task or bugfix",
        ),
        (
            "### Item 1: A\n**Status:** done\n",
            "line 3: the status of item 1 is 'done'; write pending or documented",
        ),
        ("### Item 1: A\n**Type:**\n", "line 3: the type of item 1 is ''; write code or task or bugfix"),
        ("### Item one: A\n", "line 2: write the heading as `### Item N: Title`, with a number"),
        ("### Item 1\n", "line 2: write the heading as `### Item N: Title`, with a number"),
        ("### Item 1: A\n### Item 1: B\n", "line 3: there is an item 1 already"),
        ("### Item 1: A\n```\n", "line 3: what begins here, a fence or a comment, is never closed"),
        ("<!-- ### Item 1: A\n", "line 2: what begins here, a fence or a comment, is never closed"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(body: str, said: str) -> None:
    assert parse_work_items(f"## Work Items\n{body}").problems == (said,)


def test_of_many_problems_the_first_are_told_and_the_rest_counted() -> None:
    found = parse_work_items("## Work Items\n" + "### Item x\n" * 30)

    assert len(found.problems) == 21
    assert found.problems[-1] == "and 10 more"


def test_items_in_fences_and_comments_are_none() -> None:
    hidden = "```\n### Item 1: A\n```\n<!--\n### Item 2: B\n-->\n"
    fenced = f"## Work Items\n{hidden}### Item 3: C\n<!-- **Type:** task -->\n"

    assert parse_work_items(fenced) == WorkItems((WorkItem(3, "C"),), ())


def test_a_document_without_the_heading_has_no_items() -> None:
    assert parse_work_items("") == WorkItems((), ())
    assert parse_work_items("# Work Items\n### Item 1: A\n") == WorkItems((), ())


def test_the_current_item_is_the_one_of_the_run_if_it_is_pending_or_the_first_that_is() -> None:
    items = WorkItems((WorkItem(1, "A", documented=True), WorkItem(2, "B"), WorkItem(3, "C")), ())

    assert [
        found.number if (found := items.find_current(number)) else None for number in (None, 1, 2, 3, 9)
    ] == [
        2,
        2,
        2,
        3,
        2,
    ]
    over = WorkItems((WorkItem(1, "A", documented=True),), ())
    assert (over.find_current(1), over.find_current(None)) == (over.items[0], None)


@requirement("skills:items.mark")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("**Type:** code\n**Status:** pending\nx", "**Type:** code\n**Status:** documented\nx"),
        ("- **Status**:  `Pending`  \r\nx", "- **Status**:  `documented`  \r\nx"),
        ("**Status:** documented\n", "**Status:** documented\n"),
        ("**Status:**\nx", "**Status:** documented\nx"),
        ("\ntext\n- **Type:** task\r\nx", "\ntext\n- **Type:** task\r\n- **Status:** documented\r\nx"),
        ("text\n", "**Status:** documented\ntext\n"),
        ("**Type:** code", "**Type:** code\n**Status:** documented"),
        ("<!-- **Status:** pending -->\n", "**Status:** documented\n<!-- **Status:** pending -->\n"),
    ],
)
def test_one_status_is_set_and_every_other_character_stays(before: str, after: str) -> None:
    head = "\ufeff# D\udcff\r\n## Work Items\n### Item 1: A\n**Status:** pending\n### Item 2: B\n"

    assert mark_documented(head + before, 2) == head + after


def test_an_item_that_is_not_there_cannot_be_documented() -> None:
    assert mark_documented(DESIGN, 4) is None
    assert mark_documented(DESIGN, None) is None


def test_an_item_with_nothing_behind_its_heading_gets_its_status_there() -> None:
    assert (
        mark_documented("## Work Items\n### Item 1: A", 1)
        == "## Work Items\n### Item 1: A\n**Status:** documented"
    )


@given(
    st.lists(
        st.sampled_from(
            [
                "## Work Items",
                "### Item 1: A",
                "### Item 2: B",
                "**Type:** task",
                "**Status:** pending",
                "```",
                "x",
            ]
        ),
        max_size=12,
    )
)
def test_whatever_is_documented_is_documented_then_and_nothing_else_is(lines: list[str]) -> None:
    design = "\n".join(lines)
    before, after = parse_work_items(design), mark_documented(design, 1)
    if after is None:
        assert all(item.number != 1 for item in before.items)
        return
    first = next(item for item in parse_work_items(after).items if item.number == 1)
    assert first.documented
    assert [item for item in parse_work_items(after).items if item.number != 1] == [
        item for item in before.items if item.number != 1
    ]
