"""Draw the timeline of a run as SVG: a row for each step, bars for what it waited for.

Start at `draw_timeline_svg`. The first part of the module is the time axis, on which long idle times are
shortened.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median_low
from typing import Final, TypeAlias
from urllib.parse import quote

from handrail.drawing.layout import Box
from handrail.drawing.style import TIMELINE_STYLE
from handrail.drawing.svg import draw_rect
from handrail.drawing.text import (
    escape_hidden,
    escape_xml,
    format_attributes,
    format_number,
    format_point,
    shorten_text,
)
from handrail.workflows.templates import MessageCatalog

# --- the time axis ------------------------------------------------------------------------------------------


# Idle times are shortened only if they are longer than this; see also `_IDLE_FACTOR`.
_MIN_IDLE_TIME: Final = timedelta(minutes=10)
# Idle times are shortened only if they are longer than this many median times between events.
_IDLE_FACTOR: Final = 12
# The maximum width of a shortened idle time.
_BREAK_WIDTH: Final = 30.0
# The maximum share of the axis that all shortened times take together.
_MAX_BREAKS_SHARE: Final = 0.4
# The minimum distance between two ticks.
_MIN_TICK_DISTANCE: Final = 78.0
_TIME_UNITS: Final = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 0.001))
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_TICK_STEPS: Final = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(_MINUTE * many for many in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * many for many in (1, 2, 3, 6, 12)),
    *(_DAY * many for many in (1, 2, 7, 14, 28, 91, 182, 364)),
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class AxisPart:
    """A part of the axis with one scale throughout; `idle` if it is shortened."""

    began: datetime
    ended: datetime
    left: float
    right: float
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick: its position, the time of day, and the day if it differs from the previous tick."""

    x: float
    time: str
    day: str


@dataclass(frozen=True, slots=True)
class TimeScale:
    """The parts of an axis, one after the other."""

    parts: tuple[AxisPart, ...]

    def position_of(self, moment: datetime) -> float:
        """Return the position of a moment. Moments outside the axis are placed at its ends."""
        place = bisect_right(self.parts, moment, key=lambda part: part.began) - 1
        part = self.parts[max(0, place)]
        share = (moment - part.began) / (part.ended - part.began)
        return part.left + (part.right - part.left) * min(1.0, max(0.0, share))


def build_scale(moments: Sequence[datetime], left: float, right: float, *, linear: bool = False) -> TimeScale:
    """Return the axis from the first to the last moment; unless `linear`, idle times are shortened.

    Neighbouring parts that are not shortened are joined.
    """
    known = sorted(set(moments)) or [_EPOCH]
    known = known if len(known) > 1 else [known[0], known[0] + _SECOND]
    usual = median_low([other - one for one, other in pairwise(known)])
    joined: list[tuple[datetime, datetime, bool]] = []
    for began, ended in pairwise(known):
        idle = not linear and ended - began > max(_MIN_IDLE_TIME, usual * _IDLE_FACTOR)
        if joined and not (joined[-1][2] or idle):
            joined[-1] = (joined[-1][0], ended, False)
        else:
            joined.append((began, ended, idle))
    breaks = sum(idle for *_, idle in joined)
    each = min(_BREAK_WIDTH, (right - left) * _MAX_BREAKS_SHARE / max(1, breaks))
    active = sum((ended - began for began, ended, idle in joined if not idle), timedelta())
    pace = (right - left - each * breaks) / (active / _SECOND)
    parts: list[AxisPart] = []
    for began, ended, idle in joined:
        end = left + (each if idle else (ended - began) / _SECOND * pace)
        parts.append(AxisPart(began, ended, left, end, idle))
        left = end
    return TimeScale(tuple(parts))


def place_time_ticks(scale: TimeScale) -> tuple[Tick, ...]:
    """Return the ticks: at round times and after idle times, never too close to each other."""
    active = [part for part in scale.parts if not part.idle]
    seconds = sum((part.ended - part.began) / _SECOND for part in active)
    pace = sum(part.right - part.left for part in active) / seconds
    step = next((step for step in _TICK_STEPS if step * pace >= _MIN_TICK_DISTANCE), _TICK_STEPS[-1])
    ticks: list[Tick] = []
    day = ""
    for part in active:
        number, moment = int((part.began - _EPOCH) / _SECOND // step), part.began
        while moment <= part.ended:
            x = scale.position_of(moment)
            if not ticks or x - ticks[-1].x >= _MIN_TICK_DISTANCE:
                today = f"{moment:%Y-%m-%d}"
                clock = f"{moment:%H:%M}" if step >= _MINUTE else f"{moment:%H:%M:%S}"
                if step < 1:
                    clock += f".{moment.microsecond // 1000:03d}"
                ticks.append(Tick(x, clock, today if today != day else ""))
                day = today
            number += 1
            moment = _EPOCH + timedelta(seconds=number * step)
    return tuple(ticks)


def format_duration(time: timedelta, parts: int = 2) -> str:
    """Format a duration in its largest units, at most `parts` of them."""
    left = max(0.0, time / _SECOND)
    first = next((index for index, (_, size) in enumerate(_TIME_UNITS) if left >= size), len(_TIME_UNITS) - 1)
    words: list[str] = []
    for unit, size in _TIME_UNITS[first : first + parts]:
        count = int(left / size + 1e-9)
        left -= count * size
        if count or not words:
            words.append(f"{count} {unit}")
    return " ".join(words)


# --- the timeline -------------------------------------------------------------------------------------------


# The maximum number of rows. With more steps, a row is a state, and the shortest states share one.
_MAX_ROWS: Final = 60
# Below this width, names are above the bars instead of beside them.
_NARROW_WIDTH: Final = 560.0
_LABELS_WIDTH: Final = 210.0
_MARGIN: Final = 12.0
_BAR_HEIGHT: Final = 14.0
_AXIS_HEIGHT: Final = 40.0
_DAY_LABEL_WIDTH: Final = 66.0
_MIN_BAR_WIDTH: Final = 1.5
_THIN_BAR_WIDTH: Final = 7.0
_MIN_FLAG_DISTANCE: Final = 4.0
_MAX_CODES: Final = 5
_LETTER_WIDTH: Final = 7.2
# Who or what a step waits for. These are the CSS classes of bars.
BAR_KINDS: Final = ("agent", "person", "check", "pause")
_REFUSED: Final = "refused"


@dataclass(frozen=True, slots=True)
class WaitBar:
    """A time in which a step, by its number, waited for one thing; `lasts` if it still does."""

    number: int
    state: str
    kind: str
    began: datetime
    ended: datetime
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A refused call: when, in which state, and the code of the refusal."""

    at: datetime
    state: str
    code: str


@dataclass(frozen=True, slots=True)
class TimelineLane:
    """A row of the timeline: its name, its link target, and its stretches."""

    text: str
    link: str
    stretches: tuple[WaitBar, ...]


@dataclass(frozen=True, slots=True)
class TimelineOptions:
    """How a timeline is drawn: its width, and with idle times shortened unless `linear`.

    With `standalone`, it carries its own style; otherwise the page includes `TIMELINE_STYLE`. With `links`,
    every row links to `#step=NUMBER` or `#state=NAME`.
    """

    width: float = 960.0
    linear: bool = False
    standalone: bool = True
    links: bool = False

    @property
    def is_narrow(self) -> bool:
        """True if names are above the bars."""
        return self.width < _NARROW_WIDTH

    @property
    def row_height(self) -> float:
        """The height of a row."""
        return 36.0 if self.is_narrow else 24.0


def draw_timeline_svg(
    t: MessageCatalog,
    title: str,
    stretches: Sequence[WaitBar],
    refused: Sequence[RefusedCall] = (),
    form: TimelineOptions | None = None,
) -> str:
    """Return the timeline as well-formed SVG without scripts, with all text escaped."""
    form, rows = form or TimelineOptions(), build_rows(t, stretches)
    moments = [moment for one in stretches for moment in (one.began, one.ended)]
    left, right = _MARGIN + (0.0 if form.is_narrow else _LABELS_WIDTH), form.width - _MARGIN
    scale = build_scale([*moments, *(one.at for one in refused)], left, right, linear=form.linear)
    bottom = _AXIS_HEIGHT + form.row_height * len(rows) + 6
    width, height = format_number(form.width), format_number(bottom + (48.0 if form.is_narrow else 26.0))
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" class="run-timeline"',
        f' role="{"group" if form.links else "img"}" viewBox="0 0 {width} {height}"',
        f' width="{width}" height="{height}"><title>{escape_xml(title)}</title>',
        f"<desc>{escape_xml(' '.join(_describe_timeline(t, stretches, refused)))}</desc>",
    ]
    if form.standalone:
        parts.append(f'<style>{TIMELINE_STYLE}</style><rect class="sheet" width="100%" height="100%"/>')
    # A band behind every other row guides the eye.
    for index in range(1, len(rows), 2):
        top = _AXIS_HEIGHT + form.row_height * index
        parts.append(draw_rect("band", Box(0, top, form.width, form.row_height), 0))
    parts += _draw_axis(t, form, scale, bottom)
    by_row = assign_refusals(rows, refused)
    for index, row in enumerate(rows):
        y = _AXIS_HEIGHT + form.row_height * index + (18.0 if form.is_narrow else 5.0)
        parts += _draw_row(t, form, scale, (y, row), by_row.get(index, []))
    return "".join([*parts, *_draw_legend(t, form, bottom), "</svg>"])


# --- rows of the timeline -----------------------------------------------------------------------------------


def build_rows(
    t: MessageCatalog, stretches: Sequence[WaitBar], most: int = _MAX_ROWS
) -> tuple[TimelineLane, ...]:
    """Return a row for each step. If there are too many, return one for each state instead.

    If there are still too many, the states with the shortest times share one row.
    """
    steps: dict[int, list[WaitBar]] = {}
    states: dict[str, list[WaitBar]] = {}
    for stretch in stretches:
        steps.setdefault(stretch.number, []).append(stretch)
        states.setdefault(stretch.state, []).append(stretch)
    if len(steps) <= most:
        return tuple(
            TimelineLane(f"{key} {group[0].state}", f"step={key}", tuple(group))
            for key, group in steps.items()
        )
    longest = sorted(states, key=lambda name: -_sum_durations(states[name]) / _SECOND)
    own = set(longest if len(states) <= most else longest[: most - 1])
    rows: list[TimelineLane] = []
    for name, group in states.items():
        if name in own:
            times = len({stretch.number for stretch in group})
            text = t("timeline.drawn.often", state=name, n=times) if times > 1 else name
            rows.append(TimelineLane(text, f"state={quote(escape_hidden(name), safe='')}", tuple(group)))
    if len(own) < len(states):
        rest = tuple(stretch for stretch in stretches if stretch.state not in own)
        rows.append(TimelineLane(t.count("timeline.drawn.others", len(states) - len(own)), "", rest))
    return tuple(rows)


def _sum_durations(stretches: Iterable[WaitBar]) -> timedelta:
    return sum((stretch.ended - stretch.began for stretch in stretches), timedelta())


_RowSpan: TypeAlias = tuple[datetime, int, datetime, str]


def assign_refusals(
    rows: Sequence[TimelineLane], refused: Sequence[RefusedCall]
) -> dict[int, list[RefusedCall]]:
    """Return the refusals by the row they are drawn in.

    That is a row of their state, if the run was waiting in it then, else the row of that time.
    """
    spans: list[_RowSpan] = sorted(
        ((one.began, index, one.ended, one.state) for index, row in enumerate(rows) for one in row.stretches),
        key=lambda span: span[:2],
    )
    states: dict[str, list[_RowSpan]] = {}
    for span in spans:
        states.setdefault(span[3], []).append(span)
    by_row: dict[int, list[RefusedCall]] = {}
    for one in refused if spans else ():
        own = _find_latest(states.get(one.state, []), one.at)
        place = own if own and own[2] >= one.at else _find_latest(spans, one.at) or spans[0]
        by_row.setdefault(place[1], []).append(one)
    return by_row


def _find_latest(spans: Sequence[_RowSpan], at: datetime) -> _RowSpan | None:
    """Return the last span that had begun at this time; None if none had."""
    place = bisect_right(spans, at, key=lambda span: span[0])
    return spans[place - 1] if place else None


# --- drawing ------------------------------------------------------------------------------------------------


def _describe_timeline(
    t: MessageCatalog, stretches: Sequence[WaitBar], refused: Sequence[RefusedCall]
) -> Iterator[str]:
    """Yield the timeline in words."""
    yield t.count("timeline.drawn.steps", len({stretch.number for stretch in stretches}))
    for kind in BAR_KINDS:
        total = _sum_durations(stretch for stretch in stretches if stretch.kind == kind)
        if total:
            whom = t(f"timeline.drawn.whom.{kind}")
            yield t("timeline.drawn.waited", time=format_duration(total), whom=whom)
    if refused:
        yield t.count("timeline.drawn.refusals", len(refused))


def _draw_axis(t: MessageCatalog, form: TimelineOptions, scale: TimeScale, bottom: float) -> Iterator[str]:
    reach = 0.0
    for tick in place_time_ticks(scale):
        x = format_number(tick.x)
        anchor = " last" if tick.x > form.width - _MARGIN - 36 else " first" if tick.x < _MARGIN + 36 else ""
        if tick.day:
            anchor = anchor or (" first" if tick.x - _DAY_LABEL_WIDTH / 2 < reach else "")
            reach = tick.x + {" first": _DAY_LABEL_WIDTH, "": _DAY_LABEL_WIDTH / 2, " last": 0.0}[anchor]
        grid = f"M{x} {format_number(_AXIS_HEIGHT - 6)}V{format_number(bottom)}"
        time_y, day_y = format_number(_AXIS_HEIGHT - 12), format_number(_AXIS_HEIGHT - 25)
        yield f'<path class="grid" d="{grid}"/>'
        yield f'<text class="time{anchor}" x="{x}" y="{time_y}">{tick.time}</text>'
        if tick.day:
            yield f'<text class="day{anchor}" x="{x}" y="{day_y}">{tick.day}</text>'
    yield from (_draw_break(t, part, bottom) for part in scale.parts if part.idle)


def _draw_break(t: MessageCatalog, part: AxisPart, bottom: float) -> str:
    """Return a shortened time: a torn strip, with its duration."""
    across = part.right - part.left
    teeth = "".join(f"l{3 if index % 2 else -3} 6" for index in range(int((bottom - _AXIS_HEIGHT) / 6)))
    tooltip = t("timeline.drawn.idle", time=format_duration(part.ended - part.began))
    strip = draw_rect("torn", Box(part.left, _AXIS_HEIGHT - 6, across, bottom - _AXIS_HEIGHT + 6), 0)
    edges = "".join(
        f'<path class="tear" d="M{format_point(x, _AXIS_HEIGHT)}{teeth}"/>' for x in (part.left, part.right)
    )
    word = ""
    if across >= _MIN_FLAG_DISTANCE * 6:
        place = format_attributes(x=(part.left + part.right) / 2, y=bottom - 2)
        word = f"<text {place}>{format_duration(part.ended - part.began, 1)}</text>"
    return f'<g class="break"><title>{escape_xml(tooltip)}</title>{strip}{edges}{word}</g>'


def _draw_row(
    t: MessageCatalog,
    form: TimelineOptions,
    scale: TimeScale,
    at: tuple[float, TimelineLane],
    refused: Sequence[RefusedCall],
) -> Iterator[str]:
    y, row = at
    letters = int((form.width - 2 * _MARGIN if form.is_narrow else _LABELS_WIDTH - 14) / _LETTER_WIDTH)
    place = format_attributes(x=_MARGIN, y=y - 5 if form.is_narrow else y + _BAR_HEIGHT - 3)
    whole = f"{row.text}: {format_duration(_sum_durations(row.stretches))}"
    tag, attributes = ("a", f' href="#{escape_xml(row.link)}"') if form.links and row.link else ("g", "")
    yield f'<{tag} class="row"{attributes}><title>{escape_xml(whole)}</title>'
    yield f'<text class="name" {place}>{escape_xml(shorten_text(row.text, letters))}</text>'
    # Stretches of the same kind that are too close to tell apart are one bar, and so are refusals one flag.
    bar: list[WaitBar] = []
    for stretch in row.stretches:
        if bar and (
            stretch.kind != bar[-1].kind
            or scale.position_of(stretch.began) - scale.position_of(bar[-1].ended) >= 1
        ):
            yield _draw_bar(t, scale, y, bar)
            bar = []
        bar.append(stretch)
    yield _draw_bar(t, scale, y, bar)
    flag: list[RefusedCall] = []
    first = last = 0.0
    for refusal in sorted(refused, key=lambda refusal: refusal.at):
        x = scale.position_of(refusal.at)
        if flag and x - last >= _MIN_FLAG_DISTANCE:
            yield _draw_flag(t, first, y, flag)
            flag = []
        first, last = x if not flag else first, x
        flag.append(refusal)
    if flag:
        yield _draw_flag(t, first, y, flag)
    yield f"</{tag}>"


def _draw_bar(t: MessageCatalog, scale: TimeScale, y: float, stretches: Sequence[WaitBar]) -> str:
    first, last = stretches[0], stretches[-1]
    left, right = scale.position_of(first.began), scale.position_of(last.ended)
    across = max(_MIN_BAR_WIDTH, right - left)
    inset = 5.0 if first.kind == "pause" else 0.0
    words = " ".join(["bar", first.kind, *["lasts"] * last.lasts, *["thin"] * (across < _THIN_BAR_WIDTH)])
    box = Box(left, y + inset, across, _BAR_HEIGHT - 2 * inset)
    clock = "%Y-%m-%d %H:%M:%S"
    until = t("timeline.drawn.now") if last.lasts else f"{last.ended:{clock}}"
    time = format_duration(_sum_durations(stretches))
    values = {"state": first.state, "whom": t(f"timeline.drawn.whom.{first.kind}"), "time": time}
    tooltip = (
        f"{t.count('timeline.drawn.bar', len(stretches), **values)}\n"
        f"{t('timeline.drawn.between', began=f'{first.began:{clock}}', ended=until)}"
    )
    return (
        f'<g class="{words}"><title>{escape_xml(tooltip)}</title>'
        f"{draw_rect('span', box, min(3.0, across / 2))}</g>"
    )


def _draw_flag(t: MessageCatalog, x: float, y: float, refusals: Sequence[RefusedCall]) -> str:
    codes = Counter(refusal.code for refusal in refusals).most_common()
    lines = [t.count("timeline.drawn.refused", times, code=code) for code, times in codes[:_MAX_CODES]]
    lines += [t("timeline.drawn.more", n=len(codes) - _MAX_CODES)] if len(codes) > _MAX_CODES else []
    sign = f'<path class="flag" d="M{format_point(x - 3, y + 4)}l6 6m0 -6l-6 6"/>'
    pole = f'<path class="pole" d="M{format_point(x, y - 2)}v{format_number(_BAR_HEIGHT + 4)}"/>'
    return f'<g class="refused"><title>{escape_xml(chr(10).join(lines))}</title>{pole}{sign}</g>'


def _draw_legend(t: MessageCatalog, form: TimelineOptions, bottom: float) -> Iterator[str]:
    """Yield the legend of the bars; in two lines on a narrow page."""
    across = 104.0
    most = int((form.width - 2 * _MARGIN) / across)
    yield '<g class="legend">'
    for index, kind in enumerate((*BAR_KINDS, _REFUSED)):
        line, column = divmod(index, most)
        x, y = _MARGIN + across * column, bottom + 8 + 20 * line
        if kind == _REFUSED:
            yield _draw_flag(t, x + 12, y - 2, ())
        else:
            inset = 3.0 if kind == "pause" else 0.0
            sample = draw_rect("span", Box(x, y + inset, 24, 10 - 2 * inset), 3)
            yield f'<g class="bar {kind}">{sample}</g>'
        word = escape_xml(t(f"timeline.drawn.legend.{kind}"))
        yield f"<text {format_attributes(x=x + 30, y=y + 9)}>{word}</text>"
    yield "</g>"
