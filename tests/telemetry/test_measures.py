"""What follows from the measures."""

from handrail.engine.model import Lifecycle
from handrail.runtime.entries import EntryKind
from handrail.runtime.measures import (
    DayCount,
    KindCount,
    RunCount,
    RunEndings,
    StepCount,
    StepEndings,
    StepTiming,
    TokenCounts,
    compute_run_endings,
    compute_step_endings,
    compute_step_timings,
    count_by_day,
    count_by_lifecycle,
    count_tokens,
)

STEPS = (
    StepCount("mend", "ann", "completed", 2, 300),
    StepCount("mend", "ann", "failed", 1, 90),
    StepCount("mend", "bob", "completed", 1, 600),
    StepCount("look", "ann", "completed", 4, 400),
    StepCount("wait", "", "running", 3, 0),
)


def test_the_endings_of_each_workflow_are_told_the_most_used_first() -> None:
    measured = (
        RunCount("b", Lifecycle.RUNNING, 2, 0),
        RunCount("0", Lifecycle.RUNNING, 2, 0),
        RunCount("a", Lifecycle.COMPLETED, 3, 600),
        RunCount("a", Lifecycle.ABANDONED, 1, 50),
        RunCount("a", Lifecycle.FAILED, 1, 9),
    )
    assert compute_run_endings(measured) == (
        RunEndings("a", 5, 3, 1, 200.0, 50.0),
        RunEndings("0", 2, 0, 0, None, None),
        RunEndings("b", 2, 0, 0, None, None),
    )


def test_nothing_measured_has_no_endings() -> None:
    assert compute_run_endings(()) == ()


def test_rates_are_out_of_a_hundred() -> None:
    found = RunEndings("a", 8, 3, 1, None, None)

    assert (found.completion_rate, found.abandonment_rate) == (37.5, 12.5)
    assert StepEndings("mend", 4, 3, 1, None).failure_rate == 25.0


def test_runs_are_counted_by_lifecycle_in_the_order_of_a_life() -> None:
    measured = (
        RunCount("a", Lifecycle.COMPLETED, 3, 600),
        RunCount("b", Lifecycle.COMPLETED, 2, 10),
        RunCount("b", Lifecycle.RUNNING, 1, 0),
    )

    assert list(count_by_lifecycle(measured).items()) == [(Lifecycle.RUNNING, 1), (Lifecycle.COMPLETED, 5)]


def test_steps_are_timed_by_persona_the_slowest_first() -> None:
    assert compute_step_timings(STEPS) == (
        StepTiming("mend", "bob", 1, 600.0),
        StepTiming("mend", "ann", 2, 150.0),
        StepTiming("look", "ann", 4, 100.0),
    )


def test_the_steps_that_fail_most_often_come_first() -> None:
    assert compute_step_endings(STEPS) == (
        StepEndings("mend", 4, 3, 1, 300.0),
        StepEndings("look", 4, 4, 0, 100.0),
        StepEndings("wait", 3, 0, 0, None),
    )


def test_the_rate_of_tokens_that_expired_is_none_without_tokens() -> None:
    kinds = (
        KindCount(EntryKind.TOKEN_GENERATED, 6),
        KindCount(EntryKind.TOKEN_VALIDATED, 1),
        KindCount(EntryKind.TOKEN_EXPIRED, 1),
        KindCount(EntryKind.STEP_STARTED, 9),
    )

    assert count_tokens(kinds) == TokenCounts(6, 1, 1)
    assert count_tokens(kinds).expiry_rate == 12.5
    assert (count_tokens(()), count_tokens(()).expiry_rate) == (TokenCounts(0, 0, 0), None)


def test_days_are_told_in_order_whatever_the_workflow() -> None:
    measured = (DayCount("2026-03-02", "a", 1), DayCount("2026-03-01", "a", 2))

    assert list(count_by_day((*measured, DayCount("2026-03-02", "b", 4))).items()) == [
        ("2026-03-01", 2),
        ("2026-03-02", 5),
    ]
