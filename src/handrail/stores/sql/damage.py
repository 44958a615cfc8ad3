"""What can be wrong with one run in a database: its record, columns, journal, steps, replies, artifacts."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from msgspec import Struct

from handrail.engine.model import Authority, Lifecycle, Run
from handrail.engine.record import load as restore
from handrail.shell.keeping import Damage
from handrail.shell.records import REMEMBERED
from handrail.stores.sql.rows import LIVE, chained
from handrail.stores.sql.tables import Execute

Found: TypeAlias = Iterator[tuple[str, str]]
"""Codes, each with what was found."""


class Kept(Struct, frozen=True):
    """A run as its row has it, and as its record does."""

    key: int
    id: str
    workflow: str
    digest: str
    lifecycle: str
    state: str | None
    waiting: int
    revision: int
    record: Run | None
    chain: bytes
    authority: str
    defined: int


def kept(row: Sequence[Any]) -> Kept:
    """The run of a row of `kept`; its record is None if that cannot be read."""
    return Kept(*(*row[:8], _restored(row[8]), *row[9:]))


def damages(execute: Execute, sql: Mapping[str, str], run: Kept) -> Iterator[Damage]:
    """Everything that is wrong with the run."""
    found = (*_of_record(execute, sql, run), *_of_journal(execute, sql, run), *_of_rest(execute, sql, run))
    for code, message in found:
        yield Damage(code, run.id, message)


def _restored(record: bytes | None) -> Run | None:
    try:
        return restore(record or b"")
    except ValueError:
        return None


def _of_record(execute: Execute, sql: Mapping[str, str], run: Kept) -> Found:
    """The record against the columns, and its open steps against those kept as running."""
    record = run.record
    if record is None:
        yield "record", "its record is no run"
        return
    told = {
        "execution_id": (run.id, record.id),
        "workflow_name": (run.workflow, record.workflow),
        "digest": (run.digest, record.digest),
        "state": (run.lifecycle, str(record.lifecycle)),
        "current_step": (run.state, record.open[0].state if record.open else None),
        "waiting": (run.waiting, int(any(step.held for step in record.open))),
    }
    for column, (there, expected) in told.items():
        if there != expected:
            yield "columns", f"{column} is {there!r}, the record says {expected!r}"
    if record.lifecycle not in {Lifecycle.ABANDONED, Lifecycle.DIVERGED}:
        running = [number for (number,) in execute(sql["running"], (run.key,))]
        opened = sorted(step.number for step in record.open)
        if running != opened:
            yield "steps", f"steps {running} are running, the record has {opened} open"


def _of_journal(execute: Execute, sql: Mapping[str, str], run: Kept) -> Found:
    """The turns in the journal: none missing, and leading to the hash that the run has."""
    lines = [_line(row) for row in execute(sql["chained"], (run.key,))]
    chain, expected = b"", 1
    for revision, turn in groupby(lines, itemgetter(1)):
        if revision != expected:
            yield "gap", f"entries of turn {revision} stand where those of turn {expected} should"
            expected = revision
        chain = chained(chain, list(turn))
        expected += 1
    if expected - 1 != run.revision:
        yield "revision", f"it is at revision {run.revision}, its journal ends with turn {expected - 1}"
    if chain != run.chain:
        yield "chain", "its entries do not give the hash that its turns left"


def _line(row: Sequence[Any]) -> tuple[Any, ...]:
    *head, metadata, at = row
    return (*head, bytes(metadata).decode("utf-8", "replace"), at)


def _of_rest(execute: Execute, sql: Mapping[str, str], run: Kept) -> Found:
    """What else the run needs, or has too much of."""
    live = run.lifecycle in set(LIVE)
    if live and run.authority == Authority.SQL and not run.defined:
        yield "definition", f"the text of `{run.workflow}` with digest {run.digest[:12]} is not there"
    (replies,) = execute(sql["replies"], (run.key,)).fetchone()
    if replies > REMEMBERED:
        yield "replies", f"{replies} replies are kept, {REMEMBERED} at most should be"
    count, highest = execute(sql["numbered"], (run.key,)).fetchone()
    if count != highest:
        yield "artifacts", f"{count} artifacts are there, the last has number {highest}"
