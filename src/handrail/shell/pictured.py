"""A run as pictures show it: on the graph of its workflow, and along its time. Only computed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from handrail.engine.facts import PENDING, Value
from handrail.engine.model import Run, Step, Workflow
from handrail.engine.options import here
from handrail.engine.ways import ways
from handrail.shell.records import Written
from handrail.shell.view import RunRow, StepRow
from handrail.telemetry.spans import refusals_of, spans_of, waited_for
from handrail.telemetry.trail import trail_of
from handrail.workflows.catalogue import Catalogue
from handrail.workflows.draw.folds import graph_of
from handrail.workflows.draw.graph import Edge, Graph
from handrail.workflows.draw.marks import Marks
from handrail.workflows.draw.timeline import Refused, Stretch

FEW: Final = 24
"""Up to so many rows, a picture has room for the guards of all of them."""


def marks_of(workflow: Workflow, run: Run, facts: Mapping[str, Value], journal: Iterable[Written]) -> Marks:
    """Where the run stands, has been and can go. A fact that is not given is taken as not known yet."""
    trail = trail_of(workflow, (written.entry for written in journal))
    seen = {**dict.fromkeys(workflow.facts, PENDING), **facts}
    stands = [step.state for step in here(workflow, run, seen) if step.state in workflow.states]
    current = tuple(stands) or tuple(name for name in (trail.last,) if name in workflow.states)
    return Marks(current, trail.visits, trail.moves, ways(workflow, run, seen))


def graph_with(t: Catalogue, workflow: Workflow, marks: Marks) -> Graph:
    """The graph of the workflow, labelled with guards where the run can go on; a small one, everywhere.

    Where states are derived, no row says which follows which: then the ways that the run has gone are drawn.
    """
    small = len(workflow.rows) <= FEW
    graph = graph_of(t, workflow, guarded=workflow.states if small else {way.source for way in marks.ways})
    if not workflow.derive:
        return graph
    known = {(edge.source, edge.target) for edge in graph.edges}
    gone = [Edge(*ends) for ends in marks.taken if ends not in known and set(ends) <= workflow.states.keys()]
    return replace(graph, edges=(*graph.edges, *gone))


def run_of(workflow: Workflow, row: RunRow, steps: Sequence[StepRow], journal: Iterable[Written]) -> Run:
    """The run as its store shows it, if that is only a mirror: what its variables hold is not known."""
    visits = trail_of(workflow, (written.entry for written in journal)).visits
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


def stretches_of(
    workflow: Workflow, journal: Sequence[Written], now: datetime
) -> tuple[tuple[Stretch, ...], tuple[Refused, ...]]:
    """The time of the run, by whom it waited for until now, and what was refused."""
    spans = spans_of(journal, waited_for(workflow))
    return (
        tuple(
            Stretch(s.number, s.state, str(s.waited), s.began, s.ended or max(now, s.began), s.ended is None)
            for s in spans
        ),
        tuple(Refused(one.at, one.state, one.code) for one in refusals_of(journal)),
    )
