"""Tables of TOML, put in and taken out in place."""

import json
import tomllib
from typing import NoReturn

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st
from tomlkit.exceptions import TOMLKitError

from handrail.documents.settings_text import SettingsProblem, read_toml, remove_toml_member, set_toml_members

OURS = ("mcp_servers", "handrail")
ENTRY: dict[str, object] = {"command": "/bin/it", "args": ["serve", 'a "b"\x7f\\']}
BLOCK = '[mcp_servers.handrail]\ncommand = "/bin/it"\nargs = ["serve", "a \\"b\\"\\u007f\\\\"]'

KEPT = [
    ("", f"{BLOCK}\n"),
    ("a = 1", f"a = 1\n\n{BLOCK}"),
    ("a = 1\n", f"a = 1\n\n{BLOCK}\n"),
    ("\n\n", f"\n\n\n{BLOCK}\n"),
    ("# mine\n", f"# mine\n\n{BLOCK}\n"),
    ("\ufeffa = 1\r\n", "\ufeffa = 1\r\n\r\n" + BLOCK.replace("\n", "\r\n") + "\r\n"),
    ('x = """\n[mcp_servers.handrail]\n"""\n', f'x = """\n[mcp_servers.handrail]\n"""\n\n{BLOCK}\n'),
    ("[mcp_servers.a]\nb = [\n '[', # ]\n]\n", f"[mcp_servers.a]\nb = [\n '[', # ]\n]\n\n{BLOCK}\n"),
    ("mcp_servers.a.b = 1\n", f"mcp_servers.a.b = 1\n\n{BLOCK}\n"),
    ("[mcp_servers.a]\n[[b]]\n[c]\n", f"[mcp_servers.a]\n[[b]]\n[c]\n\n{BLOCK}\n"),
]


@pytest.mark.parametrize(("before", "after"), KEPT)
def test_a_table_is_put_at_the_end_and_taken_out_again(before: str, after: str) -> None:
    assert set_toml_members(before, OURS, ENTRY) == after
    assert set_toml_members(after, OURS, ENTRY) == after
    assert remove_toml_member(after, OURS) == before
    assert remove_toml_member(before, OURS) == before


def test_a_table_that_is_there_keeps_what_is_not_ours() -> None:
    text = (
        "[mcp_servers.handrail] # mine\nenv = { A = '1' }\ncommand = \"old\" # was it\n\n"
        "# of the next\n[mcp_servers.'b.c']\ncommand = 'x'\n"
    )

    changed = set_toml_members(text, OURS, {"command": "new", "args": [], "on": True, "env": {}})

    assert changed == (
        '[mcp_servers.handrail] # mine\nenv = {}\ncommand = "new" # was it\nargs = []\non = true\n\n'
        "# of the next\n[mcp_servers.'b.c']\ncommand = 'x'\n"
    )
    assert remove_toml_member(text, OURS) == "\n# of the next\n[mcp_servers.'b.c']\ncommand = 'x'\n"
    assert remove_toml_member(text, (*OURS, "env")) == text.replace("env = { A = '1' }\n", "")
    assert set_toml_members("[a]", ("a",), {"b.c": {"d": 1}}) == '[a]\n"b.c" = {d = 1}'
    assert set_toml_members("[a]\n", ("a",), {}) == "[a]\n"


def test_the_tables_below_ours_go_with_it_wherever_they_stand() -> None:
    text = (
        "[mcp_servers.handrail]\na = 1\n\n[b]\nc = 1\n\n"
        "[mcp_servers.handrail.env]\nd = 1\n\n# e\n[[f]]\ng = 1\n"
    )

    assert remove_toml_member(text, OURS) == "\n[b]\nc = 1\n\n# e\n[[f]]\ng = 1\n"


def test_one_is_not_true() -> None:
    assert set_toml_members("[a]\nb = 1\n", ("a",), {"b": True}) == "[a]\nb = true\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nmcp_servers = { handrail = { command = 'x' } }\n", 2),
        ("mcp_servers.handrail.command = 'x'\n", 1),
        ("mcp_servers = 1\n", 1),
        ("[[mcp_servers.handrail]]\n", 1),
        ("a = 1\n[mcp_servers]\nhandrail.command = 'x'\n", 3),
    ],
)
def test_a_table_that_is_not_written_as_one_is_left_alone(text: str, line: int) -> None:
    found = set_toml_members(text, OURS, ENTRY)

    assert isinstance(found, SettingsProblem)
    assert found == SettingsProblem(
        line,
        1,
        "`mcp_servers.handrail` cannot be changed here without touching what is not Handrail's",
        "write it as a table of its own, [mcp_servers.handrail], or take it out of the file",
    )


def test_a_table_in_braces_is_not_taken_out() -> None:
    assert isinstance(remove_toml_member("mcp_servers = { handrail = {} }\n", OURS), SettingsProblem)


@pytest.mark.parametrize(
    ("text", "line", "column", "sentence"),
    [
        ("a = 1\nb = = 2\n", 2, 5, "Invalid value"),
        ('a = 1\nb = "', 2, 1, "Unterminated string"),
        ("a = " + "[" * 10_000, 1, 1, "it nests too deeply"),
    ],
)
def test_a_text_that_cannot_be_read_says_where_and_why(
    text: str, line: int, column: int, sentence: str
) -> None:
    for found in (read_toml(text), set_toml_members(text, OURS, ENTRY), remove_toml_member(text, OURS)):
        assert isinstance(found, SettingsProblem)
        assert (found.line, found.column, found.sentence) == (line, column, sentence)


# --- whatever a file looks like -----------------------------------------------------------------------------

_gaps = st.sampled_from(["", "\n", "# c\n", "  # [mcp_servers.handrail]\n", "\n\n"])
_ends = st.sampled_from(["\n", " # c\n", "\r\n"])
_values = st.one_of(
    st.text(max_size=5).filter(lambda text: "\x7f" not in text).map(json.dumps),
    st.sampled_from(["[\n  1, # ]\n]", '"""\n[x]\n"""', "'''\n'x'''", "{ a = [1], b = '}' }", "1979-05-27"]),
)
_keys = st.sampled_from(["a", '"b.c"', "'#'", "d . e", "f"])
_headers = st.sampled_from(["[x]", "[mcp_servers.other]", "[ y . 'z' ]", "[[w]]", "[mcp_servers]"])


@st.composite
def _documents(draw: st.DrawFn) -> str:
    def body() -> str:
        keys = draw(st.lists(_keys, unique=True, max_size=2))
        return "".join(f"{draw(_gaps)}{key} = {draw(_values)}{draw(_ends)}" for key in keys)

    tables = [
        f"{draw(_gaps)}{header}{draw(_ends)}{body()}"
        for header in draw(st.lists(_headers, unique=True, max_size=3))
    ]
    text = body() + "".join(tables) + draw(_gaps)
    return text.rstrip("\r\n") if draw(st.booleans()) else text


def _readable(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


@given(_documents().filter(_readable))
def test_what_was_put_in_is_taken_out_to_the_byte(text: str) -> None:
    made = set_toml_members(text, OURS, ENTRY)

    assert isinstance(made, str)
    before = tomllib.loads(text)
    assert tomllib.loads(made) == {
        **before,
        "mcp_servers": {**before.get("mcp_servers", {}), "handrail": ENTRY},
    }
    assert set_toml_members(made, OURS, ENTRY) == made
    assert remove_toml_member(made, OURS) == text


def test_a_text_that_a_faulty_tomlkit_cannot_read_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[mcp_servers.handrail]\ncommand = "old"\n'

    def faulty(_: str) -> NoReturn:
        raise TOMLKitError

    monkeypatch.setattr(tomlkit, "parse", faulty)

    path = ("mcp_servers", "handrail")
    assert isinstance(set_toml_members(text, path, {"command": "new"}), SettingsProblem)
    assert isinstance(remove_toml_member(text, (*path, "command")), SettingsProblem)
