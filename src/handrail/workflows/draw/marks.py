"""What a picture says about one run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from handrail.engine.ways import Because, Prospect, Reason, Way
from handrail.workflows.catalogue import Catalogue
from handrail.workflows.draw.graph import Node, Shape

CURRENT, POSSIBLE, BLOCKED, VISITED, OPEN, WALKED = (
    "current",
    "possible",
    "blocked",
    "visited",
    "open",
    "walked",
)
"""The words for what is marked: of nodes the first four and `open`, of edges the last three and `blocked`."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Where a run is, where it has been how often and by which ways, and where it can go from here.

    `ways` are those that lead on; the ends of `taken` and of `ways` are states, as the workflow has them.
    """

    current: tuple[str, ...] = ()
    visits: Mapping[str, int] = field(default_factory=dict)
    taken: Mapping[tuple[str, str], int] = field(default_factory=dict)
    ways: tuple[Way, ...] = ()

    def states(self, *prospects: Prospect) -> frozenset[str]:
        """The states that a way with such a prospect leads to."""
        return frozenset(way.target for way in self.ways if way.prospect in prospects) - {""}

    @property
    def possible(self) -> frozenset[str]:
        """The states that the run can be in next, or pass."""
        return self.states(Prospect.OPEN, Prospect.UNSURE)

    @property
    def blocked(self) -> frozenset[str]:
        """The states that every way from here to is shut."""
        return self.states(Prospect.SHUT) - self.possible


NO_MARKS = Marks()


@dataclass(frozen=True, slots=True)
class Marked:
    """The words that apply to a node or an edge, and how often the run was there.

    `here` are those of the states that the run is in, `ways` those that lead on by the edge.
    """

    words: tuple[str, ...] = ()
    often: int = 0
    here: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()


UNMARKED = Marked()


class Marking:
    """The marks of a run as they fall on nodes and edges, also on those that stand for many states."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._possible, self._blocked = marks.possible, marks.blocked
        self._ways: dict[tuple[str, str], list[Way]] = {}
        for way in marks.ways:
            self._ways.setdefault((way.source, way.target), []).append(way)

    def node(self, node: Node) -> Marked:
        """What is marked on a node: `current` before all others; one that many are left by is only `open`."""
        marks, names = self._marks, frozenset(node.members or (node.id,))
        here = [name for name in marks.current if name in names]
        if node.shape in {Shape.ANY, Shape.BACK}:
            return Marked((OPEN,)) if here and node.shape is Shape.ANY else UNMARKED
        often = sum(marks.visits.get(name, 0) for name in names)
        words = [CURRENT] if here else [POSSIBLE] * bool(names & self._possible)
        words += [BLOCKED] * (not words and bool(names & self._blocked)) + [VISITED] * bool(
            often and not here
        )
        return Marked(tuple(words), often, tuple(here))

    def edge(self, source: Node, target: Node) -> Marked:
        """`open` if the run can go on by the edge, `blocked` if it cannot, `walked` if it went that way."""
        marks = self._marks
        often = sum(marks.taken[pair] for pair in _pairs(source, target, marks.taken))
        ways = [way for pair in _pairs(source, target, self._ways) for way in self._ways[pair]]
        good = [way for way in ways if way.prospect is not Prospect.SHUT]
        words = [OPEN] if good else [BLOCKED] * bool(ways)
        words += [WALKED] * bool(often)
        return Marked(tuple(words), often, ways=tuple(ways))


def _pairs(source: Node, target: Node, among: Mapping[tuple[str, str], object]) -> Iterator[tuple[str, str]]:
    """The pairs of states, of those that are marked, that an edge between these nodes stands for."""
    sources, targets = (node.members or (node.id,) for node in (source, target))
    if len(sources) * len(targets) <= len(among):
        yield from (pair for pair in product(sources, targets) if pair in among)
    else:
        left, right = set(sources), set(targets)
        yield from (pair for pair in among if pair[0] in left and pair[1] in right)


def because(t: Catalogue, reasons: Sequence[Reason]) -> tuple[str, ...]:
    """What a way depends on, or what keeps it shut, in words."""
    return tuple(_because(t, one) for one in reasons)


def _because(t: Catalogue, one: Reason) -> str:
    guards = t("draw.and").join(one.guards)
    if one.kind is Because.GUARD:
        return guards
    said = t(f"draw.because.{one.kind}", name=one.name)
    return f"{said}: {guards}" if guards else said
