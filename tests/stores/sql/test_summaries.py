"""Summaries: the same as the plain aggregates over all rows, whatever was folded, and when."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from handrail.engine.model import Authority, Event, Lifecycle
from handrail.runtime.entries import EntryKind
from handrail.runtime.measures import DayCount, HourCount, RunCount, StepCount
from handrail.runtime.records import Origin
from handrail.runtime.system import LocalFeed, RandomIds
from handrail.runtime.turn import Call, NewRun, Outcome, Reply, take_turn
from handrail.runtime.world import World
from handrail.stores.sql.rows import format_time
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.sql.schema import load_queries
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.stores.sql.summaries import SqlMeasures
from helpers.workflows import build_output, load_valid_workflow

WORKFLOWS = {
    name: load_valid_workflow(
        f"workflow: {name}\nversion: 1\nauthority: sql\nsteps:\n"
        "  - {name: think, agent: thinker, task: Think}\n"
        "  - {name: make, agent: maker, task: Make, attempts: 2}\n"
    )
    for name in ("little", "other")
}
ERRORS = """
SELECT json_extract(metadata, '$.error_type'), count(*) FROM events
WHERE event_type = 'error_occurred' AND created_at >= ? GROUP BY 1 ORDER BY 2 DESC, 1
"""
BEGAN = datetime(2026, 3, 1, 22, 30, tzinfo=UTC)


class Ticking:
    def __init__(self) -> None:
        self.at = BEGAN

    def now(self) -> datetime:
        return self.at


class Play:
    """A store, and runs of two workflows on it."""

    def __init__(self, folder: Path) -> None:
        self.database = SqliteDatabase(folder / "runs.db")
        self.database.writer_connection().execute("PRAGMA synchronous = OFF")
        self.summaries = SqlMeasures(self.database)
        self.clock = Ticking()
        store = SqliteRuns(self.database)
        self.world = World(
            store,
            self.clock,
            RandomIds(),
            LocalFeed(),
            store.load_token_key(),
            lambda _, name: WORKFLOWS[name],
        )
        self.runs: list[str] = []

    def start(self, name: str) -> None:
        self.runs.append(self.world.ids.new_id())
        new = NewRun(WORKFLOWS[name], Origin("test", Authority.SQL))
        take_turn(self.world, Call(self.runs[-1], Event("start"), new=new), _told)

    def send(self, number: int, trigger: str) -> None:
        if self.runs:
            run = self.runs[number % len(self.runs)]
            event = Event(trigger, build_output() if trigger == "continue" else {}, note="because")
            take_turn(self.world, Call(run, event), _told)

    def prune(self, number: int) -> None:
        """Delete a run with all it has, as a store does that keeps only so much."""
        self.summaries.fold()
        if self.runs:
            run = self.runs.pop(number % len(self.runs))
            with self.database.transaction() as execute:
                (key,) = execute("SELECT k FROM runs WHERE execution_id = ?", (run,)).fetchone()
                last = execute("SELECT max(id) FROM events", ()).fetchone()[0]
                execute("UPDATE events SET run = NULL WHERE run = ? AND id = ?", (key, last))
                for table in ("events", "replies", "artifacts", "steps"):
                    execute(f"DELETE FROM {table} WHERE run = ?", (key,))  # noqa: S608 - names of ours
                execute("DELETE FROM runs WHERE k = ?", (key,))

    def summed(self) -> tuple[set[tuple[object, ...]], ...]:
        since = BEGAN - timedelta(days=1)
        found = self.summaries
        return (
            {(m.workflow, str(m.lifecycle), m.runs, m.duration_ms) for m in found.runs()},
            {(m.day, m.workflow, m.runs) for m in found.days(since)},
            {(m.step, m.agent, m.status, m.steps, m.duration_ms) for m in found.steps()},
            {(m.hour, str(m.kind), m.entries) for m in found.hours(since)},
        )

    def plain(self) -> tuple[set[tuple[object, ...]], ...]:
        asked = (
            "SELECT workflow_name, state, count(*), coalesce(sum(duration_ms), 0) FROM runs GROUP BY 1, 2",
            "SELECT date(started_at), workflow_name, count(*) FROM runs GROUP BY 1, 2",
            "SELECT step_name, agent_name, status, count(*), total(duration_ms) FROM steps GROUP BY 1, 2, 3",
            "SELECT strftime('%Y-%m-%d %H', created_at), event_type, count(*) FROM events GROUP BY 1, 2",
        )
        reader = self.database.reader()
        return tuple(set(reader.execute(statement).fetchall()) for statement in asked)


def _told(outcome: Outcome) -> Reply:
    return {"decision": type(outcome.decision).__name__}


@contextmanager
def play() -> Iterator[Play]:
    with TemporaryDirectory() as folder:
        opened = Play(Path(folder))
        yield opened
        opened.database.close()


TRIGGERS = st.sampled_from(["continue", "continue", "pause", "resume", "fail", "abandon", "diverge", "jump"])
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.sampled_from(sorted(WORKFLOWS))),
        st.tuples(st.just("send"), st.integers(0, 5), TRIGGERS),
        st.tuples(st.just("wait"), st.integers(1, 90)),
        st.tuples(st.just("fold")),
    ),
    min_size=1,
    max_size=30,
)


def do(stage: Play, deed: tuple[object, ...]) -> None:
    match deed:
        case ("start", str(name)):
            stage.start(name)
        case ("send", int(number), str(trigger)):
            stage.send(number, trigger)
        case ("wait", int(minutes)):
            stage.clock.at += timedelta(minutes=minutes)
        case ("prune", int(number)):
            stage.prune(number)
        case _:
            stage.summaries.fold()


@hypothesis_settings(max_examples=60)
@given(DEEDS)
def test_the_sums_are_those_of_the_plain_aggregates_whatever_was_folded_when(
    deeds: list[tuple[object, ...]],
) -> None:
    with play() as stage:
        for deed in deeds:
            do(stage, deed)
        assert stage.summed() == stage.plain()
        stage.summaries.fold()
        assert stage.summed() == stage.plain()


@hypothesis_settings(max_examples=40)
@given(DEEDS, st.integers(-30, 600))
def test_a_window_begins_at_its_very_moment_whatever_was_folded(
    deeds: list[tuple[object, ...]], minutes: int
) -> None:
    since = BEGAN + timedelta(minutes=minutes)
    asked = (
        "SELECT event_type, count(*) FROM events WHERE created_at >= ? GROUP BY 1 ORDER BY 2 DESC, 1",
        "SELECT date(started_at), workflow_name, count(*) FROM runs WHERE started_at >= ? GROUP BY 1, 2",
        ERRORS,
    )
    with play() as stage:
        for deed in deeds:
            do(stage, deed)
        reader, found = stage.database.reader(), stage.summaries
        plain = [reader.execute(statement, (format_time(since),)).fetchall() for statement in asked]
        assert [
            [(str(one.kind), one.entries) for one in found.kinds(since)],
            [(one.day, one.workflow, one.runs) for one in found.days(since)],
            [(one.code, one.entries) for one in found.errors(since)],
        ] == plain
        assert sum(one.entries for one in found.kinds()) == sum(
            one.entries for one in found.hours(BEGAN - timedelta(days=1))
        )


@hypothesis_settings(max_examples=20)
@given(DEEDS, st.integers(0, 5), DEEDS)
def test_what_was_pruned_still_counts(
    before: list[tuple[object, ...]], number: int, after: list[tuple[object, ...]]
) -> None:
    with play() as stage:
        stage.start("little")
        for deed in before:
            do(stage, deed)
        counted = stage.summed()
        stage.prune(number)
        assert stage.summed() == counted
        stage.runs.clear()
        for deed in (("start", "other"), *after):
            do(stage, deed)
        assert sum(one.runs for one in stage.summaries.runs()) == sum(
            one.runs for one in stage.summaries.days(BEGAN - timedelta(days=1))
        )
        assert stage.summed()[0] != counted[0]


def test_two_runs_are_summed_by_hand() -> None:
    with play() as stage:
        stage.start("little")
        stage.start("other")
        stage.clock.at += timedelta(hours=2)
        stage.send(0, "continue")
        stage.summaries.fold()
        stage.send(1, "abandon")
        assert stage.summaries.runs() == (
            RunCount("little", Lifecycle.RUNNING, 1, 0),
            RunCount("other", Lifecycle.ABANDONED, 1, 7_200_000),
        )
        assert stage.summaries.days(datetime(2026, 3, 1, tzinfo=UTC)) == (
            DayCount("2026-03-01", "little", 1),
            DayCount("2026-03-01", "other", 1),
        )
        assert stage.summaries.days(datetime(2026, 3, 2, tzinfo=UTC)) == ()
        assert stage.summaries.steps() == (
            StepCount("make", "maker", "running", 1, 0),
            StepCount("think", "thinker", "completed", 1, 7_200_000),
            StepCount("think", "thinker", "running", 1, 0),
        )
        assert stage.summaries.hours(datetime(2026, 3, 2, 0, 59, tzinfo=UTC)) == (
            HourCount("2026-03-02 00", EntryKind.STEP_COMPLETED, 1),
            HourCount("2026-03-02 00", EntryKind.STEP_STARTED, 1),
            HourCount("2026-03-02 00", EntryKind.TOKEN_GENERATED, 1),
            HourCount("2026-03-02 00", EntryKind.WORKFLOW_STATE_TRANSITION, 1),
        )


def test_a_window_may_begin_on_the_last_day_there_is() -> None:
    with play() as stage:
        stage.start("little")
        late = datetime(9999, 12, 31, 23, 30, tzinfo=UTC)
        found = stage.summaries
        assert (found.days(late), found.kinds(late), found.errors(late)) == ((), (), ())


def test_no_measure_reads_all_entries() -> None:
    sql = load_queries("summaries.sql")
    ever = dict.fromkeys(("runs", "steps", "states", "run_times", "step_times"), ())
    given = {**ever, "days": ("a", "b"), **dict.fromkeys(("kinds", "errors"), ("a", "b", "c"))}
    with play() as stage:
        reader = stage.database.reader()
        plans = [
            row[3]
            for name, values in given.items()
            for row in reader.execute(f"EXPLAIN QUERY PLAN {sql[name]}", values)
        ]
    assert len(plans) > 60
    assert [plan for plan in plans if plan.startswith(("SCAN e", "SCAN r", "SCAN o"))] == []


def test_folding_goes_in_batches_and_tells_how_many() -> None:
    with play() as stage:
        stage.summaries = SqlMeasures(stage.database, batch=3)
        stage.start("little")
        stage.send(0, "continue")
        assert stage.summaries.count_unfolded() == 7
        assert stage.summaries.fold() == 7
        assert (stage.summaries.count_unfolded(), stage.summaries.fold()) == (0, 0)
        assert stage.summed() == stage.plain()


def test_resting_folds_only_when_there_is_much_to_fold() -> None:
    with play() as stage:
        stage.start("little")
        stage.summaries.do_idle_work()
        assert stage.summaries.count_unfolded() == 4
        SqlMeasures(stage.database, fold_after=5).do_idle_work()
        assert stage.summaries.count_unfolded() == 4
        SqlMeasures(stage.database, fold_after=4).do_idle_work()
        assert stage.summaries.count_unfolded() == 0


def test_a_read_never_writes() -> None:
    with play() as stage:
        stage.start("little")
        wal = stage.database.path.with_name("runs.db-wal")
        before = (wal.read_bytes(), stage.summaries.count_unfolded())
        stage.summed()
        assert (wal.read_bytes(), stage.summaries.count_unfolded()) == before
