"""Less of a graph, where all of it is too much: groups drawn as one node, or only what is near."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from handrail.workflows.catalogue import Catalogue
from handrail.workflows.draw.graph import Edge, Graph, Line, Node, Shape
from handrail.workflows.draw.words import shortened

MOST: Final = 40
"""How many nodes an overview has, about, if nothing in it is kept or opened."""

CHAIN: Final = 4
"""How many states in a row, without a branch, are drawn as one."""

_ENDS: Final = 9
_STAND_INS: Final = frozenset({Shape.ANY, Shape.BACK})
_Step: TypeAlias = Callable[[Graph], Iterable[Node]]


def overview(
    t: Catalogue, graph: Graph, keep: Collection[str] = (), opened: Collection[str] = (), most: int = MOST
) -> Graph:
    """The graph with each sub-workflow drawn as one node, and each long chain of states as well.

    If that is more than `most` nodes, so are the states of a phase, and then those declared one after the
    other. The states in `keep` are drawn by themselves, and the groups, by their ids, that are `opened` are
    taken apart; that changes no group but those they are in.
    """
    kept = frozenset(keep)
    depth = max((node.id.count("/") for node in graph.nodes), default=0)
    steps: list[_Step] = [partial(_sub_workflows, t, level) for level in range(depth, 0, -1)]
    steps += [partial(_chains, t, kept), partial(_phases, t, kept, most), partial(_bands, t, kept, most)]
    folded, groups = graph, list[Node]()
    for step in steps:
        found = [group for group in step(folded) if kept.isdisjoint(group.members)]
        groups += found
        folded = _contracted(folded, found)
    return _contracted(graph, [group for group in groups if group.id not in opened])


def around(t: Catalogue, graph: Graph, states: Collection[str], hops: int) -> Graph:
    """What is at most so many ways from these states, whichever way they lead; the rest is left out.

    A node that stands for some of these states among others is as near as they are.
    """
    near = _near(graph, frozenset(states), hops)
    beside = _beside(graph, near)
    nodes = tuple(replace(n, hidden=len(beside.get(n.id, ()))) for n in graph.nodes if n.id in near)
    edges = tuple(edge for edge in graph.edges if edge.source in near and edge.target in near)
    left = sum(len(n.members) or 1 for n in graph.nodes if n.id not in near and n.shape not in _STAND_INS)
    notes = (t.count("draw.left", left),) if left else ()
    return Graph(graph.title, nodes, edges, (*notes, *graph.notes))


# --- groups: each is a node with the states it stands for ---------------------------------------------------


def _contracted(graph: Graph, groups: Sequence[Node]) -> Graph:
    """The graph with each group drawn as one node, the last that has a state; ways inside are not drawn."""
    last = {state: group for group in groups for state in group.members}
    drawn = {node.id: last.get(_states(node)[0], node) for node in graph.nodes}
    edges = _merged(graph.edges, {name: node.id for name, node in drawn.items()})
    return replace(
        graph, nodes=tuple({node.id: node for node in drawn.values()}.values()), edges=tuple(edges)
    )


def _states(node: Node) -> tuple[str, ...]:
    """The states that are drawn nowhere but in this node, or its own id if it only stands in for some."""
    return node.members if node.shape is Shape.GROUP else (node.id,)


def _group(nodes: Sequence[Node], id_: str, text: str, about: str) -> Node:
    states = tuple(state for node in nodes for state in _states(node))
    phases = {node.phase for node in nodes}
    phase = phases.pop() if len(phases) == 1 else ""
    initial = any(node.initial for node in nodes)
    return Node(id_, Shape.GROUP, initial, text, about, states, phase=phase)


def _row(t: Catalogue, nodes: Sequence[Node]) -> Node:
    """The group of nodes one after the other: it is called like the first and the last of its states."""
    states = [state for node in nodes for state in _states(node)]
    first, last = (shortened(state, _ENDS) for state in (states[0], states[-1]))
    text = t("draw.group", n=len(states), first=first, last=last)
    return _group(nodes, f"{states[0]}+{len(states) - 1}", text, ", ".join(states))


def _merged(edges: Sequence[Edge], names: Mapping[str, str]) -> Iterator[Edge]:
    """One edge for all between the same two nodes, and none for those inside of a group."""
    found: dict[tuple[str, str], list[Edge]] = {}
    for edge in edges:
        ends = names[edge.source], names[edge.target]
        if ends[0] != ends[1] or ends == (edge.source, edge.target):
            found.setdefault(ends, []).append(edge)
    for (source, target), same in found.items():
        label = tuple(dict.fromkeys(line for edge in same for line in edge.label))
        details = tuple(dict.fromkeys(line for edge in same for line in edge.details))
        line = Line.MOVE if any(edge.line is Line.MOVE for edge in same) else Line.RETURN
        yield Edge(source, target, label, line, details)


def _parted(nodes: Iterable[Node], kept: Collection[str]) -> Iterator[list[Node]]:
    """The nodes between those that are kept."""
    part: list[Node] = []
    for node in nodes:
        if node.id in kept:
            yield part
            part = []
        else:
            part.append(node)
    yield part


def _sub_workflows(t: Catalogue, depth: int, graph: Graph) -> Iterator[Node]:
    """The sub-workflows that stand so deep in others, with the states that they are used by."""
    found: dict[str, list[Node]] = {}
    for node in graph.nodes:
        parts = node.id.split("/")
        if len(parts) > depth and node.shape not in _STAND_INS:
            found.setdefault("/".join(parts[:depth]), []).append(node)
    doors = {node.id: node for node in graph.nodes if node.id in found}
    for name, inside in found.items():
        nodes = [doors[name], *inside] if name in doors else inside
        text = t("draw.group_of", name=name, n=sum(len(_states(node)) for node in nodes))
        yield _group(nodes, name, text, doors[name].about if name in doors else "")


@dataclass(frozen=True, slots=True)
class _Links:
    """The only node that leads to another and the only one that it leads to, where there is just one."""

    before: Mapping[str, str]
    after: Mapping[str, str]

    def joins(self, name: str, following: str) -> bool:
        """True if the second comes after the first and nothing else does, nor anything else before it."""
        return self.after.get(name) == following and self.before.get(following) == name


def _chains(t: Catalogue, kept: Collection[str], graph: Graph) -> Iterator[Node]:
    """The longest rows of states of which each is the only way on from the one before."""
    plain = {node.id: node for node in graph.nodes if node.shape is Shape.STATE and not node.initial}
    links = _Links(_only(graph.edges, plain, back=True), _only(graph.edges, plain, back=False))
    for name in plain:
        if not links.joins(links.before.get(name, ""), name):
            chain = [name]
            while links.joins(chain[-1], links.after.get(chain[-1], "")):
                chain.append(links.after[chain[-1]])
            parts = _parted((plain[one] for one in chain), kept)
            yield from (_row(t, part) for part in parts if len(part) >= CHAIN)


def _only(edges: Sequence[Edge], plain: Collection[str], *, back: bool) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for edge in edges:
        here, there = (edge.target, edge.source) if back else (edge.source, edge.target)
        found.setdefault(here, set()).add(there)
    return {name: next(iter(others)) for name, others in found.items() if len(others) == 1 and name in plain}


def _inner(graph: Graph) -> list[Node]:
    """The nodes that may be drawn as one with others: neither where a run begins nor where it ends."""
    apart = {*_STAND_INS, Shape.TERMINAL}
    return [node for node in graph.nodes if not node.initial and node.shape not in apart]


def _phases(t: Catalogue, kept: Collection[str], most: int, graph: Graph) -> Iterator[Node]:
    """The states of each phase, if the graph is too large without."""
    found: dict[str, list[Node]] = {}
    for node in _inner(graph) if len(graph.nodes) > most else ():
        if node.phase and node.id not in kept:
            found.setdefault(node.phase, []).append(node)
    for phase, nodes in found.items():
        row = _row(t, nodes) if len(nodes) > 1 else None
        if row:
            yield replace(row, text=t("draw.group_of", name=phase, n=len(row.members)))


def _bands(t: Catalogue, kept: Collection[str], most: int, graph: Graph) -> Iterator[Node]:
    """So many states at a time, as they were declared, that no more nodes than that are left."""
    inner = _inner(graph)
    room = max(1, most - (len(graph.nodes) - len(inner)))
    size = -(-len(inner) // room) if len(graph.nodes) > most else 1
    for start in range(0, len(inner), size):
        parts = _parted(inner[start : start + size], kept)
        yield from (_row(t, part) for part in parts if len(part) > 1)


# --- what is near -------------------------------------------------------------------------------------------


def _near(graph: Graph, states: frozenset[str], hops: int) -> frozenset[str]:
    beside: dict[str, list[str]] = {}
    for edge in graph.edges:
        beside.setdefault(edge.source, []).append(edge.target)
        beside.setdefault(edge.target, []).append(edge.source)
    last = near = frozenset(node.id for node in graph.nodes if states & {node.id, *node.members})
    for _ in range(hops):
        last = frozenset(other for name in last for other in beside.get(name, ())) - near
        near |= last
    return near


def _beside(graph: Graph, near: Collection[str]) -> dict[str, set[str]]:
    """For each node that is drawn, those beside it that are not."""
    found: dict[str, set[str]] = {}
    for edge in graph.edges:
        for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
            if here in near and there not in near:
                found.setdefault(here, set()).add(there)
    return found
