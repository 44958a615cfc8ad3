"""Blocks of aligned items pushed together, and the links to bend where that is not tight enough."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from handrail.workflows.draw.layers import Links

Gaps: TypeAlias = Mapping[int, Mapping[int, float]]

TIGHT = 0.001


@dataclass(frozen=True, slots=True)
class View:
    """A network seen from one corner: the first row is aligned first, and items lean to the left."""

    rows: Sequence[Sequence[int]]
    place: Sequence[int]
    links: Links
    left: Sequence[float]
    right: Sequence[float]


def packed(view: View, root: Sequence[int]) -> list[float]:
    """A position for every item: its block goes as far left as it can, then close to those on its right."""
    gaps = _gaps(view, root)
    order = _leftmost_first(gaps)
    at = _leftmost(order, gaps)
    for block in reversed(order):
        room = min((at[other] - gap for other, gap in gaps[block].items()), default=at[block])
        at[block] = max(at[block], room)
    return [at[block] for block in root]


def strained_links(view: View, root: Sequence[int], most: float) -> set[tuple[int, int]]:
    """If the blocks need more than this width, links, named from both ends, that are better bent.

    A chain of blocks is as wide as it is because it enters a block in one row and leaves it in another:
    such a block is cut halfway between the two.
    """
    gaps = _gaps(view, root)
    order = _leftmost_first(gaps)
    at = _leftmost(order, gaps)
    width = max(at.values())
    if width <= most:
        return set()
    latest = _rightmost(order, gaps, width)
    fixed = {block for block in order if latest[block] - at[block] < TIGHT}
    cuts = dict(_cuts(view, root, at, fixed))
    found: set[tuple[int, int]] = set()
    for level, (upper, lower) in enumerate(pairwise(view.rows)):
        ends = {root[item]: item for item in upper}
        cut = [item for item in lower if cuts.get(root[item]) == level]
        found.update((ends[root[item]], item) for item in cut)
        found.update((item, ends[root[item]]) for item in cut)
    return found


def _cuts(
    view: View, root: Sequence[int], at: Mapping[int, float], fixed: AbstractSet[int]
) -> Iterator[tuple[int, int]]:
    """The blocks to cut, with the row after which to cut them."""
    entered: dict[int, set[int]] = {}
    left: dict[int, set[int]] = {}
    for level, row in enumerate(view.rows):
        for one, other in pairwise(row):
            gap = view.right[one] + view.left[other]
            a, b = root[one], root[other]
            if a in fixed and b in fixed and at[b] - at[a] - gap < TIGHT:
                left.setdefault(a, set()).add(level)
                entered.setdefault(b, set()).add(level)
    for block in entered.keys() & left.keys():
        if not entered[block] & left[block]:
            yield block, (min(entered[block]) + min(left[block])) // 2


def _gaps(view: View, root: Sequence[int]) -> dict[int, dict[int, float]]:
    """For every block its neighbours on the right, and how far away they must stay."""
    gaps: dict[int, dict[int, float]] = {block: {} for block in root}
    for row in view.rows:
        for one, other in pairwise(row):
            near = gaps[root[one]]
            near[root[other]] = max(near.get(root[other], 0), view.right[one] + view.left[other])
    return gaps


def _leftmost_first(gaps: Gaps) -> list[int]:
    waiting = dict.fromkeys(gaps, 0)
    for near in gaps.values():
        for other in near:
            waiting[other] += 1
    order = [block for block, number in waiting.items() if not number]
    for block in order:
        for other in gaps[block]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order


def _leftmost(order: Sequence[int], gaps: Gaps) -> dict[int, float]:
    at = dict.fromkeys(order, 0.0)
    for block in order:
        for other, gap in gaps[block].items():
            at[other] = max(at[other], at[block] + gap)
    return at


def _rightmost(order: Sequence[int], gaps: Gaps, width: float) -> dict[int, float]:
    at = dict.fromkeys(order, width)
    for block in reversed(order):
        at[block] = min((at[other] - gap for other, gap in gaps[block].items()), default=width)
    return at
