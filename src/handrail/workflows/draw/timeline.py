"""The time of a run as a picture: a row for each step, and whom it waited for when."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, TypeAlias
from urllib.parse import quote

from handrail.workflows.catalogue import Catalogue
from handrail.workflows.draw.escape import clean, number, xml
from handrail.workflows.draw.piece import Box
from handrail.workflows.draw.shapes import rect
from handrail.workflows.draw.style import TIMELINE_STYLE
from handrail.workflows.draw.timescale import Part, Scale, lasting, scale_of, ticks_of
from handrail.workflows.draw.words import shortened

ROWS: Final = 60
"""How many rows there are at most: with more steps a row is a state, and the shortest states share one."""

NARROW: Final = 560.0
"""Below this width names stand above the bars instead of beside them."""

LABELS: Final = 210.0
MARGIN: Final = 12.0
BAR: Final = 14.0
AXIS: Final = 40.0
DAY: Final = 66.0
LEAST: Final = 1.5
THIN: Final = 7.0
NEAR: Final = 4.0
CODES: Final = 5
LETTER: Final = 7.2

KINDS: Final = ("agent", "person", "check", "pause")
"""Who or what is waited for: the classes of bars."""

_REFUSED: Final = "refused"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which a step, by its number, waited for one thing; `lasts` if it still does."""

    number: int
    state: str
    kind: str
    began: datetime
    ended: datetime
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that was refused: when, in which state, and why."""

    at: datetime
    state: str
    code: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the picture: what it is called, where it leads, and what is in it."""

    text: str
    link: str
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """How a timeline is drawn: for a page so wide, with idle times shortened unless it is linear.

    Standalone, it carries its own style; otherwise the page includes `TIMELINE_STYLE`. With `links` every row
    is a link, to `#step=NUMBER` or `#state=NAME`.
    """

    width: float = 960.0
    linear: bool = False
    standalone: bool = True
    links: bool = False

    @property
    def narrow(self) -> bool:
        """True if names stand above the bars."""
        return self.width < NARROW

    @property
    def pitch(self) -> float:
        """How high a row is."""
        return 36.0 if self.narrow else 24.0

    def bar(self, row: int) -> float:
        """The upper side of the bars of a row."""
        return AXIS + self.pitch * row + (18.0 if self.narrow else 5.0)


def timeline(
    t: Catalogue,
    title: str,
    stretches: Sequence[Stretch],
    refused: Sequence[Refused] = (),
    form: Form | None = None,
) -> str:
    """The picture as a well-formed document without scripts, all text escaped."""
    form, rows = form or Form(), rows_of(t, stretches)
    moments = [moment for one in stretches for moment in (one.began, one.ended)]
    left, right = MARGIN + (0.0 if form.narrow else LABELS), form.width - MARGIN
    scale = scale_of([*moments, *(one.at for one in refused)], left, right, linear=form.linear)
    bottom = AXIS + form.pitch * len(rows) + 6
    width, height = number(form.width), number(bottom + (48.0 if form.narrow else 26.0))
    role = "group" if form.links else "img"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="run-timeline" role="{role}"',
        f' viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{xml(title)}</title><desc>{xml(' '.join(_told(t, stretches, refused)))}</desc>",
    ]
    if form.standalone:
        parts.append(f'<style>{TIMELINE_STYLE}</style><rect class="sheet" width="100%" height="100%"/>')
    parts += [*_bands(form, rows), *_axis(t, form, scale, bottom)]
    by_row = placed(rows, refused)
    for index, row in enumerate(rows):
        parts += _row(t, form, scale, (form.bar(index), row), by_row.get(index, []))
    return "".join([*parts, *_legend(t, form, bottom), "</svg>"])


# --- rows ---------------------------------------------------------------------------------------------------


def rows_of(t: Catalogue, stretches: Sequence[Stretch], most: int = ROWS) -> tuple[Row, ...]:
    """A row for each step; with too many, one for each state; with too many, one for the shortest of them."""
    steps: dict[int, list[Stretch]] = {}
    states: dict[str, list[Stretch]] = {}
    for one in stretches:
        steps.setdefault(one.number, []).append(one)
        states.setdefault(one.state, []).append(one)
    if len(steps) <= most:
        return tuple(Row(f"{key} {some[0].state}", f"step={key}", tuple(some)) for key, some in steps.items())
    longest = sorted(states, key=lambda name: -_total(states[name]) / timedelta(seconds=1))
    own = set(longest if len(states) <= most else longest[: most - 1])
    rest = tuple(one for one in stretches if one.state not in own)
    rows = [_of_state(t, name, some) for name, some in states.items() if name in own]
    rows += [Row(t.count("timeline.drawn.others", len(states) - len(own)), "", rest)] if rest else []
    return tuple(rows)


def _of_state(t: Catalogue, name: str, stretches: Sequence[Stretch]) -> Row:
    times = len({one.number for one in stretches})
    text = t("timeline.drawn.often", state=name, n=times) if times > 1 else name
    return Row(text, f"state={quote(clean(name), safe='')}", tuple(stretches))


def _total(stretches: Iterable[Stretch]) -> timedelta:
    return sum((one.ended - one.began for one in stretches), timedelta())


def placed(rows: Sequence[Row], refused: Sequence[Refused]) -> dict[int, list[Refused]]:
    """The refusals by the row in which they are drawn: of their state, if it was waited in, or their time."""
    spans = sorted(
        ((one.began, index, one.ended, one.state) for index, row in enumerate(rows) for one in row.stretches),
        key=lambda span: span[:2],
    )
    states: dict[str, list[_Span]] = {}
    for span in spans:
        states.setdefault(span[3], []).append(span)
    found: dict[int, list[Refused]] = {}
    for one in refused if spans else ():
        own = _latest(states.get(one.state, []), one.at)
        place = own if own and own[2] >= one.at else _latest(spans, one.at) or spans[0]
        found.setdefault(place[1], []).append(one)
    return found


_Span: TypeAlias = tuple[datetime, int, datetime, str]


def _latest(spans: Sequence[_Span], at: datetime) -> _Span | None:
    """The last that had begun at this time."""
    place = bisect_right(spans, at, key=lambda span: span[0])
    return spans[place - 1] if place else None


# --- drawing ------------------------------------------------------------------------------------------------


def _told(t: Catalogue, stretches: Sequence[Stretch], refused: Sequence[Refused]) -> Iterator[str]:
    """The picture in words."""
    yield t.count("timeline.drawn.steps", len({one.number for one in stretches}))
    for kind in KINDS:
        total = _total(one for one in stretches if one.kind == kind)
        if total:
            yield t("timeline.drawn.waited", time=lasting(total), whom=_whom(t, kind))
    if refused:
        yield t.count("timeline.drawn.refusals", len(refused))


def _whom(t: Catalogue, kind: str) -> str:
    return t(f"timeline.drawn.whom.{kind}")


def _bands(form: Form, rows: Sequence[Row]) -> Iterator[str]:
    """Every other row stands on a band, so that the eye keeps to it."""
    for index in range(1, len(rows), 2):
        yield rect("band", Box(0, AXIS + form.pitch * index, form.width, form.pitch), 0, 0)


def _axis(t: Catalogue, form: Form, scale: Scale, bottom: float) -> Iterator[str]:
    reach = 0.0
    for tick in ticks_of(scale):
        x = number(tick.x)
        anchor = " last" if tick.x > form.width - MARGIN - 36 else " first" if tick.x < MARGIN + 36 else ""
        if tick.day:
            anchor = anchor or (" first" if tick.x - DAY / 2 < reach else "")
            reach = tick.x + {" first": DAY, "": DAY / 2, " last": 0.0}[anchor]
        yield f'<path class="grid" d="M{x} {number(AXIS - 6)}V{number(bottom)}"/>'
        yield f'<text class="time{anchor}" x="{x}" y="{number(AXIS - 12)}">{tick.time}</text>'
        if tick.day:
            yield f'<text class="day{anchor}" x="{x}" y="{number(AXIS - 25)}">{tick.day}</text>'
    yield from (_break(t, part, bottom) for part in scale.parts if part.idle)


def _break(t: Catalogue, part: Part, bottom: float) -> str:
    """A shortened time: a torn strip, with how long it was."""
    across, middle = part.right - part.left, (part.left + part.right) / 2
    teeth = "".join(f"l{number(3 if index % 2 else -3)} 6" for index in range(int((bottom - AXIS) / 6)))
    told = t("timeline.drawn.idle", time=lasting(part.ended - part.began))
    short = lasting(part.ended - part.began, 1)
    strip = rect("torn", Box(part.left, AXIS - 6, across, bottom - AXIS + 6), 0, 0)
    word = f'<text x="{number(middle)}" y="{number(bottom - 2)}">{short}</text>' if across >= NEAR * 6 else ""
    edges = "".join(
        f'<path class="tear" d="M{number(x)} {number(AXIS)}{teeth}"/>' for x in (part.left, part.right)
    )
    return f'<g class="break"><title>{xml(told)}</title>{strip}{edges}{word}</g>'


def _row(
    t: Catalogue, form: Form, scale: Scale, at: tuple[float, Row], refused: Sequence[Refused]
) -> Iterator[str]:
    y, row = at
    letters = int((form.width - 2 * MARGIN if form.narrow else LABELS - 14) / LETTER)
    place = f'x="{number(MARGIN)}" y="{number(y - 5 if form.narrow else y + BAR - 3)}"'
    whole = f"{row.text}: {lasting(_total(row.stretches))}"
    tag, where = ("a", f' href="#{xml(row.link)}"') if form.links and row.link else ("g", "")
    yield f'<{tag} class="row"{where}><title>{xml(whole)}</title>'
    yield f'<text class="name" {place}>{xml(shortened(row.text, letters))}</text>'
    yield from (_bar(t, scale, y, some) for some in _runs(scale, row.stretches))
    yield from (_flag(t, x, y, some) for x, some in _flags(scale, refused))
    yield f"</{tag}>"


def _runs(scale: Scale, stretches: Sequence[Stretch]) -> Iterator[list[Stretch]]:
    """Stretches of a kind that cannot be told apart, so close they are, together."""
    some: list[Stretch] = []
    for one in stretches:
        if some and (one.kind != some[-1].kind or scale.at(one.began) - scale.at(some[-1].ended) >= 1):
            yield some
            some = []
        some.append(one)
    yield some


def _bar(t: Catalogue, scale: Scale, y: float, some: Sequence[Stretch]) -> str:
    first, last = some[0], some[-1]
    left, right = scale.at(first.began), scale.at(last.ended)
    across = max(LEAST, right - left)
    inset = 5.0 if first.kind == "pause" else 0.0
    words = " ".join(["bar", first.kind, *["lasts"] * last.lasts, *["thin"] * (across < THIN)])
    box = Box(left, y + inset, across, BAR - 2 * inset)
    until = t("timeline.drawn.now") if last.lasts else f"{last.ended:%Y-%m-%d %H:%M:%S}"
    given = {"state": first.state, "whom": _whom(t, first.kind), "time": lasting(_total(some))}
    whole = t.count("timeline.drawn.bar", len(some), **given)
    told = f"{whole}\n{t('timeline.drawn.between', began=f'{first.began:%Y-%m-%d %H:%M:%S}', ended=until)}"
    return f'<g class="{words}"><title>{xml(told)}</title>{rect("span", box, 0, min(3.0, across / 2))}</g>'


def _flags(scale: Scale, refused: Sequence[Refused]) -> Iterator[tuple[float, list[Refused]]]:
    """Refusals, those too close to be told apart together."""
    places = [(scale.at(one.at), one) for one in sorted(refused, key=lambda one: one.at)]
    starts = [
        0,
        *(i + 1 for i, ((x, _), (y, _)) in enumerate(pairwise(places)) if y - x >= NEAR),
        len(places),
    ]
    for start, end in pairwise(starts):
        if places[start:end]:
            yield places[start][0], [one for _, one in places[start:end]]


def _flag(t: Catalogue, x: float, y: float, some: Sequence[Refused]) -> str:
    codes = Counter(one.code for one in some).most_common()
    told = [t.count("timeline.drawn.refused", times, code=code) for code, times in codes[:CODES]]
    told += [t("timeline.drawn.more", n=len(codes) - CODES)] if len(codes) > CODES else []
    sign = f'<path class="flag" d="M{number(x - 3)} {number(y + 4)}l6 6m0 -6l-6 6"/>'
    pole = f'<path class="pole" d="M{number(x)} {number(y - 2)}v{number(BAR + 4)}"/>'
    return f'<g class="refused"><title>{xml(chr(10).join(told))}</title>{pole}{sign}</g>'


def _legend(t: Catalogue, form: Form, bottom: float) -> Iterator[str]:
    """What the bars mean; on a narrow page in two lines."""
    across = 104.0
    most = int((form.width - 2 * MARGIN) / across)
    yield '<g class="legend">'
    for index, kind in enumerate((*KINDS, _REFUSED)):
        line, column = divmod(index, most)
        x, y = MARGIN + across * column, bottom + 8 + 20 * line
        yield _flag(t, x + 12, y - 2, ()) if kind == _REFUSED else _sample(kind, x, y)
        word = xml(t(f"timeline.drawn.legend.{kind}"))
        yield f'<text x="{number(x + 30)}" y="{number(y + 9)}">{word}</text>'
    yield "</g>"


def _sample(kind: str, x: float, y: float) -> str:
    inset = 3.0 if kind == "pause" else 0.0
    return f'<g class="bar {kind}">{rect("span", Box(x, y + inset, 24, 10 - 2 * inset), 0, 3)}</g>'
