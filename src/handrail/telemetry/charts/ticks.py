"""Ticks: where an axis has its marks. Round numbers, few of them, from zero to past the largest value."""

from collections.abc import Iterator
from itertools import count
from math import ceil
from typing import Final

from handrail.telemetry.units import Unit, shown, took

MOST: Final = 5
"""How many marks an axis has at most besides its zero."""

_ROUND: Final = (1, 2, 5)
_SECOND: Final = 1000
_DAY: Final = 86400 * _SECOND
_TIMES: Final = (
    *(100, 200, 500),
    *(_SECOND * each for each in (1, 2, 5, 10, 15, 30)),
    *(60 * _SECOND * each for each in (1, 2, 5, 10, 15, 30)),
    *(3600 * _SECOND * each for each in (1, 2, 3, 6, 12)),
)


def ticks(largest: float, unit: Unit) -> tuple[float, ...]:
    """The marks of an axis for values up to this one; the last is not below it."""
    step = next(step for step in _steps(unit) if ceil(largest / step) <= MOST)
    return tuple(round(step * number, 3) for number in range(max(ceil(largest / step), 1) + 1))


def tick(value: float, unit: Unit) -> str:
    """What is written at a mark."""
    if not value:
        return "0"
    match unit:
        case Unit.PERCENT:
            return f"{value:g} %"
        case Unit.MILLISECONDS:
            return took(value)
        case _:
            return shown(round(value), Unit.COUNT)


def _steps(unit: Unit) -> Iterator[float]:
    """The distances that marks may have, from the smallest."""
    match unit:
        case Unit.MILLISECONDS:
            yield from _TIMES
            yield from (float(_DAY * each * 10**power) for power in count() for each in _ROUND)
        case Unit.PERCENT:
            yield from (each * 10.0**power for power in count(-1) for each in _ROUND)
        case _:
            yield from (float(each * 10**power) for power in count() for each in _ROUND)
