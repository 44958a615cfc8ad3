"""Store runs in PostgreSQL: a turn takes two round trips, one query and one statement that saves everything.

The statement is put together from the parts in `queries.sql` that the turn needs.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from psycopg import errors

from handrail.runtime.errors import Busy, NoServer
from handrail.runtime.records import MAX_RECORDED_CALLS, Turn, get_step_number
from handrail.stores.sql import rows
from handrail.stores.sql.postgres import schema
from handrail.stores.sql.postgres.connections import NumberArray, ServerUnreachable, TextArray
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.rows import dump_json, format_time
from handrail.stores.sql.runs import BaseSqlRuns
from handrail.stores.sql.store import StoreKind

ArrayColumn: TypeAlias = NumberArray | TextArray
WRITER_THREADS: Final = 6
# How many seconds pass between two looks for changes that were not notified.
POLL_SECONDS: Final = 1.0


class PgRuns(BaseSqlRuns):
    """A store of runs in one database, shared by any number of processes on any number of machines."""

    def __init__(self, database: PgDatabase) -> None:
        super().__init__(database)
        self.database = database

    def _query_text(self, name: str) -> str:
        """Replace NUL too: PostgreSQL cannot hold it, so no stored name has it."""
        return super()._query_text(name).replace("\0", "\ufffd")

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn atomically. Return False if the revision has changed.

        If the server was gone before it answered, this tries again. A turn cannot be saved twice, and its
        recorded call shows whether the saved turn is this one.
        """
        try:
            return self._save(turn)
        except ServerUnreachable:
            raise
        except NoServer:
            saved = self._save(turn)
            return saved or self.find_recorded_call(turn.run.id, turn.before.revision) == turn.spent

    def _save(self, turn: Turn) -> bool:
        """Save a turn: in one statement, or for a run's first turn and new definitions in a transaction."""
        if turn.before.revision and not turn.definition:
            rows.check_effects(turn)
            statement = _turn_statement(*_turn_parts(turn))
            return bool(self.database.execute_transaction(statement, _turn_values(turn)))
        try:
            return super().commit(turn)
        except Busy as fault:
            if isinstance(fault.__cause__, errors.UniqueViolation):
                return False
            raise


@cache
def _turn_statement(*parts: str) -> str:
    """Return the statement that saves a turn with these optional parts."""
    return "\n".join(schema.load_statements()[part] for part in ("turn", *parts, "turn_end"))


def _turn_parts(turn: Turn) -> Iterator[str]:
    """Yield the parts that this turn needs, in order. The server would also plan parts that do nothing."""
    opened = set(map(get_step_number, turn.opened))
    if any(get_step_number(step) not in opened for step in turn.run.open):
        yield "turn_renews"
    if turn.artifacts:
        yield "turn_makes"
    if turn.before.revision >= MAX_RECORDED_CALLS:
        yield "turn_forgets"
    if turn.run.lifecycle not in rows.LIVE_LIFECYCLES:
        yield "turn_ends"


def _turn_values(turn: Turn) -> tuple[Any, ...]:
    """Return the values of the turn statement in order. They are the same for all parts."""
    at, run = format_time(turn.at), turn.run
    lines = rows.entry_rows(turn.before.revision + 1, at, turn.entries)
    state, at, metadata, revision, record, _, _, waiting, oldest, digest = rows.turn_columns(turn, at, b"")
    artifacts = [
        (one.id, one.step, one.agent, one.type, one.title, one.description or None, one.content)
        for one in turn.artifacts
    ]
    entries = [(kind, step, agent, metadata) for kind, _, step, agent, metadata, _ in lines]
    return (
        *rows.lifecycle_columns(turn),
        *(state, at, metadata, revision, record, rows.encode_link(lines), waiting, oldest, digest),
        *(run.id, turn.before.revision, schema.program_schema_version()),
        *_step_columns(turn),
        *_to_columns(artifacts, (TextArray,) * 7),
        turn.before.revision - MAX_RECORDED_CALLS,
        int(rows.completes_run(turn)),
        *_to_columns(entries, (TextArray,) * 4),
        *(turn.spent.token, turn.spent.request, turn.spent.reply),
    )


def _step_columns(turn: Turn) -> Iterator[ArrayColumn]:
    """Yield the closed steps, the opened steps, and the tokens of the other open steps."""
    opened = {step.number for step in turn.opened}
    closed = []
    for step in turn.closed:
        took = rows.measure_step(turn, step.number)
        output = None if step.output is None else dump_json(step.output)
        closed.append((step.number, str(step.status), took, output))
    new = [(step.number, step.state, step.agent, turn.tokens.get(step.number)) for step in turn.opened]
    kept = [(number, turn.tokens.get(number)) for number in {step.number for step in turn.run.open} - opened]
    yield from _to_columns(closed, (NumberArray, TextArray, NumberArray, TextArray))
    yield from _to_columns(new, (NumberArray, TextArray, TextArray, TextArray))
    yield from _to_columns(kept, (NumberArray, TextArray))


def _to_columns(lines: list[tuple[Any, ...]], kinds: Sequence[type[ArrayColumn]]) -> Iterator[ArrayColumn]:
    """Return the lines column by column, each of its type; empty columns if there are no lines."""
    columns = zip(*lines, strict=True) if lines else ((),) * len(kinds)
    return (kind(column) for kind, column in zip(kinds, columns, strict=True))


POSTGRES_STORE: Final = StoreKind(
    PgDatabase, PgRuns, schema.has_store, schema.open_copy_target, WRITER_THREADS, POLL_SECONDS
)
