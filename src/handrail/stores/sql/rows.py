"""Between records and rows: what stands in which column."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

import msgspec

from handrail.engine.model import Authority, Lifecycle
from handrail.engine.record import dump
from handrail.engine.record import load as restore
from handrail.shell.records import (
    Origin,
    StepStatus,
    Stored,
    Turn,
    Written,
    milliseconds,
    number_of,
    project_id,
)
from handrail.shell.view import StepRow
from handrail.stores.sql.text import dumped, encoded, parsed, stamp, time
from handrail.telemetry.entries import Entry, EntryKind

LIVE: Final = frozenset({Lifecycle.IDLE, Lifecycle.RUNNING, Lifecycle.PAUSED})
_AUTHORITIES: Final = {str(authority): authority for authority in Authority}
_held: Final = attrgetter("held")
_encoder: Final = msgspec.json.Encoder(order="deterministic")


def stored(rows: Sequence[Sequence[Any]], unheard: tuple[Written, ...]) -> Stored:
    """A run from the rows of its open steps: the run is the same in each, its steps stand at the end."""
    (
        record,
        revision,
        started,
        updated,
        active,
        metadata,
        face,
        authority,
        goal,
        principal,
        parent,
        root,
        *_,
    ) = rows[0]
    tokens, opened = {}, {}
    for row in rows:
        number, token, at = row[-3:]
        if number is not None:
            opened[number] = time(at)
        if token:
            tokens[number] = token
    return Stored(
        restore(record),
        Origin(face, _AUTHORITIES[authority], root, goal, principal, parent or "", parsed(metadata)),
        revision,
        time(started),
        time(updated),
        time(active),
        tokens,
        opened,
        unheard=unheard,
    )


def remarked(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether somebody has ever commented on the run of these rows."""
    return bool(rows[0][-4])


def moving(turn: Turn, at: str, chain: bytes) -> tuple[Any, ...]:
    """The columns of a run that every turn sets, in the order of `update_run`."""
    run, metadata = turn.run, turn.before.origin.metadata
    return (
        run.open[0].state if run.open else None,
        at,
        dumped({**metadata, **turn.marks} if turn.marks else metadata),
        turn.revision,
        dump(run).decode(),
        chain,
        at,
        int(any(map(_held, run.open))),
        min(map(number_of, run.open), default=None),
        run.digest,
    )


def settled(turn: Turn) -> tuple[Any, ...]:
    """The columns of a run that change with its lifecycle, in the order of `settle_run`."""
    if turn.run.lifecycle in LIVE:
        return (str(turn.run.lifecycle), None, None)
    took = milliseconds(turn.before.started or turn.at, turn.at)
    return (str(turn.run.lifecycle), stamp(turn.at), took)


def fixed(turn: Turn) -> tuple[Any, ...]:
    """The columns of a run that its first turn sets, behind those of `moving` in `insert_run`."""
    origin = turn.before.origin
    return (
        turn.run.id,
        turn.run.workflow,
        stamp(turn.before.started or turn.at),
        origin.face,
        str(origin.authority),
        project_id(origin.project) if origin.project else None,
        origin.goal,
        origin.principal,
        origin.parent or None,
    )


def told(revision: int, at: str, entries: Sequence[Entry]) -> list[tuple[Any, ...]]:
    """The rows of these entries, without the run."""
    return [
        (str(entry.kind), revision, entry.step or None, entry.agent or None, encoded(entry.data).decode(), at)
        for entry in entries
    ]


def written(run: str, row: Sequence[Any]) -> Written:
    """The entry of a row."""
    number, revision, at, kind, step, agent, metadata = row
    entry = Entry(EntryKind(kind), step or "", agent or "", parsed(metadata))
    return Written(number, run, revision, time(at), entry)


def step(row: Sequence[Any]) -> StepRow:
    """The step of a row."""
    number, state, agent, status, opened, closed, duration, output = row
    return StepRow(
        number,
        state,
        agent,
        StepStatus(status),
        when(opened),
        when(closed),
        duration,
        None if output is None else parsed(output),
    )


def when(text: str | None) -> datetime | None:
    """The time of a column that may be empty."""
    return None if text is None else time(text)


def completes(turn: Turn) -> bool:
    """True if the run has ended well by this turn: then its artifacts are final."""
    return turn.run.lifecycle is Lifecycle.COMPLETED


def chained(chain: bytes, lines: Sequence[tuple[Any, ...]]) -> bytes:
    """The hash of everything a run has been through: of what it was before, and of what a turn tells."""
    return hashlib.sha256(chain + linked(lines)).digest()


def linked(lines: Sequence[tuple[Any, ...]]) -> bytes:
    """What a turn tells, as it is hashed behind the hash before."""
    return _encoder.encode(lines)
