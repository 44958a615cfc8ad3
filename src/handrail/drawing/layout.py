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
    build_network,
    order_layers,
    place_columns,
    straighten_runs,
)
from handrail.drawing.text import MAX_NODE_LETTERS, measure_text, shorten_label, shorten_text

# --- sizes of nodes and labels ------------------------------------------------------------------------------


_NODE_FONT = 13.0
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


def _measure_node(node: Node) -> tuple[float, float]:
    """Return the width and height of a node's box."""
    font = _NODE_FONT if _NODE_HEIGHTS[node.shape] > 30 else SMALL_FONT
    width = round(measure_text(format_node_text(node), font) + 2 * _NODE_PADDINGS[node.shape])
    return max(_MIN_NODE_WIDTH, width), _NODE_HEIGHTS[node.shape]


def measure_label(edge: Edge) -> tuple[float, float]:
    """Return the width and height of a label, 0 by 0 if there is none."""
    lines = shorten_label(edge.label)
    width = max((measure_text(line, SMALL_FONT) for line in lines), default=0.0)
    return round(width), LINE_HEIGHT * len(lines)


# --- ports: where edges touch nodes -------------------------------------------------------------------------


_PORT_DISTANCE = 13.0
_MIN_PORT_DISTANCE = 7.0
_CORNER_CLEARANCE = 15.0
_LEAN_FACTOR = 0.15


def _place_ports(
    network: Network, order: Order, middles: Sequence[float], widths: Sequence[float]
) -> tuple[tuple[float, float], ...]:
    """Return, for every strand, the horizontal positions of its upper and lower end."""
    # By node and side: the item at the other end of each link, and the number of its strand.
    sides: dict[tuple[int, bool], list[tuple[int, int]]] = {}
    for index, strand in enumerate(network.strands):
        sides.setdefault((strand.items[0], False), []).append((strand.items[1], index))
        sides.setdefault((strand.items[-1], True), []).append((strand.items[-2], index))
    at: dict[tuple[int, bool], float] = {}
    for (node, lower), ends in sides.items():
        ends.sort(key=lambda end: (order.place[end[0]], end[1]))
        limit = max(0.0, widths[node] / 2 - _CORNER_CLEARANCE)
        wishes = []
        for other, _ in ends:
            # An edge goes straight on to an inner item within the node's width. Else it leans to that side.
            away = middles[other] - middles[node]
            straight = other >= network.nodes and abs(away) <= limit
            wishes.append(away if straight else max(-limit, min(limit, away * _LEAN_FACTOR)))
        for (_, index), offset in zip(ends, _spread_offsets(wishes, limit), strict=True):
            at[index, lower] = middles[node] + round(offset)
    return tuple((at[index, False], at[index, True]) for index in range(len(network.strands)))


def _spread_offsets(wishes: Sequence[float], limit: float) -> list[float]:
    """Return offsets near the wishes, in order, apart and within the limit.

    The smallest wish is met first.
    """
    anchor = min(range(len(wishes)), key=lambda index: abs(wishes[index]))
    before, after = anchor, len(wishes) - 1 - anchor
    least = min(_MIN_PORT_DISTANCE, 2 * limit / max(1, before + after))
    offset = max(least * before - limit, min(limit - least * after, wishes[anchor]))
    right = _spread_outwards(wishes[anchor + 1 :], offset, limit)
    left = _spread_outwards([-wish for wish in reversed(wishes[:anchor])], -offset, limit)
    return [*(-other for other in reversed(left)), offset, *right]


def _spread_outwards(wishes: Sequence[float], start: float, limit: float) -> list[float]:
    """Return offsets to the right of a start, as near to the wishes as the limit allows."""
    apart = min(_PORT_DISTANCE, (limit - start) / max(1, len(wishes)))
    offsets: list[float] = []
    for index, wish in enumerate(wishes):
        most = limit - apart * (len(wishes) - 1 - index)
        start = min(most, max(start + apart, wish))
        offsets.append(start)
    return offsets


# --- lines: where edges turn between layers -----------------------------------------------------------------


Point: TypeAlias = tuple[float, float]
_Turn: TypeAlias = tuple[float, float]
_TRACK_DISTANCE = 9.0
_MAX_TRACKS_HEIGHT = 180.0
_NODE_CLEARANCE = 16.0
_LABEL_CLEARANCE = 7.0


@dataclass(frozen=True, slots=True)
class _RouteLines:
    """The vertical positions of edges: the borders of each layer, and the height of each turn.

    Turns are keyed by strand and by the layer above.
    """

    bands: tuple[tuple[float, float], ...]
    turns: Mapping[tuple[int, int], float]


def _place_lines(network: Network, order: Order, across: Sequence[Sequence[_Turn]]) -> _RouteLines:
    """Return the lines of a network.

    `across` has the horizontal start and end of each link of each strand.
    """
    # For the gap below each layer: the strands that turn in it.
    gaps: list[dict[int, _Turn]] = [{} for _ in order.rows]
    for index, (strand, links) in enumerate(zip(network.strands, across, strict=True)):
        for item, (start, end) in zip(strand.items[:-1], links, strict=True):
            if start != end:
                gaps[network.layer[item]][index] = (start, end)
    clearances = [
        _NODE_CLEARANCE if any(item < network.nodes for item in row) else _LABEL_CLEARANCE
        for row in order.rows
    ]
    bands: list[tuple[float, float]] = []
    turns: dict[tuple[int, int], float] = {}
    bottom = 0.0
    for level, (row, gap) in enumerate(zip(order.rows, gaps, strict=True)):
        upper = bottom + clearances[level] if level else 0.0
        lower = upper + max(network.extent[item].height for item in row)
        bands.append((upper, lower))
        tracks = _assign_tracks(tuple(gap.values()))
        last = max(tracks, default=0)
        apart = min(_TRACK_DISTANCE, _MAX_TRACKS_HEIGHT / (last + 1))
        first = lower + clearances[level]
        for strand_index, track in zip(gap, tracks, strict=True):
            turns[strand_index, level] = first + apart * track
        bottom = first + apart * last
    return _RouteLines(tuple(bands), turns)


def _assign_tracks(turns: Sequence[_Turn]) -> tuple[int, ...]:
    """Return a track for every turn, 0 being the highest, so that no two lie on top of each other.

    Of two turns in the same direction, the one ahead runs above the other, so that they never cross twice.
    """
    # Turns to the right from right to left, then turns to the left from left to right.
    ahead = sorted(
        (end < start, -start if end > start else start, index) for index, (start, end) in enumerate(turns)
    )
    track: dict[int, int] = {}
    for *_, index in ahead:
        low, high = min(turns[index]), max(turns[index])
        met = (track[o] for o in track if min(turns[o]) <= high and max(turns[o]) >= low)
        track[index] = max(met, default=-1) + 1
    return tuple(track[index] for index in range(len(turns)))


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
class _LayoutPiece:
    """A part of a layout with its own origin."""

    width: float
    height: float
    boxes: tuple[tuple[str, Box], ...]
    routes: tuple[Route, ...]
    crossings: int


def _lay_out_piece(nodes: Sequence[Node], edges: Sequence[Edge], *, labelled: bool) -> _LayoutPiece:
    """Return the layout of connected nodes and the edges between them."""
    number = {node.id: index for index, node in enumerate(nodes)}
    loops = {number[edge.source]: edge for edge in edges if edge.source == edge.target}
    others = [edge for edge in edges if edge.source != edge.target]
    sizes = [_measure_node(node) for node in nodes]
    extents = []
    for index, node in enumerate(nodes):
        # The start mark is on the left of a node, its loop on the right.
        half = sizes[index][0] / 2 + _NODE_MARGIN
        beside = LOOP_WIDTH + measure_label(loops[index])[0] if index in loops else 0.0
        extents.append(Extent(half + START_WIDTH * node.initial, half + beside, sizes[index][1]))
    ties = []
    for edge in others:
        across, down = measure_label(edge)
        room = Extent(across / 2 + _LABEL_MARGIN, across / 2 + _LABEL_MARGIN, down)
        label = room if labelled and edge.label else None
        ties.append(LayoutEdge(number[edge.source], number[edge.target], label))
    network = build_network(extents, ties, _find_reading_order(nodes, others, number))
    order = order_layers(network)
    middles = straighten_runs(network, order, place_columns(network, order))
    ports = _place_ports(network, order, middles, [width for width, _ in sizes])
    links = [
        list(pairwise([start, *(middles[item] for item in strand.items[1:-1]), end]))
        for strand, (start, end) in zip(network.strands, ports, strict=True)
    ]
    lines = _place_lines(network, order, links)

    def find_middle(item: int) -> Point:
        upper, lower = lines.bands[network.layer[item]]
        return middles[item], (upper + lower) / 2

    boxes: list[Box] = []
    for index, (width, height) in enumerate(sizes):
        x, y = find_middle(index)
        boxes.append(Box(x - width / 2, y - height / 2, width, height))
    routes: list[Route] = []
    for index, (edge, strand, turns) in enumerate(zip(others, network.strands, links, strict=True)):
        upper, lower = boxes[strand.items[0]], boxes[strand.items[-1]]
        points: list[Point] = [(turns[0][0], upper.y + upper.height)]
        for item, (start, end) in zip(strand.items[:-1], turns, strict=True):
            turn = lines.turns.get((index, network.layer[item]))
            if turn is not None:
                points += [(start, turn), (end, turn)]
        points.append((turns[-1][1], lower.y))
        middle = None if strand.label is None else find_middle(strand.label)
        routes.append(Route(edge, tuple(points[::-1] if strand.back else points), middle, strand.back))
    for index, edge in loops.items():
        box = boxes[index]
        right, y, fifth = box.x + box.width, box.y + box.height / 2, box.height / 5
        middle = (right + LOOP_WIDTH + measure_label(edge)[0] / 2, y) if edge.label else None
        routes.append(Route(edge, ((right, y - fifth), (right, y + fifth)), middle))
    placed = tuple((node.id, box) for node, box in zip(nodes, boxes, strict=True))
    most = max(x + extent.right for x, extent in zip(middles, network.extent, strict=True))
    return _LayoutPiece(most, lines.bands[-1][1], placed, tuple(routes), order.crossings)


def _find_reading_order(
    nodes: Sequence[Node], edges: Sequence[Edge], number: Mapping[str, int]
) -> ReadingOrder:
    """Return where reading starts, and where it continues from states drawn as one of many."""
    first = [index for index, node in enumerate(nodes) if node.initial]
    many = {node.id: node.members for node in nodes if node.shape is Shape.ANY}
    unseen = [(name, edge.target) for edge in edges for name in many.get(edge.source, ())]
    return ReadingOrder(first, [(number[name], number[target]) for name, target in unseen if name in number])


# --- the whole graph ----------------------------------------------------------------------------------------


# With more edges than this, labels are not drawn.
_MAX_LABELLED_EDGES = 250
MARGIN = 24.0
_PIECE_DISTANCE = 30.0


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
    With more than `_MAX_LABELLED_EDGES` edges, labels are not drawn. Every edge must join two nodes of the
    graph.
    """
    labelled = len(graph.edges) <= _MAX_LABELLED_EDGES
    pieces = [_lay_out_piece(nodes, edges, labelled=labelled) for nodes, edges in _split_connected(graph)]
    places = tuple(_place_pieces(pieces))
    boxes: dict[str, Box] = {}
    routes: list[Route] = []
    for piece, (x, y) in zip(pieces, places, strict=True):
        boxes.update((name, replace(box, x=box.x + x, y=box.y + y)) for name, box in piece.boxes)
        for route in piece.routes:
            points = tuple((across + x, down + y) for across, down in route.points)
            label = (route.label[0] + x, route.label[1] + y) if route.label else None
            routes.append(replace(route, points=points, label=label))
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
        stack = [node.id]
        while stack:
            name = stack.pop()
            if name not in part:
                part[name] = number
                stack.extend(near[name])
    for number in dict.fromkeys(part.values()):
        nodes = [node for node in graph.nodes if part[node.id] == number]
        yield nodes, [edge for edge in graph.edges if part[edge.source] == number]


def _place_pieces(pieces: Sequence[_LayoutPiece]) -> Iterator[Point]:
    """Yield where the pieces go: side by side, on shelves about as wide as all of them are high."""
    area = sum((piece.width + _PIECE_DISTANCE) * (piece.height + _PIECE_DISTANCE) for piece in pieces)
    most = max([math.sqrt(area) * 1.3, *(piece.width for piece in pieces)])
    x = y = shelf = 0.0
    for piece in pieces:
        if x and x + piece.width > most:
            x, y, shelf = 0.0, y + shelf + _PIECE_DISTANCE, 0.0
        yield MARGIN + x, MARGIN + y
        x += piece.width + _PIECE_DISTANCE
        shelf = max(shelf, piece.height)
