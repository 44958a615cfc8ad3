"""Horizontal bars: one value for each name, perhaps with how far others reach and where the mean lies."""

from dataclasses import dataclass
from typing import Final

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
    line,
    nothing,
    rect,
    room,
    short,
    text,
    titled,
    told,
)
from handrail.telemetry.charts.ticks import ticks
from handrail.telemetry.units import Unit, shown
from handrail.workflows.catalogue import Catalogue
from handrail.workflows.draw.escape import number

ROW: Final = 26.0
THICK: Final = 15.0
MOST: Final = 16
"""How many bars are drawn; the table has all."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A value and its name; `reach` is drawn as a thin line to there, `point` as a mark at it."""

    name: str
    value: float
    look: str = "s1"
    reach: float | None = None
    point: float | None = None

    @property
    def largest(self) -> float:
        """The largest of its values."""
        return max(self.value, self.reach or 0, self.point or 0)


@dataclass(frozen=True, slots=True)
class Bars:
    """What is drawn: bars in order, what they count, and why there is none, if there is none.

    `words` are for the value, the reach and the point, where bars have these.
    """

    title: str
    unit: Unit
    bars: tuple[Bar, ...]
    empty: str
    words: tuple[str, str, str] | None = None


def bars(t: Catalogue, chart: Bars) -> str:
    """The chart as SVG."""
    shown_bars = chart.bars[:MOST]
    if not shown_bars:
        return nothing(chart.title, chart.empty)
    head, top = _head(chart)
    marks = ticks(max(bar.largest for bar in shown_bars), chart.unit)
    left = EDGE + room(short(bar.name) for bar in shown_bars) + 8
    right = WIDTH - EDGE - room((_said(chart, bar) for bar in shown_bars), SMALL) - 12
    box = Box(left, top, right, top + ROW * len(shown_bars))
    parts = [head, along(box, marks, chart.unit)]
    parts += [_bar(chart, box, place, marks[-1]) for place in enumerate(shown_bars)]
    height = box.bottom + AXIS_LINE
    if len(chart.bars) > MOST:
        parts.append(text(EDGE, height + 6, t("chart.below", n=len(chart.bars) - MOST), "note"))
        height += 18
    about = told(t, [(bar.name, _told(chart, bar)) for bar in chart.bars])
    return drawn(chart.title, about, height, parts)


def _head(chart: Bars) -> tuple[str, float]:
    if chart.words is None:
        return keys(())
    value, reach, point = chart.words
    row, top = keys((Key(value, "s1"),))
    x = EDGE + room((short(value),), SMALL) + 34
    row += line("reach", (x, 10), (x + 16, 10)) + text(x + 21, 10, reach, "key")
    x += room((reach,), SMALL) + 38
    return row + _diamond(x, 10) + text(x + 9, 10, point, "key"), top


def _bar(chart: Bars, box: Box, place: tuple[int, Bar], end: float) -> str:
    row, bar = place
    y = box.top + ROW * row + ROW / 2
    scale = box.width / end
    parts = [
        text(box.left - 8, y, short(bar.name), "end"),
        rect(box.left, y - THICK / 2, (bar.value * scale, THICK), f"mark {bar.look}") if bar.value else "",
    ]
    if bar.reach is not None:
        x = box.left + bar.reach * scale
        parts += [
            line("reach", (box.left + bar.value * scale, y), (x, y)),
            line("reach", (x, y - 5), (x, y + 5)),
        ]
    if bar.point is not None:
        parts.append(_diamond(box.left + bar.point * scale, y))
    x = box.right + 10 if chart.words else box.left + bar.value * scale + 6
    return titled(f"{bar.name}: {_told(chart, bar)}", *parts, text(x, y, _said(chart, bar), "value"))


def _diamond(x: float, y: float) -> str:
    return f'<path class="point" d="M{number(x)} {number(y - 4.5)}l4.5 4.5l-4.5 4.5l-4.5 -4.5z"/>'


def _said(chart: Bars, bar: Bar) -> str:
    value = shown(bar.value, chart.unit)
    return value if bar.reach is None else f"{value} / {shown(bar.reach, chart.unit)}"


def _told(chart: Bars, bar: Bar) -> str:
    value = shown(bar.value, chart.unit)
    if chart.words is None:
        return value
    values = zip(chart.words, (bar.value, bar.reach, bar.point), strict=True)
    return ", ".join(f"{word} {shown(each, chart.unit)}" for word, each in values)
