"""Settings in TOML, changed in place, one table at a time: `tomllib` reads and judges, `tomlkit` edits.

What is not changed stays as it is to the byte: comments, order, blank lines, line ends. So `tomlkit` sees
only the section that changes: a header and what is below it. It does not write every whole file back as it
was: in 0.15, a table behind an array of tables moves up to another table with the same parent.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, TypeAlias

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Item, Key, Table

from handrail.documents.jsontree import Problem

_Body: TypeAlias = list[tuple[Key | None, Item]]

_BOM: Final = "\ufeff"
_WHERE: Final = re.compile(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_BLANK: Final = re.compile(r"(?<=\n)\r?\n\Z")


def read(text: str) -> dict[str, object] | Problem:
    """The tables that the text has."""
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError as wrong:
        said = _WHERE.match(str(wrong))
        ends = len(text.splitlines()) or 1
        line, column = (int(said[2] or ends), int(said[3] or 1)) if said else (ends, 1)
        sentence = said[1] if said else str(wrong)
        return Problem(line, column, sentence, "mend that place, or move the file away")
    except RecursionError:
        return Problem(1, 1, "it nests too deeply", "make it flatter, or move the file away")


def with_members(text: str, path: Sequence[str], members: Mapping[str, object]) -> str | Problem:
    """The text with these members in the table at the path, which keeps its others and may be new."""
    before = read(text)
    if isinstance(before, Problem):
        return before
    found = _at(before, path)
    wanted = {key: value for key, value in members.items() if not _has(found, key, value)}
    if not wanted and isinstance(found, dict):
        return text
    expected = {**(found if isinstance(found, dict) else {}), **members}
    try:
        made = _put(text, path, wanted)
    except TOMLKitError:
        return _refuse(text, path)
    sound = _at(read(made), path) == expected and _keeps_others(before, made, path)
    return made if sound else _refuse(text, path)


def without_member(text: str, path: Sequence[str]) -> str | Problem:
    """The text without the table or the key at the path."""
    before = read(text)
    if isinstance(before, Problem):
        return before
    if _at(before, path) is None:
        return text
    try:
        left = _remove(text, path)
    except TOMLKitError:
        return _refuse(text, path)
    sound = _at(read(left), path) is None and _keeps_others(before, left, path)
    return left if sound else _refuse(text, path)


# --- what the tables have -----------------------------------------------------------------------------------


def _at(tables: object, path: Sequence[str]) -> object:
    """What is at the path; None if nothing is."""
    for key in path:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables


def _has(table: object, key: str, value: object) -> bool:
    found = table.get(key) if isinstance(table, dict) else None
    return type(found) is type(value) and found == value


def _keeps_others(before: Mapping[str, object], text: str, path: Sequence[str]) -> bool:
    """True if the text has all that was there before, except for what is at the path."""
    after = read(text)
    return not isinstance(after, Problem) and _without(before, path) == _without(after, path)


def _without(tables: Mapping[str, object], path: Sequence[str]) -> dict[str, object]:
    """The tables without what is at the path, and without those that have only that."""
    key, rest = path[0], path[1:]
    inner = tables.get(key)
    left = _without(inner, rest) if rest and isinstance(inner, dict) else {}
    kept = {name: value for name, value in tables.items() if name != key}
    return {**kept, key: left} if left else kept


def _refuse(text: str, path: Sequence[str]) -> Problem:
    """The problem of a table that is not written as one: in braces, or with dots."""
    name = ".".join(path)
    sentence = f"`{name}` cannot be changed here without touching what is not Handrail's"
    repair = f"write it as a table of its own, [{name}], or take it out of the file"
    return Problem(_line_of(text, path), 1, sentence, repair)


def _line_of(text: str, path: Sequence[str]) -> int:
    """The line by which the text has as much of the path as it will have; 1 if it has nothing of it."""
    lines = _LINE.findall(text)
    depth = max(depth for depth in range(len(path) + 1) if _at(read(text), path[:depth]) is not None)
    above = (read("".join(lines[:end])) for end in range(1, len(lines) + 1))
    found = (number for number, tables in enumerate(above, 1) if _at(tables, path[:depth]) is not None)
    return next(found, 1) if depth else 1


# --- changes ------------------------------------------------------------------------------------------------


def _put(text: str, path: Sequence[str], members: Mapping[str, object]) -> str:
    """The text with these members in the table that has a header, or in a new one at the end."""
    bom, ended, newline = _normalise(text)
    sections = list(_sections(ended))
    for at, section in enumerate(sections):
        if _header(section) == tuple(path) and not section.lstrip().startswith("[["):
            sections[at] = _set_members(section, members, newline)
            break
    else:
        rows = [f"[{tomlkit.key(path).as_string()}]", *(_row(*member) for member in members.items())]
        sections += [newline if ended else "", *(row + newline for row in rows)]
    return bom + _end_like(text, "".join(sections))


def _remove(text: str, path: Sequence[str]) -> str:
    """The text without what is at the path and, before a table, without the blank line above it."""
    bom, ended, _ = _normalise(text)
    left, gone = "", tuple(path)
    for section in _sections(ended):
        header = _header(section)
        if header[: len(gone)] == gone:
            left = _BLANK.sub("", left) + _tail(section)
        elif gone[: len(header)] == header:
            left += _drop(section, gone[len(header) :])
        else:
            left += section
    return bom + _end_like(text, left)


def _normalise(text: str) -> tuple[str, str, str]:
    """The byte order mark, the text with an end of its last line, and how its lines end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    body = text.removeprefix(_BOM)
    ended = body if not body or body.endswith("\n") else body + newline
    return text[: len(text) - len(body)], ended, newline


def _end_like(text: str, made: str) -> str:
    """What was made, without an end of its last line if the text has none."""
    if text.endswith("\n") or not text.removeprefix(_BOM):
        return made
    return made.removesuffix("\n").removesuffix("\r")


# --- a section: a header and what is below it ---------------------------------------------------------------


def _sections(text: str) -> Iterator[str]:
    """The sections of the text; first what is above all headers.

    A line in a long string or array can look like a header. There, what is above it cannot be read.
    """
    start = end = 0
    for line in _LINE.findall(text):
        if line.lstrip(" \t").startswith("[") and isinstance(read(text[:end]), dict):
            yield text[start:end]
            start = end
        end += len(line)
    yield text[start:]


def _header(section: str) -> tuple[str, ...]:
    """The path in the header of a section; empty if it has none."""
    found = list[str]()
    first = _LINE.match(section)
    inner: object = read(first[0]) if first and section.lstrip().startswith("[") else {}
    while isinstance(inner, dict) and inner:
        [(key, inner)] = inner.items()
        found.append(key)
    return tuple(found)


def _parse(section: str) -> tuple[tomlkit.TOMLDocument, Container]:
    """A section, and what is below its header."""
    document = tomlkit.parse(section)
    below: Any = document
    for key in _header(section):
        item = below.item(key)
        below = (item.body[0] if isinstance(item, AoT) else item).value
    return document, below


def _set_members(section: str, members: Mapping[str, object], newline: str) -> str:
    """The section with these members: new ones behind its last key, before comments on what follows."""
    document, table = _parse(section)
    new = [_row(*member) + newline for member in members.items() if member[0] not in table]
    for key in members.keys() & table.keys():
        table[key] = _item(members[key])
    place = len(table.body) - _trailing(table)
    table.body.insert(place, (None, tomlkit.ws("".join(new))))
    return document.as_string()


def _tail(section: str) -> str:
    """The blank lines and comments behind the last key. They are not about this table but about the next."""
    _, table = _parse(section)
    return "".join(item.as_string() for _, item in table.body[len(table.body) - _trailing(table) :])


def _trailing(table: Container) -> int:
    """How many blank lines and comments are behind the last key of a table."""
    return sum(1 for _ in takewhile(lambda member: member[0] is None, reversed(table.body)))


def _drop(section: str, path: Sequence[str]) -> str:
    """The section without what is at this path below its header."""
    document, table = _parse(section)
    places = list(_places(table, path))
    for body, at in places:
        body[at] = (None, tomlkit.ws(""))
    return document.as_string() if places else section


def _places(table: Container, path: Sequence[str]) -> Iterator[tuple[_Body, int]]:
    """The bodies that have something at the path, and where: keys with dots can be in several."""
    for at, (key, item) in enumerate(table.body):
        if key is None or key.key != path[0]:
            continue
        if len(path) == 1:
            yield table.body, at
        elif isinstance(item, Table):
            yield from _places(item.value, path[1:])


def _row(key: str, value: object) -> str:
    return f"{tomlkit.key(key).as_string()} = {_item(value).as_string()}"


def _item(value: object) -> Item:
    """A value in TOML; a mapping is written in braces, since it is on one line."""
    if not isinstance(value, Mapping):
        return tomlkit.item(value)
    table = tomlkit.inline_table()
    table.update({key: _item(inner) for key, inner in value.items()})
    return table
