"""A laid-out graph as SVG: classes and no inline style, so that a page's own sheet can dress it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from handrail.workflows.draw.escape import number as _n
from handrail.workflows.draw.escape import xml
from handrail.workflows.draw.graph import Graph, Line, Node, Shape
from handrail.workflows.draw.layout import MARGIN, Layout
from handrail.workflows.draw.marks import NO_MARKS, Marks, edge_marks, node_marks
from handrail.workflows.draw.piece import Box, Route
from handrail.workflows.draw.routes import Point
from handrail.workflows.draw.sizes import LINE, LOOP, SMALL_FONT, START, label_size, node_text
from handrail.workflows.draw.style import STYLE
from handrail.workflows.draw.words import caption
from handrail.workflows.draw.words import width as words_width

HEAD = 8.0
ROUND = 9.0
NOTE = 20.0
POINT = 12.0


def svg(graph: Graph, layout: Layout, marks: Marks = NO_MARKS, *, standalone: bool = True) -> str:
    """The picture as a well-formed document without scripts, links or ids, all text of the graph escaped.

    Standalone, it carries its own style for light and dark; otherwise it has none at all, not even in
    attributes, and the page that embeds it includes `STYLE`.
    """
    nodes = {node.id: node for node in graph.nodes}
    width = max([layout.width, *(words_width(note, SMALL_FONT) + 2 * MARGIN for note in graph.notes)])
    height = layout.height + NOTE * len(graph.notes)
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" class="workflow-graph" role="img"',
        f' viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" height="{_n(height)}">',
        f"<title>{xml(_title(graph, marks))}</title>",
    ]
    if standalone:
        parts.append(f'<style>{STYLE}</style><rect class="sheet" width="100%" height="100%"/>')
    parts += [_edge(route, _words(nodes, route, marks)) for route in layout.routes]
    parts += [_node(node, layout.boxes[node.id], marks) for node in graph.nodes]
    parts += [_label(route, _words(nodes, route, marks)) for route in layout.routes if route.label]
    parts += _notes(graph, layout)
    return "".join([*parts, "</svg>"])


def _title(graph: Graph, marks: Marks) -> str:
    where = f", now at {', '.join(marks.current)}" if marks.current else ""
    return f"{graph.title}{where}"


def _words(nodes: Mapping[str, Node], route: Route, marks: Marks) -> tuple[str, ...]:
    return edge_marks(nodes[route.edge.source], nodes[route.edge.target], marks)


def _edge(route: Route, words: tuple[str, ...]) -> str:
    loop = route.edge.source == route.edge.target
    path, head = (_round if loop else _along)(route.points)
    looks = ["return"] * (route.edge.line is Line.RETURN) + ["back"] * route.back
    return (
        f'<g class="{" ".join(("edge", *words, *looks))}"><title>{xml(_told(route))}</title>'
        f'<path class="line" d="{path}"/><path class="head" d="{head}"/></g>'
    )


def _told(route: Route) -> str:
    edge = route.edge
    return "\n".join((f"{edge.source} → {edge.target}", *(edge.details or edge.label)))


def _along(points: Sequence[Point]) -> tuple[str, str]:
    """A path along the points with its corners rounded, and its arrowhead."""
    (x, y), before = points[-1], points[-2]
    step = HEAD if y > before[1] else -HEAD
    path = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    path += [_corner(*three) for three in zip(points, points[1:], points[2:], strict=False)]
    return f"{''.join(path)}L{_n(x)} {_n(y - step)}", f"M{_n(x)} {_n(y)}l-4.5 {_n(-step)}h9z"


def _corner(before: Point, here: Point, after: Point) -> str:
    """A line to shortly before a corner, and the bend around it."""
    (start_x, start_y), (end_x, end_y) = (_towards(here, before), _towards(here, after))
    return f"L{_n(start_x)} {_n(start_y)}Q{_n(here[0])} {_n(here[1])} {_n(end_x)} {_n(end_y)}"


def _towards(here: Point, there: Point) -> Point:
    """A point on the way to the next, near, and never beyond half of it."""
    length = abs(there[0] - here[0]) + abs(there[1] - here[1])
    share = min(ROUND / length, 0.5)
    return here[0] + (there[0] - here[0]) * share, here[1] + (there[1] - here[1]) * share


def _round(points: Sequence[Point]) -> tuple[str, str]:
    """The loop beside a node, between two points on its right side, and its arrowhead."""
    (x, upper), (_, lower) = points
    far = x + LOOP
    bend = f"C{_n(far)} {_n(upper - 10)} {_n(far)} {_n(lower + 10)} {_n(x + HEAD)} {_n(lower + 1)}"
    return f"M{_n(x)} {_n(upper)}{bend}", f"M{_n(x)} {_n(lower)}l{_n(HEAD)} -4.5v9z"


def _node(node: Node, box: Box, marks: Marks) -> str:
    words = " ".join(["node", node.shape.value, *["initial"] * node.initial, *node_marks(node, marks)])
    about = f"\n{node.about}" if node.about else ""
    name = node.text or node.id
    state = "" if node.members else f' data-state="{xml(node.id)}"'
    middle = f'x="{_n(box.x + box.width / 2)}" y="{_n(box.y + box.height / 2)}"'
    return (
        f'<g class="{words}"{state}><title>{xml(name + about)}</title>{_outline(node, box)}'
        f'<text {middle} dy="0.35em">{_name(node)}</text></g>'
    )


def _name(node: Node) -> str:
    """What is written in a node; the name of the workflow that a state was taken from stands back."""
    prefix, slash, rest = node_text(node).rpartition("/")
    return f'<tspan class="prefix">{xml(prefix + slash)}</tspan>{xml(rest)}' if slash else xml(rest)


def _outline(node: Node, box: Box) -> str:
    parts = [_start(box)] if node.initial else []
    match node.shape:
        case Shape.ROUTER:
            parts.append(f'<path class="box" d="{_hexagon(box)}"/>')
        case Shape.TERMINAL:
            parts += [_rect("box", box, 0, box.height / 2), _rect("inner", box, 3.5, box.height / 2 - 3.5)]
        case Shape.ANY | Shape.BACK:
            parts.append(_rect("box", box, 0, box.height / 2))
        case Shape.STATE:
            parts.append(_rect("box", box, 0, 9))
        case _:
            assert_never(node.shape)
    return "".join(parts)


def _rect(word: str, box: Box, inset: float, radius: float) -> str:
    return (
        f'<rect class="{word}" x="{_n(box.x + inset)}" y="{_n(box.y + inset)}" '
        f'width="{_n(box.width - 2 * inset)}" height="{_n(box.height - 2 * inset)}" rx="{_n(radius)}"/>'
    )


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
    return "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in corners) + "z"


def _start(box: Box) -> str:
    x, y = box.x - START, box.y + box.height / 2
    return (
        f'<circle class="start" cx="{_n(x + 8)}" cy="{_n(y)}" r="5"/>'
        f'<path class="start-line" d="M{_n(x + 13)} {_n(y)}H{_n(box.x - 6)}"/>'
        f'<path class="start" d="M{_n(box.x)} {_n(y)}l-7 -4v8z"/>'
    )


def _label(route: Route, words: tuple[str, ...]) -> str:
    x, y = route.label or (0.0, 0.0)
    lines = caption(route.edge.label)
    width, height = label_size(route.edge)
    top = y - LINE * (len(lines) - 1) / 2
    spans = "".join(
        f'<tspan x="{_n(x)}" y="{_n(top + LINE * index)}" dy="0.35em">{xml(line)}</tspan>'
        for index, line in enumerate(lines)
    )
    plate = _rect("plate", Box(x - width / 2, y - height / 2, width, height), 0, 4)
    title = f"<title>{xml(_told(route))}</title>"
    return f'<g class="{" ".join(("label", *words))}">{title}{plate}<text>{spans}</text></g>'


def _notes(graph: Graph, layout: Layout) -> Iterator[str]:
    for index, note in enumerate(graph.notes):
        yield f'<text class="note" x="24" y="{_n(layout.height + NOTE * index)}">{xml(note)}</text>'
