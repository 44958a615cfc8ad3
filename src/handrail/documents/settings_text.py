"""Edit settings files as text, so that comments, order and formatting survive.

Three formats: JSON with comments and trailing commas, TOML, and Handrail's block in a Markdown file. Every
edit returns the new text, or a `SettingsProblem` if the text cannot be read or changed. An edit that changes
nothing returns the text unchanged. Nothing here touches the disk.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final, TypeAlias

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Item, Key, Table

# The maximum nesting of lists and objects.
MAX_DEPTH: Final = 100
WHITESPACE: Final = " \t\r\n"
_WHITESPACE_RUN: Final = re.compile(r"[ \t\r\n]*")
_TRIVIA: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_TEXT: Final = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')

_SCALAR: Final = re.compile(
    rf"{_TEXT.pattern}|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null"
)

_ENDS: Final = {"{": "}", "[": "]"}
_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """Why a text cannot be read or changed: line and column from 1, what is wrong, and how to fix it."""

    line: int
    column: int
    sentence: str
    repair: str


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A JSON value, its start and end in the text, and its parts if it is an object or a list."""

    start: int
    end: int
    value: object
    parts: "tuple[JsonPart, ...]" = ()


@dataclass(frozen=True, slots=True)
class JsonPart:
    """A member of an object, or an item of a list, whose `key` is empty.

    `before` is the offset after the opening bracket or the previous comma. `comma` is the offset of the comma
    after this part, -1 if there is none.
    """

    before: int
    start: int
    key: str
    node: JsonNode
    comma: int


class _ScanError(Exception):
    """A problem at the position of the scanner."""


@lru_cache(maxsize=4)
def scan_json(text: str) -> JsonNode | SettingsProblem | None:
    """Parse the text; None if it has only blanks and comments. The result is cached: do not change it."""
    scanner = _JsonScanner(text)
    try:
        return scanner.scan_document()
    except _ScanError as error:
        return locate_problem(text, scanner.position, str(error), "mend that place, or move the file away")


def locate_problem(text: str, place: int, sentence: str, repair: str) -> SettingsProblem:
    """Return the problem at this offset of the text."""
    above = re.split(r"\r\n|\r|\n", text[:place].removeprefix(_BOM))
    return SettingsProblem(len(above), len(above[-1]) + 1, sentence, repair)


class _JsonScanner:
    """Scans a text once from beginning to end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.position = 1 if text.startswith(_BOM) else 0

    def scan_document(self) -> JsonNode | None:
        """Return the one value of the text; None if there is none."""
        self._skip_trivia()
        if self.position == len(self._text):
            return None
        node = self._scan_value(1)
        self._skip_trivia()
        if self.position < len(self._text):
            raise _ScanError("something stands behind the end of the document")
        return node

    def _scan_value(self, depth: int) -> JsonNode:
        if depth > MAX_DEPTH:
            raise _ScanError(f"it nests deeper than {MAX_DEPTH} levels")
        opening = self._text[self.position : self.position + 1]
        if opening in _ENDS:
            return self._scan_parts(opening, depth)
        start, value = self.position, self._scan_scalar(_SCALAR, "a value is missing or misspelt here")
        return JsonNode(start, self.position, value)

    def _scan_scalar(self, pattern: re.Pattern[str], sentence: str) -> object:
        match = pattern.match(self._text, self.position)
        if not match:
            raise _ScanError(sentence)
        written = match.group()
        plain = written[0] == '"' and "\\" not in written  # nearly all strings have no escapes
        try:
            value: object = written[1:-1] if plain else json.loads(written)
        except ValueError as error:
            raise _ScanError("this text or number is not written as JSON asks for") from error
        self.position = match.end()
        return value

    def _scan_parts(self, opening: str, depth: int) -> JsonNode:
        start, closing = self.position, _ENDS[opening]
        parts: list[JsonPart] = []
        self.position += 1
        while True:
            before = self.position
            self._skip_trivia()
            if self._text.startswith(closing, self.position):
                self.position += 1
                value: object = [part.node.value for part in parts]
                if opening == "{":
                    value = {part.key: part.node.value for part in parts}
                return JsonNode(start, self.position, value, tuple(parts))
            if parts and parts[-1].comma < 0:
                raise _ScanError(f"`,` or `{closing}` is missing here")
            at, key = self.position, ""
            if opening == "{":
                key = str(self._scan_scalar(_TEXT, "a key in double quotes, or `}`, is missing here"))
                self._skip_trivia()
                if not self._text.startswith(":", self.position):
                    raise _ScanError("`:` is missing behind the key")
                self.position += 1
                self._skip_trivia()
            node = self._scan_value(depth + 1)
            self._skip_trivia()
            comma = self.position if self._text.startswith(",", self.position) else -1
            self.position = node.end if comma < 0 else comma + 1
            parts.append(JsonPart(before, at, key, node, comma))

    def _skip_trivia(self) -> None:
        match = _WHITESPACE_RUN.match(self._text, self.position)
        self.position = match.end() if match else self.position
        if self._text.startswith("/", self.position):
            match = _TRIVIA.match(self._text, self.position)
            self.position = match.end() if match else self.position
            if self._text.startswith("/*", self.position):
                raise _ScanError("this comment has no end")


# --- JSON: read and edit ------------------------------------------------------------------------------------
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_FIRST_INDENT: Final = re.compile(r"[{\[][ \t]*(?:\r\n|\r|\n)([ \t]+)\S")
_DEFAULT_INDENT: Final = "  "


def read_json(text: str) -> object:
    """Return the value of the text, cached (do not change it), or a problem; `{}` if there is no value."""
    root = scan_json(text)
    if isinstance(root, SettingsProblem):
        return root
    return root.value if root else {}


def set_json_member(text: str, path: Sequence[str], value: object) -> str | SettingsProblem:
    """Return the text with this value at the path. Missing objects are created; an equal value stays."""
    way, newline = _find_nodes(text, path), _find_newline(text)
    if isinstance(way, SettingsProblem):
        return way
    if way is None:
        gap = newline if text.removeprefix(_BOM).strip(WHITESPACE) and not text.endswith(newline) else ""
        return text + gap + format_json(_nest_value(path, value), newline=newline) + newline
    if len(way) <= len(path):
        return _insert_part(text, way, path[len(way) - 1], _nest_value(path[len(way) :], value))
    node = way[-1]
    if _is_same_json(node.value, value):
        return text
    written = format_json(value, _find_indent_unit(text), newline, _read_indent(text, node.start))
    return text[: node.start] + written + text[node.end :]


def set_json_members(text: str, path: Sequence[str], members: Mapping[str, object]) -> str | SettingsProblem:
    """Return the text with these members in the object at the path, which keeps its other members."""
    way = _find_nodes(text, path)
    if not isinstance(way, list) or len(way) <= len(path):
        return way if isinstance(way, SettingsProblem) else set_json_member(text, path, dict(members))
    if not isinstance(way[-1].value, dict):
        return _wrong_type_problem(text, way[-1], path[-1], "an object")
    for key, value in members.items():
        changed = set_json_member(text, (*path, key), value)
        if isinstance(changed, SettingsProblem):
            return changed
        text = changed
    return text


def remove_json_member(text: str, path: Sequence[str]) -> str | SettingsProblem:
    """Return the text without the member, and without parents that become empty and hold no comment."""
    way = _find_nodes(text, path)
    if not isinstance(way, list):
        return way or text
    return text if len(way) <= len(path) else _cut_json_node(text, way)


def add_json_item(text: str, path: Sequence[str], value: object) -> str | SettingsProblem:
    """Return the text with this value appended to the list at the path, unless it is there already."""
    way = _find_nodes(text, path)
    if not isinstance(way, list) or len(way) <= len(path):
        return set_json_member(text, path, [value])
    if not isinstance(way[-1].value, list):
        return _wrong_type_problem(text, way[-1], path[-1], "a list")
    if any(_is_same_json(item, value) for item in way[-1].value):
        return text
    return _insert_part(text, way, None, value)


def remove_json_items(
    text: str, path: Sequence[str], unwanted: Callable[[object], bool]
) -> str | SettingsProblem:
    """Return the text without the unwanted items of the list at the path, and without what becomes empty."""
    way = _find_nodes(text, path)
    if not isinstance(way, list):
        return way or text
    if len(way) <= len(path) or not isinstance(way[-1].value, list):
        return text
    for part in way[-1].parts:
        if unwanted(part.node.value):
            changed = _cut_json_node(text, [*way, part.node])
            return remove_json_items(changed, path, unwanted)
    return text


def format_json(value: object, unit: str = _DEFAULT_INDENT, newline: str = "\n", indent: str = "") -> str:
    """Format a value for people: one line for each member of an object, one line for a plain list."""
    inner = indent + unit
    between = f",{newline}{inner}"
    if isinstance(value, dict) and value:
        members = between.join(
            f"{_format_inline(k)}: {format_json(v, unit, newline, inner)}" for k, v in value.items()
        )
        return f"{{{newline}{inner}{members}{newline}{indent}}}"
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        items = between.join(format_json(item, unit, newline, inner) for item in value)
        return f"[{newline}{inner}{items}{newline}{indent}]"
    return _format_inline(value)


def _format_inline(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_same_json(one: object, other: object) -> bool:
    """True if both are the same JSON, regardless of the order of keys. `1` is not `true`."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _find_nodes(text: str, path: Sequence[str]) -> list[JsonNode] | SettingsProblem | None:
    """Return the root and the node at each key of the path, as far as it exists; None if there is no root."""
    root = scan_json(text)
    if root is None or isinstance(root, SettingsProblem):
        return root
    way, above = [root], "the document"
    for key in path:
        node = way[-1]
        if not isinstance(node.value, dict):
            return _wrong_type_problem(text, node, above, "an object")
        matches = [part for part in node.parts if part.key == key]
        if len(matches) > 1:
            sentence, repair = f"the key `{key}` stands twice", "take one of the two out of the file"
            return locate_problem(text, matches[1].start, sentence, repair)
        if not matches:
            break
        way.append(matches[0].node)
        above = key
    return way


def _wrong_type_problem(text: str, node: JsonNode, name: str, wanted: str) -> SettingsProblem:
    repair = f"make it {wanted}, or take it out of the file"
    return locate_problem(text, node.start, f"`{name}` is not {wanted}", repair)


def _nest_value(path: Sequence[str], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value


def _insert_part(text: str, way: Sequence[JsonNode], key: str | None, value: object) -> str:
    """Return the text with one more part after the others in the last object or list of `way`."""
    holder, newline, unit = way[-1], _find_newline(text), _find_indent_unit(text)
    inner = text[holder.start + 1 : holder.end - 1]
    point = holder.start + 1 + len(inner.rstrip(WHITESPACE))
    bare = not inner.strip(WHITESPACE)
    if bare:
        several = "\n" in text[way[0].start : holder.start] or holder is way[0]
    else:
        several = "\n" in text[point : holder.end] or "\r" in text[point : holder.end]
    label = "" if key is None else f"{_format_inline(key)}: "
    if several:
        indent = _read_indent(text, holder.parts[-1].start if holder.parts else holder.start)
        indent += "" if holder.parts else unit
        written = f"{newline}{indent}{label}{format_json(value, unit, newline, indent)}"
        if bare:
            closing = newline + _read_indent(text, holder.start)
            return text[: holder.start + 1] + written + closing + text[holder.end - 1 :]
    else:
        written = f"{'' if bare else ' '}{label}{_format_inline(value)}"
    if not holder.parts:
        return text[:point] + written + text[point:]
    # A trailing comma is kept.
    last = holder.parts[-1]
    if last.comma >= 0:
        return text[:point] + written + "," + text[point:]
    return text[: last.node.end] + "," + text[last.node.end : point] + written + text[point:]


def _cut_json_node(text: str, way: Sequence[JsonNode]) -> str:
    """Return the text without the last node of `way`, and without parents that become empty."""
    node, holder = way[-1], way[-2]
    index = next(at for at, part in enumerate(holder.parts) if part.node is node)
    part, alone = holder.parts[index], len(holder.parts) == 1
    end = part.comma + 1 if part.comma >= 0 else node.end
    after = text[end : holder.end - 1].strip(WHITESPACE)
    if len(way) > 2 and alone:
        # A comment beside the only part keeps the holder.
        around = text[holder.start + 1 : part.start] + text[node.end : end].removesuffix(",") + after
        if not around.strip(WHITESPACE):
            return _cut_json_node(text, way[:-1])
    start = len(text[: part.start].rstrip(WHITESPACE))
    comments = _COMMENT.findall(text[part.before : part.start])
    if comments and comments[-1].startswith("//") and not re.match(r"[ \t]*[\r\n]", text[end:]):
        # What follows on this line must not become part of the line comment above.
        start = part.start
    if alone and start == holder.start + 1 and not after:
        end = holder.end - 1
    before = text[:start]
    if part.comma < 0 and index:
        comma = holder.parts[index - 1].comma
        before = text[:comma] + text[comma + 1 : start]
    return before + text[end:]


def _find_newline(text: str) -> str:
    match = re.search(r"\r\n|\r|\n", text)
    return match.group() if match else "\n"


def _find_indent_unit(text: str) -> str:
    match = _FIRST_INDENT.search(text)
    return match.group(1) if match else _DEFAULT_INDENT


def _read_indent(text: str, place: int) -> str:
    """Return the indentation of the line at this offset."""
    line = re.split(r"[\r\n]", text[:place])[-1].removeprefix(_BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


# --- TOML ---------------------------------------------------------------------------------------------------
_Body: TypeAlias = list[tuple[Key | None, Item]]

_TOML_ERROR_PLACE: Final = re.compile(
    r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL
)

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_BLANK: Final = re.compile(r"(?<=\n)\r?\n\Z")


def read_toml(text: str) -> dict[str, object] | SettingsProblem:
    """Return the tables of the text, or why it cannot be read."""
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError as error:
        match = _TOML_ERROR_PLACE.match(str(error))
        ends = len(text.splitlines()) or 1
        line, column = (int(match[2] or ends), int(match[3] or 1)) if match else (ends, 1)
        sentence = match[1] if match else str(error)
        return SettingsProblem(line, column, sentence, "mend that place, or move the file away")
    except RecursionError:
        return SettingsProblem(1, 1, "it nests too deeply", "make it flatter, or move the file away")


def set_toml_members(text: str, path: Sequence[str], members: Mapping[str, object]) -> str | SettingsProblem:
    """Return the text with these members in the table at the path.

    The table keeps its other members and is created if it is missing. The result is parsed again: an edit
    that would change anything else is refused.
    """
    before = read_toml(text)
    if isinstance(before, SettingsProblem):
        return before
    found = _get_at_path(before, path)
    current = found if isinstance(found, dict) else {}
    changes = {
        key: value
        for key, value in members.items()
        if type(current.get(key)) is not type(value) or current[key] != value
    }
    if not changes and isinstance(found, dict):
        return text
    bom, ended, newline = _normalise(text)
    sections = list(_split_sections(ended))
    try:
        for at, section in enumerate(sections):
            if _read_header(section) == tuple(path) and not section.lstrip().startswith("[["):
                sections[at] = _set_members(section, changes, newline)
                break
        else:
            rows = [f"[{tomlkit.key(path).as_string()}]", *(_format_row(*item) for item in changes.items())]
            sections += [newline if ended else "", *(row + newline for row in rows)]
    except TOMLKitError:
        return _unchangeable_problem(text, path)
    changed = bom + _match_last_line_end(text, "".join(sections))
    is_safe = _get_at_path(read_toml(changed), path) == {**current, **members}
    return changed if is_safe and _keeps_others(before, changed, path) else _unchangeable_problem(text, path)


def remove_toml_member(text: str, path: Sequence[str]) -> str | SettingsProblem:
    """Return the text without the table or key at the path. An edit that would change more is refused."""
    before = read_toml(text)
    if isinstance(before, SettingsProblem):
        return before
    if _get_at_path(before, path) is None:
        return text
    bom, ended, _ = _normalise(text)
    left, gone = "", tuple(path)
    try:
        for section in _split_sections(ended):
            header = _read_header(section)
            if header[: len(gone)] == gone:
                # The blank line above a table goes with it. What follows its last key belongs to the next.
                _, table = _parse_section(section)
                trailing = table.body[len(table.body) - _count_trailing_lines(table) :]
                left = _BLANK.sub("", left) + "".join(item.as_string() for _, item in trailing)
            elif gone[: len(header)] == header:
                document, table = _parse_section(section)
                places = list(_find_places(table, gone[len(header) :]))
                for body, at in places:
                    body[at] = (None, tomlkit.ws(""))
                left += document.as_string() if places else section
            else:
                left += section
    except TOMLKitError:
        return _unchangeable_problem(text, path)
    changed = bom + _match_last_line_end(text, left)
    is_safe = _get_at_path(read_toml(changed), path) is None and _keeps_others(before, changed, path)
    return changed if is_safe else _unchangeable_problem(text, path)


def _get_at_path(tables: object, path: Sequence[str]) -> object:
    """Return the value at the path; None if there is none."""
    for key in path:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables


def _keeps_others(before: Mapping[str, object], text: str, path: Sequence[str]) -> bool:
    """True if the text still has every value of `before`, except what is at the path."""
    after = read_toml(text)
    return not isinstance(after, SettingsProblem) and _drop_path(before, path) == _drop_path(after, path)


def _drop_path(tables: Mapping[str, object], path: Sequence[str]) -> dict[str, object]:
    """Return the tables without the value at the path, and without tables that contain nothing else."""
    key, rest = path[0], path[1:]
    inner = tables.get(key)
    left = _drop_path(inner, rest) if rest and isinstance(inner, dict) else {}
    kept = {name: value for name, value in tables.items() if name != key}
    return {**kept, key: left} if left else kept


def _unchangeable_problem(text: str, path: Sequence[str]) -> SettingsProblem:
    """Return the problem of a table that cannot be edited: an inline table, or one with dotted keys.

    Its line is where the longest existing part of the path is complete; 1 if no part exists.
    """
    lines, tables = _LINE.findall(text), read_toml(text)
    depth = max(depth for depth in range(len(path) + 1) if _get_at_path(tables, path[:depth]) is not None)
    ends = range(1, len(lines) + 1) if depth else ()
    line = next(
        (end for end in ends if _get_at_path(read_toml("".join(lines[:end])), path[:depth]) is not None), 1
    )
    name = ".".join(path)
    sentence = f"`{name}` cannot be changed here without touching what is not Handrail's"
    repair = f"write it as a table of its own, [{name}], or take it out of the file"
    return SettingsProblem(line, 1, sentence, repair)


def _normalise(text: str) -> tuple[str, str, str]:
    """Return the BOM, the text with its last line ended, and its line break."""
    newline = _find_line_break(text)
    body = text.removeprefix(_BOM)
    ended = body if not body or body.endswith("\n") else body + newline
    return text[: len(text) - len(body)], ended, newline


def _match_last_line_end(text: str, made: str) -> str:
    """Return `made` without a final line break if the original text has none."""
    if text.endswith("\n") or not text.removeprefix(_BOM):
        return made
    return made.removesuffix("\n").removesuffix("\r")


def _split_sections(text: str) -> Iterator[str]:
    """Yield the sections of the text: first what is above all headers, then each header with its lines."""
    start = end = 0
    for line in _LINE.findall(text):
        # A line in a multi-line string or array can look like a header; then the text above does not parse.
        if line.lstrip(" \t").startswith("[") and isinstance(read_toml(text[:end]), dict):
            yield text[start:end]
            start = end
        end += len(line)
    yield text[start:]


def _read_header(section: str) -> tuple[str, ...]:
    """Return the path in the header of a section; empty if it has none."""
    path = list[str]()
    first = _LINE.match(section)
    inner: object = read_toml(first[0]) if first and section.lstrip().startswith("[") else {}
    while isinstance(inner, dict) and inner:
        [(key, inner)] = inner.items()
        path.append(key)
    return tuple(path)


def _parse_section(section: str) -> tuple[tomlkit.TOMLDocument, Container]:
    """Return the parsed section, and the container below its header."""
    document = tomlkit.parse(section)
    below: Any = document
    for key in _read_header(section):
        item = below.item(key)
        below = (item.body[0] if isinstance(item, AoT) else item).value
    return document, below


def _set_members(section: str, members: Mapping[str, object], newline: str) -> str:
    """Return the section with these members. New ones go after its last key.

    Comments after the last key stay at the end: they belong to what follows.
    """
    document, table = _parse_section(section)
    new = [_format_row(*member) + newline for member in members.items() if member[0] not in table]
    for key in members.keys() & table.keys():
        table[key] = _build_toml_item(members[key])
    place = len(table.body) - _count_trailing_lines(table)
    table.body.insert(place, (None, tomlkit.ws("".join(new))))
    return document.as_string()


def _count_trailing_lines(table: Container) -> int:
    """Count the blank lines and comments after the last key of a table."""
    return sum(1 for _ in takewhile(lambda member: member[0] is None, reversed(table.body)))


def _find_places(table: Container, path: Sequence[str]) -> Iterator[tuple[_Body, int]]:
    """Yield the bodies and indexes that hold the path. Dotted keys can put it in several."""
    for at, (key, item) in enumerate(table.body):
        if key is None or key.key != path[0]:
            continue
        if len(path) == 1:
            yield table.body, at
        elif isinstance(item, Table):
            yield from _find_places(item.value, path[1:])


def _format_row(key: str, value: object) -> str:
    return f"{tomlkit.key(key).as_string()} = {_build_toml_item(value).as_string()}"


def _build_toml_item(value: object) -> Item:
    """Return a value as a TOML item. A mapping becomes an inline table, since it must fit on one line."""
    if not isinstance(value, Mapping):
        return tomlkit.item(value)
    table = tomlkit.inline_table()
    table.update({key: _build_toml_item(inner) for key, inner in value.items()})
    return table


# --- the Handrail block in Markdown -------------------------------------------------------------------------
_BLOCK_START: Final = re.compile(r"<!-- HANDRAIL START v([0-9A-Za-z.+-]+)( joined)? -->")
_BLOCK_END: Final = "<!-- HANDRAIL END -->"

_BLOCK: Final = re.compile(
    rf"(?:(?<=\n)\r?\n)?(?P<start>{_BLOCK_START.pattern})(?P<inside>.*?){re.escape(_BLOCK_END)}(?:\r?\n)?",
    re.DOTALL,
)


def put_block(text: str, version: str, inside: str) -> str | SettingsProblem:
    """Return the text with this block: it replaces the existing block, or goes at the end."""
    if problem := _find_block_problem(text):
        return problem
    block_match = _BLOCK.search(text)
    if block_match:
        newline, joined = _find_line_break(block_match["inside"]), block_match[3] or ""
    else:
        newline, joined = _find_line_break(text), " joined" if text and not text.endswith("\n") else ""
    lines = (f"<!-- HANDRAIL START v{version}{joined} -->", *inside.strip("\n").split("\n"), _BLOCK_END)
    block = newline.join(lines)
    if block_match:
        start, end = block_match.start("start"), block_match.end("inside") + len(_BLOCK_END)
        return text[:start] + block + text[end:]
    apart = (newline * 2 if joined else newline) if text else ""
    return f"{text}{apart}{block}{newline}"


def remove_block(text: str) -> str | SettingsProblem:
    """Return the text without the block, and without the empty line that was inserted before it."""
    if problem := _find_block_problem(text):
        return problem
    match = _BLOCK.search(text)
    if not match:
        return text
    before, after = text[: match.start()], text[match.end() :]
    if match[3]:
        before = before.removesuffix(_find_line_break(match["inside"]))
    return before + after


def _find_line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _find_block_problem(text: str) -> SettingsProblem | None:
    """Return a problem if the start and end of the block are not clear; None if they are."""
    starts = [match.start() for match in _BLOCK_START.finditer(text)]
    ends = [match.start() for match in re.finditer(_BLOCK_END, text)]
    if not starts + ends or (len(starts) == len(ends) == 1 and starts < ends):
        return None
    line = text.count("\n", 0, min(starts + ends)) + 1
    needed = f"one start and one `{_BLOCK_END}` are needed"
    sentence = f"where Handrail's block begins and ends is not clear: {needed}"
    return SettingsProblem(line, 1, sentence, "remove the marks that are too many, and what is between them")
