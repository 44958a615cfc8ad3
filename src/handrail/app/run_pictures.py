"""Data for the pictures of a run: its graph with marks, and its timeline of who it waited for.

Everything is derived from the workflow and the journal; nothing here reads a store. Start with
`build_graph_marks` and `build_stretches`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import zip_longest
from typing import Final, Protocol

from handrail.drawing.graph import Edge, Graph, build_graph
from handrail.drawing.marks import RunMarks
from handrail.drawing.timeline import RefusedCall, WaitBar
from handrail.engine.decide import find_exits, find_open_steps
from handrail.engine.facts import PENDING, Value
from handrail.engine.lifecycle import is_terminal
from handrail.engine.model import Actor, Lifecycle, Run, Stay, Step, ToDerived, ToState, Transition, Workflow
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.ports.queries import RunRow, StepRow
from handrail.runtime.records import JournalEntry
from handrail.workflows.templates import MessageCatalog


class WaitKind(StrEnum):
    """What a run waits for in a step: an agent, a person, a check, or to be resumed."""

    AGENT = "agent"
    PERSON = "person"
    CHECK = "check"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True)
class WaitSpan:
    """A part of a step in which the run waited for one thing. `ended` is None while it still waits."""

    number: int
    state: str
    waited: WaitKind
    began: datetime
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that was refused or failed. `state` is empty if it is not known."""

    at: datetime
    state: str
    code: str
    trigger: str


class JournalLine(Protocol):
    """A line of the journal, as a store returns it."""

    @property
    def at(self) -> datetime:
        """When it was written."""

    @property
    def entry(self) -> Entry:
        """The entry."""


_WAIT_KIND_BY_ACTOR: Final = {
    Actor.AGENT: WaitKind.AGENT,
    Actor.PERSON: WaitKind.PERSON,
    Actor.SERVER: WaitKind.CHECK,
}
_CLOSING_KINDS: Final = frozenset({EntryKind.STEP_COMPLETED, EntryKind.STEP_FAILED})
_TAKEOVER_KINDS: Final = frozenset({EntryKind.STATE_ADOPTED, EntryKind.STATE_REPAIRED})
_TERMINAL_LIFECYCLES: Final = frozenset(str(lifecycle) for lifecycle in Lifecycle if is_terminal(lifecycle))


def find_wait_kinds(workflow: Workflow) -> Mapping[str, WaitKind]:
    """Map each state to what its step waits for: the agent, unless only others can move it on."""
    actors: dict[str, set[Actor]] = {}
    for (state, trigger), rows in workflow.index.items():
        tool = workflow.tools.get(trigger or "")
        if any(not row.refuse for row in rows):
            actors.setdefault(state, set()).add(tool.who if tool else Actor.AGENT)
    first_actor = {state: next(who for who in Actor if who in allowed) for state, allowed in actors.items()}
    return {state: _WAIT_KIND_BY_ACTOR[who] for state, who in first_actor.items()}


def build_spans(journal: Iterable[JournalLine], waits: Mapping[str, WaitKind]) -> tuple[WaitSpan, ...]:
    """Build the spans of a run, in the order of their start. `waits` comes from `find_wait_kinds`.

    A step that has its output waits for a check. A step of a paused run waits for the run to be resumed. If
    the journal has no start of a step, its state comes from its other entries.
    """
    builder = _SpanBuilder(waits)
    for line in journal:
        builder.add_entry(line.at, line.entry)
    return tuple(sorted(builder.spans(), key=lambda span: (span.began, span.number)))


def list_refusals(journal: Iterable[JournalLine]) -> tuple[Refusal, ...]:
    """List the refusals of a run, in journal order."""
    lines = (line for line in journal if line.entry.kind is EntryKind.ERROR_OCCURRED)
    found = []
    for line in lines:
        code, trigger = (str(line.entry.data.get(name, "")) for name in ("error_type", "trigger"))
        found.append(Refusal(line.at, line.entry.step, code, trigger))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _OpenStep:
    """An open step: its current span, the trigger that waits for a check, and what a resume returns to."""

    span: WaitSpan
    trigger: str = ""
    resumes_to: WaitKind = WaitKind.AGENT


class _SpanBuilder:
    """Collects spans while the journal is read: those of open steps and finished ones."""

    def __init__(self, waits: Mapping[str, WaitKind]) -> None:
        self._waits = waits
        self._open: dict[int, _OpenStep] = {}
        self._finished: list[WaitSpan] = []
        self._last = 0

    def spans(self) -> Iterator[WaitSpan]:
        yield from self._finished
        yield from (step.span for step in self._open.values())

    def add_entry(self, at: datetime, entry: Entry) -> None:
        match entry.kind:
            case EntryKind.STEP_STARTED:
                self._start_step(at, _read_step_number(entry) or self._last + 1, entry.step)
            case kind if kind in _CLOSING_KINDS:
                self._end_steps(at, [_read_step_number(entry)])
            case EntryKind.STEP_WAITING:
                for step in self._steps_in(entry.step):
                    self._change_wait(at, step, WaitKind.CHECK, str(entry.data.get("trigger", "")))
            case EntryKind.STEP_STAYED:
                self._apply_stay(at, entry)
            case kind if kind in _TAKEOVER_KINDS:
                self._enter_state(at, entry.step)
            case EntryKind.WORKFLOW_STATE_TRANSITION:
                self._apply_lifecycle(at, str(entry.data.get("to", "")))

    def _start_step(self, at: datetime, number: int, state: str) -> None:
        self._last = max(self._last, number)
        self._open[number] = _OpenStep(WaitSpan(number, state, self._waits.get(state, WaitKind.AGENT), at))

    def _end_steps(self, at: datetime, numbers: Iterable[int]) -> None:
        for number in numbers:
            if step := self._open.pop(number, None):
                self._finished.append(replace(step.span, ended=max(at, step.span.began)))

    def _change_wait(self, at: datetime, step: _OpenStep, waited: WaitKind, trigger: str) -> None:
        """End the current span of a step and start one that waits for something else."""
        if step.span.waited is not waited:
            self._end_steps(at, [step.span.number])
            span = WaitSpan(step.span.number, step.span.state, waited, at)
            self._open[span.number] = _OpenStep(span, trigger, step.span.waited)

    def _steps_in(self, state: str) -> list[_OpenStep]:
        """List the open steps in a state."""
        return [step for step in self._open.values() if step.span.state == state]

    def _apply_stay(self, at: datetime, entry: Entry) -> None:
        """Apply a row that stays: it settles the step's trigger. A derived state may have changed."""
        if not entry.step:
            self._enter_state(at, str(entry.data.get("to", "")))
            return
        for step in self._steps_in(entry.step):
            if step.trigger and step.trigger == entry.data.get("trigger"):
                self._change_wait(at, step, self._waits.get(entry.step, WaitKind.AGENT), "")

    def _enter_state(self, at: datetime, state: str) -> None:
        """Put the run into this state, whatever was open before."""
        if state and [step.span.state for step in self._open.values()] != [state]:
            self._end_steps(at, list(self._open))
            self._start_step(at, self._last + 1, state)

    def _apply_lifecycle(self, at: datetime, lifecycle: str) -> None:
        for step in list(self._open.values()):
            if lifecycle == Lifecycle.PAUSED:
                self._change_wait(at, step, WaitKind.PAUSE, step.trigger)
            elif lifecycle in _TERMINAL_LIFECYCLES:
                self._end_steps(at, [step.span.number])
            elif step.span.waited is WaitKind.PAUSE:
                self._change_wait(at, step, step.resumes_to, step.trigger)


def _read_step_number(entry: Entry) -> int:
    number = entry.data.get("number")
    return number if isinstance(number, int) else 0


_MOVE_KINDS = frozenset({EntryKind.STEP_COMPLETED, EntryKind.STEP_FAILED, EntryKind.STEP_STAYED})


@dataclass(frozen=True, slots=True)
class VisitHistory:
    """How often a run entered each state and took each move, and the last state it reached.

    Routers and terminal states are included.
    """

    visits: Mapping[str, int]
    moves: Mapping[tuple[str, str], int]
    last: str = ""


def build_visit_history(workflow: Workflow, entries: Iterable[Entry]) -> VisitHistory:
    """Build the visit history of a run from its journal.

    Moves that the rows of this workflow cannot explain are left out: a row of an older workflow text, or a
    row whose source is not known.
    """
    rows = {row.id: row for row in workflow.rows}
    visits, moves, last = Counter[str](), Counter[tuple[str, str]](), ""
    for entry in entries:
        adopted = entry.kind in _TAKEOVER_KINDS and entry.step not in {"", last}
        if adopted or entry.kind is EntryKind.STEP_STARTED:
            visits[entry.step] += 1
            last = entry.step
        elif entry.kind in _MOVE_KINDS:
            taken = list(_list_moves(rows, entry.step or last, entry))
            moves.update(taken)
            # No step is ever opened in a router or terminal state.
            states = [workflow.states[target] for _, target in taken if target in workflow.states]
            visits.update(state.name for state in states if state.router or state.terminal)
            to = str(entry.data.get("to") or last)
            visits.update([to] if workflow.derive and to != last else ())
            last = to
    return VisitHistory(dict(visits), dict(moves), last)


def _list_moves(rows: Mapping[str, Transition], source: str, entry: Entry) -> Iterator[tuple[str, str]]:
    taken, to = entry.data.get("rows"), entry.data.get("to")
    names = [str(name) for name in taken] if isinstance(taken, list) else []
    for name, following in zip_longest(names, names[1:], fillvalue=""):
        row = rows.get(name)
        target = _find_move_target(row, rows.get(following)) if following else str(to or "")
        stays = Stay if source != target else (Stay, ToDerived)
        if row and target and source in row.sources and not isinstance(row.to, stays):
            yield source, target
        source = target


def _find_move_target(row: Transition | None, following: Transition | None) -> str:
    """Return where a row led, given the row taken after it; empty if that is not known."""
    if row and isinstance(row.to, ToState):
        return row.to.name
    sources = following.sources if following else ()
    return sources[0] if len(sources) == 1 else ""


# Up to this many rows, a picture has room for all guards.
MAX_LABELLED_ROWS: Final = 24


def build_graph_marks(
    workflow: Workflow, run: Run, facts: Mapping[str, Value], journal: Iterable[JournalEntry]
) -> RunMarks:
    """Mark where the run is, has been and can go. A missing fact counts as not known yet."""
    history = build_visit_history(workflow, (line.entry for line in journal))
    seen = {**dict.fromkeys(workflow.facts, PENDING), **facts}
    states = [step.state for step in find_open_steps(workflow, run, seen) if step.state in workflow.states]
    current = tuple(states) or tuple(name for name in (history.last,) if name in workflow.states)
    return RunMarks(current, history.visits, history.moves, find_exits(workflow, run, seen))


def build_run_graph(t: MessageCatalog, workflow: Workflow, marks: RunMarks) -> Graph:
    """Build the graph of the workflow with guards as labels.

    A small graph shows all guards, a large one only those where the run can go on. If states are derived, no
    row says which state follows which; then the moves of the run are drawn.
    """
    small = len(workflow.rows) <= MAX_LABELLED_ROWS
    graph = build_graph(t, workflow, guarded=workflow.states if small else {way.source for way in marks.ways})
    if not workflow.derive:
        return graph
    known = {(edge.source, edge.target) for edge in graph.edges}
    moves = [Edge(*ends) for ends in marks.taken if ends not in known and set(ends) <= workflow.states.keys()]
    return replace(graph, edges=(*graph.edges, *moves))


def reconstruct_run(
    workflow: Workflow, row: RunRow, steps: Sequence[StepRow], journal: Iterable[JournalEntry]
) -> Run:
    """Rebuild a run from a store that only mirrors it. The values of its variables are not known."""
    visits = build_visit_history(workflow, (line.entry for line in journal)).visits
    return Run(
        row.id,
        row.workflow,
        workflow.digest,
        row.lifecycle,
        tuple(Step(step.number, step.state, visits.get(step.state, 1)) for step in steps),
        len(visits),
        visits,
        dict.fromkeys(workflow.vars, PENDING),
        dict.fromkeys(workflow.inputs, PENDING),
    )


def build_stretches(
    workflow: Workflow, journal: Sequence[JournalEntry], now: datetime
) -> tuple[tuple[WaitBar, ...], tuple[RefusedCall, ...]]:
    """Build the timeline until now: what the run waited for, and the refused calls."""
    spans = build_spans(journal, find_wait_kinds(workflow))
    return (
        tuple(
            WaitBar(s.number, s.state, str(s.waited), s.began, s.ended or max(now, s.began), s.ended is None)
            for s in spans
        ),
        tuple(RefusedCall(refusal.at, refusal.state, refusal.code) for refusal in list_refusals(journal)),
    )
