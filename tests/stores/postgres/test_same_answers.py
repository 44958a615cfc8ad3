"""The same past in SQLite and in PostgreSQL: whatever is asked, both answer alike, and both keep house alike.

What SQLite answers is held against typed values elsewhere.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TypeVar

import pytest

from handrail.engine.facts import Value
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import Actor, Lifecycle
from handrail.runtime.comments import write_comment
from handrail.runtime.ports.queries import (
    AllFinalArtifacts,
    ArtifactFilter,
    ArtifactsOfRun,
    ArtifactsOfStep,
    ArtifactsOfType,
    FinalArtifactsOfProject,
    FinalArtifactsOfRun,
    RecentArtifacts,
    RunFilter,
)
from handrail.runtime.records import Caller, project_id
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.maintenance import SqlMaintenance
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.pg_runs import PgRuns
from handrail.stores.sql.queries import SqlRunQueries
from handrail.stores.sql.runs import BaseSqlRuns, SqliteRuns
from handrail.stores.sql.schema import SqlDatabase
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.stores.sql.summaries import SqlMeasures
from helpers.history import GATE, GATED, PLAIN, PROJECT, WAITS, ignore_text, play_lifecycles, read_archive
from helpers.postgres import join_run_server
from tools.sample_store import Playing

Answer = TypeVar("Answer")
ALL = 1000
LATER = datetime(2026, 3, 1, tzinfo=UTC)
EARLY = datetime(2026, 1, 31, 9, 20, tzinfo=UTC)
HOSTILE = "100%_sure \\ 'quoted' Ünïcödé \N{GRINNING FACE}"


@dataclass(frozen=True, slots=True)
class Twin:
    """A store with a past."""

    tables: SqlDatabase
    runs: BaseSqlRuns
    play: Playing
    ids: dict[str, str]

    @property
    def records(self) -> SqlRunQueries:
        return SqlRunQueries(self.tables)


def _lived(tables: SqlDatabase, runs: BaseSqlRuns) -> Twin:
    play = Playing(runs, GATED, WAITS)
    ids = play_lifecycles(play)
    ids["hostile"] = play.start(HOSTILE, GATE, project="/home/ada/other", face="spells")
    made = {"type": HOSTILE, "title": HOSTILE, "content": "é" * 3000}
    play.send(ids["hostile"], CONTINUE, {**PLAIN, "artifacts": [made, made]})
    assert write_comment(play.world, ids["hostile"], HOSTILE, Caller(Actor.PERSON, HOSTILE)) is None
    play.send(ids["hostile"], "nonsense")
    assert write_comment(play.world, ids["hostile"], "Again", Caller(Actor.PERSON)) is None
    play.send("nobody", "nonsense")
    return Twin(tables, runs, play, ids)


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Twin, Twin]]:
    file = SqliteDatabase(tmp_path_factory.mktemp("twins") / "store" / "handrail.db")
    url = join_run_server().create_database()
    server = PgDatabase(DatabaseUrl(url))
    yield _lived(file, SqliteRuns(file)), _lived(server, PgRuns(server))
    file.close()
    server.close()
    join_run_server().drop(url)


def _alike(twins: tuple[Twin, Twin], ask: Callable[[Twin], Answer]) -> Answer:
    one, other = map(ask, twins)
    assert other == one
    return one


WANTED = [
    RunFilter(),
    RunFilter(project=PROJECT),
    RunFilter(project="editor"),
    RunFilter(face="spells"),
    RunFilter(workflow="gate"),
    RunFilter(lifecycles=(Lifecycle.COMPLETED, Lifecycle.FAILED)),
    RunFilter(text="TO BE"),
    RunFilter(text="%_SURE \\"),
    RunFilter(text="%"),
    RunFilter(text="ünïcödé"),
    RunFilter(since=EARLY),
    RunFilter(until=EARLY),
    RunFilter(agent="ada"),
    RunFilter(agent="builder"),
    RunFilter(reach=3),
    RunFilter(project=PROJECT, reach=4),
    RunFilter(
        project=PROJECT, lifecycles=(Lifecycle.RUNNING,), text="running", since=EARLY - timedelta(days=1)
    ),
]


@pytest.mark.parametrize("wanted", WANTED)
def test_runs_are_found_alike(twins: tuple[Twin, Twin], wanted: RunFilter) -> None:
    found = _alike(twins, lambda twin: twin.records.runs(wanted))
    assert _alike(twins, lambda twin: twin.records.runs(wanted, most=2)) == found[:2]


def test_pages_begin_behind_a_run(twins: tuple[Twin, Twin]) -> None:
    found = _alike(twins, lambda twin: twin.records.runs(RunFilter(), after=twin.ids["failed"]))
    assert len(found) == 3
    assert _alike(twins, lambda twin: twin.records.runs(RunFilter(), after="nobody")) == ()


QUESTIONS: dict[str, Callable[[SqlRunQueries, str], object]] = {
    "run": lambda records, run: records.run(run),
    "named": lambda records, run: records.find_ids(run[:6]),
    "steps": lambda records, run: (records.steps(run), records.steps(run, 1, 1)),
    "last done": lambda records, run: records.last_completed_steps(run, 2),
    "open steps": lambda records, run: records.open_steps(run),
    "artifacts": lambda records, run: (records.artifacts(run), records.artifacts(run, 1, 1)),
    "content": lambda records, run: (records.content(run, 1), records.content(run, 9)),
    "types": lambda records, run: (records.artifact_types(run), records.artifact_types()),
    "live": lambda records, run: (
        records.list_active_ids([PROJECT]),
        records.list_active_ids([PROJECT, "/no"], run[:4]),
    ),
    "completed": lambda records, _: records.list_completed_ids(),
    "project": lambda records, _: (records.project(project_id(PROJECT)), records.project("none")),
    "journal": lambda records, run: (records.journal(most=ALL), records.journal(5, 7, run)),
    "needing": lambda records, _: (
        records.list_needing_attention(LATER, EARLY),
        records.list_needing_attention(EARLY, LATER, 2),
    ),
    "under way": lambda records, _: records.count_active(),
    "further": lambda records, run: (records.find_last_in_reach(3), records.find_last_in_reach(2, run)),
    "last": lambda records, _: records.last_entry_number(),
    "refusals": lambda records, run: records.refusals(run),
    "remarks": lambda records, run: (records.comment_entries(run), records.comment_entries(run, 1)),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("within", [None, (), (PROJECT,), ("/home/ada/other", PROJECT)])
def test_every_question_is_answered_alike(
    twins: tuple[Twin, Twin], question: str, within: tuple[str, ...] | None
) -> None:
    ask = QUESTIONS[question]

    def answers(twin: Twin) -> list[object]:
        records = SqlRunQueries(twin.tables, None if within is None else lambda: within or ())
        return [ask(records, run) for run in (*twin.ids.values(), "nobody")]

    _alike(twins, answers)


@pytest.mark.parametrize(
    "choice",
    [
        ArtifactsOfRun("00000003-0000-4000-8000-000000000000"),
        ArtifactsOfStep("00000003-0000-4000-8000-000000000000", "diagnose"),
        ArtifactsOfType("patch"),
        ArtifactsOfType(HOSTILE),
        RecentArtifacts(),
        AllFinalArtifacts(),
        FinalArtifactsOfRun("00000003-0000-4000-8000-000000000000"),
        FinalArtifactsOfProject(project_id(PROJECT)),
    ],
)
def test_excerpts_are_alike(twins: tuple[Twin, Twin], choice: ArtifactFilter) -> None:
    _alike(twins, lambda twin: twin.records.excerpts(choice))
    _alike(twins, lambda twin: twin.records.excerpts(choice, most=2, skip=1))
    _alike(twins, lambda twin: SqlRunQueries(twin.tables, lambda: [PROJECT]).excerpts(choice))


def test_a_moment_stays_one_while_others_write(twins: tuple[Twin, Twin]) -> None:
    def seen(twin: Twin) -> tuple[int, int]:
        with twin.records.snapshot():
            before = len(twin.records.journal(most=ALL, run=twin.ids["waiting"]))
            writer = Thread(target=twin.play.send, args=(twin.ids["waiting"], "nonsense"))
            writer.start()
            writer.join()
            within = len(twin.records.journal(most=ALL, run=twin.ids["waiting"]))
        return within - before, len(twin.records.journal(most=ALL, run=twin.ids["waiting"])) - before

    assert _alike(twins, seen) == (0, 1)


def test_what_is_written_inside_a_moment_is_written_and_not_seen_in_it(twins: tuple[Twin, Twin]) -> None:
    def seen(twin: Twin) -> tuple[int, int]:
        run = twin.ids["waiting"]
        before = len(twin.records.journal(most=ALL, run=run))
        with twin.records.snapshot():
            twin.records.run(run)
            twin.play.send(run, "nonsense")
            within = len(twin.records.journal(most=ALL, run=run))
        return within - before, len(twin.records.journal(most=ALL, run=run)) - before

    assert _alike(twins, seen) == (0, 1)


def _sums(twin: Twin) -> dict[str, object]:
    found = SqlMeasures(twin.tables)
    return {
        "runs": found.runs(),
        "steps": found.steps(),
        "days": (found.days(EARLY), found.days(EARLY - timedelta(days=3))),
        "hours": found.hours(EARLY),
        "kinds": (found.kinds(), found.kinds(EARLY)),
        "errors": (found.errors(), found.errors(EARLY)),
        "states": found.states(),
        "run times": found.run_times(),
        "step times": found.step_times(),
    }


def test_sums_are_alike_before_and_after_they_are_folded(twins: tuple[Twin, Twin]) -> None:
    before = _alike(twins, _sums)
    folded = _alike(twins, lambda twin: SqlMeasures(twin.tables, batch=10).fold())
    assert folded > 50
    assert _alike(twins, _sums) == before


def test_what_is_kept_of_a_run_is_exported_alike(twins: tuple[Twin, Twin]) -> None:
    _alike(
        twins,
        lambda twin: [SqlMaintenance(twin.tables).export(run) for run in (*twin.ids.values(), "nobody")],
    )


def test_nothing_is_damaged(twins: tuple[Twin, Twin]) -> None:
    assert _alike(twins, lambda twin: list(SqlMaintenance(twin.tables).check())) == []


def test_old_runs_are_pruned_alike_and_the_sums_stay(tmp_path: Path) -> None:
    with join_run_server().lend_database() as url:
        file, server = SqliteDatabase(tmp_path / "store" / "handrail.db"), PgDatabase(DatabaseUrl(url))
        twins = _lived(file, SqliteRuns(file)), _lived(server, PgRuns(server))
        before = _alike(twins, _sums)

        def pruned(twin: Twin) -> list[Value]:
            keeper = SqlMaintenance(twin.tables, batch=2)
            assert keeper.count_old_runs(LATER) == 4
            name = f"{type(twin.tables).__name__}.jsonl.gz"
            made = keeper.prune(LATER, tmp_path / name, ignore_text)
            assert list(keeper.check()) == []
            return [
                *read_archive(made.archive)[1:],
                made.archived.runs,
                made.kept,
                keeper.count_old_runs(LATER),
            ]

        _alike(twins, pruned)
        assert _alike(twins, lambda twin: _sums(twin)["runs"]) == before["runs"]
        _alike(twins, lambda twin: twin.records.runs(RunFilter()))
        grown = [SqlMaintenance(twin.tables).vacuum()[1] > 0 for twin in twins]
        assert grown == [True, True]
        file.close()
        server.close()


def _quiet(lifecycle: Lifecycle, since: datetime, twin: Twin) -> list[str]:
    return sorted(twin.runs.list_quiet_runs(lifecycle, since))


def test_runs_gone_quiet_are_found_alike(twins: tuple[Twin, Twin]) -> None:
    for lifecycle in (Lifecycle.RUNNING, Lifecycle.PAUSED):
        for since in (EARLY, LATER):
            _alike(twins, partial(_quiet, lifecycle, since))


def test_the_output_of_a_step_comes_back(twins: tuple[Twin, Twin]) -> None:
    found = _alike(twins, lambda twin: twin.runs.steps(twin.ids["completed"])[0].output)
    assert found is not None
    assert (found["summary"], found["command"]) == ("Save twice", "run-tests save_twice")
