"""Parse front matter: a few lines of `key: value` between two `---` lines at the start of a Markdown text.

It looks like YAML but is simpler. A value is a text, or a list of texts written as `[a, b]` or as lines
`- a`. There are no numbers, dates, booleans, nesting or references. Everything after the colon is the value,
including a `#`. A line that begins with `#` is a comment.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

Field: TypeAlias = str | tuple[str, ...]

# The maximum number of lines between the two `---` lines.
MAX_LINES: Final = 100
MAX_LINE_LENGTH: Final = 1_000
MAX_ITEMS: Final = 100

# Every problem code of front matter, with its meaning. The documentation is generated from this table.
FRONT_MATTER_CODES: Final = {
    "front-character": "a character in the front matter is no text",
    "front-item": "an item is empty, or stands below no key, or below one that has a value already",
    "front-key": "a key of the front matter is no plain word, or stands there twice",
    "front-line": "a line of the front matter is neither `key: value` nor `- item`",
    "front-long": "a line of the front matter is too long, or a list has too many items",
    "front-unclosed": "the front matter has a beginning and no end",
    "front-unread": "a key of the front matter is none that is read here",
    "front-value": "a value of the front matter is neither a text nor a list of texts",
}

_RULE: Final = "---"
_BOM: Final = "\ufeff"
_BLANKS: Final = " \t"
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

_INVALID_CHARACTER: Final = re.compile(
    r"[\0-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)

_PIECE: Final = re.compile(r""""[^"]*"|'[^']*'|[^,"'\[\]{}]+|.""")
_NON_TEXT_STARTS: Final = ("{", "[", "|", ">", "&", "*", "!")
_QUOTES: Final = ('"', "'")


@dataclass(frozen=True, slots=True)
class FrontMatterProblem:
    """A problem on one line, counted from 1: its code, a message, and how to fix it."""

    line: int
    code: str
    message: str
    repair: str


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields before a text, the text itself (unchanged), and the problems found in the fields."""

    fields: Mapping[str, Field]
    body: str
    problems: tuple[FrontMatterProblem, ...] = ()


class _LineError(Exception):
    """Why a line is skipped."""

    def __init__(self, code: str, message: str, repair: str) -> None:
        super().__init__(code)
        self.code, self.message, self.repair = code, message, repair


def parse_front_matter(text: str, known: Collection[str] = ()) -> FrontMatter:
    """Return the fields and the body of a text. Without front matter, the whole text is the body.

    A line with a problem is reported and skipped. If `known` is given, any other key is a problem. Front
    matter that is never closed belongs to the body.
    """
    lines = _split_lines(text)
    first = next(lines, "")
    if _strip_line_end(first.removeprefix(_BOM)) != _RULE:
        return FrontMatter({}, text)
    fields: dict[str, Field] = {}
    problems: list[FrontMatterProblem] = []
    body_start, key = len(first), ""
    for number, whole in enumerate(islice(lines, MAX_LINES + 1), start=2):
        body_start += len(whole)
        line = _strip_line_end(whole)
        if line == _RULE:
            return FrontMatter(fields, text[body_start:], tuple(problems))
        try:
            key = _parse_line(fields, key, line, known)
        except _LineError as wrong:
            key = key if _is_item(line) else ""
            problems.append(FrontMatterProblem(number, wrong.code, wrong.message, wrong.repair))
    repair = f"end it with a line `{_RULE}`, after {MAX_LINES} lines at most"
    unclosed = FrontMatterProblem(1, "front-unclosed", "the front matter has no end", repair)
    return FrontMatter({}, text, (unclosed,))


def list_field_texts(value: Field) -> tuple[str, ...]:
    """Return the texts of a field as a tuple. A single text becomes one item, an empty one none."""
    if isinstance(value, tuple):
        return value
    return (value,) if value else ()


def _split_lines(text: str) -> Iterator[str]:
    """Yield the lines with their line ends. A line ends at LF, so CR LF ends a line too."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _strip_line_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r").rstrip(_BLANKS)


def _is_item(line: str) -> bool:
    return line.lstrip(_BLANKS).startswith(("- ", "-\t")) or line.strip() == "-"


def _parse_line(fields: dict[str, Field], key: str, line: str, known: Collection[str]) -> str:
    """Add a line to `fields`. `key` is what items belong to, or empty; return it for the next line."""
    bare = line.lstrip(_BLANKS)
    if not bare or bare.startswith("#"):
        return key
    if len(line) > MAX_LINE_LENGTH:
        message = f"the line has {len(line):,} characters"
        raise _LineError("front-long", message, f"keep to {MAX_LINE_LENGTH:,}")
    if invalid := _INVALID_CHARACTER.search(line):
        raise _LineError("front-character", f"the character U+{ord(invalid[0]):04X} is no text", "remove it")
    if _is_item(line):
        if not key:
            message = "no key is open that this item could belong to"
            raise _LineError("front-item", message, "put the items below `key:`")
        item = _parse_text(bare[1:].strip(_BLANKS))
        if not item:
            raise _LineError("front-item", "the item is empty", "write it, or drop the line")
        fields[key] = _check_item_count((*list_field_texts(fields[key]), item))
        return key
    if line[0] in _BLANKS:
        message = "the line is indented, and nothing nests here"
        raise _LineError("front-line", message, "begin it at the margin")
    return _parse_entry(fields, line, known)


def _parse_entry(fields: dict[str, Field], line: str, known: Collection[str]) -> str:
    """Add a key and its value to `fields`. Return the key if items may follow, else an empty text."""
    key, colon, rest = line.partition(":")
    if not colon or rest[:1] not in {"", *_BLANKS}:
        message = "the line is neither `key: value` nor `- item`"
        raise _LineError("front-line", message, "write a key, a colon, a blank and a value")
    if not _KEY.fullmatch(key):
        repair = "use letters, digits, `_` and `-`, beginning with a letter, at most 64"
        raise _LineError("front-key", "this cannot be a key", repair)
    if key in fields:
        raise _LineError("front-key", f"`{key}` stands here twice", "drop one of them")
    if known and key not in known:
        repair = f"drop it; what is read is {', '.join(known)}"
        raise _LineError("front-unread", f"nobody reads `{key}`", repair)
    value = rest.strip(_BLANKS)
    fields[key] = _check_item_count(_parse_items(value)) if value.startswith("[") else _parse_text(value)
    return "" if value else key


def _parse_text(value: str) -> str:
    """Return a value without its quotes, if it has any."""
    if value.startswith(_QUOTES):
        if len(value) < 2 or value.find(value[0], 1) != len(value) - 1:
            repair = "end it with the quote it begins with, and use none of these inside"
            raise _LineError("front-value", "the quotes are not around the whole value", repair)
        return value[1:-1]
    if value.startswith(_NON_TEXT_STARTS):
        message = f"a value that begins with `{value[0]}` is more than a text"
        raise _LineError("front-value", message, "put quotes around it, or write it in one line")
    return value


def _parse_items(value: str) -> tuple[str, ...]:
    """Return the items of `[a, b]`, without their quotes."""
    pieces = [piece for part in _PIECE.findall(value[1:-1]) if (piece := part.strip(_BLANKS))]
    items, commas = pieces[::2], pieces[1::2]
    well_formed = not pieces or (len(items) > len(commas) and not {*",[]{}\"'"}.intersection(items))
    if len(value) < 2 or not value.endswith("]") or not well_formed or any(comma != "," for comma in commas):
        repair = "write `[a, b]`, each a word or in quotes"
        raise _LineError("front-value", "this is no list of texts", repair)
    return tuple(item[1:-1] if item.startswith(_QUOTES) else item for item in items)


def _check_item_count(items: tuple[str, ...]) -> tuple[str, ...]:
    if len(items) > MAX_ITEMS:
        raise _LineError("front-long", "the list has too many items", f"keep to {MAX_ITEMS}")
    return items
