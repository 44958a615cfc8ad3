"""Many pages of runs to PostgreSQL and back: the same store, and a run in it goes on."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fill import fill
from handrail.stores.sql.schema import Table, list_tables
from helpers.store_copies import FullStore, Place, continue_run, run_copy

pytestmark = pytest.mark.unmeasured
RUNS = 6_000
"""Two pages of runs, six of steps, fourteen of entries; benchmarks/bench_copy.py has a hundred thousand."""
GAP = 1_200
"""The runs of the past stand at each of these numbers, and the others between them."""


def differing(table: Table, one: Path, other: Path) -> int:
    """More than 0 if a row of a table is not the same in two files, or is in one of them only."""
    paired = " AND ".join(f"a.{column} = b.{column}" for column in table.key)
    same = " AND ".join(f"a.{column} IS b.{column}" for column in table.columns)
    count = f"(SELECT count(*) FROM {{}}.{table.name})"  # noqa: S608 - our names
    with closing(sqlite3.connect(one)) as asked:
        asked.execute("ATTACH ? AS other", (str(other),))
        unequal, more = asked.execute(
            f"SELECT count(*), {count.format('other')} - {count.format('main')}"  # noqa: S608 - our names
            f" FROM main.{table.name} AS a LEFT JOIN other.{table.name} AS b ON {paired} WHERE NOT ({same})"
        ).fetchone()
        return int(unequal) + abs(int(more))


def test_many_pages_of_runs_go_to_postgresql_and_come_back_the_same(filled: FullStore, new: Place) -> None:
    fill(filled.path, RUNS, GAP)
    there, back = new("postgresql"), new("sqlite")
    assert isinstance(back, Path)

    made = run_copy(filled.path, there)
    run_copy(there, back)

    assert (made.tables["runs"], made.tables["steps"], made.tables["events"]) == (6_003, 29_993, 66_042)
    assert [differing(table, filled.path, back) for table in list_tables()] == [0] * len(list_tables())
    assert continue_run(back, filled)["decision"] == "Accepted"
