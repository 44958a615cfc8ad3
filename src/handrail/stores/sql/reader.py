"""A SQLite store opened to read only: for hooks, `brief` and `doctor`, which make and change nothing.

A connection that was opened to read only never resets the WAL, so it needs no turnstile.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from handrail.shell.faults import Unreadable
from handrail.shell.view import ReadOnlyStore, StoreReport
from handrail.stores.sql.questions import SqlRecords
from handrail.stores.sql.tables import Execute
from handrail.stores.sql.text import migrations, queries

APPLICATION: Final = 0x48524C31
"""Written into the file, so that no other database is taken for one of ours."""

KEY: Final = "token_key"
"""The name of the setting that is the key of a store."""

_SECONDS: Final = 0.5
"""How long a hook waits for a file that another program has locked."""


class FileReader:
    """The tables of a file that is there; whatever SQLite says against reading them raises `Unreadable`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        address = f"file:{quote(str(path.absolute()))}?mode=ro"
        with self._faults():
            self._connection = sqlite3.connect(address, uri=True, timeout=_SECONDS, isolation_level=None)

    def sql(self, file: str = "queries.sql") -> Mapping[str, str]:
        """The statements of a file, by name."""
        return queries(file)

    @contextmanager
    def read(self) -> Iterator[Execute]:
        """A block that only asks; each statement sees what is committed."""
        with self._faults():
            yield self._connection.execute

    @contextmanager
    def seen(self) -> Iterator[Execute]:
        """Like `read`, but every statement of the block sees the same moment."""
        with self.read() as execute:
            execute("BEGIN", ())
            try:
                yield execute
            finally:
                execute("ROLLBACK", ())

    def settled(self) -> int:
        """The last entry: they are numbered in the order of commits."""
        with self.read() as execute:
            return int(execute(queries()["last_event"], ()).fetchone()[0])

    def key(self) -> bytes:
        """The key that this store signs with; empty if it has none yet."""
        with self.read() as execute:
            found = execute(queries()["setting"], (KEY,)).fetchone()
        return bytes(found[0]) if found else b""

    def report(self) -> StoreReport:
        """What the doctor says about the file."""
        with self.read() as execute:
            owner, version, journal = (
                execute(f"PRAGMA {name}", ()).fetchone()[0]
                for name in ("application_id", "user_version", "journal_mode")
            )
            flaws = [row[0] for row in execute("PRAGMA quick_check(5)", ())]
        wrong = tuple(flaws) if flaws != ["ok"] else ()
        ours, kept, known = owner == APPLICATION, f"journal {journal}", len(migrations())
        return StoreReport(str(self.path), version, known, kept, ours, self.path, journal == "wal", wrong)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            repair = "restore a backup of it, or name another with HANDRAIL_STORE"
            raise Unreadable(f"{self.path} cannot be asked: {error}", repair) from error


@contextmanager
def open_read_only(path: Path) -> Iterator[ReadOnlyStore | None]:
    """The store in a file, until the block ends; None if there is no such file."""
    if not path.is_file():
        yield None
        return
    with closing(FileReader(path)) as reader:
        yield ReadOnlyStore(SqlRecords(reader), reader.key, reader.report)
