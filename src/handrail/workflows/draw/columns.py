"""The fourth step of a layered layout: across, so that nothing overlaps and what runs straight is straight.

After Brandes and Köpf: items are aligned with a middle neighbour, towards each of the four corners in turn;
each alignment is packed as tightly as it goes; the two middle ones of the four positions are averaged.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from handrail.workflows.draw.compact import View, packed, strained_links
from handrail.workflows.draw.layers import Links
from handrail.workflows.draw.network import Network
from handrail.workflows.draw.order import Order

Blocked: TypeAlias = set[tuple[int, int]]

STRETCH = 1.5
ALLOWANCE = 600.0
ROUNDS = 16
WORK = 70_000


def columns(network: Network, order: Order) -> tuple[float, ...]:
    """The middle line of every item, in whole numbers."""
    views = [
        _view(network, order, upwards=up, mirrored=left) for up in (False, True) for left in (False, True)
    ]
    blocked = _eased(network, order, views)
    layouts = [packed(view, _aligned(view, blocked)) for view in views]
    for mirrored in layouts[1::2]:
        mirrored[:] = [-x for x in mirrored]
    return tuple(float(round(x)) for x in _balanced(network, layouts))


def _eased(network: Network, order: Order, views: Sequence[View]) -> Blocked:
    """The links that must bend: some cross the inner part of a long edge, others cost too much width."""
    blocked = _blocked(network, order)
    rooms = [extent.left + extent.right for extent in network.extent]
    most = max(sum(rooms[item] for item in row) for row in order.rows) * STRETCH + ALLOWANCE
    for view in views:
        for _ in range(max(1, min(ROUNDS, WORK // len(rooms)))):
            strained = strained_links(view, _aligned(view, blocked), most)
            if not strained:
                break
            blocked |= strained
    return blocked


def _view(network: Network, order: Order, *, upwards: bool, mirrored: bool) -> View:
    rows = list(reversed(order.rows)) if upwards else order.rows
    links = _leading(network, network.below if upwards else network.above)
    left, right = [e.left for e in network.extent], [e.right for e in network.extent]
    if not mirrored:
        return View(rows, order.place, links, left, right)
    place = list(order.place)
    for row in order.rows:
        for item in row:
            place[item] = len(row) - 1 - place[item]
    return View([list(reversed(row)) for row in rows], place, links, right, left)


def _leading(network: Network, links: Links) -> Links:
    """The links without those between nodes and edges that run back: such nodes have others to align with."""
    ahead = {strand.items for strand in network.strands if not strand.back}
    back = [strand.items for strand in network.strands if strand.back]
    leading = list(links)
    for upper, lower in ({items[:2] for items in back} | {items[-2:] for items in back}) - ahead:
        leading[upper] = [other for other in leading[upper] if other != lower]
        leading[lower] = [other for other in leading[lower] if other != upper]
    return leading


def _blocked(network: Network, order: Order) -> Blocked:
    """The links, named from both ends, that must bend because they cross the inner part of a long edge."""
    found = {link for row in order.rows for link in _crossing(network, order.place, row)}
    return found | {(lower, upper) for upper, lower in found}


def _crossing(network: Network, place: Sequence[int], row: Sequence[int]) -> Iterator[tuple[int, int]]:
    before, start = -1, 0
    for index, item in enumerate(row):
        inner = _inner(network, item)
        if inner is None and index < len(row) - 1:
            continue
        here = len(place) if inner is None else place[inner]
        for passed in row[start : index + 1]:
            for upper in network.above[passed]:
                if not before <= place[upper] <= here and _inner(network, passed) is None:
                    yield upper, passed
        before, start = here, index + 1


def _inner(network: Network, item: int) -> int | None:
    """The upper end of the link into this item, if both are no nodes but parts of a long edge."""
    if item < network.nodes or network.above[item][0] < network.nodes:
        return None
    return network.above[item][0]


def _aligned(view: View, blocked: Blocked) -> list[int]:
    """For every item the first item of the block it stands in: blocks run straight and never cross."""
    root = list(range(len(view.place)))
    for row in view.rows:
        reach = -1
        for item in row:
            others = sorted(view.links[item], key=view.place.__getitem__)
            for other in others[(len(others) - 1) // 2 : len(others) // 2 + 1]:
                free = root[item] == item and reach < view.place[other]
                if free and (other, item) not in blocked:
                    root[item] = root[other]
                    reach = view.place[other]
    return root


def _balanced(network: Network, layouts: Sequence[Sequence[float]]) -> list[float]:
    """The average of the two middle positions, after all layouts are moved onto the narrowest."""
    spans = [_span(network, layout) for layout in layouts]
    narrow = min(spans, key=lambda span: span[1] - span[0])
    moved = []
    for index, (layout, span) in enumerate(zip(layouts, spans, strict=True)):
        shift = narrow[index % 2] - span[index % 2]
        moved.append([x + shift for x in layout])
    return [(middle[1] + middle[2]) / 2 for middle in map(sorted, zip(*moved, strict=True))]


def _span(network: Network, layout: Sequence[float]) -> tuple[float, float]:
    lefts = (x - extent.left for x, extent in zip(layout, network.extent, strict=True))
    rights = (x + extent.right for x, extent in zip(layout, network.extent, strict=True))
    return min(lefts), max(rights)
