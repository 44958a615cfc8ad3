"""Characters: which have no place in a text, and how those are shown that a terminal obeys or hides."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from handrail.engine.problems import Place, Problem, error

_UNFIT = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_BREAK = re.compile(r"\r\n|\r|\n")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_HIDDEN_RANGES = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFFE, 0xFFFF),
    (0xE0100, 0xE01EF),
)
_ESCAPED = 0xDC00
"""A byte that could not be decoded stands as this much more: Python's `surrogateescape`."""


def split_lines(text: str) -> list[str]:
    """The lines of a text as places count them: a break is LF, CR LF or CR, and nothing else."""
    return _BREAK.split(text)


def unfit_characters(lines: Sequence[str], file: str) -> Iterator[Problem]:
    """A problem for each character that cannot stand in a text, and for each byte that is none."""
    for number, line in enumerate(lines, 1):
        for found in _UNFIT.finditer(line):
            place, byte = Place(file, number, found.start() + 1), ord(found[0]) - _ESCAPED
            if 0x80 <= byte <= 0xFF:
                message = f"the byte 0x{byte:02X} is not UTF-8"
                yield error("yaml-character", place, message, "save the file as UTF-8")
            else:
                message = f"the character U+{ord(found[0]):04X} cannot stand in a text"
                yield error("yaml-character", place, message, "remove it")


def cell(character: str) -> str:
    """The character as one line on a terminal can show it: a tab as a blank, what is hidden as an escape."""
    if character == "\t":
        return " "
    code = ord(character)
    hidden = unicodedata.category(character) in _HIDDEN_CATEGORIES
    if hidden or any(first <= code <= last for first, last in _HIDDEN_RANGES):
        return f"\\u{{{code:x}}}"
    return character


def safe(text: str) -> str:
    """The text in one line, with everything a terminal would obey or hide written out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(cell, text))
