"""Mark where a run is on the graph of its workflow: current, visited, possible and blocked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from handrail.drawing.graph import Node, Shape
from handrail.engine.decide import Availability, Exit, Reason, ReasonKind
from handrail.workflows.templates import MessageCatalog

# The words for marks. Nodes have the first four and `open`; edges have the last two and `blocked`.
CURRENT, POSSIBLE, BLOCKED, VISITED, OPEN, WALKED = (
    "current",
    "possible",
    "blocked",
    "visited",
    "open",
    "walked",
)


@dataclass(frozen=True, slots=True)
class RunMarks:
    """Where a run is, how often it was in each state and took each transition, and where it can go next.

    `ways` are the transitions that lead on. The ends of `taken` and `ways` are states of the workflow.
    """

    current: tuple[str, ...] = ()
    visits: Mapping[str, int] = field(default_factory=dict)
    taken: Mapping[tuple[str, str], int] = field(default_factory=dict)
    ways: tuple[Exit, ...] = ()

    def states(self, *prospects: Availability) -> frozenset[str]:
        """Return the states that a way with one of these prospects leads to."""
        return frozenset(way.target for way in self.ways if way.prospect in prospects) - {""}

    @property
    def possible(self) -> frozenset[str]:
        """The states that the run can reach or pass next."""
        return self.states(Availability.OPEN, Availability.UNSURE)

    @property
    def blocked(self) -> frozenset[str]:
        """The states to which every way from here is shut."""
        return self.states(Availability.SHUT) - self.possible


NO_MARKS = RunMarks()


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark words of a node or an edge, and how often the run was there.

    `here` are the node's states that the run is in. `ways` are the ways that lead on along the edge.
    """

    words: tuple[str, ...] = ()
    often: int = 0
    here: tuple[str, ...] = ()
    ways: tuple[Exit, ...] = ()


UNMARKED = Mark()


class MarkIndex:
    """Finds the marks of a run for nodes and edges, including nodes that represent several states."""

    def __init__(self, marks: RunMarks) -> None:
        self._marks = marks
        self._possible, self._blocked = marks.possible, marks.blocked
        self._ways: dict[tuple[str, str], list[Exit]] = {}
        for way in marks.ways:
            self._ways.setdefault((way.source, way.target), []).append(way)

    def mark_node(self, node: Node) -> Mark:
        """Return the mark of a node. `current` excludes `possible`, `blocked` and `visited`.

        Of the nodes that stand in for other states, `any` can only be `open`, and `back` is never marked.
        """
        marks, names = self._marks, frozenset(node.members or (node.id,))
        here = [name for name in marks.current if name in names]
        if node.shape in {Shape.ANY, Shape.BACK}:
            return Mark((OPEN,)) if here and node.shape is Shape.ANY else UNMARKED
        often = sum(marks.visits.get(name, 0) for name in names)
        words = [CURRENT] if here else [POSSIBLE] * bool(names & self._possible)
        words += [BLOCKED] * (not words and bool(names & self._blocked)) + [VISITED] * bool(
            often and not here
        )
        return Mark(tuple(words), often, tuple(here))

    def mark_edge(self, source: Node, target: Node) -> Mark:
        """Return the mark of an edge: `open` if the run can take it, `blocked` if not, `walked` if it did."""
        marks = self._marks
        often = sum(marks.taken[pair] for pair in _find_marked_pairs(source, target, marks.taken))
        ways = [way for pair in _find_marked_pairs(source, target, self._ways) for way in self._ways[pair]]
        good = [way for way in ways if way.prospect is not Availability.SHUT]
        words = [OPEN] if good else [BLOCKED] * bool(ways)
        words += [WALKED] * bool(often)
        return Mark(tuple(words), often, ways=tuple(ways))


def _find_marked_pairs(
    source: Node, target: Node, among: Mapping[tuple[str, str], object]
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of states in `among` that an edge between these nodes represents."""
    sources, targets = (node.members or (node.id,) for node in (source, target))
    if len(sources) * len(targets) <= len(among):
        yield from (pair for pair in product(sources, targets) if pair in among)
    else:
        left, right = set(sources), set(targets)
        yield from (pair for pair in among if pair[0] in left and pair[1] in right)


def explain_reasons(t: MessageCatalog, reasons: Sequence[Reason]) -> tuple[str, ...]:
    """Return in words what a way depends on, or what keeps it shut."""
    return tuple(_explain_reason(t, reason) for reason in reasons)


def _explain_reason(t: MessageCatalog, reason: Reason) -> str:
    guards = t("draw.and").join(reason.guards)
    if reason.kind is ReasonKind.GUARD:
        return guards
    text = t(f"draw.because.{reason.kind}", name=reason.name)
    return f"{text}: {guards}" if guards else text
