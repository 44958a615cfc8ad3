"""The nodes of a picture: a box of the right shape, a name, and the signs of what is marked on it."""

from collections.abc import Iterator
from typing import Final, assert_never
from urllib.parse import quote

from handrail.workflows.catalogue import Catalogue
from handrail.workflows.draw.escape import clean, number, xml
from handrail.workflows.draw.graph import Node, Shape
from handrail.workflows.draw.marks import BLOCKED, CURRENT, POSSIBLE, VISITED, Marked
from handrail.workflows.draw.piece import Box
from handrail.workflows.draw.sizes import START, node_text
from handrail.workflows.draw.words import width as words_width

POINT: Final = 12.0
STACK: Final = 4.0
SIGN: Final = 9.0
COUNT: Final = 99
PILL: Final = 14.0
PILL_FONT: Final = 9.0

_SIGNS: Final = {
    CURRENT: "M-3.5 -4.5L4.5 0L-3.5 4.5z",
    POSSIBLE: "M-4 0H4M1 -3L4 0L1 3",
    BLOCKED: "M-3 -3L3 3M3 -3L-3 3",
    VISITED: "M-4 .5L-1 3.5L4 -3",
}
_INSET: Final = {Shape.ROUTER: 9.0, Shape.TERMINAL: 5.0}


def rect(word: str, box: Box, inset: float, radius: float) -> str:
    """A rectangle with round corners, so far inside of a box."""
    return (
        f'<rect class="{word}" x="{number(box.x + inset)}" y="{number(box.y + inset)}" '
        f'width="{number(box.width - 2 * inset)}" height="{number(box.height - 2 * inset)}" '
        f'rx="{number(radius)}"/>'
    )


def sign(word: str, x: float, y: float) -> str:
    """The sign of a mark around this point: it can be told from the others without its colour."""
    return (
        f'<path class="sign {word}-sign" transform="translate({number(x)} {number(y)})" d="{_SIGNS[word]}"/>'
    )


def node_drawn(t: Catalogue, node: Node, box: Box, marked: Marked, links: str) -> str:
    """A node with its marks; with `links`, the beginning of its id, it is a link that a page can follow."""
    words = " ".join(["node", node.shape.value, *["initial"] * node.initial, *marked.words])
    middle = f'x="{number(box.x + box.width / 2)}" y="{number(box.y + box.height / 2)}"'
    told = "\n".join(_told(t, node, marked))
    tag, where = ("a", _link(node, links)) if links and node.shape not in _STAND_INS else ("g", "")
    return (
        f'<{tag} class="{words}"{where}{_names(node, marked)}><title>{xml(told)}</title>{_outline(node, box)}'
        f'<text {middle} dy="0.35em">{_name(node)}</text>{"".join(_signs(node, box, marked))}</{tag}>'
    )


_STAND_INS: Final = frozenset({Shape.ANY, Shape.BACK})


def _told(t: Catalogue, node: Node, marked: Marked) -> Iterator[str]:
    yield node.text or node.id
    yield from (node.about,) if node.about else ()
    if marked.here:
        yield t("draw.here_in", states=", ".join(marked.here)) if node.members else t("draw.here")
    if marked.often:
        yield t.count("draw.entered", marked.often)
    if node.hidden:
        yield t.count("draw.hidden", node.hidden)


def _link(node: Node, links: str) -> str:
    name = quote(clean(node.id), safe="")
    kind = "group" if node.shape is Shape.GROUP else "state"
    return f' href="#{kind}={name}" id="{xml(links)}-{name}"'


def _names(node: Node, marked: Marked) -> str:
    current = ' aria-current="step"' * (CURRENT in marked.words)
    if node.shape in _STAND_INS:
        return current
    kind = "group" if node.shape is Shape.GROUP else "state"
    return f' data-{kind}="{xml(node.id)}"{current}'


def _name(node: Node) -> str:
    """What is written in a node; the name of the workflow that a state was taken from stands back."""
    prefix, slash, rest = node_text(node).rpartition("/")
    return f'<tspan class="prefix">{xml(prefix + slash)}</tspan>{xml(rest)}' if slash else xml(rest)


def _signs(node: Node, box: Box, marked: Marked) -> Iterator[str]:
    """What is marked, on the left; how often the run was there, and how much is left out, at the corners."""
    for word in marked.words[:1]:
        if word in _SIGNS:
            yield sign(word, box.x + SIGN + _INSET.get(node.shape, 0.0), box.y + box.height / 2)
    if marked.often > 1:
        text = f"{marked.often}\N{MULTIPLICATION SIGN}" if marked.often <= COUNT else f"{COUNT}+"
        yield _pill("count", text, box.x + box.width, box.y)
    if node.hidden:
        yield _pill("more", f"+{node.hidden}", box.x + box.width, box.y + box.height)


def _pill(word: str, text: str, right: float, middle: float) -> str:
    across = words_width(text, PILL_FONT) + 7
    box = Box(right + 8 - across, middle - PILL / 2, across, PILL)
    place = f'x="{number(box.x + across / 2)}" y="{number(middle)}"'
    return f'<g class="{word}">{rect("pill", box, 0, PILL / 2)}<text {place} dy="0.35em">{text}</text></g>'


def _outline(node: Node, box: Box) -> str:
    parts = [_start(box)] if node.initial else []
    match node.shape:
        case Shape.ROUTER:
            parts.append(f'<path class="box" d="{_hexagon(box)}"/>')
        case Shape.TERMINAL:
            parts += [rect("box", box, 0, box.height / 2), rect("inner", box, 3.5, box.height / 2 - 3.5)]
        case Shape.ANY | Shape.BACK:
            parts.append(rect("box", box, 0, box.height / 2))
        case Shape.STATE:
            parts.append(rect("box", box, 0, 9))
        case Shape.GROUP:
            behind = Box(box.x + STACK, box.y, box.width - STACK, box.height - STACK)
            front = Box(box.x, box.y + STACK, box.width - STACK, box.height - STACK)
            parts += [rect("box behind", behind, 0, 9), rect("box", front, 0, 9)]
        case _:
            assert_never(node.shape)
    return "".join(parts)


def _hexagon(box: Box) -> str:
    left, right, middle = box.x, box.x + box.width, box.y + box.height / 2
    corners = (
        (left, middle),
        (left + POINT, box.y),
        (right - POINT, box.y),
        (right, middle),
        (right - POINT, box.y + box.height),
        (left + POINT, box.y + box.height),
    )
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in corners) + "z"


def _start(box: Box) -> str:
    x, y = box.x - START, box.y + box.height / 2
    return (
        f'<circle class="start" cx="{number(x + 8)}" cy="{number(y)}" r="5"/>'
        f'<path class="start-line" d="M{number(x + 13)} {number(y)}H{number(box.x - 6)}"/>'
        f'<path class="start" d="M{number(box.x)} {number(y)}l-7 -4v8z"/>'
    )
