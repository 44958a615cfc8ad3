"""Handrail: a call is one turn in the thread that writes, as a server takes it."""

import sys
from itertools import cycle
from pathlib import Path

from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.stores.sql.writer import Writer
from peers.loop import serve
from peers.work import RUNS
from stage import pg_stage, stage


def main(where: str) -> None:
    """Serve over a file, or over a database of PostgreSQL."""
    remote = where.startswith("postgresql://")
    play = pg_stage(PgDatabase(DatabaseUrl(where))) if remote else stage(SqliteDatabase(Path(where)))
    play.start(RUNS)
    writer, runs = Writer(play.database), cycle(tuple(play.tokens))
    serve(lambda: writer.call(lambda: play.turn(next(runs))))


if __name__ == "__main__":
    main(*sys.argv[1:])
