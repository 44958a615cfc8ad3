"""Lay a graph out in layers (Sugiyama): the horizontal part of the layout, on numbers only.

The steps, in order: `find_feedback_edges` breaks cycles and `assign_ranks` gives every node a layer (both in
`build_network`), `order_layers` reduces crossings, `place_columns` gives every item a position, and
`straighten_runs` removes small bends. `layout` calls them and adds ports, lines and boxes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from typing import TypeAlias

Link: TypeAlias = tuple[int, int]
Links: TypeAlias = Sequence[Sequence[int]]

# --- cycles and layers --------------------------------------------------------------------------------------


# How many rounds of moving nodes shorten the edges.
_RANK_ROUNDS = 4


def find_feedback_edges(count: int, edges: Sequence[Link], first: Sequence[int]) -> frozenset[int]:
    """Return the indexes of the edges to reverse so that no cycle is left: those that lead back.

    The depth-first walk starts at the nodes in `first`, then at the others, and follows edges as declared.
    """
    leaving: list[list[int]] = [[] for _ in range(count)]
    for index, (source, _) in enumerate(edges):
        leaving[source].append(index)
    back: set[int] = set()
    done = [False] * count
    for root in (*first, *range(count)):
        if done[root]:
            continue
        done[root] = True
        trail = {root}
        stack = [(root, iter(leaving[root]))]
        while stack:
            node, pending = stack[-1]
            edge = next(pending, None)
            if edge is None:
                stack.pop()
                trail.discard(node)
                continue
            target = edges[edge][1]
            if target in trail:
                back.add(edge)
            elif not done[target]:
                done[target] = True
                trail.add(target)
                stack.append((target, iter(leaving[target])))
    return frozenset(back)


def assign_ranks(count: int, edges: Sequence[Link]) -> tuple[int, ...]:
    """Return a layer for every node of an acyclic graph, so that each edge goes down and edges are short.

    It starts with the longest path. Then nodes move towards the side where they have more edges, which never
    makes the edges longer in sum. The first layer is 0.
    """
    above, below = _find_neighbours(count, edges)
    order = _sort_topologically(dict(enumerate(below)))
    rank = [0] * count
    for node in order:
        rank[node] = max((rank[other] + 1 for other in above[node]), default=0)
    for _ in range(_RANK_ROUNDS):
        for node in reversed(order):
            if below[node] and len(below[node]) >= len(above[node]):
                rank[node] = min(rank[other] for other in below[node]) - 1
        for node in order:
            if above[node] and len(above[node]) >= len(below[node]):
                rank[node] = max(rank[other] for other in above[node]) + 1
    top = min(rank, default=0)
    return tuple(value - top for value in rank)


def _find_neighbours(count: int, links: Sequence[Link]) -> tuple[list[list[int]], list[list[int]]]:
    """Return, for every item, the upper ends of links into it and the lower ends of links out of it."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in links:
        above[lower].append(upper)
        below[upper].append(lower)
    return above, below


def _sort_topologically(following: Mapping[int, Iterable[int]]) -> list[int]:
    waiting = Counter(other for others in following.values() for other in others)
    order = [node for node in following if not waiting[node]]
    for node in order:
        for other in following[node]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order


# --- the network: nodes, and the items that long edges run through ------------------------------------------


@dataclass(frozen=True, slots=True)
class Extent:
    """The space an item needs to the left and right of its middle line, and its height."""

    left: float
    right: float
    height: float


@dataclass(frozen=True, slots=True)
class LayoutEdge:
    """An edge between two different nodes, by number, with the space its label needs, if it has one."""

    source: int
    target: int
    label: Extent | None = None


@dataclass(frozen=True, slots=True)
class ReadingOrder:
    """How a graph is read: the nodes to start from, and connections that are not drawn as edges."""

    first: Sequence[int] = ()
    unseen: Sequence[Link] = ()


@dataclass(frozen=True, slots=True)
class Strand:
    """The items an edge runs through, from top to bottom; `back` if it points upwards."""

    items: tuple[int, ...]
    back: bool
    label: int | None


@dataclass(frozen=True, slots=True)
class Network:
    """Numbered items, nodes first, and the links between them; each link joins neighbouring layers."""

    nodes: int
    layer: tuple[int, ...]
    extent: tuple[Extent, ...]
    above: Links
    below: Links
    strands: tuple[Strand, ...]


# The space that the inner part of a long edge needs in a layer.
_INNER_ITEM_EXTENT = Extent(5, 5, 0)


def build_network(nodes: Sequence[Extent], ties: Sequence[LayoutEdge], reading: ReadingOrder) -> Network:
    """Return the network of a graph: break cycles, assign layers, and split long edges into items."""
    back = find_feedback_edges(
        len(nodes), [*((tie.source, tie.target) for tie in ties), *reading.unseen], reading.first
    )
    ends = [
        (tie.target, tie.source) if index in back else (tie.source, tie.target)
        for index, tie in enumerate(ties)
    ]
    rank = assign_ranks(len(nodes), ends)
    # A label is in the gap between ranks next to the source, where readers look for it.
    gaps = [rank[tie.source] - (index in back) for index, tie in enumerate(ties)]
    labelled = {gap for gap, tie in zip(gaps, ties, strict=True) if tie.label}
    base = tuple(accumulate((1 + (gap in labelled) for gap in range(max(rank, default=0))), initial=0))
    layer, extent = [base[value] for value in rank], list(nodes)
    strands = []
    for index, (tie, (upper, lower)) in enumerate(zip(ties, ends, strict=True)):
        first, inner = len(layer), range(layer[upper] + 1, layer[lower])
        rooms, label = [_INNER_ITEM_EXTENT] * len(inner), None
        if tie.label:
            place = base[gaps[index]] - layer[upper]
            rooms[place], label = tie.label, first + place
        items = (upper, *range(first, first + len(inner)), lower)
        strands.append(Strand(items, index in back, label))
        extent.extend(rooms)
        layer.extend(inner)
    links = [link for strand in strands for link in pairwise(strand.items)]
    above, below = _find_neighbours(len(layer), links)
    return Network(len(nodes), tuple(layer), tuple(extent), above, below, tuple(strands))


# --- order within layers ------------------------------------------------------------------------------------


# Divided by the number of links: how many start orders are tried.
_START_WORK = 8_000
# Divided by the number of links: how many sweeps are made from each start.
_SWEEP_WORK = 24_000
_MAX_SWEEPS = 24
_MIN_SWEEPS = 2
# How many rounds of swapping neighbours each sweep makes at most.
_MAX_TRANSPOSE_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Order:
    """The items of each layer from left to right, the place of each item in its layer, and the crossings."""

    rows: Sequence[Sequence[int]]
    place: Sequence[int]
    crossings: int


def order_layers(network: Network) -> Order:
    """Return the best order found by sweeping down and up from several starts.

    The larger the network, the fewer starts and sweeps are tried.
    """
    links = sum(len(others) for others in network.below) + 1
    sweeps = max(_MIN_SWEEPS, min(_MAX_SWEEPS, _SWEEP_WORK // links))
    orders: list[Order] = []
    for start in islice(_list_start_rows(network), max(1, _START_WORK // links)):
        orders.append(_sweep_from(network, start, sweeps))
        if not orders[-1].crossings:
            break
    return min(orders, key=lambda order: order.crossings)


def count_crossings(rows: Sequence[Sequence[int]], place: Sequence[int], below: Links) -> int:
    """Count the pairs of links that cross, with a Fenwick tree: n log n in the number of links."""
    total = 0
    for row, lower in pairwise(rows):
        tree = [0] * (len(lower) + 1)
        seen = 0
        for item in row:
            ends = sorted(place[other] for other in below[item])
            for end in ends:
                total += seen
                index = end + 1
                while index:
                    total -= tree[index]
                    index &= index - 1
            for end in ends:
                index = end + 1
                while index < len(tree):
                    tree[index] += 1
                    index += index & -index
            seen += len(ends)
    return total


def _list_start_rows(network: Network) -> Iterator[list[list[int]]]:
    """Yield start orders: walks down, up and in all directions, with the links in order and reversed."""
    items = range(len(network.layer))
    lowest = sorted(items, key=lambda item: -network.layer[item])
    around = [[*above, *below] for above, below in zip(network.above, network.below, strict=True)]
    turned = [[*below, *above] for above, below in zip(network.above, network.below, strict=True)]
    for links, roots in ((network.below, items), (network.above, lowest), (around, items), (turned, items)):
        yield _order_by_walk(network, [list(reversed(others)) for others in links], roots)
        yield _order_by_walk(network, links, roots)


def _order_by_walk(network: Network, links: Links, roots: Sequence[int]) -> list[list[int]]:
    """Return rows in the order of a depth-first walk, which follows the last link of each item first."""
    rows: list[list[int]] = [[] for _ in range(max(network.layer) + 1)]
    met = [False] * len(network.layer)
    stack = list(reversed(roots))
    while stack:
        item = stack.pop()
        if not met[item]:
            met[item] = True
            rows[network.layer[item]].append(item)
            stack.extend(links[item])
    return rows


def _sweep_from(network: Network, rows: list[list[int]], sweeps: int) -> Order:
    place = [0] * len(network.layer)
    for row in rows:
        _record_places(row, place)
    best = _copy_order(network, rows, place)
    for sweep in range(sweeps):
        if not best.crossings:
            break
        _sort_rows(network, rows, place, sweep)
        _transpose_rows(network, rows, place)
        now = _copy_order(network, rows, place)
        best = min(best, now, key=lambda order: order.crossings)
    return best


def _copy_order(network: Network, rows: list[list[int]], place: Sequence[int]) -> Order:
    return Order([list(row) for row in rows], list(place), count_crossings(rows, place, network.below))


def _record_places(row: Sequence[int], place: list[int]) -> None:
    for index, item in enumerate(row):
        place[item] = index


def _sort_rows(network: Network, rows: list[list[int]], place: list[int], sweep: int) -> None:
    """Sort each row by the mean place of its neighbours in the previous row; some sweeps reverse ties."""
    downwards, flip = sweep % 2 == 0, sweep % 4 >= 2
    links = network.above if downwards else network.below
    for row in rows if downwards else reversed(rows):
        tied = [item for item in row if links[item]]
        places = [place[item] for item in tied]
        middle = {item: sum(place[other] for other in links[item]) / len(links[item]) for item in tied}
        wanted = sorted(reversed(tied) if flip else tied, key=middle.__getitem__)
        for item, index in zip(wanted, places, strict=True):
            row[index] = item
        _record_places(row, place)


def _transpose_rows(network: Network, rows: list[list[int]], place: list[int]) -> None:
    """Swap neighbours in a row while that removes crossings, for a limited number of rounds."""
    active = set(range(len(rows)))
    for _ in range(_MAX_TRANSPOSE_ROUNDS):
        touched = {level for level in sorted(active) if _swap_neighbours(network, rows[level], place)}
        active = {level + step for level in touched for step in (-1, 0, 1)} & set(range(len(rows)))
        if not active:
            break


def _swap_neighbours(network: Network, row: list[int], place: list[int]) -> bool:
    changed = False
    for index in range(len(row) - 1):
        left, right = row[index], row[index + 1]
        # How many crossings disappear if these two swap places.
        gain = 0
        for links in (network.above, network.below):
            for one in links[left]:
                for other in links[right]:
                    gain += (place[one] > place[other]) - (place[one] < place[other])
        if gain > 0:
            row[index], row[index + 1] = right, left
            place[left], place[right] = index + 1, index
            changed = True
    return changed


# --- blocks: items that run straight ------------------------------------------------------------------------


# Distances that differ by less than this count as equal.
_TIGHT_TOLERANCE = 0.001


@dataclass(frozen=True, slots=True)
class _CornerView:
    """A network seen from one corner: the first row is aligned first, and items are packed to the left."""

    rows: Sequence[Sequence[int]]
    place: Sequence[int]
    links: Links
    left: Sequence[float]
    right: Sequence[float]


def _pack_blocks(view: _CornerView, root: Sequence[int]) -> list[float]:
    """Return a position for every item.

    Blocks go as far left as they can, then as close as possible to their neighbours on the right.
    """
    gaps, order, at = _place_leftmost(view, root)
    for block in reversed(order):
        room = min((at[other] - gap for other, gap in gaps[block].items()), default=at[block])
        at[block] = max(at[block], room)
    return [at[block] for block in root]


def _find_strained_links(view: _CornerView, root: Sequence[int], most: float) -> set[Link]:
    """Return the links, named from both ends, to bend if the blocks are wider than `most`.

    A chain of blocks is wide because it enters a block in one row and leaves it in another. Such a block is
    cut halfway between the two rows.
    """
    gaps, order, at = _place_leftmost(view, root)
    width = max(at.values())
    if width <= most:
        return set()
    latest = dict.fromkeys(order, width)
    for block in reversed(order):
        latest[block] = min((latest[other] - gap for other, gap in gaps[block].items()), default=width)
    fixed = {block for block in order if latest[block] - at[block] < _TIGHT_TOLERANCE}
    cuts = dict(_find_cuts(view, root, at, fixed))
    links: set[Link] = set()
    for level, (upper, lower) in enumerate(pairwise(view.rows)):
        ends = {root[item]: item for item in upper}
        cut = [item for item in lower if cuts.get(root[item]) == level]
        links.update((ends[root[item]], item) for item in cut)
        links.update((item, ends[root[item]]) for item in cut)
    return links


def _find_cuts(
    view: _CornerView, root: Sequence[int], at: Mapping[int, float], fixed: AbstractSet[int]
) -> Iterator[tuple[int, int]]:
    """Yield the blocks to cut, with the row after which to cut them."""
    entered: dict[int, set[int]] = {}
    left: dict[int, set[int]] = {}
    for level, row in enumerate(view.rows):
        for one, other in pairwise(row):
            gap = view.right[one] + view.left[other]
            a, b = root[one], root[other]
            if a in fixed and b in fixed and at[b] - at[a] - gap < _TIGHT_TOLERANCE:
                left.setdefault(a, set()).add(level)
                entered.setdefault(b, set()).add(level)
    for block in entered.keys() & left.keys():
        if not entered[block] & left[block]:
            yield block, (min(entered[block]) + min(left[block])) // 2


def _place_leftmost(
    view: _CornerView, root: Sequence[int]
) -> tuple[dict[int, dict[int, float]], list[int], dict[int, float]]:
    """Return the minimum distances of each block to its neighbours on the right, an order, and positions.

    In the order, blocks come after their neighbours on the left. The positions are as far left as possible.
    """
    gaps: dict[int, dict[int, float]] = {block: {} for block in root}
    for row in view.rows:
        for one, other in pairwise(row):
            near = gaps[root[one]]
            near[root[other]] = max(near.get(root[other], 0), view.right[one] + view.left[other])
    order = _sort_topologically(gaps)
    at = dict.fromkeys(order, 0.0)
    for block in order:
        for other, gap in gaps[block].items():
            at[other] = max(at[other], at[block] + gap)
    return gaps, order, at


# --- positions ----------------------------------------------------------------------------------------------


# How many times the widest row a layout may be wide, besides `_WIDTH_ALLOWANCE`.
_MAX_STRETCH = 1.5
# How much wider than `_MAX_STRETCH` allows a layout may be.
_WIDTH_ALLOWANCE = 600.0
# How many rounds of bending links are made for each view at most.
_BEND_ROUNDS = 16
# Divided by the number of items: a limit on the rounds of bending links.
_BEND_WORK = 70_000


def place_columns(network: Network, order: Order) -> tuple[float, ...]:
    """Return the middle line of every item, in whole numbers (Brandes and Köpf: four views, balanced)."""
    views = [
        _build_view(network, order, upwards=up, mirrored=left)
        for up in (False, True)
        for left in (False, True)
    ]
    # Some links must bend because they cross the inside of a long edge, others because of the width.
    blocked = _find_blocked_links(network, order)
    rooms = [extent.left + extent.right for extent in network.extent]
    most = max(sum(rooms[item] for item in row) for row in order.rows) * _MAX_STRETCH + _WIDTH_ALLOWANCE
    for view in views:
        for _ in range(max(1, min(_BEND_ROUNDS, _BEND_WORK // len(rooms)))):
            strained = _find_strained_links(view, _align_items(view, blocked), most)
            if not strained:
                break
            blocked |= strained
    layouts = [_pack_blocks(view, _align_items(view, blocked)) for view in views]
    for mirrored in layouts[1::2]:
        mirrored[:] = [-x for x in mirrored]
    return tuple(float(round(x)) for x in _balance_layouts(network, layouts))


def _build_view(network: Network, order: Order, *, upwards: bool, mirrored: bool) -> _CornerView:
    rows = list(reversed(order.rows)) if upwards else order.rows
    links = _drop_back_links(network, network.below if upwards else network.above)
    left, right = [e.left for e in network.extent], [e.right for e in network.extent]
    if not mirrored:
        return _CornerView(rows, order.place, links, left, right)
    place = list(order.place)
    for row in order.rows:
        for item in row:
            place[item] = len(row) - 1 - place[item]
    return _CornerView([list(reversed(row)) for row in rows], place, links, right, left)


def _drop_back_links(network: Network, links: Links) -> Links:
    """Return the links without those that join nodes to backward edges; such nodes align with others."""
    ahead = {strand.items for strand in network.strands if not strand.back}
    back = [strand.items for strand in network.strands if strand.back]
    leading = list(links)
    for upper, lower in ({items[:2] for items in back} | {items[-2:] for items in back}) - ahead:
        leading[upper] = [other for other in leading[upper] if other != lower]
        leading[lower] = [other for other in leading[lower] if other != upper]
    return leading


def _find_blocked_links(network: Network, order: Order) -> set[Link]:
    """Return the links, named from both ends, that must bend because they cross the inside of a long edge."""
    links: set[Link] = set()
    for row in order.rows:
        before, start = -1, 0
        for index, item in enumerate(row):
            inner = _find_inner_upper_end(network, item)
            if inner is None and index < len(row) - 1:
                continue
            limit = len(order.place) if inner is None else order.place[inner]
            for passed in row[start : index + 1]:
                if _find_inner_upper_end(network, passed) is None:
                    crossing = [up for up in network.above[passed] if not before <= order.place[up] <= limit]
                    links.update((upper, passed) for upper in crossing)
            before, start = limit, index + 1
    return links | {(lower, upper) for upper, lower in links}


def _find_inner_upper_end(network: Network, item: int) -> int | None:
    """Return the upper end of the link into this item if both ends are inside a long edge, else None."""
    if item < network.nodes or network.above[item][0] < network.nodes:
        return None
    return network.above[item][0]


def _align_items(view: _CornerView, blocked: set[Link]) -> list[int]:
    """Return, for every item, the first item of its block. Blocks run straight and never cross."""
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


def _balance_layouts(network: Network, layouts: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of the two middle positions, after aligning all layouts with the narrowest."""
    spans = [
        (
            min(x - extent.left for x, extent in zip(layout, network.extent, strict=True)),
            max(x + extent.right for x, extent in zip(layout, network.extent, strict=True)),
        )
        for layout in layouts
    ]
    narrow = min(spans, key=lambda span: span[1] - span[0])
    moved = []
    for index, (layout, span) in enumerate(zip(layouts, spans, strict=True)):
        shift = narrow[index % 2] - span[index % 2]
        moved.append([x + shift for x in layout])
    return [(middle[1] + middle[2]) / 2 for middle in map(sorted, zip(*moved, strict=True))]


# --- straightening ------------------------------------------------------------------------------------------


# The farthest that a run is moved to line up with others.
_MAX_SHIFT = 40.0
_STRAIGHTEN_ROUNDS = 3


def straighten_runs(network: Network, order: Order, middles: Sequence[float]) -> tuple[float, ...]:
    """Return the middles with fewer small bends. Order and distances are kept; the left border is at 0."""
    at = list(middles)
    for _ in range(_STRAIGHTEN_ROUNDS):
        for run in tuple(_find_runs(network, at)):
            _shift_run(network, order, at, run)
    start = min(x - extent.left for x, extent in zip(at, network.extent, strict=True))
    return tuple(x - start for x in at)


def _find_runs(network: Network, at: Sequence[float]) -> Iterator[list[int]]:
    """Yield the items that are connected on one straight line, run by run."""
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


def _shift_run(network: Network, order: Order, at: list[float], run: Sequence[int]) -> None:
    """Move a run to line up with as many neighbours as possible, if there is room."""
    ways = ((item, other) for item in run for other in (*network.above[item], *network.below[item]))
    misses = Counter(at[other] - at[item] for item, other in ways)
    near = [shift for shift in misses if 0 < abs(shift) <= _MAX_SHIFT]
    for shift in sorted(near, key=lambda value: (-misses[value], abs(value), value)):
        if all(_has_room(network, order, at, item, shift) for item in run):
            for item in run:
                at[item] += shift
            return


def _has_room(network: Network, order: Order, at: Sequence[float], item: int, shift: float) -> bool:
    row, place = order.rows[network.layer[item]], order.place[item]
    extent, new = network.extent[item], at[item] + shift
    if shift < 0 and place:
        other = row[place - 1]
        return at[other] + network.extent[other].right + extent.left <= new
    if shift > 0 and place < len(row) - 1:
        other = row[place + 1]
        return new + extent.right + network.extent[other].left <= at[other]
    return True
