"""Text made inert for the languages that pictures are written in."""

import re

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_XML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_PLAIN_IN_MERMAID = " _-.,/+=·…↩"
_LIST = re.compile(r"[-+=]+|[0-9]+\.")


def clean(text: str) -> str:
    """The text with every character that XML forbids, or that turns the reading direction, made visible."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def xml(text: str) -> str:
    """The text as the content of an XML element or of a quoted attribute."""
    return "".join(_XML.get(letter, letter) for letter in clean(text))


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
