"""Units: what a number of a table or a chart counts, and how a person reads it."""

from enum import StrEnum
from itertools import pairwise
from typing import Final, TypeAlias

Cell: TypeAlias = str | int | float | None
"""What stands in a table: a word, a number, or nothing where there is none to tell."""

NOTHING: Final = "-"
"""How a person is shown that there is nothing to tell."""

_TIMES: Final = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
_THIN: Final = "\u202f"


class Unit(StrEnum):
    """What a cell holds."""

    WORD = "word"
    COUNT = "count"
    PERCENT = "percent"
    MILLISECONDS = "milliseconds"


def shown(value: Cell, unit: Unit) -> str:
    """A cell as a person reads it."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    match unit:
        case Unit.PERCENT:
            return f"{value:.1f} %"
        case Unit.MILLISECONDS:
            return took(value)
        case _:
            return f"{value:,}".replace(",", _THIN)


def took(milliseconds: float | None) -> str:
    """How long something took, in its two largest units; a dash if nobody knows."""
    if milliseconds is None:
        return NOTHING
    tenths = round(milliseconds / 100)
    if tenths < 600:
        return f"{tenths / 10:g} s"
    seconds = round(milliseconds / 1000)
    (unit, size), (part, of) = next(pair for pair in pairwise(_TIMES) if seconds >= pair[0][1])
    whole, rest = divmod(seconds, size)
    return f"{whole} {unit}" + (f" {rest // of} {part}" if rest >= of else "")
