"""Front matter: a few lines of `key: value` between two lines `---`, ahead of a Markdown text.

Not YAML, of which it looks like a part: a value is a text, or a list of texts written as `[a, b]` or as lines
`- a`. Nothing is turned into a number, a date or a truth value, nothing nests, nothing refers to anything.
Whatever stands behind the colon is the value, so a `#` in it is a part of it. A line that begins with `#` is
a comment.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Field: TypeAlias = str | tuple[str, ...]

MOST_LINES: Final = 100
"""How many lines may stand between the two that begin and end it."""

LONGEST: Final = 1_000
"""How many characters a line may have."""

MOST_ITEMS: Final = 100
"""How many items a list may have."""

CODES: Final = {
    "front-character": "a character in the front matter is no text",
    "front-item": "an item is empty, or stands below no key, or below one that has a value already",
    "front-key": "a key of the front matter is no plain word, or stands there twice",
    "front-line": "a line of the front matter is neither `key: value` nor `- item`",
    "front-long": "a line of the front matter is too long, or a list has too many items",
    "front-unclosed": "the front matter has a beginning and no end",
    "front-unread": "a key of the front matter is none that is read here",
    "front-value": "a value of the front matter is neither a text nor a list of texts",
}
"""Every code of a problem in front matter, and what it means."""

_RULE: Final = "---"
_MARK: Final = "\ufeff"
_BLANKS: Final = " \t"
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_UNFIT: Final = re.compile(r"[\0-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_PIECE: Final = re.compile(r""""[^"]*"|'[^']*'|[^,"'\[\]{}]+|.""")
_MORE_THAN_TEXT: Final = ("{", "[", "|", ">", "&", "*", "!")
_QUOTES: Final = ('"', "'")


@dataclass(frozen=True, slots=True)
class Slip:
    """Something wrong in one line, counted from 1: a code, a sentence, and the repair."""

    line: int
    code: str
    message: str
    repair: str


@dataclass(frozen=True, slots=True)
class Front:
    """What stands before a text, the text itself, byte for byte, and what is wrong with the former."""

    fields: Mapping[str, Field]
    body: str
    slips: tuple[Slip, ...] = ()


class _Wrong(Exception):  # noqa: N818 - carries a slip out of a line; nobody outside sees it
    """Why a line is passed over."""

    def __init__(self, code: str, message: str, repair: str) -> None:
        super().__init__(code)
        self.code, self.message, self.repair = code, message, repair


def parse(text: str, known: Collection[str] = ()) -> Front:
    """The fields and the body of a text; without front matter, none and the whole.

    What is wrong in a line is told, and the line passed over: if some keys are `known`, so is any other.
    Front matter without an end is body.
    """
    lines = _lines(text)
    first = next(lines, "")
    if not _is_rule(first.removeprefix(_MARK)):
        return Front({}, text)
    inside: list[str] = []
    begun = len(first)
    for line in lines:
        begun += len(line)
        if _is_rule(line):
            return _front(inside, text[begun:], known)
        inside.append(line)
        if len(inside) > MOST_LINES:
            break
    repair = f"end it with a line `{_RULE}`, after {MOST_LINES} lines at most"
    return Front({}, text, (Slip(1, "front-unclosed", "the front matter has no end", repair),))


def texts(value: Field) -> tuple[str, ...]:
    """The texts of a field, of which a single one is a list too; nothing is none."""
    if isinstance(value, tuple):
        return value
    return (value,) if value else ()


def _lines(text: str) -> Iterator[str]:
    """The lines with their ends; one ends with LF, so that a CR LF is an end too."""
    begun = 0
    while begun < len(text):
        end = text.find("\n", begun) + 1 or len(text)
        yield text[begun:end]
        begun = end


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r").rstrip(_BLANKS)


def _is_rule(line: str) -> bool:
    return _bare(line) == _RULE


def _is_item(line: str) -> bool:
    return line.lstrip(_BLANKS).startswith(("- ", "-\t")) or line.strip() == "-"


def _front(lines: Sequence[str], body: str, known: Collection[str]) -> Front:
    """What these lines say ahead of a body."""
    found: dict[str, Field] = {}
    slips: list[Slip] = []
    key = ""
    for number, line in enumerate(lines, start=2):
        try:
            key = _take(found, key, _bare(line), known)
        except _Wrong as wrong:
            key = key if _is_item(line) else ""
            slips.append(Slip(number, wrong.code, wrong.message, wrong.repair))
    return Front(found, body, tuple(slips))


def _take(found: dict[str, Field], key: str, line: str, known: Collection[str]) -> str:
    """Note what a line says; the answer is the key that items belong to after it, as `key` is before."""
    bare = line.lstrip(_BLANKS)
    if not bare or bare.startswith("#"):
        return key
    _bearable(line)
    if _is_item(line):
        if not key:
            message = "no key is open that this item could belong to"
            raise _Wrong("front-item", message, "put the items below `key:`")
        item = _text(bare[1:].strip(_BLANKS))
        if not item:
            raise _Wrong("front-item", "the item is empty", "write it, or drop the line")
        found[key] = _bounded((*texts(found[key]), item))
        return key
    if line[0] in _BLANKS:
        raise _Wrong("front-line", "the line is indented, and nothing nests here", "begin it at the margin")
    return _entry(found, line, known)


def _bearable(line: str) -> None:
    if len(line) > LONGEST:
        raise _Wrong("front-long", f"the line has {len(line):,} characters", f"keep to {LONGEST:,}")
    if unfit := _UNFIT.search(line):
        raise _Wrong("front-character", f"the character U+{ord(unfit[0]):04X} is no text", "remove it")


def _entry(found: dict[str, Field], line: str, known: Collection[str]) -> str:
    """Note a key and its value; the answer is the key, if items may follow."""
    key, colon, rest = line.partition(":")
    if not colon or rest[:1] not in {"", *_BLANKS}:
        message = "the line is neither `key: value` nor `- item`"
        raise _Wrong("front-line", message, "write a key, a colon, a blank and a value")
    if not _KEY.fullmatch(key):
        repair = "use letters, digits, `_` and `-`, beginning with a letter, at most 64"
        raise _Wrong("front-key", "this cannot be a key", repair)
    if key in found:
        raise _Wrong("front-key", f"`{key}` stands here twice", "drop one of them")
    if known and key not in known:
        raise _Wrong("front-unread", f"nobody reads `{key}`", f"drop it; what is read is {', '.join(known)}")
    value = rest.strip(_BLANKS)
    found[key] = _bounded(_items(value)) if value.startswith("[") else _text(value)
    return "" if value else key


def _text(value: str) -> str:
    """A text, out of its quotes if it has any."""
    if value.startswith(_QUOTES):
        if len(value) < 2 or value.find(value[0], 1) != len(value) - 1:
            repair = "end it with the quote it begins with, and use none of these inside"
            raise _Wrong("front-value", "the quotes are not around the whole value", repair)
        return value[1:-1]
    if value.startswith(_MORE_THAN_TEXT):
        message = f"a value that begins with `{value[0]}` is more than a text"
        raise _Wrong("front-value", message, "put quotes around it, or write it in one line")
    return value


def _items(value: str) -> tuple[str, ...]:
    """The items of `[a, b]`: what stands between its commas, out of its quotes."""
    pieces = [piece.strip(_BLANKS) for piece in _PIECE.findall(value[1:-1])]
    pieces = [piece for piece in pieces if piece]
    items, commas = pieces[::2], pieces[1::2]
    sound = len(pieces) == 0 or (len(items) > len(commas) and not any(map(_is_sign, items)))
    if len(value) < 2 or not value.endswith("]") or not sound or any(comma != "," for comma in commas):
        raise _Wrong("front-value", "this is no list of texts", "write `[a, b]`, each a word or in quotes")
    return tuple(item[1:-1] if item.startswith(_QUOTES) else item for item in items)


def _is_sign(piece: str) -> bool:
    return len(piece) == 1 and piece in ",[]{}\"'"


def _bounded(items: tuple[str, ...]) -> tuple[str, ...]:
    if len(items) > MOST_ITEMS:
        raise _Wrong("front-long", "the list has too many items", f"keep to {MOST_ITEMS}")
    return items
