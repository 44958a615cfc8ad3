"""Copying a store: every row, with its numbers, from one moment of one database into another that is new.

What an earlier attempt has brought over is compared with the source as it is now. If it is no beginning of
that, the copy begins anew; else it goes on behind it. So it is right whatever happened in between.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from handrail.shell.faults import Busy, Unreadable
from handrail.shell.keeping import Copied, Progress
from handrail.stores.sql.shape import Table, tables
from handrail.stores.sql.tables import Execute, Found, Tables

PAGE: Final = 5000
"""How many rows are read and written at once."""

LARGE: Final = 200
"""How many of a table whose rows can be large."""

_LARGE: Final = frozenset({"artifacts", "definitions", "replies"})
_JOURNALLED: Final = frozenset({"runs", "steps", "artifacts", "replies"})
"""Tables that change only with an entry in the journal, or in what is no loss."""

_encode: Final = msgspec.msgpack.Encoder().encode


class Unfinished(Protocol):
    """A database that becomes a store when the copy is whole; until then nobody can open it as one."""

    @property
    def continued(self) -> bool:
        """True if an earlier attempt may have left rows in it."""
        ...

    def sql(self, file: str) -> Mapping[str, str]:
        """The statements of a file, by name, as this database takes them."""
        ...

    def execute(self, statement: str, values: Sequence[Any]) -> Found:
        """What a statement finds that only asks."""
        ...

    def put(self, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Add these rows, all or none. Raises `Unreadable` if they are rows that no store has."""
        ...

    def clear(self) -> None:
        """Take every row out."""
        ...

    def finish(self) -> None:
        """Make a store of it, at one point."""
        ...


@dataclass(slots=True)
class Sum:
    """The rows of a table that were seen so far: how many, their hash, and what the last is known by."""

    rows: int = 0
    last: tuple[Any, ...] = ()
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """See these rows too."""
        self.rows += len(rows)
        self.last = table.placed(rows[-1])
        self.digest.update(_encode(rows))

    def told(self) -> tuple[int, str]:
        """What two tables with the same rows have in common."""
        return self.rows, self.digest.hexdigest()


class Reader:
    """The rows of a database, a page at a time, in the order of their keys."""

    def __init__(self, execute: Execute, sql: Mapping[str, str]) -> None:
        self._execute, self._sql = execute, sql

    def page(self, table: Table, after: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """The rows behind this one; the first ones if there is none."""
        name = f"after_{len(after)}" if after else "first"
        return self._execute(_of(table, self._sql[name]), (_most(table), *after)).fetchall()

    def count(self, table: Table) -> int:
        """How many rows there are."""
        return int(self._execute(_of(table, self._sql["count"]), ()).fetchone()[0])

    def summed(self, table: Table, tell: Callable[[int], None] = lambda _: None) -> Sum:
        """All rows; hears how many of each page."""
        found = Sum()
        while rows := self.page(table, found.last):
            found.add(table, rows)
            tell(len(rows))
        return found


def copy(source: Tables, target: Unfinished, told: Progress) -> Copied:
    """Make `target` a store that is equal to the source, or raise why it is not to be one.

    Raises `Busy` if the source was written to meanwhile, `Unreadable` if what was read back differs.
    """
    return _Copy(source, target, told).made()


class _Copy:
    """One attempt."""

    def __init__(self, source: Tables, target: Unfinished, told: Progress) -> None:
        self._source, self._target, self._told = source, target, told
        self._there = Reader(target.execute, target.sql("copying.sql"))
        self._done = self._all = 0

    def made(self) -> Copied:
        """The whole of it."""
        continued = self._target.continued
        with self._source.seen() as execute:
            reader = self._reader(execute)
            self._all = sum(reader.count(table) for table in tables())
            sums = self._brought(reader)
            if sums is None:
                continued = False
                self._target.clear()
                sums = self._brought(reader) or {}
        self._verify(sums)
        self._still(sums)
        self._target.finish()
        return Copied({name: found.rows for name, found in sums.items()}, continued)

    def _reader(self, execute: Execute) -> Reader:
        return Reader(execute, self._source.sql("copying.sql"))

    def _brought(self, reader: Reader) -> dict[str, Sum] | None:
        """What the source has, once the target has it too; None if the target has something else."""
        self._done, sums = 0, {}
        for table in tables():
            found = self._bring(reader, table)
            if found is None:
                return None
            sums[table.name] = found
        return sums

    def _bring(self, reader: Reader, table: Table) -> Sum | None:
        found, begun = Sum(), self._target.continued
        while rows := reader.page(table, found.last):
            old = self._there.page(table, found.last) if begun else []
            if old != rows[: len(old)]:
                return None
            if len(old) < len(rows):
                begun = False
                self._target.put(table, rows[len(old) :])
            found.add(table, rows)
            self._tell("copying", len(rows))
        return None if begun and self._there.page(table, found.last) else found

    def _verify(self, sums: Mapping[str, Sum]) -> None:
        """Read the target back."""
        self._done = 0
        for table in tables():
            found = self._there.summed(table, lambda rows: self._tell("reading back", rows))
            if found.told() != sums[table.name].told():
                message = f"the copy of {table.name} is not what was copied"
                raise Unreadable(message, "check the disk of the new store, remove it, and copy again")

    def _still(self, sums: Mapping[str, Sum]) -> None:
        """See that the source is as it was: a turn that is only there would be lost."""
        with self._source.seen() as execute:
            reader = self._reader(execute)
            for table in tables():
                if table.name not in _JOURNALLED and self._moved(reader, table, sums[table.name]):
                    message = f"the store was written to while it was copied: {table.name} has changed"
                    raise Busy(message, "stop what serves it, then say the same again")

    def _moved(self, reader: Reader, table: Table, before: Sum) -> bool:
        if table.name == "events":
            return reader.count(table) != before.rows or bool(reader.page(table, before.last))
        return reader.summed(table).told() != before.told()

    def _tell(self, what: str, rows: int) -> None:
        self._done += rows
        self._told(what, self._done, self._all)


def _of(table: Table, statement: str) -> str:
    return statement.format(table=table.name, columns=", ".join(table.columns), key=", ".join(table.key))


def _most(table: Table) -> int:
    return LARGE if table.name in _LARGE else PAGE
