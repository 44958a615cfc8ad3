"""Series: columns and lines, by numbers typed by hand."""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from handrail.drawing.charts import Series, SeriesChart, Slot
from helpers.drawings import HOSTILE, NAMESPACE, Drawing, columns, lines

Draw: TypeAlias = Callable[[SeriesChart], str]


def row(*series: Series) -> SeriesChart:
    slots = tuple(
        Slot(f"slot {index}", f"w{index}") for index in range(len(series[0].values) if series else 0)
    )
    return SeriesChart("Runs", slots, series, "none yet")


def test_columns_stand_on_each_other() -> None:
    given = row(Series("a", "s1", (10, 0, 5)), Series("b", "s2", (10, 0, 15)))
    found = Drawing(columns(given))
    (_, first, _, ten), (_, last, _, five) = found.marks("s1")
    (_, above, _, other), (_, top, _, fifteen) = found.marks("s2")

    assert [ten, other, fifteen] == pytest.approx([2 * five, 2 * five, 3 * five], abs=0.2)
    assert first + ten == pytest.approx(last + five, abs=0.2)
    assert above + other == pytest.approx(first, abs=0.2)
    assert top + fifteen == pytest.approx(last, abs=0.2)
    assert found.texts("key") == ["a", "b"]
    assert found.texts("value") == ["20", "20"]
    assert found.texts("tick") == ["0", "5", "10", "15", "20", "w0", "w1", "w2"]
    assert found.titles() == ["slot 0: a 10, b 10", "slot 1: a 0, b 0", "slot 2: a 5, b 15"]
    assert found.about == "slot 0: 20; slot 2: 20."


def test_one_series_needs_no_key() -> None:
    assert Drawing(columns(row(Series("a", "warn", (1, 2))))).texts("key") == []


def test_many_columns_are_narrow_without_numbers_and_words_do_not_touch() -> None:
    found = Drawing(columns(row(Series("a", "s1", (3,) * 365))))

    assert len(found.marks()) == 365
    assert found.texts("value") == []
    assert 10 < len([word for word in found.texts("tick") if word.startswith("w")]) < 40


def test_a_line_goes_through_its_values_and_says_how_high_it_is_at_most() -> None:
    found = Drawing(lines(row(Series("a", "s1", (0, 40, 10)), Series("b", "warn", (0, 0, 20)))))
    paths = [
        str(each.get("d")) for each in found.root.iter(f"{NAMESPACE}path") if "line" in str(each.get("class"))
    ]
    (first, high, low), (_, foot, middle) = (
        [tuple(map(float, point.split())) for point in path.removeprefix("M").split("L")] for path in paths
    )

    assert first[1] == foot[1]
    assert (foot[1] - low[1]) * 4 == pytest.approx(foot[1] - high[1], abs=0.4)
    assert (foot[1] - middle[1]) * 2 == pytest.approx(foot[1] - high[1], abs=0.4)
    assert found.texts("value") == ["40"]
    assert (found.count("circle", "s1"), found.count("circle", "warn")) == (2, 1)
    assert found.titles()[2] == "slot 2: a 10, b 20"


def test_a_line_of_many_values_has_no_dots() -> None:
    assert Drawing(lines(row(Series("a", "s1", (1,) * 41)))).count("circle", "mark") == 0


@pytest.mark.parametrize("draw", [columns, lines])
@pytest.mark.parametrize("given", [row(), row(Series("a", "s1", (0, 0)))])
def test_a_row_of_nothing_says_why(draw: Draw, given: SeriesChart) -> None:
    found = Drawing(draw(given))

    assert (found.texts(), found.marks()) == (["none yet"], [])


@pytest.mark.parametrize("draw", [columns, lines])
def test_hostile_names_are_text(draw: Draw) -> None:
    given = SeriesChart(
        HOSTILE, (Slot(HOSTILE, "w"),), (Series(HOSTILE, "s1", (1,)), Series("b", "s2", (1,))), "none"
    )
    found = Drawing(draw(given))

    said = "<script>alert('x')</script>\"&\\u{1b}[2J\\u{202e}]]>"
    assert found.titles() == [f"{said}: {said} 1, b 1"]


def test_keys_that_do_not_fit_stand_in_another_line() -> None:
    names = [f"workflow-with-a-long-name-{index}" for index in range(6)]
    found = Drawing(columns(row(*(Series(name, "s1", (1,)) for name in names))))

    keys = [each for each in found.root.iter(f"{NAMESPACE}text") if each.get("class") == "key"]
    assert [str(each.text) for each in keys] == names
    assert len({each.get("y") for each in keys}) == 2
