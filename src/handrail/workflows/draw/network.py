"""A graph cut into layers: long edges pass each layer between as an item of their own, and so do labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from handrail.workflows.draw.layers import Link, Links, feedback, neighbours, ranks


@dataclass(frozen=True, slots=True)
class Extent:
    """The room something needs to the left and right of its middle line, and its height."""

    left: float
    right: float
    height: float


@dataclass(frozen=True, slots=True)
class Tie:
    """An edge between two different nodes, by number, with the room its label needs, if it has one."""

    source: int
    target: int
    label: Extent | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """How a graph is to be read: from which nodes on, and along which ways that are not drawn as edges."""

    first: Sequence[int] = ()
    unseen: Sequence[Link] = ()


@dataclass(frozen=True, slots=True)
class Strand:
    """The items an edge runs through, from top to bottom; `back` if it is to be followed upwards."""

    items: tuple[int, ...]
    back: bool
    label: int | None


@dataclass(frozen=True, slots=True)
class Network:
    """Items by number, the nodes first, and the links between them; each joins neighbouring layers."""

    nodes: int
    layer: tuple[int, ...]
    extent: tuple[Extent, ...]
    above: Links
    below: Links
    strands: tuple[Strand, ...]


THREAD = Extent(5, 5, 0)


def network_of(nodes: Sequence[Extent], ties: Sequence[Tie], reading: Reading) -> Network:
    """The network of a graph."""
    back = feedback(len(nodes), [*((tie.source, tie.target) for tie in ties), *reading.unseen], reading.first)
    ways = [_Way(tie, index in back) for index, tie in enumerate(ties)]
    rank = ranks(len(nodes), [way.ends for way in ways])
    gaps = {way.gap(rank) for way in ways if way.tie.label}
    base = tuple(accumulate((1 + (gap in gaps) for gap in range(max(rank, default=0))), initial=0))
    layer, extent = [base[value] for value in rank], list(nodes)
    strands = []
    for way in ways:
        strand, rooms = _strand(way, layer, base[way.gap(rank)] + 1)
        strands.append(strand)
        extent.extend(rooms)
        layer.extend(layer[strand.items[0]] + step for step in range(1, len(rooms) + 1))
    above, below = neighbours(len(layer), [link for strand in strands for link in pairwise(strand.items)])
    return Network(len(nodes), tuple(layer), tuple(extent), above, below, tuple(strands))


@dataclass(frozen=True, slots=True)
class _Way:
    """A tie and whether it runs upwards."""

    tie: Tie
    back: bool

    @property
    def ends(self) -> Link:
        ends = (self.tie.source, self.tie.target)
        return (ends[1], ends[0]) if self.back else ends

    def gap(self, rank: Sequence[int]) -> int:
        """The gap between ranks that lies next to the source, where the label is looked for."""
        return rank[self.tie.source] - self.back


def _strand(way: _Way, layer: Sequence[int], label_layer: int) -> tuple[Strand, list[Extent]]:
    """The strand of a way, and the room for each of its inner items, which are numbered after all others."""
    upper, lower = way.ends
    rooms = [THREAD] * (layer[lower] - layer[upper] - 1)
    label = None
    if way.tie.label:
        place = label_layer - layer[upper] - 1
        rooms[place], label = way.tie.label, len(layer) + place
    inner = range(len(layer), len(layer) + len(rooms))
    return Strand((upper, *inner, lower), way.back, label), rooms
