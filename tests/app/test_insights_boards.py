"""The four dashboards: every number typed by hand, in tables and in charts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace as changed

from handrail.app.insights import SPAN_STARTS_MS, TABLE_NAMES, Board, Figures
from handrail.engine.model import Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.measures import (
    DayCount,
    DurationHistogram,
    ErrorCount,
    HourCount,
    KindCount,
    RunCount,
    RunTimes,
    StateCounts,
    StepCount,
    StepTimes,
    build_funnels,
    count_by_hour,
    find_bucket,
    get_bucket_start,
)
from helpers.drawings import HOSTILE, Drawing, boards, tables

NOW = datetime(2026, 3, 9, 15, 20, tzinfo=UTC)
NOTHING = Figures(NOW, None, NOW - timedelta(days=1), NOW - timedelta(days=7))
FIGURES = replace(
    NOTHING,
    runs=(
        RunCount("mend", Lifecycle.COMPLETED, 3, 270_000),
        RunCount("mend", Lifecycle.ABANDONED, 1, 1_900_000),
        RunCount("look", Lifecycle.RUNNING, 2, 0),
        RunCount("look", Lifecycle.ABANDONED, 2, 50_000),
    ),
    run_times=(
        RunTimes("look", Lifecycle.ABANDONED, DurationHistogram(((315, 1), (335, 1)))),
        RunTimes("mend", Lifecycle.ABANDONED, DurationHistogram(((519, 1),))),
        RunTimes("mend", Lifecycle.COMPLETED, DurationHistogram(((360, 2), (415, 1)))),
    ),
    steps=(
        StepCount("try", "ann", "completed", 3, 60_000),
        StepCount("try", "ann", "failed", 1, 5),
        StepCount("end", "", "completed", 2, 8_000),
    ),
    step_times=(
        StepTimes("try", "ann", DurationHistogram(((310, 1), (320, 1), (330, 1)))),
        StepTimes("end", "", DurationHistogram(((240, 2),))),
    ),
    states=(
        StateCounts("look", "", 0, 0, 0, 1, 0),
        StateCounts("look", "eye", 4, 4, 2, 0, 2),
        StateCounts("mend", "end", 2, 2, 2, 0, 0),
        StateCounts("mend", "try", 6, 4, 4, 4, 1),
        StateCounts("rest", "end", 1, 1, 0, 0, 0),
    ),
    kinds=(KindCount(EntryKind.STEP_STARTED, 20), KindCount(EntryKind.ERROR_OCCURRED, 5)),
    hours=(
        HourCount("2026-03-09 10", EntryKind.ERROR_OCCURRED, 5),
        HourCount("2026-03-09 10", EntryKind.STEP_STARTED, 8),
        HourCount("2026-03-09 15", EntryKind.STEP_STARTED, 12),
    ),
    tokens=(KindCount(EntryKind.TOKEN_GENERATED, 3), KindCount(EntryKind.TOKEN_EXPIRED, 1)),
    errors=(ErrorCount(RefusalCode.NO_ROW, 4), ErrorCount("", 1)),
    days=(DayCount("2026-03-04", "look", 2), DayCount("2026-03-09", "mend", 4)),
)
MEANINGS = {"no_row": "no such way"}


def board(name: str, figures: Figures = FIGURES) -> Board:
    return next(each for each in boards(figures, MEANINGS) if each.name == name)


def drawings(name: str, figures: Figures = FIGURES) -> dict[str, Drawing]:
    found = (Drawing(chart) for panel in board(name, figures).panels for chart in panel.charts)
    return {drawing.title: drawing for drawing in found}


def test_the_boards_have_every_table_once_and_in_order() -> None:
    found = boards(FIGURES, MEANINGS)

    assert [each.title for each in found] == [
        *("Workflow performance", "Step performance", "Telemetry", "User activity")
    ]
    assert tuple(name for each in found for name in each.tables) == TABLE_NAMES
    assert {name: table for each in found for name, table in each.tables.items()} == tables(FIGURES, MEANINGS)


def test_workflow_performance() -> None:
    assert board("workflows").data() == {
        "lifecycles": [
            {"lifecycle": Lifecycle.RUNNING, "runs": 2},
            {"lifecycle": Lifecycle.COMPLETED, "runs": 3},
            {"lifecycle": Lifecycle.ABANDONED, "runs": 3},
        ],
        "workflows": [
            {
                "workflow": "look",
                "runs": 4,
                "completed": 0,
                "abandoned": 2,
                "mean_completed_ms": None,
                "mean_abandoned_ms": 25_000.0,
                "completion_rate": 0.0,
                "abandonment_rate": 50.0,
                "p50_completed_ms": None,
                "p95_completed_ms": None,
                "p50_abandoned_ms": 15_000,
            },
            {
                "workflow": "mend",
                "runs": 4,
                "completed": 3,
                "abandoned": 1,
                "mean_completed_ms": 90_000.0,
                "mean_abandoned_ms": 1_900_000.0,
                "completion_rate": 75.0,
                "abandonment_rate": 25.0,
                "p50_completed_ms": 60_000,
                "p95_completed_ms": 150_000,
                "p50_abandoned_ms": 1_900_000,
            },
        ],
    }


def test_step_performance() -> None:
    found = board("steps").tables

    assert found["times"].rows == (
        ("try", "ann", 3, 20_000.0, 20_000, 30_000),
        ("end", "", 2, 4_000.0, 4_000, 4_000),
    )
    assert found["steps"].rows == (("try", 4, 3, 1, 20_000.0, 25.0), ("end", 2, 2, 0, 4_000.0, 0.0))
    assert found["states"].rows == (
        ("look", "", 0, 0, 0, 0, 1, 100.0),
        ("mend", "try", 6, 4, 2, 4, 4, 50.0),
        ("look", "eye", 4, 4, 0, 2, 0, 0.0),
        ("mend", "end", 2, 2, 0, 2, 0, 0.0),
        ("rest", "end", 1, 1, 0, 0, 0, None),
    )


def test_a_step_of_which_no_time_is_known_has_no_half() -> None:
    found = board("steps", replace(FIGURES, step_times=())).tables["times"]

    assert found.rows[0] == ("try", "ann", 3, 20_000.0, None, None)


def test_telemetry() -> None:
    assert board("telemetry").data() == {
        "hours": [
            {"hour": "2026-03-09 10", "entries": 13, "errors": 5},
            {"hour": "2026-03-09 15", "entries": 12, "errors": 0},
        ],
        "kinds": [
            {"kind": EntryKind.STEP_STARTED, "entries": 20},
            {"kind": EntryKind.ERROR_OCCURRED, "entries": 5},
        ],
        "tokens": [{"generated": 3, "validated": 0, "expired": 1, "expiry_rate": 25.0}],
        "errors": [
            {"code": RefusalCode.NO_ROW, "entries": 4, "meaning": "no such way"},
            {"code": "", "entries": 1, "meaning": ""},
        ],
    }


def test_user_activity() -> None:
    found = board("activity").tables

    assert found["days"].rows == (("2026-03-04", 2), ("2026-03-09", 4))
    assert found["starts"].rows == (("2026-03-04", "look", 2), ("2026-03-09", "mend", 4))
    assert found["abandonment"].rows == (
        ("look", 2, 50.0, 25_000.0, 15_000),
        ("mend", 1, 25.0, 1_900_000.0, 1_900_000),
    )
    assert found["funnel"].rows == (
        ("look", "eye", 4, 2, 50.0),
        ("mend", "try", 4, 1, 25.0),
        ("mend", "end", 2, 0, 0.0),
    )
    assert found["leaving"].rows == (
        ("10-30 s", 10_000, 1),
        ("30-60 s", 30_000, 1),
        ("1-5 min", 60_000, 0),
        ("5-10 min", 300_000, 0),
        ("10-30 min", 600_000, 0),
        ("30-60 min", 1_800_000, 1),
    )


def test_every_span_begins_where_a_bucket_begins() -> None:
    assert [get_bucket_start(find_bucket(start)) for start in SPAN_STARTS_MS] == list(SPAN_STARTS_MS)


def test_hours_and_funnels_follow_from_what_was_measured() -> None:
    assert count_by_hour(FIGURES.hours) == {"2026-03-09 10": (13, 5), "2026-03-09 15": (12, 0)}
    assert list(build_funnels(FIGURES.states)) == ["look", "mend"]
    assert StateCounts("a", "", 0, 0, 0, 0, 1).leaving_rate is None


def test_the_charts_of_workflow_performance_say_the_same_numbers() -> None:
    found = drawings("workflows")

    assert found["Runs by lifecycle"].titles() == ["running: 2", "completed: 3", "abandoned: 3"]
    assert found["How the runs of each workflow stand"].titles() == [
        "look: abandoned 2 (50.0 %)",
        "look: running 2 (50.0 %)",
        "mend: completed 3 (75.0 %)",
        "mend: abandoned 1 (25.0 %)",
    ]
    assert found["How long completed runs take"].titles() == [
        "mend: half within 1 min, 95 of 100 within 2 min 30 s, mean 1 min 30 s"
    ]


def test_the_charts_of_step_performance_say_the_same_numbers() -> None:
    found = drawings("steps")

    assert found["How long completed steps take"].titles() == [
        "try, ann: half within 20 s, 95 of 100 within 30 s, mean 20 s",
        "end: half within 4 s, 95 of 100 within 4 s, mean 4 s",
    ]
    assert found["Steps that fail"].titles() == ["try: 25.0 %"]
    assert found["Calls that are refused"].titles() == ["(several) · look: 100.0 %", "try · mend: 50.0 %"]
    assert found["Steps begun again by the same run"].titles() == ["try · mend: 2"]


def test_the_charts_of_telemetry_say_the_same_numbers() -> None:
    found = drawings("telemetry")
    over = found["Entries over time"]

    assert len(over.titles()) == 25
    assert (over.titles()[0], over.titles()[-1]) == (
        "2026-03-08 15:00: entries 0, refused 0",
        "2026-03-09 15:00: entries 12, refused 0",
    )
    assert over.about == "2026-03-09 10:00: entries 13, refused 5; 2026-03-09 15:00: entries 12, refused 0."
    assert found["Entries by kind"].titles() == ["step_started: 20", "error_occurred: 5"]
    assert found["Step tokens"].titles() == ["issued: 3", "found good: 0", "expired: 1"]
    assert found["Refused calls by code"].titles() == ["no_row: 4", "(no code): 1"]


def test_the_charts_of_user_activity_say_the_same_numbers() -> None:
    found = drawings("activity")

    assert found["Runs started by day"].about == "2026-03-04: 2; 2026-03-09: 4."
    assert len(found["Runs started by day"].titles()) == 8
    assert found["Runs abandoned"].titles() == ["look: 50.0 %", "mend: 25.0 %"]
    assert found["Where runs of look are abandoned"].texts("value") == ["4, 2 left (50.0 %)"]
    assert found["Where runs of mend are abandoned"].texts("value") == ["4, 1 left (25.0 %)", "2"]
    assert found["Time until runs are abandoned"].texts("value") == ["1", "1", "1"]


def test_few_workflows_have_a_colour_and_the_others_share_one() -> None:
    days = tuple(DayCount("2026-03-09", f"w{index}", 9 - index) for index in range(7))
    found = drawings("activity", replace(FIGURES, days=days))["Runs started by day"]

    assert found.texts("key") == ["w0", "w1", "w2", "w3", "w4", "others"]
    assert found.titles()[-1] == "2026-03-09: w0 9, w1 8, w2 7, w3 6, w4 5, others 7"


@pytest.mark.parametrize("name", ["workflows", "steps", "telemetry", "activity"])
def test_a_store_without_runs_has_honest_charts_and_no_value(name: str) -> None:
    found = board(name, NOTHING)
    charts = [Drawing(chart) for panel in found.panels for chart in panel.charts]

    assert charts
    assert [chart.marks() for chart in charts] == [[] for _ in charts]
    assert all(len(chart.texts("empty")) == 1 for chart in charts)
    assert all(table.empty for table in found.tables.values())


def test_hostile_names_are_text_in_every_chart_and_table() -> None:
    figures = replace(
        FIGURES,
        runs=tuple(changed(one, workflow=HOSTILE) for one in FIGURES.runs[:2]),
        states=tuple(changed(one, workflow=HOSTILE, step=HOSTILE) for one in FIGURES.states[3:4]),
        days=tuple(changed(one, workflow=HOSTILE) for one in FIGURES.days),
        errors=(ErrorCount(HOSTILE, 1),),
    )
    for each in boards(figures, {}):
        for panel in each.panels:
            assert [Drawing(chart).title for chart in panel.charts] or panel.table.name == "starts"
