"""Lay out a graph: the size of nodes and labels, ports, lines, and the route of every edge.

Start at `lay_out_graph`. It splits the graph into connected pieces, lays each out with `layers`, and puts the
pieces side by side. All sizes are in SVG units.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from handrail.drawing.graph import Edge, Graph, Node, Shape
from handrail.drawing.layers import (
    Extent,
    LayoutEdge,
    Network,
    Order,
    ReadingOrder,
    Strand,
    build_network,
    order_layers,
    place_columns,
    straighten_runs,
)
from handrail.drawing.text import MAX_NODE_LETTERS, measure_text, shorten_label, shorten_text

# --- sizes of nodes and labels ------------------------------------------------------------------------------


NODE_FONT = 13.0
SMALL_FONT = 11.0
LINE_HEIGHT = 14.0
LOOP_WIDTH = 26.0
START_WIDTH = 30.0
_NODE_HEIGHTS = {
    Shape.STATE: 36.0,
    Shape.ROUTER: 36.0,
    Shape.TERMINAL: 36.0,
    Shape.GROUP: 40.0,
    Shape.ANY: 24.0,
    Shape.BACK: 24.0,
}
_NODE_PADDINGS = {
    Shape.STATE: 20.0,
    Shape.ROUTER: 28.0,
    Shape.TERMINAL: 25.0,
    Shape.GROUP: 22.0,
    Shape.ANY: 12.0,
    Shape.BACK: 12.0,
}
_MIN_NODE_WIDTH = 60.0
_NODE_MARGIN = 13.0
_LABEL_MARGIN = 7.0
_RETURN_PREFIX = "↩ "


def format_node_text(node: Node) -> str:
    """Return the text in a node, shortened; the tooltip has the rest."""
    text = shorten_text(node.text or node.id, MAX_NODE_LETTERS)
    return _RETURN_PREFIX + text if node.shape is Shape.BACK else text


def measure_node(node: Node) -> tuple[float, float]:
    """Return the width and height of a node's box."""
    font = NODE_FONT if _NODE_HEIGHTS[node.shape] > 30 else SMALL_FONT
    return max(
        _MIN_NODE_WIDTH, round(measure_text(format_node_text(node), font) + 2 * _NODE_PADDINGS[node.shape])
    ), _NODE_HEIGHTS[node.shape]


def measure_node_extent(node: Node, loop: Edge | None) -> Extent:
    """Return the space a node needs, with its start mark on the left and its loop on the right."""
    half = measure_node(node)[0] / 2 + _NODE_MARGIN
    beside = 0.0 if loop is None else LOOP_WIDTH + measure_label(loop)[0]
    return Extent(half + START_WIDTH * node.initial, half + beside, _NODE_HEIGHTS[node.shape])


def measure_label(edge: Edge) -> tuple[float, float]:
    """Return the width and height of a label, 0 by 0 if there is none."""
    lines = shorten_label(edge.label)
    return round(max((measure_text(line, SMALL_FONT) for line in lines), default=0.0)), LINE_HEIGHT * len(
        lines
    )


def measure_label_extent(edge: Edge) -> Extent | None:
    """Return the space a label needs on its edge; None if there is no label."""
    across, down = measure_label(edge)
    return Extent(across / 2 + _LABEL_MARGIN, across / 2 + _LABEL_MARGIN, down) if edge.label else None


# --- ports: where edges touch nodes -------------------------------------------------------------------------


PORT_DISTANCE = 13.0
MIN_PORT_DISTANCE = 7.0
CORNER_CLEARANCE = 15.0
LEAN_FACTOR = 0.15


@dataclass(frozen=True, slots=True)
class _StrandEnd:
    """One end of a strand at a node: `away` is how far to the right the item at its other end is."""

    strand: int
    lower: bool
    node: int
    other: int
    away: float


def place_ports(
    network: Network, order: Order, middles: Sequence[float], widths: Sequence[float]
) -> tuple[tuple[float, float], ...]:
    """Return, for every strand, the horizontal positions of its upper and lower end."""
    sides: dict[tuple[int, bool], list[_StrandEnd]] = {}
    for end in _list_strand_ends(network, middles):
        sides.setdefault((end.node, end.lower), []).append(end)
    at: dict[tuple[int, bool], float] = {}
    for (node, lower), ends in sides.items():
        ends.sort(key=lambda end: (order.place[end.other], end.strand))
        limit = max(0.0, widths[node] / 2 - CORNER_CLEARANCE)
        for end, offset in zip(
            ends,
            _spread_offsets([_find_preferred_offset(network, end, limit) for end in ends], limit),
            strict=True,
        ):
            at[end.strand, lower] = middles[node] + round(offset)
    return tuple((at[index, False], at[index, True]) for index in range(len(network.strands)))


def _list_strand_ends(network: Network, middles: Sequence[float]) -> Iterator[_StrandEnd]:
    for index, strand in enumerate(network.strands):
        upper, second, *_ = strand.items
        *_, last, lower = strand.items
        yield _StrandEnd(index, lower=False, node=upper, other=second, away=middles[second] - middles[upper])
        yield _StrandEnd(index, lower=True, node=lower, other=last, away=middles[last] - middles[lower])


def _find_preferred_offset(network: Network, end: _StrandEnd, limit: float) -> float:
    """Return the preferred offset of a port.

    The edge goes straight on to an inner item within the node's width. Otherwise it leans to that side a
    little.
    """
    if end.other >= network.nodes and abs(end.away) <= limit:
        return end.away
    return max(-limit, min(limit, end.away * LEAN_FACTOR))


def _spread_offsets(wishes: Sequence[float], limit: float) -> list[float]:
    """Return offsets near the wishes, in order, apart and within the limit.

    The smallest wish is met first.
    """
    anchor = min(range(len(wishes)), key=lambda index: abs(wishes[index]))
    before, after = anchor, len(wishes) - 1 - anchor
    least = min(MIN_PORT_DISTANCE, 2 * limit / max(1, before + after))
    offset = max(least * before - limit, min(limit - least * after, wishes[anchor]))
    right = _spread_outwards(wishes[anchor + 1 :], offset, limit)
    left = _spread_outwards([-wish for wish in reversed(wishes[:anchor])], -offset, limit)
    return [*(-other for other in reversed(left)), offset, *right]


def _spread_outwards(wishes: Sequence[float], start: float, limit: float) -> list[float]:
    """Return offsets to the right of a start, as near to the wishes as the limit allows."""
    apart = min(PORT_DISTANCE, (limit - start) / max(1, len(wishes)))
    offsets: list[float] = []
    for index, wish in enumerate(wishes):
        most = limit - apart * (len(wishes) - 1 - index)
        start = min(most, max(start + apart, wish))
        offsets.append(start)
    return offsets


# --- lines: where edges turn between layers -----------------------------------------------------------------


Point: TypeAlias = tuple[float, float]
Turn: TypeAlias = tuple[float, float]
TRACK_DISTANCE = 9.0
MAX_TRACKS_HEIGHT = 180.0
NODE_CLEARANCE = 16.0
LABEL_CLEARANCE = 7.0


@dataclass(frozen=True, slots=True)
class RouteLines:
    """The vertical positions of edges: the borders of each layer, and the height of each turn.

    Turns are keyed by strand and by the layer above.
    """

    bands: tuple[tuple[float, float], ...]
    turns: Mapping[tuple[int, int], float]


def place_lines(network: Network, order: Order, across: Sequence[Sequence[Turn]]) -> RouteLines:
    """Return the lines of a network.

    `across` has the horizontal start and end of each link of each strand.
    """
    bands: list[tuple[float, float]] = []
    turns: dict[tuple[int, int], float] = {}
    upper = 0.0
    for level, (row, gap) in enumerate(
        zip(order.rows, _find_turns_by_gap(network, order, across), strict=True)
    ):
        lower = upper + max(network.extent[item].height for item in row)
        bands.append((upper, lower))
        tracks = assign_tracks(tuple(gap.values()))
        last = max(tracks, default=0)
        apart = min(TRACK_DISTANCE, MAX_TRACKS_HEIGHT / (last + 1))
        first = lower + _find_clearance(network, row)
        turns.update(
            ((strand, level), first + apart * track) for strand, track in zip(gap, tracks, strict=True)
        )
        following = order.rows[level + 1] if level + 1 < len(order.rows) else ()
        upper = first + apart * last + _find_clearance(network, following)
    return RouteLines(tuple(bands), turns)


def assign_tracks(turns: Sequence[Turn]) -> tuple[int, ...]:
    """Return a track for every turn, 0 being the highest, so that no two lie on top of each other.

    Of two turns in the same direction, the one ahead runs above the other, so that they never cross twice.
    """
    ahead = sorted(range(len(turns)), key=lambda index: _rank_turn(turns[index]))
    track: dict[int, int] = {}
    for index in ahead:
        low, high = min(turns[index]), max(turns[index])
        met = (track[o] for o in track if min(turns[o]) <= high and max(turns[o]) >= low)
        track[index] = max(met, default=-1) + 1
    return tuple(track[index] for index in range(len(turns)))


def find_corners(
    strand: Strand, index: int, layers: Sequence[int], lines: RouteLines, across: Sequence[Turn]
) -> list[Point]:
    """Return the corners of a strand from top to bottom, without its ends."""
    corners: list[Point] = []
    for item, (start, end) in zip(strand.items[:-1], across, strict=True):
        height = lines.turns.get((index, layers[item]))
        if height is not None:
            corners += [(start, height), (end, height)]
    return corners


def _find_turns_by_gap(
    network: Network, order: Order, across: Sequence[Sequence[Turn]]
) -> list[dict[int, Turn]]:
    """Return, for the gap below each layer, the strands that turn in it."""
    gaps: list[dict[int, Turn]] = [{} for _ in order.rows]
    for index, (strand, links) in enumerate(zip(network.strands, across, strict=True)):
        for upper, (start, end) in zip(strand.items[:-1], links, strict=True):
            if start != end:
                gaps[network.layer[upper]][index] = (start, end)
    return gaps


def _rank_turn(turn: Turn) -> tuple[bool, float]:
    """Sort key: turns to the right from right to left, then turns to the left from left to right."""
    start, end = turn
    return end < start, -start if end > start else start


def _find_clearance(network: Network, row: Sequence[int]) -> float:
    return NODE_CLEARANCE if any(item < network.nodes for item in row) else LABEL_CLEARANCE


# --- one connected piece ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, by its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Route:
    """The route of an edge: straight lines between corners, vertical or horizontal.

    A loop from a node to itself has two points on the node's right side. `label` is the middle of the label,
    None if it is not drawn. `back` is true if the edge runs up to break a cycle.
    """

    edge: Edge
    points: tuple[Point, ...]
    label: Point | None
    back: bool = False


@dataclass(frozen=True, slots=True)
class LayoutPiece:
    """A part of a layout with its own origin."""

    width: float
    height: float
    boxes: tuple[tuple[str, Box], ...]
    routes: tuple[Route, ...]
    crossings: int


@dataclass(frozen=True, slots=True)
class _PieceFrame:
    """The positions in a piece: the middle of each item, and the two ends of every link of every strand."""

    network: Network
    middles: Sequence[float]
    across: Sequence[Sequence[Turn]]
    lines: RouteLines

    def middle(self, item: int) -> Point:
        """Return the middle of an item."""
        upper, lower = self.lines.bands[self.network.layer[item]]
        return self.middles[item], (upper + lower) / 2


def lay_out_piece(nodes: Sequence[Node], edges: Sequence[Edge], *, labelled: bool) -> LayoutPiece:
    """Return the layout of connected nodes and the edges between them."""
    number = {node.id: index for index, node in enumerate(nodes)}
    loops = {number[edge.source]: edge for edge in edges if edge.source == edge.target}
    others = [edge for edge in edges if edge.source != edge.target]
    ties = [
        LayoutEdge(number[e.source], number[e.target], measure_label_extent(e) if labelled else None)
        for e in others
    ]
    extents = [measure_node_extent(node, loops.get(index)) for index, node in enumerate(nodes)]
    network = build_network(extents, ties, _find_reading_order(nodes, others, number))
    order = order_layers(network)
    middles = straighten_runs(network, order, place_columns(network, order))
    ports = place_ports(network, order, middles, [measure_node(node)[0] for node in nodes])
    across = [_pair_positions(s.items, middles, ends) for s, ends in zip(network.strands, ports, strict=True)]
    frame = _PieceFrame(network, middles, across, place_lines(network, order, across))
    boxes = [_build_box(frame.middle(index), measure_node(node)) for index, node in enumerate(nodes)]
    routes = [_build_route(frame, boxes, index, edge) for index, edge in enumerate(others)]
    routes += [_build_loop(boxes[index], edge) for index, edge in loops.items()]
    placed = tuple((node.id, box) for node, box in zip(nodes, boxes, strict=True))
    width = max(x + extent.right for x, extent in zip(middles, network.extent, strict=True))
    return LayoutPiece(width, frame.lines.bands[-1][1], placed, tuple(routes), order.crossings)


def _find_reading_order(
    nodes: Sequence[Node], edges: Sequence[Edge], number: Mapping[str, int]
) -> ReadingOrder:
    """Return where reading starts, and where it continues from states drawn as one of many."""
    first = [index for index, node in enumerate(nodes) if node.initial]
    many = {node.id: node.members for node in nodes if node.shape is Shape.ANY}
    unseen = [(name, edge.target) for edge in edges for name in many.get(edge.source, ())]
    return ReadingOrder(first, [(number[name], number[target]) for name, target in unseen if name in number])


def _pair_positions(items: Sequence[int], middles: Sequence[float], ends: tuple[float, float]) -> list[Turn]:
    return list(pairwise([ends[0], *(middles[item] for item in items[1:-1]), ends[1]]))


def _build_box(middle: Point, size: tuple[float, float]) -> Box:
    return Box(middle[0] - size[0] / 2, middle[1] - size[1] / 2, *size)


def _build_route(frame: _PieceFrame, boxes: Sequence[Box], index: int, edge: Edge) -> Route:
    strand, across = frame.network.strands[index], frame.across[index]
    upper, lower = boxes[strand.items[0]], boxes[strand.items[-1]]
    corners = find_corners(strand, index, frame.network.layer, frame.lines, across)
    way = ((across[0][0], upper.y + upper.height), *corners, (across[-1][1], lower.y))
    label = None if strand.label is None else frame.middle(strand.label)
    return Route(edge, way[::-1] if strand.back else way, label, strand.back)


def _build_loop(box: Box, edge: Edge) -> Route:
    right, middle = box.x + box.width, box.y + box.height / 2
    points = ((right, middle - box.height / 5), (right, middle + box.height / 5))
    across = measure_label(edge)[0]
    return Route(edge, points, (right + LOOP_WIDTH + across / 2, middle) if edge.label else None)


# --- the whole graph ----------------------------------------------------------------------------------------


# With more edges than this, labels are not drawn.
MAX_LABELLED_EDGES = 250
MARGIN = 24.0
PIECE_DISTANCE = 30.0


@dataclass(frozen=True, slots=True)
class Layout:
    """The size of the sheet, the box of every node by id, and the route of every edge."""

    width: float
    height: float
    boxes: Mapping[str, Box]
    routes: tuple[Route, ...]
    crossings: int = 0


def lay_out_graph(graph: Graph) -> Layout:
    """Return the layout of a graph. It is deterministic: the same graph gets the same layout.

    Edges go down except to break a cycle. No two boxes overlap, and no edge runs through a box but its own.
    With more than `MAX_LABELLED_EDGES` edges, labels are not drawn. Every edge must join two nodes of the
    graph.
    """
    labelled = len(graph.edges) <= MAX_LABELLED_EDGES
    pieces = [lay_out_piece(nodes, edges, labelled=labelled) for nodes, edges in _split_connected(graph)]
    places = tuple(_place_pieces(pieces))
    boxes: dict[str, Box] = {}
    routes: list[Route] = []
    for piece, (x, y) in zip(pieces, places, strict=True):
        boxes.update((name, replace(box, x=box.x + x, y=box.y + y)) for name, box in piece.boxes)
        routes.extend(_move_route(route, x, y) for route in piece.routes)
    width = max((piece.width + x for piece, (x, _) in zip(pieces, places, strict=True)), default=0.0)
    height = max((piece.height + y for piece, (_, y) in zip(pieces, places, strict=True)), default=0.0)
    crossings = sum(piece.crossings for piece in pieces)
    return Layout(width + MARGIN, height + MARGIN, boxes, tuple(routes), crossings)


def _split_connected(graph: Graph) -> Iterator[tuple[list[Node], list[Edge]]]:
    """Yield the connected parts, each with its nodes and edges in declared order."""
    near: dict[str, list[str]] = {node.id: [] for node in graph.nodes}
    for edge in graph.edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    part: dict[str, int] = {}
    for number, node in enumerate(graph.nodes):
        _mark_connected(node.id, number, near, part)
    for number in dict.fromkeys(part.values()):
        nodes = [node for node in graph.nodes if part[node.id] == number]
        yield nodes, [edge for edge in graph.edges if part[edge.source] == number]


def _mark_connected(start: str, number: int, near: Mapping[str, Sequence[str]], part: dict[str, int]) -> None:
    stack = [start]
    while stack:
        name = stack.pop()
        if name not in part:
            part[name] = number
            stack.extend(near[name])


def _place_pieces(pieces: Sequence[LayoutPiece]) -> Iterator[Point]:
    """Yield where the pieces go: side by side, on shelves about as wide as all of them are high."""
    area = sum((piece.width + PIECE_DISTANCE) * (piece.height + PIECE_DISTANCE) for piece in pieces)
    most = max([math.sqrt(area) * 1.3, *(piece.width for piece in pieces)])
    x = y = shelf = 0.0
    for piece in pieces:
        if x and x + piece.width > most:
            x, y, shelf = 0.0, y + shelf + PIECE_DISTANCE, 0.0
        yield MARGIN + x, MARGIN + y
        x += piece.width + PIECE_DISTANCE
        shelf = max(shelf, piece.height)


def _move_route(route: Route, x: float, y: float) -> Route:
    points = tuple((across + x, down + y) for across, down in route.points)
    label = (route.label[0] + x, route.label[1] + y) if route.label else None
    return replace(route, points=points, label=label)
