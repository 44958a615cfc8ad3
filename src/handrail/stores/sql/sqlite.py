"""Open a SQLite file as a store: connections, transactions, durability, migrations, and the target of a copy.

`SqliteDatabase` is the place to start. One thread of one process writes at a time, behind the turnstile. A
commit is durable when it returns, or at the end of `batch_commits`: then SQLite does not sync, and the WAL is
synced here. Another process may see such a commit a moment before it is durable. What that process commits
comes after it in the WAL, so it cannot become durable without it.
"""

import errno
import fcntl
import mmap
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from threading import Event, RLock, Thread, current_thread, local
from typing import Any, Final

from handrail.runtime import errors
from handrail.runtime.errors import (
    Busy,
    DiskFull,
    Fault,
    Missing,
    NewerFormat,
    NotWritable,
    SyncFailed,
    Unreadable,
)
from handrail.stores.sql.schema import (
    APPLICATION_ID,
    CREATE_COPY_MARK,
    ChangeListener,
    Execute,
    QueryResult,
    Table,
    bad_row_fault,
    check_resumable,
    list_indexes,
    list_tables,
    load_migrations,
    load_queries,
    occupied_fault,
    unfinished_copy_fault,
)

SERVICE_TIMEOUT_SECONDS: Final = 30.0
"""How many seconds the first in the queue waits for the current writer."""

_TURNSTILE_POLL_SECONDS: Final = 0.0001
"""How many seconds the first in the queue sleeps between two tries."""

_COUNTER_BYTES: Final = 4
"""The size of the counter in the file `service`."""


class Turnstile:
    """A fair, reentrant lock for the writers of a SQLite file: one thread of one process, in order.

    A writer locks `queue`, then `service`, then unlocks `queue`. The kernel wakes those in the queue one at a
    time, and only the first of them asks for `service`. So a process that has just written cannot write again
    while another waits. SQLite's own waiting is a race that a process can lose for seconds. Locks end with
    their process. A process that is stopped while it holds `service` keeps it, so the first in the queue
    gives up after a while and lets the next one try.
    """

    def __init__(self, database: Path, patience: float = SERVICE_TIMEOUT_SECONDS) -> None:
        names = (f"{database}.queue", f"{database}.service")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._queue, self._service = (os.open(name, flags, 0o600) for name in names)
        if os.fstat(self._service).st_size < _COUNTER_BYTES:
            os.pwrite(self._service, bytes(_COUNTER_BYTES), 0)
        self._shared = mmap.mmap(self._service, _COUNTER_BYTES)
        self._counter = memoryview(self._shared).cast("I")
        self._database, self._patience = database, patience
        self._inside = RLock()
        self._depth = 0

    def pass_through(self) -> AbstractContextManager[None]:
        """Hold the turnstile for the block. Raises `Busy` if the current writer takes too long."""
        return self

    def __enter__(self) -> None:
        """Wait in the queue, unless this thread already holds the turnstile."""
        self._inside.acquire()
        if self._depth == 0:
            try:
                self._enter()
            except BaseException:
                self._inside.release()
                raise
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        """Let the next writer in, at the end of the outermost block."""
        self._depth -= 1
        try:
            if self._depth == 0:
                fcntl.flock(self._service, fcntl.LOCK_UN)
        finally:
            self._inside.release()

    def increment_counter(self) -> int:
        """Add one to the counter that all processes share, and return it. Wraps to 0 after 2**32 - 1.

        The caller holds the turnstile. The counter is in shared memory and not durable: a power loss may set
        it back.
        """
        self._counter[0] = self._counter[0] + 1 & 0xFFFF_FFFF
        return self._counter[0]

    def reserve(self) -> bool:
        """Keep other threads of this process out until `release`. False if one of them is inside."""
        return self._inside.acquire(blocking=False)

    def release(self) -> None:
        """Let other threads in again after `reserve` returned True."""
        self._inside.release()

    def close(self) -> None:
        """Close the lock files."""
        self._counter.release()
        self._shared.close()
        os.close(self._queue)
        os.close(self._service)

    def _enter(self) -> None:
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        try:
            end = time.monotonic() + self._patience
            while not self._try_service():
                if time.monotonic() > end:
                    message = f"another process has been writing to {self._database} for too long"
                    raise Busy(message, "end the Handrail process that hangs, then send the same call again")
                time.sleep(_TURNSTILE_POLL_SECONDS)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def _try_service(self) -> bool:
        try:
            fcntl.flock(self._service, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class _ThreadCommits(local):
    """Whether a thread defers the sync of its commits, and whether it has committed anything."""

    later = False
    committed = False


class SqliteFaults:
    """A block that turns SQLite errors of the environment into faults with a repair.

    Programming errors pass unchanged. One instance serves any number of blocks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise the fault for the block's error, if there is one for it."""
        if isinstance(error, sqlite3.DatabaseError):
            fault = _sqlite_fault(self.path, error)
            if fault:
                raise fault from error


def _sqlite_fault(path: Path, error: sqlite3.Error) -> Fault | None:
    code = _error_code(error)
    match code if code == sqlite3.SQLITE_IOERR_SHMSIZE else code & 0xFF:
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR_SHMSIZE:
            return DiskFull(f"there is no room for {path}", "free some space, then send the same call again")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return NotWritable(f"{path} cannot be written", f"make {path.parent} writable for you")
        case sqlite3.SQLITE_IOERR:
            return SyncFailed(f"the disk failed under {path}", "check the disk, then start again")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Busy(f"{path} is locked by another program", "close what has it open, then try again")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return Unreadable(f"{path} is no sound database", "restore a backup, or name another store")
        case _:
            return None


def _error_code(error: sqlite3.Error) -> int:
    """Return SQLite's code for an error.

    Text that is not UTF-8 is found by the driver and has no code: that counts as corruption.
    """
    undecoded = "decode to UTF-8" in str(error)
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT if undecoded else 0))


class DurableWrites(SqliteFaults):
    """A block that writes. No block begins once a sync has failed: what is on the disk is unknown then.

    It also syncs the commits of a batch.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._sync_failed = False
        self._thread = _ThreadCommits()
        self._wal = -1

    def __enter__(self) -> None:
        """Raise `SyncFailed` if an earlier block did."""
        if self._sync_failed:
            message = f"nothing is written to {self.path} since the disk did not confirm a write"
            raise SyncFailed(message, "check the disk, then start again: the store recovers by itself")

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise faults like `SqliteFaults`. After a `SyncFailed` no further block begins."""
        try:
            super().__exit__(kind, error, trace)
        except SyncFailed:
            self._sync_failed = True
            raise

    @contextmanager
    def batch_commits(self) -> Iterator[None]:
        """Sync this thread's commits in the block all at once, at its end.

        Raises `SyncFailed` then if that fails.
        """
        self._thread.later, self._thread.committed = True, False
        try:
            yield
        finally:
            self._thread.later = False
            if self._thread.committed:
                self._confirm()

    def is_deferred(self) -> bool:
        """True if this thread syncs its commits later."""
        return self._thread.later

    def note_commit(self) -> None:
        """Remember that this thread has committed something."""
        self._thread.committed = True

    def close(self) -> None:
        """Close the WAL."""
        if self._wal >= 0:
            os.close(self._wal)
            self._wal = -1

    def _confirm(self) -> None:
        try:
            if self._wal < 0:
                self._wal = os.open(f"{self.path}-wal", os.O_RDONLY | os.O_CLOEXEC)
            os.fdatasync(self._wal)
        except OSError as error:
            self._sync_failed = True
            raise errors.build_sync_fault(f"{self.path}-wal", error) from error


_PRAGMAS: Final = (
    "PRAGMA page_size = 1024",
    "PRAGMA busy_timeout = 30000",
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA wal_autocheckpoint = 16000",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA mmap_size = 0",
)
"""Settings of every connection.

Pages are small because a turn changes a few rows on each of many pages: it writes 30 KiB instead of 83. A
file keeps the page size that it was created with.
"""


def prepare_database(path: Path) -> Turnstile:
    """Create or migrate the database and return its turnstile."""
    turnstile = create_database_file(path)
    try:
        with turnstile.pass_through(), SqliteFaults(path):
            connection = open_connection(path)
            try:
                _migrate_schema(connection, path)
            finally:
                connection.close()
    except BaseException:
        turnstile.close()
        raise
    return turnstile


def open_connection(path: Path, *, reads_only: bool = False) -> sqlite3.Connection:
    """Open a connection to an existing database. Transactions are begun and ended by hand."""
    connection = sqlite3.connect(
        path, timeout=30, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        for pragma in (*_PRAGMAS, "PRAGMA query_only = ON") if reads_only else _PRAGMAS:
            connection.execute(pragma)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def create_database_file(path: Path) -> Turnstile:
    """Create the file if needed and return its turnstile. Only the owner can read them.

    Raises `NotWritable` if other users could replace the file, and `DiskFull`.
    """
    try:
        for folder in [*reversed(path.parent.parents), path.parent]:
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
        if stat.S_IMODE(path.parent.stat().st_mode) & 0o022:
            repair = f"chmod go-w {path.parent}"
            raise NotWritable(f"others may replace files in {path.parent}", repair)
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        regular = stat.S_ISREG(os.fstat(opened).st_mode)
        os.close(opened)
        if not regular:
            raise NotWritable(f"{path} is no regular file", "name another with --store or HANDRAIL_STORE")
        return Turnstile(path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"there is no room for {path}", "free some space") from error
        repair = f"make {path.parent} a folder that you may write, or name another with HANDRAIL_STORE"
        raise NotWritable(f"{path} cannot be opened: {error.strerror}", repair) from error


def _migrate_schema(connection: sqlite3.Connection, path: Path) -> None:
    version = check_schema_version(connection, path)
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
    for number, script in enumerate(load_migrations()[version:], start=version + 1):
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{script}\n"
            f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {number};\nCOMMIT;"
        )


def check_schema_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema version of the file.

    Raises `NewerFormat` if this program is too old, `Unreadable` if the file is not ours or an unfinished
    copy.
    """
    if copied := read_copy_mark(connection):
        raise unfinished_copy_fault(path, copied[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    known = len(load_migrations())
    if version > known:
        message = f"{path} has schema {version}, this program knows {known}"
        raise NewerFormat(message, "update Handrail, or name another store with HANDRAIL_STORE")
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    if (version > 0) != (owner == APPLICATION_ID) or (version == 0 and _has_tables(connection)):
        raise Unreadable(f"{path} is a database of another program", "name another file with HANDRAIL_STORE")
    return version


def read_copy_mark(connection: sqlite3.Connection) -> tuple[str, int] | None:
    """Return the source and schema version of an unfinished copy; None if the file is not one."""
    query = "SELECT 1 FROM sqlite_schema WHERE name = 'handrail_copy'"
    if connection.execute(query).fetchone() is None:
        return None
    source, version = connection.execute("SELECT source, version FROM handrail_copy").fetchone()
    return source, version


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is not None


CHECKPOINT_AFTER_COMMITS: Final = 64
"""After so many commits by all processes, the process of the last one writes the WAL to the database.

The count is shared. When each process counted 128 commits of its own, eight equal ones reached it all at
once. By then SQLite had just done it inside a turn, which took 20 to 30 ms.
"""


class WriteTransactions:
    """The transactions of a connection, one at a time: committed if a block succeeds, else rolled back.

    Errors of a block, and of beginning and ending it, become the faults of `disk`. `due` is True if this
    process should write the WAL to the database.
    """

    def __init__(self, turnstile: Turnstile, disk: DurableWrites, writer: sqlite3.Connection) -> None:
        self.due = False
        self._turnstile, self._disk, self._writer = turnstile, disk, writer
        self._version = len(load_migrations())
        self._later = False

    def __enter__(self) -> Execute:
        """Pass the turnstile and begin."""
        self._turnstile.__enter__()
        try:
            with self._disk:
                self._set_sync_mode(later=self._disk.is_deferred())
                self._begin()
        except BaseException:
            self._turnstile.__exit__()
            raise
        return self._writer.execute

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Commit, or roll back if the block raised."""
        try:
            if error is None:
                with self._disk:
                    self._commit()
                self._disk.note_commit()
                if self._turnstile.increment_counter() % CHECKPOINT_AFTER_COMMITS == 0:
                    self.due = True
            else:
                with self._disk:
                    self._roll_back()
                self._disk.__exit__(kind, error, trace)
        finally:
            self._turnstile.__exit__()

    def _set_sync_mode(self, *, later: bool) -> None:
        """Set whether a commit waits for the disk. This is a setting of the connection."""
        if later is not self._later:
            self._writer.execute(f"PRAGMA synchronous = {'NORMAL' if later else 'FULL'}")
            self._later = later

    def _begin(self) -> None:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            self._check_schema()
        except BaseException:
            self._roll_back()
            raise

    def _check_schema(self) -> None:
        """Raise `NewerFormat` if a newer program has changed the schema since this one opened the file."""
        version = self._writer.execute("PRAGMA user_version").fetchone()[0]
        if version != self._version:
            message = f"a newer Handrail has brought {self._disk.path} to schema {version}"
            raise NewerFormat(message, "update Handrail here too, and start it again")

    def _commit(self) -> None:
        try:
            self._writer.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")


class LocalChangeListener:
    """`ChangeListener` of a file: it hears this process only; other processes are found by polling."""

    def __init__(self) -> None:
        self._woken = Event()

    def wait(self, seconds: float) -> bool:
        """Wait until `wake` is called or the time is up. Always False: an open file loses nothing."""
        self._woken.wait(seconds)
        self._woken.clear()
        return False

    def wake(self) -> None:
        """End the wait."""
        self._woken.set()

    def close(self) -> None:
        """Do nothing."""


class SqliteDatabase:
    """The connections to one file. A block that writes excludes all other processes until it ends.

    Once a sync has failed, nothing more is written: the process must be restarted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.turnstile, self._writer = _open_writer(path)
        self._readers: list[tuple[Thread, sqlite3.Connection]] = []
        self._thread = local()
        self._closed = False
        self._faults, self._disk = SqliteFaults(path), DurableWrites(path)
        self._transactions = WriteTransactions(self.turnstile, self._disk, self._writer)
        found = path.stat()
        self._file = (found.st_dev, found.st_ino)

    def sql(self, file: str = "queries.sql") -> Mapping[str, str]:
        """Return the statements of a file by name."""
        return load_queries(file)

    def transaction(self) -> AbstractContextManager[Execute]:
        """Open a transaction: committed when the block succeeds, rolled back when it raises."""
        return self._transactions

    def batch_commits(self) -> AbstractContextManager[None]:
        """Sync this thread's commits in the block all at once, at its end."""
        return self._disk.batch_commits()

    @contextmanager
    def read(self) -> Iterator[Execute]:
        """Yield this thread's read-only connection. Each statement sees what is committed."""
        with self._faults:
            yield self.reader().execute

    @contextmanager
    def snapshot(self) -> Iterator[Execute]:
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
        """Return the rows of a fast statement. It sees what is committed.

        It uses the writing connection if that is free: other connections drop their cached pages after each
        commit.
        """
        free = self.turnstile.reserve()
        try:
            with self._faults:
                return (self._writer if free else self.reader()).execute(statement, values).fetchall()
        finally:
            if free:
                self.turnstile.release()

    def hold_run(self, run: str) -> AbstractContextManager[None]:  # noqa: ARG002 - one lock for all runs
        """Hold the turnstile, so that nobody else commits anything."""
        return self.turnstile.pass_through()

    def elect(self, task: str) -> AbstractContextManager[bool]:  # noqa: ARG002 - every process does every task
        """Yield True for every process: there are few, and a task done twice changes nothing."""
        return nullcontext(enter_result=True)

    def data_version(self) -> int:
        """Return SQLite's data version. It is kept per connection."""
        with self.read() as execute:
            return int(execute("PRAGMA data_version", ()).fetchone()[0])

    def last_settled_entry(self) -> int:
        """Return the last entry's number. SQLite numbers entries in the order of commits."""
        return int(self.peek(load_queries()["last_event"], ())[0][0])

    def open_listener(self) -> ChangeListener:
        """Return a listener for the writes of this process."""
        return LocalChangeListener()

    def size(self) -> int:
        """Return how many bytes the file and its WAL take."""
        files = (self.path, Path(f"{self.path}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def vacuum(self) -> None:
        """Give unused space back. Nobody else writes meanwhile."""
        with self.turnstile.pass_through(), self._faults:
            for statement in ("VACUUM", "ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)"):
                self._writer.execute(statement).fetchall()

    def find_damage(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the file, and rows whose parent row is missing."""
        try:
            with self.snapshot() as execute:
                found = [text for (text,) in execute("PRAGMA integrity_check(100)", ()) if text != "ok"]
                lost = execute("PRAGMA foreign_key_check", ()).fetchall()
        except Unreadable as fault:
            yield "file", fault.message
            return
        yield from (("file", text) for text in found)
        for table, _, parent, _ in lost:
            yield "reference", f"a row of {table} belongs to none of {parent}"

    def check_reachable(self) -> None:
        """Raise `Missing` if the path no longer holds the opened file, or the fault of reading it."""
        try:
            seen = self.path.stat()
        except OSError as error:
            raise self._missing_fault(error.strerror or "gone") from error
        if (seen.st_dev, seen.st_ino) != self._file:
            raise self._missing_fault("it is another file now")
        with self.read() as execute:
            execute("SELECT count(*) FROM sqlite_schema", ()).fetchone()

    def reader(self) -> sqlite3.Connection:
        """Return this thread's connection for reading."""
        found = getattr(self._thread, "reader", None)
        if not isinstance(found, sqlite3.Connection):
            with self.turnstile.pass_through():
                self._close_readers(lambda thread: not thread.is_alive())
                found = self._thread.reader = open_connection(self.path, reads_only=True)
                self._readers.append((current_thread(), found))
        return found

    def do_idle_work(self) -> None:
        """Write the WAL to the database if many commits have been made since."""
        if self._transactions.due:
            self._transactions.due = False
            with self.turnstile.pass_through(), self._disk:
                self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def writer_connection(self) -> sqlite3.Connection:
        """Return the writing connection. The caller holds the turnstile and needs no transaction."""
        return self._writer

    def close(self) -> None:
        """Close every connection while nobody else commits. Safe to call again."""
        if self._closed:
            return
        self._closed = True
        # SQLite 3.7.0 to 3.51.2 can lose a commit when one connection resets the WAL while another commits.
        # So every commit, checkpoint and close passes the turnstile.
        with self.turnstile.pass_through(), self._faults:
            self._close_readers(lambda _: True)
            self._writer.close()
        self._disk.close()
        self.turnstile.close()

    def _missing_fault(self, why: str) -> Missing:
        return Missing(f"{self.path} cannot be read: {why}", "put the store back, or start Handrail again")

    def _close_readers(self, whose: Callable[[Thread], bool]) -> None:
        """Close the connections of these threads. The caller holds the turnstile."""
        gone = [reader for thread, reader in self._readers if whose(thread)]
        self._readers = [kept for kept in self._readers if kept[1] not in gone]
        for reader in gone:
            reader.close()


def _open_writer(path: Path) -> tuple[Turnstile, sqlite3.Connection]:
    """Prepare the file. Return its turnstile and the connection that writes."""
    turnstile = prepare_database(path)
    try:
        with turnstile.pass_through(), SqliteFaults(path):
            return turnstile, open_connection(path)
    except Fault:
        turnstile.close()
        raise


_CACHE_PRAGMA: Final = "PRAGMA cache_size = -65536"
"""A cache of 64 MiB."""

_ROWS_PER_STATEMENT: Final = 16
"""How many rows one statement inserts. This takes SQLite half the time of one row each."""


@contextmanager
def open_copy_target(path: Path, source: str) -> Iterator["SqliteCopyTarget"]:
    """Open the file that a store is copied into: new, or left by an earlier copy of the same source.

    Nobody else opens it during the block. Raises `NotWritable` if it is a store, `Unreadable` if it is
    anything else.
    """
    turnstile = create_database_file(path)
    try:
        with turnstile.pass_through(), SqliteFaults(path), closing(open_connection(path)) as connection:
            continued = _begin_copy(connection, path, source)
            yield SqliteCopyTarget(connection, continued=continued)
    finally:
        turnstile.close()


class SqliteCopyTarget:
    """`CopyTarget` in SQLite."""

    def __init__(self, connection: sqlite3.Connection, *, continued: bool) -> None:
        self._connection = connection
        self.continued = continued
        connection.execute(_CACHE_PRAGMA)

    def sql(self, file: str) -> Mapping[str, str]:
        """Return the statements of a file by name."""
        return load_queries(file)

    def execute(self, statement: str, values: Sequence[Any]) -> QueryResult:
        """Run a query."""
        return self._connection.execute(statement, values)

    def put(self, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Insert these rows, all or none."""
        many, one = (_insert_statement(table, count) for count in (_ROWS_PER_STATEMENT, 1))
        whole = len(rows) - len(rows) % _ROWS_PER_STATEMENT
        groups = (rows[start : start + _ROWS_PER_STATEMENT] for start in range(0, whole, _ROWS_PER_STATEMENT))
        with self._transaction():
            try:
                self._connection.executemany(many, (tuple(chain.from_iterable(group)) for group in groups))
                self._connection.executemany(one, rows[whole:])
            except sqlite3.IntegrityError as error:
                raise bad_row_fault(table, error) from error

    def clear(self) -> None:
        """Delete every row."""
        with self._transaction():
            for table in reversed(list_tables()):
                self._connection.execute(f"DELETE FROM {table.name}")  # noqa: S608 - names of our tables

    def finish(self) -> None:
        """Turn the copy into a store, atomically. Creating the indexes last is faster than row by row."""
        with self._transaction():
            for statement in list_indexes().values():
                self._connection.execute(statement)
            self._connection.execute("DROP TABLE handrail_copy")
            self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._connection.execute(f"PRAGMA user_version = {len(load_migrations())}")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run the block in a transaction."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def _insert_statement(table: Table, count: int) -> str:
    """Return the statement that inserts so many rows."""
    places = f"({', '.join('?' * len(table.columns))})"
    return f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES {', '.join([places] * count)}"  # noqa: S608 - names of our tables


def _begin_copy(connection: sqlite3.Connection, path: Path, source: str) -> bool:
    """Create the tables without indexes, and the copy mark. Return True if that was done before."""
    found = read_copy_mark(connection)
    if found:
        check_resumable(path, source, found, len(load_migrations()))
        return True
    if check_schema_version(connection, path):
        raise occupied_fault(path)
    connection.execute("PRAGMA journal_mode = WAL")
    (quoted,) = connection.execute("SELECT quote(?)", (source,)).fetchone()
    drop_indexes = [f"DROP INDEX {name};" for name in list_indexes()]
    clear_tables = [f"DELETE FROM {table.name};" for table in list_tables()]  # noqa: S608 - names of our tables
    mark = f"{CREATE_COPY_MARK}; INSERT INTO handrail_copy VALUES ({quoted}, {len(load_migrations())});"  # noqa: S608 - quoted by SQLite
    connection.executescript(
        "\n".join(("BEGIN IMMEDIATE;", *load_migrations(), *drop_indexes, *clear_tables, mark, "COMMIT;"))
    )
    return False
