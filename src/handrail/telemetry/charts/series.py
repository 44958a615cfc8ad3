"""Series: values in a row of slots, such as hours, days or spans of time. Drawn as columns, or as lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from handrail.telemetry.charts.frame import (
    AXIS_LINE,
    EDGE,
    SMALL,
    WIDTH,
    Box,
    Key,
    beneath,
    drawn,
    keys,
    nothing,
    rect,
    room,
    text,
    titled,
    told,
    upward,
)
from handrail.telemetry.charts.ticks import tick, ticks
from handrail.telemetry.units import Unit, shown
from handrail.workflows.catalogue import Catalogue
from handrail.workflows.draw.escape import number

HEIGHT: Final = 150.0
WIDEST: Final = 46.0
DOTS: Final = 40
"""With how many slots at most each value of a line has a dot."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in the row: its name, and the short word under it, or none."""

    name: str
    word: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """What is counted, its look, and a value for each slot."""

    name: str
    look: str
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """What is drawn: slots, series over them, and why there is none, if every value is zero."""

    title: str
    slots: tuple[Slot, ...]
    series: tuple[Series, ...]
    empty: str

    @property
    def anything(self) -> bool:
        """True if there is a value to draw."""
        return any(any(one.values) for one in self.series)

    def each(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The values of all series in each slot, by the number of the slot."""
        return enumerate(zip(*(one.values for one in self.series), strict=True))


def columns(t: Catalogue, row: Row) -> str:
    """The series stacked on each other in a column for each slot, the first at the foot."""
    if not row.anything:
        return nothing(row.title, row.empty)
    sums = [sum(values) for _, values in row.each()]
    head, box, marks = _ground(row, max(sums))
    step = box.width / len(row.slots)
    wide = min(step * 0.8, WIDEST) if step > 3 else step
    parts = [head]
    for index, total in enumerate(sums):
        x = box.left + step * index + (step - wide) / 2
        parts += _column(row, box, (index, marks[-1]), (x, wide))
        if total and len(row.slots) * (room((_count(total),), SMALL) + 4) <= box.width:
            y = box.bottom - box.height * total / marks[-1]
            parts.append(text(x + wide / 2, y - 8, _count(total), "value mid"))
    return _finished(t, row, box, parts, [_count(total) if total else "" for total in sums])


def lines(t: Catalogue, row: Row) -> str:
    """A line for each series; where it is highest, it says how high."""
    if not row.anything:
        return nothing(row.title, row.empty)
    head, box, marks = _ground(row, max(max(one.values) for one in row.series))
    parts = [head]
    for one in row.series:
        points = _points(box, one.values, marks[-1])
        parts += _line(one, points, box)
    peak = max(row.series, key=lambda one: max(one.values))
    x, y = _points(box, peak.values, marks[-1])[peak.values.index(max(peak.values))]
    parts.append(
        text(min(max(x, box.left + 12), box.right - 12), y - 10, _count(max(peak.values)), "value mid")
    )
    return _finished(
        t, row, box, parts, [_values(row, index) if any(each) else "" for index, each in row.each()]
    )


def _ground(row: Row, largest: int) -> tuple[str, Box, tuple[float, ...]]:
    """The keys and the axis of values, where values are drawn, and the marks."""
    many = len(row.series) > 1
    head, top = keys([Key(one.name, one.look) for one in row.series] if many else ())
    marks = ticks(largest, Unit.COUNT)
    left = EDGE + room((tick(mark, Unit.COUNT) for mark in marks), SMALL) + 8
    box = Box(left, top + 16, WIDTH - EDGE, top + 16 + HEIGHT)
    return head + upward(box, marks, Unit.COUNT), box, marks


def _finished(t: Catalogue, row: Row, box: Box, parts: list[str], said: Sequence[str]) -> str:
    """The chart with words under it, what each slot tells when it is pointed at, and what is said of all."""
    step = box.width / len(row.slots)
    words = ((box.left + step * (index + 0.5), slot.word) for index, slot in enumerate(row.slots))
    places = [
        titled(
            f"{slot.name}: {_values(row, index)}",
            rect(box.left + step * index, box.top, (step, box.height), "hit"),
        )
        for index, slot in enumerate(row.slots)
    ]
    about = told(t, [(slot.name, each) for slot, each in zip(row.slots, said, strict=True) if each])
    drawn_parts = (*parts, beneath(box, words), *places)
    return drawn(row.title, about, box.bottom + AXIS_LINE, drawn_parts)


def _column(row: Row, box: Box, of: tuple[int, float], at: tuple[float, float]) -> Iterator[str]:
    (index, end), (x, wide), y = of, at, box.bottom
    for one in row.series:
        if one.values[index]:
            high = box.height * one.values[index] / end
            y -= high
            yield rect(x, y, (wide, high), f"mark {one.look}")


def _line(one: Series, points: Sequence[tuple[float, float]], box: Box) -> Iterator[str]:
    path = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    (first, _), (last, _) = points[0], points[-1]
    foot = f"L{number(last)} {number(box.bottom)}L{number(first)} {number(box.bottom)}z"
    yield f'<path class="area {one.look}" d="M{path}{foot}"/><path class="line {one.look}" d="M{path}"/>'
    if len(points) <= DOTS:
        yield from (
            _dot(at, f"mark {one.look}") for at, value in zip(points, one.values, strict=True) if value
        )


def _dot(at: tuple[float, float], look: str) -> str:
    return f'<circle class="{look}" cx="{number(at[0])}" cy="{number(at[1])}" r="2.5"/>'


def _points(box: Box, values: Sequence[int], end: float) -> list[tuple[float, float]]:
    """Where each value is drawn: in the middle of its slot."""
    step = box.width / len(values)
    return [
        (box.left + step * (index + 0.5), box.bottom - box.height * value / end)
        for index, value in enumerate(values)
    ]


def _values(row: Row, index: int) -> str:
    return ", ".join(f"{one.name} {_count(one.values[index])}" for one in row.series)


def _count(value: int) -> str:
    return shown(value, Unit.COUNT)
