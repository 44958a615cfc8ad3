"""Load the SQL files, convert values, and define the interfaces of a database.

Statements are in the `.sql` files beside the code, migrations in `migrations`. `SqlDatabase` is what the
stores need from SQLite or PostgreSQL. Also holds what copying a store needs to know about the tables.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct

from handrail.runtime.errors import NotWritable, Unreadable
from handrail.runtime.store_address import StoreLocation

_QUERY_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
"""The line before each statement in an SQL file."""

_SQL_PACKAGE = Path(__file__).parent

APPLICATION_ID: Final = 0x48524C31
"""Written into the SQLite file as `application_id`, so that Handrail recognises its own files."""

KEY: Final = "token_key"
"""The name of the setting that holds the key for signing tokens."""


@cache
def load_queries(file: str = "queries.sql") -> Mapping[str, str]:
    """Return the statements of a file by name."""
    return _split_statements(_SQL_PACKAGE / file)


@cache
def load_migrations(folder: str = "migrations") -> tuple[str, ...]:
    """Return the migrations in order. The schema version is how many of them have run."""
    found = sorted((_SQL_PACKAGE / folder).iterdir())
    return tuple(file.read_text("utf-8") for file in found if file.name.endswith(".sql"))


def _split_statements(file: Path) -> dict[str, str]:
    parts = _QUERY_NAME.split(file.read_text("utf-8"))
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


class QueryResult(Protocol):
    """The result of a statement: rows, or how many rows it changed."""

    @property
    def description(self) -> Sequence[Any] | None:
        """The columns; each begins with its name. None without a result set."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""

    def fetchone(self) -> Any:  # noqa: ANN401 - the statement decides what a row holds
        """Return the next row, or None."""

    def fetchall(self) -> list[Any]:
        """Return the remaining rows."""

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the remaining rows."""


Execute: TypeAlias = Callable[[str, Sequence[Any]], QueryResult]
"""Runs one statement with these values."""


class ChangeListener(Protocol):
    """Waits for changes to a database."""

    def wait(self, seconds: float) -> bool:
        """Wait until something was written, `wake` is called, or the time is up. May return early.

        True if the database may have lost commits that it had not confirmed: then `data_version` may repeat a
        value.
        """

    def wake(self) -> None:
        """End the wait. Any thread may call this."""

    def close(self) -> None:
        """Stop listening."""


class ReadableDatabase(Protocol):
    """A database with our tables that can be queried."""

    def sql(self, file: str = "queries.sql") -> Mapping[str, str]:
        """Return the statements of a file by name, in this database's dialect."""

    def read(self) -> AbstractContextManager[Execute]:
        """Open a read-only block. Each statement sees what is committed."""

    def snapshot(self) -> AbstractContextManager[Execute]:
        """Like `read`, but every statement of this thread in the block sees the same moment."""

    def last_settled_entry(self) -> int:
        """Return an entry number below which no entry can appear any more.

        Raises `Busy` if a writer does not finish.
        """


class SqlDatabase(ReadableDatabase, Protocol):
    """A database with our tables that can be read and written."""

    def transaction(self) -> AbstractContextManager[Execute]:
        """Open a transaction: committed when the block succeeds, rolled back when it raises."""

    def peek(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows of a fast statement. It sees what is committed."""

    def hold_run(self, run: str) -> AbstractContextManager[None]:
        """Keep others from committing to this run in the block, at least until this thread has."""

    def elect(self, task: str) -> AbstractContextManager[bool]:
        """Yield True if this process should do the task in the block; no other one does it meanwhile."""

    def data_version(self) -> int:
        """Return a number that differs whenever another connection has committed since."""

    def open_listener(self) -> ChangeListener:
        """Return a listener for changes."""

    def size(self) -> int:
        """Return how many bytes the database takes."""

    def vacuum(self) -> None:
        """Give unused space back."""

    def find_damage(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the database itself: a damage code and a description."""

    def check_reachable(self) -> None:
        """Raise a fault if the database cannot be read, or is not the one that was opened."""

    def do_idle_work(self) -> None:
        """Do maintenance that can wait until a reply is sent."""

    def close(self) -> None:
        """Close the database. Safe to call again."""


CREATE_COPY_MARK: Final = "CREATE TABLE handrail_copy (source TEXT NOT NULL, version BIGINT NOT NULL)"
"""Creates the mark of an unfinished copy: the source, and the schema version of the copy."""


class Table(Struct, frozen=True):
    """A table, its columns, and its key columns."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    def row_key(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """Return the key of a row."""
        return tuple(row[self.columns.index(column)] for column in self.key)


@cache
def list_tables() -> tuple[Table, ...]:
    """Return every table; a table comes before those that refer to it."""
    with closing(_make_empty_store()) as store:
        names = store.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid").fetchall()
        return tuple(_read_table(store, name) for (name,) in names)


@cache
def list_indexes() -> Mapping[str, str]:
    """Return the statement for each index by name, without those of table keys."""
    with closing(_make_empty_store()) as store:
        query = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY rowid"
        return dict(store.execute(query).fetchall())


def _make_empty_store() -> sqlite3.Connection:
    """Create an empty store in memory."""
    store = sqlite3.connect(":memory:")
    for script in load_migrations():
        store.executescript(script)
    return store


def _read_table(store: sqlite3.Connection, name: str) -> Table:
    columns = store.execute("SELECT name, pk FROM pragma_table_info(?)", (name,)).fetchall()
    key = sorted((place, column) for column, place in columns if place)
    return Table(name, tuple(column for column, _ in columns), tuple(column for _, column in key))


def unfinished_copy_fault(where: StoreLocation, source: str) -> Unreadable:
    """Return the fault for opening a copy that is not finished."""
    repair = f"finish it: handrail store copy {quote(source)} {quote(str(where))}"
    return Unreadable(f"{where} is an unfinished copy of {source}", repair)


def occupied_fault(where: StoreLocation) -> NotWritable:
    """Return the fault for copying into a database that already is a store."""
    return NotWritable(f"{where} is a store already", "name a file that is not there, or an empty database")


def check_resumable(where: StoreLocation, source: str, found: tuple[str, int], known: int) -> None:
    """Check that a copy found unfinished can be continued: same source, same schema.

    Raises `Unreadable` if not.
    """
    if found[0] != source:
        raise unfinished_copy_fault(where, found[0])
    if found[1] != known:
        message = f"{where} was left unfinished by another Handrail: its schema is {found[1]}, ours {known}"
        raise Unreadable(message, f"remove {where} and copy again")


def bad_row_fault(table: Table, error: Exception) -> Unreadable:
    """Return the fault for a row that cannot be copied."""
    message = f"a row of {table.name} cannot be copied: {' '.join(str(error).split())}"
    return Unreadable(message, "run `handrail store check` on the store that is copied, and mend that row")
