"""PostgreSQL answers without reading all of it: what is asked is planned over ten thousand runs."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.database import FetchedResult, PgDatabase
from handrail.stores.sql.summaries import SqlMeasures
from helpers.postgres import ADMIN, PostgresServer
from pg_fill import fill
from questions import lists, numbers, page
from stage import pg_stage

pytestmark = pytest.mark.unmeasured
RUNS: Final = 10_000
WHOLE: Final = re.compile(r"Seq Scan on (?:runs|steps|artifacts|events)\b")

SPARSE: Final = {"runs_since"}
"""What finds less than a page, by no index: SQLite too goes through all runs for it, though by their key."""


class Explained(PgDatabase):
    """A database that also asks how each question is answered."""

    def __init__(self, place: DatabaseUrl) -> None:
        self.plans: list[str] = []
        super().__init__(place)

    def _ask(self, statement: str, values: Sequence[Any]) -> FetchedResult:
        plan = super()._ask(f"EXPLAIN {statement}", values)
        self.plans.append("\n".join(line for (line,) in plan))
        return super()._ask(statement, values)


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> Iterator[Explained]:
    with postgres.lend_database() as url, closing(Explained(DatabaseUrl(url))) as database:
        fill(postgres.url(urlsplit(url).path[1:], ADMIN), RUNS)
        pg_stage(database).start(10)
        SqlMeasures(database).fold()
        pg_stage(database).start(10)
        yield database


def test_no_question_reads_all_runs_steps_artifacts_or_events(database: Explained) -> None:
    asked = {**lists(database, RUNS), **page(database, RUNS), **numbers(database)}
    whole = []
    for name, ask in asked.items():
        database.plans = []
        ask()
        assert database.plans, name
        whole += [(name, plan) for plan in database.plans if WHOLE.search(plan) and name not in SPARSE]

    assert len(asked) > 40
    assert not whole, "\n\n".join(f"{name}:\n{plan}" for name, plan in whole)
