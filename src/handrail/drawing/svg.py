"""Draw a laid out workflow graph as SVG, with the marks of a run.

Start at `draw_graph_svg`. Marks have signs as well as colours, so that they can be told apart without colour.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never
from urllib.parse import quote

from handrail.drawing.graph import Graph, LineStyle, Node, Shape
from handrail.drawing.layout import (
    LINE_HEIGHT,
    LOOP_WIDTH,
    MARGIN,
    SMALL_FONT,
    START_WIDTH,
    Box,
    Layout,
    Point,
    Route,
    format_node_text,
    measure_label,
)
from handrail.drawing.marks import (
    BLOCKED,
    CURRENT,
    NO_MARKS,
    POSSIBLE,
    VISITED,
    Mark,
    MarkIndex,
    RunMarks,
    explain_reasons,
)
from handrail.drawing.style import GRAPH_STYLE
from handrail.drawing.text import escape_hidden, escape_xml, format_number, measure_text, shorten_label
from handrail.engine.decide import Availability, Exit
from handrail.workflows.templates import MessageCatalog

ROUTER_POINT_WIDTH: Final = 12.0
STACK_OFFSET: Final = 4.0
SIGN_OFFSET: Final = 9.0
MAX_SHOWN_COUNT: Final = 99
PILL_HEIGHT: Final = 14.0
PILL_FONT: Final = 9.0
_SIGN_PATHS: Final = {
    CURRENT: "M-3.5 -4.5L4.5 0L-3.5 4.5z",
    POSSIBLE: "M-4 0H4M1 -3L4 0L1 3",
    BLOCKED: "M-3 -3L3 3M3 -3L-3 3",
    VISITED: "M-4 .5L-1 3.5L4 -3",
}
_SIGN_INSETS: Final = {Shape.ROUTER: 9.0, Shape.TERMINAL: 5.0}
_STAND_INS: Final = frozenset({Shape.ANY, Shape.BACK})
ARROWHEAD_LENGTH = 8.0
CORNER_RADIUS = 9.0
NOTE_HEIGHT = 20.0
LEGEND_WIDTH = 96.0
# The maximum number of states named in the text description of a picture.
MAX_NAMED_STATES = 12
_LEGEND_SIGNS = (CURRENT, VISITED, POSSIBLE, BLOCKED)


def draw_graph_svg(  # noqa: PLR0913 - what is drawn, and how
    t: MessageCatalog,
    graph: Graph,
    layout: Layout,
    marks: RunMarks = NO_MARKS,
    *,
    standalone: bool = True,
    links: str = "",
) -> str:
    """Return the picture as well-formed SVG without scripts, with all text of the graph escaped.

    With `standalone`, it carries its own style for light and dark. Otherwise it has no styles, not even in
    attributes, and the page that embeds it includes `GRAPH_STYLE`. With `links`, every state links to
    `#state=NAME` and every group to `#group=NAME`, with an id that begins with `links`. Without, there are no
    ids and no links.
    """
    nodes, marking = {node.id: node for node in graph.nodes}, MarkIndex(marks)
    legend = _draw_legend(t, layout.height + NOTE_HEIGHT * len(graph.notes)) if marks != NO_MARKS else ()
    rooms = [measure_text(note, SMALL_FONT) + 2 * MARGIN for note in graph.notes]
    width = max([layout.width, *rooms, *[LEGEND_WIDTH * len(_LEGEND_SIGNS) + MARGIN] * bool(legend)])
    height = layout.height + NOTE_HEIGHT * (len(graph.notes) + bool(legend))
    role = "group" if links else "img"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="workflow-graph" role="{role}"',
        (
            f' viewBox="0 0 {format_number(width)} {format_number(height)}" '
            f'width="{format_number(width)}" height="{format_number(height)}">'
        ),
        (
            f"<title>{escape_xml(_format_title(t, graph, marks))}</title><desc>"
            f"{escape_xml(' '.join(_describe_graph(t, graph, marks)))}</desc>"
        ),
    ]
    if standalone:
        parts.append(f'<style>{GRAPH_STYLE}</style><rect class="sheet" width="100%" height="100%"/>')
    route_marks = [_mark_route(nodes, marking, route) for route in layout.routes]
    tooltips = [_describe_edge(t, nodes, *pair) for pair in zip(layout.routes, route_marks, strict=True)]
    parts += [_draw_edge(*three) for three in zip(layout.routes, route_marks, tooltips, strict=True)]
    parts += [
        draw_node(t, node, layout.boxes[node.id], marking.mark_node(node), links) for node in graph.nodes
    ]
    parts += [
        _draw_label(*three)
        for three in zip(layout.routes, route_marks, tooltips, strict=True)
        if three[0].label
    ]
    parts += [*_draw_notes(graph, layout), *legend]
    return "".join([*parts, "</svg>"])


def _format_title(t: MessageCatalog, graph: Graph, marks: RunMarks) -> str:
    states = _list_some(t, marks.current)
    return t("draw.title_at", title=graph.title, states=states) if marks.current else graph.title


def _describe_graph(t: MessageCatalog, graph: Graph, marks: RunMarks) -> Iterator[str]:
    """Yield the picture in words, for readers who cannot see it."""
    yield t("draw.size", nodes=len(graph.nodes), ways=len(graph.edges))
    if marks.visits:
        yield t("draw.been", states=_list_some(t, sorted(marks.visits)))
    if marks.possible:
        yield t("draw.next", states=_list_some(t, sorted(marks.possible)))
    blocked = marks.blocked
    shut = [way for way in marks.ways if way.prospect is Availability.SHUT and way.target in blocked]
    if shut:
        blocked_states = [f"{way.target} ({'; '.join(explain_reasons(t, way.why))})" for way in shut]
        yield t("draw.shut", states=_list_some(t, blocked_states))


def _list_some(t: MessageCatalog, names: Sequence[str]) -> str:
    first, more = ", ".join(names[:MAX_NAMED_STATES]), len(names) - MAX_NAMED_STATES
    return t("draw.some", names=first, n=more) if more > 0 else first


def _mark_route(nodes: Mapping[str, Node], marking: MarkIndex, route: Route) -> Mark:
    return marking.mark_edge(nodes[route.edge.source], nodes[route.edge.target])


def _draw_legend(t: MessageCatalog, y: float) -> tuple[str, ...]:
    """Return the legend of the signs, in one line."""
    signs = (
        f"{draw_sign(word, MARGIN + 6 + LEGEND_WIDTH * index, y)}"
        f'<text x="{format_number(MARGIN + 16 + LEGEND_WIDTH * index)}" '
        f'y="{format_number(y)}" dy="0.35em">{escape_xml(t(f"draw.legend.{word}"))}</text>'
        for index, word in enumerate(_LEGEND_SIGNS)
    )
    return ('<g class="legend">', *signs, "</g>")


def _draw_notes(graph: Graph, layout: Layout) -> Iterator[str]:
    for index, note in enumerate(graph.notes):
        yield (
            f'<text class="note" x="24" y="{format_number(layout.height + NOTE_HEIGHT * index)}'
            f'">{escape_xml(note)}</text>'
        )


# --- edges --------------------------------------------------------------------------------------------------


def _draw_edge(route: Route, mark: Mark, tooltip: str) -> str:
    loop = route.edge.source == route.edge.target
    path, head = (_draw_loop if loop else _draw_line)(route.points)
    looks = ["return"] * (route.edge.line is LineStyle.RETURN) + ["back"] * route.back
    barred = draw_sign(BLOCKED, *_find_bar_point(route.points)) if BLOCKED in mark.words and not loop else ""
    return (
        f'<g class="{" ".join(("edge", *mark.words, *looks))}"><title>{escape_xml(tooltip)}</title>'
        f'<path class="line" d="{path}"/><path class="head" d="{head}"/>{barred}</g>'
    )


def _describe_edge(t: MessageCatalog, nodes: Mapping[str, Node], route: Route, mark: Mark) -> str:
    edge = route.edge
    ends = (nodes[name] for name in (edge.source, edge.target))
    between = " → ".join(node.text if node.members else node.id for node in ends)
    run_lines = [t.count("draw.taken", mark.often)] if mark.often else []
    run_lines += [_describe_way(t, way) for way in mark.ways]
    return "\n".join((between, *(edge.details or edge.label), *run_lines))


def _describe_way(t: MessageCatalog, way: Exit) -> str:
    why = f": {'; '.join(explain_reasons(t, way.why))}" if way.why else ""
    return t(f"draw.way.{way.prospect}", row=way.row, why=why)


def _find_bar_point(points: Sequence[Point]) -> Point:
    """Return where the sign of a blocked edge goes: just after its start, before its first turn."""
    (x, y), (_, after) = points[0], points[1]
    return x, y + (ARROWHEAD_LENGTH if after > y else -ARROWHEAD_LENGTH)


def _draw_line(points: Sequence[Point]) -> tuple[str, str]:
    """Return a path along the points with rounded corners, and its arrowhead."""
    (x, y), before = points[-1], points[-2]
    step = ARROWHEAD_LENGTH if y > before[1] else -ARROWHEAD_LENGTH
    path = [f"M{format_number(points[0][0])} {format_number(points[0][1])}"]
    path += [_draw_corner(*three) for three in zip(points, points[1:], points[2:], strict=False)]
    return (
        f"{''.join(path)}L{format_number(x)} {format_number(y - step)}",
        f"M{format_number(x)} {format_number(y)}l-4.5 {format_number(-step)}h9z",
    )


def _draw_corner(before: Point, corner: Point, after: Point) -> str:
    """Return a line to just before a corner, and the bend around it."""
    (start_x, start_y), (end_x, end_y) = (
        _find_point_towards(corner, before),
        _find_point_towards(corner, after),
    )
    control = f"{format_number(corner[0])} {format_number(corner[1])}"
    bend = f"Q{control} {format_number(end_x)} {format_number(end_y)}"
    return f"L{format_number(start_x)} {format_number(start_y)}{bend}"


def _find_point_towards(corner: Point, end: Point) -> Point:
    """Return a point near `corner` on the way to `end`, at most halfway."""
    length = abs(end[0] - corner[0]) + abs(end[1] - corner[1])
    share = min(CORNER_RADIUS / length, 0.5)
    return corner[0] + (end[0] - corner[0]) * share, corner[1] + (end[1] - corner[1]) * share


def _draw_loop(points: Sequence[Point]) -> tuple[str, str]:
    """Return the loop beside a node, between two points on its right side, and its arrowhead."""
    (x, upper), (_, lower) = points
    far = format_number(x + LOOP_WIDTH)
    bend = (
        f"C{far} {format_number(upper - 10)} {far} {format_number(lower + 10)}"
        f" {format_number(x + ARROWHEAD_LENGTH)} {format_number(lower + 1)}"
    )
    return (
        f"M{format_number(x)} {format_number(upper)}{bend}",
        f"M{format_number(x)} {format_number(lower)}l{format_number(ARROWHEAD_LENGTH)} -4.5v9z",
    )


def _draw_label(route: Route, mark: Mark, tooltip: str) -> str:
    x, y = route.label or (0.0, 0.0)
    lines = shorten_label(route.edge.label)
    width, height = measure_label(route.edge)
    top = y - LINE_HEIGHT * (len(lines) - 1) / 2
    spans = "".join(
        f'<tspan x="{format_number(x)}" y="{format_number(top + LINE_HEIGHT * index)}'
        f'" dy="0.35em">{escape_xml(line)}</tspan>'
        for index, line in enumerate(lines)
    )
    plate = draw_rect("plate", Box(x - width / 2, y - height / 2, width, height), 0, 4)
    title = f"<title>{escape_xml(tooltip)}</title>"
    return f'<g class="{" ".join(("label", *mark.words))}">{title}{plate}<text>{spans}</text></g>'


# --- nodes --------------------------------------------------------------------------------------------------


def draw_rect(word: str, box: Box, inset: float, radius: float) -> str:
    """Return a rectangle with round corners, `inset` inside a box."""
    return (
        f'<rect class="{word}" x="{format_number(box.x + inset)}" y="{format_number(box.y + inset)}" '
        f'width="{format_number(box.width - 2 * inset)}" height="{format_number(box.height - 2 * inset)}" '
        f'rx="{format_number(radius)}"/>'
    )


def draw_sign(word: str, x: float, y: float) -> str:
    """Return the sign of a mark at this point. Signs differ in shape, not only in colour."""
    return (
        f'<path class="sign {word}-sign" transform="translate({format_number(x)}'
        f' {format_number(y)})" d="{_SIGN_PATHS[word]}"/>'
    )


def draw_node(t: MessageCatalog, node: Node, box: Box, mark: Mark, links: str) -> str:
    """Return a node with its marks. `links` is the prefix of its id; if it is set, the node is a link."""
    words = " ".join(["node", node.shape.value, *["initial"] * node.initial, *mark.words])
    middle = f'x="{format_number(box.x + box.width / 2)}" y="{format_number(box.y + box.height / 2)}"'
    tooltip = "\n".join(_describe_node(t, node, mark))
    tag, attributes = (
        ("a", _format_link(node, links)) if links and node.shape not in _STAND_INS else ("g", "")
    )
    return (
        f'<{tag} class="{words}"{attributes}{_format_data_attributes(node, mark)}'
        f"><title>{escape_xml(tooltip)}</title>{_draw_outline(node, box)}"
        f'<text {middle} dy="0.35em">{_draw_name(node)}</text>'
        f"{''.join(_draw_signs(node, box, mark))}</{tag}>"
    )


def _describe_node(t: MessageCatalog, node: Node, mark: Mark) -> Iterator[str]:
    yield node.text or node.id
    yield from (node.about,) if node.about else ()
    if mark.here:
        yield t("draw.here_in", states=", ".join(mark.here)) if node.members else t("draw.here")
    if mark.often:
        yield t.count("draw.entered", mark.often)
    if node.hidden:
        yield t.count("draw.hidden", node.hidden)


def _format_link(node: Node, links: str) -> str:
    name = quote(escape_hidden(node.id), safe="")
    kind = "group" if node.shape is Shape.GROUP else "state"
    return f' href="#{kind}={name}" id="{escape_xml(links)}-{name}"'


def _format_data_attributes(node: Node, mark: Mark) -> str:
    current = ' aria-current="step"' * (CURRENT in mark.words)
    if node.shape in _STAND_INS:
        return current
    kind = "group" if node.shape is Shape.GROUP else "state"
    return f' data-{kind}="{escape_xml(node.id)}"{current}'


def _draw_name(node: Node) -> str:
    """Return the text of a node; the name of a sub-workflow before a `/` is dimmed."""
    prefix, slash, rest = format_node_text(node).rpartition("/")
    return (
        f'<tspan class="prefix">{escape_xml(prefix + slash)}</tspan>{escape_xml(rest)}'
        if slash
        else escape_xml(rest)
    )


def _draw_signs(node: Node, box: Box, mark: Mark) -> Iterator[str]:
    """Yield the sign of the mark on the left; visits and hidden neighbours as counts at the corners."""
    for word in mark.words[:1]:
        if word in _SIGN_PATHS:
            yield draw_sign(
                word, box.x + SIGN_OFFSET + _SIGN_INSETS.get(node.shape, 0.0), box.y + box.height / 2
            )
    if mark.often > 1:
        text = (
            f"{mark.often}\N{MULTIPLICATION SIGN}" if mark.often <= MAX_SHOWN_COUNT else f"{MAX_SHOWN_COUNT}+"
        )
        yield _draw_pill("count", text, box.x + box.width, box.y)
    if node.hidden:
        yield _draw_pill("more", f"+{node.hidden}", box.x + box.width, box.y + box.height)


def _draw_pill(word: str, text: str, right: float, middle: float) -> str:
    across = measure_text(text, PILL_FONT) + 7
    box = Box(right + 8 - across, middle - PILL_HEIGHT / 2, across, PILL_HEIGHT)
    place = f'x="{format_number(box.x + across / 2)}" y="{format_number(middle)}"'
    return (
        f'<g class="{word}">{draw_rect("pill", box, 0, PILL_HEIGHT / 2)}'
        f'<text {place} dy="0.35em">{text}</text></g>'
    )


def _draw_outline(node: Node, box: Box) -> str:
    parts = [_draw_start(box)] if node.initial else []
    match node.shape:
        case Shape.ROUTER:
            parts.append(f'<path class="box" d="{_draw_hexagon(box)}"/>')
        case Shape.TERMINAL:
            parts += [
                draw_rect("box", box, 0, box.height / 2),
                draw_rect("inner", box, 3.5, box.height / 2 - 3.5),
            ]
        case Shape.ANY | Shape.BACK:
            parts.append(draw_rect("box", box, 0, box.height / 2))
        case Shape.STATE:
            parts.append(draw_rect("box", box, 0, 9))
        case Shape.GROUP:
            behind = Box(box.x + STACK_OFFSET, box.y, box.width - STACK_OFFSET, box.height - STACK_OFFSET)
            front = Box(box.x, box.y + STACK_OFFSET, box.width - STACK_OFFSET, box.height - STACK_OFFSET)
            parts += [draw_rect("box behind", behind, 0, 9), draw_rect("box", front, 0, 9)]
        case _:
            assert_never(node.shape)
    return "".join(parts)


def _draw_hexagon(box: Box) -> str:
    left, right, middle = box.x, box.x + box.width, box.y + box.height / 2
    corners = (
        (left, middle),
        (left + ROUTER_POINT_WIDTH, box.y),
        (right - ROUTER_POINT_WIDTH, box.y),
        (right, middle),
        (right - ROUTER_POINT_WIDTH, box.y + box.height),
        (left + ROUTER_POINT_WIDTH, box.y + box.height),
    )
    return "M" + "L".join(f"{format_number(x)} {format_number(y)}" for x, y in corners) + "z"


def _draw_start(box: Box) -> str:
    x, y = box.x - START_WIDTH, box.y + box.height / 2
    return (
        f'<circle class="start" cx="{format_number(x + 8)}" cy="{format_number(y)}" r="5"/>'
        f'<path class="start-line" d="M{format_number(x + 13)}'
        f' {format_number(y)}H{format_number(box.x - 6)}"/>'
        f'<path class="start" d="M{format_number(box.x)} {format_number(y)}l-7 -4v8z"/>'
    )
