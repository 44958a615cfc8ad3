"""The way a run has gone, from its journal: where it has been how often, and by which ways."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from handrail.engine.model import Stay, ToDerived, ToState, Transition, Workflow
from handrail.telemetry.entries import Entry, EntryKind

_MOVED = frozenset({EntryKind.STEP_COMPLETED, EntryKind.STEP_FAILED, EntryKind.STEP_STAYED})
_TAKEN_OVER = frozenset({EntryKind.STATE_ADOPTED, EntryKind.STATE_REPAIRED})


@dataclass(frozen=True, slots=True)
class Trail:
    """How often a run has entered each state, and gone from one to another; and the last it came to.

    Routers and ends are included.
    """

    visits: Mapping[str, int]
    moves: Mapping[tuple[str, str], int]
    last: str = ""


def trail_of(workflow: Workflow, entries: Iterable[Entry]) -> Trail:
    """The way of a run of this workflow. What its rows do not tell is left out.

    A row of an older text, or one that was taken from nobody knows where, is such a thing.
    """
    rows = {row.id: row for row in workflow.rows}
    visits, moves, last = Counter[str](), Counter[tuple[str, str]](), ""
    for entry in entries:
        over = entry.kind in _TAKEN_OVER and entry.step not in {"", last}
        if over or entry.kind is EntryKind.STEP_STARTED:
            visits[entry.step] += 1
            last = entry.step
        elif entry.kind in _MOVED:
            found = list(_moves(rows, entry.step or last, entry))
            moves.update(found)
            visits.update(target for _, target in found if _passed(workflow, target))
            to = str(entry.data.get("to") or last)
            visits.update([to] if workflow.derive and to != last else ())
            last = to
    return Trail(dict(visits), dict(moves), last)


def _passed(workflow: Workflow, name: str) -> bool:
    """True if no step is ever opened in this state: it is passed at once, or the end."""
    state = workflow.states.get(name)
    return state is not None and (state.router or state.terminal)


def _moves(rows: Mapping[str, Transition], source: str, entry: Entry) -> Iterator[tuple[str, str]]:
    taken, to = entry.data.get("rows"), entry.data.get("to")
    names = [str(name) for name in taken] if isinstance(taken, list) else []
    for name, following in zip_longest(names, names[1:], fillvalue=""):
        row = rows.get(name)
        target = _target(row, rows.get(following)) if following else str(to or "")
        if row and target and source in row.sources and not _stays(row, source, target):
            yield source, target
        source = target


def _stays(row: Transition, source: str, target: str) -> bool:
    return isinstance(row.to, Stay) or (isinstance(row.to, ToDerived) and source == target)


def _target(row: Transition | None, following: Transition | None) -> str:
    """Where a row led that another was taken behind; empty if that is not known."""
    if row and isinstance(row.to, ToState):
        return row.to.name
    sources = following.sources if following else ()
    return sources[0] if len(sources) == 1 else ""
