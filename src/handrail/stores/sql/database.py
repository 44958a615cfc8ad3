"""One SQLite file as this process has it open: one connection that writes, and one per thread that reads."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread, current_thread, local
from typing import Any, Final, TypeAlias

from handrail.shell.faults import Fault, Newer, SyncFailed
from handrail.stores.sql.connection import connect, faults, prepared
from handrail.stores.sql.text import migrations
from handrail.stores.sql.turnstile import Turnstile

Execute: TypeAlias = Callable[[str, Sequence[Any]], sqlite3.Cursor]

CHECKPOINT_AFTER: Final = 128
"""How many commits of this process may lie in the WAL before `rest` puts them into the database."""


class Database:
    """The connections to a file. Whoever writes is alone among all processes until the block ends.

    Once the disk has not confirmed a write, nothing more is written: the process must end and start again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.turnstile, self._writer = _opened(path)
        self._readers: list[tuple[Thread, sqlite3.Connection]] = []
        self._mine = local()
        self._unrested = 0
        self._unsure = False
        self._version = len(migrations())

    @contextmanager
    def written(self) -> Iterator[Execute]:
        """A transaction, committed when the block ends well, gone without a trace when it does not."""
        writer = self._writer
        with self.turnstile.passed(), self._sure():
            writer.execute("BEGIN IMMEDIATE")
            try:
                self._check_schema(writer)
                yield writer.execute
                writer.execute("COMMIT")
                self._unrested += 1
            except BaseException:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                raise

    @contextmanager
    def read(self) -> Iterator[Execute]:
        """A connection of this thread that cannot write; each statement sees what is committed."""
        with faults(self.path):
            yield self.reader().execute

    @contextmanager
    def seen(self) -> Iterator[Execute]:
        """Like `read`, but every statement of the block sees the same moment."""
        reader = self.reader()
        with faults(self.path):
            reader.execute("BEGIN")
            try:
                yield reader.execute
            finally:
                if reader.in_transaction:
                    reader.execute("ROLLBACK")

    @contextmanager
    def peek(self) -> Iterator[Execute]:
        """Like `read`, for what takes no time: the connection that writes knows its pages, so it is asked.

        Another one has forgotten them after each commit.
        """
        with faults(self.path), self.turnstile.unused() as unused:
            yield (self._writer if unused else self.reader()).execute

    def reader(self) -> sqlite3.Connection:
        """The connection that this thread reads with."""
        found = getattr(self._mine, "reader", None)
        if not isinstance(found, sqlite3.Connection):
            with self.turnstile.passed():
                self._close(lambda thread: not thread.is_alive())
                found = self._mine.reader = connect(self.path, reads_only=True)
                self._readers.append((current_thread(), found))
        return found

    def rest(self) -> None:
        """What can wait until a reply is given: after many commits, put the WAL into the database."""
        if self._unrested >= CHECKPOINT_AFTER:
            self._unrested = 0
            with self.turnstile.passed(), self._sure():
                self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def alone(self) -> sqlite3.Connection:
        """The connection that writes, for whoever has passed the turnstile and needs no transaction."""
        return self._writer

    def close(self) -> None:
        """Close every connection while nobody else commits."""
        with self.turnstile.passed(), faults(self.path):
            self._close(lambda _: True)
            self._writer.close()
        self.turnstile.close()

    @contextmanager
    def _sure(self) -> Iterator[None]:
        """Nothing is written once the disk has not confirmed a write: what it holds is unknown."""
        if self._unsure:
            message = f"nothing is written to {self.path} since the disk did not confirm a write"
            raise SyncFailed(message, "check the disk, then start again: the store recovers by itself")
        try:
            with faults(self.path):
                yield
        except SyncFailed:
            self._unsure = True
            raise

    def _close(self, whose: Callable[[Thread], bool]) -> None:
        """Close the connections of these threads, while nobody else commits."""
        gone = [reader for thread, reader in self._readers if whose(thread)]
        self._readers = [kept for kept in self._readers if kept[1] not in gone]
        for reader in gone:
            reader.close()

    def _check_schema(self, writer: sqlite3.Connection) -> None:
        """A newer program may have changed the schema since this process opened the file."""
        version = writer.execute("PRAGMA user_version").fetchone()[0]
        if version != self._version:
            message = f"a newer Handrail has brought {self.path} to schema {version}"
            raise Newer(message, "update Handrail here too, and start it again")


def _opened(path: Path) -> tuple[Turnstile, sqlite3.Connection]:
    """The turnstile of a file, and the connection that writes."""
    turnstile = prepared(path)
    try:
        with turnstile.passed(), faults(path):
            return turnstile, connect(path)
    except Fault:
        turnstile.close()
        raise
