"""What a turn writes: the bytes that go to the WAL, and the commits. Counted, so no clock is asked."""

import tempfile
from pathlib import Path

from handrail.stores.sql.sqlite import SqliteDatabase
from rounds import report
from stage import stage
from wal import counted, empty

RUNS, BEFORE, TURNS = 2000, 4000, 150


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        database = SqliteDatabase(Path(folder) / "runs.db")
        database.writer_connection().execute("PRAGMA synchronous = OFF")
        play = stage(database)
        play.start(RUNS)
        pick = play.picked(1)
        for _ in range(BEFORE):
            play.turn(pick())
        empty(database)
        for _ in range(TURNS):
            play.turn(pick())
        wal = counted(database.path)
    report("wal_kib_per_turn", wal.bytes / TURNS / 1024, 36)
    report("commits_per_turn", wal.commits / TURNS, 1)


if __name__ == "__main__":
    main()
