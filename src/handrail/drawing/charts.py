"""Draw bar, stacked, funnel, column and line charts as SVG.

Each chart is a dataclass with its own `draw_…` function. Charts carry no style, not even in attributes: the
page includes `CHART_STYLE`, or `make_standalone` adds it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil
from typing import Final

from handrail.documents.text import escape_for_terminal
from handrail.drawing.style import CHART_STYLE, WARN
from handrail.drawing.tables import Unit, format_cell, format_milliseconds
from handrail.drawing.text import (
    escape_xml,
    format_attributes,
    format_number,
    format_point,
    measure_text,
    shorten_text,
)
from handrail.workflows.templates import MessageCatalog

# --- marks of an axis ---------------------------------------------------------------------------------------


# The maximum number of marks on an axis besides zero.
_MAX_TICKS: Final = 5
_ROUND_STEPS: Final = (1, 2, 5)
_SECOND_MS: Final = 1000
_DAY_MS: Final = 86400 * _SECOND_MS
_TIME_STEPS_MS: Final = (
    *(100, 200, 500),
    *(_SECOND_MS * each for each in (1, 2, 5, 10, 15, 30)),
    *(60 * _SECOND_MS * each for each in (1, 2, 5, 10, 15, 30)),
    *(3600 * _SECOND_MS * each for each in (1, 2, 3, 6, 12)),
)


def place_ticks(largest: float, unit: Unit) -> tuple[float, ...]:
    """Return the marks of an axis: few round numbers from zero. The last is at least `largest`."""
    step = next(step for step in _list_steps(unit) if ceil(largest / step) <= _MAX_TICKS)
    return tuple(round(step * number, 3) for number in range(max(ceil(largest / step), 1) + 1))


def format_tick(value: float, unit: Unit) -> str:
    """Return the text at a mark."""
    if not value:
        return "0"
    match unit:
        case Unit.PERCENT:
            return f"{value:g} %"
        case Unit.MILLISECONDS:
            return format_milliseconds(value)
        case _:
            return format_cell(round(value), Unit.COUNT)


def _list_steps(unit: Unit) -> Iterator[float]:
    """Yield the distances that marks may have, smallest first."""
    match unit:
        case Unit.MILLISECONDS:
            yield from _TIME_STEPS_MS
            yield from (float(_DAY_MS * each * 10**power) for power in count() for each in _ROUND_STEPS)
        case Unit.PERCENT:
            yield from (each * 10.0**power for power in count(-1) for each in _ROUND_STEPS)
        case _:
            yield from (float(each * 10**power) for power in count() for each in _ROUND_STEPS)


# --- what all charts share ----------------------------------------------------------------------------------


CHART_WIDTH: Final = 720.0
_MARGIN: Final = 8.0
_FONT_SIZE: Final = 12.0
_SMALL_FONT_SIZE: Final = 11.0
_KEY_LINE_HEIGHT: Final = 20.0
_AXIS_HEIGHT: Final = 22.0
# The maximum number of letters drawn of a name; its tooltip has the whole name.
_MAX_NAME_LETTERS: Final = 30
# The maximum number of values in the text description of a chart.
_MAX_DESCRIBED_VALUES: Final = 12
# Some fonts are wider than the one that `measure_text` assumes.
_WIDE_FONT_FACTOR: Final = 1.08
_DESCRIPTION_END: Final = "</desc>"


@dataclass(frozen=True, slots=True)
class LegendKey:
    """A legend entry: a name and the CSS class that it explains."""

    name: str
    look: str


@dataclass(frozen=True, slots=True)
class _PlotBox:
    """The area in which values are drawn."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top


def make_standalone(chart: str) -> str:
    """Add the style for light and dark to a chart, so that it can be a file of its own."""
    head, about_ends, rest = chart.partition(_DESCRIPTION_END)
    sheet = f'<style>{CHART_STYLE}</style><rect class="sheet" width="100%" height="100%"/>'
    return f"{head}{about_ends}{sheet}{rest}"


def _draw_chart(title: str, about: str, height: float, parts: Iterable[str]) -> str:
    """Return a chart as well-formed SVG without scripts, links or ids, with all text escaped."""
    width, high = format_number(CHART_WIDTH), format_number(height)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img"'
        f' viewBox="0 0 {width} {high}" width="{width}" height="{high}"><title>{escape_xml(title)}</title>'
        f"<desc>{escape_xml(about)}{_DESCRIPTION_END}{''.join(parts)}</svg>"
    )


def _draw_empty_chart(title: str, why: str) -> str:
    foot = _draw_line("axis", (_MARGIN, 48), (CHART_WIDTH - _MARGIN, 48))
    return _draw_chart(title, why, 64, (_draw_text(CHART_WIDTH / 2, 26, why, "empty mid"), foot))


def _describe_values(t: MessageCatalog, values: Sequence[tuple[str, str]]) -> str:
    """Return the first values as text, for the description of a chart."""
    lines = [f"{name}: {value}" for name, value in values[:_MAX_DESCRIBED_VALUES]]
    if len(values) > _MAX_DESCRIBED_VALUES:
        lines.append(t("chart.more", n=len(values) - _MAX_DESCRIBED_VALUES))
    return "; ".join(lines) + "."


def _draw_text(x: float, y: float, words: str, look: str) -> str:
    """Return a line of text; `y` is its vertical middle."""
    return f'<text class="{look}" {format_attributes(x=x, y=y)} dy="0.35em">{escape_xml(words)}</text>'


def _draw_rect(x: float, y: float, size: tuple[float, float], look: str) -> str:
    """Return a bar with slightly round corners. It is at least 1 wide and high, so that it stays visible."""
    width, height = (max(side, 1.0) for side in size)
    corner = min(2.0, width / 2, height / 2)
    return f'<rect class="{look}" {format_attributes(x=x, y=y, width=width, height=height, rx=corner)}/>'


def _draw_line(look: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    return f'<line class="{look}" {format_attributes(x1=start[0], y1=start[1], x2=end[0], y2=end[1])}/>'


def _group_with_title(title: str, *parts: str) -> str:
    """Group parts of a chart under one tooltip."""
    return f"<g><title>{escape_xml(title)}</title>{''.join(parts)}</g>"


def _shorten_name(name: str) -> str:
    """Return a name as it is drawn: hidden characters are escaped before the name is cut."""
    return shorten_text(escape_for_terminal(name), _MAX_NAME_LETTERS)


def _measure_widest(words: Iterable[str], size: float = _SMALL_FONT_SIZE) -> float:
    return max(measure_text(each, size * _WIDE_FONT_FACTOR) for each in words)


def _draw_legend(keys: Sequence[LegendKey]) -> tuple[str, float]:
    """Return the legend, in as many lines as needed, and its height; a small gap if there are no entries."""
    parts, x, y = [], _MARGIN, _KEY_LINE_HEIGHT / 2
    for key in keys:
        name = _shorten_name(key.name)
        width = _measure_widest((name,)) + 30
        if x > _MARGIN and x + width > CHART_WIDTH - _MARGIN:
            x, y = _MARGIN, y + _KEY_LINE_HEIGHT
        parts += [_draw_rect(x, y - 5, (10, 10), f"mark {key.look}"), _draw_text(x + 15, y, name, "key")]
        x += width
    return "".join(parts), y + _KEY_LINE_HEIGHT / 2 + 4 if keys else 4.0


# --- charts with a row for each value -----------------------------------------------------------------------


_ROW_HEIGHT: Final = 26.0
_BAR_THICKNESS: Final = 15.0
# The maximum number of rows drawn; the table below a chart has them all.
_MAX_ROWS: Final = 16


def _place_rows(
    top: float, names: Sequence[str], values: Iterable[str], height: float, gap: float
) -> _PlotBox:
    """Return the area between the names on the left and the values, with a gap, on the right."""
    left = _MARGIN + _measure_widest(map(_shorten_name, names), _FONT_SIZE) + 8
    right = CHART_WIDTH - _MARGIN - _measure_widest(values) - gap
    return _PlotBox(left, top, right, top + height * len(names))


def _draw_horizontal_axis(box: _PlotBox, marks: Sequence[float], unit: Unit) -> str:
    """Return the axis below a box whose values go to the right, with a grid line for each mark."""
    parts = []
    for mark in marks:
        x = box.left + box.width * mark / marks[-1]
        parts.append(_draw_line("grid" if mark else "axis", (x, box.top), (x, box.bottom)))
        parts.append(_draw_text(x, box.bottom + 12, format_tick(mark, unit), "tick mid"))
    return "".join(parts)


def _finish_rows(
    t: MessageCatalog, title: str, height: float, parts: list[str], rows: Sequence[tuple[str, str]]
) -> str:
    """Return the chart with a note on the rows that are not drawn. `rows` are all names with their values."""
    if len(rows) > _MAX_ROWS:
        parts.append(_draw_text(_MARGIN, height + 6, t("chart.below", n=len(rows) - _MAX_ROWS), "note"))
        height += 18
    return _draw_chart(title, _describe_values(t, rows), height, parts)


# --- bar charts ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bar:
    """A value and its name. `reach` is drawn as a thin line up to that value, `point` as a diamond at it."""

    name: str
    value: float
    look: str = "s1"
    reach: float | None = None
    point: float | None = None


@dataclass(frozen=True, slots=True)
class BarChart:
    """A bar chart: bars in order, their unit, and the text to show if there are none.

    `words` name the value, the reach and the point in the legend, if bars have these.
    """

    title: str
    unit: Unit
    bars: tuple[Bar, ...]
    empty: str
    words: tuple[str, str, str] | None = None


def draw_bar_chart(t: MessageCatalog, chart: BarChart) -> str:
    """Return the chart as SVG."""
    bars = chart.bars[:_MAX_ROWS]
    if not bars:
        return _draw_empty_chart(chart.title, chart.empty)
    head, top = _draw_bars_legend(chart)
    marks = place_ticks(max(max(bar.value, bar.reach or 0, bar.point or 0) for bar in bars), chart.unit)
    values = [_format_bar_values(chart, bar) for bar in bars]
    box = _place_rows(top, [bar.name for bar in bars], values, _ROW_HEIGHT, 12)
    scale = box.width / marks[-1]
    parts = [head, _draw_horizontal_axis(box, marks, chart.unit)]
    for row, bar in enumerate(bars):
        y, end = box.top + _ROW_HEIGHT * row + _ROW_HEIGHT / 2, box.left + bar.value * scale
        drawn = [_draw_text(box.left - 8, y, _shorten_name(bar.name), "end")]
        if bar.value:
            size = (bar.value * scale, _BAR_THICKNESS)
            drawn.append(_draw_rect(box.left, y - _BAR_THICKNESS / 2, size, f"mark {bar.look}"))
        if bar.reach is not None:
            x = box.left + bar.reach * scale
            drawn += [_draw_line("reach", (end, y), (x, y)), _draw_line("reach", (x, y - 5), (x, y + 5))]
        if bar.point is not None:
            drawn.append(_draw_diamond(box.left + bar.point * scale, y))
        drawn.append(_draw_text(box.right + 10 if chart.words else end + 6, y, values[row], "value"))
        parts.append(_group_with_title(f"{bar.name}: {_describe_bar(chart, bar)}", *drawn))
    rows = [(bar.name, _describe_bar(chart, bar)) for bar in chart.bars]
    return _finish_rows(t, chart.title, box.bottom + _AXIS_HEIGHT, parts, rows)


def _draw_bars_legend(chart: BarChart) -> tuple[str, float]:
    if chart.words is None:
        return _draw_legend(())
    value, reach, point = chart.words
    row, top = _draw_legend((LegendKey(value, "s1"),))
    x = _MARGIN + _measure_widest((_shorten_name(value),)) + 34
    row += _draw_line("reach", (x, 10), (x + 16, 10)) + _draw_text(x + 21, 10, reach, "key")
    x += _measure_widest((reach,)) + 38
    return row + _draw_diamond(x, 10) + _draw_text(x + 9, 10, point, "key"), top


def _draw_diamond(x: float, y: float) -> str:
    return f'<path class="point" d="M{format_point(x, y - 4.5)}l4.5 4.5l-4.5 4.5l-4.5 -4.5z"/>'


def _format_bar_values(chart: BarChart, bar: Bar) -> str:
    value = format_cell(bar.value, chart.unit)
    return value if bar.reach is None else f"{value} / {format_cell(bar.reach, chart.unit)}"


def _describe_bar(chart: BarChart, bar: Bar) -> str:
    if chart.words is None:
        return format_cell(bar.value, chart.unit)
    values = zip(chart.words, (bar.value, bar.reach, bar.point), strict=True)
    return ", ".join(f"{word} {format_cell(each, chart.unit)}" for word, each in values)


# --- stacked charts -----------------------------------------------------------------------------------------


_STACK_THICKNESS: Final = 17.0
_STACK_GAP: Final = 1.5
_PERCENT_MARKS: Final = (0.0, 25.0, 50.0, 75.0, 100.0)


@dataclass(frozen=True, slots=True)
class Stack:
    """A stacked bar: its name, and the size of each part, in the order of the chart's keys."""

    name: str
    parts: tuple[int, ...]

    @property
    def total(self) -> int:
        """The sum of all parts."""
        return sum(self.parts)


@dataclass(frozen=True, slots=True)
class StackedChart:
    """A chart of stacked bars in order, none of them zero; `keys` name the parts."""

    title: str
    keys: tuple[LegendKey, ...]
    stacks: tuple[Stack, ...]
    empty: str


def draw_stacked_chart(t: MessageCatalog, chart: StackedChart) -> str:
    """Return the chart as SVG. Every bar has the full width, so that shares can be compared."""
    stacks = chart.stacks[:_MAX_ROWS]
    if not stacks:
        return _draw_empty_chart(chart.title, chart.empty)
    used = [index for index in range(len(chart.keys)) if any(stack.parts[index] for stack in chart.stacks)]
    head, top = _draw_legend([chart.keys[index] for index in used])
    totals = [_format_count(stack.total) for stack in stacks]
    box = _place_rows(top, [stack.name for stack in stacks], totals, _ROW_HEIGHT, 12)
    parts = [head, _draw_horizontal_axis(box, _PERCENT_MARKS, Unit.PERCENT)]
    for row, stack in enumerate(stacks):
        x, y = box.left, box.top + _ROW_HEIGHT * row + _ROW_HEIGHT / 2
        parts.append(_draw_text(box.left - 8, y, _shorten_name(stack.name), "end"))
        for key, runs in zip(chart.keys, stack.parts, strict=True):
            if runs:
                wide, label = box.width * runs / stack.total, _format_count(runs)
                size = (wide - _STACK_GAP, _STACK_THICKNESS)
                bar = _draw_rect(x, y - _STACK_THICKNESS / 2, size, f"mark {key.look}")
                fits = _measure_widest((label,)) + 6 <= wide
                inside = _draw_text(x + wide / 2, y, label, "inside mid") if fits else ""
                title = f"{stack.name}: {_format_stack_part(key, runs, stack)}"
                parts.append(_group_with_title(title, bar, inside))
                x += wide
        parts.append(_draw_text(box.right + 10, y, totals[row], "value"))
    rows = [(stack.name, _describe_stack(chart, stack)) for stack in chart.stacks]
    return _finish_rows(t, chart.title, box.bottom + _AXIS_HEIGHT, parts, rows)


def _format_stack_part(key: LegendKey, count: int, stack: Stack) -> str:
    share = format_cell(100 * count / stack.total, Unit.PERCENT)
    return f"{key.name} {_format_count(count)} ({share})"


def _describe_stack(chart: StackedChart, stack: Stack) -> str:
    parts = zip(chart.keys, stack.parts, strict=True)
    return ", ".join(_format_stack_part(key, runs, stack) for key, runs in parts if runs)


def _format_count(value: int) -> str:
    return format_cell(value, Unit.COUNT)


# --- funnel charts ------------------------------------------------------------------------------------------


_STAGE_HEIGHT: Final = 32.0
_STAGE_THICKNESS: Final = 22.0


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a funnel: how many reached it, and how many of these left there."""

    name: str
    reached: int
    left: int


@dataclass(frozen=True, slots=True)
class FunnelChart:
    """A funnel: its stages in order, and the words for going on and for leaving."""

    title: str
    stages: tuple[Stage, ...]
    words: tuple[str, str]
    empty: str


def draw_funnel_chart(t: MessageCatalog, chart: FunnelChart) -> str:
    """Return the chart as SVG. All bars start at the same line, so that lengths can be compared."""
    stages = chart.stages[:_MAX_ROWS]
    if not stages:
        return _draw_empty_chart(chart.title, chart.empty)
    head, top = _draw_legend((LegendKey(chart.words[0], "s1"), LegendKey(chart.words[1], WARN)))
    values = [_format_stage_values(t, stage) for stage in stages]
    box = _place_rows(top, [stage.name for stage in stages], values, _STAGE_HEIGHT, 8)
    scale = box.width / max(stage.reached for stage in stages)
    parts = [head, _draw_line("axis", (box.left, top), (box.left, box.bottom))]
    for row, stage in enumerate(stages):
        y = box.top + _STAGE_HEIGHT * row + _STAGE_HEIGHT / 2
        x, drawn = box.left, [_draw_text(box.left - 8, y, _shorten_name(stage.name), "end")]
        for number, look in ((stage.reached - stage.left, "s1"), (stage.left, WARN)):
            if number:
                size = (number * scale, _STAGE_THICKNESS)
                drawn.append(_draw_rect(x, y - _STAGE_THICKNESS / 2, size, f"mark {look}"))
            x += number * scale
        drawn.append(_draw_text(x + 6, y, values[row], "value"))
        parts.append(_group_with_title(f"{stage.name}: {_describe_stage(t, chart, stage)}", *drawn))
    rows = [(stage.name, _describe_stage(t, chart, stage)) for stage in chart.stages]
    return _finish_rows(t, chart.title, box.bottom + 8, parts, rows)


def _format_stage_values(t: MessageCatalog, stage: Stage) -> str:
    reached = _format_count(stage.reached)
    if not stage.left:
        return reached
    rate = format_cell(100 * stage.left / stage.reached, Unit.PERCENT)
    return t("chart.left", reached=reached, left=_format_count(stage.left), rate=rate)


def _describe_stage(t: MessageCatalog, chart: FunnelChart, stage: Stage) -> str:
    on, off = chart.words
    reached, gone, went = map(_format_count, (stage.reached, stage.left, stage.reached - stage.left))
    return t("chart.reached", reached=reached, on=on, went=went, off=off, gone=gone)


# --- column and line charts ---------------------------------------------------------------------------------


_PLOT_HEIGHT: Final = 150.0
_MAX_COLUMN_WIDTH: Final = 46.0
# The maximum number of slots for which a line chart draws a dot at each value.
_MAX_DOTS: Final = 40


@dataclass(frozen=True, slots=True)
class Slot:
    """A position on the horizontal axis: its name, and the short label below it, or none."""

    name: str
    word: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """A data series: its name, its CSS class, and a value for each slot."""

    name: str
    look: str
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SeriesChart:
    """A chart of series over slots; `empty` is the text to show if every value is zero."""

    title: str
    slots: tuple[Slot, ...]
    series: tuple[Series, ...]
    empty: str

    @property
    def has_values(self) -> bool:
        """True if there is a value other than zero."""
        return any(any(series.values) for series in self.series)


def draw_column_chart(t: MessageCatalog, chart: SeriesChart) -> str:
    """Return a column for each slot, with the series stacked in it, the first at the bottom."""
    if not chart.has_values:
        return _draw_empty_chart(chart.title, chart.empty)
    sums = [sum(values) for values in zip(*(series.values for series in chart.series), strict=True)]
    head, box, end = _draw_frame(chart, max(sums))
    step = box.width / len(chart.slots)
    wide = min(step * 0.8, _MAX_COLUMN_WIDTH) if step > 3 else step
    parts = [head]
    for index, total in enumerate(sums):
        x, y = box.left + step * index + (step - wide) / 2, box.bottom
        for series in chart.series:
            if series.values[index]:
                high = box.height * series.values[index] / end
                y -= high
                parts.append(_draw_rect(x, y, (wide, high), f"mark {series.look}"))
        label = _format_count(total)
        if total and len(chart.slots) * (_measure_widest((label,)) + 4) <= box.width:
            y = box.bottom - box.height * total / end
            parts.append(_draw_text(x + wide / 2, y - 8, label, "value mid"))
    return _finish_slots(t, chart, box, parts, [_format_count(total) if total else "" for total in sums])


def draw_line_chart(t: MessageCatalog, chart: SeriesChart) -> str:
    """Return a line for each series; the highest value is written at its peak."""
    if not chart.has_values:
        return _draw_empty_chart(chart.title, chart.empty)
    highest = max(max(series.values) for series in chart.series)
    head, box, end = _draw_frame(chart, highest)
    step = box.width / len(chart.slots)
    xs = [box.left + step * (index + 0.5) for index in range(len(chart.slots))]
    parts = [head]
    for series in chart.series:
        points = [(x, box.bottom - box.height * y / end) for x, y in zip(xs, series.values, strict=True)]
        path = "L".join(format_point(*point) for point in points)
        foot = f"L{format_point(xs[-1], box.bottom)}L{format_point(xs[0], box.bottom)}z"
        parts.append(f'<path class="area {series.look}" d="M{path}{foot}"/>')
        parts.append(f'<path class="line {series.look}" d="M{path}"/>')
        for (x, y), value in zip(points, series.values, strict=True) if len(points) <= _MAX_DOTS else ():
            if value:
                parts.append(f'<circle class="mark {series.look}" {format_attributes(cx=x, cy=y)} r="2.5"/>')
    peak = next(series.values.index(highest) for series in chart.series if highest in series.values)
    x, y = xs[peak], box.bottom - box.height * highest / end
    x = min(max(x, box.left + 12), box.right - 12)
    parts.append(_draw_text(x, y - 10, _format_count(highest), "value mid"))
    values = zip(*(series.values for series in chart.series), strict=True)
    about = [_describe_slot(chart, index) if any(each) else "" for index, each in enumerate(values)]
    return _finish_slots(t, chart, box, parts, about)


def _draw_frame(chart: SeriesChart, largest: int) -> tuple[str, _PlotBox, float]:
    """Return the legend and the vertical axis with its grid lines, the plot area, and the last mark."""
    keys = [LegendKey(series.name, series.look) for series in chart.series]
    head, top = _draw_legend(keys if len(keys) > 1 else ())
    marks = place_ticks(largest, Unit.COUNT)
    left = _MARGIN + _measure_widest(format_tick(mark, Unit.COUNT) for mark in marks) + 8
    box = _PlotBox(left, top + 16, CHART_WIDTH - _MARGIN, top + 16 + _PLOT_HEIGHT)
    for mark in marks:
        y = box.bottom - box.height * mark / marks[-1]
        head += _draw_line("grid" if mark else "axis", (box.left, y), (box.right, y))
        head += _draw_text(box.left - 6, y, format_tick(mark, Unit.COUNT), "tick end")
    return head, box, marks[-1]


def _finish_slots(
    t: MessageCatalog, chart: SeriesChart, box: _PlotBox, parts: list[str], values: Sequence[str]
) -> str:
    """Return the chart with labels below it, a tooltip for each slot, and the text description.

    A label that would touch the previous one is left out.
    """
    step, taken = box.width / len(chart.slots), 0.0
    for index, word in enumerate(slot.word for slot in chart.slots):
        half = _measure_widest((word,)) / 2
        middle = min(max(box.left + step * (index + 0.5), half), CHART_WIDTH - half)
        if word and middle - half >= taken:
            parts.append(_draw_text(middle, box.bottom + 12, word, "tick mid"))
            taken = middle + half + 6
    for index, slot in enumerate(chart.slots):
        hit = _draw_rect(box.left + step * index, box.top, (step, box.height), "hit")
        parts.append(_group_with_title(f"{slot.name}: {_describe_slot(chart, index)}", hit))
    rows = [(slot.name, each) for slot, each in zip(chart.slots, values, strict=True) if each]
    return _draw_chart(chart.title, _describe_values(t, rows), box.bottom + _AXIS_HEIGHT, parts)


def _describe_slot(chart: SeriesChart, index: int) -> str:
    return ", ".join(f"{series.name} {_format_count(series.values[index])}" for series in chart.series)
