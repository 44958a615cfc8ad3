"""A laid-out graph as SVG: classes and no inline style, so that a page's own sheet can dress it."""

from collections.abc import Iterator, Mapping, Sequence

from handrail.engine.ways import Prospect, Way
from handrail.workflows.catalogue import Catalogue
from handrail.workflows.draw.escape import number, xml
from handrail.workflows.draw.graph import Graph, Line, Node
from handrail.workflows.draw.layout import MARGIN, Layout
from handrail.workflows.draw.marks import (
    BLOCKED,
    CURRENT,
    NO_MARKS,
    POSSIBLE,
    VISITED,
    Marked,
    Marking,
    Marks,
    because,
)
from handrail.workflows.draw.piece import Box, Route
from handrail.workflows.draw.routes import Point
from handrail.workflows.draw.shapes import node_drawn, rect, sign
from handrail.workflows.draw.sizes import LINE, LOOP, SMALL_FONT, label_size
from handrail.workflows.draw.style import STYLE
from handrail.workflows.draw.words import caption
from handrail.workflows.draw.words import width as words_width

HEAD = 8.0
ROUND = 9.0
NOTE = 20.0
LEGEND = 96.0
NAMED = 12
"""How many states are named at most where a picture is told in words."""

_SIGNS = (CURRENT, VISITED, POSSIBLE, BLOCKED)


def svg(  # noqa: PLR0913 - what is drawn, and how
    t: Catalogue,
    graph: Graph,
    layout: Layout,
    marks: Marks = NO_MARKS,
    *,
    standalone: bool = True,
    links: str = "",
) -> str:
    """The picture as a well-formed document without scripts, all text of the graph escaped.

    Standalone, it carries its own style for light and dark; otherwise it has none at all, not even in
    attributes, and the page that embeds it includes `STYLE`. With `links` every state is a link to
    `#state=NAME` and every group one to `#group=NAME`, with an id that begins so; without, there are no ids
    and no links.
    """
    nodes, marking = {node.id: node for node in graph.nodes}, Marking(marks)
    legend = _legend(t, layout.height + NOTE * len(graph.notes)) if marks != NO_MARKS else ()
    rooms = [words_width(note, SMALL_FONT) + 2 * MARGIN for note in graph.notes]
    width = max([layout.width, *rooms, *[LEGEND * len(_SIGNS) + MARGIN] * bool(legend)])
    height = layout.height + NOTE * (len(graph.notes) + bool(legend))
    role = "group" if links else "img"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="workflow-graph" role="{role}"',
        f' viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" height="{number(height)}">',
        f"<title>{xml(_title(t, graph, marks))}</title><desc>{xml(' '.join(_told(t, graph, marks)))}</desc>",
    ]
    if standalone:
        parts.append(f'<style>{STYLE}</style><rect class="sheet" width="100%" height="100%"/>')
    marked = [_marked(nodes, marking, route) for route in layout.routes]
    told = [_about(t, nodes, *pair) for pair in zip(layout.routes, marked, strict=True)]
    parts += [_edge(*three) for three in zip(layout.routes, marked, told, strict=True)]
    parts += [node_drawn(t, node, layout.boxes[node.id], marking.node(node), links) for node in graph.nodes]
    parts += [_label(*three) for three in zip(layout.routes, marked, told, strict=True) if three[0].label]
    parts += [*_notes(graph, layout), *legend]
    return "".join([*parts, "</svg>"])


def _title(t: Catalogue, graph: Graph, marks: Marks) -> str:
    states = _some(t, marks.current)
    return t("draw.title_at", title=graph.title, states=states) if marks.current else graph.title


def _told(t: Catalogue, graph: Graph, marks: Marks) -> Iterator[str]:
    """The picture in words, for those who cannot see it."""
    yield t("draw.size", nodes=len(graph.nodes), ways=len(graph.edges))
    if marks.visits:
        yield t("draw.been", states=_some(t, sorted(marks.visits)))
    if marks.possible:
        yield t("draw.next", states=_some(t, sorted(marks.possible)))
    blocked = marks.blocked
    shut = [way for way in marks.ways if way.prospect is Prospect.SHUT and way.target in blocked]
    if shut:
        told = [f"{way.target} ({'; '.join(because(t, way.why))})" for way in shut]
        yield t("draw.shut", states=_some(t, told))


def _some(t: Catalogue, names: Sequence[str]) -> str:
    first, more = ", ".join(names[:NAMED]), len(names) - NAMED
    return t("draw.some", names=first, n=more) if more > 0 else first


def _marked(nodes: Mapping[str, Node], marking: Marking, route: Route) -> Marked:
    return marking.edge(nodes[route.edge.source], nodes[route.edge.target])


def _edge(route: Route, marked: Marked, told: str) -> str:
    loop = route.edge.source == route.edge.target
    path, head = (_round if loop else _along)(route.points)
    looks = ["return"] * (route.edge.line is Line.RETURN) + ["back"] * route.back
    barred = sign(BLOCKED, *_barred(route.points)) if BLOCKED in marked.words and not loop else ""
    return (
        f'<g class="{" ".join(("edge", *marked.words, *looks))}"><title>{xml(told)}</title>'
        f'<path class="line" d="{path}"/><path class="head" d="{head}"/>{barred}</g>'
    )


def _about(t: Catalogue, nodes: Mapping[str, Node], route: Route, marked: Marked) -> str:
    edge = route.edge
    ends = (nodes[name] for name in (edge.source, edge.target))
    between = " → ".join(node.text if node.members else node.id for node in ends)
    told = [t.count("draw.taken", marked.often)] if marked.often else []
    told += [_sentence(t, way) for way in marked.ways]
    return "\n".join((between, *(edge.details or edge.label), *told))


def _sentence(t: Catalogue, way: Way) -> str:
    why = f": {'; '.join(because(t, way.why))}" if way.why else ""
    return t(f"draw.way.{way.prospect}", row=way.row, why=why)


def _barred(points: Sequence[Point]) -> Point:
    """Where an edge is barred: shortly behind its beginning, before it turns."""
    (x, y), (_, after) = points[0], points[1]
    return x, y + (HEAD if after > y else -HEAD)


def _along(points: Sequence[Point]) -> tuple[str, str]:
    """A path along the points with its corners rounded, and its arrowhead."""
    (x, y), before = points[-1], points[-2]
    step = HEAD if y > before[1] else -HEAD
    path = [f"M{number(points[0][0])} {number(points[0][1])}"]
    path += [_corner(*three) for three in zip(points, points[1:], points[2:], strict=False)]
    return (
        f"{''.join(path)}L{number(x)} {number(y - step)}",
        f"M{number(x)} {number(y)}l-4.5 {number(-step)}h9z",
    )


def _corner(before: Point, here: Point, after: Point) -> str:
    """A line to shortly before a corner, and the bend around it."""
    (start_x, start_y), (end_x, end_y) = (_towards(here, before), _towards(here, after))
    bend = f"Q{number(here[0])} {number(here[1])} {number(end_x)} {number(end_y)}"
    return f"L{number(start_x)} {number(start_y)}{bend}"


def _towards(here: Point, there: Point) -> Point:
    """A point on the way to the next, near, and never beyond half of it."""
    length = abs(there[0] - here[0]) + abs(there[1] - here[1])
    share = min(ROUND / length, 0.5)
    return here[0] + (there[0] - here[0]) * share, here[1] + (there[1] - here[1]) * share


def _round(points: Sequence[Point]) -> tuple[str, str]:
    """The loop beside a node, between two points on its right side, and its arrowhead."""
    (x, upper), (_, lower) = points
    far = number(x + LOOP)
    bend = f"C{far} {number(upper - 10)} {far} {number(lower + 10)} {number(x + HEAD)} {number(lower + 1)}"
    return f"M{number(x)} {number(upper)}{bend}", f"M{number(x)} {number(lower)}l{number(HEAD)} -4.5v9z"


def _label(route: Route, marked: Marked, told: str) -> str:
    x, y = route.label or (0.0, 0.0)
    lines = caption(route.edge.label)
    width, height = label_size(route.edge)
    top = y - LINE * (len(lines) - 1) / 2
    spans = "".join(
        f'<tspan x="{number(x)}" y="{number(top + LINE * index)}" dy="0.35em">{xml(line)}</tspan>'
        for index, line in enumerate(lines)
    )
    plate = rect("plate", Box(x - width / 2, y - height / 2, width, height), 0, 4)
    title = f"<title>{xml(told)}</title>"
    return f'<g class="{" ".join(("label", *marked.words))}">{title}{plate}<text>{spans}</text></g>'


def _legend(t: Catalogue, y: float) -> tuple[str, ...]:
    """What the signs mean, in one line."""
    signs = (
        f'{sign(word, MARGIN + 6 + LEGEND * index, y)}<text x="{number(MARGIN + 16 + LEGEND * index)}" '
        f'y="{number(y)}" dy="0.35em">{xml(t(f"draw.legend.{word}"))}</text>'
        for index, word in enumerate(_SIGNS)
    )
    return ('<g class="legend">', *signs, "</g>")


def _notes(graph: Graph, layout: Layout) -> Iterator[str]:
    for index, note in enumerate(graph.notes):
        yield f'<text class="note" x="24" y="{number(layout.height + NOTE * index)}">{xml(note)}</text>'
