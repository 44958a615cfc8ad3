"""Stores with many runs: filled once for all benchmarks that `tools/bench` runs.

It names a folder for them in `HANDRAIL_BENCH_KEPT`. Without one they go with whoever has made them.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from fill import fill
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.stores.sql.summaries import SqlMeasures
from stage import Stage, stage

LARGE: Final = int(os.environ.get("HANDRAIL_BENCH_RUNS", "1000000"))
"""How many runs are many."""

LIVE: Final = 2000
"""How many runs there are whose turns can be taken."""

_PIECE: Final = 1 << 24


@contextmanager
def shelf() -> Iterator[Path]:
    """The folder in which stores are kept for others, or one of this block."""
    named = os.environ.get("HANDRAIL_BENCH_KEPT")
    if named:
        yield Path(named)
        return
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@contextmanager
def store(path: Path, runs: int, live: int = LIVE) -> Iterator[Stage]:
    """A store with so many runs that ended, and between them so many whose turns are taken; all is folded.

    One that is there already is taken as its last user has left it. Either is in the memory of the system,
    and nothing that was written before is left to be written to the disk.
    """
    notes = path.with_suffix(".json")
    if not notes.exists():
        notes.write_text(json.dumps(_made(path, runs, live)), "utf-8")
    with path.open("rb") as file:
        while file.read(_PIECE):
            pass
    os.sync()
    play = stage(SqliteDatabase(path), json.loads(notes.read_text("utf-8")))
    with closing(play.database):
        try:
            yield play
        finally:
            notes.write_text(json.dumps(play.tokens), "utf-8")


def _made(path: Path, runs: int, live: int) -> dict[str, str]:
    """Make it; the tokens of the runs whose turns are taken."""
    play = stage(SqliteDatabase(path))
    with closing(play.database):
        play.database.writer_connection().execute("PRAGMA synchronous = OFF")
        play.start(live)
    if runs:
        fill(path, runs, runs // live)
    with closing(SqliteDatabase(path)) as database:
        database.writer_connection().execute("PRAGMA synchronous = OFF")
        SqlMeasures(database).fold()
    return play.tokens
