"""Stacked bars: how the whole of each name is made up of parts, all bars of the same length."""

from dataclasses import dataclass
from typing import Final

from handrail.telemetry.charts.bars import MOST, ROW
from handrail.telemetry.charts.frame import (
    AXIS_LINE,
    EDGE,
    SMALL,
    WIDTH,
    Box,
    Key,
    along,
    drawn,
    keys,
    nothing,
    rect,
    room,
    short,
    text,
    titled,
    told,
)
from handrail.telemetry.units import Unit, shown
from handrail.workflows.catalogue import Catalogue

THICK: Final = 17.0
GAP: Final = 1.5
_MARKS: Final = (0.0, 25.0, 50.0, 75.0, 100.0)


@dataclass(frozen=True, slots=True)
class Stack:
    """A name, and how much each part has; the parts are those of the chart, in order."""

    name: str
    parts: tuple[int, ...]

    @property
    def whole(self) -> int:
        """All parts."""
        return sum(self.parts)


@dataclass(frozen=True, slots=True)
class Stacked:
    """What is drawn: bars in order, none of them without anything, and what each part is."""

    title: str
    keys: tuple[Key, ...]
    stacks: tuple[Stack, ...]
    empty: str


def stacked(t: Catalogue, chart: Stacked) -> str:
    """The chart as SVG."""
    shown_stacks = chart.stacks[:MOST]
    if not shown_stacks:
        return nothing(chart.title, chart.empty)
    used = [index for index in range(len(chart.keys)) if any(one.parts[index] for one in chart.stacks)]
    head, top = keys([chart.keys[index] for index in used])
    left = EDGE + room(short(one.name) for one in shown_stacks) + 8
    right = WIDTH - EDGE - room((_whole(one) for one in shown_stacks), SMALL) - 12
    box = Box(left, top, right, top + ROW * len(shown_stacks))
    parts = [head, along(box, _MARKS, Unit.PERCENT)]
    parts += [_stack(chart, box, place) for place in enumerate(shown_stacks)]
    height = box.bottom + AXIS_LINE
    if len(chart.stacks) > MOST:
        parts.append(text(EDGE, height + 6, t("chart.below", n=len(chart.stacks) - MOST), "note"))
        height += 18
    about = told(t, [(one.name, _told(chart, one)) for one in chart.stacks])
    return drawn(chart.title, about, height, parts)


def _stack(chart: Stacked, box: Box, place: tuple[int, Stack]) -> str:
    row, one = place
    y, x = box.top + ROW * row + ROW / 2, box.left
    parts = [text(box.left - 8, y, short(one.name), "end")]
    for key, count in zip(chart.keys, one.parts, strict=True):
        if count:
            wide, said = box.width * count / one.whole, shown(count, Unit.COUNT)
            drawn_part = rect(x, y - THICK / 2, (wide - GAP, THICK), f"mark {key.look}")
            fits = room((said,), SMALL) + 6 <= wide
            inside = text(x + wide / 2, y, said, "inside mid") if fits else ""
            parts.append(titled(f"{one.name}: {_part(key, count, one)}", drawn_part, inside))
            x += wide
    return "".join([*parts, text(box.right + 10, y, _whole(one), "value")])


def _whole(one: Stack) -> str:
    return shown(one.whole, Unit.COUNT)


def _part(key: Key, count: int, one: Stack) -> str:
    return f"{key.name} {shown(count, Unit.COUNT)} ({shown(100 * count / one.whole, Unit.PERCENT)})"


def _told(chart: Stacked, one: Stack) -> str:
    parts = zip(chart.keys, one.parts, strict=True)
    return ", ".join(_part(key, count, one) for key, count in parts if count)
