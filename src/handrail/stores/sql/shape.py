"""The tables of a store as its migrations make them: what every database that keeps one has."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from shlex import quote
from typing import Any, Final

from msgspec import Struct

from handrail.shell.faults import NotWritable, Unreadable
from handrail.shell.store_address import Where
from handrail.stores.sql.text import migrations

MARK: Final = "CREATE TABLE handrail_copy (source TEXT NOT NULL, version BIGINT NOT NULL)"
"""Stands in a database that is not a whole copy yet: what it is copied from, and by which schema."""


class Table(Struct, frozen=True):
    """A table, its columns, and those of them that its rows are known by."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    def placed(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """What a row is known by."""
        return tuple(row[self.columns.index(column)] for column in self.key)


@cache
def tables() -> tuple[Table, ...]:
    """Every table; one that others refer to comes before them."""
    with closing(_made()) as made:
        named = made.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid").fetchall()
        return tuple(_table(made, name) for (name,) in named)


@cache
def indexes() -> Mapping[str, str]:
    """What makes each index of a file that is not the key of a table, by its name."""
    with closing(_made()) as made:
        asked = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY rowid"
        return dict(made.execute(asked).fetchall())


def _made() -> sqlite3.Connection:
    """An empty store in memory."""
    made = sqlite3.connect(":memory:")
    for script in migrations():
        made.executescript(script)
    return made


def _table(made: sqlite3.Connection, name: str) -> Table:
    found = made.execute("SELECT name, pk FROM pragma_table_info(?)", (name,)).fetchall()
    key = sorted((place, column) for column, place in found if place)
    return Table(name, tuple(column for column, _ in found), tuple(column for _, column in key))


def unfinished(where: Where, source: str) -> Unreadable:
    """That a database is no store yet."""
    repair = f"finish it: handrail store copy {quote(source)} {quote(str(where))}"
    return Unreadable(f"{where} is an unfinished copy of {source}", repair)


def occupied(where: Where) -> NotWritable:
    """That nothing can be copied into a store."""
    return NotWritable(f"{where} is a store already", "name a file that is not there, or an empty database")


def resumes(where: Where, source: str, found: tuple[str, int], known: int) -> None:
    """See that this program may go on with the copy that was found: its source, and the schema it has.

    Raises `Unreadable` if it is another's.
    """
    if found[0] != source:
        raise unfinished(where, found[0])
    if found[1] != known:
        message = f"{where} was left unfinished by another Handrail: its schema is {found[1]}, ours {known}"
        raise Unreadable(message, f"remove {where} and copy again")


def unfit(table: Table, error: Exception) -> Unreadable:
    """That a row cannot be copied."""
    message = f"a row of {table.name} cannot be copied: {' '.join(str(error).split())}"
    return Unreadable(message, "run `handrail store check` on the store that is copied, and mend that row")
