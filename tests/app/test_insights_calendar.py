"""The calendar of charts."""

from datetime import UTC, datetime, timedelta

import pytest

from handrail.app.insights import coarsen_names, list_days, list_hours, sum_counts
from helpers.drawings import slots

NOW = datetime(2026, 3, 9, 2, 20, tzinfo=UTC)


def words(names: list[str]) -> list[str]:
    return [slot.word for slot in slots(names) if slot.word]


def test_a_window_has_all_its_hours_and_days() -> None:
    assert list_hours(NOW - timedelta(hours=3), NOW, "") == [
        *("2026-03-08 23", "2026-03-09 00", "2026-03-09 01", "2026-03-09 02")
    ]
    assert list_days(NOW - timedelta(days=2, hours=2), NOW, "2026-03-08") == [
        *("2026-03-07", "2026-03-08", "2026-03-09")
    ]


def test_the_last_day_is_in_a_window_that_begins_later_on_a_day() -> None:
    assert list_days(datetime(2026, 3, 7, 23, 0, tzinfo=UTC), NOW, "") == [
        *("2026-03-07", "2026-03-08", "2026-03-09")
    ]


def test_a_long_window_begins_where_something_happened() -> None:
    long_ago = datetime(1970, 1, 1, tzinfo=UTC)

    assert list_days(long_ago, NOW, "2026-03-08") == ["2026-03-08", "2026-03-09"]
    assert list_hours(long_ago, NOW, "2026-03-09 01") == ["2026-03-09 01", "2026-03-09 02"]
    assert list_days(long_ago, NOW, "") == ["2026-03-09"]


def test_an_odd_date_in_the_store_does_not_draw_a_thousand_years() -> None:
    long_ago = datetime(1970, 1, 1, tzinfo=UTC)

    assert list_days(long_ago, NOW, "nonsense") == ["2026-03-09"]
    assert len(list_days(long_ago, NOW, "0001-01-01")) == 3661


def test_a_window_that_has_not_begun_has_no_days() -> None:
    assert list_days(NOW + timedelta(days=2), NOW, "") == []
    assert slots([]) == ()


@pytest.mark.parametrize(
    ("hours", "count", "letters"), [(73, 73, 13), (74, 4, 10), (400 * 24, 400, 10), (402 * 24, 14, 7)]
)
def test_many_hours_are_drawn_as_days_and_many_days_as_months(hours: int, count: int, letters: int) -> None:
    begins = datetime(2025, 1, 1, tzinfo=UTC)
    found = coarsen_names([(begins + timedelta(hours=each)).isoformat(" ")[:13] for each in range(hours)])

    assert (len(found), {len(name) for name in found}) == (count, {letters})


def test_what_lies_in_each_slot_is_added_up_and_what_lies_outside_is_left_out() -> None:
    counts = {"2026-03-08 23": 1, "2026-03-08 22": 2, "2026-03-09 00": 4, "2026-03-10 00": 8}

    assert sum_counts(counts, ["2026-03-08", "2026-03-09"]) == (3, 4)
    assert sum_counts(counts, ["2026-03-08 21", "2026-03-08 22"]) == (0, 2)
    assert sum_counts(counts, []) == ()


def test_words_stand_at_round_distances() -> None:
    day = list_hours(NOW - timedelta(hours=24), NOW, "")
    assert words(day) == ["03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00", "9 Mar"]
    assert words(day[-4:]) == ["23:00", "9 Mar", "01:00", "02:00"]
    assert words(list_hours(NOW - timedelta(hours=72), NOW, "")) == [
        *("12:00", "7 Mar", "12:00", "8 Mar", "12:00", "9 Mar")
    ]
    assert words(list_days(NOW - timedelta(days=30), NOW, "")) == [
        *("9 Feb", "16 Feb", "23 Feb", "2 Mar", "9 Mar")
    ]
    assert words([f"2025-{month:02}" for month in range(1, 13)] + ["2026-01"]) == [
        *("Jan 2025", "Mar 2025", "May 2025", "Jul 2025", "Sep 2025", "Nov 2025", "Jan 2026")
    ]


def test_a_slot_has_its_full_name() -> None:
    assert [slot.name for slot in slots(["2026-03-09 01"])] == ["2026-03-09 01:00"]
    assert [slot.name for slot in slots(["2026-03-09"])] == ["2026-03-09"]
