"""Spreads: what half stay within, to two digits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.runtime.measures import (
    DurationHistogram,
    build_histogram,
    find_bucket,
    get_bucket_start,
    merge_histograms,
)

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
    told = found.percentile(share)

    assert told is not None
    assert told <= true < told * 1.1 + 1


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_buckets_stand_in_the_order_of_durations(one: int, other: int) -> None:
    assert (find_bucket(one) <= find_bucket(other)) or one > other
