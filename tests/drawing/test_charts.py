"""Charts: what is drawn, by numbers typed by hand; that they are inert; and what they say without values."""

import pytest

from handrail.drawing.charts import (
    Bar,
    BarChart,
    FunnelChart,
    LegendKey,
    Stack,
    StackedChart,
    Stage,
    format_tick,
    make_standalone,
    place_ticks,
)
from handrail.drawing.style import CHART_STYLE
from handrail.drawing.tables import Unit
from helpers.drawings import HOSTILE, Drawing, bars, funnel, stacked


def counted(*values: int) -> BarChart:
    return BarChart(
        "Runs", Unit.COUNT, tuple(Bar(f"n{index}", each) for index, each in enumerate(values)), "none yet"
    )


# --- ticks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("largest", "unit", "marks"),
    [
        (0, Unit.COUNT, (0, 1)),
        (1, Unit.COUNT, (0, 1)),
        (3, Unit.COUNT, (0, 1, 2, 3)),
        (7, Unit.COUNT, (0, 2, 4, 6, 8)),
        (100, Unit.COUNT, (0, 20, 40, 60, 80, 100)),
        (101, Unit.COUNT, (0, 50, 100, 150)),
        (1_234_567, Unit.COUNT, (0, 500_000, 1_000_000, 1_500_000)),
        (0.3, Unit.PERCENT, (0, 0.1, 0.2, 0.3)),
        (22.7, Unit.PERCENT, (0, 5, 10, 15, 20, 25)),
        (100, Unit.PERCENT, (0, 20, 40, 60, 80, 100)),
        (250, Unit.MILLISECONDS, (0, 100, 200, 300)),
        (59_000, Unit.MILLISECONDS, (0, 15_000, 30_000, 45_000, 60_000)),
        (3_600_000, Unit.MILLISECONDS, (0, 900_000, 1_800_000, 2_700_000, 3_600_000)),
        (9 * 86_400_000, Unit.MILLISECONDS, tuple(n * 2 * 86_400_000 for n in range(6))),
    ],
)
def test_an_axis_has_few_round_marks_past_the_largest_value(
    largest: float, unit: Unit, marks: tuple[float, ...]
) -> None:
    assert place_ticks(largest, unit) == marks


def test_a_mark_is_written_in_its_unit() -> None:
    assert [format_tick(0, unit) for unit in Unit] == ["0"] * 4
    assert format_tick(0.5, Unit.PERCENT) == "0.5 %"
    assert format_tick(20.0, Unit.PERCENT) == "20 %"
    assert format_tick(900_000, Unit.MILLISECONDS) == "15 min"
    assert format_tick(20_000.0, Unit.COUNT) == "20\u202f000"


# --- bars ---------------------------------------------------------------------------------------------------


def test_bars_are_as_long_as_their_values_and_begin_at_one_line() -> None:
    found = Drawing(bars(counted(100, 50, 0, 1)))
    (x1, _, whole, _), (x2, _, half, _), (x3, _, least, _) = found.marks()

    assert x1 == x2 == x3
    assert half == pytest.approx(whole / 2, abs=0.2)
    assert least == pytest.approx(whole / 100, abs=0.2)
    assert found.texts("value") == ["100", "50", "0", "1"]
    assert found.texts("tick") == ["0", "20", "40", "60", "80", "100"]
    assert found.texts("end") == ["n0", "n1", "n2", "n3"]
    assert found.titles() == ["n0: 100", "n1: 50", "n2: 0", "n3: 1"]
    assert (found.title, found.about) == ("Runs", "n0: 100; n1: 50; n2: 0; n3: 1.")


def test_a_bar_that_counts_something_can_be_seen_however_small() -> None:
    assert Drawing(bars(counted(1_000_000, 1))).marks()[1][2] == 1


def test_bars_that_are_too_many_are_said_to_be_in_the_table() -> None:
    found = Drawing(bars(counted(*range(20, 0, -1))))

    assert len(found.marks()) == 16
    assert found.texts("note") == ["and 4 more in the table"]
    assert found.about.endswith("n11: 9; and 8 more.")


def test_a_reach_and_a_mean_are_drawn_and_explained() -> None:
    many = (Bar("mend", 60_000, "s1", 120_000, 90_000), Bar("look", 30_000, "s1"))
    words = ("half within", "95 of 100 within", "mean")
    found = Drawing(bars(BarChart("Times", Unit.MILLISECONDS, many, "none", words)))

    assert found.texts("key") == ["half within", "95 of 100 within", "mean"]
    assert found.count("line", "reach") == 3
    assert found.count("path", "point") == 2
    assert found.texts("value") == ["1 min / 2 min", "30 s"]
    assert found.titles() == [
        "mend: half within 1 min, 95 of 100 within 2 min, mean 1 min 30 s",
        "look: half within 30 s, 95 of 100 within -, mean -",
    ]
    assert found.texts("tick") == ["0", "30 s", "1 min", "1 min 30 s", "2 min"]


# --- stacked bars -------------------------------------------------------------------------------------------

KEYS = (LegendKey("done", "good"), LegendKey("left", "warn"), LegendKey("never", "bad"))


def test_stacks_share_one_length_whatever_they_count() -> None:
    given = (Stack("big", (75, 25, 0)), Stack("small", (1, 1, 0)))
    found = Drawing(stacked(StackedChart("Ends", KEYS, given, "none")))
    (x, _, done, _), (y, _, half, _) = found.marks("good")
    (left, _, rest, _), (middle, _, other, _) = found.marks("warn")

    assert x == y
    assert done + 1.5 == pytest.approx(3 * (rest + 1.5), abs=0.3)
    assert half == pytest.approx(other, abs=0.1)
    assert left == pytest.approx(x + done + 1.5, abs=0.2)
    assert middle == pytest.approx(x + half + 1.5, abs=0.2)
    assert found.texts("key") == ["done", "left"]
    assert found.texts("inside") == ["75", "25", "1", "1"]
    assert found.texts("value") == ["100", "2"]
    assert found.texts("tick") == ["0", "25 %", "50 %", "75 %", "100 %"]
    assert found.titles()[:2] == ["big: done 75 (75.0 %)", "big: left 25 (25.0 %)"]
    assert found.about == "big: done 75 (75.0 %), left 25 (25.0 %); small: done 1 (50.0 %), left 1 (50.0 %)."


def test_a_part_too_small_for_its_number_is_told_when_pointed_at() -> None:
    found = Drawing(stacked(StackedChart("Ends", KEYS, (Stack("big", (9_999, 1, 0)),), "none")))

    assert found.texts("inside") == ["9\u202f999"]
    assert found.titles() == ["big: done 9\u202f999 (100.0 %)", "big: left 1 (0.0 %)"]


def test_stacks_that_are_too_many_are_said_to_be_in_the_table() -> None:
    many = tuple(Stack(f"n{index}", (1, 0, 0)) for index in range(18))

    assert Drawing(stacked(StackedChart("Ends", KEYS, many, "none"))).texts("note") == [
        "and 2 more in the table"
    ]


# --- funnels ------------------------------------------------------------------------------------------------

WORDS = ("went on", "left there")


def test_a_funnel_shows_who_comes_and_who_leaves() -> None:
    stages = (Stage("one", 40, 10), Stage("two", 30, 0), Stage("three", 10, 10))
    found = Drawing(funnel(FunnelChart("Funnel", stages, WORDS, "none")))
    went, left = found.marks("s1"), found.marks("warn")

    assert [round(each[2] / left[0][2]) for each in went] == [3, 3]
    assert left[1][2] == pytest.approx(left[0][2], abs=0.2)
    assert left[0][0] == pytest.approx(went[0][0] + went[0][2], abs=0.2)
    assert left[1][0] == went[0][0]
    assert found.texts("value") == ["40, 10 left (25.0 %)", "30", "10, 10 left (100.0 %)"]
    assert found.texts("key") == ["went on", "left there"]
    assert found.titles()[0] == "one: reached 40, went on 30, left there 10"


def test_stages_that_are_too_many_are_said_to_be_in_the_table() -> None:
    many = tuple(Stage(f"n{index}", 1, 0) for index in range(17))

    assert Drawing(funnel(FunnelChart("Funnel", many, WORDS, "none"))).texts("note") == [
        "and 1 more in the table"
    ]


# --- all of them --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "chart",
    [
        bars(BarChart("T", Unit.COUNT, (), HOSTILE)),
        stacked(StackedChart("T", KEYS, (), HOSTILE)),
        funnel(FunnelChart("T", (), WORDS, HOSTILE)),
    ],
)
def test_a_chart_of_nothing_says_why_and_draws_no_value(chart: str) -> None:
    found = Drawing(chart)

    said = "<script>alert('x')</script>\"&\\u{1b}[2J\\u{202e}]]>"
    assert (found.texts(), found.about, found.marks()) == ([said], said, [])


@pytest.mark.parametrize(
    "chart",
    [
        bars(BarChart(HOSTILE, Unit.COUNT, (Bar(HOSTILE, 3),), "none")),
        stacked(StackedChart(HOSTILE, (LegendKey(HOSTILE, "good"),), (Stack(HOSTILE, (3,)),), "none")),
        funnel(FunnelChart(HOSTILE, (Stage(HOSTILE, 3, 1),), (HOSTILE, HOSTILE), "none")),
    ],
)
def test_a_hostile_name_is_text_and_its_title_has_all_of_it(chart: str) -> None:
    found = Drawing(chart)

    assert found.title == "<script>alert('x')</script>\"&\\u{1b}[2J\\u{202e}]]>"
    assert found.titles()[0].startswith("<script>alert('x')</script>\"&\\u{1b}[2J\\u{202e}]]>: ")
    assert "<script>alert('x')</script>\"&…" in found.texts()


def test_a_name_of_signs_that_hide_is_cut_after_they_are_written_out() -> None:
    (drawn_name,) = Drawing(bars(BarChart("T", Unit.COUNT, (Bar("\x1b" * 30, 3),), "none"))).texts("end")

    assert drawn_name == "\\u{1b}" * 4 + "\\u{1b…"


def test_a_chart_of_its_own_carries_its_style_and_is_the_same_otherwise() -> None:
    chart = bars(counted(1))

    sheet = f'<style>{CHART_STYLE}</style><rect class="sheet" width="100%" height="100%"/>'
    assert make_standalone(chart).replace(sheet, "") == chart
    assert make_standalone(chart).count("<style>") == 1


def test_the_style_has_every_look_and_both_lights() -> None:
    for look in ("s1", "s2", "s3", "s4", "s5", "s6", "good", "bad", "warn", "quiet"):
        assert f".chart .{look}{{--look:var(--{look})}}" in CHART_STYLE
        assert CHART_STYLE.count(f"--{look}:#") == 2
    assert "@media (prefers-color-scheme:dark)" in CHART_STYLE
    assert "url(" not in CHART_STYLE
