"""Stores to be copied, and what is in them: every row of every table, asked without a line of ours."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import psycopg

from handrail.app.stores import copy_store, open_store
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import Event
from handrail.runtime.ports.access import AccessScope, AccessToken, Grant, RegisteredProject
from handrail.runtime.ports.open_store import CopyResult, Damage, ProgressCountCallback
from handrail.runtime.records import Caller
from handrail.runtime.store_address import DatabaseUrl, StoreLocation
from handrail.runtime.system import LocalFeed
from handrail.runtime.turn import Call, Outcome, Reply, take_turn
from handrail.runtime.world import World, build_workflow_lookup
from handrail.stores.sql.access import SqlAccessTokens, SqlProjectRegistry
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.pg_runs import PgRuns
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.stores.sql.summaries import SqlMeasures
from helpers.history import create_history, open_sample_store
from tools.sample_store import OUTPUTS, CountedIds, SetClock

NOON: Final = datetime(2026, 1, 31, 12, tzinfo=UTC)
Rows = dict[str, list[tuple[Any, ...]]]
Place = Callable[[str], StoreLocation]
"""A place for a store of this kind, where none is yet."""


@dataclass(frozen=True, slots=True)
class FullStore:
    """A store with something in every table; a run that is open, and the token that its agent holds."""

    path: Path
    run: str
    token: str


def create_full_store(path: Path) -> FullStore:
    create_history(path)
    with open_sample_store(path) as play:
        assert isinstance(play.world.ids, CountedIds)
        play.clock.at, play.world.ids.given = NOON, 100
        grant = Grant("ada", frozenset({AccessScope.READ}), frozenset({"shop"}))
        SqlAccessTokens(play.database).add_token(b"d" * 32, AccessToken("abc", grant, NOON))
        SqlProjectRegistry(play.database).add(RegisteredProject("shop", "/srv/shop", NOON))
        SqlMeasures(play.database).fold()
        run = play.start("To go on", project="/home/ada/writer")
        play.walk(run, 1)
        return FullStore(path, run, play.tokens[run])


def run_copy(
    source: StoreLocation, target: StoreLocation, answer: ProgressCountCallback = lambda *_: None
) -> CopyResult:
    return copy_store(source, target, answer)


class CopyStopped(Exception):  # noqa: N818 - somebody does it
    pass


def stop_at_report(at: int) -> ProgressCountCallback:
    """Stops the copy when it tells of itself for the k-th time."""
    answer = iter(range(1, 1000))

    def stop(*_: object) -> None:
        if next(answer) == at:
            raise CopyStopped

    return stop


def stop_copy(source: StoreLocation, target: StoreLocation, at: int = 3) -> None:
    """Leave an unfinished copy."""
    with suppress(CopyStopped):
        run_copy(source, target, stop_at_report(at))
        raise AssertionError("the copy was not stopped")


def read_rows(where: StoreLocation) -> Rows:
    """Every row of every table there is, by its columns' names in order."""
    if isinstance(where, DatabaseUrl):
        with psycopg.connect(where.url) as asked:
            return _all(asked.cursor(), "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    with closing(sqlite3.connect(where)) as file:
        return _all(file.cursor(), "SELECT name FROM sqlite_schema WHERE type = 'table'")


def _all(asked: Any, tables: str) -> Rows:  # noqa: ANN401 - of either kind
    found: Rows = {}
    for (table,) in asked.execute(tables).fetchall():
        lines = asked.execute(f'SELECT * FROM "{table}"').fetchall()  # noqa: S608 - its own names
        order = sorted(range(len(asked.description)), key=lambda place: asked.description[place][0])
        found[table] = sorted((tuple(line[place] for place in order) for line in lines), key=repr)
    found.pop("handrail_schema", None)
    return found


def read_indexes(where: StoreLocation) -> dict[str, str]:
    """What every index of a store is made with, by its name."""
    if isinstance(where, DatabaseUrl):
        with psycopg.connect(where.url) as asked:
            made = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
            return dict(asked.execute(made).fetchall())
    with closing(sqlite3.connect(where)) as file:
        return dict(file.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index'").fetchall())


def find_damage(where: StoreLocation) -> list[Damage]:
    with open_store(where) as store:
        return list(store.maintenance.check())


def continue_run(where: StoreLocation, held: FullStore, step: int = 1) -> Reply:
    """What an agent is told that hands in its next step in this store, with the token that it holds."""
    runs = SqliteRuns(SqliteDatabase(where)) if isinstance(where, Path) else PgRuns(PgDatabase(where))
    with closing(runs.database):
        ports = (runs, SetClock(NOON), CountedIds(1000), LocalFeed())
        world = World(
            *ports, runs.load_token_key(), build_workflow_lookup(runs), lifetime=timedelta(days=365)
        )
        return take_turn(world, Call(held.run, Event(CONTINUE, OUTPUTS[step]), Caller(), held.token), _plain)


def _plain(outcome: Outcome) -> Reply:
    run = outcome.stored.run if outcome.stored else None
    answer = {"decision": type(outcome.decision).__name__, "code": getattr(outcome.decision, "code", "")}
    return {
        **answer,
        "state": run.open[0].state if run and run.open else "",
        "revision": outcome.stored.revision if outcome.stored else 0,
        "token": next(iter((outcome.tokens or {}).values()), ""),
    }
