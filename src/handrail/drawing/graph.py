"""Build the graph of a workflow that pictures show: states as nodes, merged transitions as edges.

`build_graph` draws every state. `build_overview` groups states of a large graph, and `build_neighbourhood`
keeps what is near some states. Layout and drawing are in other modules.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Final

from handrail.drawing.text import shorten_text
from handrail.engine.model import State, ToDerived, ToVariable, Transition, Workflow
from handrail.engine.paths import list_targets
from handrail.workflows.templates import MessageCatalog


class Shape(StrEnum):
    """What a node represents: one state of some kind, or several states.

    `any` represents the sources of a row and `back` its targets; these states have nodes of their own too. A
    `group` replaces the nodes of its states.
    """

    STATE = "state"
    ROUTER = "router"
    TERMINAL = "terminal"
    ANY = "any"
    BACK = "back"
    GROUP = "group"


class LineStyle(StrEnum):
    """How an edge is drawn: `move` goes where the row says, `return` to the state that a variable holds."""

    MOVE = "move"
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its text, its description, and its `members`, the states it represents if there are several.

    `hidden` is the number of its neighbours that the graph leaves out.
    """

    id: str
    shape: Shape = Shape.STATE
    initial: bool = False
    text: str = ""
    about: str = ""
    members: tuple[str, ...] = ()
    hidden: int = 0
    phase: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """All transitions between two nodes: `label` has a short line for each row, `details` the full text."""

    source: str
    target: str
    label: tuple[str, ...] = ()
    line: LineStyle = LineStyle.MOVE
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in declared order, at most one edge per source and target, and notes on what is not drawn."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Arrow:
    """One row from one of its sources to one of its targets."""

    source: str
    target: str
    row: Transition
    line: LineStyle


def _build_node(state: State, initial: str) -> Node:
    """Return the node of a state; a terminal state is shown without its `@`."""
    shape = Shape.TERMINAL if state.terminal else Shape.ROUTER if state.router else Shape.STATE
    text = state.name.removeprefix("@") if state.terminal else state.name
    return Node(state.name, shape, state.name == initial, text, state.about, phase=state.phase)


def _list_arrows(workflow: Workflow) -> Iterator[_Arrow]:
    """Yield every transition a row can make, row by row. A row that stays or refuses makes none."""
    for row in workflow.rows:
        line = LineStyle.RETURN if isinstance(row.to, ToVariable) else LineStyle.MOVE
        for target in list_targets(workflow, row):
            for source in dict.fromkeys(row.sources):
                if line is LineStyle.MOVE or source != target:
                    yield _Arrow(source, target, row, line)


def _build_edges(
    t: MessageCatalog, workflow: Workflow, ways: Sequence[_Arrow], guarded: Collection[str] = ()
) -> tuple[Edge, ...]:
    """Merge the arrows into one edge per source and target, in order of first appearance.

    Rows that leave one of the states in `guarded` are labelled with their guards. Other labels only
    distinguish competing rows.
    """
    merged: dict[tuple[str, str], list[_Arrow]] = {}
    rivals: dict[tuple[str, str | None], set[str]] = {}
    for way in ways:
        merged.setdefault((way.source, way.target), []).append(way)
        rivals.setdefault((way.source, way.row.trigger), set()).add(way.row.id)
    several = len({row.trigger for row in workflow.rows if row.trigger is not None}) > 1

    def format_label(way: _Arrow) -> str:
        # The trigger, if there are several, and what distinguishes rows with the same trigger.
        trigger, guards = way.row.trigger if several else None, _join_guards(t, way.row)
        if way.source in guarded and guards:
            return f"{trigger} · {guards}" if trigger else guards
        if len(rivals[way.source, way.row.trigger]) == 1:
            return trigger or ""
        return f"{trigger} · {way.row.id}" if trigger else guards or t("draw.otherwise")

    edges = []
    for (source, target), same in merged.items():
        label = tuple(filter(None, dict.fromkeys(map(format_label, same))))
        details = tuple(dict.fromkeys(_format_full_label(t, way.row) for way in same))
        edges.append(Edge(source, target, label, _merge_lines(same), details))
    return tuple(edges)


def _build_notes(t: MessageCatalog, workflow: Workflow) -> tuple[str, ...]:
    """Return a sentence for each fact or variable that decides a target only at run time."""
    notes: dict[str, None] = {}
    for row in workflow.rows:
        match row.to:
            case ToDerived(fact) if not row.refuse:
                notes[t("draw.derived", fact=fact)] = None
            case ToVariable(name) if not row.refuse and not list_targets(workflow, row):
                notes[t("draw.unsaid", name=name)] = None
    return tuple(notes)


def _merge_lines(same: Iterable[_Arrow | Edge]) -> LineStyle:
    return LineStyle.MOVE if any(way.line is LineStyle.MOVE for way in same) else LineStyle.RETURN


def _format_full_label(t: MessageCatalog, row: Transition) -> str:
    trigger = f" {row.trigger}" if row.trigger else ""
    guards = _join_guards(t, row)
    if guards:
        return t("draw.row", row=row.id, trigger=trigger, guards=guards)
    return f"{row.id}:{trigger}" if trigger else t("draw.always", row=row.id)


def _join_guards(t: MessageCatalog, row: Transition) -> str:
    return t("draw.and").join(guard.text for guard in (*row.when, *row.accept))


# --- the graph of a whole workflow --------------------------------------------------------------------------


# A row with this many sources or targets is folded into one shared node.
_MIN_FAN = 5


def build_graph(
    t: MessageCatalog, workflow: Workflow, fan: int = _MIN_FAN, guarded: Collection[str] = ()
) -> Graph:
    """Return the graph of a workflow. A row with `fan` or more sources leaves from one shared node.

    A row that returns to one of `fan` or more states that a variable can hold goes to one shared node too.
    Rows with the same sources and target share a node, and so do all rows with the same variable. Edges that
    leave a state in `guarded` are labelled with their guards.
    """
    states = [_build_node(state, workflow.initial) for state in workflow.states.values()]
    extra: dict[str, Node] = {}
    ways: list[_Arrow] = []
    for _, same in groupby(_list_arrows(workflow), key=attrgetter("row")):
        row_ways, nodes = _fold_row(t, workflow, fan, tuple(same))
        ways += row_ways
        extra.update((node.id, node) for node in nodes)
    edges = _build_edges(t, workflow, ways, guarded)
    return Graph(workflow.name, (*states, *extra.values()), edges, _build_notes(t, workflow))


def _fold_row(
    t: MessageCatalog, workflow: Workflow, fan: int, ways: tuple[_Arrow, ...]
) -> tuple[tuple[_Arrow, ...], list[Node]]:
    """Return the arrows that remain when a row is folded, and the nodes that replace its many ends."""
    nodes: list[Node] = []
    leaving = dict.fromkeys(way.source for way in ways)
    targets = tuple(dict.fromkeys(way.target for way in ways))
    to = ways[0].row.to
    if isinstance(to, ToVariable) and len(targets) >= fan:
        name = _find_free_name(workflow, to.name)
        nodes.append(Node(name, Shape.BACK, text=to.name, about=", ".join(targets), members=targets))
        ways = tuple(replace(ways[0], source=source, target=name) for source in leaving)
        targets = (name,)
    sources = tuple(name for name in workflow.states if name in leaving)
    if len(sources) >= fan and len(targets) == 1:
        living = sum(not state.terminal for state in workflow.states.values())
        text = t("draw.any") if len(sources) == living else t("draw.any_of", n=len(sources))
        name = _find_free_name(workflow, " ".join((*sources, targets[0])))
        nodes.append(Node(name, Shape.ANY, text=text, about=", ".join(sources), members=sources))
        ways = (replace(ways[0], source=name, target=targets[0]),)
    return ways, nodes


def _find_free_name(workflow: Workflow, name: str) -> str:
    """Return a name that no state has; the same words give the same name."""
    while name in workflow.states:
        name += "*"
    return name


# --- parts of a large graph ---------------------------------------------------------------------------------


# The approximate number of nodes in an overview in which nothing is kept or opened.
MAX_OVERVIEW_NODES: Final = 40
# The minimum number of states in a chain without branches that are drawn as one node.
_MIN_CHAIN: Final = 4
_MAX_END_LETTERS: Final = 9
_STAND_INS: Final = frozenset({Shape.ANY, Shape.BACK})


def build_overview(
    t: MessageCatalog,
    graph: Graph,
    keep: Collection[str] = (),
    opened: Collection[str] = (),
    most: int = MAX_OVERVIEW_NODES,
) -> Graph:
    """Return the graph with each sub-workflow and each long chain of states drawn as one node.

    If more than `most` nodes remain, the states of each phase are grouped too, then states in declared order.
    States in `keep` stay on their own. Groups whose ids are in `opened` are not grouped; other groups stay
    the same.
    """
    kept = frozenset(keep)
    depth = max((node.id.count("/") for node in graph.nodes), default=0)
    steps: list[Callable[[Graph], Iterable[Node]]] = [
        partial(_group_sub_workflows, t, level) for level in range(depth, 0, -1)
    ]
    steps += [
        partial(_group_chains, t, kept),
        partial(_group_phases, t, kept, most),
        partial(_group_bands, t, kept, most),
    ]
    folded, groups = graph, list[Node]()
    for step in steps:
        step_groups = [group for group in step(folded) if kept.isdisjoint(group.members)]
        groups += step_groups
        folded = _contract_groups(folded, step_groups)
    return _contract_groups(graph, [group for group in groups if group.id not in opened])


def build_neighbourhood(t: MessageCatalog, graph: Graph, states: Collection[str], hops: int) -> Graph:
    """Return what is at most `hops` edges away from these states, in either direction.

    A node that represents some of these states is as near as they are.
    """
    beside: dict[str, set[str]] = {node.id: set() for node in graph.nodes}
    for edge in graph.edges:
        beside[edge.source].add(edge.target)
        beside[edge.target].add(edge.source)
    last = near = {node.id for node in graph.nodes if not {node.id, *node.members}.isdisjoint(states)}
    for _ in range(hops):
        last = {other for name in last for other in beside[name]} - near
        near = near | last
    nodes = tuple(replace(n, hidden=len(beside[n.id] - near)) for n in graph.nodes if n.id in near)
    edges = tuple(edge for edge in graph.edges if edge.source in near and edge.target in near)
    left = sum(len(n.members) or 1 for n in graph.nodes if n.id not in near and n.shape not in _STAND_INS)
    notes = (t.count("draw.left", left),) if left else ()
    return Graph(graph.title, nodes, edges, (*notes, *graph.notes))


# --- groups: each is a node that represents several states --------------------------------------------------


def _contract_groups(graph: Graph, groups: Sequence[Node]) -> Graph:
    """Replace the states of each group by one node; edges inside a group are not drawn.

    If a state is in several groups, the last one counts.
    """
    last = {state: group for group in groups for state in group.members}
    drawn = {node.id: last.get(_list_states(node)[0], node) for node in graph.nodes}
    edges = _merge_edges(graph.edges, {name: node.id for name, node in drawn.items()})
    return replace(
        graph, nodes=tuple({node.id: node for node in drawn.values()}.values()), edges=tuple(edges)
    )


def _list_states(node: Node) -> tuple[str, ...]:
    """Return the states that only this node draws, or its own id if it is not a group."""
    return node.members if node.shape is Shape.GROUP else (node.id,)


def _build_group(nodes: Sequence[Node], id_: str, text: str, about: str) -> Node:
    states = tuple(state for node in nodes for state in _list_states(node))
    phases = {node.phase for node in nodes}
    phase = phases.pop() if len(phases) == 1 else ""
    initial = any(node.initial for node in nodes)
    return Node(id_, Shape.GROUP, initial, text, about, states, phase=phase)


def _group_sequence(t: MessageCatalog, nodes: Sequence[Node]) -> Node:
    """Group consecutive nodes; the group is named after its first and last state."""
    states = [state for node in nodes for state in _list_states(node)]
    first, last = (shorten_text(state, _MAX_END_LETTERS) for state in (states[0], states[-1]))
    text = t("draw.group", n=len(states), first=first, last=last)
    return _build_group(nodes, f"{states[0]}+{len(states) - 1}", text, ", ".join(states))


def _merge_edges(edges: Sequence[Edge], names: Mapping[str, str]) -> Iterator[Edge]:
    """Yield one edge for all edges between the same two nodes, and none for edges inside a group."""
    merged: dict[tuple[str, str], list[Edge]] = {}
    for edge in edges:
        ends = names[edge.source], names[edge.target]
        if ends[0] != ends[1] or ends == (edge.source, edge.target):
            merged.setdefault(ends, []).append(edge)
    for (source, target), same in merged.items():
        label = tuple(dict.fromkeys(line for edge in same for line in edge.label))
        details = tuple(dict.fromkeys(line for edge in same for line in edge.details))
        yield Edge(source, target, label, _merge_lines(same), details)


def _split_at_kept(nodes: Iterable[Node], kept: Collection[str]) -> Iterator[list[Node]]:
    """Yield the runs of nodes between those that are kept."""
    part: list[Node] = []
    for node in nodes:
        if node.id in kept:
            yield part
            part = []
        else:
            part.append(node)
    yield part


def _group_sub_workflows(t: MessageCatalog, depth: int, graph: Graph) -> Iterator[Node]:
    """Yield a group for each sub-workflow at this depth, with the state that uses it."""
    inside_of: dict[str, list[Node]] = {}
    for node in graph.nodes:
        parts = node.id.split("/")
        if len(parts) > depth and node.shape not in _STAND_INS:
            inside_of.setdefault("/".join(parts[:depth]), []).append(node)
    doors = {node.id: node for node in graph.nodes if node.id in inside_of}
    for name, inside in inside_of.items():
        nodes = [doors[name], *inside] if name in doors else inside
        text = t("draw.group_of", name=name, n=sum(len(_list_states(node)) for node in nodes))
        yield _build_group(nodes, name, text, doors[name].about if name in doors else "")


def _group_chains(t: MessageCatalog, kept: Collection[str], graph: Graph) -> Iterator[Node]:
    """Yield the longest chains in which each state is the only way on from the one before."""
    plain = {node.id: node for node in graph.nodes if node.shape is Shape.STATE and not node.initial}
    before = _find_only_neighbours(graph.edges, plain, back=True)
    after = _find_only_neighbours(graph.edges, plain, back=False)
    # By name: the next state, where each is the other's only neighbour on that side.
    following = {name: other for name, other in after.items() if before.get(other) == name}
    inner = set(following.values())
    for name in plain:
        if name in inner:
            continue
        chain = [name]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        parts = _split_at_kept((plain[member] for member in chain), kept)
        yield from (_group_sequence(t, part) for part in parts if len(part) >= _MIN_CHAIN)


def _find_only_neighbours(edges: Sequence[Edge], plain: Collection[str], *, back: bool) -> dict[str, str]:
    neighbours: dict[str, set[str]] = {}
    for edge in edges:
        node, neighbour = (edge.target, edge.source) if back else (edge.source, edge.target)
        neighbours.setdefault(node, set()).add(neighbour)
    return {
        name: next(iter(others)) for name, others in neighbours.items() if len(others) == 1 and name in plain
    }


def _list_inner_nodes(graph: Graph) -> list[Node]:
    """Return the nodes that may be grouped: neither where a run begins nor where it ends."""
    apart = {*_STAND_INS, Shape.TERMINAL}
    return [node for node in graph.nodes if not node.initial and node.shape not in apart]


def _group_phases(t: MessageCatalog, kept: Collection[str], most: int, graph: Graph) -> Iterator[Node]:
    """Yield a group for the states of each phase, if the graph is too large otherwise."""
    by_phase: dict[str, list[Node]] = {}
    for node in _list_inner_nodes(graph) if len(graph.nodes) > most else ():
        if node.phase and node.id not in kept:
            by_phase.setdefault(node.phase, []).append(node)
    for phase, nodes in by_phase.items():
        if len(nodes) > 1:
            group = _group_sequence(t, nodes)
            yield replace(group, text=t("draw.group_of", name=phase, n=len(group.members)))


def _group_bands(t: MessageCatalog, kept: Collection[str], most: int, graph: Graph) -> Iterator[Node]:
    """Yield groups of consecutive states in declared order, so that at most `most` nodes remain."""
    inner = _list_inner_nodes(graph)
    room = max(1, most - (len(graph.nodes) - len(inner)))
    size = -(-len(inner) // room) if len(graph.nodes) > most else 1
    for start in range(0, len(inner), size):
        parts = _split_at_kept(inner[start : start + size], kept)
        yield from (_group_sequence(t, part) for part in parts if len(part) > 1)
