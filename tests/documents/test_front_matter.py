"""Front matter: what is good comes back whole, what is wrong is named by its line, the body is untouched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.documents.front_matter import (
    FRONT_MATTER_CODES,
    MAX_ITEMS,
    MAX_LINE_LENGTH,
    MAX_LINES,
    FrontMatter,
    FrontMatterProblem,
    list_field_texts,
    parse_front_matter,
)

BODY = "# Reviewer\n\n---\n\nRead it twice.\n"


def test_fields_and_body_come_apart() -> None:
    found = parse_front_matter(f"---\nabout: Reads what others wrote\nsteps: [review, prove]\n---\n{BODY}")

    assert found == FrontMatter({"about": "Reads what others wrote", "steps": ("review", "prove")}, BODY)


def test_a_list_may_stand_below_its_key_indented_or_not() -> None:
    found = parse_front_matter(
        "---\nsteps:\n- one\n  - two\n\t- three\nworkflows:\n\n# why\n  - a b\nabout: x\n---\n"
    )

    assert found == FrontMatter({"steps": ("one", "two", "three"), "workflows": ("a b",), "about": "x"}, "")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("k:", ""),
        ("k: no", "no"),
        ("k: 2026-01-31", "2026-01-31"),
        ("k:   spaced\t ", "spaced"),
        ("k: a: b", "a: b"),
        ("k: issue #4", "issue #4"),
        ("k: '#4: \"it\"'", '#4: "it"'),
        ('k: ""', ""),
        ("k: []", ()),
        ("k: [ ]", ()),
        ("k: [one]", ("one",)),
        ("k: [a b,c , 'd, e', \"f]\", g: h, it]", ("a b", "c", "d, e", "f]", "g: h", "it")),
        ("k: [['a']]", None),
    ],
)
def test_a_value_is_what_stands_behind_the_colon(line: str, value: str | tuple[str, ...] | None) -> None:
    found = parse_front_matter(f"---\n{line}\n---\n{BODY}")

    assert found.fields == ({} if value is None else {"k": value})
    assert found.body == BODY


@pytest.mark.parametrize(
    "text", ["", "\n", "--- \nno end", "text\n---\na: b\n---\n", " ---\na: b\n---\n", "----\na: b\n---\n"]
)
def test_without_front_matter_everything_is_body(text: str) -> None:
    assert (parse_front_matter(text).fields, parse_front_matter(text).body) == ({}, text)


def test_windows_line_ends_and_a_byte_order_mark_are_no_trouble() -> None:
    found = parse_front_matter("\ufeff---\r\nabout: x\r\nsteps:\r\n- y\r\n---\r\nbody\r\n")

    assert found == FrontMatter({"about": "x", "steps": ("y",)}, "body\r\n")


def test_the_last_line_needs_no_end() -> None:
    assert parse_front_matter("---\nabout: x\n---") == FrontMatter({"about": "x"}, "")


SLIPS = {
    "an empty item": (
        "k:\n-\n",
        FrontMatterProblem(3, "front-item", "the item is empty", "write it, or drop the line"),
    ),
    "an item without a key": (
        "- x\n",
        FrontMatterProblem(
            2, "front-item", "no key is open that this item could belong to", "put the items below `key:`"
        ),
    ),
    "an item below a value": (
        "k: v\n- x\n",
        FrontMatterProblem(
            3, "front-item", "no key is open that this item could belong to", "put the items below `key:`"
        ),
    ),
    "an item below a list": (
        "k: [v]\n- x\n",
        FrontMatterProblem(
            3, "front-item", "no key is open that this item could belong to", "put the items below `key:`"
        ),
    ),
    "no colon": (
        "word\n",
        FrontMatterProblem(
            2,
            "front-line",
            "the line is neither `key: value` nor `- item`",
            "write a key, a colon, a blank and a value",
        ),
    ),
    "no blank": (
        "k:v\n",
        FrontMatterProblem(
            2,
            "front-line",
            "the line is neither `key: value` nor `- item`",
            "write a key, a colon, a blank and a value",
        ),
    ),
    "a mapping": (
        "  k: v\n",
        FrontMatterProblem(
            2, "front-line", "the line is indented, and nothing nests here", "begin it at the margin"
        ),
    ),
    "a key of two words": (
        "a b: v\n",
        FrontMatterProblem(
            2,
            "front-key",
            "this cannot be a key",
            "use letters, digits, `_` and `-`, beginning with a letter, at most 64",
        ),
    ),
    "a long key": (
        f"{'k' * 65}: v\n",
        FrontMatterProblem(
            2,
            "front-key",
            "this cannot be a key",
            "use letters, digits, `_` and `-`, beginning with a letter, at most 64",
        ),
    ),
    "a key twice": (
        "k: v\nk: w\n",
        FrontMatterProblem(3, "front-key", "`k` stands here twice", "drop one of them"),
    ),
    "a quote": (
        'k: "v\n',
        FrontMatterProblem(
            2,
            "front-value",
            "the quotes are not around the whole value",
            "end it with the quote it begins with, and use none of these inside",
        ),
    ),
    "one sign": (
        "k: '\n",
        FrontMatterProblem(
            2,
            "front-value",
            "the quotes are not around the whole value",
            "end it with the quote it begins with, and use none of these inside",
        ),
    ),
    "two texts": (
        "k: 'a' b 'c'\n",
        FrontMatterProblem(
            2,
            "front-value",
            "the quotes are not around the whole value",
            "end it with the quote it begins with, and use none of these inside",
        ),
    ),
    "a block": (
        "k: |\n",
        FrontMatterProblem(
            2,
            "front-value",
            "a value that begins with `|` is more than a text",
            "put quotes around it, or write it in one line",
        ),
    ),
    "an alias": (
        "k: *all\n",
        FrontMatterProblem(
            2,
            "front-value",
            "a value that begins with `*` is more than a text",
            "put quotes around it, or write it in one line",
        ),
    ),
    "a list in a list": (
        "k:\n- [a]\n",
        FrontMatterProblem(
            3,
            "front-value",
            "a value that begins with `[` is more than a text",
            "put quotes around it, or write it in one line",
        ),
    ),
    "a long line": (
        f"k: {'v' * MAX_LINE_LENGTH}\n",
        FrontMatterProblem(2, "front-long", "the line has 1,003 characters", "keep to 1,000"),
    ),
    "a control character": (
        "k: \x1b[2J\n",
        FrontMatterProblem(2, "front-character", "the character U+001B is no text", "remove it"),
    ),
    "a carriage return": (
        "k: a\rb\n",
        FrontMatterProblem(2, "front-character", "the character U+000D is no text", "remove it"),
    ),
    "half a character": (
        "k: \ud83d\n",
        FrontMatterProblem(2, "front-character", "the character U+D83D is no text", "remove it"),
    ),
}


@pytest.mark.parametrize("what", SLIPS)
def test_what_is_wrong_is_told_by_line_and_the_body_stays(what: str) -> None:
    lines, slip = SLIPS[what]

    found = parse_front_matter(f"---\n{lines}---\n{BODY}")

    assert found.problems == (slip,)
    assert found.body == BODY


@pytest.mark.parametrize(
    "value", ["[", "[a", "[a] # b", "[a,]", "[,]", "[a,,b]", "[a 'b']", "['a' b]", "[a, {b]", "[']", "[a] b]"]
)
def test_what_only_begins_like_a_list_is_none(value: str) -> None:
    (slip,) = parse_front_matter(f"---\nk: {value}\n---\n").problems

    assert slip == FrontMatterProblem(
        2, "front-value", "this is no list of texts", "write `[a, b]`, each a word or in quotes"
    )


def test_every_line_that_is_wrong_is_told_and_the_others_count() -> None:
    found = parse_front_matter("---\nabout: x\nno\nsteps:\n- a\n- 'b\n- c\na b:\n- d\nlast: y\n---\n")

    assert found.fields == {"about": "x", "steps": ("a", "c"), "last": "y"}
    assert [(slip.line, slip.code) for slip in found.problems] == [
        (3, "front-line"),
        (6, "front-value"),
        (8, "front-key"),
        (9, "front-item"),
    ]


def test_a_list_of_a_hundred_is_the_longest_either_way() -> None:
    lines = "".join(f"- i{number}\n" for number in range(96))
    inline = ", ".join(f"i{number}" for number in range(MAX_ITEMS + 1))

    below = parse_front_matter(f"---\nk:\n{lines}---\n")
    long = parse_front_matter(f"---\nk: [{inline}]\n---\n")
    full = parse_front_matter(f"---\nk: [{inline.rpartition(',')[0]}]\n---\n")

    assert (len(below.fields["k"]), below.problems) == (96, ())
    assert (long.fields, long.problems) == (
        {},
        (FrontMatterProblem(2, "front-long", "the list has too many items", "keep to 100"),),
    )
    assert (len(full.fields["k"]), full.problems) == (100, ())


def test_front_matter_without_an_end_is_body_and_the_repair_is_told() -> None:
    unclosed = FrontMatterProblem(
        1,
        "front-unclosed",
        "the front matter has no end",
        "end it with a line `---`, after 100 lines at most",
    )
    long = "---\n" + "a: b\n" * (MAX_LINES + 1) + "---\nbody"

    assert parse_front_matter("---\nabout: x\n") == FrontMatter({}, "---\nabout: x\n", (unclosed,))
    assert parse_front_matter("---") == FrontMatter({}, "---", (unclosed,))
    assert parse_front_matter(long) == FrontMatter({}, long, (unclosed,))
    assert parse_front_matter("---\n" + "# b\n" * MAX_LINES + "---\nbody") == FrontMatter({}, "body")


def test_every_code_of_a_slip_is_shown_above() -> None:
    assert {slip.code for _, slip in SLIPS.values()} | {"front-unclosed", "front-unread"} == set(
        FRONT_MATTER_CODES
    )


def test_a_key_that_nobody_reads_is_told_where_the_keys_are_known() -> None:
    text = "---\nabout: x\nstep: review\n- mend\n---\n"

    found = parse_front_matter(text, ("about", "steps"))

    assert found.fields == {"about": "x"}
    assert found.problems == (
        FrontMatterProblem(3, "front-unread", "nobody reads `step`", "drop it; what is read is about, steps"),
        FrontMatterProblem(
            4, "front-item", "no key is open that this item could belong to", "put the items below `key:`"
        ),
    )
    assert parse_front_matter("---\nabout: x\nstep: review\n---\n").fields == {"about": "x", "step": "review"}


def test_a_single_text_is_a_list_too() -> None:
    assert (list_field_texts(""), list_field_texts("a"), list_field_texts(("a", "b"))) == (
        (),
        ("a",),
        ("a", "b"),
    )


PLAIN = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufeff\ufffe\uffff"),
    max_size=40,
)
KEYS = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,20}", fullmatch=True)


def _quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text else f'"{text}"'


QUOTABLE = PLAIN.filter(lambda text: not {"'", '"'} <= set(text))
ITEMS = st.lists(QUOTABLE.filter(bool), max_size=5).map(tuple)
FIELDS = st.dictionaries(KEYS, st.one_of(QUOTABLE, ITEMS), max_size=8)


def _written(value: str | tuple[str, ...], *, below: bool) -> str:
    if isinstance(value, str):
        return f" {_quoted(value)}"
    if below and value:
        return "".join(f"\n- {_quoted(item)}" for item in value)
    return f" [{', '.join(map(_quoted, value))}]"


@pytest.mark.unmeasured
@given(fields=FIELDS, body=st.text(), below=st.booleans(), end=st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_is_read_back(
    fields: dict[str, str | tuple[str, ...]], body: str, *, below: bool, end: str
) -> None:
    lines = "".join(f"{key}:{_written(value, below=below)}\n" for key, value in fields.items())
    head = f"---\n{lines}---\n".replace("\n", end)

    assert parse_front_matter(head + body) == FrontMatter(fields, body)


@given(st.text("-:[]'\"#, \t\r\nabk\ufeff\0", max_size=60))
def test_no_text_is_too_odd_and_the_body_is_its_end(text: str) -> None:
    for whole in (text, f"---\n{text}", f"---\n{text}\n---\n{text}"):
        found = parse_front_matter(whole)

        assert whole.endswith(found.body)
        assert all(1 <= slip.line <= whole.count("\n") + 1 for slip in found.problems)
        assert all(isinstance(value, (str, tuple)) for value in found.fields.values())


@pytest.mark.parametrize(
    "piece", ["'", '"', "[", ",", "a,", "''", "- ", "\n- a", ": ", " ", "\t", "---", "\r"]
)
def test_a_hostile_text_of_a_megabyte_is_read_in_no_time(piece: str) -> None:
    many = piece * 300_000

    for text in (many, f"---\n{many}", f"---\nk: [{many}]\n---\n"):
        assert text.endswith(parse_front_matter(text).body)
