from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from handrail.drawing.timeline import AxisPart, Tick, build_scale, format_duration, place_time_ticks


def at(hour: float, day: int = 2) -> datetime:
    return datetime(2026, 3, day, tzinfo=UTC) + timedelta(hours=hour)


def test_an_axis_without_idle_times_goes_at_one_pace() -> None:
    scale = build_scale([at(9), at(10), at(11)], 100, 300)
    assert scale.parts == (AxisPart(at(9), at(11), 100, 300),)
    assert [scale.position_of(moment) for moment in (at(9), at(9.5), at(10), at(11))] == [100, 150, 200, 300]


def test_a_moment_outside_of_the_axis_stands_at_its_end() -> None:
    scale = build_scale([at(9), at(10)], 0, 100)
    assert (scale.position_of(at(8)), scale.position_of(at(12))) == (0, 100)


def test_a_night_is_shortened_and_the_rest_has_its_room() -> None:
    moments = [at(9), at(9.5), at(10), at(10, 3), at(10.5, 3), at(11, 3)]
    scale = build_scale(moments, 0, 230)
    assert scale.parts == (
        AxisPart(at(9), at(10), 0, 100),
        AxisPart(at(10), at(10, 3), 100, 130, idle=True),
        AxisPart(at(10, 3), at(11, 3), 130, 230),
    )
    assert scale.position_of(at(22)) == 115
    assert build_scale(moments, 0, 260, linear=True).position_of(at(10)) == 10


@pytest.mark.parametrize("hours", [0.1, 5])
def test_times_that_are_all_alike_are_not_idle(hours: float) -> None:
    moments = [at(hours * number) for number in range(5)]
    assert not any(part.idle for part in build_scale(moments, 0, 100).parts)


def test_a_few_minutes_are_not_idle_however_short_the_rest_is() -> None:
    moments = [at(0), at(0.001), at(0.002), at(0.16)]
    assert not any(part.idle for part in build_scale(moments, 0, 100).parts)


def test_many_nights_take_no_more_than_their_share() -> None:
    moments = [at(hour, day) for day in range(1, 31) for hour in (9.0, 9.1, 9.2, 9.3)]
    scale = build_scale(moments, 0, 1000)
    idle = [part for part in scale.parts if part.idle]
    assert len(idle) == 29
    assert round(sum(part.right - part.left for part in idle)) == 400
    assert round(scale.parts[-1].right) == 1000
    assert all(one.right == other.left for one, other in pairwise(scale.parts))


@pytest.mark.parametrize("moments", [[], [at(9)], [at(9), at(9)]])
def test_a_moment_alone_has_an_axis_of_a_second(moments: list[datetime]) -> None:
    (part,) = build_scale(moments, 0, 100).parts
    assert (part.ended - part.began, part.left, part.right) == (timedelta(seconds=1), 0, 100)


def test_ticks_stand_at_round_times_and_tell_the_day_once() -> None:
    ticks = place_time_ticks(build_scale([at(9.05), at(13)], 0, 395))
    assert ticks == (
        Tick(0, "09:03", "2026-03-02"),
        Tick(95.0, "10:00", ""),
        Tick(195.0, "11:00", ""),
        Tick(295.0, "12:00", ""),
        Tick(395.0, "13:00", ""),
    )


def test_after_an_idle_time_there_is_a_tick_with_its_day() -> None:
    ticks = place_time_ticks(build_scale([at(9), at(9.5), at(10), at(10, 3), at(10.5, 3), at(11, 3)], 0, 430))
    assert [(tick.time, tick.day) for tick in ticks] == [
        ("09:00", "2026-03-02"),
        ("09:30", ""),
        ("10:00", ""),
        ("10:30", "2026-03-03"),
        ("11:00", ""),
    ]


@pytest.mark.parametrize(
    ("hours", "first"),
    [
        (0.0001, ["00:00:00.000", "00:00:00.100", "00:00:00.200"]),
        (0.01, ["00:00:00", "00:00:10", "00:00:20"]),
        (24 * 8, ["00:00", "00:00", "00:00"]),
        (24 * 365 * 40, ["00:00", "00:00", "00:00"]),
    ],
)
def test_ticks_are_apart_however_long_the_axis_lasts(hours: float, first: list[str]) -> None:
    ticks = place_time_ticks(build_scale([at(0), at(hours)], 0, 400))
    assert [tick.time for tick in ticks[:3]] == first
    assert all(other.x - one.x >= 78 for one, other in pairwise(ticks))


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0 ms"),
        (-5, "0 ms"),
        (0.25, "250 ms"),
        (1.5, "1 s 500 ms"),
        (59, "59 s"),
        (60, "1 min"),
        (3725, "1 h 2 min"),
        (86_400 * 3 + 7200, "3 d 2 h"),
        (86_400 * 400, "400 d"),
    ],
)
def test_how_long_is_told_in_two_units(seconds: float, told: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == told


def test_how_long_can_be_told_in_one_unit() -> None:
    assert format_duration(timedelta(hours=14, minutes=20), 1) == "14 h"
