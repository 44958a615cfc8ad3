"""What every chart is made of: its frame, axes, keys, and the honest picture of nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from handrail.telemetry.charts.style import STYLE
from handrail.telemetry.charts.ticks import tick
from handrail.telemetry.units import Unit
from handrail.workflows.catalogue import Catalogue
from handrail.workflows.characters import safe
from handrail.workflows.draw.escape import number, xml
from handrail.workflows.draw.words import shortened
from handrail.workflows.draw.words import width as words_width

WIDTH: Final = 720.0
EDGE: Final = 8.0
FONT: Final = 12.0
SMALL: Final = 11.0
KEY_LINE: Final = 20.0
AXIS_LINE: Final = 22.0
LETTERS: Final = 30
"""How many letters of a name are drawn; its title has all."""

TOLD: Final = 12
"""How many values the description of a chart tells."""

_WIDE: Final = 1.08
_ABOUT_ENDS: Final = "</desc>"


@dataclass(frozen=True, slots=True)
class Key:
    """A word for a look."""

    name: str
    look: str


@dataclass(frozen=True, slots=True)
class Box:
    """Where values are drawn."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """How wide it is."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """How high it is."""
        return self.bottom - self.top


def drawn(title: str, about: str, height: float, parts: Iterable[str]) -> str:
    """A chart as a well-formed document without scripts, links or ids, all text in it escaped.

    It has no style at all, not even in attributes: the page that embeds it includes `STYLE`.
    """
    wide, high = number(WIDTH), number(height)
    head = '<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img"'
    box = f' viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">'
    return f"{head}{box}<title>{xml(title)}</title><desc>{xml(about)}{_ABOUT_ENDS}{''.join(parts)}</svg>"


def alone(chart: str) -> str:
    """A chart that carries its own style for light and dark: a file of its own."""
    head, about_ends, rest = chart.partition(_ABOUT_ENDS)
    sheet = f'<style>{STYLE}</style><rect class="sheet" width="100%" height="100%"/>'
    return f"{head}{about_ends}{sheet}{rest}"


def nothing(title: str, why: str) -> str:
    """The chart of no values: it says that there are none, and why."""
    foot = line("axis", (EDGE, 48), (WIDTH - EDGE, 48))
    return drawn(title, why, 64, (text(WIDTH / 2, 26, why, "empty mid"), foot))


def told(t: Catalogue, values: Sequence[tuple[str, str]]) -> str:
    """The first values in words: what the description of a chart says."""
    first = "; ".join(f"{name}: {value}" for name, value in values[:TOLD])
    more = f"; {t('chart.more', n=len(values) - TOLD)}" if len(values) > TOLD else ""
    return f"{first}{more}."


def text(x: float, y: float, words: str, look: str = "") -> str:
    """A line of text; `y` is its middle."""
    given = f' class="{look}"' if look else ""
    return f'<text{given} x="{number(x)}" y="{number(y)}" dy="0.35em">{xml(words)}</text>'


def rect(x: float, y: float, size: tuple[float, float], look: str) -> str:
    """A bar, its corners a little round; one that counts something is never too small to be seen."""
    wide, high = (max(side, 1.0) for side in size)
    corner = min(2.0, wide / 2, high / 2)
    place = f'x="{number(x)}" y="{number(y)}" width="{number(wide)}" height="{number(high)}"'
    return f'<rect class="{look}" {place} rx="{number(corner)}"/>'


def line(look: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """A straight line."""
    ends = f'x1="{number(start[0])}" y1="{number(start[1])}" x2="{number(end[0])}" y2="{number(end[1])}"'
    return f'<line class="{look}" {ends}/>'


def titled(title: str, *parts: str) -> str:
    """Parts of a chart that tell this when they are pointed at."""
    return f"<g><title>{xml(title)}</title>{''.join(parts)}</g>"


def short(name: str) -> str:
    """A name as it is drawn; what hides is written out before it is cut."""
    return shortened(safe(name), LETTERS)


def room(words: Iterable[str], size: float = FONT) -> float:
    """How wide the widest of these is, also in a font that is wider than most."""
    return max((words_width(each, size * _WIDE) for each in words), default=0.0)


def keys(given: Sequence[Key], left: float = EDGE) -> tuple[str, float]:
    """The words for the looks of a chart, in lines, and how high they are; none has no height."""
    parts, x, y = [], left, KEY_LINE / 2
    for key in given:
        wide = room((short(key.name),), SMALL) + 30
        if x > left and x + wide > WIDTH - EDGE:
            x, y = left, y + KEY_LINE
        parts += [rect(x, y - 5, (10, 10), f"mark {key.look}"), text(x + 15, y, short(key.name), "key")]
        x += wide
    return "".join(parts), y + KEY_LINE / 2 + 4 if given else 4.0


def along(box: Box, marks: Sequence[float], unit: Unit) -> str:
    """An axis at the foot of a box whose values go to the right, with a line for each mark."""
    parts = []
    for mark in marks:
        x = box.left + box.width * mark / marks[-1]
        look = "grid" if mark else "axis"
        parts.append(line(look, (x, box.top), (x, box.bottom)))
        parts.append(text(x, box.bottom + 12, tick(mark, unit), "tick mid"))
    return "".join(parts)


def upward(box: Box, marks: Sequence[float], unit: Unit) -> str:
    """An axis at the left of a box whose values go up, with a line for each mark."""
    parts = []
    for mark in marks:
        y = box.bottom - box.height * mark / marks[-1]
        parts.append(line("grid" if mark else "axis", (box.left, y), (box.right, y)))
        parts.append(text(box.left - 6, y, tick(mark, unit), "tick end"))
    return "".join(parts)


def beneath(box: Box, named: Iterable[tuple[float, str]]) -> str:
    """Words under a box at these places; one that would touch the word before it is left out."""
    parts, taken = [], 0.0
    for x, words in named:
        half = room((words,), SMALL) / 2
        middle = min(max(x, half), WIDTH - half)
        if words and middle - half >= taken:
            parts.append(text(middle, box.bottom + 12, words, "tick mid"))
            taken = middle + half + 6
    return "".join(parts)
