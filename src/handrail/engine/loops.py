"""Cycles in a graph of rows, one for each knot of states that lead to each other."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from handrail.engine.model import Transition

Edge: TypeAlias = tuple[str, str, Transition]


def cycles(edges: Sequence[Edge]) -> Iterator[tuple[Edge, ...]]:
    """The shortest cycle through the first state of each knot, in the order in which the edges are given."""
    out: dict[str, list[Edge]] = {}
    for edge in edges:
        out.setdefault(edge[0], []).append(edge)
    done: set[str] = set()
    for start in out:
        if start in done:
            continue
        loop = _back(out, start)
        if loop:
            done |= {source for source, _, _ in loop}
            yield loop


def _back(out: Mapping[str, Sequence[Edge]], start: str) -> tuple[Edge, ...]:
    """The shortest way from a state back to itself, or nothing."""
    came: dict[str, Edge] = {}
    queue = deque([start])
    while queue:
        for edge in out.get(queue.popleft(), ()):
            _, target, _ = edge
            if target in came:
                continue
            came[target] = edge
            if target == start:
                return _way(came, start)
            queue.append(target)
    return ()


def _way(came: Mapping[str, Edge], start: str) -> tuple[Edge, ...]:
    way = [came[start]]
    while way[-1][0] != start:
        way.append(came[way[-1][0]])
    return tuple(reversed(way))
