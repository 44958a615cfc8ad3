"""How much room words take, and how long ones are shortened. Estimates: no font is asked."""

import unicodedata

EM = {"narrow": 0.34, "plain": 0.6, "broad": 0.72, "widest": 1.0}
LABEL_LINES = 3
LABEL_LETTERS = 34
NODE_LETTERS = 34

_NARROW = frozenset("iljtfrI.,:;|!'`()[]{}/ ·")
_WIDEST = frozenset("mwMW@%—…")


def width(text: str, size: float) -> float:
    """The width of a line set in a common sans-serif of this size, rather too wide than too narrow."""
    return size * sum(_em(letter) for letter in text)


def shortened(text: str, letters: int) -> str:
    """The text on one line, cut with an ellipsis if it has more letters than this."""
    line = " ".join(text.split())
    return line if len(line) <= letters else line[: letters - 1].rstrip() + "…"


def caption(label: tuple[str, ...]) -> tuple[str, ...]:
    """A label as it is drawn: few short lines, the last of them saying how many more there are."""
    short = tuple(shortened(line, LABEL_LETTERS) for line in label)
    if len(short) <= LABEL_LINES:
        return short
    return (*short[: LABEL_LINES - 1], f"+{len(short) - LABEL_LINES + 1} …")


def _em(letter: str) -> float:
    if letter in _NARROW:
        return EM["narrow"]
    if letter in _WIDEST or unicodedata.east_asian_width(letter) in "WF":
        return EM["widest"]
    if unicodedata.combining(letter):
        return 0.0
    return EM["broad"] if letter.isupper() else EM["plain"]
