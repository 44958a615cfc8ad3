"""What a store answers about its runs, and that it answers without reading all of it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from handrail.engine.lifecycle import FAIL
from handrail.engine.model import Actor, Authority, Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.fork import ForkRequest, fork_run
from handrail.runtime.ports.queries import RunFilter
from handrail.runtime.records import Caller, StepStatus
from handrail.stores.sql.queries import SqlRunQueries
from handrail.stores.sql.schema import load_queries
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import close_later
from helpers.history import GATE, PROJECT, History, create_history, open_sample_store
from tools.sample_store import BEGINS, MINUTE


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> History:
    return create_history(tmp_path_factory.mktemp("past") / "handrail.db")


@pytest.fixture
def records(past: History) -> SqlRunQueries:
    return SqlRunQueries(close_later(SqliteDatabase(past.path)))


def names(
    records: SqlRunQueries, past: History, wanted: RunFilter, after: str = "", most: int = 100
) -> list[str]:
    by_id = {run: name for name, run in past.runs.items()}
    return [by_id[row.id] for row in records.runs(wanted, after, most)]


def test_runs_come_last_started_first(records: SqlRunQueries, past: History) -> None:
    assert names(records, past, RunFilter()) == [
        "waiting",
        "diverged",
        "abandoned",
        "failed",
        "completed",
        "paused",
        "running",
    ]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (RunFilter(project=PROJECT), ["diverged", "abandoned", "failed", "completed", "paused", "running"]),
        (RunFilter(project="editor", text="To be p"), ["paused"]),
        (RunFilter(project="edit"), []),
        (RunFilter(face="steps", workflow="gate"), ["waiting"]),
        (RunFilter(face="spells"), []),
        (RunFilter(lifecycles=(Lifecycle.PAUSED, Lifecycle.FAILED)), ["failed", "paused"]),
        (RunFilter(lifecycles=(Lifecycle.RUNNING,), workflow="bug-fix"), ["running"]),
        (RunFilter(text="to be R"), ["running"]),
        (RunFilter(text="00000003-"), ["completed"]),
        (RunFilter(text="diagnos"), ["paused"]),
        (RunFilter(text="GATE"), ["waiting"]),
        (RunFilter(text="%"), []),
        (RunFilter(text="_o be"), []),
        (RunFilter(text="\\"), []),
        (RunFilter(text="' OR 1=1 --"), []),
        (RunFilter(since=BEGINS + 6 * MINUTE), ["waiting", "diverged"]),
        (RunFilter(until=BEGINS + 2 * MINUTE), ["running"]),
        (RunFilter(agent="tester"), ["failed", "completed"]),
        (RunFilter(agent="tester", lifecycles=(Lifecycle.FAILED,)), ["failed"]),
        (RunFilter(agent="test"), []),
        (RunFilter(since=BEGINS + 2 * MINUTE, until=BEGINS + 4 * MINUTE), ["completed", "paused"]),
    ],
)
def test_filters_combine(wanted: RunFilter, found: list[str], records: SqlRunQueries, past: History) -> None:
    assert names(records, past, wanted) == found


@pytest.mark.parametrize("sign", ["%", "_", "\\", "100%_\\"])
def test_a_sign_that_patterns_use_is_found_as_it_is(sign: str, tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        play.start("plain", GATE)
        run = play.start(f"goal with {sign} in it", GATE)
        found = SqlRunQueries(play.database).runs(RunFilter(text=f"h {sign} i"))

    assert [row.id for row in found] == [run]


def test_a_page_goes_on_behind_the_run_it_is_given(records: SqlRunQueries, past: History) -> None:
    first = records.runs(RunFilter(workflow="bug-fix"), most=2)

    assert names(records, past, RunFilter(workflow="bug-fix"), first[-1].id, 2) == ["failed", "completed"]
    assert names(records, past, RunFilter(), past.runs["running"]) == []
    assert names(records, past, RunFilter(), "no such run") == []


def test_what_may_need_somebody_waits_is_quiet_or_has_failed(records: SqlRunQueries, past: History) -> None:
    by_id = {run: name for name, run in past.runs.items()}
    before, after = BEGINS, BEGINS + 60 * MINUTE

    def needing(quiet: datetime, failed: datetime, most: int = 100) -> list[str]:
        return [by_id[row.id] for row in records.list_needing_attention(quiet, failed, most)]

    assert needing(after, before) == ["waiting", "failed", "paused", "running"]
    assert needing(before, before) == ["waiting", "failed", "paused"]
    assert needing(before, after) == ["waiting", "paused"]
    assert needing(after, before, 2) == ["waiting", "failed"]
    assert records.count_active() == {Lifecycle.RUNNING: 2, Lifecycle.PAUSED: 1}


def test_a_question_with_a_reach_looks_through_so_many_and_tells_where_it_ended(
    records: SqlRunQueries, past: History
) -> None:
    far, near = RunFilter(text="To be p", reach=100), RunFilter(text="To be p", reach=3)

    assert names(records, past, far) == ["paused"]
    assert (names(records, past, near), records.find_last_in_reach(3)) == ([], past.runs["abandoned"])
    assert names(records, past, near, past.runs["abandoned"]) == ["paused"]
    assert records.find_last_in_reach(3, past.runs["abandoned"]) == past.runs["paused"]
    assert (
        records.find_last_in_reach(100),
        records.find_last_in_reach(7),
        records.find_last_in_reach(3, "nobody"),
    ) == ("", "", "")


def test_a_failure_that_somebody_has_forked_needs_nobody(tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        run = play.start("", GATE)
        play.send(run, FAIL, note="no idea")
        records = SqlRunQueries(play.database)

        assert [row.id for row in records.list_needing_attention(BEGINS, BEGINS)] == [run]
        fork_run(play.world, ForkRequest(run, "", Caller(Actor.PERSON)), lambda _: {})
        assert records.list_needing_attention(BEGINS, BEGINS) == ()


def test_the_last_entry_is_the_newest_of_all(records: SqlRunQueries, tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        assert SqlRunQueries(play.database).last_entry_number() == 0

    assert records.last_entry_number() == records.journal(most=1000)[-1].number


@pytest.mark.unmeasured
def test_a_thousand_runs_are_paged_each_once_also_while_others_start(tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        play.database.writer_connection().execute("PRAGMA synchronous = OFF")
        started = [play.start(f"number {number}", GATE) for number in range(1000)]
        records = SqlRunQueries(play.database)
        seen: list[str] = []
        page = records.runs(RunFilter())
        pages = 0
        while page:
            pages += 1
            seen += [row.id for row in page]
            play.start("a late one", GATE)
            page = records.runs(RunFilter(), seen[-1])

    assert pages == 10
    assert seen == started[::-1]


def test_a_run_is_told_whole(records: SqlRunQueries, past: History) -> None:
    row = records.run(past.runs["completed"])

    assert row is not None
    assert (row.workflow, row.lifecycle, row.state, row.revision) == (
        "bug-fix",
        Lifecycle.COMPLETED,
        "",
        5,
    )
    assert (row.face, row.authority, row.project) == ("steps", Authority.SQL, "/home/ada/editor")
    assert (row.goal, row.principal, row.parent, row.waiting) == ("To be completed", "", "", False)
    assert row.started == datetime(2026, 1, 31, 9, 3, tzinfo=UTC)
    assert (row.ended, row.updated, row.active) == (row.started + timedelta(minutes=13),) * 3
    assert row.duration_ms == 13 * 60_000
    assert row.metadata == {"last_transition_reason": "No reason provided"}


def test_a_run_that_waits_says_so_and_stands_in_its_state(records: SqlRunQueries, past: History) -> None:
    row = records.run(past.runs["waiting"])

    assert row is not None
    assert (row.waiting, row.state, row.project, row.ended, row.duration_ms) == (
        True,
        "build",
        "",
        None,
        None,
    )


def test_a_run_that_is_not_there_is_none(records: SqlRunQueries) -> None:
    assert records.run("00000003") is None
    assert records.steps("no such run") == ()
    assert records.artifacts("no such run") == ()
    assert records.content("no such run", 1) is None
    assert records.journal(run="no such run") == ()


def test_ids_are_found_by_how_they_begin_ten_at_most(tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        started = [play.start("", GATE) for _ in range(17)]
        records = SqlRunQueries(play.database)

        assert records.find_ids("0000001") == tuple(started[15:])
        assert records.find_ids("") == tuple(started[:10])
        assert records.find_ids(started[3]) == (started[3],)
        assert records.find_ids("1") == ()
        assert records.find_ids("%") == ()


def test_steps_come_in_order_with_what_they_were_closed_with(records: SqlRunQueries, past: History) -> None:
    steps = records.steps(past.runs["failed"])

    assert [(step.number, step.state, step.agent, step.status) for step in steps] == [
        (1, "reproduce", "debugger", StepStatus.COMPLETED),
        (2, "diagnose", "debugger", StepStatus.COMPLETED),
        (3, "mend", "implementer", StepStatus.COMPLETED),
        (4, "prove", "tester", StepStatus.FAILED),
    ]
    assert steps[1].output is not None
    assert (steps[1].output["summary"], steps[1].duration_ms) == ("Timestamps too coarse", 60_000)
    assert (steps[3].output, steps[3].opened, steps[3].closed) == (
        None,
        datetime(2026, 1, 31, 9, 19, tzinfo=UTC),
        datetime(2026, 1, 31, 9, 20, tzinfo=UTC),
    )
    assert records.steps(past.runs["failed"], 2, 1) == (steps[2],)
    assert records.steps(past.runs["running"])[-1].closed is None


def test_artifacts_come_in_order_without_their_text_and_the_text_alone(
    records: SqlRunQueries, past: History
) -> None:
    artifacts = records.artifacts(past.runs["completed"])

    assert [(one.number, one.type, one.title, one.step, one.size, one.final) for one in artifacts] == [
        (1, "reproduction", "Save twice", "reproduce", 27, True),
        (2, "diagnosis", "Timestamps too coarse", "diagnose", 34, True),
        (3, "patch", "Compare hashes", "mend", 38, True),
        (4, "review", "Seen to fail and to pass", "prove", 23, True),
        (5, "synthesis", "Seen to fail and to pass", "prove", 820, True),
    ]
    assert records.artifacts(past.runs["completed"], 1, 1) == (artifacts[1],)
    assert records.content(past.runs["completed"], 4) == "2 runs without, 2 with\n"
    assert records.content(past.runs["completed"], 6) is None
    assert not any(one.final for one in records.artifacts(past.runs["failed"]))


def test_the_size_of_an_artifact_is_that_of_its_bytes(tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        run = play.start("", GATE)
        text = "é\u0000x"
        row = (1, 1, "a", "build", "builder", "t", "T", "2026-01-31 09:00:00.000", text)
        with play.database.transaction() as execute:
            execute(
                "INSERT INTO artifacts (run, number, artifact_id, step_name, agent_name, artifact_type,"
                " title, created_at, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        records = SqlRunQueries(play.database)

        assert records.artifacts(run)[0].size == 4
        assert records.content(run, 1) == text


def test_the_journal_is_that_of_one_run_or_of_all(records: SqlRunQueries, past: History) -> None:
    own = records.journal(run=past.runs["abandoned"])
    whole = records.journal(most=1000)

    assert [written.entry.kind for written in own] == [
        EntryKind.WORKFLOW_CREATED,
        EntryKind.STEP_STARTED,
        EntryKind.TOKEN_GENERATED,
        EntryKind.WORKFLOW_STATE_TRANSITION,
        EntryKind.WORKFLOW_STATE_TRANSITION,
    ]
    assert [written.revision for written in own] == [1, 1, 1, 1, 2]
    assert own[-1].entry.data["reason"] == "nobody cares"
    assert records.journal(own[1].number, 1, past.runs["abandoned"]) == (own[2],)
    assert [written.number for written in whole] == list(range(1, len(whole) + 1))
    assert tuple(written for written in whole if written.run == past.runs["abandoned"]) == own
    assert records.journal(10, 2) == whole[10:12]


def test_an_entry_about_no_run_has_no_run(tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        play.send("00000000-0000-4000-8000-000000000000", "pause")
        (written,) = SqlRunQueries(play.database).journal()

    assert (written.run, written.entry.data["error_type"]) == ("", RefusalCode.UNKNOWN_RUN)


def test_the_pulse_beats_when_another_connection_commits_and_only_then(tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        before = play.database.data_version()

        assert play.database.data_version() == before
        play.start("", GATE)
        assert play.database.data_version() != before


def test_no_question_reads_all_steps_artifacts_or_events(past: History) -> None:
    database = close_later(SqliteDatabase(past.path))
    sql = load_queries("questions.sql")
    asked = {
        "wanted": (
            f"{sql['run_columns']}\n{sql['wanted']}",
            ("x", "p", "f", "w", '["idle"]', "%t%", "1", "2", 9, "[1]", "a", 9),
        ),
        "under_way": (sql["under_way"], ()),
        "under_way_in": (sql["under_way_in"], ("[1]",)),
        "reached": (sql["reached"], ("x", 9)),
        "reached_in": (sql["reached_in"], ("x", 9, "[1]")),
        "needing": (f"{sql['run_columns']}\n{sql['needing']}", ("1", "1", 9, 9, "[1]")),
        "one": (f"{sql['run_columns']}\n{sql['one']}", ("x",)),
        "named": (sql["named"], ("x", 9, "[1]")),
        "steps": (sql["steps"], ("x", 0, 9)),
        "last_done": (sql["last_done"], ("x", 9)),
        "artifacts": (sql["artifacts"], ("x", 0, 9)),
        "content": (sql["content"], ("x", 1)),
        "journal_of": (sql["journal_of"], ("x", 0, 9)),
        "journal": (sql["journal"], (0, 9, "[1]", 9)),
    }
    plans = {
        name: [row[3] for row in database.reader().execute(f"EXPLAIN QUERY PLAN {statement}", given)]
        for name, (statement, given) in asked.items()
    }

    lines = [line for plan in plans.values() for line in plan if "json_each" not in line]
    assert len(lines) > 10
    costly = {line for line in lines if line.startswith("SCAN") or "TEMP B-TREE" in line}
    assert costly == {
        "SCAN n",
        "SCAN runs USING INDEX runs_live",
        "SCAN runs USING COVERING INDEX runs_live",
        "USE TEMP B-TREE FOR GROUP BY",
        "USE TEMP B-TREE FOR ORDER BY",
    }


@pytest.mark.parametrize(
    ("name", "index"), [("refusals_of", "events_refused"), ("remarks_of", "events_remarks")]
)
def test_the_few_entries_that_every_look_asks_for_have_an_index(past: History, name: str, index: str) -> None:
    database = close_later(SqliteDatabase(past.path))
    statement = load_queries("questions.sql")[name]
    plan = database.reader().execute(f"EXPLAIN QUERY PLAN {statement}", ("x", 9)).fetchone()

    assert plan[3] == f"SEARCH events USING INDEX {index} (run=?)"


def test_questions_are_asked_on_a_connection_that_cannot_write(records: SqlRunQueries) -> None:
    assert isinstance(records.database, SqliteDatabase)
    assert records.database.reader().execute("PRAGMA query_only").fetchone() == (1,)
