"""One call, one commit, one confirmation by the disk; and nothing in a row but what the call was about."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from handrail.engine.model import Event, Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.journal import get_run_after
from handrail.runtime.records import Artifact, ChangedContent
from handrail.runtime.tokens import hash_token
from handrail.stores.sql import rows
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import close_later
from helpers.requirement import requirement
from helpers.sql_rows import TABLES, list_changed_tables, read_all_rows
from helpers.store_programs import break_database_disk
from helpers.stores import (
    DEFINITION,
    DIGEST,
    OTHER,
    RUN,
    build_first_turn,
    build_last_turn,
    build_next_turn,
    save_turns,
)
from helpers.turns import ENDLESS, NOW, TurnHarness, load_pinned


class Commits:
    """Counts what another connection sees come, and what the writer is told to do."""

    def __init__(self, runs: SqliteRuns) -> None:
        self._other = close_later(sqlite3.connect(runs.database.path))
        self._log = runs.database.path.with_name("handrail.db-wal")
        self.said: list[str] = []
        runs.database.writer_connection().set_trace_callback(self.said.append)

    def of(self, call: Callable[[], object]) -> int:
        """How many commits the call makes; what it begins it ends, and the log grows only by a commit."""
        self.said.clear()
        version, size = self._version(), self._log.stat().st_size
        call()
        commits = self.said.count("COMMIT")
        assert self.said.count("BEGIN IMMEDIATE") == commits + self.said.count("ROLLBACK")
        assert (self._version() != version) == (commits == 1), self.said
        assert commits or self._log.stat().st_size == size
        return commits

    def _version(self) -> int:
        found: int = self._other.execute("PRAGMA data_version").fetchone()[0]
        return found

    def close(self) -> None:
        self._other.close()


@pytest.fixture
def commits(runs: SqliteRuns) -> Iterator[Commits]:
    counting = Commits(runs)
    yield counting
    counting.close()


@requirement("steps:db.tx")
def test_whatever_a_call_does_it_does_in_one_commit(runs: SqliteRuns, commits: Commits) -> None:
    harness = TurnHarness(runs)
    answer: dict[str, Any] = {}

    def kept(call: Callable[[], dict[str, Any]]) -> Callable[[], None]:
        return lambda: answer.update(call())

    assert commits.of(kept(harness.start)) == 1
    run, first = answer["run"], answer["token"]
    assert commits.of(kept(lambda: harness.continue_run(run, answer["token"]))) == 1
    assert commits.of(lambda: harness.send(run, "nope")) == 1
    assert commits.of(lambda: harness.continue_run("nobody", "")) == 1
    assert commits.of(lambda: harness.recover("nobody")) == 1
    assert commits.of(lambda: harness.continue_run(run, "no token")) == 1
    assert commits.of(lambda: harness.continue_run(run, first, summary="Other.")) == 1
    assert commits.of(kept(lambda: harness.recover(run))) == 1
    harness.clock.move(minutes=11)
    assert commits.of(kept(lambda: harness.continue_run(run, answer["token"]))) == 1
    assert answer["code"] == RefusalCode.EXPIRED
    assert commits.of(kept(lambda: harness.send(run, Event("pause")))) == 1


@requirement("steps:token.retry")
def test_a_repeated_call_and_a_question_commit_nothing(runs: SqliteRuns, commits: Commits) -> None:
    harness = TurnHarness(runs)
    token = harness.start()["token"]
    run = str(harness.outcomes[-1].stored.run.id if harness.outcomes[-1].stored else "")
    first = harness.continue_run(run, token)
    before = read_all_rows(runs)

    def ask() -> None:
        runs.load(run)
        runs.entries(run)
        runs.find_recorded_call(run, 1)
        runs.definition(DIGEST)
        runs.load_token_key()

    assert commits.of(ask) == 0
    assert commits.of(lambda: harness.continue_run(run, token)) == 0
    assert harness.continue_run(run, token) == first
    assert list_changed_tables(before, read_all_rows(runs)) == []


@requirement("steps:db.tx")
def test_a_turn_is_confirmed_by_the_disk_exactly_once_and_turns_taken_together_once_for_all(
    tmp_path: Path,
) -> None:
    found = break_database_disk("fsyncs", tmp_path)

    assert found["wrong"] == []
    assert found["told"] == ["3 turns, 3 fsyncs", "3 together, 0 fsyncs yet", "then 1"]


@requirement("steps:tel.errors")
def test_a_refusal_leaves_an_event_and_nothing_else(runs: SqliteRuns) -> None:
    harness = TurnHarness(runs)
    run = harness.start()["run"]
    before = read_all_rows(runs)
    assert harness.send(run, "nope")["code"] == RefusalCode.NO_ROW
    assert harness.send("nobody", "go")["code"] == RefusalCode.UNKNOWN_RUN

    after = read_all_rows(runs)
    assert list_changed_tables(before, after) == ["events"]
    added = after["events"][len(before["events"]) :]
    assert [(row[1], row[3], row[6]) for row in added] == [
        (EntryKind.ERROR_OCCURRED, 0, '{"error_type":"no_row","rule":"draft","trigger":"nope","by":"agent"}'),
        (
            EntryKind.ERROR_OCCURRED,
            0,
            '{"error_type":"unknown_run","rule":"run","trigger":"go","by":"agent"}',
        ),
    ]


@pytest.mark.parametrize("table", ["steps", "artifacts", "events", "replies", "definitions"])
def test_a_turn_that_cannot_be_saved_whole_is_not_saved_at_all(runs: SqliteRuns, table: str) -> None:
    stored = save_turns(runs, 1)
    writer = runs.database.writer_connection()
    writer.execute(
        f"CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.{table} BEGIN SELECT raise(ABORT, 'no'); END"
    )
    before = read_all_rows(runs)
    text = replace(DEFINITION, digest="e" * 64)
    turn = build_next_turn(stored, definition=text, artifacts=(Artifact("a", "draft", "w", "t", "T", "c"),))

    with pytest.raises(sqlite3.IntegrityError, match="no"):
        runs.commit(turn)
    assert list_changed_tables(before, read_all_rows(runs)) == []
    writer.execute("DROP TRIGGER refuse")
    assert runs.commit(turn)


@requirement("steps:life.cleanup")
@pytest.mark.parametrize(
    ("lifecycle", "final"), [(Lifecycle.COMPLETED, 1), (Lifecycle.FAILED, 0), (Lifecycle.ABANDONED, 0)]
)
def test_the_project_of_a_run_knows_it_until_it_ends(
    runs: SqliteRuns, lifecycle: Lifecycle, final: int
) -> None:
    ask = runs.database.reader().execute
    active = "SELECT name, root, active_task_id FROM projects"
    stored = save_turns(runs, 1)
    assert ask(active).fetchall() == [("paper", "/home/ann/paper", RUN)]

    turn = build_last_turn(stored, lifecycle, artifacts=(Artifact("a", "draft", "w", "t", "T", "c"),))
    assert runs.commit(turn)
    assert ask(active).fetchall() == [("paper", "/home/ann/paper", None)]
    assert ask("SELECT is_final FROM workflow_artifacts").fetchall() == [(final,)]


@requirement("steps:token.form")
def test_only_an_open_step_has_a_token_and_only_its_hash_is_in_its_row(runs: SqliteRuns) -> None:
    harness = TurnHarness(runs)
    first = harness.start()
    second = harness.continue_run(first["run"], first["token"])

    ask = runs.database.reader().execute
    found = ask("SELECT step_name, token FROM workflow_steps ORDER BY number").fetchall()
    assert found == [("draft", None), ("review", hash_token(second["token"]))]


def test_the_end_of_an_older_run_leaves_a_newer_one_active(runs: SqliteRuns) -> None:
    stored = save_turns(runs, 1)
    save_turns(runs, 1, OTHER)
    assert runs.commit(build_last_turn(stored))

    ask = runs.database.reader().execute
    assert ask("SELECT active_task_id FROM projects").fetchall() == [(OTHER,)]


def test_the_log_is_put_into_the_file_after_many_commits_and_not_before(runs: SqliteRuns) -> None:
    said: list[str] = []
    runs.database.writer_connection().set_trace_callback(said.append)
    stored = save_turns(runs, 62)
    runs.database.do_idle_work()
    assert [line for line in said if "checkpoint" in line] == []
    runs.note("", NOW, ())
    runs.database.do_idle_work()
    runs.database.do_idle_work()

    assert len([line for line in said if "checkpoint" in line]) == 1
    assert runs.load(RUN) == stored


def test_of_many_processes_only_that_of_the_last_commit_puts_the_log_into_the_file(runs: SqliteRuns) -> None:
    both = (runs, SqliteRuns(SqliteDatabase(runs.database.path)))
    said: list[list[str]] = [[], []]
    for one, heard in zip(both, said, strict=True):
        one.database.writer_connection().set_trace_callback(heard.append)
    for number in range(127):
        both[number % 2].note("", NOW, ())
        for one in both:
            one.database.do_idle_work()

    assert [sum("checkpoint" in line for line in heard) for heard in said] == [2, 0]
    both[1].database.close()


def test_what_the_file_of_the_count_holds_does_not_matter(runs: SqliteRuns) -> None:
    runs.database.path.with_name("handrail.db.service").write_bytes(b"\xff" * 4)
    for _ in range(64):
        runs.note("", NOW, ())
    said: list[str] = []
    runs.database.writer_connection().set_trace_callback(said.append)
    runs.database.do_idle_work()

    assert len([line for line in said if "checkpoint" in line]) == 1


def recomputed(events: Sequence[tuple[Any, ...]]) -> bytes:
    """The chain of a run, from its events as they stand: kind, revision, step, agent, data, time."""
    chain = b""
    for revision in range(1, max(event[1] for event in events) + 1):
        chain = rows.extend_chain(chain, [event for event in events if event[1] == revision])
    return chain


def _events(runs: SqliteRuns) -> list[tuple[Any, ...]]:
    return (
        runs.database.reader()
        .execute("SELECT event_type, revision, step_name, agent_name, metadata, created_at FROM events")
        .fetchall()
    )


def test_the_chain_is_that_of_the_events_and_misses_any_that_is_changed(runs: SqliteRuns) -> None:
    harness = TurnHarness(runs)
    run = harness.start(load_pinned(ENDLESS))["run"]
    for event in ("go", "go", "nope", "wait", "go"):
        harness.clock.move(seconds=1)
        harness.send(run, event)
    (chain,) = runs.database.reader().execute("SELECT chain FROM runs").fetchone()
    events = _events(runs)
    assert recomputed(events) == chain

    taken = [number for number, event in enumerate(events) if event[1] > 0]
    assert len(taken) == 15
    for number in taken:
        assert recomputed(events[:number] + events[number + 1 :]) != chain
        for place, other in enumerate(
            (EntryKind.STEP_FAILED, 7, "x", "x", '{"a":1}', "2020-01-01 00:00:00.000")
        ):
            altered = (*events[number][:place], other, *events[number][place + 1 :])
            assert recomputed([*events[:number], altered, *events[number + 1 :]]) != chain
    for first, second in pairwise(taken):
        swapped = list(events)
        swapped[first], swapped[second] = events[second], events[first]
        assert (recomputed(swapped) != chain) is (events[first][1] == events[second][1])


CORPUS = (
    "' OR '1'='1",
    "'; DROP TABLE runs; --",
    '" OR ""="',
    "1; DELETE FROM events",
    "' UNION SELECT name, sql, 1, 1 FROM sqlite_schema --",
    "%' ESCAPE '\\",
    "?1",
    ":run",
    "\\'; UPDATE runs SET state='completed'; --",
    "x') ON CONFLICT DO UPDATE SET value = 1 --",
    "/**/OR/**/1=1",
    "a\0'; DROP TABLE steps; --",
)


@pytest.mark.parametrize("text", CORPUS)
def test_a_text_that_looks_like_sql_is_only_a_text(runs: SqliteRuns, text: str) -> None:
    save_turns(runs, 2)
    before = read_all_rows(runs)
    entry = Entry(EntryKind.STEP_STAYED, text, text, {text: text})

    assert (runs.load(text), runs.find_recorded_call(text, 1), runs.entries(text)) == (None, None, ())
    assert runs.definition(text) is None
    runs.touch(text, NOW)
    assert (
        runs.renew_tokens(
            replace(get_run_after(build_first_turn(text)), revision=1), {1: text}, NOW, (entry,)
        )
        is False
    )
    assert list_changed_tables(before, read_all_rows(runs)) == []

    runs.note(text, NOW, (entry,))
    stored = build_first_turn(text).before
    origin = replace(stored.origin, project=text, goal=text, principal=text, parent=text, face=text)
    turn = build_first_turn(
        text,
        before=replace(stored, origin=origin),
        entries=(entry,),
        artifacts=(Artifact(text, text, text, text, text, text, text),),
        tokens={1: text},
    )
    assert runs.commit(turn)
    assert runs.load(text) == get_run_after(turn)
    after = read_all_rows(runs)
    assert {name: after[name][: len(before[name])] for name in before} == before
    assert [len(after[name]) - len(before[name]) for name in TABLES] == [0, 0, 1, 1, 1, 1, 2, 1]


@pytest.mark.parametrize(
    "effect", [{"describes": "a text"}, {"finals": (ChangedContent("plan.md", None, b"x"),)}]
)
def test_a_turn_that_acts_on_what_a_database_does_not_have_is_not_acknowledged(
    runs: SqliteRuns, effect: dict[str, Any]
) -> None:
    before = read_all_rows(runs)

    with pytest.raises(ValueError, match="its store does not"):
        runs.commit(build_first_turn(**effect))

    assert list_changed_tables(before, read_all_rows(runs)) == []
