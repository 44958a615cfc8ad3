"""Where edges touch their nodes: spread along the side, in the order of where they lead."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from handrail.workflows.draw.network import Network
from handrail.workflows.draw.order import Order

APART = 13.0
CLOSEST = 7.0
CORNER = 15.0
LEAN = 0.15


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a strand at a node: `away` is how far the item it leads to lies to the right."""

    strand: int
    lower: bool
    node: int
    other: int
    away: float


def ports_of(
    network: Network, order: Order, middles: Sequence[float], widths: Sequence[float]
) -> tuple[tuple[float, float], ...]:
    """For every strand the position across of its upper and of its lower end."""
    sides: dict[tuple[int, bool], list[_End]] = {}
    for end in _ends(network, middles):
        sides.setdefault((end.node, end.lower), []).append(end)
    at: dict[tuple[int, bool], float] = {}
    for (node, lower), ends in sides.items():
        ends.sort(key=lambda end: (order.place[end.other], end.strand))
        limit = max(0.0, widths[node] / 2 - CORNER)
        for end, offset in zip(
            ends, _spread([_wish(network, end, limit) for end in ends], limit), strict=True
        ):
            at[end.strand, lower] = middles[node] + round(offset)
    return tuple((at[index, False], at[index, True]) for index in range(len(network.strands)))


def _ends(network: Network, middles: Sequence[float]) -> Iterator[_End]:
    for index, strand in enumerate(network.strands):
        upper, second, *_ = strand.items
        *_, last, lower = strand.items
        yield _End(index, lower=False, node=upper, other=second, away=middles[second] - middles[upper])
        yield _End(index, lower=True, node=lower, other=last, away=middles[last] - middles[lower])


def _wish(network: Network, end: _End, limit: float) -> float:
    """Straight on if the way leads along the node; else a little to the side where it leads."""
    if end.other >= network.nodes and abs(end.away) <= limit:
        return end.away
    return max(-limit, min(limit, end.away * LEAN))


def _spread(wishes: Sequence[float], limit: float) -> list[float]:
    """Offsets near the wishes, in order, apart, within the limit; the smallest wish is granted first."""
    anchor = min(range(len(wishes)), key=lambda index: abs(wishes[index]))
    before, after = anchor, len(wishes) - 1 - anchor
    least = min(CLOSEST, 2 * limit / max(1, before + after))
    offset = max(least * before - limit, min(limit - least * after, wishes[anchor]))
    right = _outwards(wishes[anchor + 1 :], offset, limit)
    left = _outwards([-wish for wish in reversed(wishes[:anchor])], -offset, limit)
    return [*(-other for other in reversed(left)), offset, *right]


def _outwards(wishes: Sequence[float], start: float, limit: float) -> list[float]:
    """Offsets to the right of a start, as near to the wishes as the limit allows."""
    apart = min(APART, (limit - start) / max(1, len(wishes)))
    offsets: list[float] = []
    for index, wish in enumerate(wishes):
        most = limit - apart * (len(wishes) - 1 - index)
        start = min(most, max(start + apart, wish))
        offsets.append(start)
    return offsets
