"""A graph laid out on a sheet: a box for every node and a route for every edge."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from handrail.workflows.draw.graph import Edge, Graph, Node
from handrail.workflows.draw.piece import Box, Piece, Route, piece_of
from handrail.workflows.draw.routes import Point

LABELLED = 250
MARGIN = 24.0
APART = 30.0


@dataclass(frozen=True, slots=True)
class Layout:
    """The size of the sheet, the box of every node by id, and the route of every edge."""

    width: float
    height: float
    boxes: Mapping[str, Box]
    routes: tuple[Route, ...]
    crossings: int = 0


def layout_of(graph: Graph) -> Layout:
    """The layout of a graph, the same for the same graph. Edges go down except to break a cycle.

    No two boxes overlap, and no edge runs through a box but its own. With more than `LABELLED` edges labels
    are not drawn. Every edge must join two nodes of the graph.
    """
    labelled = len(graph.edges) <= LABELLED
    pieces = [piece_of(nodes, edges, labelled=labelled) for nodes, edges in _parts(graph)]
    places = tuple(_places(pieces))
    boxes: dict[str, Box] = {}
    routes: list[Route] = []
    for piece, (x, y) in zip(pieces, places, strict=True):
        boxes.update((name, replace(box, x=box.x + x, y=box.y + y)) for name, box in piece.boxes)
        routes.extend(_moved(route, x, y) for route in piece.routes)
    width = max((piece.width + x for piece, (x, _) in zip(pieces, places, strict=True)), default=0.0)
    height = max((piece.height + y for piece, (_, y) in zip(pieces, places, strict=True)), default=0.0)
    crossings = sum(piece.crossings for piece in pieces)
    return Layout(width + MARGIN, height + MARGIN, boxes, tuple(routes), crossings)


def _parts(graph: Graph) -> Iterator[tuple[list[Node], list[Edge]]]:
    """The connected parts, each with its nodes and edges in declared order."""
    near: dict[str, list[str]] = {node.id: [] for node in graph.nodes}
    for edge in graph.edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    part: dict[str, int] = {}
    for number, node in enumerate(graph.nodes):
        _fill(node.id, number, near, part)
    for number in dict.fromkeys(part.values()):
        nodes = [node for node in graph.nodes if part[node.id] == number]
        yield nodes, [edge for edge in graph.edges if part[edge.source] == number]


def _fill(start: str, number: int, near: Mapping[str, Sequence[str]], part: dict[str, int]) -> None:
    stack = [start]
    while stack:
        name = stack.pop()
        if name not in part:
            part[name] = number
            stack.extend(near[name])


def _places(pieces: Sequence[Piece]) -> Iterator[Point]:
    """Where the pieces go: side by side, in shelves about as wide as all of them are high."""
    area = sum((piece.width + APART) * (piece.height + APART) for piece in pieces)
    most = max([math.sqrt(area) * 1.3, *(piece.width for piece in pieces)])
    x = y = shelf = 0.0
    for piece in pieces:
        if x and x + piece.width > most:
            x, y, shelf = 0.0, y + shelf + APART, 0.0
        yield MARGIN + x, MARGIN + y
        x += piece.width + APART
        shelf = max(shelf, piece.height)


def _moved(route: Route, x: float, y: float) -> Route:
    points = tuple((across + x, down + y) for across, down in route.points)
    label = (route.label[0] + x, route.label[1] + y) if route.label else None
    return replace(route, points=points, label=label)
