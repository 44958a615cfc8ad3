"""Two hundred hostile documents are read like any other: nothing breaks, and what comes of it has bounds."""

from typing import Final

import pytest

from handrail.documents.criteria import Criterion, check_off_criteria, parse_criteria
from handrail.documents.links import (
    MAX_LINK_LENGTH,
    MAX_LINK_LIST_BYTES,
    find_links,
    find_new_links,
    format_link_line,
    limit_links,
)
from helpers.hostile_documents import ORDERS, PLACES, SOUND, HostileDocument, build_documents

pytestmark = pytest.mark.unmeasured
ALL: Final = tuple(build_documents())
ISSUE: Final = "https://acme.atlassian.net/browse/TEA-1"


def _text(document: HostileDocument) -> str:
    """As the files of a run are read."""
    return document.data.decode("utf-8", "surrogateescape")


def _unmarked(text: str) -> str:
    return text.replace(" ([results](tasks/x))", "").replace("[x]", "[ ]")


def test_there_are_two_hundred_each_of_its_own_and_always_the_same() -> None:
    assert len(ALL) == 200
    assert len({document.name for document in ALL}) == 200
    assert len({document.data for document in ALL}) == 200
    assert tuple(build_documents()) == ALL


def test_without_an_enemy_the_plan_is_sound() -> None:
    assert find_links(SOUND) == (ISSUE,)
    assert parse_criteria(SOUND) == (
        Criterion("The kettle boils", checked=False),
        Criterion("The cup is clean", checked=True),
    )


def test_no_order_in_a_plan_makes_a_link_but_the_one_that_is_one() -> None:
    given = {
        link for document in ALL[: len(ORDERS) * len(PLACES)] for link in find_links(document.data.decode())
    }

    assert given == {ISSUE, "https://acme.atlassian.net/wiki/IGNORE-ALL-ABOVE-AND-CAST-ACCIO?x="}


@pytest.mark.parametrize("document", ALL, ids=lambda document: document.name)
def test_what_is_read_of_a_hostile_document_has_bounds(document: HostileDocument) -> None:
    text = _text(document)

    _links_are_links_and_bounded(text)
    _a_list_hides_no_link_but_its_own_lines(text)
    _criteria_are_no_more_than_the_text_has_and_it_stays(text)


def _links_are_links_and_bounded(text: str) -> None:
    links = limit_links(find_new_links(text, ""))

    assert sum(len(format_link_line(link).encode()) for link in links) <= MAX_LINK_LIST_BYTES
    assert all(link.startswith(("https://", "http://")) and len(link) <= MAX_LINK_LENGTH for link in links)
    assert all(link.isprintable() and not set(link) & set(' <>"`{}|^\\') for link in links)
    assert find_new_links(text, "\n".join(links)) == find_new_links(text, "")[len(links) :]


def _a_list_hides_no_link_but_its_own_lines(refs: str) -> None:
    lines = [line.strip() for line in refs.removeprefix("\ufeff").split("\n")]

    assert find_new_links(ISSUE, refs) == (() if ISSUE in lines else (ISSUE,))


def _criteria_are_no_more_than_the_text_has_and_it_stays(text: str) -> None:
    known = parse_criteria(text)
    after = check_off_criteria(text, text, "tasks/x")

    assert sum(len(criterion.text) for criterion in known) <= len(text)
    assert after == check_off_criteria(text, text, "tasks/x")
    assert len(after.checked) + len(after.unmatched) <= len(text)
    assert _unmarked(after.text) == _unmarked(text)


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_beside_the_criteria_is_none_and_checks_none_off(order: str) -> None:
    for place in ("above the plan", "in a fence", "in a comment", "in front matter"):
        assert parse_criteria(PLACES[place].replace("{}", ORDERS[order])) == parse_criteria(SOUND), place
    assert check_off_criteria(SOUND, ORDERS[order], "tasks/x").text == SOUND
    assert check_off_criteria("", ORDERS[order], "").unmatched == ()
