"""What `ports.Runs` promises of the steps of a run: held against every store there is."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from handrail.engine.model import Lifecycle, Step
from handrail.runtime.journal import get_run_after
from handrail.runtime.ports.queries import StepRow
from handrail.runtime.ports.turn import Runs
from handrail.runtime.records import ClosedStep, OpenedStep, StepStatus
from helpers.requirement import requirement
from helpers.stores import (
    OTHER,
    RUN,
    StorePlace,
    build_first_turn,
    build_fork_turn,
    build_last_turn,
    build_next_turn,
    read_all,
    save_turns,
)
from helpers.turns import NOW

LATER = NOW + timedelta(seconds=7)


@requirement("steps:tel.durations")
def test_every_step_is_told_in_order_with_its_output_and_how_long_it_took(place: StorePlace) -> None:
    runs = place.open()
    assert runs.commit(build_first_turn())
    assert runs.commit(build_next_turn(get_run_after(build_first_turn()), at=LATER))

    steps = (
        StepRow(1, "draft", "writer", StepStatus.COMPLETED, NOW, LATER, 7000, {"summary": "Done."}),
        StepRow(2, "review", "writer", StepStatus.RUNNING, LATER, None, None, None),
    )
    assert place.open().steps(RUN) == (steps if place.steps else ())
    assert runs.steps(OTHER) == ()


def test_a_step_that_failed_without_an_output_has_none(place: StorePlace, runs: Runs) -> None:
    stored = save_turns(runs, 1)
    failed = (ClosedStep(1, "draft", StepStatus.FAILED, None),)
    assert runs.commit(build_last_turn(stored, Lifecycle.FAILED, closed=failed))

    row = StepRow(1, "draft", "writer", StepStatus.FAILED, NOW, NOW, 0, None)
    assert runs.steps(RUN) == ((row,) if place.steps else ())


def test_a_step_that_is_left_open_stays_so(place: StorePlace, runs: Runs) -> None:
    stored = save_turns(runs, 2)
    assert runs.commit(build_last_turn(stored, Lifecycle.ABANDONED, closed=()))

    assert [row.status for row in runs.steps(RUN)] == (["completed", "running"] if place.steps else [])


def test_a_run_of_many_steps_is_told_whole(place: StorePlace, runs: Runs) -> None:
    save_turns(runs, 150 if place.steps else 1)

    assert [row.number for row in runs.steps(RUN)] == (list(range(1, 151)) if place.steps else [])


def test_steps_are_told_in_the_order_of_their_numbers(place: StorePlace, runs: Runs) -> None:
    stored = save_turns(runs, 1)
    open_ = (Step(3, "review", 1), Step(2, "draft", 2))
    opened = tuple(OpenedStep(step.number, step.state, "writer") for step in open_)
    run = replace(stored.run, open=open_, steps=3)
    assert runs.commit(build_next_turn(stored, run=run, tokens={}, opened=opened))

    assert [row.number for row in runs.steps(RUN)] == ([1, 2, 3] if place.steps else [])


@requirement("steps:life.fork")
@pytest.mark.parametrize("lifecycle", [Lifecycle.ABANDONED, Lifecycle.FAILED])
def test_a_run_inherits_what_another_has_finished_and_no_more(
    place: StorePlace, lifecycle: Lifecycle
) -> None:
    runs = place.open()
    stored = save_turns(runs, 3)
    failed = (ClosedStep(3, "draft", StepStatus.FAILED, {"summary": "No."}),)
    assert runs.commit(
        build_last_turn(stored, lifecycle, closed=failed if lifecycle is Lifecycle.FAILED else ())
    )
    before = read_all(runs)
    turn = build_fork_turn(OTHER, RUN, at=LATER)
    if not place.many:
        with pytest.raises(ValueError, match="has one run only"):
            runs.commit(turn)
        assert read_all(runs) == before
        return
    assert runs.commit(turn)

    again = place.open()
    done = tuple(row for row in again.steps(RUN) if row.status is StepStatus.COMPLETED)
    assert [row.number for row in done] == [1, 2]
    open_ = StepRow(1000, "draft", "writer", StepStatus.RUNNING, LATER, None, None, None)
    assert again.steps(OTHER) == (*done, open_)
    assert again.load(OTHER) == get_run_after(turn)
    assert read_all(again) == before
    assert runs.commit(build_next_turn(get_run_after(turn)))
    assert [row.number for row in runs.steps(OTHER)] == [1, 2, 1000, 1001]
    assert read_all(runs) == before


def test_a_run_that_would_inherit_from_one_that_is_gone_is_not_begun(place: StorePlace, runs: Runs) -> None:
    if not place.many:
        return
    save_turns(runs, 2)
    before = read_all(runs)

    assert runs.commit(build_fork_turn(OTHER, "nobody")) is False
    assert runs.load(OTHER) is None
    assert read_all(runs) == before
    assert runs.commit(build_fork_turn(OTHER, RUN)) is True
    assert runs.commit(build_fork_turn(OTHER, RUN)) is False, "a run begins once"
