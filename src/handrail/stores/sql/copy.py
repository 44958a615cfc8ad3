"""Copy a store: every row with its numbers, from one snapshot of a database into a new one.

Rows that an earlier attempt has copied are compared with the source as it is now. If they are its beginning,
the copy continues after them; otherwise it starts again. So the result is right whatever happened in between.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

import msgspec

from handrail.runtime.errors import Busy, Unreadable
from handrail.runtime.ports.open_store import CopyResult, ProgressCountCallback
from handrail.stores.sql.schema import Execute, QueryResult, SqlDatabase, Table, list_tables

PAGE_ROWS: Final = 5000
LARGE_PAGE_ROWS: Final = 200
_LARGE_TABLES: Final = frozenset({"artifacts", "definitions", "replies"})
# Tables that change only together with a journal entry, or in ways that are no loss.
_JOURNALLED_TABLES: Final = frozenset({"runs", "steps", "artifacts", "replies"})
_encode_rows: Final = msgspec.msgpack.Encoder().encode


class CopyTarget(Protocol):
    """A database that becomes a store when the copy is finished. Until then it cannot be opened as one."""

    @property
    def continued(self) -> bool:
        """True if an earlier attempt may have left rows in it."""

    def sql(self, file: str) -> Mapping[str, str]:
        """Return the statements of a file by name, in this database's dialect."""

    def execute(self, statement: str, values: Sequence[Any]) -> QueryResult:
        """Run a query."""

    def put(self, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Insert these rows, all or none. Raises `Unreadable` if the tables do not accept them."""

    def clear(self) -> None:
        """Delete every row."""

    def finish(self) -> None:
        """Turn the copy into a store, atomically."""


@dataclass(slots=True)
class TableSum:
    """The rows of a table seen so far: how many, their hash, and the key of the last one."""

    rows: int = 0
    last: tuple[Any, ...] = ()
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Add these rows."""
        self.rows += len(rows)
        self.last = table.row_key(rows[-1])
        self.digest.update(_encode_rows(rows))

    def fingerprint(self) -> tuple[int, str]:
        """Return a value that is equal for tables with the same rows."""
        return self.rows, self.digest.hexdigest()


class TableReader:
    """Read the rows of a database page by page, in the order of their keys."""

    def __init__(self, execute: Execute, sql: Mapping[str, str]) -> None:
        self._execute, self._sql = execute, sql

    def page(self, table: Table, after: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Return the rows after this key; the first rows if it is empty."""
        size = LARGE_PAGE_ROWS if table.name in _LARGE_TABLES else PAGE_ROWS
        return self._query(f"after_{len(after)}" if after else "first", table, (size, *after)).fetchall()

    def count(self, table: Table) -> int:
        """Return how many rows there are."""
        return int(self._query("count", table, ()).fetchone()[0])

    def sum_rows(self, table: Table, tell: Callable[[int], None] = lambda _: None) -> TableSum:
        """Return the sum of all rows. `tell` receives the number of rows of each page."""
        sums = TableSum()
        while rows := self.page(table, sums.last):
            sums.add(table, rows)
            tell(len(rows))
        return sums

    def _query(self, name: str, table: Table, values: Sequence[Any]) -> QueryResult:
        columns, key = ", ".join(table.columns), ", ".join(table.key)
        return self._execute(self._sql[name].format(table=table.name, columns=columns, key=key), values)


def copy_store(source: SqlDatabase, target: CopyTarget, progress: ProgressCountCallback) -> CopyResult:
    """Make `target` an exact copy of the source, or raise why not.

    Raises `Busy` if the source was written to meanwhile, `Unreadable` if the copy differs when read back.
    """
    return _CopyAttempt(source, target, progress).copy_all()


class _CopyAttempt:
    """One attempt to copy a store."""

    def __init__(self, source: SqlDatabase, target: CopyTarget, progress: ProgressCountCallback) -> None:
        self._source, self._target, self._progress = source, target, progress
        self._target_reader = TableReader(target.execute, target.sql("copying.sql"))
        self._done = self._total = 0

    def copy_all(self) -> CopyResult:
        """Copy all tables, verify the copy, and finish it."""
        continued = self._target.continued
        with self._source.snapshot() as execute:
            reader = TableReader(execute, self._source.sql("copying.sql"))
            self._total = sum(reader.count(table) for table in list_tables())
            sums = self._copy_tables(reader)
            if sums is None:
                continued = False
                self._target.clear()
                sums = self._copy_tables(reader) or {}
        self._done = 0
        for table in list_tables():
            found = self._target_reader.sum_rows(table, partial(self._report_progress, "reading back"))
            if found.fingerprint() != sums[table.name].fingerprint():
                message = f"the copy of {table.name} is not what was copied"
                raise Unreadable(message, "check the disk of the new store, remove it, and copy again")
        self._check_source_unchanged(sums)
        self._target.finish()
        return CopyResult({name: found.rows for name, found in sums.items()}, continued)

    def _copy_tables(self, reader: TableReader) -> dict[str, TableSum] | None:
        """Copy all tables. Return their sums, or None if the target has other rows than the source."""
        self._done, sums = 0, {}
        for table in list_tables():
            found = self._copy_table(reader, table)
            if found is None:
                return None
            sums[table.name] = found
        return sums

    def _copy_table(self, reader: TableReader, table: Table) -> TableSum | None:
        sums, comparing = TableSum(), self._target.continued
        while rows := reader.page(table, sums.last):
            old = self._target_reader.page(table, sums.last) if comparing else []
            if old != rows[: len(old)]:
                return None
            if len(old) < len(rows):
                comparing = False
                self._target.put(table, rows[len(old) :])
            sums.add(table, rows)
            self._report_progress("copying", len(rows))
        return None if comparing and self._target_reader.page(table, sums.last) else sums

    def _check_source_unchanged(self, sums: Mapping[str, TableSum]) -> None:
        """Raise `Busy` if the source has changed: a turn that is only there would be lost."""
        with self._source.snapshot() as execute:
            reader = TableReader(execute, self._source.sql("copying.sql"))
            for table in list_tables():
                before = sums[table.name]
                if table.name in _JOURNALLED_TABLES:
                    continue
                if table.name == "events":
                    changed = reader.count(table) != before.rows or bool(reader.page(table, before.last))
                else:
                    changed = reader.sum_rows(table).fingerprint() != before.fingerprint()
                if changed:
                    message = f"the store was written to while it was copied: {table.name} has changed"
                    raise Busy(message, "stop what serves it, then say the same again")

    def _report_progress(self, what: str, rows: int) -> None:
        self._done += rows
        self._progress(what, self._done, self._total)
