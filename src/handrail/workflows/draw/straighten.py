"""A last touch across: runs that miss each other by little are moved onto one line where there is room."""

from collections import Counter
from collections.abc import Iterator, Sequence

from handrail.workflows.draw.network import Network
from handrail.workflows.draw.order import Order

NEAR = 40.0
ROUNDS = 3


def straightened(network: Network, order: Order, middles: Sequence[float]) -> tuple[float, ...]:
    """The middles with fewer near misses; order and distances are kept, and the leftmost border is at 0."""
    at = list(middles)
    for _ in range(ROUNDS):
        for run in tuple(_runs(network, at)):
            _shift(network, order, at, run)
    start = min(x - extent.left for x, extent in zip(at, network.extent, strict=True))
    return tuple(x - start for x in at)


def _runs(network: Network, at: Sequence[float]) -> Iterator[list[int]]:
    """The items that stand on one straight line together, run by run."""
    met = [False] * len(at)
    for start in range(len(at)):
        run = [start] if not met[start] else []
        met[start] = True
        for item in run:
            for other in (*network.above[item], *network.below[item]):
                if not met[other] and at[other] == at[item]:
                    met[other] = True
                    run.append(other)
        if run:
            yield run


def _shift(network: Network, order: Order, at: list[float], run: Sequence[int]) -> None:
    """Move a run by the shift that lines it up with the most others, of those for which there is room."""
    ways = ((item, other) for item in run for other in (*network.above[item], *network.below[item]))
    misses = Counter(at[other] - at[item] for item, other in ways)
    near = [shift for shift in misses if 0 < abs(shift) <= NEAR]
    for shift in sorted(near, key=lambda value: (-misses[value], abs(value), value)):
        if all(_fits(network, order, at, item, shift) for item in run):
            for item in run:
                at[item] += shift
            return


def _fits(network: Network, order: Order, at: Sequence[float], item: int, shift: float) -> bool:
    row, place = order.rows[network.layer[item]], order.place[item]
    extent, new = network.extent[item], at[item] + shift
    if shift < 0 and place:
        other = row[place - 1]
        return at[other] + network.extent[other].right + extent.left <= new
    if shift > 0 and place < len(row) - 1:
        other = row[place + 1]
        return new + extent.right + network.extent[other].left <= at[other]
    return True
