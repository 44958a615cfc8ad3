"""Draw a laid out workflow graph as SVG, with the marks of a run.

Start at `draw_graph_svg`. Marks have signs as well as colours, so that they can be told apart without colour.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from handrail.drawing.text import (
    escape_hidden,
    escape_xml,
    format_attributes,
    format_number,
    format_point,
    measure_text,
    shorten_label,
)
from handrail.engine.decide import Availability
from handrail.workflows.templates import MessageCatalog

_ROUTER_POINT_WIDTH: Final = 12.0
_STACK_OFFSET: Final = 4.0
_SIGN_OFFSET: Final = 9.0
_MAX_SHOWN_COUNT: Final = 99
_PILL_HEIGHT: Final = 14.0
_PILL_FONT: Final = 9.0
_SIGN_PATHS: Final = {
    CURRENT: "M-3.5 -4.5L4.5 0L-3.5 4.5z",
    POSSIBLE: "M-4 0H4M1 -3L4 0L1 3",
    BLOCKED: "M-3 -3L3 3M3 -3L-3 3",
    VISITED: "M-4 .5L-1 3.5L4 -3",
}
_SIGN_INSETS: Final = {Shape.ROUTER: 9.0, Shape.TERMINAL: 5.0}
_STAND_INS: Final = frozenset({Shape.ANY, Shape.BACK})
_ARROWHEAD_LENGTH: Final = 8.0
_CORNER_RADIUS: Final = 9.0
_NOTE_HEIGHT: Final = 20.0
_LEGEND_WIDTH: Final = 96.0
# The maximum number of states named in the text description of a picture.
_MAX_NAMED_STATES: Final = 12
_LEGEND_SIGNS: Final = (CURRENT, VISITED, POSSIBLE, BLOCKED)


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
    nodes, marking, marked = {node.id: node for node in graph.nodes}, MarkIndex(marks), marks != NO_MARKS
    rooms = [measure_text(note, SMALL_FONT) + 2 * MARGIN for note in graph.notes]
    if marked:
        rooms.append(_LEGEND_WIDTH * len(_LEGEND_SIGNS) + MARGIN)
    width = format_number(max([layout.width, *rooms]))
    height = format_number(layout.height + _NOTE_HEIGHT * (len(graph.notes) + marked))
    title = graph.title
    if marks.current:
        title = t("draw.title_at", title=title, states=_list_some(t, marks.current))
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" class="workflow-graph"',
        f' role="{"group" if links else "img"}" viewBox="0 0 {width} {height}"',
        f' width="{width}" height="{height}"><title>{escape_xml(title)}</title>',
        f"<desc>{escape_xml(' '.join(_describe_graph(t, graph, marks)))}</desc>",
    ]
    if standalone:
        parts.append(f'<style>{GRAPH_STYLE}</style><rect class="sheet" width="100%" height="100%"/>')
    labels: list[str] = []
    for route in layout.routes:
        source, target = nodes[route.edge.source], nodes[route.edge.target]
        mark = marking.mark_edge(source, target)
        tooltip = f"<title>{escape_xml(_describe_edge(t, source, target, route, mark))}</title>"
        parts.append(_draw_edge(route, mark, tooltip))
        if route.label:
            labels.append(_draw_label(route, route.label, mark, tooltip))
    parts += [
        _draw_node(t, node, layout.boxes[node.id], marking.mark_node(node), links) for node in graph.nodes
    ]
    parts += labels
    y = layout.height
    for note in graph.notes:
        parts.append(f'<text class="note" x="24" y="{format_number(y)}">{escape_xml(note)}</text>')
        y += _NOTE_HEIGHT
    if marked:
        parts.append('<g class="legend">')
        for index, word in enumerate(_LEGEND_SIGNS):
            x = MARGIN + 6 + _LEGEND_WIDTH * index
            text = escape_xml(t(f"draw.legend.{word}"))
            parts.append(f"{_draw_sign(word, x, y)}<text {format_attributes(x=x + 10, y=y)}")
            parts.append(f' dy="0.35em">{text}</text>')
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


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
    first, more = ", ".join(names[:_MAX_NAMED_STATES]), len(names) - _MAX_NAMED_STATES
    return t("draw.some", names=first, n=more) if more > 0 else first


# --- edges --------------------------------------------------------------------------------------------------


def _draw_edge(route: Route, mark: Mark, tooltip: str) -> str:
    loop = route.edge.source == route.edge.target
    path, head = (_draw_loop if loop else _draw_line)(route.points)
    looks = ["return"] * (route.edge.line is LineStyle.RETURN) + ["back"] * route.back
    barred = ""
    if BLOCKED in mark.words and not loop:
        # The sign is just after the start, before the first turn.
        (x, y), (_, after) = route.points[:2]
        barred = _draw_sign(BLOCKED, x, y + (_ARROWHEAD_LENGTH if after > y else -_ARROWHEAD_LENGTH))
    return (
        f'<g class="{" ".join(("edge", *mark.words, *looks))}">{tooltip}'
        f'<path class="line" d="{path}"/><path class="head" d="{head}"/>{barred}</g>'
    )


def _describe_edge(t: MessageCatalog, source: Node, target: Node, route: Route, mark: Mark) -> str:
    between = " → ".join(node.text if node.members else node.id for node in (source, target))
    lines = [between, *(route.edge.details or route.edge.label)]
    if mark.often:
        lines.append(t.count("draw.taken", mark.often))
    for way in mark.ways:
        why = f": {'; '.join(explain_reasons(t, way.why))}" if way.why else ""
        lines.append(t(f"draw.way.{way.prospect}", row=way.row, why=why))
    return "\n".join(lines)


def _draw_line(points: Sequence[Point]) -> tuple[str, str]:
    """Return a path along the points with rounded corners, and its arrowhead."""
    (x, y), before = points[-1], points[-2]
    step = _ARROWHEAD_LENGTH if y > before[1] else -_ARROWHEAD_LENGTH
    path = [f"M{format_point(*points[0])}"]
    for start, corner, end in zip(points, points[1:], points[2:], strict=False):
        path.append(f"L{format_point(*_find_point_towards(corner, start))}")
        path.append(f"Q{format_point(*corner)} {format_point(*_find_point_towards(corner, end))}")
    return (
        f"{''.join(path)}L{format_point(x, y - step)}",
        f"M{format_point(x, y)}l-4.5 {format_number(-step)}h9z",
    )


def _find_point_towards(corner: Point, end: Point) -> Point:
    """Return a point near `corner` on the way to `end`, at most halfway."""
    length = abs(end[0] - corner[0]) + abs(end[1] - corner[1])
    share = min(_CORNER_RADIUS / length, 0.5)
    return corner[0] + (end[0] - corner[0]) * share, corner[1] + (end[1] - corner[1]) * share


def _draw_loop(points: Sequence[Point]) -> tuple[str, str]:
    """Return the loop beside a node, between two points on its right side, and its arrowhead."""
    (x, upper), (_, lower) = points
    far, tip = x + LOOP_WIDTH, format_point(x + _ARROWHEAD_LENGTH, lower + 1)
    bend = f"C{format_point(far, upper - 10)} {format_point(far, lower + 10)} {tip}"
    head = f"M{format_point(x, lower)}l{format_number(_ARROWHEAD_LENGTH)} -4.5v9z"
    return f"M{format_point(x, upper)}{bend}", head


def _draw_label(route: Route, middle: Point, mark: Mark, tooltip: str) -> str:
    (x, y), lines = middle, shorten_label(route.edge.label)
    width, height = measure_label(route.edge)
    top = y - LINE_HEIGHT * (len(lines) - 1) / 2
    spans = "".join(
        f'<tspan {format_attributes(x=x, y=top + LINE_HEIGHT * index)} dy="0.35em">{escape_xml(line)}</tspan>'
        for index, line in enumerate(lines)
    )
    plate = draw_rect("plate", Box(x - width / 2, y - height / 2, width, height), 4)
    return f'<g class="{" ".join(("label", *mark.words))}">{tooltip}{plate}<text>{spans}</text></g>'


# --- nodes --------------------------------------------------------------------------------------------------


def draw_rect(word: str, box: Box, radius: float) -> str:
    """Return a rectangle with round corners."""
    place = format_attributes(x=box.x, y=box.y, width=box.width, height=box.height, rx=radius)
    return f'<rect class="{word}" {place}/>'


def _draw_sign(word: str, x: float, y: float) -> str:
    """Return the sign of a mark at this point. Signs differ in shape, not only in colour."""
    move = f"translate({format_point(x, y)})"
    return f'<path class="sign {word}-sign" transform="{move}" d="{_SIGN_PATHS[word]}"/>'


def _draw_node(t: MessageCatalog, node: Node, box: Box, mark: Mark, links: str) -> str:
    """Return a node with its marks. `links` is the prefix of its id; if it is set, the node is a link."""
    words = " ".join(["node", node.shape.value, *["initial"] * node.initial, *mark.words])
    tag, attributes, kind = "g", "", "group" if node.shape is Shape.GROUP else "state"
    if node.shape not in _STAND_INS:
        if links:
            name = quote(escape_hidden(node.id), safe="")
            tag, attributes = "a", f' href="#{kind}={name}" id="{escape_xml(links)}-{name}"'
        attributes += f' data-{kind}="{escape_xml(node.id)}"'
    attributes += ' aria-current="step"' * (CURRENT in mark.words)
    prefix, slash, name = map(escape_xml, format_node_text(node).rpartition("/"))
    # The name of a sub-workflow is dimmed.
    text = f'<tspan class="prefix">{prefix}{slash}</tspan>{name}' if slash else name
    middle = format_attributes(x=box.x + box.width / 2, y=box.y + box.height / 2)
    tooltip = escape_xml("\n".join(_describe_node(t, node, mark)))
    return (
        f'<{tag} class="{words}"{attributes}><title>{tooltip}</title>'
        f'{_draw_outline(node, box)}<text {middle} dy="0.35em">{text}</text>'
        f"{''.join(_draw_signs(node, box, mark))}</{tag}>"
    )


def _describe_node(t: MessageCatalog, node: Node, mark: Mark) -> Iterator[str]:
    yield node.text or node.id
    if node.about:
        yield node.about
    if mark.here:
        yield t("draw.here_in", states=", ".join(mark.here)) if node.members else t("draw.here")
    if mark.often:
        yield t.count("draw.entered", mark.often)
    if node.hidden:
        yield t.count("draw.hidden", node.hidden)


def _draw_signs(node: Node, box: Box, mark: Mark) -> Iterator[str]:
    """Yield the sign of the mark on the left; visits and hidden neighbours as counts at the corners."""
    for word in mark.words[:1]:
        if word in _SIGN_PATHS:
            x = box.x + _SIGN_OFFSET + _SIGN_INSETS.get(node.shape, 0.0)
            yield _draw_sign(word, x, box.y + box.height / 2)
    if mark.often > 1:
        many = mark.often > _MAX_SHOWN_COUNT
        text = f"{_MAX_SHOWN_COUNT}+" if many else f"{mark.often}\N{MULTIPLICATION SIGN}"
        yield _draw_pill("count", text, box.x + box.width, box.y)
    if node.hidden:
        yield _draw_pill("more", f"+{node.hidden}", box.x + box.width, box.y + box.height)


def _draw_pill(word: str, text: str, right: float, middle: float) -> str:
    across = measure_text(text, _PILL_FONT) + 7
    box = Box(right + 8 - across, middle - _PILL_HEIGHT / 2, across, _PILL_HEIGHT)
    return (
        f'<g class="{word}">{draw_rect("pill", box, _PILL_HEIGHT / 2)}'
        f'<text {format_attributes(x=box.x + across / 2, y=middle)} dy="0.35em">{text}</text></g>'
    )


def _draw_outline(node: Node, box: Box) -> str:
    left, middle = box.x, box.y + box.height / 2
    start = ""
    if node.initial:
        x = left - START_WIDTH
        start = (
            f'<circle class="start" {format_attributes(cx=x + 8, cy=middle)} r="5"/>'
            f'<path class="start-line" d="M{format_point(x + 13, middle)}H{format_number(left - 6)}"/>'
            f'<path class="start" d="M{format_point(left, middle)}l-7 -4v8z"/>'
        )
    match node.shape:
        case Shape.ROUTER:
            right, bottom = left + box.width, box.y + box.height
            near, far = left + _ROUTER_POINT_WIDTH, right - _ROUTER_POINT_WIDTH
            upper, lower = ((near, box.y), (far, box.y)), ((far, bottom), (near, bottom))
            hexagon = "L".join(
                format_point(*corner) for corner in ((left, middle), *upper, (right, middle), *lower)
            )
            return f'{start}<path class="box" d="M{hexagon}z"/>'
        case Shape.TERMINAL:
            inner = Box(left + 3.5, box.y + 3.5, box.width - 7, box.height - 7)
            return start + draw_rect("box", box, box.height / 2) + draw_rect("inner", inner, inner.height / 2)
        case Shape.ANY | Shape.BACK:
            return start + draw_rect("box", box, box.height / 2)
        case Shape.STATE:
            return start + draw_rect("box", box, 9)
        case Shape.GROUP:
            front = Box(left, box.y + _STACK_OFFSET, box.width - _STACK_OFFSET, box.height - _STACK_OFFSET)
            behind = replace(front, x=left + _STACK_OFFSET, y=box.y)
            return start + draw_rect("box behind", behind, 9) + draw_rect("box", front, 9)
        case _:
            assert_never(node.shape)
