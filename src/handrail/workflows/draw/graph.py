"""What a picture of a workflow shows: its states, and one edge for each way from one to another."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from handrail.engine.explore import targets
from handrail.engine.model import State, ToDerived, ToVariable, Transition, Workflow
from handrail.workflows.catalogue import Catalogue


class Shape(StrEnum):
    """What a node stands for: one state of some sort, or many.

    Of many, `any` are the sources of a row and `back` its targets, each drawn elsewhere too; a `group` is
    drawn in place of its states.
    """

    STATE = "state"
    ROUTER = "router"
    TERMINAL = "terminal"
    ANY = "any"
    BACK = "back"
    GROUP = "group"


class Line(StrEnum):
    """How an edge is drawn: `move` goes where the row says, `return` to the state a variable holds."""

    MOVE = "move"
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class Node:
    """A node: what is written in it, what is told about it, and the states it stands for if they are many.

    `hidden` is how many others it has ways to or from that the graph leaves out.
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
    """All ways from one node to another: a line of `label` for each row, and in full in `details`."""

    source: str
    target: str
    label: tuple[str, ...] = ()
    line: Line = Line.MOVE
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in declared order, at most one edge per source and target, and what could not be drawn."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrow:
    """One row seen from one of its sources, with one of its targets."""

    source: str
    target: str
    row: Transition
    line: Line


def node_of(state: State, initial: str) -> Node:
    """The node of a state, with the name as people write it."""
    shape = Shape.TERMINAL if state.terminal else Shape.ROUTER if state.router else Shape.STATE
    text = state.name.removeprefix("@") if state.terminal else state.name
    return Node(state.name, shape, state.name == initial, text, state.about, phase=state.phase)


def arrows(workflow: Workflow) -> Iterator[Arrow]:
    """Every way a row can move a run, row by row; a row that stays or refuses moves nothing."""
    for row in workflow.rows:
        line = Line.RETURN if isinstance(row.to, ToVariable) else Line.MOVE
        for target in targets(workflow, row):
            for source in dict.fromkeys(row.sources):
                if line is Line.MOVE or source != target:
                    yield Arrow(source, target, row, line)


def edges_of(
    t: Catalogue, workflow: Workflow, ways: tuple[Arrow, ...], guarded: Collection[str] = ()
) -> tuple[Edge, ...]:
    """The ways merged to one edge per source and target, in the order in which they first appear.

    Rows that leave one of `guarded` are labelled with their guards; others are told from each other.
    """
    merged: dict[tuple[str, str], list[Arrow]] = {}
    for way in ways:
        merged.setdefault((way.source, way.target), []).append(way)
    triggers = {row.trigger for row in workflow.rows if row.trigger is not None}
    wording = _Wording(t, len(triggers) > 1, _rivals(ways), guarded)
    return tuple(_edge(wording, same) for same in merged.values())


def notes_of(t: Catalogue, workflow: Workflow) -> tuple[str, ...]:
    """What the rows leave open until they are taken, one sentence for each fact or variable."""
    notes: dict[str, None] = {}
    for row in workflow.rows:
        match row.to:
            case ToDerived(fact) if not row.refuse:
                notes[t("draw.derived", fact=fact)] = None
            case ToVariable(name) if not row.refuse and not targets(workflow, row):
                notes[t("draw.unsaid", name=name)] = None
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class _Wording:
    """What the words on an edge depend on: whether triggers differ, where rows compete, what is guarded."""

    t: Catalogue
    triggers: bool
    rivals: Mapping[tuple[str, str | None], int]
    guarded: Collection[str]


def _rivals(ways: tuple[Arrow, ...]) -> Mapping[tuple[str, str | None], int]:
    rows: dict[tuple[str, str | None], set[str]] = {}
    for way in ways:
        rows.setdefault((way.source, way.row.trigger), set()).add(way.row.id)
    return {key: len(ids) for key, ids in rows.items()}


def _edge(wording: _Wording, same: list[Arrow]) -> Edge:
    lines = dict.fromkeys(_short(wording, way) for way in same)
    line = Line.MOVE if any(way.line is Line.MOVE for way in same) else Line.RETURN
    details = tuple(dict.fromkeys(_full(wording.t, way.row) for way in same))
    return Edge(same[0].source, same[0].target, tuple(text for text in lines if text), line, details)


def _short(wording: _Wording, way: Arrow) -> str:
    """The trigger if there are several, and what tells the row from others that the same trigger may take."""
    row = way.row
    trigger = row.trigger if wording.triggers else None
    if way.source in wording.guarded and (guards := _guards(wording.t, row)):
        return f"{trigger} · {guards}" if trigger else guards
    if wording.rivals[way.source, row.trigger] == 1:
        return trigger or ""
    return f"{trigger} · {row.id}" if trigger else _guards(wording.t, row) or wording.t("draw.otherwise")


def _full(t: Catalogue, row: Transition) -> str:
    trigger = f" {row.trigger}" if row.trigger else ""
    guards = _guards(t, row)
    if guards:
        return t("draw.row", row=row.id, trigger=trigger, guards=guards)
    return f"{row.id}:{trigger}" if trigger else t("draw.always", row=row.id)


def _guards(t: Catalogue, row: Transition) -> str:
    return t("draw.and").join(guard.text for guard in (*row.when, *row.accept))
