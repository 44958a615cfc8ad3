"""What a WAL holds: its frames are counted, so the figure is the same on every machine."""

import struct
from dataclasses import dataclass
from pathlib import Path

from handrail.stores.sql.sqlite import SqliteDatabase

_HEADER, _FRAME_HEADER = 32, 24


@dataclass(frozen=True, slots=True)
class Wal:
    """How many pages were written to a WAL, in how many commits, and how many bytes that took."""

    frames: int
    commits: int
    bytes: int


def empty(database: SqliteDatabase) -> None:
    """Begin a new WAL, so that all it holds is what comes next."""
    with database.turnstile.pass_through():
        database.writer_connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def counted(path: Path) -> Wal:
    """What the WAL of a database holds; a frame that ends a commit says how large the database then is."""
    data = path.with_name(f"{path.name}-wal").read_bytes()
    page = struct.unpack_from(">I", data, 8)[0]
    sizes = [
        struct.unpack_from(">I", data, at + 4)[0] for at in range(_HEADER, len(data), _FRAME_HEADER + page)
    ]
    return Wal(len(sizes), sum(size > 0 for size in sizes), len(data) - _HEADER)
