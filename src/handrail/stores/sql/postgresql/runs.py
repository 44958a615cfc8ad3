"""Runs in PostgreSQL: a turn is two round trips, a question and one statement that does all or nothing."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from psycopg import errors

from handrail.shell.faults import Busy, NoServer
from handrail.shell.records import REMEMBERED, Turn, check_effects, number_of
from handrail.stores.sql import rows
from handrail.stores.sql.postgresql.arrays import Numbers, Texts
from handrail.stores.sql.postgresql.database import PgDatabase
from handrail.stores.sql.postgresql.dialect import statements
from handrail.stores.sql.postgresql.pool import Away
from handrail.stores.sql.postgresql.schema import known
from handrail.stores.sql.runs import RunTables
from handrail.stores.sql.text import dumped, stamp

Column: TypeAlias = Numbers | Texts
_ENTRY: Final = (Texts,) * 4


class PgRuns(RunTables):
    """A store of runs in one database, shared by any number of processes on any number of machines."""

    def __init__(self, database: PgDatabase) -> None:
        super().__init__(database)
        self.database = database

    def _asked(self, name: str) -> str:
        """A name with NUL is nobody's either."""
        return super()._asked(name).replace("\0", "\ufffd")

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
            return bool(self.database.at_once(_statement(*_parts(turn)), _values(turn)))
        try:
            return super().commit(turn)
        except Busy as fault:
            if isinstance(fault.__cause__, errors.UniqueViolation):
                return False
            raise


@cache
def _statement(*parts: str) -> str:
    """A turn that does, besides what each does, what these parts are for."""
    return "\n".join(statements()[part] for part in ("turn", *parts, "turn_end"))


def _parts(turn: Turn) -> Iterator[str]:
    """The parts that this turn needs, in their order; the server would get each ready for nothing else."""
    opened = set(map(number_of, turn.opened))
    if any(number_of(step) not in opened for step in turn.run.open):
        yield "turn_renews"
    if turn.artifacts:
        yield "turn_makes"
    if turn.before.revision >= REMEMBERED:
        yield "turn_forgets"
    if turn.run.lifecycle not in rows.LIVE:
        yield "turn_ends"


def _values(turn: Turn) -> tuple[Any, ...]:
    """What a turn is given, in its order, whatever its parts are."""
    at, run = stamp(turn.at), turn.run
    lines = rows.told(turn.revision, at, turn.entries)
    state, at, metadata, revision, record, _, _, waiting, oldest, digest = rows.moving(turn, at, b"")
    return (
        *rows.settled(turn),
        *(state, at, metadata, revision, record, rows.linked(lines), waiting, oldest, digest),
        *(run.id, turn.before.revision, known()),
        *_steps(turn),
        *_artifacts(turn),
        turn.before.revision - REMEMBERED,
        int(rows.completes(turn)),
        *_columns([(kind, step, agent, metadata) for kind, _, step, agent, metadata, _ in lines], _ENTRY),
        *(turn.spent.token, turn.spent.request, turn.spent.reply),
    )


def _steps(turn: Turn) -> Iterator[Column]:
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
    yield from _columns(closed, (Numbers, Texts, Numbers, Texts))
    yield from _columns(new, (Numbers, Texts, Texts, Texts))
    yield from _columns(kept, (Numbers, Texts))


def _artifacts(turn: Turn) -> Iterator[Column]:
    made = [
        (one.id, one.step, one.agent, one.type, one.title, one.description or None, one.content)
        for one in turn.artifacts
    ]
    return _columns(made, (Texts,) * 7)


def _columns(lines: list[tuple[Any, ...]], kinds: Sequence[type[Column]]) -> Iterator[Column]:
    """The lines column by column, each of its kind; empty ones if there is no line."""
    columns = zip(*lines, strict=True) if lines else ((),) * len(kinds)
    return (kind(column) for kind, column in zip(kinds, columns, strict=True))
