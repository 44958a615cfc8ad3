"""A time axis: where a moment stands across, long idle times shortened, and where the ticks are."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median_low
from typing import Final

IDLE: Final = timedelta(minutes=10)
"""A time in which nothing happened is not shortened unless it is longer than this,"""

FACTOR: Final = 12
"""and than so many times what usually lies between two things that happened."""

BREAK: Final = 30.0
BREAKS: Final = 0.4
APART: Final = 78.0
"""How far ticks are apart, at least; how wide a shortened time is, and which part of the axis all of them."""

_UNITS: Final = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 0.001))
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_STEPS: Final = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(_MINUTE * many for many in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * many for many in (1, 2, 3, 6, 12)),
    *(_DAY * many for many in (1, 2, 7, 14, 28, 91, 182, 364)),
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the axis: the same pace throughout; `idle` if it is shortened."""

    began: datetime
    ended: datetime
    left: float
    right: float
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """A moment on the axis: where it stands, the time of day, and the day if it is another than before."""

    x: float
    time: str
    day: str


@dataclass(frozen=True, slots=True)
class Scale:
    """The parts of an axis, which follow on each other."""

    parts: tuple[Part, ...]

    def at(self, moment: datetime) -> float:
        """Where this moment stands; one before the axis begins or after it ends stands at that end."""
        place = bisect_right(self.parts, moment, key=lambda part: part.began) - 1
        part = self.parts[max(0, place)]
        share = (moment - part.began) / (part.ended - part.began)
        return part.left + (part.right - part.left) * min(1.0, max(0.0, share))


def scale_of(moments: Sequence[datetime], left: float, right: float, *, linear: bool = False) -> Scale:
    """The axis from the first of these moments to the last; unless it is linear, idle times are shortened."""
    known = sorted(set(moments)) or [_EPOCH]
    known = known if len(known) > 1 else [known[0], known[0] + timedelta(seconds=1)]
    gaps = [(one, other, False) for one, other in pairwise(known)]
    usual = median_low([other - one for one, other in pairwise(known)])
    if not linear:
        gaps = [(a, b, b - a > max(IDLE, usual * FACTOR)) for a, b, _ in gaps]
    idle = sum(is_idle for *_, is_idle in gaps)
    each = min(BREAK, (right - left) * BREAKS / max(1, idle))
    lively = sum(((b - a) for a, b, is_idle in gaps if not is_idle), timedelta())
    pace = (right - left - each * idle) / (lively / timedelta(seconds=1))
    return Scale(tuple(_parts(gaps, left, each, pace)))


def _parts(
    gaps: Sequence[tuple[datetime, datetime, bool]], left: float, each: float, pace: float
) -> Iterator[Part]:
    """The parts, those that go at the same pace joined."""
    joined: list[tuple[datetime, datetime, bool]] = []
    for began, ended, idle in gaps:
        if joined and not (joined[-1][2] or idle):
            joined[-1] = (joined[-1][0], ended, False)
        else:
            joined.append((began, ended, idle))
    for began, ended, idle in joined:
        right = left + (each if idle else (ended - began) / timedelta(seconds=1) * pace)
        yield Part(began, ended, left, right, idle)
        left = right


def ticks_of(scale: Scale) -> tuple[Tick, ...]:
    """The ticks of an axis: at round times, and where it goes on after an idle one; never too close."""
    lively = [part for part in scale.parts if not part.idle]
    seconds = sum((part.ended - part.began) / timedelta(seconds=1) for part in lively)
    pace = sum(part.right - part.left for part in lively) / seconds
    step = next((step for step in _STEPS if step * pace >= APART), _STEPS[-1])
    found: list[Tick] = []
    day = ""
    for part in lively:
        for moment in (part.began, *_round_times(part, step)):
            x = scale.at(moment)
            if not found or x - found[-1].x >= APART:
                today = f"{moment:%Y-%m-%d}"
                found.append(Tick(x, _clock(moment, step), today if today != day else ""))
                day = today
    return tuple(found)


def _round_times(part: Part, step: float) -> Iterator[datetime]:
    first = int((part.began - _EPOCH) / timedelta(seconds=1) // step) + 1
    while (moment := _EPOCH + timedelta(seconds=first * step)) <= part.ended:
        yield moment
        first += 1


def _clock(moment: datetime, step: float) -> str:
    if step < 1:
        return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"
    return f"{moment:%H:%M:%S}" if step < _MINUTE else f"{moment:%H:%M}"


def lasting(time: timedelta, parts: int = 2) -> str:
    """How long this is, in its largest units, at most so many."""
    left = max(0.0, time / timedelta(seconds=1))
    first = next((index for index, (_, size) in enumerate(_UNITS) if left >= size), len(_UNITS) - 1)
    found: list[str] = []
    for unit, size in _UNITS[first : first + parts]:
        many = int(left / size + 1e-9)
        left -= many * size
        found += [f"{many} {unit}"] if many or not found else []
    return " ".join(found)
