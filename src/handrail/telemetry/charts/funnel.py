"""A funnel: how many come to each stage, and how many of these go no further."""

from dataclasses import dataclass
from typing import Final

from handrail.telemetry.charts.bars import MOST
from handrail.telemetry.charts.frame import (
    EDGE,
    SMALL,
    WIDTH,
    Box,
    Key,
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
from handrail.telemetry.charts.style import WARN
from handrail.telemetry.units import Unit, shown
from handrail.workflows.catalogue import Catalogue

ROW: Final = 32.0
THICK: Final = 22.0


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: how many came to it, and how many of these left there."""

    name: str
    reached: int
    left: int


@dataclass(frozen=True, slots=True)
class Funnel:
    """What is drawn: stages in order, and the words for going on and for leaving."""

    title: str
    stages: tuple[Stage, ...]
    words: tuple[str, str]
    empty: str


def funnel(t: Catalogue, chart: Funnel) -> str:
    """The chart as SVG; every bar begins at the same line, so that lengths can be compared."""
    stages = chart.stages[:MOST]
    if not stages:
        return nothing(chart.title, chart.empty)
    head, top = keys((Key(chart.words[0], "s1"), Key(chart.words[1], WARN)))
    left = EDGE + room(short(one.name) for one in stages) + 8
    right = WIDTH - EDGE - room((_said(t, one) for one in stages), SMALL) - 8
    box = Box(left, top, right, top + ROW * len(stages))
    most = max(one.reached for one in stages)
    parts = [head, line("axis", (left, top), (left, box.bottom))]
    parts += [_stage(t, chart, box, (*place, most)) for place in enumerate(stages)]
    height = box.bottom + 8
    if len(chart.stages) > MOST:
        parts.append(text(EDGE, height + 6, t("chart.below", n=len(chart.stages) - MOST), "note"))
        height += 18
    about = told(t, [(one.name, _told(t, chart, one)) for one in chart.stages])
    return drawn(chart.title, about, height, parts)


def _stage(t: Catalogue, chart: Funnel, box: Box, place: tuple[int, Stage, int]) -> str:
    row, one, most = place
    y, scale = box.top + ROW * row + ROW / 2, box.width / most
    went, gone = (one.reached - one.left) * scale, one.left * scale
    parts = [text(box.left - 8, y, short(one.name), "end")]
    if went:
        parts.append(rect(box.left, y - THICK / 2, (went, THICK), "mark s1"))
    if gone:
        parts.append(rect(box.left + went, y - THICK / 2, (gone, THICK), f"mark {WARN}"))
    parts.append(text(box.left + went + gone + 6, y, _said(t, one), "value"))
    return titled(f"{one.name}: {_told(t, chart, one)}", *parts)


def _said(t: Catalogue, one: Stage) -> str:
    reached = shown(one.reached, Unit.COUNT)
    if not one.left:
        return reached
    rate = shown(100 * one.left / one.reached, Unit.PERCENT)
    return t("chart.left", reached=reached, left=shown(one.left, Unit.COUNT), rate=rate)


def _told(t: Catalogue, chart: Funnel, one: Stage) -> str:
    on, off = chart.words
    gone, went = (shown(count, Unit.COUNT) for count in (one.left, one.reached - one.left))
    return t("chart.reached", reached=shown(one.reached, Unit.COUNT), on=on, went=went, off=off, gone=gone)
