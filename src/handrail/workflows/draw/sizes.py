"""The measures of a picture, and the room that nodes and labels need."""

from handrail.workflows.draw.graph import Edge, Node, Shape
from handrail.workflows.draw.network import Extent
from handrail.workflows.draw.words import NODE_LETTERS, caption, shortened, width

NODE_FONT = 13.0
SMALL_FONT = 11.0
LINE = 14.0
LOOP = 26.0
START = 30.0

_HEIGHT = {
    Shape.STATE: 36.0,
    Shape.ROUTER: 36.0,
    Shape.TERMINAL: 36.0,
    Shape.GROUP: 40.0,
    Shape.ANY: 24.0,
    Shape.BACK: 24.0,
}
_PAD = {
    Shape.STATE: 20.0,
    Shape.ROUTER: 28.0,
    Shape.TERMINAL: 25.0,
    Shape.GROUP: 22.0,
    Shape.ANY: 12.0,
    Shape.BACK: 12.0,
}
_LEAST = 60.0
_BESIDE = 13.0
_AROUND_LABEL = 7.0
_RETURNS = "↩ "


def node_text(node: Node) -> str:
    """What is written in a node; the rest is told on demand."""
    text = shortened(node.text or node.id, NODE_LETTERS)
    return _RETURNS + text if node.shape is Shape.BACK else text


def node_size(node: Node) -> tuple[float, float]:
    """The width and height of a node's box."""
    font = NODE_FONT if _HEIGHT[node.shape] > 30 else SMALL_FONT
    return max(_LEAST, round(width(node_text(node), font) + 2 * _PAD[node.shape])), _HEIGHT[node.shape]


def node_extent(node: Node, loop: Edge | None) -> Extent:
    """The room a node needs, with the mark of the start on its left and its own loop on its right."""
    half = node_size(node)[0] / 2 + _BESIDE
    beside = 0.0 if loop is None else LOOP + label_size(loop)[0]
    return Extent(half + START * node.initial, half + beside, _HEIGHT[node.shape])


def label_size(edge: Edge) -> tuple[float, float]:
    """The width and height of a label, 0 by 0 if there is none."""
    lines = caption(edge.label)
    return round(max((width(line, SMALL_FONT) for line in lines), default=0.0)), LINE * len(lines)


def label_extent(edge: Edge) -> Extent | None:
    """The room a label needs on its edge, if there is one."""
    across, down = label_size(edge)
    return Extent(across / 2 + _AROUND_LABEL, across / 2 + _AROUND_LABEL, down) if edge.label else None
