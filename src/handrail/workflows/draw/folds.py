"""The graph of a workflow, with its fans folded where one row leaves from nearly everywhere."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from handrail.engine.model import ToVariable, Workflow
from handrail.workflows.catalogue import Catalogue
from handrail.workflows.draw.graph import (
    Arrow,
    Graph,
    Line,
    Node,
    Shape,
    arrows,
    edges_of,
    node_of,
    notes_of,
)

FAN = 5


@dataclass(frozen=True, slots=True)
class _Fold:
    """The ways that remain when one row's fan is folded, and the nodes that stand for its many ends."""

    ways: tuple[Arrow, ...]
    nodes: tuple[Node, ...]


def graph_of(t: Catalogue, workflow: Workflow, fan: int = FAN, guarded: Collection[str] = ()) -> Graph:
    """The graph of a workflow; a row with `fan` or more sources leaves from one node that stands for them.

    A row that goes back to one of so many states that a variable can hold goes to one node likewise.
    Rows with the same sources and target share a node, and so do all rows with the same variable. What
    leaves one of the states that are `guarded` is labelled with its guards.
    """
    folds = tuple(_folds(t, workflow, fan))
    extra = {node.id: node for fold in folds for node in fold.nodes}
    states = tuple(node_of(state, workflow.initial) for state in workflow.states.values())
    ways = tuple(way for fold in folds for way in fold.ways)
    edges = edges_of(t, workflow, ways, guarded)
    return Graph(workflow.name, (*states, *extra.values()), edges, notes_of(t, workflow))


def _folds(t: Catalogue, workflow: Workflow, fan: int) -> Iterator[_Fold]:
    for _, same in groupby(arrows(workflow), key=attrgetter("row")):
        yield _from_any(t, workflow, fan, _back_to(workflow, fan, tuple(same)))


def _back_to(workflow: Workflow, fan: int, ways: tuple[Arrow, ...]) -> _Fold:
    targets = tuple(dict.fromkeys(way.target for way in ways))
    to = ways[0].row.to
    if not isinstance(to, ToVariable) or len(targets) < fan:
        return _Fold(ways, ())
    node = Node(_free(workflow, to.name), Shape.BACK, text=to.name, about=_list(targets), members=targets)
    sources = dict.fromkeys(way.source for way in ways)
    return _Fold(tuple(replace(ways[0], source=name, target=node.id) for name in sources), (node,))


def _from_any(t: Catalogue, workflow: Workflow, fan: int, fold: _Fold) -> _Fold:
    leaving = {way.source for way in fold.ways}
    sources = tuple(name for name in workflow.states if name in leaving)
    targets = tuple(dict.fromkeys(way.target for way in fold.ways))
    if len(sources) < fan or len(targets) > 1:
        return fold
    living = sum(not state.terminal for state in workflow.states.values())
    text = t("draw.any") if len(sources) == living else t("draw.any_of", n=len(sources))
    name = _free(workflow, " ".join((*sources, targets[0])))
    node = Node(name, Shape.ANY, text=text, about=_list(sources), members=sources)
    way = Arrow(node.id, targets[0], fold.ways[0].row, Line(fold.ways[0].line))
    return _Fold((way,), (*fold.nodes, node))


def _free(workflow: Workflow, name: str) -> str:
    """A name that no state has, the same for the same words."""
    while name in workflow.states:
        name += "*"
    return name


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names)
