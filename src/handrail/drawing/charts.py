"""Draw bar, stacked, funnel, column and line charts as SVG.

Each chart is a dataclass (`BarChart`, `StackedChart`, `FunnelChart`, `SeriesChart`) with its own `draw_…`
function. Axes, legends and empty charts are shared. Charts carry no style: the page includes `CHART_STYLE`,
or `make_standalone` adds it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil
from typing import Final

from handrail.documents.text import escape_for_terminal
from handrail.drawing.style import CHART_STYLE, WARN
from handrail.drawing.tables import Unit, format_cell, format_milliseconds
from handrail.drawing.text import escape_xml, format_number, measure_text, shorten_text
from handrail.workflows.templates import MessageCatalog

# --- marks of an axis ---------------------------------------------------------------------------------------


# The maximum number of marks on an axis besides zero.
MAX_TICKS: Final = 5
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
    step = next(step for step in _list_steps(unit) if ceil(largest / step) <= MAX_TICKS)
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
CHART_MARGIN: Final = 8.0
FONT_SIZE: Final = 12.0
SMALL_FONT_SIZE: Final = 11.0
KEY_LINE_HEIGHT: Final = 20.0
AXIS_HEIGHT: Final = 22.0
# The maximum number of letters drawn of a name; its tooltip has the whole name.
MAX_NAME_LETTERS: Final = 30
# The maximum number of values in the text description of a chart.
MAX_DESCRIBED_VALUES: Final = 12
_WIDE_FONT_FACTOR: Final = 1.08
_DESCRIPTION_END: Final = "</desc>"


@dataclass(frozen=True, slots=True)
class LegendKey:
    """A legend entry: a name and the CSS class that it explains."""

    name: str
    look: str


@dataclass(frozen=True, slots=True)
class PlotBox:
    """The area in which values are drawn."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """The width of the area."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """The height of the area."""
        return self.bottom - self.top


def draw_chart(title: str, about: str, height: float, parts: Iterable[str]) -> str:
    """Return a chart as well-formed SVG without scripts, links or ids, with all text escaped.

    It has no styles, not even in attributes: the page that embeds it includes `CHART_STYLE`.
    """
    width, high = format_number(CHART_WIDTH), format_number(height)
    head = '<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img"'
    box = f' viewBox="0 0 {width} {high}" width="{width}" height="{high}">'
    return (
        f"{head}{box}<title>{escape_xml(title)}</title><desc>"
        f"{escape_xml(about)}{_DESCRIPTION_END}{''.join(parts)}</svg>"
    )


def make_standalone(chart: str) -> str:
    """Add the style for light and dark to a chart, so that it can be a file of its own."""
    head, about_ends, rest = chart.partition(_DESCRIPTION_END)
    sheet = f'<style>{CHART_STYLE}</style><rect class="sheet" width="100%" height="100%"/>'
    return f"{head}{about_ends}{sheet}{rest}"


def draw_empty_chart(title: str, why: str) -> str:
    """Return a chart without values that says why there are none."""
    foot = draw_line("axis", (CHART_MARGIN, 48), (CHART_WIDTH - CHART_MARGIN, 48))
    return draw_chart(title, why, 64, (draw_text(CHART_WIDTH / 2, 26, why, "empty mid"), foot))


def describe_values(t: MessageCatalog, values: Sequence[tuple[str, str]]) -> str:
    """Return the first values as text, for the description of a chart."""
    first = "; ".join(f"{name}: {value}" for name, value in values[:MAX_DESCRIBED_VALUES])
    more = (
        f"; {t('chart.more', n=len(values) - MAX_DESCRIBED_VALUES)}"
        if len(values) > MAX_DESCRIBED_VALUES
        else ""
    )
    return f"{first}{more}."


def draw_text(x: float, y: float, words: str, look: str = "") -> str:
    """Return a line of text; `y` is its vertical middle."""
    attribute = f' class="{look}"' if look else ""
    place = f'x="{format_number(x)}" y="{format_number(y)}"'
    return f'<text{attribute} {place} dy="0.35em">{escape_xml(words)}</text>'


def draw_rect(x: float, y: float, size: tuple[float, float], look: str) -> str:
    """Return a bar with slightly round corners. It is at least 1 wide and high, so that it stays visible."""
    width, height = (max(side, 1.0) for side in size)
    corner = min(2.0, width / 2, height / 2)
    place = (
        f'x="{format_number(x)}" y="{format_number(y)}" '
        f'width="{format_number(width)}" height="{format_number(height)}"'
    )
    return f'<rect class="{look}" {place} rx="{format_number(corner)}"/>'


def draw_line(look: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """Return a straight line."""
    ends = (
        f'x1="{format_number(start[0])}" y1="{format_number(start[1])}'
        f'" x2="{format_number(end[0])}" y2="{format_number(end[1])}"'
    )
    return f'<line class="{look}" {ends}/>'


def group_with_title(title: str, *parts: str) -> str:
    """Group parts of a chart under one tooltip."""
    return f"<g><title>{escape_xml(title)}</title>{''.join(parts)}</g>"


def shorten_name(name: str) -> str:
    """Return a name as it is drawn: hidden characters are escaped before the name is cut."""
    return shorten_text(escape_for_terminal(name), MAX_NAME_LETTERS)


def measure_widest(words: Iterable[str], size: float = FONT_SIZE) -> float:
    """Return the width of the widest text, with room for fonts that are wider than most."""
    return max((measure_text(each, size * _WIDE_FONT_FACTOR) for each in words), default=0.0)


def draw_legend(keys: Sequence[LegendKey], left: float = CHART_MARGIN) -> tuple[str, float]:
    """Return the legend, in as many lines as needed, and its height; a small gap if there are no entries."""
    parts, x, y = [], left, KEY_LINE_HEIGHT / 2
    for key in keys:
        width = measure_widest((shorten_name(key.name),), SMALL_FONT_SIZE) + 30
        if x > left and x + width > CHART_WIDTH - CHART_MARGIN:
            x, y = left, y + KEY_LINE_HEIGHT
        parts += [
            draw_rect(x, y - 5, (10, 10), f"mark {key.look}"),
            draw_text(x + 15, y, shorten_name(key.name), "key"),
        ]
        x += width
    return "".join(parts), y + KEY_LINE_HEIGHT / 2 + 4 if keys else 4.0


def draw_horizontal_axis(box: PlotBox, marks: Sequence[float], unit: Unit) -> str:
    """Return the axis below a box whose values go to the right, with a grid line for each mark."""
    parts = []
    for mark in marks:
        x = box.left + box.width * mark / marks[-1]
        look = "grid" if mark else "axis"
        parts.append(draw_line(look, (x, box.top), (x, box.bottom)))
        parts.append(draw_text(x, box.bottom + 12, format_tick(mark, unit), "tick mid"))
    return "".join(parts)


def draw_vertical_axis(box: PlotBox, marks: Sequence[float], unit: Unit) -> str:
    """Return the axis to the left of a box whose values go up, with a grid line for each mark."""
    parts = []
    for mark in marks:
        y = box.bottom - box.height * mark / marks[-1]
        parts.append(draw_line("grid" if mark else "axis", (box.left, y), (box.right, y)))
        parts.append(draw_text(box.left - 6, y, format_tick(mark, unit), "tick end"))
    return "".join(parts)


def draw_labels_below(box: PlotBox, named: Iterable[tuple[float, str]]) -> str:
    """Return labels below a box. A label that would touch the previous one is left out."""
    parts, taken = [], 0.0
    for x, words in named:
        half = measure_widest((words,), SMALL_FONT_SIZE) / 2
        middle = min(max(x, half), CHART_WIDTH - half)
        if words and middle - half >= taken:
            parts.append(draw_text(middle, box.bottom + 12, words, "tick mid"))
            taken = middle + half + 6
    return "".join(parts)


# --- bar charts ---------------------------------------------------------------------------------------------


BAR_ROW_HEIGHT: Final = 26.0
BAR_THICKNESS: Final = 15.0
# The maximum number of bars drawn; the table below a chart has them all.
MAX_BARS: Final = 16


@dataclass(frozen=True, slots=True)
class Bar:
    """A value and its name. `reach` is drawn as a thin line up to that value, `point` as a diamond at it."""

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
    shown_bars = chart.bars[:MAX_BARS]
    if not shown_bars:
        return draw_empty_chart(chart.title, chart.empty)
    head, top = _draw_bars_keys(chart)
    marks = place_ticks(max(bar.largest for bar in shown_bars), chart.unit)
    left = CHART_MARGIN + measure_widest(shorten_name(bar.name) for bar in shown_bars) + 8
    right = (
        CHART_WIDTH
        - CHART_MARGIN
        - measure_widest((_format_bar_values(chart, bar) for bar in shown_bars), SMALL_FONT_SIZE)
        - 12
    )
    box = PlotBox(left, top, right, top + BAR_ROW_HEIGHT * len(shown_bars))
    parts = [head, draw_horizontal_axis(box, marks, chart.unit)]
    parts += [_draw_bar(chart, box, place, marks[-1]) for place in enumerate(shown_bars)]
    height = box.bottom + AXIS_HEIGHT
    if len(chart.bars) > MAX_BARS:
        parts.append(
            draw_text(CHART_MARGIN, height + 6, t("chart.below", n=len(chart.bars) - MAX_BARS), "note")
        )
        height += 18
    about = describe_values(t, [(bar.name, _describe_bar(chart, bar)) for bar in chart.bars])
    return draw_chart(chart.title, about, height, parts)


def _draw_bars_keys(chart: BarChart) -> tuple[str, float]:
    if chart.words is None:
        return draw_legend(())
    value, reach, point = chart.words
    row, top = draw_legend((LegendKey(value, "s1"),))
    x = CHART_MARGIN + measure_widest((shorten_name(value),), SMALL_FONT_SIZE) + 34
    row += draw_line("reach", (x, 10), (x + 16, 10)) + draw_text(x + 21, 10, reach, "key")
    x += measure_widest((reach,), SMALL_FONT_SIZE) + 38
    return row + _draw_diamond(x, 10) + draw_text(x + 9, 10, point, "key"), top


def _draw_bar(chart: BarChart, box: PlotBox, place: tuple[int, Bar], end: float) -> str:
    row, bar = place
    y = box.top + BAR_ROW_HEIGHT * row + BAR_ROW_HEIGHT / 2
    scale = box.width / end
    parts = [
        draw_text(box.left - 8, y, shorten_name(bar.name), "end"),
        draw_rect(box.left, y - BAR_THICKNESS / 2, (bar.value * scale, BAR_THICKNESS), f"mark {bar.look}")
        if bar.value
        else "",
    ]
    if bar.reach is not None:
        x = box.left + bar.reach * scale
        parts += [
            draw_line("reach", (box.left + bar.value * scale, y), (x, y)),
            draw_line("reach", (x, y - 5), (x, y + 5)),
        ]
    if bar.point is not None:
        parts.append(_draw_diamond(box.left + bar.point * scale, y))
    x = box.right + 10 if chart.words else box.left + bar.value * scale + 6
    return group_with_title(
        f"{bar.name}: {_describe_bar(chart, bar)}",
        *parts,
        draw_text(x, y, _format_bar_values(chart, bar), "value"),
    )


def _draw_diamond(x: float, y: float) -> str:
    return (
        f'<path class="point" d="M{format_number(x)} {format_number(y - 4.5)}l4.5 4.5l-4.5 4.5l-4.5 -4.5z"/>'
    )


def _format_bar_values(chart: BarChart, bar: Bar) -> str:
    value = format_cell(bar.value, chart.unit)
    return value if bar.reach is None else f"{value} / {format_cell(bar.reach, chart.unit)}"


def _describe_bar(chart: BarChart, bar: Bar) -> str:
    value = format_cell(bar.value, chart.unit)
    if chart.words is None:
        return value
    values = zip(chart.words, (bar.value, bar.reach, bar.point), strict=True)
    return ", ".join(f"{word} {format_cell(each, chart.unit)}" for word, each in values)


# --- stacked charts -----------------------------------------------------------------------------------------


STACK_THICKNESS: Final = 17.0
STACK_GAP: Final = 1.5
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
    shown_stacks = chart.stacks[:MAX_BARS]
    if not shown_stacks:
        return draw_empty_chart(chart.title, chart.empty)
    used = [index for index in range(len(chart.keys)) if any(stack.parts[index] for stack in chart.stacks)]
    head, top = draw_legend([chart.keys[index] for index in used])
    left = CHART_MARGIN + measure_widest(shorten_name(stack.name) for stack in shown_stacks) + 8
    right = (
        CHART_WIDTH
        - CHART_MARGIN
        - measure_widest((_format_stack_total(stack) for stack in shown_stacks), SMALL_FONT_SIZE)
        - 12
    )
    box = PlotBox(left, top, right, top + BAR_ROW_HEIGHT * len(shown_stacks))
    parts = [head, draw_horizontal_axis(box, _PERCENT_MARKS, Unit.PERCENT)]
    parts += [_draw_stack(chart, box, place) for place in enumerate(shown_stacks)]
    height = box.bottom + AXIS_HEIGHT
    if len(chart.stacks) > MAX_BARS:
        parts.append(
            draw_text(CHART_MARGIN, height + 6, t("chart.below", n=len(chart.stacks) - MAX_BARS), "note")
        )
        height += 18
    about = describe_values(t, [(stack.name, _describe_stack(chart, stack)) for stack in chart.stacks])
    return draw_chart(chart.title, about, height, parts)


def _draw_stack(chart: StackedChart, box: PlotBox, place: tuple[int, Stack]) -> str:
    row, stack = place
    y, x = box.top + BAR_ROW_HEIGHT * row + BAR_ROW_HEIGHT / 2, box.left
    parts = [draw_text(box.left - 8, y, shorten_name(stack.name), "end")]
    for key, runs in zip(chart.keys, stack.parts, strict=True):
        if runs:
            wide, label = box.width * runs / stack.total, format_cell(runs, Unit.COUNT)
            drawn_part = draw_rect(
                x, y - STACK_THICKNESS / 2, (wide - STACK_GAP, STACK_THICKNESS), f"mark {key.look}"
            )
            fits = measure_widest((label,), SMALL_FONT_SIZE) + 6 <= wide
            inside = draw_text(x + wide / 2, y, label, "inside mid") if fits else ""
            parts.append(
                group_with_title(f"{stack.name}: {_format_stack_part(key, runs, stack)}", drawn_part, inside)
            )
            x += wide
    return "".join([*parts, draw_text(box.right + 10, y, _format_stack_total(stack), "value")])


def _format_stack_total(stack: Stack) -> str:
    return format_cell(stack.total, Unit.COUNT)


def _format_stack_part(key: LegendKey, count: int, stack: Stack) -> str:
    share = format_cell(100 * count / stack.total, Unit.PERCENT)
    return f"{key.name} {format_cell(count, Unit.COUNT)} ({share})"


def _describe_stack(chart: StackedChart, stack: Stack) -> str:
    parts = zip(chart.keys, stack.parts, strict=True)
    return ", ".join(_format_stack_part(key, runs, stack) for key, runs in parts if runs)


# --- funnel charts ------------------------------------------------------------------------------------------


STAGE_ROW_HEIGHT: Final = 32.0
STAGE_THICKNESS: Final = 22.0


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
    stages = chart.stages[:MAX_BARS]
    if not stages:
        return draw_empty_chart(chart.title, chart.empty)
    head, top = draw_legend((LegendKey(chart.words[0], "s1"), LegendKey(chart.words[1], WARN)))
    left = CHART_MARGIN + measure_widest(shorten_name(stage.name) for stage in stages) + 8
    right = (
        CHART_WIDTH
        - CHART_MARGIN
        - measure_widest((_format_stage_values(t, stage) for stage in stages), SMALL_FONT_SIZE)
        - 8
    )
    box = PlotBox(left, top, right, top + STAGE_ROW_HEIGHT * len(stages))
    largest = max(stage.reached for stage in stages)
    parts = [head, draw_line("axis", (left, top), (left, box.bottom))]
    parts += [_draw_stage(t, chart, box, (*place, largest)) for place in enumerate(stages)]
    height = box.bottom + 8
    if len(chart.stages) > MAX_BARS:
        parts.append(
            draw_text(CHART_MARGIN, height + 6, t("chart.below", n=len(chart.stages) - MAX_BARS), "note")
        )
        height += 18
    about = describe_values(t, [(stage.name, _describe_stage(t, chart, stage)) for stage in chart.stages])
    return draw_chart(chart.title, about, height, parts)


def _draw_stage(t: MessageCatalog, chart: FunnelChart, box: PlotBox, place: tuple[int, Stage, int]) -> str:
    row, stage, largest = place
    y, scale = box.top + STAGE_ROW_HEIGHT * row + STAGE_ROW_HEIGHT / 2, box.width / largest
    went, gone = (stage.reached - stage.left) * scale, stage.left * scale
    parts = [draw_text(box.left - 8, y, shorten_name(stage.name), "end")]
    if went:
        parts.append(draw_rect(box.left, y - STAGE_THICKNESS / 2, (went, STAGE_THICKNESS), "mark s1"))
    if gone:
        parts.append(
            draw_rect(box.left + went, y - STAGE_THICKNESS / 2, (gone, STAGE_THICKNESS), f"mark {WARN}")
        )
    parts.append(draw_text(box.left + went + gone + 6, y, _format_stage_values(t, stage), "value"))
    return group_with_title(f"{stage.name}: {_describe_stage(t, chart, stage)}", *parts)


def _format_stage_values(t: MessageCatalog, stage: Stage) -> str:
    reached = format_cell(stage.reached, Unit.COUNT)
    if not stage.left:
        return reached
    rate = format_cell(100 * stage.left / stage.reached, Unit.PERCENT)
    return t("chart.left", reached=reached, left=format_cell(stage.left, Unit.COUNT), rate=rate)


def _describe_stage(t: MessageCatalog, chart: FunnelChart, stage: Stage) -> str:
    on, off = chart.words
    gone, went = (format_cell(count, Unit.COUNT) for count in (stage.left, stage.reached - stage.left))
    return t(
        "chart.reached", reached=format_cell(stage.reached, Unit.COUNT), on=on, went=went, off=off, gone=gone
    )


# --- column and line charts ---------------------------------------------------------------------------------


PLOT_HEIGHT: Final = 150.0
MAX_COLUMN_WIDTH: Final = 46.0
# The maximum number of slots for which a line chart draws a dot at each value.
MAX_DOTS: Final = 40


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

    def enumerate_slots(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the index of each slot with the values of all series in it."""
        return enumerate(zip(*(series.values for series in self.series), strict=True))


def draw_column_chart(t: MessageCatalog, row: SeriesChart) -> str:
    """Return a column for each slot, with the series stacked in it, the first at the bottom."""
    if not row.has_values:
        return draw_empty_chart(row.title, row.empty)
    sums = [sum(values) for _, values in row.enumerate_slots()]
    head, box, marks = _draw_frame(row, max(sums))
    step = box.width / len(row.slots)
    wide = min(step * 0.8, MAX_COLUMN_WIDTH) if step > 3 else step
    parts = [head]
    for index, total in enumerate(sums):
        x = box.left + step * index + (step - wide) / 2
        parts += _draw_column(row, box, (index, marks[-1]), (x, wide))
        if (
            total
            and len(row.slots) * (measure_widest((_format_count(total),), SMALL_FONT_SIZE) + 4) <= box.width
        ):
            y = box.bottom - box.height * total / marks[-1]
            parts.append(draw_text(x + wide / 2, y - 8, _format_count(total), "value mid"))
    return _finish_chart(t, row, box, parts, [_format_count(total) if total else "" for total in sums])


def draw_line_chart(t: MessageCatalog, row: SeriesChart) -> str:
    """Return a line for each series; the highest value is written at its peak."""
    if not row.has_values:
        return draw_empty_chart(row.title, row.empty)
    head, box, marks = _draw_frame(row, max(max(series.values) for series in row.series))
    parts = [head]
    for series in row.series:
        points = _place_points(box, series.values, marks[-1])
        parts += _draw_series_line(series, points, box)
    peak = max(row.series, key=lambda series: max(series.values))
    x, y = _place_points(box, peak.values, marks[-1])[peak.values.index(max(peak.values))]
    parts.append(
        draw_text(
            min(max(x, box.left + 12), box.right - 12), y - 10, _format_count(max(peak.values)), "value mid"
        )
    )
    return _finish_chart(
        t,
        row,
        box,
        parts,
        [_describe_slot(row, index) if any(each) else "" for index, each in row.enumerate_slots()],
    )


def _draw_frame(row: SeriesChart, largest: int) -> tuple[str, PlotBox, tuple[float, ...]]:
    """Return the legend and the vertical axis, the plot area, and the marks of the axis."""
    many = len(row.series) > 1
    head, top = draw_legend([LegendKey(series.name, series.look) for series in row.series] if many else ())
    marks = place_ticks(largest, Unit.COUNT)
    left = (
        CHART_MARGIN + measure_widest((format_tick(mark, Unit.COUNT) for mark in marks), SMALL_FONT_SIZE) + 8
    )
    box = PlotBox(left, top + 16, CHART_WIDTH - CHART_MARGIN, top + 16 + PLOT_HEIGHT)
    return head + draw_vertical_axis(box, marks, Unit.COUNT), box, marks


def _finish_chart(
    t: MessageCatalog, row: SeriesChart, box: PlotBox, parts: list[str], values: Sequence[str]
) -> str:
    """Return the chart with labels below it, a tooltip for each slot, and the text description."""
    step = box.width / len(row.slots)
    words = ((box.left + step * (index + 0.5), slot.word) for index, slot in enumerate(row.slots))
    places = [
        group_with_title(
            f"{slot.name}: {_describe_slot(row, index)}",
            draw_rect(box.left + step * index, box.top, (step, box.height), "hit"),
        )
        for index, slot in enumerate(row.slots)
    ]
    about = describe_values(
        t, [(slot.name, each) for slot, each in zip(row.slots, values, strict=True) if each]
    )
    drawn_parts = (*parts, draw_labels_below(box, words), *places)
    return draw_chart(row.title, about, box.bottom + AXIS_HEIGHT, drawn_parts)


def _draw_column(
    row: SeriesChart, box: PlotBox, of: tuple[int, float], at: tuple[float, float]
) -> Iterator[str]:
    (index, end), (x, wide), y = of, at, box.bottom
    for series in row.series:
        if series.values[index]:
            high = box.height * series.values[index] / end
            y -= high
            yield draw_rect(x, y, (wide, high), f"mark {series.look}")


def _draw_series_line(series: Series, points: Sequence[tuple[float, float]], box: PlotBox) -> Iterator[str]:
    path = "L".join(f"{format_number(x)} {format_number(y)}" for x, y in points)
    (first, _), (last, _) = points[0], points[-1]
    foot = (
        f"L{format_number(last)} {format_number(box.bottom)}"
        f"L{format_number(first)} {format_number(box.bottom)}z"
    )
    area = f'<path class="area {series.look}" d="M{path}{foot}"/>'
    yield f'{area}<path class="line {series.look}" d="M{path}"/>'
    if len(points) <= MAX_DOTS:
        yield from (
            _draw_dot(at, f"mark {series.look}")
            for at, value in zip(points, series.values, strict=True)
            if value
        )


def _draw_dot(at: tuple[float, float], look: str) -> str:
    return f'<circle class="{look}" cx="{format_number(at[0])}" cy="{format_number(at[1])}" r="2.5"/>'


def _place_points(box: PlotBox, values: Sequence[int], end: float) -> list[tuple[float, float]]:
    """Return the point of each value, in the middle of its slot."""
    step = box.width / len(values)
    return [
        (box.left + step * (index + 0.5), box.bottom - box.height * value / end)
        for index, value in enumerate(values)
    ]


def _describe_slot(row: SeriesChart, index: int) -> str:
    return ", ".join(f"{series.name} {_format_count(series.values[index])}" for series in row.series)


def _format_count(value: int) -> str:
    return format_cell(value, Unit.COUNT)
