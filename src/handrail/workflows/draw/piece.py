"""A connected part of a graph, laid out for itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from handrail.workflows.draw.columns import columns
from handrail.workflows.draw.graph import Edge, Node, Shape
from handrail.workflows.draw.network import Network, Reading, Tie, network_of
from handrail.workflows.draw.order import ordered
from handrail.workflows.draw.ports import ports_of
from handrail.workflows.draw.routes import Lines, Point, Turn, lines_of, way_of
from handrail.workflows.draw.sizes import LOOP, label_extent, label_size, node_extent, node_size
from handrail.workflows.draw.straighten import straightened


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, by its left upper corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Route:
    """The way of an edge: straight from corner to corner, upright or level.

    The route of an edge from a node to itself has two points on the node's right side. `label` is the middle
    of the label, None if it is not drawn; `back` is true if the edge runs up to break a cycle.
    """

    edge: Edge
    points: tuple[Point, ...]
    label: Point | None
    back: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a layout with its own origin."""

    width: float
    height: float
    boxes: tuple[tuple[str, Box], ...]
    routes: tuple[Route, ...]
    crossings: int


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where everything stands: the middle of each item, and the two ends of every link of every strand."""

    network: Network
    middles: Sequence[float]
    across: Sequence[Sequence[Turn]]
    lines: Lines

    def middle(self, item: int) -> Point:
        """The middle of an item."""
        upper, lower = self.lines.bands[self.network.layer[item]]
        return self.middles[item], (upper + lower) / 2


def piece_of(nodes: Sequence[Node], edges: Sequence[Edge], *, labelled: bool) -> Piece:
    """The layout of connected nodes and the edges between them."""
    number = {node.id: index for index, node in enumerate(nodes)}
    loops = {number[edge.source]: edge for edge in edges if edge.source == edge.target}
    others = [edge for edge in edges if edge.source != edge.target]
    ties = [Tie(number[e.source], number[e.target], label_extent(e) if labelled else None) for e in others]
    extents = [node_extent(node, loops.get(index)) for index, node in enumerate(nodes)]
    network = network_of(extents, ties, _reading(nodes, others, number))
    order = ordered(network)
    middles = straightened(network, order, columns(network, order))
    ports = ports_of(network, order, middles, [node_size(node)[0] for node in nodes])
    across = [_across(s.items, middles, ends) for s, ends in zip(network.strands, ports, strict=True)]
    frame = _Frame(network, middles, across, lines_of(network, order, across))
    boxes = [_box(frame.middle(index), node_size(node)) for index, node in enumerate(nodes)]
    routes = [_route(frame, boxes, index, edge) for index, edge in enumerate(others)]
    routes += [_loop(boxes[index], edge) for index, edge in loops.items()]
    placed = tuple((node.id, box) for node, box in zip(nodes, boxes, strict=True))
    width = max(x + extent.right for x, extent in zip(middles, network.extent, strict=True))
    return Piece(width, frame.lines.bands[-1][1], placed, tuple(routes), order.crossings)


def _reading(nodes: Sequence[Node], edges: Sequence[Edge], number: Mapping[str, int]) -> Reading:
    """Where one begins to read, and where one can go on from a state that is drawn as one of many."""
    first = [index for index, node in enumerate(nodes) if node.initial]
    many = {node.id: node.members for node in nodes if node.shape is Shape.ANY}
    unseen = [(name, edge.target) for edge in edges for name in many.get(edge.source, ())]
    return Reading(first, [(number[name], number[target]) for name, target in unseen if name in number])


def _across(items: Sequence[int], middles: Sequence[float], ends: tuple[float, float]) -> list[Turn]:
    return list(pairwise([ends[0], *(middles[item] for item in items[1:-1]), ends[1]]))


def _box(middle: Point, size: tuple[float, float]) -> Box:
    return Box(middle[0] - size[0] / 2, middle[1] - size[1] / 2, *size)


def _route(frame: _Frame, boxes: Sequence[Box], index: int, edge: Edge) -> Route:
    strand, across = frame.network.strands[index], frame.across[index]
    upper, lower = boxes[strand.items[0]], boxes[strand.items[-1]]
    corners = way_of(strand, index, frame.network.layer, frame.lines, across)
    way = ((across[0][0], upper.y + upper.height), *corners, (across[-1][1], lower.y))
    label = None if strand.label is None else frame.middle(strand.label)
    return Route(edge, way[::-1] if strand.back else way, label, strand.back)


def _loop(box: Box, edge: Edge) -> Route:
    right, middle = box.x + box.width, box.y + box.height / 2
    points = ((right, middle - box.height / 5), (right, middle + box.height / 5))
    across = label_size(edge)[0]
    return Route(edge, points, (right + LOOP + across / 2, middle) if edge.label else None)
