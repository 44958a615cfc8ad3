"""How often somebody may call, by a clock that the test moves."""

from fractions import Fraction
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.http.limits import (
    NANOSECONDS_PER_MINUTE,
    NANOSECONDS_PER_SECOND,
    RateLimit,
    RateLimiter,
    read_rate_limit,
)
from handrail.mcp.streamable_http import load_session_limits
from handrail.runtime.errors import Unreadable

START: Final = 123 * NANOSECONDS_PER_SECOND


def test_so_many_calls_come_at_once_and_the_next_one_waits_for_its_turn() -> None:
    rates = RateLimiter(RateLimit(calls=6, burst=3), 10)

    assert [rates.count_call("ada", START) for _ in range(5)] == [
        0,
        0,
        0,
        10 * NANOSECONDS_PER_SECOND,
        10 * NANOSECONDS_PER_SECOND,
    ]
    assert rates.count_call("ada", START + 4 * NANOSECONDS_PER_SECOND) == 6 * NANOSECONDS_PER_SECOND
    assert rates.count_call("ada", START + 10 * NANOSECONDS_PER_SECOND - 1) == 1
    assert rates.count_call("ada", START + 10 * NANOSECONDS_PER_SECOND) == 0
    assert rates.count_call("ada", START + 10 * NANOSECONDS_PER_SECOND) == 10 * NANOSECONDS_PER_SECOND
    assert [rates.count_call("ada", START + NANOSECONDS_PER_MINUTE) for _ in range(4)] == [
        0,
        0,
        0,
        10 * NANOSECONDS_PER_SECOND,
    ]


def test_who_was_quiet_for_an_hour_has_as_many_calls_as_anybody_and_no_more() -> None:
    rates = RateLimiter(RateLimit(calls=6, burst=3), 10)
    rates.count_call("ada", START)

    assert [rates.count_call("ada", START + 60 * NANOSECONDS_PER_MINUTE) for _ in range(4)] == [
        0,
        0,
        0,
        10 * NANOSECONDS_PER_SECOND,
    ]


def test_one_who_calls_too_often_is_nobody_elses_affair() -> None:
    rates = RateLimiter(RateLimit(calls=6, burst=1), 10)
    for _ in range(100):
        rates.count_call("eve", START)

    assert rates.count_call("eve", START) == 10 * NANOSECONDS_PER_SECOND
    assert rates.count_call("ada", START) == 0


def test_a_call_that_is_given_back_was_none() -> None:
    rates = RateLimiter(RateLimit(calls=6, burst=2), 10)
    for _ in range(100):
        assert rates.count_call("ada", START) == 0
        rates.give_back("ada")
    rates.give_back("nobody")

    assert [rates.count_call("ada", START) for _ in range(3)] == [0, 0, 10 * NANOSECONDS_PER_SECOND]
    assert len(rates) == 1


def test_of_very_many_only_those_are_remembered_who_called_last() -> None:
    rates = RateLimiter(RateLimit(calls=1, burst=1), 100)
    for number in range(10_000):
        assert rates.count_call(f"eve {number}", START) == 0
        assert rates.count_call("ada", START + number * NANOSECONDS_PER_MINUTE) == 0

    assert len(rates) == 100
    assert rates.count_call("ada", START + 9_999 * NANOSECONDS_PER_MINUTE) == NANOSECONDS_PER_MINUTE
    assert rates.count_call("eve 9999", START) == NANOSECONDS_PER_MINUTE
    assert rates.count_call("eve 1", START) == 0


@settings(derandomize=True, max_examples=100)
@given(
    calls=st.integers(1, 10_000),
    burst=st.integers(1, 50),
    pauses=st.lists(st.integers(0, 3 * NANOSECONDS_PER_MINUTE), max_size=40),
)
def test_a_bucket_that_fills_drop_by_drop_lets_the_same_calls_through(
    calls: int, burst: int, pauses: list[int]
) -> None:
    rates, at = RateLimiter(RateLimit(calls, burst), 1), START
    full = Fraction(burst)
    left, gap = full, NANOSECONDS_PER_MINUTE // calls
    for pause in pauses:
        at += pause
        left = min(full, left + Fraction(pause, gap))
        wait = rates.count_call("ada", at)
        if left >= 1:
            assert wait == 0
            left -= 1
        else:
            assert wait == (1 - left) * gap


@pytest.mark.parametrize(
    ("calls", "burst", "found"),
    [
        ("", "", RateLimit(1200, 1200)),
        ("60", "", RateLimit(60, 60)),
        ("", "10", RateLimit(1200, 10)),
        ("1000000", "1", RateLimit(1000000, 1)),
    ],
)
def test_how_often_is_a_setting(
    monkeypatch: pytest.MonkeyPatch, calls: str, burst: str, found: RateLimit
) -> None:
    monkeypatch.setenv("HANDRAIL_RATE", calls)
    monkeypatch.setenv("HANDRAIL_BURST", burst)

    assert read_rate_limit() == found


@pytest.mark.parametrize(("given_", "found"), [("", 1048576), ("1", 1), ("16777216", 16777216)])
def test_how_much_is_a_setting(monkeypatch: pytest.MonkeyPatch, given_: str, found: int) -> None:
    monkeypatch.setenv("HANDRAIL_SIZE", given_)

    assert load_session_limits(sessions=True).limit == found


@pytest.mark.parametrize(
    ("variable", "given_", "said"),
    [
        ("HANDRAIL_RATE", "0", "no number of calls"),
        ("HANDRAIL_RATE", "1000001", "no number of calls"),
        ("HANDRAIL_BURST", "-1", "no number of calls"),
        ("HANDRAIL_SIZE", "1 MiB", "no number of bytes"),
        ("HANDRAIL_SIZE", "9" * 5000, "no number of bytes"),
    ],
)
def test_what_is_no_number_is_told(
    monkeypatch: pytest.MonkeyPatch, variable: str, given_: str, said: str
) -> None:
    monkeypatch.setenv(variable, given_)

    with pytest.raises(Unreadable, match=said) as answer:
        (read_rate_limit(), load_session_limits(sessions=True))

    assert answer.value.repair.startswith("set it to a whole number from 1 to ")
