"""Escape, measure and shorten text for SVG, Mermaid and DOT."""

import re
import unicodedata

from handrail.documents.text import escape_for_terminal, split_lines

_XML_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_PLAIN_IN_MERMAID = " _-.,/+=·…↩"
_LIST_START = re.compile(r"[-+=]+|[0-9]+\.")


def escape_hidden(text: str) -> str:
    """Escape every character that is hidden or that XML forbids; line breaks are kept."""
    return "\n".join(map(escape_for_terminal, split_lines(text)))


def escape_xml(text: str) -> str:
    """Escape a text for the content of an XML element or a quoted attribute."""
    return "".join(_XML_ENTITIES.get(letter, letter) for letter in escape_hidden(text))


def format_number(value: float) -> str:
    """Format a number with at most one decimal, for attributes."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def format_point(x: float, y: float) -> str:
    """Format a point for the data of a path."""
    return f"{format_number(x)} {format_number(y)}"


def format_attributes(**numbers: float) -> str:
    """Format attributes whose values are numbers, in the given order."""
    return " ".join(f'{name}="{format_number(value)}"' for name, value in numbers.items())


def quote_mermaid_label(lines: tuple[str, ...]) -> str:
    """Return the lines as a quoted Mermaid label; all but plain characters become numeric entities.

    The start of a line that looks like a list is escaped too: Mermaid would not draw it.
    """
    return '"' + "<br/>".join(_escape_mermaid_line(escape_hidden(line)) for line in lines) + '"'


def quote_dot_string(lines: tuple[str, ...]) -> str:
    """Return the lines as a quoted DOT string."""
    kept = (escape_hidden(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(" ".join(line.split()) for line in kept) + '"'


def _escape_mermaid_line(line: str) -> str:
    start = _LIST_START.match(line)
    end = start.end() if start else 0
    return "".join(
        letter if letter.isalnum() or (index >= end and letter in _PLAIN_IN_MERMAID) else f"#{ord(letter)};"
        for index, letter in enumerate(line)
    )


EM_WIDTHS = {"narrow": 0.34, "plain": 0.6, "broad": 0.72, "widest": 1.0}
MAX_LABEL_LINES = 3
MAX_LABEL_LETTERS = 34
MAX_NODE_LETTERS = 34
_NARROW_LETTERS = frozenset("iljtfrI.,:;|!'`()[]{}/ ·")
_WIDEST_LETTERS = frozenset("mwMW@%—…")


def measure_text(text: str, size: float) -> float:
    """Estimate the width of a line in a common sans-serif font; rather too wide than too narrow."""
    return size * sum(_measure_letter(letter) for letter in text)


def shorten_text(text: str, letters: int) -> str:
    """Return the text on one line, cut with an ellipsis if it is longer than `letters`."""
    line = " ".join(text.split())
    return line if len(line) <= letters else line[: letters - 1].rstrip() + "…"


def shorten_label(label: tuple[str, ...]) -> tuple[str, ...]:
    """Return a label as it is drawn: a few short lines; the last says how many more there are."""
    short = tuple(shorten_text(line, MAX_LABEL_LETTERS) for line in label)
    if len(short) <= MAX_LABEL_LINES:
        return short
    return (*short[: MAX_LABEL_LINES - 1], f"+{len(short) - MAX_LABEL_LINES + 1} …")


def _measure_letter(letter: str) -> float:
    if letter in _NARROW_LETTERS:
        return EM_WIDTHS["narrow"]
    if letter in _WIDEST_LETTERS or unicodedata.east_asian_width(letter) in "WF":
        return EM_WIDTHS["widest"]
    if unicodedata.combining(letter):
        return 0.0
    return EM_WIDTHS["broad"] if letter.isupper() else EM_WIDTHS["plain"]
