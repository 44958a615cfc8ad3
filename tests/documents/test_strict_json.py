"""JSON read strictly: what is good comes back whole and in order, each flaw has its code and sentence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.documents.strict_json import (
    FLAW_MESSAGES,
    MAX_BYTES,
    MAX_DEPTH,
    JsonFlaw,
    format_document,
    parse_object,
)

SHOWN = {
    "too_large": (b" " * MAX_BYTES + b"{}", "it is larger than 1048576 bytes"),
    "not_utf8": (b'{"a": "\xff"}', "it is not UTF-8 text: see byte 8"),
    "nul": (b'{"a": "\0"}', "it has a NUL character"),
    "not_json": (b'{"a": 1,\n}', "it is not JSON: "),
    "duplicate_key": (b'{"a": 1, "b": {"c": 1, "c": 2}}', 'a key stands twice in one object: "c"'),
    "not_finite": (b'{"a": -Infinity}', "it has a number that is not finite: -Infinity"),
    "nested": (b'{"a": ' + b"[" * 32 + b"]" * 32 + b"}", "it nests deeper than 32 levels"),
    "surrogate": (b'{"a": "\\ud800"}', "a text in it has half of a character"),
    "not_object": (b"[1]", "it is JSON, but not an object"),
}


@pytest.mark.parametrize("code", SHOWN)
def test_a_flaw_is_told_by_code_and_sentence(code: str) -> None:
    data, sentence = SHOWN[code]

    found = parse_object(data)

    assert isinstance(found, JsonFlaw)
    assert found.code == code
    assert found.sentence.startswith(sentence)


def test_every_flaw_of_the_text_itself_is_shown_above() -> None:
    assert set(SHOWN) | {"wrong_type"} == set(FLAW_MESSAGES)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not_json"),
        (b"{", "not_json"),
        (b"{} {}", "not_json"),
        (b'{"a": "\x01"}', "not_json"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not_json"),
        (b'{"a": NaN}', "not_finite"),
        (b'{"a": 1e999}', "not_finite"),
        (b'{"a": "\\u0000"}', "nul"),
        (b'{"\\udfff": 1}', "surrogate"),
        (b'{"a": [{"b": "\\ud83d"}]}', "surrogate"),
        (b"[" * 100_000, "nested"),
        (b'{"a":' * 33 + b"1" + b"}" * 33, "nested"),
        (b"null", "not_object"),
        (b'"text"', "not_object"),
    ],
)
def test_other_ways_to_be_flawed_are_known_too(data: bytes, code: str) -> None:
    found = parse_object(data)

    assert isinstance(found, JsonFlaw)
    assert found.code == code


@pytest.mark.parametrize(
    ("data", "document"),
    [
        (b"{}", {}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (
            b'{"b": 1, "a": [1.5, true, null, "\\ud83d\\ude00", "\\u00e9"]}',
            {"b": 1, "a": [1.5, True, None, "😀", "é"]},
        ),
        (b"{" + b" " * (MAX_BYTES - 2) + b"}", {}),
        (b'{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
    ],
)
def test_what_is_good_is_read(data: bytes, document: dict[str, object]) -> None:
    assert parse_object(data) == document


def test_the_deepest_document_that_is_read_has_thirty_two_levels() -> None:
    data = b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH

    assert not isinstance(parse_object(data), JsonFlaw)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_what_is_shown_is_read_back_in_its_order(document: dict[str, object]) -> None:
    read = parse_object(format_document(document))

    if isinstance(read, JsonFlaw):
        assert read.code == "nul"
        assert "\\u0000" in json.dumps(document)
    else:
        assert read == document
        assert json.dumps(read) == json.dumps(document)
        assert format_document(read) == format_document(document)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_have_a_flaw(data: bytes) -> None:
    found = parse_object(data)

    assert isinstance(found, dict) or found.code in FLAW_MESSAGES
