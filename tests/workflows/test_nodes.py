import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.documents.text import split_lines
from handrail.engine.problems import Place
from handrail.workflows.nodes import (
    Node,
    NodeList,
    Scalar,
    Table,
    YamlDocument,
    YamlLimits,
    read_yaml,
    to_plain,
)


def value_of(text: str) -> object:
    document = read_yaml(text, "f.yaml")
    assert document.problems == ()
    assert document.root is not None
    return to_plain(document.root)


def under(text: str, name: str) -> Node:
    root = read_yaml(text, "f.yaml").root
    assert isinstance(root, Table)
    node = root.get(name)
    assert node is not None
    return node


def scalar(text: str, name: str = "a") -> Scalar:
    node = under(text, name)
    assert isinstance(node, Scalar)
    return node


def codes(text: str, limits: YamlLimits | None = None) -> list[tuple[str, int, int]]:
    document = read_yaml(text, "f.yaml", limits or YamlLimits())
    return [(problem.code, problem.place.line, problem.place.column) for problem in document.problems]


def only(document: YamlDocument) -> tuple[str, str]:
    (problem,) = document.problems
    return problem.message, problem.repair


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-0", 0),
        ("12", 12),
        ("-9223372036854775808", -9223372036854775808),
        ("9223372036854775807", 9223372036854775807),
        ("1.5", 1.5),
        ("-0.25", -0.25),
        ("1.0e3", 1000.0),
        ("2.5E-1", 0.25),
        *((text, text) for text in ("on", "no", "yes", "True", "NULL", "1_000", "0x10", "010", "+1")),
        *((text, text) for text in ("1:30", "2024-01-02", ".inf", ".nan", "1e5", ".5", "1.", "=", "٣")),
        ("'1'", "1"),
        ('"true"', "true"),
        ("|\n  1\n", "1\n"),
        (">-\n  a\n  b\n", "a b"),
    ],
)
def test_only_plain_scalars_are_resolved_and_only_by_the_table(written: str, value: object) -> None:
    read_value = value_of(f"- {written}")
    assert read_value == [value]
    assert isinstance(read_value, list)
    assert type(read_value[0]) is type(value)


def test_keys_are_strings_by_their_written_text() -> None:
    assert value_of("on: 1\n1: 2\nnull: 3\n'<<': 4\n99999999999999999999: 5\n? a\n") == {
        "on": 1,
        "1": 2,
        "null": 3,
        "<<": 4,
        "99999999999999999999": 5,
        "a": None,
    }


def test_a_table_is_asked_by_name() -> None:
    root = read_yaml("a: {b: [1, two]}", "f.yaml").root
    assert isinstance(root, Table)
    assert root.get("missing") is None
    inner = root.get("a")
    assert isinstance(inner, Table)
    assert isinstance(inner.get("b"), NodeList)


def test_columns_count_characters() -> None:
    assert under("é: ü\n😀: [a, 😀b]\n", "😀").place == Place("f.yaml", 2, 4, 7)
    assert scalar("é😀: ü\n", "é😀").place == Place("f.yaml", 1, 5, 1)


def test_a_byte_order_mark_at_the_start_is_no_character() -> None:
    assert scalar("\ufeffa: b\n").place == Place("f.yaml", 1, 4, 1)


def test_tabs_count_as_one_character() -> None:
    assert scalar("a:\t\tb\n").place == Place("f.yaml", 1, 5, 1)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_break_counts_once(line_break: str) -> None:
    text = line_break.join(["b: x", "a: |", "  one", "  two", ""])
    node = scalar(text)
    assert node.value == "one\ntwo\n"
    assert node.place == Place("f.yaml", 2, 4, 1)
    assert node.place_at(2, 2) == Place("f.yaml", 4, 4)
    assert split_lines(text) == ["b: x", "a: |", "  one", "  two", ""]


def test_the_length_is_the_span_on_the_first_line() -> None:
    assert under("a: [b,\n  c]\n", "a").place == Place("f.yaml", 1, 4, 3)
    assert under("a:\n  b: c  \n  d: e\n", "a").place == Place("f.yaml", 2, 3, 4)
    assert scalar("a:\nb: c").place == Place("f.yaml", 1, 3, 0)
    assert scalar("a: 'x'").place == Place("f.yaml", 1, 4, 3)


def test_an_empty_value_after_the_last_line_stands_at_its_end() -> None:
    assert scalar("? a").place == Place("f.yaml", 1, 4, 0)


@pytest.mark.parametrize(
    ("text", "line", "column", "place"),
    [
        ("a: bcd", 1, 2, Place("f.yaml", 1, 5)),
        ("a: bcd", 1, 4, Place("f.yaml", 1, 7)),
        ("a: bcd", 1, 5, Place("f.yaml", 1, 4, 3)),
        ("a: bcd", 2, 1, Place("f.yaml", 1, 4, 3)),
        ("a: bcd", 0, 1, Place("f.yaml", 1, 4, 3)),
        ("a: &x bcd", 1, 2, Place("f.yaml", 1, 8)),
        ("a: 'b\"d'", 1, 3, Place("f.yaml", 1, 7)),
        ("a: &x 'bcd'", 1, 1, Place("f.yaml", 1, 8)),
        ('a: "bcd"', 1, 3, Place("f.yaml", 1, 7)),
        ("a: 'it''s'", 1, 1, Place("f.yaml", 1, 4, 7)),
        ("a: ''''", 1, 1, Place("f.yaml", 1, 4, 4)),
        (r'a: "x\ty"', 1, 3, Place("f.yaml", 1, 4, 6)),
        (r'a: "\\"', 1, 1, Place("f.yaml", 1, 4, 4)),
        ('a: "b\n  c"', 1, 1, Place("f.yaml", 1, 4, 2)),
        ("a: b\n  c", 1, 3, Place("f.yaml", 1, 4, 1)),
        ("a: >\n  b\n", 1, 1, Place("f.yaml", 1, 4, 1)),
        ("a: >", 1, 1, Place("f.yaml", 1, 4, 1)),
        ("a: |\n    b\n     c\n", 2, 2, Place("f.yaml", 3, 6)),
        ("a: |\n    b\n", 2, 1, Place("f.yaml", 1, 4, 1)),
        ("a: |2-\n    b\n   c", 1, 3, Place("f.yaml", 2, 5)),
        ("a: |+ # note\n\n   b\n\n", 2, 1, Place("f.yaml", 3, 4)),
        ("a: &x |\n  b\n", 1, 1, Place("f.yaml", 2, 3)),
        ("a: &x\n  |\n  b\n", 1, 1, Place("f.yaml", 1, 4, 2)),
        ("a: |\n\n", 1, 1, Place("f.yaml", 1, 4, 1)),
    ],
)
def test_a_position_in_a_text_has_its_place_in_the_file(
    text: str, line: int, column: int, place: Place
) -> None:
    assert scalar(text).place_at(line, column) == place


def test_content_is_where_the_text_itself_begins() -> None:
    assert scalar("a: 'bc'").content == Place("f.yaml", 1, 5, 2)
    assert scalar("a: |\n   bc\n").content == Place("f.yaml", 2, 4, 2)
    assert scalar("a: &x bc").content == Place("f.yaml", 1, 7, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: b: c", [("yaml-syntax", 1, 5)]),
        ("a: [b", [("yaml-syntax", 1, 6)]),
        ("a: [b\n", [("yaml-syntax", 2, 1)]),
        ("[a] b\n---\nc", [("yaml-syntax", 1, 5)]),
        ("[a]\nb", [("yaml-syntax", 2, 1)]),
        ("from: *\n", [("yaml-syntax", 1, 8)]),
        ("a: !!str 1\nb: &x !foo [c]\nd: ! e", [("yaml-tag", 1, 4), ("yaml-tag", 2, 7), ("yaml-tag", 3, 4)]),
        ("a: !!python/object:os.system {}", [("yaml-tag", 1, 4)]),
        ("a: &x\n  !t b", [("yaml-tag", 1, 4)]),
        ("a: !x!y b", [("yaml-tag", 1, 4)]),
        ("a: 1\nb: 2\na: 3\n'a': 4", [("duplicate-key", 3, 1), ("duplicate-key", 4, 1)]),
        ("a: 1\na: 2\nb: [", [("duplicate-key", 2, 1), ("yaml-syntax", 3, 5)]),
        ("? [a]\n: b\n? {c: d}\n: e", [("yaml-key", 1, 3), ("yaml-key", 3, 3)]),
        ("a: &x b\n*x : c", [("yaml-key", 2, 1)]),
        ("a: &x {b: c}\nd:\n  <<: *x", [("yaml-merge", 3, 3)]),
        ("a\n---\nb", [("yaml-documents", 2, 1)]),
        ("a\n...\n# c\n\nb", [("yaml-documents", 5, 1)]),
        ("a: b\n%YAML 1.1\n---\nc", [("yaml-documents", 2, 1)]),
        ("# c\n%YAML 1.1\n%FOO\n---\na", [("yaml-directive", 2, 1), ("yaml-directive", 3, 1)]),
        ("a: *x", [("yaml-alias", 1, 4)]),
        ("a: &x [*x]", [("yaml-alias", 1, 8)]),
        ("- 9223372036854775808\n- -9223372036854775809", [("yaml-number", 1, 3), ("yaml-number", 2, 3)]),
        ("- 1.0e999\n- " + "9" * 5000, [("yaml-number", 1, 3), ("yaml-number", 2, 3)]),
        (
            "a: \0\nb\x1b: \x85",
            [("yaml-character", 1, 4), ("yaml-character", 2, 2), ("yaml-character", 2, 5)],
        ),
        ("a: \ud800\u2028", [("yaml-character", 1, 4), ("yaml-character", 1, 5)]),
        ("\ufeff\ufeffa: b", [("yaml-character", 1, 1)]),
        (r'a: "\0"', [("yaml-character", 1, 4)]),
        ("", [("yaml-empty", 1, 1)]),
        ("\ufeff# only a comment\n", [("yaml-empty", 1, 1)]),
        ("---\n", [("yaml-empty", 1, 1)]),
    ],
)
def test_what_surprises_is_refused_where_it_stands(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert codes(text) == expected


def test_a_syntax_error_says_what_was_seen_where_it_began_and_what_to_do() -> None:
    assert only(read_yaml("a: [b,\n  c\nd: e", "f")) == (
        "did not find expected ',' or ']' while parsing a sequence begun at line 1",
        "mend the indentation, the quotes or the brackets here",
    )
    assert only(read_yaml("a: b\n\tc: d", "f"))[1] == "indent with spaces"
    assert only(read_yaml("from: *", "f"))[1] == "put quotes around a text that begins with `*`"


def test_an_alias_that_leads_nowhere_and_a_directive_are_named() -> None:
    assert only(read_yaml("a: *x", "f"))[0] == "`*x` has no anchor"
    assert only(read_yaml("a: &x [*x]", "f"))[0] == "`*x` is in its own anchor"
    assert only(read_yaml("%YAML 1.2\n---\na", "f"))[0] == "directive `%YAML 1.2`"


def test_a_duplicate_key_names_the_line_of_the_first() -> None:
    assert only(read_yaml("x: 0\na: 1\na: 2", "f"))[0] == "`a` is a key already, at line 2"
    long = "k" * 61
    assert only(read_yaml(f"{long}: 1\n{long}: 2", "f"))[0] == f"`{'k' * 60}…` is a key already, at line 1"


def test_what_can_be_read_despite_problems_is_given_too() -> None:
    root = read_yaml("a: 1\na: 2\n<<: {}\n? [b]\n: 3\nc: !t 4\n---\nd", "f").root
    assert root is not None
    assert to_plain(root) == {"a": 1, "c": 4}


@pytest.mark.parametrize("text", ["a: [", "a: *x", "- *x", "a: \0", "[" * 40, ""])
def test_what_cannot_be_read_to_its_end_has_no_root(text: str) -> None:
    assert read_yaml(text, "f").root is None


def test_an_explicit_end_and_start_of_the_one_document_are_fine() -> None:
    assert value_of("---\na: 1\n... # end\n\n# c\n...\n") == {"a": 1}


def test_an_alias_is_the_node_of_its_latest_anchor() -> None:
    text = "a: &x [1]\nb: *x\nc: &x [&x 2, *x]\nd: *x\n"
    assert value_of(text) == {"a": [1], "b": [1], "c": [2, 2], "d": 2}


@pytest.mark.parametrize(
    ("text", "limits", "expected"),
    [
        ("ab", YamlLimits(size=1), [("yaml-size", 1, 1)]),
        ("é", YamlLimits(size=1), [("yaml-size", 1, 1)]),
        ("[[[]]]", YamlLimits(depth=2), [("yaml-depth", 1, 3)]),
        ("- &x [[]]\n- [*x]", YamlLimits(depth=3), [("yaml-depth", 2, 4)]),
        ("[&x a, *x, *x]", YamlLimits(aliases=1), [("yaml-aliases", 1, 12)]),
        ("[&x [a, b], *x]", YamlLimits(nodes=6), [("yaml-aliases", 1, 13)]),
        ("[a, b, c]", YamlLimits(nodes=3), [("yaml-size", 1, 8)]),
        ("{a: 1, a: 2, a: 3}", YamlLimits(problems=1), [("duplicate-key", 1, 8)]),
        ("\0\0", YamlLimits(problems=1), [("yaml-character", 1, 1)]),
    ],
)
def test_a_limit_exceeded_is_a_problem(
    text: str, limits: YamlLimits, expected: list[tuple[str, int, int]]
) -> None:
    assert codes(text, limits) == expected


def test_what_just_keeps_the_limits_is_read() -> None:
    assert codes("[&x [a, b], *x]", YamlLimits(size=15, depth=2, aliases=1, nodes=7)) == []
    assert codes("[" * 32 + "]" * 32) == []
    assert codes("[" * 33 + "]" * 33) == [("yaml-depth", 1, 33)]


MIB = 1 << 20
TAGS = "".join(f"%TAG !a{number}! t:\n" for number in range(50_000)) + "---\na"


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[" * 100_000, "yaml-depth"),
        ("{" * MIB, "yaml-depth"),
        ("- " * (MIB // 2), "yaml-depth"),
        ("? " * (MIB // 2), "yaml-depth"),
        ("- &a x\n" + "- *a\n" * 200_000, "yaml-aliases"),
        (
            "- &a0 [x, x]\n" + "".join(f"- &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30)),
            "yaml-aliases",
        ),
        (TAGS, "yaml-directive"),
        ("a\n...\n" + TAGS, "yaml-documents"),
        ("---\n" + TAGS, "yaml-documents"),
        ("- |\n x\n" * 140_000, "yaml-size"),
        ("\0" * MIB, "yaml-character"),
    ],
    ids=range(11),
)
def test_a_hostile_text_is_refused_and_not_chewed(text: str, code: str) -> None:
    assert codes(text)[0][0] == code


def test_every_character_is_either_refused_or_read() -> None:
    unfit = {*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0xD800, 0xE000), 0xFEFF, 0xFFFE, 0xFFFF}
    unfit -= {0x09, 0x0A, 0x0D}
    fit = "".join(chr(code) for code in range(0x20, 0x110000) if code not in unfit and chr(code) != "'")
    wide = YamlLimits(size=1 << 23, problems=10_000)
    root = read_yaml(f"'{fit}'", "f", wide).root
    assert root is not None
    assert to_plain(root) == fit
    refused = read_yaml("".join(map(chr, sorted(unfit, reverse=True))), "f", wide).problems
    assert len(refused) == len(unfit)
    assert {problem.code for problem in refused} == {"yaml-character"}


@settings(derandomize=True, deadline=None, max_examples=400)
@given(
    st.text() | st.text(st.sampled_from("ab1 \n\r\t:-?[]{},#&*!|>'\"%@`\\<~.\0\ufeffé\ud800"), max_size=40)
)
def test_reading_is_total(text: str) -> None:
    document = read_yaml(text, "f")
    assert document.problems or document.root is not None
    for problem in document.problems:
        assert problem.message
        assert problem.repair
        assert 1 <= problem.place.line <= len(split_lines(text))


FIT = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="\ufeff\ufffe\uffff")
TEXTS = st.text(FIT | st.sampled_from("\n\t"), max_size=20)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: "." in repr(number))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(derandomize=True, deadline=None)
@given(VALUES, st.sampled_from([None, 2]))
def test_json_is_read_as_what_it_says(value: object, indent: int | None) -> None:
    assert value_of(json.dumps(value, ensure_ascii=False, indent=indent)) == value


@settings(derandomize=True, deadline=None)
@given(VALUES, st.sampled_from(["\n", "\r\n"]))
def test_every_place_points_at_the_text_that_begins_the_node(value: object, line_break: str) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2).replace("\n", line_break)
    lines = split_lines(text)
    root = read_yaml(text, "f").root
    assert root is not None
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        found = lines[node.place.line - 1][node.place.column - 1 :][: node.place.length]
        match node:
            case NodeList(items=items):
                assert found[0] == "["
                waiting.extend(items)
            case Table(entries=entries):
                assert found[0] == "{"
                waiting.extend(part for entry in entries for part in (entry.key, entry.value))
            case Scalar():
                assert json.loads(found, parse_constant=str) == node.value
