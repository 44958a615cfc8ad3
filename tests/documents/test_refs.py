"""The list of links handed on: what stands in it stays, a link is added once, its file has a safe name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.documents.links import LONGEST, MOST, fresh, handed, line, merged, safe_id

ONE = "https://acme.atlassian.net/browse/AB-1"
TWO = "https://acme.atlassian.net/wiki/x/AbC"

ADDED = {
    "to none": ("", f"{ONE}\n{TWO}\n"),
    "to a list": ("https://jira/x\n", f"https://jira/x\n{ONE}\n{TWO}\n"),
    "to a list without an end": ("https://jira/x", f"https://jira/x\n{ONE}\n{TWO}\n"),
    "to a list that has one": (f"{ONE}\n", f"{ONE}\n{TWO}\n"),
    "to a list that has both": (f"{TWO}\n{ONE}", f"{TWO}\n{ONE}"),
    "to blanks around one": (f" \t{ONE} \n", f" \t{ONE} \n{TWO}\n"),
    "to line ends of Windows": (f"{ONE}\r\nx\r\n", f"{ONE}\r\nx\r\n{TWO}\r\n"),
    "to Windows without an end": (f"x\r\n{ONE}", f"x\r\n{ONE}\r\n{TWO}\r\n"),
    "to a byte order mark": (f"\ufeff{ONE}\n", f"\ufeff{ONE}\n{TWO}\n"),
    "to a byte order mark alone": ("\ufeff", f"\ufeff{ONE}\n{TWO}\n"),
    "to what is not understood": (f"# mine\n\n- {ONE}\n\0\n", f"# mine\n\n- {ONE}\n\0\n{ONE}\n{TWO}\n"),
    "to a part of one": (f"{ONE}0\n{ONE}#x\n", f"{ONE}0\n{ONE}#x\n{ONE}\n{TWO}\n"),
    "to a line with two": (f"{ONE} {TWO}\n", f"{ONE} {TWO}\n{ONE}\n{TWO}\n"),
}


@pytest.mark.parametrize("where", ADDED)
def test_links_are_added_one_a_line_and_what_is_there_stays(where: str) -> None:
    refs, after = ADDED[where]

    assert merged(refs, [ONE, TWO, ONE]) == after
    assert fresh(f"{ONE}\n{TWO}\n", after) == ()


def test_new_is_what_is_in_the_text_and_not_in_the_list() -> None:
    text = f"{TWO} https://jira/x {ONE} {TWO}"

    assert fresh(text, "") == (TWO, "https://jira/x", ONE)
    assert fresh(text, f"{ONE}\r\nhttps://jira/y\r\n") == (TWO, "https://jira/x")
    assert fresh("", ONE) == ()


@pytest.mark.parametrize(
    ("link", "name"),
    [
        ("https://acme.atlassian.net/browse/AB-1", "4f002aa9397f9432"),
        ("https://acme.atlassian.net/wiki/x/AbC", "fc69508c30729c86"),
        ("https://acme.atlassian.net/wiki/Übersicht", "ed334220dfea5063"),
    ],
)
def test_the_name_for_a_link_is_the_beginning_of_its_digest(link: str, name: str) -> None:
    assert safe_id(link) == name
    assert line(link) == f"{link} → {name}"


def test_what_is_handed_on_at_once_is_bounded_and_the_rest_comes_next() -> None:
    links = [f"https://jira/{number:0{LONGEST - 13}}" for number in range(20)]

    first = handed(links)

    assert 16 * (LONGEST + 21) <= MOST < 17 * (LONGEST + 21)
    assert first == tuple(links[:16])
    assert handed(fresh(" ".join(links), merged("", first))) == tuple(links[16:])
    assert handed([]) == ()


LINES = st.one_of(
    st.sampled_from([ONE, TWO, f" {ONE}", f"{TWO}\r", "\ufeff", "# x", ""]), st.text(max_size=20)
)
LISTS = st.builds(
    lambda lines, end: "\n".join(lines) + end, st.lists(LINES, max_size=8), st.sampled_from(["", "\n"])
)
LINKS = st.lists(st.sampled_from([ONE, TWO, "https://jira/x", "http://jira/ü"]), max_size=6)


@given(refs=LISTS, links=LINKS, more=LINKS)
def test_adding_again_adds_nothing_and_nothing_is_lost(refs: str, links: list[str], more: list[str]) -> None:
    once = merged(refs, links)

    assert once.startswith(refs)
    assert merged(once, links) == once
    assert merged(once, more) == merged(refs, [*links, *more])
    assert fresh(" ".join(links), once) == ()
