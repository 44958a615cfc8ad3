"""What a picture says about one run."""

from dataclasses import dataclass

from handrail.workflows.draw.graph import Edge, Node


@dataclass(frozen=True, slots=True)
class Marks:
    """Where a run is, where it has been, where it can go next, and which states it cannot enter now."""

    current: tuple[str, ...] = ()
    visited: frozenset[str] = frozenset()
    possible: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()


NO_MARKS = Marks()


def node_marks(node: Node, marks: Marks) -> tuple[str, ...]:
    """The words that apply to a node: `current` before all others; a node for many is `open` with any of them."""
    if node.members:
        return ("open",) if set(marks.current) & set(node.members) else ()
    if node.id in marks.current:
        return ("current",)
    sets = (("visited", marks.visited), ("possible", marks.possible), ("blocked", marks.blocked))
    return tuple(word for word, names in sets if node.id in names)


def edge_marks(edge: Edge, source: Node, marks: Marks) -> tuple[str, ...]:
    """`open` if the run can take the edge now, else `walked` if it has been at both of its ends."""
    here = set(marks.current) & {source.id, *source.members}
    if here and edge.target in marks.possible:
        return ("open",)
    been = marks.visited | set(marks.current)
    return ("walked",) if edge.source in marks.visited and edge.target in been else ()
