"""Everything that a store holds, and what a call has changed of it; only sums over the rest are left out."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

Rows: TypeAlias = Mapping[tuple[Any, ...], Mapping[str, Any]]
"""The rows of a table by their keys."""

_SUMS: Final = ("folded", "summary_", "sqlite_")


@dataclass(frozen=True, slots=True)
class StoreContents:
    """All tables."""

    tables: Mapping[str, Rows]

    def revision(self, run: str) -> int:
        """How often the run has moved; 0 if it is not there."""
        return int(self._run(run).get("revision", 0))

    def state(self, run: str) -> str:
        """The lifecycle of a run."""
        return str(self._run(run).get("state", "idle"))

    def runs(self) -> set[str]:
        """The ids of all runs."""
        return {row["execution_id"] for row in self.tables["runs"].values()}

    def _run(self, run: str) -> Mapping[str, Any]:
        found = (row for row in self.tables["runs"].values() if row["execution_id"] == run)
        return next(found, {})


def read_store_contents(store: Path) -> StoreContents:
    """What the store holds now."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as database:
        database.execute("BEGIN")
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return StoreContents({name: _rows(database, name) for name in names if not name.startswith(_SUMS)})


def _rows(database: sqlite3.Connection, table: str) -> Rows:
    columns = database.execute(f"PRAGMA table_info({table})").fetchall()
    names = [column[1] for column in columns]
    keys = [number for number, column in enumerate(columns) if column[5]]
    found = database.execute(f"SELECT * FROM {table}")  # noqa: S608 - the name is the schema's own
    return {tuple(row[n] for n in keys): dict(zip(names, row, strict=True)) for row in found}


def list_changes(before: StoreContents, after: StoreContents) -> dict[str, int]:
    """What is different now, and how often: `+table`, `-table` or `table.column`; entries by their kind."""
    found = (change for name in after.tables for change in _changed(name, before, after))
    return dict(sorted(Counter(found).items()))


def _changed(table: str, before: StoreContents, after: StoreContents) -> Iterator[str]:
    old, new = before.tables[table], after.tables[table]
    for key in old.keys() | new.keys():
        if key not in new:
            yield f"-{table}"
        elif key not in old:
            yield f"+{new[key]['event_type']}" if table == "events" else f"+{table}"
        else:
            yield from (f"{table}.{name}" for name, value in new[key].items() if old[key][name] != value)


REFUSED: Final = {"+error_occurred": 1}
EXPIRED: Final = {"+error_occurred": 1, "+token_expired": 1, "+token_generated": 1, "steps.token": 1}
FRESH: Final = {"+token_generated": 1, "steps.token": 1}


def list_visible_changes(before: StoreContents, after: StoreContents) -> dict[str, int]:
    """The same without the stamp of activity: any call on a run may set it."""
    return {
        change: count for change, count in list_changes(before, after).items() if change != "runs.active_at"
    }
