"""What follows from the measures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.engine.model import Lifecycle
from handrail.runtime.entries import EntryKind
from handrail.runtime.measures import (
    DayCount,
    DurationHistogram,
    KindCount,
    RunCount,
    RunEndings,
    StepCount,
    StepEndings,
    StepTiming,
    TokenCounts,
    build_histogram,
    compute_run_endings,
    compute_step_endings,
    compute_step_timings,
    count_by_day,
    count_by_lifecycle,
    count_tokens,
    find_bucket,
    get_bucket_start,
    merge_histograms,
)

STEPS = (
    StepCount("mend", "ann", "completed", 2, 300),
    StepCount("mend", "ann", "failed", 1, 90),
    StepCount("mend", "bob", "completed", 1, 600),
    StepCount("look", "ann", "completed", 4, 400),
    StepCount("wait", "", "running", 3, 0),
)


def test_the_endings_of_each_workflow_are_listed_the_most_used_first() -> None:
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


def test_days_are_listed_in_order_over_all_workflows() -> None:
    measured = (DayCount("2026-03-02", "a", 1), DayCount("2026-03-01", "a", 2))

    assert list(count_by_day((*measured, DayCount("2026-03-02", "b", 4))).items()) == [
        ("2026-03-01", 2),
        ("2026-03-02", 5),
    ]


DURATIONS = st.lists(st.integers(0, 10**12), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("milliseconds", "bucket", "shortest"),
    [
        (0, 0, 0),
        (7, 7, 7),
        (99, 99, 99),
        (100, 110, 100),
        (109, 110, 100),
        (110, 111, 110),
        (12_345, 312, 12_000),
    ],
)
def test_a_bucket_keeps_the_first_two_digits(milliseconds: int, bucket: int, shortest: int) -> None:
    assert find_bucket(milliseconds) == bucket
    assert get_bucket_start(bucket) == shortest


def test_half_and_nearly_all_are_found_by_rank() -> None:
    found = DurationHistogram(((110, 10), (210, 9), (310, 1)))

    assert found.total == 20
    assert [found.percentile(share) for share in (50, 51, 95, 96, 100)] == [100, 1000, 1000, 10_000, 10_000]


def test_nothing_has_no_half() -> None:
    assert (DurationHistogram().total, DurationHistogram().percentile(50)) == (0, None)


def test_spreads_are_added_bucket_by_bucket() -> None:
    assert merge_histograms(
        (DurationHistogram(((110, 1), (120, 2))), DurationHistogram(((115, 1), (120, 3))))
    ) == DurationHistogram(((110, 1), (115, 1), (120, 5)))
    assert build_histogram({120: 2, 110: 0, 7: 1}) == DurationHistogram(((7, 1), (120, 2)))


@given(DURATIONS, st.integers(1, 100))
def test_a_quantile_is_the_duration_at_its_rank_or_at_most_a_tenth_less(times: list[int], share: int) -> None:
    found = merge_histograms(DurationHistogram(((find_bucket(each), 1),)) for each in times)
    true = sorted(times)[-(-len(times) * share // 100) - 1]
    answer = found.percentile(share)

    assert answer is not None
    assert answer <= true < answer * 1.1 + 1


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_buckets_stand_in_the_order_of_durations(one: int, other: int) -> None:
    assert (find_bucket(one) <= find_bucket(other)) or one > other
