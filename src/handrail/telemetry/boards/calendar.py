"""The calendar of charts: which hours, days or months a window has, and what is written under them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from handrail.telemetry.charts.series import Slot
from handrail.workflows.catalogue import Catalogue

SHORT: Final = timedelta(days=62)
"""A longer window begins where something has happened."""

LONGEST: Final = timedelta(days=3660)
"""What is longer ago is not drawn."""

HOURS_SHOWN: Final = 73
"""With more hours than this, days are drawn."""

DAYS_SHOWN: Final = 400
"""With more days than this, months are drawn."""

WORDS: Final = 11
"""How many words there are under a chart, at most."""

_STEPS: Final = {0: (1,), 13: (1, 3, 6, 12), 10: (1, 2, 7, 14, 28, 56), 7: (1, 2, 3, 6, 12)}
"""The round distances of hours, days and months, by how many letters these have."""

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


def hours_of(since: datetime, until: datetime, first: str) -> list[str]:
    """The hours of a window, written `YYYY-MM-DD HH`; `first` is the first in which something happened."""
    return _each((since, until), first, _HOUR, 13)


def days_of(since: datetime, until: datetime, first: str) -> list[str]:
    """The days of a window, written `YYYY-MM-DD`; `first` is the first on which something happened."""
    return _each((since, until), first, _DAY, 10)


def fitting(names: Sequence[str]) -> list[str]:
    """Hours as they are if there are few, else days, else months: each once, in order."""
    for letters, most in ((13, HOURS_SHOWN), (10, DAYS_SHOWN)):
        found = list(dict.fromkeys(name[:letters] for name in names))
        if len(found) <= most:
            return found
    return list(dict.fromkeys(name[:7] for name in names))


def summed(counts: Mapping[str, int], names: Iterable[str]) -> tuple[int, ...]:
    """How much there is in each hour, day or month of these names."""
    wanted = list(names)
    letters = len(wanted[0]) if wanted else 0
    found = dict.fromkeys(wanted, 0)
    for name, count in counts.items():
        if name[:letters] in found:
            found[name[:letters]] += count
    return tuple(found.values())


def slots(t: Catalogue, names: Sequence[str]) -> tuple[Slot, ...]:
    """The places of a chart; under some of them, at round distances, their time, day or month."""
    letters = len(names[0]) if names else 0
    step = next(step for step in _STEPS[letters] if len(names) <= step * WORDS or step == _STEPS[letters][-1])
    return tuple(
        Slot(_whole(name), _word(t, name) if _place(name, len(names) - 1 - index) % step == 0 else "")
        for index, name in enumerate(names)
    )


def _whole(name: str) -> str:
    return f"{name}:00" if len(name) == 13 else name


def _place(name: str, before_last: int) -> int:
    """What makes a distance round: the hour of a day, the month of a year, or how many days come after."""
    match len(name):
        case 13:
            return int(name[11:])
        case 7:
            return int(name[5:]) - 1
        case _:
            return before_last


def _word(t: Catalogue, name: str) -> str:
    """The time of an hour, at midnight the day; the day of a month; a month, with its year."""
    year, month, *rest = name.split("-")
    named = t(f"chart.months.{int(month)}")
    if not rest:
        return t("chart.month", month=named, year=year)
    day, _, hour = rest[0].partition(" ")
    return f"{hour}:00" if hour not in {"", "00"} else t("chart.day", day=int(day), month=named)


def _each(window: tuple[datetime, datetime], first: str, unit: timedelta, letters: int) -> list[str]:
    since, until = window
    at = since if until - since <= SHORT else max(_time(first, until), until - LONGEST)
    last, names = until.isoformat(" ")[:letters], []
    while at.isoformat(" ")[:letters] <= last:
        names.append(at.isoformat(" ")[:letters])
        at += unit
    return names


def _time(name: str, otherwise: datetime) -> datetime:
    """When an hour or a day begins; somebody may have written into a store what is none."""
    try:
        return datetime.fromisoformat(name).replace(tzinfo=otherwise.tzinfo)
    except ValueError:
        return otherwise
