"""Settings in TOML, changed in place, a table at a time. `tomllib` reads, and judges every change.

What is not changed stays as it is to the byte: comments, order, blank lines, line ends.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from handrail.documents.jsontree import Problem

Path: TypeAlias = tuple[str, ...]

_TOKEN: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:[^"\\\r\n]|\\.)*"'
    r"|'[^'\r\n]*'"
    r"|#[^\r\n]*"
    r"|\r?\n"
    r"|[\[{]|[\]}]"
    r"|=|[ \t]+|[^\[\]{}=#\"'\s]+",
    re.DOTALL,
)
_WHERE: Final = re.compile(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)
_HEADER: Final = re.compile(r"\[{1,2}(.*?)\]{1,2}\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Line:
    """A header, or a key with its value: from where it begins in the text to behind its line end.

    `value` is where the value begins and ends; of a header, where the header does.
    """

    start: int
    end: int
    value: tuple[int, int]
    table: Path
    key: Path


def read(text: str) -> dict[str, object] | Problem:
    """The tables that the text has."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
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
    table, found = tuple(path), _at(before, path)
    wanted = {key: value for key, value in members.items() if not _has(found, key, value)}
    if not wanted and isinstance(found, dict):
        return text
    made = _changed(text, table, wanted) if _headed(text, table) else _appended(text, table, members)
    expected = {**(found if isinstance(found, dict) else {}), **members}
    return made if _at(read(made), path) == expected and _others(before, made, table) else _odd(text, table)


def without_member(text: str, path: Sequence[str]) -> str | Problem:
    """The text without the table or the key at the path."""
    before, gone = read(text), tuple(path)
    if isinstance(before, Problem):
        return before
    if _at(before, path) is None:
        return text
    lines = list(_lines(text))
    unwanted = [line for line in lines if line.table[: len(gone)] == gone or (*line.table, *line.key) == gone]
    left = text
    for first, last in reversed(list(_stretches(lines, unwanted))):
        left = _cut(left, first.start, last.end, blank_too=not first.key)
    return left if _at(read(left), path) is None and _others(before, left, gone) else _odd(text, gone)


# --- what the tables have -----------------------------------------------------------------------------------


def _at(tables: object, path: Sequence[str]) -> object:
    """What stands at the path; None if nothing does."""
    for key in path:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables


def _has(table: object, key: str, value: object) -> bool:
    found = table.get(key) if isinstance(table, dict) else None
    return type(found) is type(value) and found == value


def _others(before: Mapping[str, object], text: str, path: Path) -> bool:
    """True if the text has all that was there before, but for what is at the path."""
    after = read(text)
    return not isinstance(after, Problem) and _without(before, path) == _without(after, path)


def _without(tables: Mapping[str, object], path: Path) -> dict[str, object]:
    """The tables without what is at the path, and without those that have only that."""
    key, rest = path[0], path[1:]
    inner = tables.get(key)
    left = _without(inner, rest) if rest and isinstance(inner, dict) else {}
    kept = {name: value for name, value in tables.items() if name != key}
    return {**kept, key: left} if left else kept


def _odd(text: str, path: Path) -> Problem:
    """The problem of a table that is not written as one: in braces, or with dots."""
    name = ".".join(path)
    place = next((line.start for line in _lines(text) if path[: len(line.key)] == line.key != ()), 0)
    where = text.count("\n", 0, place) + 1
    sentence = f"`{name}` cannot be changed here without touching what is not Handrail's"
    return Problem(
        where, 1, sentence, f"write it as a table of its own, [{name}], or take it out of the file"
    )


# --- where it stands in the text ----------------------------------------------------------------------------


def _lines(text: str) -> Iterator[_Line]:
    """The headers and keys of a text that `tomllib` can read."""
    table: Path = ()
    for start, end, pieces in _statements(text):
        head = text[pieces[0][0] : pieces[-1][1]]
        if header := _HEADER.match(head) if head.startswith("[") else None:
            table = _key(header[1])
            yield _Line(start, end, (pieces[0][0], pieces[-1][1]), table, ())
            continue
        equals = next(at for at, (one, other) in enumerate(pieces) if text[one:other] == "=")
        key = _key(text[pieces[0][0] : pieces[equals][0]])
        yield _Line(start, end, (pieces[equals + 1][0], pieces[-1][1]), table, key)


def _statements(text: str) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Where each statement begins, where its line ends, and its pieces but for blanks and comments."""
    at = start = 1 if text.startswith("\ufeff") else 0
    depth, pieces = 0, list[tuple[int, int]]()
    while found := _TOKEN.match(text, at):
        at, piece = found.end(), found.group()
        depth += (piece in "[{") - (piece in "]}")
        if piece.strip(" \t\r\n") and not piece.startswith("#"):
            pieces.append(found.span())
        if piece.endswith("\n") and piece.strip("\r\n") == "" and not depth:
            if pieces:
                yield start, at, pieces
            start, pieces = at, []
    if pieces:
        yield start, at, pieces


def _key(written: str) -> Path:
    """The parts of a key as it is written: bare, in quotes, with dots."""
    inner: object = tomllib.loads(f"{written.strip()} = 0")
    found: list[str] = []
    while isinstance(inner, dict):
        [(key, inner)] = inner.items()
        found.append(key)
    return tuple(found)


def _headed(text: str, table: Path) -> bool:
    return any(line.table == table and not line.key for line in _lines(text))


def _stretches(lines: Sequence[_Line], unwanted: Sequence[_Line]) -> Iterator[tuple[_Line, _Line]]:
    """The first and last of unwanted lines that stand together; each header begins anew."""
    first = last = None
    for line in lines:
        if first and last and (line not in unwanted or not line.key):
            yield first, last
            first = None
        if line in unwanted:
            first, last = first or line, line
    if first and last:
        yield first, last


# --- changes ------------------------------------------------------------------------------------------------


def _appended(text: str, table: Path, members: Mapping[str, object]) -> str:
    """The text with a table at its end, which ends as the text does: with a line end, or without."""
    newline = "\r\n" if "\r\n" in text else "\n"
    rows = [f"[{'.'.join(map(_name, table))}]", *(_row(key, value) for key, value in members.items())]
    body = newline.join(rows)
    if not text.removeprefix("\ufeff"):
        return text + body + newline
    return f"{text}{newline}{body}{newline}" if text.endswith("\n") else f"{text}{newline}{newline}{body}"


def _changed(text: str, table: Path, members: Mapping[str, object]) -> str:
    for key, value in members.items():
        lines = [line for line in _lines(text) if line.table == table]
        same = next((line for line in lines if line.key == (key,)), None)
        if same:
            text = text[: same.value[0]] + _written(value) + text[same.value[1] :]
        else:
            text = _added(text, lines[-1].end, _row(key, value))
    return text


def _added(text: str, place: int, row: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    above = text[:place]
    return above + (row + newline if above.endswith("\n") else newline + row) + text[place:]


def _cut(text: str, start: int, end: int, *, blank_too: bool) -> str:
    """The text without a stretch of lines and, before a table, the empty line that parts it from the rest."""
    above, below = text[:start], text[end:]
    if not text[:end].endswith("\n"):
        above = _chopped(above)
    return (_chopped(above) if blank_too and re.search(r"\n\r?\n\Z", text[:start]) else above) + below


def _chopped(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _row(key: str, value: object) -> str:
    return f"{_name(key)} = {_written(value)}"


def _name(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _written(key)


def _written(value: object) -> str:
    """A value in TOML."""
    if isinstance(value, Mapping):
        members = ", ".join(_row(key, inner) for key, inner in value.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_written, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
