"""Open a store for reading only, for hooks, `brief` and `doctor`: nothing is created or changed.

A read-only SQLite connection never resets the WAL, so it needs no turnstile. Start with `open_read_only`.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from handrail.runtime.errors import Unreadable
from handrail.runtime.ports.queries import ReadOnlyStore, StoreReport
from handrail.runtime.store_address import DatabaseUrl, locate_store
from handrail.stores.sql.queries import SqlRunQueries
from handrail.stores.sql.schema import APPLICATION_ID, KEY, Execute, load_migrations, load_queries

_LOCK_SECONDS: Final = 0.5


class SqliteReader:
    """The tables of an existing SQLite file. Raises `Unreadable` for any SQLite error."""

    def __init__(self, path: Path) -> None:
        self.path = path
        address = f"file:{quote(str(path.absolute()))}?mode=ro"
        with self._faults():
            self._connection = sqlite3.connect(address, uri=True, timeout=_LOCK_SECONDS, isolation_level=None)

    def sql(self, file: str = "queries.sql") -> Mapping[str, str]:
        """Return the statements of a file by name."""
        return load_queries(file)

    @contextmanager
    def read(self) -> Iterator[Execute]:
        """Open a block for queries. Each statement sees what is committed."""
        with self._faults():
            yield self._connection.execute

    @contextmanager
    def snapshot(self) -> Iterator[Execute]:
        """Like `read`, but every statement of the block sees the same moment."""
        with self.read() as execute:
            execute("BEGIN", ())
            try:
                yield execute
            finally:
                execute("ROLLBACK", ())

    def last_settled_entry(self) -> int:
        """Return the last entry's number. SQLite numbers entries in the order of commits."""
        with self.read() as execute:
            return int(execute(load_queries()["last_event"], ()).fetchone()[0])

    def key(self) -> bytes:
        """Return the key that signs this store's tokens; empty if it has none yet."""
        with self.read() as execute:
            found = execute(load_queries()["setting"], (KEY,)).fetchone()
        return bytes(found[0]) if found else b""

    def report(self) -> StoreReport:
        """Return what `doctor` reports about the file."""
        with self.read() as execute:
            owner, version, journal = (
                execute(f"PRAGMA {name}", ()).fetchone()[0]
                for name in ("application_id", "user_version", "journal_mode")
            )
            flaws = [row[0] for row in execute("PRAGMA quick_check(5)", ())]
        wrong = tuple(flaws) if flaws != ["ok"] else ()
        ours, kept, known = owner == APPLICATION_ID, f"journal {journal}", len(load_migrations())
        return StoreReport(str(self.path), version, known, kept, ours, self.path, journal == "wal", wrong)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            repair = "restore a backup of it, or name another with HANDRAIL_STORE"
            raise Unreadable(f"{self.path} cannot be asked: {error}", repair) from error


@contextmanager
def open_read_only(address: str) -> Iterator[ReadOnlyStore | None]:
    """Open the store at an address without creating, migrating or writing it; None if there is none."""
    where = locate_store(address)
    if isinstance(where, DatabaseUrl):
        try:
            from handrail.stores.sql.postgres.pg_reader import open_read_only_database  # noqa: PLC0415 - an optional package
        except ModuleNotFoundError as error:
            raise where.missing_driver(error) from error
        with open_read_only_database(where) as store:
            yield store
    elif not where.is_file():
        yield None
    else:
        with closing(SqliteReader(where)) as reader:
            yield ReadOnlyStore(SqlRunQueries(reader), reader.key, reader.report)
