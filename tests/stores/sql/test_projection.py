"""A run kept elsewhere shows up in the common store; its mirror can be lost or damaged, and made again."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from handrail.engine.model import Authority, Event
from handrail.runtime.entries import EntryKind
from handrail.runtime.records import Origin
from handrail.runtime.turn import Call, NewRun
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.projection import SqlRunMirrors
from handrail.stores.sql.schema import SqlDatabase, load_migrations
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.stores.sql.summaries import SqlMeasures
from helpers.memory_store import MemoryRuns
from helpers.sql_stores import open_sql_runs
from helpers.turns import NOW, TurnHarness, load_pinned

ELSEWHERE = """
workflow: elsewhere
version: 1
authority: files
states:
  one: {about: first}
  two: {about: second}
  end: {terminal: true}
transitions:
  - {id: A, from: one, trigger: go, to: two}
  - {id: B, from: two, trigger: go, to: one}
  - {id: C, from: "*", except: [end], trigger: stop, to: end}
"""

NEWER: Mapping[type[SqlDatabase], tuple[str, str]] = {
    SqliteDatabase: ("PRAGMA user_version = 99", f"PRAGMA user_version = {len(load_migrations())}"),
    PgDatabase: (
        "UPDATE handrail_schema SET version = 99",
        f"UPDATE handrail_schema SET version = {len(load_migrations('postgres/migrations'))}",  # noqa: S608 - of migrations, counted
    ),
}
"""What a newer program would do to the schema, and how it is undone."""


class Elsewhere:
    """A run in a store that is not the common one, mirrored after every turn unless told otherwise."""

    def __init__(self, address: str, authority: Authority) -> None:
        self.database: SqlDatabase = open_sql_runs(address).database
        self.projection = SqlRunMirrors(self.database)
        self.runs = MemoryRuns()
        flow = load_pinned(ELSEWHERE)
        assert flow.workflow is not None
        self.new = NewRun(flow.workflow, Origin("elsewhere", authority, "/projects/one"), flow.definition)
        mirror = partial(self.projection.update, self.runs)
        self.desk = TurnHarness(self.runs, more={"lifetime": None, "mirror": mirror})
        self.clock, self.run = self.desk.clock, self.desk.ids.new_id()

    def say(self, trigger: str) -> None:
        self.desk.call(Call(self.run, Event(trigger), new=self.new))

    def rows(self, query: str) -> list[tuple[object, ...]]:
        with self.database.read() as execute:
            return [tuple(row) for row in execute(query, ()).fetchall()]

    def shown(self) -> list[list[tuple[object, ...]]]:
        """Everything a dashboard can see of the run."""
        return [
            self.rows(
                "SELECT execution_id, workflow_name, state, current_step, started_at, updated_at,"
                " completed_at, duration_ms, revision, face, authority, project_id FROM workflow_executions"
            ),
            self.rows(
                "SELECT number, step_name, status, started_at, completed_at, duration_ms"
                " FROM workflow_steps ORDER BY number"
            ),
            self.rows(
                "SELECT event_type, step_name, metadata, created_at, revision FROM telemetry_events"
                " WHERE execution_id IS NOT NULL ORDER BY id"
            ),
        ]


@pytest.fixture(params=[Authority.FILES, Authority.DESCRIPTION])
def elsewhere(address: str, request: pytest.FixtureRequest) -> Elsewhere:
    return Elsewhere(address, request.param)


def test_every_turn_shows_up_at_once(elsewhere: Elsewhere) -> None:
    elsewhere.say("go")
    elsewhere.clock.move(seconds=5)
    elsewhere.say("go")

    run, steps, events = elsewhere.shown()
    assert run[0][1:5] == ("elsewhere", "running", "one", "2026-03-01 12:00:00.000")
    assert run[0][8:11] == (2, "elsewhere", str(elsewhere.new.origin.authority))
    assert [step[1:3] for step in steps] == [("one", "completed"), ("two", "completed"), ("one", "running")]
    assert [event[0] for event in events if event[0] != EntryKind.TOKEN_GENERATED] == [
        EntryKind.WORKFLOW_CREATED,
        EntryKind.STEP_STARTED,
        EntryKind.STEP_COMPLETED,
        EntryKind.STEP_STARTED,
        EntryKind.WORKFLOW_STATE_TRANSITION,
        EntryKind.STEP_COMPLETED,
        EntryKind.STEP_STARTED,
    ]


def test_a_mirror_that_could_not_be_written_is_caught_up_with_the_next_turn(elsewhere: Elsewhere) -> None:
    elsewhere.say("go")
    newer, known = NEWER[type(elsewhere.database)]
    with elsewhere.database.transaction() as execute:
        execute(newer, ())
    elsewhere.say("go")
    stored = elsewhere.runs.load(elsewhere.run)
    assert stored is not None
    assert stored.revision == 2
    assert elsewhere.shown()[0][0][8] == 1
    elsewhere.database.peek(known, ())

    elsewhere.say("go")

    assert elsewhere.shown()[0][0][8] == 3


def test_catching_up_twice_changes_nothing(elsewhere: Elsewhere) -> None:
    elsewhere.say("go")
    before = elsewhere.shown()

    assert elsewhere.projection.catch_up(elsewhere.runs, elsewhere.run) == 0
    assert elsewhere.shown() == before


def test_the_mirror_of_a_lost_database_is_made_again(elsewhere: Elsewhere, tmp_path: Path) -> None:
    for word in ("go", "go", "nonsense", "stop"):
        elsewhere.say(word)
        elsewhere.clock.move(seconds=1)
    before = elsewhere.shown()
    (tmp_path / "new").mkdir(mode=0o700)
    elsewhere.database = open_sql_runs(str(tmp_path / "new" / "handrail.db")).database
    again = SqlRunMirrors(elsewhere.database)

    assert again.rebuild(elsewhere.runs, elsewhere.run) > 0

    assert elsewhere.shown() == before


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM events WHERE id = 3",
        "UPDATE events SET metadata = '{}' WHERE event_type = 'step_completed'",
        "UPDATE events SET revision = 7 WHERE id = 3",
        """INSERT INTO events (event_type, run, revision, metadata, created_at)
        SELECT 'step_started', k, 0, '{}', updated_at FROM runs""",
    ],
)
def test_a_damaged_mirror_is_made_again_and_a_sound_one_is_kept(elsewhere: Elsewhere, damage: str) -> None:
    elsewhere.say("go")
    elsewhere.say("go")
    before, last = elsewhere.shown(), elsewhere.rows("SELECT max(id) FROM events")
    assert elsewhere.projection.rebuild(elsewhere.runs, elsewhere.run) == 0
    assert elsewhere.rows("SELECT max(id) FROM events") == last
    with elsewhere.database.transaction() as execute:
        execute(damage, ())

    assert elsewhere.projection.rebuild(elsewhere.runs, elsewhere.run) > 0

    assert elsewhere.shown() == before


@pytest.mark.parametrize("folded", [True, False])
def test_a_mirror_that_is_made_again_is_counted_once(elsewhere: Elsewhere, *, folded: bool) -> None:
    summaries = SqlMeasures(elsewhere.database)
    elsewhere.say("go")
    elsewhere.say("nonsense")
    elsewhere.say("go")
    before = _counted(summaries)
    if folded:
        summaries.fold()
    with elsewhere.database.transaction() as execute:
        execute("UPDATE events SET agent_name = 'x' WHERE event_type = 'token_generated'", ())

    assert elsewhere.projection.rebuild(elsewhere.runs, elsewhere.run) > 0

    assert _counted(summaries) == before
    summaries.fold()
    assert _counted(summaries) == before


def _counted(found: SqlMeasures) -> tuple[object, ...]:
    sums = (found.runs(), found.steps(), found.days(NOW), found.errors())
    return (*sums, found.states(), found.run_times(), found.step_times())


def test_numbers_of_entries_are_never_used_again(elsewhere: Elsewhere) -> None:
    elsewhere.say("go")
    (last,) = elsewhere.rows("SELECT max(id) FROM events")[0]
    with elsewhere.database.transaction() as execute:
        execute("DELETE FROM events WHERE id = (SELECT max(id) FROM events)", ())
    elsewhere.projection.rebuild(elsewhere.runs, elsewhere.run)

    (lowest,) = elsewhere.rows("SELECT min(id) FROM events")[0]
    assert isinstance(lowest, int)
    assert lowest >= int(str(last))


def test_a_run_that_is_nowhere_has_no_mirror(elsewhere: Elsewhere) -> None:
    assert elsewhere.projection.catch_up(elsewhere.runs, "nobody") == 0
    assert elsewhere.shown() == [[], [], []]
