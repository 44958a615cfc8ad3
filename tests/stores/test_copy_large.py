"""A hundred thousand runs to PostgreSQL and back: the same store, and a run in it goes on."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fill import fill
from handrail.stores.sql.shape import Table, tables
from stores.moving import Full, Place, copied, went_on

pytestmark = pytest.mark.unmeasured

RUNS = 100_000
GAP = 20_000
"""The runs of the past stand at each of these numbers, and the others between them."""


def differing(table: Table, one: Path, other: Path) -> int:
    """How many rows of a table are not the same in two files; so many more, or fewer, are an error."""
    order = f"SELECT {', '.join(table.columns)} FROM {table.name} ORDER BY {', '.join(table.key)}"  # noqa: S608 - our names
    with closing(sqlite3.connect(one)) as left, closing(sqlite3.connect(other)) as right:
        pairs = zip(left.execute(order), right.execute(order), strict=True)
        return sum(mine != yours for mine, yours in pairs)


def test_a_hundred_thousand_runs_go_to_postgresql_and_come_back_the_same(filled: Full, new: Place) -> None:
    fill(filled.path, RUNS, GAP)
    there, back = new("postgresql"), new("sqlite")
    assert isinstance(back, Path)

    made = copied(filled.path, there)
    copied(there, back)

    assert (made.tables["runs"], made.tables["steps"], made.tables["events"]) == (100_003, 499_993, 1_100_042)
    assert [differing(table, filled.path, back) for table in tables()] == [0] * len(tables())
    assert went_on(back, filled)["decision"] == "Accepted"
