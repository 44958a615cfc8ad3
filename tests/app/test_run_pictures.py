"""A run as pictures show it: real runs, their real journal."""

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from handrail.app.run_pictures import build_graph_marks, build_stretches, reconstruct_run
from handrail.drawing.marks import NO_MARKS, RunMarks, explain_reasons
from handrail.drawing.timeline import RefusedCall, WaitBar
from handrail.engine.decide import Availability
from handrail.runtime.ports.queries import iterate_pages
from handrail.runtime.records import JournalEntry
from handrail.runtime.status import inspect_run
from handrail.stores.sql.queries import SqlRunQueries
from helpers.drawings import T, graph_with
from helpers.planner_agents import load_face_workflow
from helpers.task_project import TaskProject
from helpers.turns import NOW
from helpers.workflows import load_valid_workflow, start_run


@pytest.fixture
def project(tmp_path: Path) -> TaskProject:
    """A project whose task was written, done, asked for in vain, and taken up again."""
    found = TaskProject(tmp_path)
    for minutes, word in ((1, "go"), (2, "go"), (5, "go"), (7, "again"), (1, "go")):
        found.clock.move(minutes=minutes)
        found.say(word)
    return found


def journal(project: TaskProject) -> tuple[JournalEntry, ...]:
    return tuple(iterate_pages(partial(project.runs.entries, project.run)))


def test_the_marks_of_a_run_are_where_it_is_was_and_can_go(project: TaskProject) -> None:
    stored = project.runs.load_current()
    shown = inspect_run(project.world, stored)
    marks = build_graph_marks(project.workflow, stored.run, shown.facts or {}, journal(project))

    assert marks.current == ("DONE",)
    assert marks.visits == {"DRAFT": 2, "DONE": 2}
    assert marks.taken == {("DRAFT", "DONE"): 2, ("DONE", "DRAFT"): 1}
    assert [(way.row, way.target, way.prospect) for way in marks.ways] == [("T3", "DRAFT", Availability.OPEN)]


def test_an_unread_fact_leaves_a_way_unsure(project: TaskProject) -> None:
    project.say("again")
    marks = build_graph_marks(project.workflow, project.runs.load_current().run, {}, journal(project))

    assert [(way.row, way.prospect, explain_reasons(T, way.why)) for way in marks.ways] == [
        ("T1", Availability.UNSURE, ("task.exists",)),
        ("T2", Availability.UNSURE, ("row `T1` comes first if it can be taken",)),
    ]


def test_a_mirrored_run_has_enough_for_a_picture(project: TaskProject) -> None:
    records = SqlRunQueries(project.database)
    row = records.run(project.run)
    assert row is not None
    run = reconstruct_run(project.workflow, row, records.open_steps(row.id), journal(project))

    assert [(step.state, step.attempt) for step in run.open] == [("DONE", 2)]
    marks = build_graph_marks(project.workflow, run, {}, journal(project))
    assert (marks.current, marks.visits) == (("DONE",), {"DRAFT": 2, "DONE": 2})


def test_the_time_of_a_run_is_cut_by_whom_it_waited_for(project: TaskProject) -> None:
    now = NOW + timedelta(minutes=60)
    answer, refused = build_stretches(project.workflow, journal(project), now)

    assert answer == (
        WaitBar(1, "DRAFT", "agent", NOW + timedelta(minutes=1), NOW + timedelta(minutes=3)),
        WaitBar(2, "DONE", "person", NOW + timedelta(minutes=3), NOW + timedelta(minutes=15)),
        WaitBar(3, "DRAFT", "agent", NOW + timedelta(minutes=15), NOW + timedelta(minutes=16)),
        WaitBar(4, "DONE", "person", NOW + timedelta(minutes=16), now, lasts=True),
    )
    assert refused == (RefusedCall(NOW + timedelta(minutes=8), "DONE", "refused"),)


def test_a_small_workflow_is_labelled_with_all_its_guards_and_a_large_one_where_the_run_is() -> None:
    rows = "\n".join(
        f"  - {{id: R{n}, from: S{n}, trigger: go, when: [plan.exists], to: S{n + 1}}}" for n in range(25)
    )
    states = ", ".join(f"S{n}: {{}}" for n in range(25))
    large = load_valid_workflow(
        f"workflow: large\nversion: 1\nauthority: files\n"
        f"states: {{{states}, S25: {{terminal: true}}}}\ntransitions:\n{rows}\n"
    )
    small = load_valid_workflow(
        "workflow: small\nversion: 1\nauthority: files\nstates: {A: {}, B: {terminal: true}}\n"
        "transitions:\n  - {id: AB, from: A, trigger: go, when: [plan.exists], to: B}\n"
    )
    assert [edge.label for edge in graph_with(small, NO_MARKS).edges] == [("plan.exists",)]
    marks = build_graph_marks(large, start_run(large), {"plan.exists": False}, ())
    assert [edge.label for edge in graph_with(large, marks).edges] == [("plan.exists",), *[()] * 24]
    assert [explain_reasons(T, way.why) for way in marks.ways] == [("plan.exists",)]


def test_where_states_are_derived_the_ways_that_were_gone_are_drawn() -> None:
    gone = {("stage-0", "stage-1"): 1, ("stage-1", "stage-2"): 2, ("stage-2", "not-there"): 1}
    graph = graph_with(load_face_workflow("planner"), RunMarks(("stage-2",), {"stage-1": 1}, gone))

    assert [(edge.source, edge.target) for edge in graph.edges] == [
        ("stage-0", "stage-1"),
        ("stage-1", "stage-2"),
    ]
    assert graph_with(load_face_workflow("spells"), NO_MARKS) == graph_with(
        load_face_workflow("spells"), RunMarks(taken={("ACHIEVE_COMPLETE", "GATHER_NEEDS_PLAN"): 1})
    )
