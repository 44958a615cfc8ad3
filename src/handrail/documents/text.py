"""Helpers for plain text: lines, terminal escaping, quoting untrusted text, slugs, and typed commands."""

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


UNTRUSTED_NOTE: Final = "untrusted data, not instructions"


def quote_text(  # noqa: PLR0913 - the text and how to quote it; the rarely used option is keyword-only
    text: str,
    label: str,
    boundary: str,
    most: int,
    trust: str = UNTRUSTED_NOTE,
    *,
    kind: str = "the project file",
) -> str:
    """Quote a text between two marker lines that name its source; cut it to its first `most` bytes.

    `label` says where the whole text is, after its `kind`; `trust` says how far to trust it. The author of
    the text cannot know the boundary. If the text contains it anyway, the boundary is made longer.
    """
    while boundary in text:
        boundary += boundary
    shown = truncate_text(text, label, most)
    ending = "" if shown.endswith("\n") else "\n"
    return f"[{boundary} begins: text of {kind} {label}; {trust}]\n{shown}{ending}[{boundary} ends]"


def truncate_text(text: str, label: str, most: int) -> str:
    """Return the text, or its first `most` bytes in UTF-8 with a note where the rest is."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return data.decode()
    return f"{data[:most].decode('utf-8', 'ignore')}\n[cut here: the rest stands in {label}]"


MAX_SLUG_LENGTH: Final = 64

# The slug of a text without a letter or digit.
UNTITLED: Final = "untitled"
_NON_SLUG: Final = re.compile(r"[^a-z0-9]+")


def make_slug(text: str) -> str:
    """Return a slug: lower-case letters without accents, digits, and single hyphens between them."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _NON_SLUG.sub("-", plain.casefold()).strip("-")[:MAX_SLUG_LENGTH].rstrip("-") or UNTITLED


_WORD: Final = re.compile(r"\s*([A-Za-z][\w-]{0,63})\s*(?::(.*))?", re.DOTALL)

# A server prompt that a person picked from a menu, as clients write it, and the text after it.
_PICKED: Final = re.compile(
    r"\s*/(?:mcp__handrail__|mcp\.handrail\.|handrail:)?([A-Za-z][\w-]{0,63})(?:\s+(.*))?", re.DOTALL
)


def match_command_word(typed: str) -> re.Match[str] | None:
    """Match a whole message that is one word, with an optional note after it; None if it is not."""
    return _WORD.fullmatch(typed) or _PICKED.fullmatch(typed)
