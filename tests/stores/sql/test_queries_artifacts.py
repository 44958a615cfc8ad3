"""What a store answers about the artifacts of all runs, and what is under way: by index, of one moment."""

import re
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from handrail.engine.model import Authority, Event, Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.ports.queries import (
    MAX_EXCERPT_BYTES,
    AllFinalArtifacts,
    ArtifactFilter,
    ArtifactRow,
    ArtifactsOfRun,
    ArtifactsOfStep,
    ArtifactsOfType,
    Excerpt,
    FinalArtifactsOfProject,
    FinalArtifactsOfRun,
    ProjectRow,
    RecentArtifacts,
)
from handrail.stores.sql.queries import SqlRunQueries
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.sql.schema import load_queries
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.requirement import requirement
from helpers.turns import NOW, TurnHarness, open_sqlite
from helpers.workflows import build_output

ONE, TWO, THREE = (f"00000000-0000-0000-0000-00000000000{number}" for number in (1, 4, 7))
ROOT = "/home/ann/paper"
PROJECT = "7ce99291f4478d52"


def _made(*titles: str) -> Event:
    artifacts = [{"type": title[0], "title": title, "content": f"{title}."} for title in titles]
    return Event("continue", build_output(artifacts=artifacts))


@pytest.fixture
def harness(tmp_path: Path) -> TurnHarness:
    """A run completed with a1 and its synthesis, one at its second step with b1 and a2, one just begun."""
    turns = TurnHarness(open_sqlite(tmp_path))
    answer = turns.start()
    for titles in (("a1",), (), ()):
        answer = turns.send(ONE, _made(*titles), answer["token"])
        turns.clock.move(seconds=1)
    answer = turns.start()
    turns.send(TWO, _made("b1", "a2"), answer["token"])
    turns.start()
    return turns


@pytest.fixture
def records(harness: TurnHarness) -> SqlRunQueries:
    assert isinstance(harness.runs, SqliteRuns)
    return SqlRunQueries(harness.runs.database)


@pytest.mark.parametrize(
    ("choice", "titles"),
    [
        (ArtifactsOfRun(ONE), ["a1", "Done."]),
        (ArtifactsOfRun(TWO), ["b1", "a2"]),
        (ArtifactsOfRun("nobody"), []),
        (ArtifactsOfStep(TWO, "draft"), ["a2", "b1"]),
        (ArtifactsOfStep(TWO, "review"), []),
        (ArtifactsOfType("a"), ["a2", "a1"]),
        (ArtifactsOfType("A"), []),
        (ArtifactsOfType("%"), []),
        (RecentArtifacts(), ["a2", "b1", "Done.", "a1"]),
        (AllFinalArtifacts(), ["Done.", "a1"]),
        (FinalArtifactsOfRun(ONE), ["Done.", "a1"]),
        (FinalArtifactsOfRun(TWO), []),
        (FinalArtifactsOfProject(PROJECT), ["Done.", "a1"]),
        (FinalArtifactsOfProject("another"), []),
    ],
)
def test_a_choice_of_artifacts_comes_in_its_order_from_behind_those_skipped(
    choice: ArtifactFilter, titles: list[str], records: SqlRunQueries
) -> None:
    assert [one.artifact.title for one in records.excerpts(choice)] == titles
    assert [one.artifact.title for one in records.excerpts(choice, 1)] == titles[:1]
    assert [one.artifact.title for one in records.excerpts(choice, 9, 1)] == titles[1:]


def test_an_excerpt_is_an_artifact_of_a_run_with_its_text(records: SqlRunQueries) -> None:
    (found,) = records.excerpts(ArtifactsOfRun(TWO), 1)

    id_ = "00000000-0000-0000-0000-000000000005"
    at = datetime(2026, 3, 1, 12, 0, 3, tzinfo=UTC)
    row = ArtifactRow(1, id_, "draft", "writer", "b", "b1", "", final=False, at=at, size=3)
    assert found == Excerpt(TWO, row, "b1.")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 32_768, "x" * 32_768),
        ("x" * 32_769, "x" * 32_768),
        ("é" * 16_385, "é" * 16_384),
        ("x" + "😀" * 9_000, "x" + "😀" * 8_191),
    ],
)
def test_an_excerpt_ends_between_characters_and_its_size_is_that_of_the_whole(
    text: str, shown: str, harness: TurnHarness, records: SqlRunQueries
) -> None:
    harness.send(
        THREE,
        Event("continue", build_output(artifacts=[{"type": "t", "title": "T", "content": text}])),
        harness.recover(THREE)["token"],
    )

    (found,) = records.excerpts(ArtifactsOfRun(THREE))

    assert (found.text, found.artifact.size) == (shown, len(text.encode()))
    assert len(found.text.encode()) <= MAX_EXCERPT_BYTES


def test_the_types_are_those_of_a_run_or_of_all_lately(records: SqlRunQueries) -> None:
    assert records.artifact_types() == ("a", "b", "synthesis")
    assert records.artifact_types(TWO) == ("a", "b")
    assert records.artifact_types(THREE) == ()


def test_the_last_steps_that_are_done_are_told_in_order(records: SqlRunQueries) -> None:
    assert [step.number for step in records.last_completed_steps(TWO, 9)] == [1]
    assert [step.number for step in records.last_completed_steps(ONE, 9)] == [1, 2, 3]
    assert [step.state for step in records.last_completed_steps(ONE, 2)] == ["review", "publish"]
    assert records.last_completed_steps(ONE, 0) == records.last_completed_steps("nobody", 9) == ()


def test_open_steps_are_those_that_wait_for_an_output(harness: TurnHarness, records: SqlRunQueries) -> None:
    (step,) = records.open_steps(TWO)

    assert (step.number, step.state, step.agent, step.opened) == (
        2,
        "review",
        "reader",
        NOW + timedelta(seconds=3),
    )
    assert records.open_steps(ONE) == records.open_steps("nobody") == ()
    harness.send(TWO, Event("pause"))
    assert records.open_steps(TWO) == (step,)


def test_runs_under_way_in_these_projects_come_last_started_first(
    harness: TurnHarness, records: SqlRunQueries
) -> None:
    assert records.list_active_ids((ROOT,)) == (THREE, TWO)
    assert records.list_active_ids(("/elsewhere", ROOT), TWO[:36]) == (TWO,)
    assert (
        records.list_active_ids((ROOT,), "x")
        == records.list_active_ids(("/elsewhere",))
        == records.list_active_ids(())
        == ()
    )
    harness.send(THREE, Event("abandon", note="enough"))
    assert records.list_active_ids((ROOT,)) == (TWO,)


def test_the_runs_of_the_nearest_project_come_with_all_that_a_hook_tells_last_called_first(
    harness: TurnHarness, records: SqlRunQueries
) -> None:
    harness.clock.move(seconds=1)
    assert harness.send(TWO, Event("nonsense"), harness.recover(TWO)["token"])["status"] == "error"
    two, three = records.live_runs(("/elsewhere", ROOT, "/"))

    assert (two.id, two.workflow, two.state, two.project) == (TWO, "paper", "review", ROOT)
    assert (two.lifecycle, two.authority, two.waiting) == (Lifecycle.RUNNING, Authority.SQL, False)
    assert (two.face, two.goal, two.called) == ("steps", "a paper", NOW + timedelta(seconds=4))
    assert dict(two.run.attempts) == {"draft": 1, "review": 1}
    assert two.refused["error_type"] == RefusalCode.NO_ROW
    assert (three.id, three.state, three.refused) == (THREE, "draft", {})
    assert [run.id for run in records.live_runs((ROOT,), 1)] == [TWO]
    assert records.live_runs(("/elsewhere",)) == records.live_runs(()) == ()
    harness.send(TWO, Event("abandon", note="enough"))
    assert [run.id for run in records.live_runs((ROOT,))] == [THREE]


def test_completed_runs_are_those_with_the_last_final_artifacts(records: SqlRunQueries) -> None:
    assert records.list_completed_ids() == (ONE,)


def test_a_project_is_known_with_its_active_run(harness: TurnHarness, records: SqlRunQueries) -> None:
    assert records.project(PROJECT) == ProjectRow(PROJECT, "paper", ROOT, THREE, NOW)
    assert records.project("another") is None
    harness.send(THREE, Event("abandon", note="enough"))
    assert records.project(PROJECT) == ProjectRow(PROJECT, "paper", ROOT, "", NOW)


def test_answers_inside_a_moment_are_of_that_moment_whatever_others_commit(
    harness: TurnHarness, records: SqlRunQueries
) -> None:
    with records.snapshot():
        before = (records.run(THREE), records.open_steps(THREE), records.excerpts(RecentArtifacts()))
        harness.send(THREE, _made("c1"), harness.recover(THREE)["token"])
        assert (records.run(THREE), records.open_steps(THREE), records.excerpts(RecentArtifacts())) == before

    assert records.excerpts(RecentArtifacts())[0].artifact.title == "c1"
    with pytest.raises(LookupError), records.snapshot():
        raise LookupError
    with records.snapshot():
        assert records.open_steps(THREE)[0].state == "review"


CHOICES = ("of_run", "of_step", "of_type", "recent", "all_final", "final_of", "final_in")
OTHERS = ("last_done", "open_steps", "types_of", "types", "live", "live_runs", "completed", "project")
ALLOWED = (
    r"SEARCH .*",
    r"SCAN a USING INDEX artifacts_by_time",
    r"SCAN (a|b) USING COVERING INDEX artifacts_by_time",
    r"SCAN (a|artifacts) USING INDEX artifacts_final",
    r"SCAN r USING INDEX runs_live",
    r"SCAN (\(subquery-\d\)|f|p|json_each .*)",
    r"(LIST|(CORRELATED )?SCALAR) SUBQUERY .*|CO-ROUTINE .*",
    r"SCAN j VIRTUAL TABLE INDEX .*",
    r"USE TEMP B-TREE FOR (RIGHT PART|LAST 2 TERMS) OF ORDER BY",
)
"""Rows by key; what is newest or final from the end of an index, until there are enough; what is live."""

SORTED = r"USE TEMP B-TREE FOR (ORDER BY|DISTINCT)"
"""Only what was chosen before is sorted: artifacts of a type, types, runs under way or lately over."""


def _writer(records: SqlRunQueries) -> sqlite3.Connection:
    assert isinstance(records.database, SqliteDatabase)
    return records.database.writer_connection()


def _plan(records: SqlRunQueries, name: str) -> list[str]:
    sql = load_queries("questions.sql")
    text = f"{sql['excerpt_columns']}\n{sql[name]}" if name in CHOICES else sql[name]
    taken = max([*map(int, re.findall(r"\?(\d+)", text)), len(re.findall(r"\?(?!\d)", text))])
    json = {"live": ("[1]", "x", 9, None), "live_runs": ("[1]", 9, None)}
    given = json.get(name, (9,) * taken)
    return [row[3] for row in _writer(records).execute(f"EXPLAIN QUERY PLAN {text}", given)]


@requirement("steps:db.indexes")
@pytest.mark.parametrize("analysed", [False, True])
def test_no_question_reads_all_artifacts_or_all_runs(
    harness: TurnHarness, records: SqlRunQueries, *, analysed: bool
) -> None:
    _writer(records).execute("PRAGMA synchronous = OFF")
    for _ in range(60):
        answer = harness.start()
        for titles in (("a1", "b1"), ("c1",), ()):
            answer = harness.send(answer["run"], _made(*titles), answer["token"])
    if analysed:
        _writer(records).execute("ANALYZE")

    plans = {name: _plan(records, name) for name in (*CHOICES, *OTHERS)}

    sorting = {name for name, plan in plans.items() if any(re.fullmatch(SORTED, line) for line in plan)}
    assert sorting <= {"of_type", "types", "types_of", "live", "live_runs", "completed"}
    allowed = "|".join((*ALLOWED, SORTED))
    assert {line for plan in plans.values() for line in plan if not re.fullmatch(allowed, line)} == set()


def test_a_question_without_its_index_is_found(records: SqlRunQueries) -> None:
    _writer(records).execute("DROP INDEX artifacts_final")
    _writer(records).execute("DROP INDEX runs_completed")

    assert "SCAN a USING INDEX artifacts_final" not in _plan(records, "all_final")
    _writer(records).execute("DROP INDEX runs_by_project")
    assert any("SCAN" in line for line in _plan(records, "final_in"))


def test_a_turn_that_does_not_complete_its_run_writes_to_no_index_of_what_is_final(
    harness: TurnHarness,
) -> None:
    assert isinstance(harness.runs, SqliteRuns)
    writer = harness.runs.database.writer_connection()
    counted = (
        "SELECT (SELECT count(*) FROM artifacts INDEXED BY artifacts_final WHERE is_final = 1),"
        " (SELECT count(*) FROM runs INDEXED BY runs_completed WHERE state = 'completed')"
    )
    before = writer.execute(counted).fetchone()
    harness.send(TWO, _made("c1"), harness.recover(TWO)["token"])

    assert before == writer.execute(counted).fetchone() == (2, 1)
    harness.send(TWO, _made(), harness.recover(TWO)["token"])
    assert writer.execute(counted).fetchone() == (6, 2)


def test_an_artifact_without_content_has_an_empty_excerpt(
    harness: TurnHarness, records: SqlRunQueries
) -> None:
    assert isinstance(harness.runs, SqliteRuns)
    with harness.runs.database.transaction() as execute:
        execute("UPDATE artifacts SET content = '' WHERE title = 'a1'", ())

    (only,) = [one for one in records.excerpts(ArtifactsOfRun(ONE)) if one.artifact.title == "a1"]

    assert (only.text, only.artifact.size) == ("", 0)
