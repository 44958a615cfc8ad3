"""What a picture says about one run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import assert_never

from handrail.engine.ways import Prospect, Way
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
    """The words that apply to a node or an edge, how often the run was there, and sentences about it."""

    words: tuple[str, ...] = ()
    often: int = 0
    told: tuple[str, ...] = ()


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
        told = [f"now at {', '.join(here)}" if node.members else "the run is here"] if here else []
        told += [f"entered {_times(often)}"] if often else []
        return Marked(tuple(words), often, tuple(told))

    def edge(self, source: Node, target: Node) -> Marked:
        """`open` if the run can go on by the edge, `blocked` if it cannot, `walked` if it went that way."""
        marks = self._marks
        often = sum(marks.taken[pair] for pair in _pairs(source, target, marks.taken))
        ways = [way for pair in _pairs(source, target, self._ways) for way in self._ways[pair]]
        good = [way for way in ways if way.prospect is not Prospect.SHUT]
        words = [OPEN] if good else [BLOCKED] * bool(ways)
        words += [WALKED] * bool(often)
        told = [f"taken {_times(often)}"] if often else []
        return Marked(tuple(words), often, (*told, *map(_sentence, ways)))


def _pairs(source: Node, target: Node, among: Mapping[tuple[str, str], object]) -> Iterator[tuple[str, str]]:
    """The pairs of states, of those that are marked, that an edge between these nodes stands for."""
    sources, targets = (node.members or (node.id,) for node in (source, target))
    if len(sources) * len(targets) <= len(among):
        yield from (pair for pair in product(sources, targets) if pair in among)
    else:
        left, right = set(sources), set(targets)
        yield from (pair for pair in among if pair[0] in left and pair[1] in right)


def _sentence(way: Way) -> str:
    why = f": {'; '.join(way.why)}" if way.why else ""
    match way.prospect:
        case Prospect.OPEN:
            return f"{way.row} can be taken now"
        case Prospect.UNSURE:
            return f"{way.row} may be taken, depending on this{why}"
        case Prospect.SHUT:
            return f"{way.row} is blocked{why}"
        case _:
            assert_never(way.prospect)


def _times(often: int) -> str:
    return "once" if often == 1 else f"{often} times"
