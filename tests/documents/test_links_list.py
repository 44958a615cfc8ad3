"""The list of links handed on: what stands in it is not new, and the file of a link has a safe name."""

import pytest

from handrail.documents.links import (
    MAX_LINK_LENGTH,
    MAX_LINK_LIST_BYTES,
    find_new_links,
    format_link_line,
    limit_links,
    make_link_id,
)

ONE = "https://acme.atlassian.net/browse/AB-1"
TWO = "https://acme.atlassian.net/wiki/x/AbC"

KNOWN = {
    "in none": ("", (ONE, TWO)),
    "in a list": (f"{ONE}\nhttps://jira/x\n", (TWO,)),
    "in a list without an end": (f"https://jira/x\n{ONE}", (TWO,)),
    "in a list that has both": (f"{TWO}\n{ONE}", ()),
    "with blanks around it": (f" \t{ONE} \n", (TWO,)),
    "with line ends of Windows": (f"{ONE}\r\nx\r\n{TWO}", ()),
    "behind a byte order mark": (f"\ufeff{ONE}\n", (TWO,)),
    "in what is not understood": (f"# mine\n\n- {ONE}\n\0\n", (ONE, TWO)),
    "as a part of another": (f"{ONE}0\n{ONE}#x\n", (ONE, TWO)),
    "two in a line": (f"{ONE} {TWO}\n", (ONE, TWO)),
}


@pytest.mark.parametrize("where", KNOWN)
def test_a_link_is_known_if_it_is_a_line_of_the_list(where: str) -> None:
    refs, new = KNOWN[where]

    assert find_new_links(f"{ONE}\n{TWO}\n{ONE}\n", refs) == new


def test_new_is_what_is_in_the_text_and_not_in_the_list() -> None:
    text = f"{TWO} https://jira/x {ONE} {TWO}"

    assert find_new_links(text, "") == (TWO, "https://jira/x", ONE)
    assert find_new_links(text, f"{ONE}\r\nhttps://jira/y\r\n") == (TWO, "https://jira/x")
    assert find_new_links("", ONE) == ()


@pytest.mark.parametrize(
    ("link", "name"),
    [
        ("https://acme.atlassian.net/browse/AB-1", "4f002aa9397f9432"),
        ("https://acme.atlassian.net/wiki/x/AbC", "fc69508c30729c86"),
        ("https://acme.atlassian.net/wiki/Übersicht", "ed334220dfea5063"),
    ],
)
def test_the_name_for_a_link_is_the_beginning_of_its_digest(link: str, name: str) -> None:
    assert make_link_id(link) == name
    assert format_link_line(link) == f"{link} → {name}"


def test_what_is_handed_on_at_once_is_bounded_and_the_rest_comes_next() -> None:
    links = [f"https://jira/{number:0{MAX_LINK_LENGTH - 13}}" for number in range(20)]

    first = limit_links(links)

    assert 16 * (MAX_LINK_LENGTH + 21) <= MAX_LINK_LIST_BYTES < 17 * (MAX_LINK_LENGTH + 21)
    assert first == tuple(links[:16])
    assert limit_links(find_new_links(" ".join(links), "\n".join(first))) == tuple(links[16:])
    assert limit_links([]) == ()
