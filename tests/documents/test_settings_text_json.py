"""Members of JSON with comments, put in and taken out in place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.documents.settings_text import (
    MAX_DEPTH,
    SettingsProblem,
    add_json_item,
    format_json,
    read_json,
    remove_json_items,
    remove_json_member,
    set_json_member,
    set_json_members,
)

OURS = ("servers", "ours")
ENTRY: dict[str, object] = {"command": "/bin/it", "args": ["serve", "ä"], "env": {}}

KEPT = [
    pytest.param('{"a": 1}', '{"a": 1, "servers": {"ours": 1}}', id="on one line"),
    pytest.param("{}", '{\n  "servers": {\n    "ours": 1\n  }\n}', id="empty"),
    pytest.param(
        '{\n\t"a": 1\n}\n',
        '{\n\t"a": 1,\n\t"servers": {\n\t\t"ours": 1\n\t}\n}\n',
        id="tabs",
    ),
    pytest.param(
        '\ufeff{\r\n    "a": 1\r\n}\r\n',
        '\ufeff{\r\n    "a": 1,\r\n    "servers": {\r\n        "ours": 1\r\n    }\r\n}\r\n',
        id="a BOM and CRLF",
    ),
    pytest.param(
        '{\n  "servers": {\n    "b": 1, // of b\n  },\n}\n',
        '{\n  "servers": {\n    "b": 1, // of b\n    "ours": 1,\n  },\n}\n',
        id="trailing commas",
    ),
    pytest.param(
        '{\n  "servers": {\n    "b": 1 // of b\n    // "old": 2\n  }\n}\n',
        '{\n  "servers": {\n    "b": 1, // of b\n    // "old": 2\n    "ours": 1\n  }\n}\n',
        id="comments behind the last member",
    ),
    pytest.param('{"a": 1 /* x */}', '{"a": 1, /* x */ "servers": {"ours": 1}}', id="a comment on the line"),
    pytest.param(
        "{ // none yet\n}",
        '{ // none yet\n  "servers": {\n    "ours": 1\n  }\n}',
        id="a comment in an empty object",
    ),
    pytest.param(
        '{"a": "// no comment", /* , } */ "servers": {"b": "}\\""}}',
        '{"a": "// no comment", /* , } */ "servers": {"b": "}\\"", "ours": 1}}',
        id="texts that look like comments",
    ),
]


@pytest.mark.parametrize(("before", "after"), KEPT)
def test_a_member_is_put_behind_its_neighbours_and_taken_out_again(before: str, after: str) -> None:
    assert set_json_member(before, OURS, 1) == after
    assert set_json_member(after, OURS, 1) == after
    assert remove_json_member(after, OURS) == before


@pytest.mark.parametrize("text", ["", "\ufeff", " \n", "// mine\n", "/* mine */"])
def test_a_file_without_a_value_gets_its_first(text: str) -> None:
    made = set_json_member(text, OURS, ENTRY)

    assert isinstance(made, str)
    assert made.startswith(text)
    assert read_json(made) == {"servers": {"ours": ENTRY}}
    assert remove_json_member(text, OURS) == remove_json_items(text, OURS, bool) == text
    assert read_json(text) == {}


def test_a_value_that_differs_is_replaced_where_it_stands() -> None:
    text = '{\n  "servers": {\n    "ours": {"command": "old", "env": {"A": "1"}}, // mine\n  }\n}'

    changed = set_json_member(text, (*OURS, "command"), "new")

    assert changed == text.replace("old", "new")
    assert set_json_member(text, OURS, {"a": {"b": [1]}}) == (
        '{\n  "servers": {\n    "ours": {\n      "a": {\n        "b": [1]\n      }\n    }, // mine\n  }\n}'
    )


def test_members_are_put_in_beside_those_that_are_there() -> None:
    text = '{"servers": {"ours": {"args": [], "env": {"A": "1"}}}}'

    assert set_json_members(text, OURS, {"command": "c", "args": ["a"]}) == (
        '{"servers": {"ours": {"args": ["a"], "env": {"A": "1"}, "command": "c"}}}'
    )
    assert set_json_members("{}", ("a",), {"b": 1}) == '{\n  "a": {\n    "b": 1\n  }\n}'
    assert isinstance(set_json_members('{"a": []}', ("a",), {"b": 1, "c": 2}), SettingsProblem)
    assert isinstance(set_json_members("[", ("a",), {"b": 1}), SettingsProblem)
    assert isinstance(set_json_members('{"a": null}', ("a", "b"), {"b": 1}), SettingsProblem)
    twice = set_json_members('{"a": {"b": 1, "b": 2}}', ("a",), {"c": 1, "b": 3})
    assert twice == SettingsProblem(1, 16, "the key `b` stands twice", "take one of the two out of the file")


def test_one_is_not_true() -> None:
    assert set_json_member('{"a": 1}', ("a",), value=True) == '{"a": true}'
    assert set_json_member('{"a": {"x": 1, "y": 2}}', ("a",), {"y": 2, "x": 1}) == '{"a": {"x": 1, "y": 2}}'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"ours": 1, "b": 2}', '{ "b": 2}'),
        ('{\n  // of ours\n  "ours": 1, "b": 2\n}', '{\n  // of ours\n   "b": 2\n}'),
        ('{\n  // of ours\n  "ours": 1 }', "{\n  // of ours\n   }"),
        ('{\n  // of ours\n  "ours": 1\n}', "{\n  // of ours\n}"),
        ('{"a": 1, "ours": 1, "b": 2}', '{"a": 1, "b": 2}'),
        ('{"a": 1, "ours": 1}', '{"a": 1}'),
        ('{"a": 1, "ours": 1 /* c */ , }', '{"a": 1, }'),
        ('{"a": 1}', '{"a": 1}'),
        ('{"ours": 1,}', "{}"),
    ],
)
def test_a_member_is_taken_out_wherever_it_stands(text: str, left: str) -> None:
    assert remove_json_member(text, ("ours",)) == left


def test_an_object_that_is_left_empty_goes_too() -> None:
    assert set_json_member('{"servers":{}}', OURS, 1) == '{"servers":{"ours": 1}}'
    assert remove_json_member('{"servers":{"ours": 1}}', OURS) == "{}"


def test_an_object_that_still_has_a_comment_stays() -> None:
    text = '{"servers": {"ours": 1 /* why */}}'

    assert remove_json_member(text, OURS) == '{"servers": { /* why */}}'


def test_an_item_is_put_behind_the_others_once() -> None:
    text = '{"hooks": {"Stop": [{"a": 1}]}}'
    path = ("hooks", "Stop")

    added = add_json_item(text, path, {"b": 2})

    assert added == '{"hooks": {"Stop": [{"a": 1}, {"b": 2}]}}'
    assert add_json_item(added, path, {"b": 2}) == added
    assert remove_json_items(added, path, lambda item: item == {"b": 2}) == text
    assert remove_json_items(added, path, lambda _: True) == "{}"
    assert remove_json_items(text, ("hooks", "Start"), lambda _: True) == text
    assert remove_json_items(text, ("hooks",), lambda _: True) == text


def test_the_first_item_makes_its_list() -> None:
    added = add_json_item("{}", ("hooks", "Stop"), {"b": [{"c": 2}]})

    assert added == (
        '{\n  "hooks": {\n    "Stop": [\n      {\n        "b": [\n          {\n            "c": 2\n'
        "          }\n        ]\n      }\n    ]\n  }\n}"
    )
    assert add_json_item("", ("a",), 1) == '{\n  "a": [1]\n}\n'
    assert add_json_item('{\n  "a": [\n  ]\n}', ("a",), 1) == '{\n  "a": [\n    1\n  ]\n}'


PROBLEMS = [
    ("[]", 1, 1, "`the document` is not an object"),
    ('{"servers": []}', 1, 13, "`servers` is not an object"),
    ('{"servers": {},\n "servers": {}}', 2, 2, "the key `servers` stands twice"),
    ('{"a": 1', 1, 8, "`,` or `}` is missing here"),
    ('{"a": [1 2]}', 1, 10, "`,` or `]` is missing here"),
    ('\ufeff{"a"\r\n 1}', 2, 2, "`:` is missing behind the key"),
    ("{a: 1}", 1, 2, "a key in double quotes, or `}`, is missing here"),
    ('{"a": nul}', 1, 7, "a value is missing or misspelt here"),
    ('{"a": }', 1, 7, "a value is missing or misspelt here"),
    ('{"a": "\\x"}', 1, 7, "this text or number is not written as JSON asks for"),
    ('{"a": 1} {', 1, 10, "something stands behind the end of the document"),
    ("{ /* open", 1, 3, "this comment has no end"),
    ("[" * (MAX_DEPTH + 1), 1, MAX_DEPTH + 1, "it nests deeper than 100 levels"),
    ("{,}", 1, 2, "a key in double quotes, or `}`, is missing here"),
]


@pytest.mark.parametrize(("text", "line", "column", "sentence"), PROBLEMS)
def test_a_text_that_cannot_be_changed_says_where_and_why(
    text: str, line: int, column: int, sentence: str
) -> None:
    for found in (
        set_json_member(text, OURS, 1),
        remove_json_member(text, OURS),
        add_json_item(text, OURS, 1),
    ):
        assert isinstance(found, SettingsProblem)
        assert (found.line, found.column, found.sentence) == (line, column, sentence)
        assert found.repair


def test_an_item_goes_only_into_a_list() -> None:
    found = add_json_item('{"a": {}}', ("a",), 1)

    assert isinstance(found, SettingsProblem)
    assert (found.sentence, found.repair) == (
        "`a` is not a list",
        "make it a list, or take it out of the file",
    )
    assert isinstance(remove_json_items("[", ("a",), bool), SettingsProblem)
    assert isinstance(read_json("["), SettingsProblem)


# --- whatever a file looks like -----------------------------------------------------------------------------

_gaps = st.sampled_from(["", " ", "\n", "\n\t", " // c\n", "/* , } */", '\n  // "ours": 1\n  ', "\r\n  "])
_keys = st.sampled_from(["a", "b", "servers", "ours", 'ü"\\', "//"])
_scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4)).map(json.dumps)


@st.composite
def _containers(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    keys = draw(st.lists(_keys, unique=True, max_size=3) | st.none())
    parts = (
        [f"{json.dumps(key)}{draw(_gaps)}:{draw(_gaps)}{draw(values)}" for key in keys]
        if keys is not None
        else draw(st.lists(values, max_size=3))
    )
    gapped = [f"{draw(_gaps)}{part}{draw(_gaps)}" for part in parts]
    end = draw(st.sampled_from(["", ","])) if parts else draw(_gaps)
    opening, closing = "{}" if keys is not None else "[]"
    return f"{opening}{','.join(gapped)}{end}{draw(_gaps)}{closing}"


_documents = st.builds(
    lambda before, document, after: before + document + after,
    _gaps,
    st.recursive(_scalars, _containers, max_leaves=8).filter(lambda text: text[0] == "{"),
    _gaps,
)


@pytest.mark.unmeasured
@given(_documents)
def test_what_is_put_in_is_all_that_changes(text: str) -> None:
    before, made = read_json(text), set_json_member(text, OURS, ENTRY)

    assert isinstance(before, dict)
    servers = before.get("servers", {})
    if not isinstance(servers, dict):
        assert isinstance(made, SettingsProblem)
        return
    assert isinstance(made, str)
    assert read_json(made) == {**before, "servers": {**servers, "ours": ENTRY}}
    assert set_json_member(made, OURS, ENTRY) == made
    left = remove_json_member(made, OURS)
    assert isinstance(left, str)
    assert _without_empty(read_json(left)) == _without_empty(_taken(before))


@pytest.mark.unmeasured
@given(_documents)
def test_what_was_put_in_is_taken_out_to_the_byte(text: str) -> None:
    before = read_json(text)
    assert isinstance(before, dict)
    servers = before.get("servers", {"some": 1})
    if not isinstance(servers, dict) or not servers or "ours" in servers or not before:
        return

    made = set_json_member(text, OURS, ENTRY)

    assert isinstance(made, str)
    assert remove_json_member(made, OURS) == text


def _taken(document: dict[str, object]) -> object:
    servers = document.get("servers")
    if not isinstance(servers, dict):
        return document
    return {**document, "servers": {key: value for key, value in servers.items() if key != "ours"}}


def _without_empty(document: object) -> object:
    assert isinstance(document, dict)
    return {key: value for key, value in document.items() if key != "servers" or value != {}}


@pytest.mark.unmeasured
@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v))
)
def test_a_value_is_shown_as_json(value: object) -> None:
    assert json.loads(format_json(value)) == value
