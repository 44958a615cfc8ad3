"""Lines of a text, and the text of lines."""

from collections.abc import Sequence


def normalised(text: str) -> str:
    """The text with lines that end in LF only; a carriage return at the end of its only line stays."""
    text = text.replace("\r\n", "\n")
    if "\r" not in text or "\n" not in text:
        return text
    return "\n".join([line.rstrip("\r") for line in text.split("\n")])


def joined(lines: Sequence[str]) -> str | None:
    """The lines as one text, without the empty ones around them; None if all are empty."""
    begin, end = 0, len(lines)
    while begin < end and not lines[begin].strip():
        begin += 1
    while end > begin and not lines[end - 1].strip():
        end -= 1
    return "\n".join(lines[begin:end]) if end > begin else None
