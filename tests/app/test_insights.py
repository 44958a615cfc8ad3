"""A store is asked for everything that the dashboards show."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from handrail.app.insights import load_figures
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.stores.sql.summaries import SqlMeasures
from helpers.drawings import Drawing, boards
from helpers.history import create_history

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def test_the_boards_of_a_store_are_those_of_its_runs(tmp_path: Path) -> None:
    database = SqliteDatabase(create_history(tmp_path / "handrail.db").path)
    figures = load_figures(SqlMeasures(database), NOW)
    database.close()

    drawings = [
        Drawing(chart) for board in boards(figures, {}) for panel in board.panels for chart in panel.charts
    ]
    found = {drawing.title: drawing for drawing in drawings}

    assert len(found) == len(drawings) == 15
    assert found["How the runs of each workflow stand"].about == (
        "bug-fix: completed 1 (16.7 %), failed 1 (16.7 %), abandoned 1 (16.7 %), diverged 1 (16.7 %),"
        " running 1 (16.7 %), paused 1 (16.7 %); gate: running 1 (100.0 %)."
    )
    assert found["Calls that are refused"].titles() == ["reproduce · bug-fix: 33.3 %"]
    assert found["Where runs of bug-fix are abandoned"].texts("value") == [
        "6, 1 left (16.7 %)",
        "4",
        "3",
        "2",
    ]
    assert found["Entries over time"].about == "2026-01-31 09:00: entries 88, refused 2."
    assert found["Runs started by day"].about == "2026-01-31: 7."
    assert found["Time until runs are abandoned"].about == "10-30 min: 1."


def test_windows_are_those_of_the_source_unless_a_start_is_given(tmp_path: Path) -> None:
    database = SqliteDatabase(create_history(tmp_path / "handrail.db").path)
    summaries, later = SqlMeasures(database), NOW + timedelta(days=2)
    found, none = load_figures(summaries, later), load_figures(summaries, later, NOW)
    database.close()

    assert (found.since, found.kinds_since, found.days_since) == (
        None,
        later - timedelta(hours=24),
        later - timedelta(days=7),
    )
    assert (found.kinds, found.hours, sum(one.entries for one in found.tokens)) == ((), (), 88)
    assert [one.runs for one in found.days] == [6, 1]
    assert (none.since, none.kinds_since, none.days_since) == (NOW, NOW, NOW)
    assert (none.tokens, none.errors, none.days) == ((), (), ())
    assert none.runs == found.runs
