"""What a picture says about one run."""

from dataclasses import dataclass

from handrail.workflows.draw.graph import Node, Shape


@dataclass(frozen=True, slots=True)
class Marks:
    """Where a run is, where it has been, where it can go next, and which states it cannot enter now."""

    current: tuple[str, ...] = ()
    visited: frozenset[str] = frozenset()
    possible: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()


NO_MARKS = Marks()


def node_marks(node: Node, marks: Marks) -> tuple[str, ...]:
    """The words that apply to a node: `current` before all others, `open` if one leaves such by it."""
    if node.members:
        leaves = node.shape is Shape.ANY and set(marks.current) & set(node.members)
        return ("open",) if leaves else ()
    if node.id in marks.current:
        return ("current",)
    sets = (("visited", marks.visited), ("possible", marks.possible), ("blocked", marks.blocked))
    return tuple(word for word, names in sets if node.id in names)


def edge_marks(source: Node, target: Node, marks: Marks) -> tuple[str, ...]:
    """`open` if the run can go on by the edge between these nodes, `walked` if it has been at both ends."""
    here = set(marks.current) & {source.id, *source.members}
    if here and marks.possible & {target.id, *target.members}:
        return ("open",)
    been = marks.visited | set(marks.current)
    return ("walked",) if source.id in marks.visited and target.id in been else ()
