"""What a turn costs PostgreSQL, in counts that are the same on every machine."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from handrail.runtime.store_address import DatabaseUrl
from helpers.postgres import PostgresServer
from stage import PgStage, pg_stage
from wire import Traced

RUNS: Final = 20
PLANNED: Final = 5
"""How often PostgreSQL plans a statement anew before it thinks about keeping its plan."""


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[Traced]:
    with postgres.lend_database() as url, closing(Traced(DatabaseUrl(url))) as database:
        yield database


@pytest.fixture
def play(database: Traced) -> PgStage:
    made = pg_stage(database)
    made.start(RUNS)
    return made


def test_a_turn_is_two_statements_and_two_round_trips(
    database: Traced, play: PgStage, tmp_path: Path
) -> None:
    run = next(iter(play.tokens))
    play.turn(run)
    with database.overheard(tmp_path / "wire") as seen:
        play.turn(run)
    assert (seen.statements, seen.round_trips) == (2, 2)


@pytest.mark.parametrize("prepared", [Traced.do_idle_work, Traced.vacuum], ids=["new", "analysed"])
def test_the_plan_of_a_turn_is_kept(
    database: Traced, play: PgStage, prepared: Callable[[Traced], None]
) -> None:
    prepared(database)
    for run in play.tokens:
        play.turn(run)
    plans = "SELECT sum(custom_plans), sum(generic_plans) FROM pg_prepared_statements WHERE statement LIKE $1"
    assert database.peek(plans, ("%WITH moved AS%",)) == [(PLANNED, RUNS - PLANNED)]


def test_the_statement_of_a_turn_has_only_the_parts_that_the_turn_needs(
    database: Traced, play: PgStage
) -> None:
    for run in play.tokens:
        play.turn(run)
    parts = ("made AS", "renewed AS", "forgotten AS", "finalised AS")
    asked = ", ".join(f"statement LIKE '%{part}%'" for part in parts)
    found = database.peek(
        f"SELECT {asked} FROM pg_prepared_statements WHERE statement LIKE $1",  # noqa: S608 - typed above
        ("%WITH moved AS%",),
    )
    assert found == [(True, False, False, False)]
