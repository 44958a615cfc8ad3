"""JSON with comments and trailing commas, read with the place of every value in its text."""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NoReturn

DEEPEST: Final = 100
"""How deeply lists and objects may nest."""

BLANK: Final = " \t\r\n"
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_TRIVIA: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_TEXT: Final = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_SCALAR: Final = re.compile(
    rf"{_TEXT.pattern}|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null"
)
_ENDS: Final = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a text cannot be read or changed: where to look, what is wrong, and the repair."""

    line: int
    column: int
    sentence: str
    repair: str


@dataclass(frozen=True, slots=True)
class Node:
    """A value, where it begins and ends in the text, and its parts if it is an object or a list."""

    start: int
    end: int
    value: object
    parts: "tuple[Part, ...]" = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A member of an object, or an item of a list, whose `key` is empty.

    `before` is where what stands before it ends: the bracket, or the last comma. `comma` is the place of the
    comma behind it, -1 if there is none.
    """

    before: int
    start: int
    key: str
    node: Node
    comma: int


class _Found(Exception):  # noqa: N818 - carries a problem out of the scanner; nobody outside sees it
    """A problem at a place of the text."""

    def __init__(self, place: int, sentence: str) -> None:
        super().__init__(sentence)
        self.place, self.sentence = place, sentence


@lru_cache(maxsize=4)
def scan(text: str) -> Node | Problem | None:
    """The value that the text is; None if it has only blanks and comments. A BOM is passed over.

    The last few are remembered, so the values in them are not to be changed.
    """
    try:
        return _Scanner(text).document()
    except _Found as found:
        return problem(text, found.place, found.sentence, "mend that place, or move the file away")


def problem(text: str, place: int, sentence: str, repair: str) -> Problem:
    """The problem at this place of the text."""
    above = re.split(r"\r\n|\r|\n", text[:place].removeprefix("\ufeff"))
    return Problem(len(above), len(above[-1]) + 1, sentence, repair)


class _Scanner:
    """A text, read once from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 1 if text.startswith("\ufeff") else 0

    def document(self) -> Node | None:
        """The one value of the text."""
        self._pass()
        if self._at == len(self._text):
            return None
        found = self._value(1)
        self._pass()
        if self._at < len(self._text):
            self._halt("something stands behind the end of the document")
        return found

    def _value(self, depth: int) -> Node:
        if depth > DEEPEST:
            self._halt(f"it nests deeper than {DEEPEST} levels")
        opening = self._text[self._at : self._at + 1]
        if opening in _ENDS:
            return self._parts(opening, depth)
        start, value = self._at, self._scalar(_SCALAR, "a value is missing or misspelt here")
        return Node(start, self._at, value)

    def _scalar(self, pattern: re.Pattern[str], sentence: str) -> object:
        found = pattern.match(self._text, self._at)
        if not found:
            self._halt(sentence)
        written = found.group()
        try:
            value: object = written[1:-1] if _simple(written) else json.loads(written)
        except ValueError:
            self._halt("this text or number is not written as JSON asks for")
        self._at = found.end()
        return value

    def _parts(self, opening: str, depth: int) -> Node:
        start, closing = self._at, _ENDS[opening]
        parts: list[Part] = []
        self._at += 1
        while True:
            before = self._at
            self._pass()
            if self._text.startswith(closing, self._at):
                self._at += 1
                return Node(start, self._at, _whole(opening, parts), tuple(parts))
            if parts and parts[-1].comma < 0:
                self._halt(f"`,` or `{closing}` is missing here")
            parts.append(self._part(before, opening, depth))

    def _part(self, before: int, opening: str, depth: int) -> Part:
        start, key = self._at, ""
        if opening == "{":
            key = str(self._scalar(_TEXT, "a key in double quotes, or `}`, is missing here"))
            self._pass()
            if not self._text.startswith(":", self._at):
                self._halt("`:` is missing behind the key")
            self._at += 1
            self._pass()
        node, comma = self._value(depth + 1), -1
        self._pass()
        if self._text.startswith(",", self._at):
            comma = self._at
            self._at += 1
        else:
            self._at = node.end
        return Part(before, start, key, node, comma)

    def _pass(self) -> None:
        """Pass over blanks and comments."""
        found = _BLANKS.match(self._text, self._at)
        self._at = found.end() if found else self._at
        if self._text.startswith("/", self._at):
            found = _TRIVIA.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._text.startswith("/*", self._at):
                self._halt("this comment has no end")

    def _halt(self, sentence: str) -> NoReturn:
        raise _Found(self._at, sentence)


def _simple(written: str) -> bool:
    """True for a text that has no escapes; nearly all are."""
    return written[0] == '"' and "\\" not in written


def _whole(opening: str, parts: list[Part]) -> object:
    if opening == "[":
        return [part.node.value for part in parts]
    return {part.key: part.node.value for part in parts}
