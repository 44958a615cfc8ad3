"""Opening a database: safe permissions, WAL, and migrations, all while nobody else passes the turnstile.

SQLite before 3.51.3 can lose a commit when one connection resets the WAL while another commits. So every
commit, checkpoint and close of ours passes the turnstile, and the racing steps cannot meet.
"""

import errno
import os
import sqlite3
import stat
from pathlib import Path
from typing import Final

from handrail.shell.faults import Busy, DiskFull, Fault, Newer, NotWritable, SyncFailed, Unreadable
from handrail.stores.sql.reader import APPLICATION
from handrail.stores.sql.shape import unfinished
from handrail.stores.sql.text import migrations
from handrail.stores.sql.turnstile import Turnstile

_PRAGMAS: Final = (
    "PRAGMA page_size = 1024",
    "PRAGMA busy_timeout = 30000",
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA wal_autocheckpoint = 16000",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA mmap_size = 0",
)
"""Pages are small, since a turn changes a few rows on each of many: it writes 30 KiB where it wrote 83.

A file keeps the size of page that it was made with.
"""


def prepared(path: Path) -> Turnstile:
    """The turnstile of a database that is there, ours, and of this program's schema."""
    turnstile = made(path)
    try:
        with turnstile.passed(), Faults(path):
            connection = connect(path)
            try:
                _migrate(connection, path)
            finally:
                connection.close()
    except BaseException:
        turnstile.close()
        raise
    return turnstile


def connect(path: Path, *, reads_only: bool = False) -> sqlite3.Connection:
    """A connection to a database that is there; transactions are begun and ended by hand."""
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


class Faults:
    """A block in which what SQLite raises for the world's doing gets its name and its repair.

    Our own mistakes pass. One is enough for any number of blocks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        """Nothing is needed before."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raises the fault that the error of the block stands for, if it is one of the world's."""
        if isinstance(error, sqlite3.DatabaseError):
            fault = _fault(self.path, error)
            if fault:
                raise fault from error


def _fault(path: Path, error: sqlite3.Error) -> Fault | None:
    code = _code(error)
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


def _code(error: sqlite3.Error) -> int:
    """SQLite's number for an error; one for a text that is not UTF-8, which only the driver finds."""
    undecoded = "decode to UTF-8" in str(error)
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT if undecoded else 0))


def made(path: Path) -> Turnstile:
    """The file and its turnstile: only its owner may read them, and only its owner may replace them."""
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


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    version = check_version(connection, path)
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
    for number, script in enumerate(migrations()[version:], start=version + 1):
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{script}\n"
            f"PRAGMA application_id = {APPLICATION};\nPRAGMA user_version = {number};\nCOMMIT;"
        )


def check_version(connection: sqlite3.Connection, path: Path) -> int:
    """The schema version of the file.

    Raises `Newer` if this program is too old, `Unreadable` if it is not ours, or not a whole copy yet.
    """
    if copied := half(connection):
        raise unfinished(path, copied[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    known = len(migrations())
    if version > known:
        message = f"{path} has schema {version}, this program knows {known}"
        raise Newer(message, "update Handrail, or name another store with HANDRAIL_STORE")
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    if (version > 0) != (owner == APPLICATION) or (version == 0 and _has_tables(connection)):
        raise Unreadable(f"{path} is a database of another program", "name another file with HANDRAIL_STORE")
    return version


def half(connection: sqlite3.Connection) -> tuple[str, int] | None:
    """What the file is an unfinished copy of, and by which schema; None if it is none."""
    named = "SELECT 1 FROM sqlite_schema WHERE name = 'handrail_copy'"
    if connection.execute(named).fetchone() is None:
        return None
    source, version = connection.execute("SELECT source, version FROM handrail_copy").fetchone()
    return source, version


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is not None
