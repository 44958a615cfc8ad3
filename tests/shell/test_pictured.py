"""A run as pictures show it: real runs, their real journal."""

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from build import started, workflow
from handrail.engine.ways import Prospect
from handrail.shell.pictured import marks_of, run_of, stretches_of
from handrail.shell.records import Written
from handrail.shell.standing import look
from handrail.shell.view import every
from handrail.stores.sql.questions import SqlRecords
from handrail.workflows.draw.marks import NO_MARKS, Marks, because
from handrail.workflows.draw.timeline import Refused, Stretch
from planner.bench import flow
from said import T, graph_with
from tasks import Project
from turns import NOW


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project whose task was written, done, asked for in vain, and taken up again."""
    found = Project(tmp_path)
    for minutes, word in ((1, "go"), (2, "go"), (5, "go"), (7, "again"), (1, "go")):
        found.clock.move(minutes=minutes)
        found.say(word)
    return found


def journal(project: Project) -> tuple[Written, ...]:
    return tuple(every(partial(project.runs.entries, project.run)))


def test_the_marks_of_a_run_are_where_it_is_was_and_can_go(project: Project) -> None:
    stored = project.runs.standing()
    shown = look(project.world, stored)
    marks = marks_of(project.workflow, stored.run, shown.facts or {}, journal(project))

    assert marks.current == ("DONE",)
    assert marks.visits == {"DRAFT": 2, "DONE": 2}
    assert marks.taken == {("DRAFT", "DONE"): 2, ("DONE", "DRAFT"): 1}
    assert [(way.row, way.target, way.prospect) for way in marks.ways] == [("T3", "DRAFT", Prospect.OPEN)]


def test_a_fact_that_nobody_read_leaves_a_way_unsure(project: Project) -> None:
    project.say("again")
    marks = marks_of(project.workflow, project.runs.standing().run, {}, journal(project))

    assert [(way.row, way.prospect, because(T, way.why)) for way in marks.ways] == [
        ("T1", Prospect.UNSURE, ("task.exists",)),
        ("T2", Prospect.UNSURE, ("row `T1` comes first if it can be taken",)),
    ]


def test_of_a_mirrored_run_the_store_tells_enough_for_a_picture(project: Project) -> None:
    records = SqlRecords(project.database)
    row = records.run(project.run)
    assert row is not None
    run = run_of(project.workflow, row, records.open_steps(row.id), journal(project))

    assert [(step.state, step.attempt) for step in run.open] == [("DONE", 2)]
    marks = marks_of(project.workflow, run, {}, journal(project))
    assert (marks.current, marks.visits) == (("DONE",), {"DRAFT": 2, "DONE": 2})


def test_the_time_of_a_run_is_cut_by_whom_it_waited_for(project: Project) -> None:
    now = NOW + timedelta(minutes=60)
    told, refused = stretches_of(project.workflow, journal(project), now)

    assert told == (
        Stretch(1, "DRAFT", "agent", NOW + timedelta(minutes=1), NOW + timedelta(minutes=3)),
        Stretch(2, "DONE", "person", NOW + timedelta(minutes=3), NOW + timedelta(minutes=15)),
        Stretch(3, "DRAFT", "agent", NOW + timedelta(minutes=15), NOW + timedelta(minutes=16)),
        Stretch(4, "DONE", "person", NOW + timedelta(minutes=16), now, lasts=True),
    )
    assert refused == (Refused(NOW + timedelta(minutes=8), "DONE", "refused"),)


def test_a_small_workflow_is_labelled_with_all_its_guards_and_a_large_one_where_the_run_is() -> None:
    rows = "\n".join(
        f"  - {{id: R{n}, from: S{n}, trigger: go, when: [plan.exists], to: S{n + 1}}}" for n in range(25)
    )
    states = ", ".join(f"S{n}: {{}}" for n in range(25))
    large = workflow(
        f"workflow: large\nversion: 1\nauthority: files\n"
        f"states: {{{states}, S25: {{terminal: true}}}}\ntransitions:\n{rows}\n"
    )
    small = workflow(
        "workflow: small\nversion: 1\nauthority: files\nstates: {A: {}, B: {terminal: true}}\n"
        "transitions:\n  - {id: AB, from: A, trigger: go, when: [plan.exists], to: B}\n"
    )
    assert [edge.label for edge in graph_with(small, NO_MARKS).edges] == [("plan.exists",)]
    marks = marks_of(large, started(large), {"plan.exists": False}, ())
    assert [edge.label for edge in graph_with(large, marks).edges] == [("plan.exists",), *[()] * 24]
    assert [because(T, way.why) for way in marks.ways] == [("plan.exists",)]


def test_where_states_are_derived_the_ways_that_were_gone_are_drawn() -> None:
    gone = {("stage-0", "stage-1"): 1, ("stage-1", "stage-2"): 2, ("stage-2", "not-there"): 1}
    graph = graph_with(flow("planner"), Marks(("stage-2",), {"stage-1": 1}, gone))

    assert [(edge.source, edge.target) for edge in graph.edges] == [
        ("stage-0", "stage-1"),
        ("stage-1", "stage-2"),
    ]
    assert graph_with(flow("spells"), NO_MARKS) == graph_with(
        flow("spells"), Marks(taken={("ACHIEVE_COMPLETE", "GATHER_NEEDS_PLAN"): 1})
    )
