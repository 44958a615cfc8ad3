"""What follows from the measures."""

from handrail.engine.model import Lifecycle
from handrail.telemetry.entries import EntryKind
from handrail.telemetry.measures import (
    DayMeasured,
    Endings,
    KindMeasured,
    RunsMeasured,
    StepEndings,
    StepsMeasured,
    Timed,
    Tokens,
    by_day,
    endings,
    lifecycles,
    step_endings,
    timed,
    tokens,
)

STEPS = (
    StepsMeasured("mend", "ann", "completed", 2, 300),
    StepsMeasured("mend", "ann", "failed", 1, 90),
    StepsMeasured("mend", "bob", "completed", 1, 600),
    StepsMeasured("look", "ann", "completed", 4, 400),
    StepsMeasured("wait", "", "running", 3, 0),
)


def test_the_endings_of_each_workflow_are_told_the_most_used_first() -> None:
    measured = (
        RunsMeasured("b", Lifecycle.RUNNING, 2, 0),
        RunsMeasured("0", Lifecycle.RUNNING, 2, 0),
        RunsMeasured("a", Lifecycle.COMPLETED, 3, 600),
        RunsMeasured("a", Lifecycle.ABANDONED, 1, 50),
        RunsMeasured("a", Lifecycle.FAILED, 1, 9),
    )
    assert endings(measured) == (
        Endings("a", 5, 3, 1, 200.0, 50.0),
        Endings("0", 2, 0, 0, None, None),
        Endings("b", 2, 0, 0, None, None),
    )


def test_nothing_measured_has_no_endings() -> None:
    assert endings(()) == ()


def test_rates_are_out_of_a_hundred() -> None:
    found = Endings("a", 8, 3, 1, None, None)

    assert (found.completion_rate, found.abandonment_rate) == (37.5, 12.5)
    assert StepEndings("mend", 4, 3, 1, None).failure_rate == 25.0


def test_runs_are_counted_by_lifecycle_in_the_order_of_a_life() -> None:
    measured = (
        RunsMeasured("a", Lifecycle.COMPLETED, 3, 600),
        RunsMeasured("b", Lifecycle.COMPLETED, 2, 10),
        RunsMeasured("b", Lifecycle.RUNNING, 1, 0),
    )

    assert list(lifecycles(measured).items()) == [(Lifecycle.RUNNING, 1), (Lifecycle.COMPLETED, 5)]


def test_steps_are_timed_by_persona_the_slowest_first() -> None:
    assert timed(STEPS) == (
        Timed("mend", "bob", 1, 600.0),
        Timed("mend", "ann", 2, 150.0),
        Timed("look", "ann", 4, 100.0),
    )


def test_the_steps_that_fail_most_often_come_first() -> None:
    assert step_endings(STEPS) == (
        StepEndings("mend", 4, 3, 1, 300.0),
        StepEndings("look", 4, 4, 0, 100.0),
        StepEndings("wait", 3, 0, 0, None),
    )


def test_the_rate_of_tokens_that_expired_is_none_without_tokens() -> None:
    kinds = (
        KindMeasured(EntryKind.TOKEN_GENERATED, 6),
        KindMeasured(EntryKind.TOKEN_VALIDATED, 1),
        KindMeasured(EntryKind.TOKEN_EXPIRED, 1),
        KindMeasured(EntryKind.STEP_STARTED, 9),
    )

    assert tokens(kinds) == Tokens(6, 1, 1)
    assert tokens(kinds).expiry_rate == 12.5
    assert (tokens(()), tokens(()).expiry_rate) == (Tokens(0, 0, 0), None)


def test_days_are_told_in_order_whatever_the_workflow() -> None:
    measured = (DayMeasured("2026-03-02", "a", 1), DayMeasured("2026-03-01", "a", 2))

    assert list(by_day((*measured, DayMeasured("2026-03-02", "b", 4))).items()) == [
        ("2026-03-01", 2),
        ("2026-03-02", 5),
    ]
