"""Plain text: its lines, how it is shown on a terminal, and command words that a person types."""

import re
import unicodedata
from typing import Final

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
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


def split_lines(text: str) -> list[str]:
    """Split a text into lines the way line numbers count them: at LF, CR LF or CR only."""
    return _LINE_BREAK.split(text)


def escape_terminal_character(character: str) -> str:
    """Return a character that is safe on one terminal line: a tab as a blank, a hidden one as an escape."""
    if character == "\t":
        return " "
    code = ord(character)
    hidden = unicodedata.category(character) in _HIDDEN_CATEGORIES
    if hidden or any(first <= code <= last for first, last in _HIDDEN_RANGES):
        return f"\\u{{{code:x}}}"
    return character


def escape_for_terminal(text: str) -> str:
    """Return the text on one line, with every control or hidden character written as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(escape_terminal_character, text))


_WORD: Final = re.compile(r"\s*([A-Za-z][\w-]{0,63})\s*(?::(.*))?", re.DOTALL)

# A server prompt that a person picked from a menu, as clients write it, and the text after it.
_PICKED: Final = re.compile(
    r"\s*/(?:mcp__handrail__|mcp\.handrail\.|handrail:)?([A-Za-z][\w-]{0,63})(?:\s+(.*))?", re.DOTALL
)


def match_command_word(typed: str) -> re.Match[str] | None:
    """Match a whole message that is one word, with an optional note after it; None if it is not."""
    return _WORD.fullmatch(typed) or _PICKED.fullmatch(typed)
