"""The third step of a layered layout: put the items of each layer in an order in which few links cross."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeAlias

from handrail.workflows.draw.layers import Links
from handrail.workflows.draw.network import Network

Rows: TypeAlias = list[list[int]]

START_WORK = 8_000
SWEEP_WORK = 24_000
SWEEPS = 24
LEAST_SWEEPS = 2
TURNS = 6


@dataclass(frozen=True, slots=True)
class Order:
    """The items of each layer from left to right, the place of each item in its layer, and the crossings."""

    rows: Sequence[Sequence[int]]
    place: Sequence[int]
    crossings: int


def ordered(network: Network) -> Order:
    """The best order found by sweeping down and up from several starts; the larger the network, the fewer."""
    links = sum(len(others) for others in network.below) + 1
    sweeps = max(LEAST_SWEEPS, min(SWEEPS, SWEEP_WORK // links))
    found: list[Order] = []
    for start in islice(_starts(network), max(1, START_WORK // links)):
        found.append(_swept(network, start, sweeps))
        if not found[-1].crossings:
            break
    return min(found, key=lambda order: order.crossings)


def crossings(rows: Sequence[Sequence[int]], place: Sequence[int], below: Links) -> int:
    """How many pairs of links cross, counted with a Fenwick tree: n log n in the number of links."""
    total = 0
    for row, lower in pairwise(rows):
        tree = [0] * (len(lower) + 1)
        seen = 0
        for item in row:
            ends = sorted(place[other] for other in below[item])
            total += sum(seen - _at_most(tree, end) for end in ends)
            for end in ends:
                _count(tree, end)
            seen += len(ends)
    return total


def _at_most(tree: Sequence[int], end: int) -> int:
    total, index = 0, end + 1
    while index:
        total += tree[index]
        index &= index - 1
    return total


def _count(tree: list[int], end: int) -> None:
    index = end + 1
    while index < len(tree):
        tree[index] += 1
        index += index & -index


def _starts(network: Network) -> Iterator[Rows]:
    """Rows as walks meet the items: down, up, and in all directions, along the links in order and turned."""
    items = range(len(network.layer))
    lowest = sorted(items, key=lambda item: -network.layer[item])
    around = [[*above, *below] for above, below in zip(network.above, network.below, strict=True)]
    turned = [[*below, *above] for above, below in zip(network.above, network.below, strict=True)]
    for links, roots in ((network.below, items), (network.above, lowest), (around, items), (turned, items)):
        yield _met(network, [list(reversed(others)) for others in links], roots)
        yield _met(network, links, roots)


def _met(network: Network, links: Links, roots: Sequence[int]) -> Rows:
    """Rows in the order in which a depth-first walk meets the items, the last link of each first."""
    rows: Rows = [[] for _ in range(max(network.layer) + 1)]
    met = [False] * len(network.layer)
    stack = list(reversed(roots))
    while stack:
        item = stack.pop()
        if not met[item]:
            met[item] = True
            rows[network.layer[item]].append(item)
            stack.extend(links[item])
    return rows


def _swept(network: Network, rows: Rows, sweeps: int) -> Order:
    place = [0] * len(network.layer)
    for row in rows:
        _settle(row, place)
    best = _kept(network, rows, place)
    for sweep in range(sweeps):
        if not best.crossings:
            break
        _sweep(network, rows, place, sweep)
        _transpose(network, rows, place)
        now = _kept(network, rows, place)
        best = min(best, now, key=lambda order: order.crossings)
    return best


def _kept(network: Network, rows: Rows, place: Sequence[int]) -> Order:
    return Order([list(row) for row in rows], list(place), crossings(rows, place, network.below))


def _settle(row: Sequence[int], place: list[int]) -> None:
    for index, item in enumerate(row):
        place[item] = index


def _sweep(network: Network, rows: Rows, place: list[int], sweep: int) -> None:
    """Sort each row by the middle of its neighbours in the row before it; now and then ties are turned."""
    downwards, flip = sweep % 2 == 0, sweep % 4 >= 2
    links = network.above if downwards else network.below
    for row in rows if downwards else reversed(rows):
        tied = [item for item in row if links[item]]
        places = [place[item] for item in tied]
        middle = {item: sum(place[other] for other in links[item]) / len(links[item]) for item in tied}
        wanted = sorted(reversed(tied) if flip else tied, key=middle.__getitem__)
        for item, index in zip(wanted, places, strict=True):
            row[index] = item
        _settle(row, place)


def _transpose(network: Network, rows: Rows, place: list[int]) -> None:
    """Swap neighbours in a row while that removes crossings, a bounded number of times."""
    active = set(range(len(rows)))
    for _ in range(TURNS):
        touched = {level for level in sorted(active) if _turn(network, rows[level], place)}
        active = {level + step for level in touched for step in (-1, 0, 1)} & set(range(len(rows)))
        if not active:
            break


def _turn(network: Network, row: list[int], place: list[int]) -> bool:
    changed = False
    for index in range(len(row) - 1):
        left, right = row[index], row[index + 1]
        gain = 0
        for links in (network.above, network.below):
            gain += _gain(links[left], links[right], place)
        if gain > 0:
            row[index], row[index + 1] = right, left
            place[left], place[right] = index + 1, index
            changed = True
    return changed


def _gain(left: Sequence[int], right: Sequence[int], place: Sequence[int]) -> int:
    """How many crossings of the links of two neighbours go away if the two change places."""
    gain = 0
    for one in left:
        for other in right:
            gain += (place[one] > place[other]) - (place[one] < place[other])
    return gain
