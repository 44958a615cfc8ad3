"""Runs in PostgreSQL: a turn is two round trips, a question and one statement that does all or nothing."""

from typing import Any

from psycopg import errors

from handrail.shell.faults import Busy, NoServer
from handrail.shell.records import REMEMBERED, Turn, check_effects
from handrail.stores.sql import rows
from handrail.stores.sql.postgresql.database import PgDatabase
from handrail.stores.sql.postgresql.pool import Away
from handrail.stores.sql.postgresql.schema import known
from handrail.stores.sql.runs import RunTables
from handrail.stores.sql.text import dumped, stamp


class PgRuns(RunTables):
    """A store of runs in one database, shared by any number of processes on any number of machines."""

    def __init__(self, database: PgDatabase) -> None:
        super().__init__(database)
        self.database = database

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn at one point, if the revision has not moved on.

        If the server was gone before it answered, the turn is tried again: saved twice it cannot be, and by
        what is remembered of it this one is told from another's.
        """
        try:
            return self._save(turn)
        except Away:
            raise
        except NoServer:
            return self._save(turn) or self.spent(turn.run.id, turn.before.revision) == turn.spent

    def _save(self, turn: Turn) -> bool:
        if turn.before.revision and not turn.definition:
            check_effects(turn, on_files=False)
            return bool(self.database.at_once(self._sql["turn"], _values(turn)))
        try:
            return super().commit(turn)
        except Busy as fault:
            if isinstance(fault.__cause__, errors.UniqueViolation):
                return False
            raise


def _values(turn: Turn) -> tuple[Any, ...]:
    """What `turn` is given, in its order."""
    at, run = stamp(turn.at), turn.run
    lines = rows.told(turn.revision, at, turn.entries)
    state, at, metadata, revision, record, _, _, waiting, oldest, digest = rows.moving(turn, at, b"")
    over = run.lifecycle not in rows.LIVE
    return (
        *rows.settled(turn),
        *(state, at, metadata, revision, record, rows.linked(lines), waiting, oldest, digest),
        *(run.id, turn.before.revision, known()),
        *_steps(turn),
        *_artifacts(turn),
        turn.before.revision - REMEMBERED,
        over,
        int(rows.completes(turn)),
        *_columns([(kind, step, agent, metadata) for kind, _, step, agent, metadata, _ in lines], 4),
        *(turn.spent.token, turn.spent.request, turn.spent.reply),
    )


def _steps(turn: Turn) -> tuple[list[Any], ...]:
    """The steps that were closed, those that were opened, and the tokens of the others that are open."""
    opened = {step.number for step in turn.opened}
    closed = [
        (
            step.number,
            str(step.status),
            turn.before.took(step.number, turn.at),
            None if step.output is None else dumped(step.output),
        )
        for step in turn.closed
    ]
    new = [(step.number, step.state, step.agent, turn.tokens.get(step.number)) for step in turn.opened]
    kept = [(number, turn.tokens.get(number)) for number in {step.number for step in turn.run.open} - opened]
    return (*_columns(closed, 4), *_columns(new, 4), *_columns(kept, 2))


def _artifacts(turn: Turn) -> tuple[list[Any], ...]:
    made = [
        (one.id, one.step, one.agent, one.type, one.title, one.description or None, one.content)
        for one in turn.artifacts
    ]
    return _columns(made, 7)


def _columns(lines: list[tuple[Any, ...]], width: int) -> tuple[list[Any], ...]:
    """The lines column by column; so many empty ones if there is no line."""
    return tuple(map(list, zip(*lines, strict=True))) if lines else tuple([] for _ in range(width))
