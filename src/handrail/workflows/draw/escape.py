"""Text made inert for the languages that pictures are written in."""

import re

from handrail.workflows.characters import safe, split_lines

_XML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_PLAIN_IN_MERMAID = " _-.,/+=·…↩"
_LIST = re.compile(r"[-+=]+|[0-9]+\.")


def clean(text: str) -> str:
    """The text, its lines kept, with every character that XML forbids or that hides written out."""
    return "\n".join(map(safe, split_lines(text)))


def xml(text: str) -> str:
    """The text as the content of an XML element or of a quoted attribute."""
    return "".join(_XML.get(letter, letter) for letter in clean(text))


def number(value: float) -> str:
    """A number with at most one decimal, as attributes have it."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def mermaid_label(lines: tuple[str, ...]) -> str:
    """The lines as a quoted label of Mermaid; all but plain characters are written as their number.

    So is what makes a line start like a list, which Mermaid would not draw.
    """
    return '"' + "<br/>".join(map(_mermaid_line, map(clean, lines))) + '"'


def dot_string(lines: tuple[str, ...]) -> str:
    """The lines as a quoted string of DOT."""
    kept = (clean(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(" ".join(line.split()) for line in kept) + '"'


def _mermaid_line(line: str) -> str:
    start = _LIST.match(line)
    end = start.end() if start else 0
    return "".join(_numbered(letter, "") for letter in line[:end]) + "".join(
        _numbered(letter, _PLAIN_IN_MERMAID) for letter in line[end:]
    )


def _numbered(letter: str, plain: str) -> str:
    return letter if letter.isalnum() or letter in plain else f"#{ord(letter)};"
