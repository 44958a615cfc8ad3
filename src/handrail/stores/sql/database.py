"""One SQLite file as this process has it open: one connection that writes, and one per thread that reads."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from threading import Event, Thread, current_thread, local
from typing import Any, Final

from handrail.shell.faults import Fault, Missing, Newer, Unreadable
from handrail.stores.sql.connection import Faults, connect, prepared
from handrail.stores.sql.disk import Disk
from handrail.stores.sql.tables import Ear, Execute
from handrail.stores.sql.text import migrations, queries
from handrail.stores.sql.turnstile import Turnstile

CHECKPOINT_AFTER: Final = 64
"""How many commits, of all processes, lie in the WAL when `rest` of the last one puts them into the database.

Were each process to count its own, those with equal shares would do so all at once, after none had for long.
"""


class Writing:
    """The transactions of a connection, one at a time: committed when a block ends well, else rolled back.

    What a block raises, and what beginning and ending it raise, are the faults of `disk`. `due` says that it
    is for this process to put the WAL into the database.
    """

    def __init__(self, turnstile: Turnstile, disk: Disk, writer: sqlite3.Connection) -> None:
        self.due = False
        self._turnstile, self._disk, self._writer = turnstile, disk, writer
        self._version = len(migrations())
        self._later = False

    def __enter__(self) -> Execute:
        """Be alone, and begin."""
        self._turnstile.__enter__()
        try:
            with self._disk:
                self._settle(later=self._disk.later())
                self._begin()
        except BaseException:
            self._turnstile.__exit__()
            raise
        return self._writer.execute

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Commit, or leave no trace."""
        try:
            if error is None:
                with self._disk:
                    self._commit()
                self._disk.committed()
                if self._turnstile.counted() % CHECKPOINT_AFTER == 0:
                    self.due = True
            else:
                with self._disk:
                    self._undo()
                self._disk.__exit__(kind, error, trace)
        finally:
            self._turnstile.__exit__()

    def _settle(self, *, later: bool) -> None:
        """Whether a commit waits for the disk, or that is seen to later, is a setting of the connection."""
        if later is not self._later:
            self._writer.execute(f"PRAGMA synchronous = {'NORMAL' if later else 'FULL'}")
            self._later = later

    def _begin(self) -> None:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            self._check_schema()
        except BaseException:
            self._undo()
            raise

    def _check_schema(self) -> None:
        """A newer program may have changed the schema since this process opened the file."""
        version = self._writer.execute("PRAGMA user_version").fetchone()[0]
        if version != self._version:
            message = f"a newer Handrail has brought {self._disk.path} to schema {version}"
            raise Newer(message, "update Handrail here too, and start it again")

    def _commit(self) -> None:
        try:
            self._writer.execute("COMMIT")
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")


class Bell:
    """`Ear` of a file: it hears what this process says; others must be looked for."""

    def __init__(self) -> None:
        self._rung = Event()

    def wait(self, seconds: float) -> bool:
        """Until `wake` is called, or the time is up; nothing is lost while the file is open."""
        self._rung.wait(seconds)
        self._rung.clear()
        return False

    def wake(self) -> None:
        """End the waiting."""
        self._rung.set()

    def close(self) -> None:
        """Nothing to let go of."""


class Database:
    """The connections to a file. Whoever writes is alone among all processes until the block ends.

    Once the disk has not confirmed a write, nothing more is written: the process must end and start again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.turnstile, self._writer = _opened(path)
        self._readers: list[tuple[Thread, sqlite3.Connection]] = []
        self._mine = local()
        self._closed = False
        self._faults, self._disk = Faults(path), Disk(path)
        self._writing = Writing(self.turnstile, self._disk, self._writer)
        found = path.stat()
        self._file = (found.st_dev, found.st_ino)

    def sql(self, file: str = "queries.sql") -> Mapping[str, str]:
        """The statements of a file, by name."""
        return queries(file)

    def written(self) -> AbstractContextManager[Execute]:
        """A transaction, committed when the block ends well, gone without a trace when it does not."""
        return self._writing

    def together(self) -> AbstractContextManager[None]:
        """A block whose commits, if this thread makes them, the disk confirms at its end, all at once."""
        return self._disk.together()

    @contextmanager
    def read(self) -> Iterator[Execute]:
        """A connection of this thread that cannot write; each statement sees what is committed."""
        with self._faults:
            yield self.reader().execute

    @contextmanager
    def seen(self) -> Iterator[Execute]:
        """Like `read`, but every statement of the block sees the same moment."""
        reader = self.reader()
        with self._faults:
            reader.execute("BEGIN")
            try:
                yield reader.execute
            finally:
                if reader.in_transaction:
                    reader.execute("ROLLBACK")

    def peek(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """The rows of a statement that takes no time; it sees what is committed.

        The connection that writes is asked, if it is free: another one has forgotten its pages after each
        commit.
        """
        free = self.turnstile.reserve()
        try:
            with self._faults:
                return (self._writer if free else self.reader()).execute(statement, values).fetchall()
        finally:
            if free:
                self.turnstile.release()

    def held(self, run: str) -> AbstractContextManager[None]:  # noqa: ARG002 - one serves all
        """The turnstile, so nobody else commits to anything."""
        return self.turnstile.passed()

    def elected(self, task: str) -> AbstractContextManager[bool]:  # noqa: ARG002 - each task is done
        """Everybody: they are few, and what one has done the next finds done."""
        return nullcontext(enter_result=True)

    def pulse(self) -> int:
        """SQLite's data version, which is kept for each connection."""
        with self.read() as execute:
            return int(execute("PRAGMA data_version", ()).fetchone()[0])

    def settled(self) -> int:
        """The last entry: they are numbered in the order of commits."""
        return int(self.peek(queries()["last_event"], ())[0][0])

    def ear(self) -> Ear:
        """What hears that this process has written."""
        return Bell()

    def size(self) -> int:
        """How many bytes the file and its WAL take."""
        files = (self.path, Path(f"{self.path}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def vacuum(self) -> None:
        """Give unused space back, while nobody else writes."""
        with self.turnstile.passed(), self._faults:
            for statement in ("VACUUM", "ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)"):
                self._writer.execute(statement).fetchall()

    def flaws(self) -> Iterator[tuple[str, str]]:
        """What is wrong with the file, and rows that belong to none."""
        try:
            with self.seen() as execute:
                found = [text for (text,) in execute("PRAGMA integrity_check(100)", ()) if text != "ok"]
                lost = execute("PRAGMA foreign_key_check", ()).fetchall()
        except Unreadable as fault:
            yield "file", fault.message
            return
        yield from (("file", text) for text in found)
        for table, _, parent, _ in lost:
            yield "reference", f"a row of {table} belongs to none of {parent}"

    def there(self) -> None:
        """Raises `Missing` if the file that is open is not the one at its path, or what reading it raises."""
        try:
            seen = self.path.stat()
        except OSError as error:
            raise self._gone(error.strerror or "gone") from error
        if (seen.st_dev, seen.st_ino) != self._file:
            raise self._gone("it is another file now")
        with self.read() as execute:
            execute("SELECT count(*) FROM sqlite_schema", ()).fetchone()

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
        if self._writing.due:
            self._writing.due = False
            with self.turnstile.passed(), self._disk:
                self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def alone(self) -> sqlite3.Connection:
        """The connection that writes, for whoever has passed the turnstile and needs no transaction."""
        return self._writer

    def close(self) -> None:
        """Close every connection while nobody else commits; once is enough."""
        if self._closed:
            return
        self._closed = True
        with self.turnstile.passed(), self._faults:
            self._close(lambda _: True)
            self._writer.close()
        self._disk.close()
        self.turnstile.close()

    def _gone(self, why: str) -> Missing:
        return Missing(f"{self.path} cannot be read: {why}", "put the store back, or start Handrail again")

    def _close(self, whose: Callable[[Thread], bool]) -> None:
        """Close the connections of these threads, while nobody else commits."""
        gone = [reader for thread, reader in self._readers if whose(thread)]
        self._readers = [kept for kept in self._readers if kept[1] not in gone]
        for reader in gone:
            reader.close()


def _opened(path: Path) -> tuple[Turnstile, sqlite3.Connection]:
    """The turnstile of a file, and the connection that writes."""
    turnstile = prepared(path)
    try:
        with turnstile.passed(), Faults(path):
            return turnstile, connect(path)
    except Fault:
        turnstile.close()
        raise
