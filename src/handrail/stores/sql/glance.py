"""The runs of a project at a glance: one connection that can only read, one question, no other import.

A connection that was opened to read only never resets the WAL, so it needs no turnstile.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from handrail.shell.faults import Unreadable
from handrail.shell.glances import MOST, Inspected, Standing

APPLICATION: Final = 0x48524C31
"""Written into the file, so that no other database is taken for one of ours."""

_SECONDS: Final = 0.5
_RUNS: Final = """
SELECT r.execution_id AS id, r.workflow_name AS workflow, r.state AS lifecycle,
  coalesce(r.current_step, '') AS state, r.face, r.authority, p.root AS project, r.goal,
  CAST(strftime('%s', r.active_at) AS REAL) AS active, r.waiting = 1 AS waiting, r.record,
  coalesce(CAST(d.text AS TEXT), '') AS definition,
  coalesce((SELECT e.metadata FROM events AS e
    WHERE e.run = r.k AND e.event_type = 'error_occurred' AND e.step_name = r.current_step
    ORDER BY e.id DESC LIMIT 1), '') AS refused
FROM runs AS r JOIN projects AS p ON p.project_id = r.project_id
  LEFT JOIN definitions AS d ON d.digest = r.digest
WHERE r.state IN ('running', 'paused') AND p.root = ?
ORDER BY r.active_at DESC, r.k DESC LIMIT ?
"""
_KEY: Final = "SELECT value FROM settings WHERE name = 'token_key'"


def glanced(path: Path, roots: Sequence[str]) -> tuple[Standing, ...]:
    """The runs under way in the first of these folders that has any; none if there is no store yet."""
    if not path.is_file():
        return ()
    with _opened(path) as connection:
        for root in roots:
            if found := connection.execute(_RUNS, (root, MOST)).fetchall():
                return tuple(Standing(**dict(row)) for row in found)
    return ()


def key(path: Path) -> bytes:
    """The key that this store signs with; empty if there is no store yet."""
    if not path.is_file():
        return b""
    with _opened(path) as connection:
        return bytes(connection.execute(_KEY).fetchone()[0])


def inspected(path: Path) -> Inspected | None:
    """What is to be said of a file without changing it; None if there is none yet.

    Raises `Unreadable` if nothing can be said.
    """
    if not path.is_file():
        return None
    known = len([name for name in (Path(__file__).parent / "migrations").iterdir() if name.suffix == ".sql"])
    with _opened(path) as connection:
        owner, version, journal = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version", "journal_mode")
        )
        flaws = [row[0] for row in connection.execute("PRAGMA quick_check(5)")]
    wrong = tuple(flaws) if flaws != ["ok"] else ()
    ours, kept = owner == APPLICATION, f"journal {journal}"
    return Inspected(str(path), version, known, kept, ours, path, journal == "wal", wrong)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_SECONDS)) as connection:
            connection.row_factory = sqlite3.Row
            yield connection
    except sqlite3.Error as error:
        repair = "restore a backup of it, or name another with HANDRAIL_STORE"
        raise Unreadable(f"{path} cannot be asked: {error}", repair) from error
