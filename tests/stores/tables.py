"""A database as a whole: every row of it, before and after."""

from typing import Any

from handrail.stores.sql.runs import SqliteRuns

TABLES = ("settings", "definitions", "projects", "runs", "steps", "artifacts", "events", "replies")


def everything(runs: SqliteRuns) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    ask = runs.database.reader().execute
    named = [name for (name,) in ask("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    assert set(named) >= set(TABLES)
    return {name: ask(f"SELECT * FROM {name}").fetchall() for name in named}  # noqa: S608 - names of our tables


def changed(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> list[str]:
    """The tables that are not as they were."""
    return [name for name in before if before[name] != after[name]]
