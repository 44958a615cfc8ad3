"""The first two steps of a layered layout: break the cycles, then give every node a layer."""

from collections.abc import Sequence
from typing import TypeAlias

Link: TypeAlias = tuple[int, int]
Links: TypeAlias = Sequence[Sequence[int]]

ROUNDS = 4


def feedback(count: int, edges: Sequence[Link], first: Sequence[int]) -> frozenset[int]:
    """The edges, by index, to turn round so that no cycle is left: they lead back to where one came from.

    The walk goes depth first, from the nodes in `first` and then from the others, along edges as declared.
    """
    leaving: list[list[int]] = [[] for _ in range(count)]
    for index, (source, _) in enumerate(edges):
        leaving[source].append(index)
    back: set[int] = set()
    done = [False] * count
    for root in (*first, *range(count)):
        _walk(root, edges, leaving, done, back)
    return frozenset(back)


def ranks(count: int, edges: Sequence[Link]) -> tuple[int, ...]:
    """A layer for every node of an acyclic graph: each edge goes down, and edges are short.

    Longest path first; then nodes settle towards the side where they have more edges, which never makes
    the edges longer in sum. The first layer is 0.
    """
    above, below = neighbours(count, edges)
    order = _topological(above, below)
    rank = [0] * count
    for node in order:
        rank[node] = max((rank[other] + 1 for other in above[node]), default=0)
    for _ in range(ROUNDS):
        for node in reversed(order):
            if below[node] and len(below[node]) >= len(above[node]):
                rank[node] = min(rank[other] for other in below[node]) - 1
        for node in order:
            if above[node] and len(above[node]) >= len(below[node]):
                rank[node] = max(rank[other] for other in above[node]) + 1
    top = min(rank, default=0)
    return tuple(value - top for value in rank)


def neighbours(count: int, links: Sequence[Link]) -> tuple[list[list[int]], list[list[int]]]:
    """For every item, the upper ends of the links into it and the lower ends of the links out of it."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in links:
        above[lower].append(upper)
        below[upper].append(lower)
    return above, below


def _walk(root: int, edges: Sequence[Link], leaving: Links, done: list[bool], back: set[int]) -> None:
    if done[root]:
        return
    done[root] = True
    trail = {root}
    stack = [(root, iter(leaving[root]))]
    while stack:
        node, pending = stack[-1]
        index = next(pending, None)
        if index is None:
            stack.pop()
            trail.discard(node)
            continue
        target = edges[index][1]
        if target in trail:
            back.add(index)
        elif not done[target]:
            done[target] = True
            trail.add(target)
            stack.append((target, iter(leaving[target])))


def _topological(above: Links, below: Links) -> list[int]:
    waiting = [len(others) for others in above]
    order = [node for node, number in enumerate(waiting) if not number]
    for node in order:
        for other in below[node]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order
