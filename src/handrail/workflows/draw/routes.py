"""The last step of a layered layout: how high the layers stand, and the way of every edge between them.

Edges run upright through the layers and turn only in the gaps between them, each on a track of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from handrail.workflows.draw.network import Network, Strand
from handrail.workflows.draw.order import Order

Point: TypeAlias = tuple[float, float]
Turn: TypeAlias = tuple[float, float]

TRACK = 9.0
TRACKS_HEIGHT = 180.0
BESIDE_NODE = 16.0
BESIDE_LABEL = 7.0


@dataclass(frozen=True, slots=True)
class Lines:
    """Where edges run: the borders of each layer, and the height of turns, by strand and layer above."""

    bands: tuple[tuple[float, float], ...]
    turns: Mapping[tuple[int, int], float]


def lines_of(network: Network, order: Order, across: Sequence[Sequence[Turn]]) -> Lines:
    """The lines of a network; `across` says where each link of each strand starts and ends across."""
    bands: list[tuple[float, float]] = []
    turns: dict[tuple[int, int], float] = {}
    upper = 0.0
    for level, (row, gap) in enumerate(zip(order.rows, _gaps(network, order, across), strict=True)):
        lower = upper + max(network.extent[item].height for item in row)
        bands.append((upper, lower))
        tracks = tracks_of(tuple(gap.values()))
        last = max(tracks, default=0)
        apart = min(TRACK, TRACKS_HEIGHT / (last + 1))
        first = lower + _beside(network, row)
        turns.update(
            ((strand, level), first + apart * track) for strand, track in zip(gap, tracks, strict=True)
        )
        following = order.rows[level + 1] if level + 1 < len(order.rows) else ()
        upper = first + apart * last + _beside(network, following)
    return Lines(tuple(bands), turns)


def tracks_of(turns: Sequence[Turn]) -> tuple[int, ...]:
    """A track for every turn, 0 being the highest, so that no two run on top of each other.

    Of two that go the same way, the one ahead runs above the other, so that neither cuts the other twice.
    """
    ahead = sorted(range(len(turns)), key=lambda index: _precedence(turns[index]))
    track: dict[int, int] = {}
    for index in ahead:
        low, high = min(turns[index]), max(turns[index])
        met = (track[o] for o in track if min(turns[o]) <= high and max(turns[o]) >= low)
        track[index] = max(met, default=-1) + 1
    return tuple(track[index] for index in range(len(turns)))


def way_of(
    strand: Strand, index: int, layers: Sequence[int], lines: Lines, across: Sequence[Turn]
) -> list[Point]:
    """The corners of a strand from top to bottom, without its ends."""
    corners: list[Point] = []
    for item, (start, end) in zip(strand.items[:-1], across, strict=True):
        height = lines.turns.get((index, layers[item]))
        if height is not None:
            corners += [(start, height), (end, height)]
    return corners


def _gaps(network: Network, order: Order, across: Sequence[Sequence[Turn]]) -> list[dict[int, Turn]]:
    """For the gap below each layer, the strands that turn in it."""
    gaps: list[dict[int, Turn]] = [{} for _ in order.rows]
    for index, (strand, links) in enumerate(zip(network.strands, across, strict=True)):
        for upper, (start, end) in zip(strand.items[:-1], links, strict=True):
            if start != end:
                gaps[network.layer[upper]][index] = (start, end)
    return gaps


def _precedence(turn: Turn) -> tuple[bool, float]:
    """Turns to the right from right to left, then turns to the left from left to right."""
    start, end = turn
    return end < start, -start if end > start else start


def _beside(network: Network, row: Sequence[int]) -> float:
    return BESIDE_NODE if any(item < network.nodes for item in row) else BESIDE_LABEL
