"""Whom a run waited for, and when."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from handrail.app.run_pictures import Refusal, WaitKind, WaitSpan, build_spans, find_wait_kinds, list_refusals
from handrail.engine.facts import Value
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import Entry, EntryKind
from helpers.workflows import load_valid_workflow

AGENT, PERSON, CHECK, PAUSE = WaitKind.AGENT, WaitKind.PERSON, WaitKind.CHECK, WaitKind.PAUSE
FLOW = """
workflow: waits
version: 1
authority: sql
texts: {no: No}
tools: {ask: {}, agree: {who: person}, tick: {who: server}}
states:
  work: {agent: anyone, task: Do it.}
  choose: {}
  either: {}
  wait: {}
  sort: {router: true}
  done: {terminal: true}
transitions:
  - {id: worked, from: work, trigger: continue, to: choose}
  - {id: not-asked, from: choose, trigger: ask, refuse: no}
  - {id: agreed, from: choose, trigger: agree, to: either}
  - {id: one, from: either, trigger: agree, to: wait}
  - {id: other, from: either, trigger: ask, to: wait}
  - {id: ticked, from: wait, trigger: tick, to: sort}
  - {id: sorted, from: sort, to: done}
"""
WAITS = {"choose": PERSON}


@dataclass(frozen=True)
class Line:
    """A line of a journal."""

    at: datetime
    entry: Entry


def at(minute: float) -> datetime:
    return datetime(2026, 3, 1, 12, tzinfo=UTC) + timedelta(minutes=minute)


def line(minute: float, kind: EntryKind, state: str = "", /, **data: Value) -> Line:
    return Line(at(minute), Entry(kind, state, data=data))


def opened(minute: float, number: int, state: str) -> Line:
    return line(minute, EntryKind.STEP_STARTED, state, number=number)


def closed(minute: float, number: int, state: str) -> Line:
    return line(minute, EntryKind.STEP_COMPLETED, state, number=number)


def lived(minute: float, lifecycle: str) -> Line:
    return line(minute, EntryKind.WORKFLOW_STATE_TRANSITION, to=lifecycle)


def told(*lines: Line) -> list[tuple[int, str, WaitKind, float, float | None]]:
    """The spans of these lines, with their times as minutes."""
    return [
        (s.number, s.state, s.waited, _minute(s.began), None if s.ended is None else _minute(s.ended))
        for s in build_spans(lines, WAITS)
    ]


def _minute(moment: datetime) -> float:
    return (moment - at(0)) / timedelta(minutes=1)


def test_a_state_waits_for_the_agent_unless_only_another_actor_moves_it() -> None:
    assert find_wait_kinds(load_valid_workflow(FLOW)) == {
        "work": AGENT,
        "choose": PERSON,
        "either": AGENT,
        "wait": CHECK,
        "sort": AGENT,
    }


def test_a_step_is_one_span_and_one_that_is_open_has_no_end() -> None:
    assert build_spans([opened(0, 1, "work"), closed(2, 1, "work"), opened(2, 2, "choose")], WAITS) == (
        WaitSpan(1, "work", AGENT, at(0), at(2)),
        WaitSpan(2, "choose", PERSON, at(2)),
    )


def test_a_step_that_received_its_output_waits_for_a_check() -> None:
    waits = line(3, EntryKind.STEP_WAITING, "work", trigger="continue", waits_for=["tests.pass"])
    again = line(4, EntryKind.STEP_WAITING, "work", trigger="continue", waits_for=["tests.pass"])
    assert told(opened(0, 1, "work"), waits, again, closed(5, 1, "work")) == [
        (1, "work", AGENT, 0, 3),
        (1, "work", CHECK, 3, 5),
    ]


def test_a_row_that_stays_ends_the_wait_if_it_is_what_was_held() -> None:
    waits = line(3, EntryKind.STEP_WAITING, "work", trigger="continue")
    other = line(4, EntryKind.STEP_STAYED, "work", trigger="ask")
    same = line(5, EntryKind.STEP_STAYED, "work", trigger="continue")
    assert told(opened(0, 1, "work"), waits, other, same, same) == [
        (1, "work", AGENT, 0, 3),
        (1, "work", CHECK, 3, 5),
        (1, "work", AGENT, 5, None),
    ]


def test_a_pause_is_a_span_of_its_own_and_what_was_waited_for_goes_on_after_it() -> None:
    waits = line(1, EntryKind.STEP_WAITING, "work", trigger="continue")
    settled = line(6, EntryKind.STEP_STAYED, "work", trigger="continue")
    lines = [lived(0, "running"), waits, lived(2, "paused"), lived(4, "running"), settled]
    assert told(opened(0, 1, "work"), *lines) == [
        (1, "work", AGENT, 0, 1),
        (1, "work", CHECK, 1, 2),
        (1, "work", PAUSE, 2, 4),
        (1, "work", CHECK, 4, 6),
        (1, "work", AGENT, 6, None),
    ]


def test_parallel_steps_differ_by_their_numbers() -> None:
    lines = [opened(0, 1, "work"), opened(0, 2, "choose"), closed(3, 1, "work"), closed(5, 2, "choose")]
    assert told(*lines) == [(1, "work", AGENT, 0, 3), (2, "choose", PERSON, 0, 5)]


def test_a_run_that_ends_leaves_nothing_waiting() -> None:
    assert told(opened(0, 1, "work"), lived(7, "abandoned")) == [(1, "work", AGENT, 0, 7)]


def test_a_clock_that_goes_back_makes_no_span_that_ends_before_it_began() -> None:
    assert told(opened(5, 1, "work"), closed(3, 1, "work")) == [(1, "work", AGENT, 5, 5)]


def test_a_step_that_closes_without_having_been_opened_is_passed_over() -> None:
    lines = (closed(3, 9, "work"), line(4, EntryKind.STEP_FAILED, "work"))
    assert told(*lines, line(5, EntryKind.TOKEN_GENERATED, "work")) == []


def test_a_state_that_was_taken_over_begins_a_step_unless_the_run_is_there() -> None:
    adopted = line(2, EntryKind.STATE_ADOPTED, "choose")
    restored = line(3, EntryKind.STATE_REPAIRED)
    assert told(opened(0, 1, "work"), adopted, restored, line(4, EntryKind.STATE_ADOPTED, "choose")) == [
        (1, "work", AGENT, 0, 2),
        (2, "choose", PERSON, 2, None),
    ]


def test_where_the_state_is_derived_a_step_lasts_until_the_state_is_another() -> None:
    first, same, second = (
        line(minute, EntryKind.STEP_STAYED, "", to=state)
        for minute, state in ((1, "work"), (2, "work"), (3, "choose"))
    )
    assert told(line(0, EntryKind.STEP_STARTED, ""), first, same, second, lived(4, "completed")) == [
        (1, "", AGENT, 0, 1),
        (2, "work", AGENT, 1, 3),
        (3, "choose", PERSON, 3, 4),
    ]


def test_refusals_have_their_time_state_and_code() -> None:
    refused = line(
        1, EntryKind.ERROR_OCCURRED, "work", error_type=RefusalCode.NOT_ACCEPTED, trigger="continue"
    )
    failed = line(2, EntryKind.ERROR_OCCURRED)
    assert list_refusals([opened(0, 1, "work"), refused, failed]) == (
        Refusal(at(1), "work", RefusalCode.NOT_ACCEPTED, "continue"),
        Refusal(at(2), "", "", ""),
    )
