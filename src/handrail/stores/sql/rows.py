"""Convert between records and table rows: which value is in which column, and how it is written there."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

import msgspec

from handrail.engine.model import Authority, Lifecycle, Run
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.ports.queries import StepRow
from handrail.runtime.records import (
    MILLISECOND,
    JournalEntry,
    Origin,
    StepStatus,
    StoredRun,
    Turn,
    get_step_number,
    project_id,
)

LIVE_LIFECYCLES: Final = frozenset({Lifecycle.IDLE, Lifecycle.RUNNING, Lifecycle.PAUSED})
"""The lifecycles of runs that are not over."""

_AUTHORITIES: Final = {str(authority): authority for authority in Authority}
_held_of: Final = attrgetter("held")

encode_json: Final = msgspec.json.Encoder().encode
"""Encode a value as JSON bytes."""

_json_decoder = msgspec.json.Decoder(dict[str, Any])
_run_encoder: Final = msgspec.json.Encoder(order="deterministic")
_run_decoder: Final = msgspec.json.Decoder(Run)

_chain_encoder: Final = msgspec.json.Encoder(order="deterministic")
"""Deterministic: the journal's hash chain depends on the exact bytes."""


def format_time(at: datetime) -> str:
    """Format a time so that SQL can compare it: UTC, a space, milliseconds, no Z."""
    return at.isoformat(" ", "milliseconds")[:23]


def parse_time(text: str) -> datetime:
    """Parse a time that `format_time` wrote."""
    return datetime.fromisoformat(f"{text}+00:00")


def clean_query_text(text: str) -> str:
    """Replace halves of characters, which a database cannot take. No stored name has them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def dump_json(value: object) -> str:
    """Encode a value as JSON text."""
    return encode_json(value).decode()


def parse_json(text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object."""
    return _json_decoder.decode(text)


def encode_run(run: Run) -> bytes:
    """Return the run as JSON; equal runs give the same bytes."""
    return _run_encoder.encode(run)


def decode_run(data: bytes | str) -> Run:
    """Return the run from its JSON. Raises `ValueError` for data that is not a run."""
    try:
        return _run_decoder.decode(data)
    except RecursionError as deep:
        raise ValueError("nested too deeply to be a run") from deep


def read_run_rows(rows: Sequence[Sequence[Any]], undelivered: tuple[JournalEntry, ...]) -> StoredRun:
    """Build a run from its rows, one for each open step. The run's columns come first, the step's last."""
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
            opened[number] = parse_time(at)
        if token:
            tokens[number] = token
    return StoredRun(
        decode_run(record),
        Origin(face, _AUTHORITIES[authority], root, goal, principal, parent or "", parse_json(metadata)),
        revision,
        parse_time(started),
        parse_time(updated),
        parse_time(active),
        tokens,
        opened,
        undelivered=undelivered,
    )


def has_comments(rows: Sequence[Sequence[Any]]) -> bool:
    """True if anyone has ever commented on the run of these rows."""
    return bool(rows[0][-4])


def check_effects(turn: Turn) -> None:
    """Raise `ValueError` for effects that tables cannot hold: they would be acknowledged and lost."""
    if turn.describes is not None or turn.finals:
        raise ValueError("the workflow of this run acts on files or a description, and its store does not")


def turn_columns(turn: Turn, at: str, chain: bytes) -> tuple[Any, ...]:
    """Return the columns of a run that every turn sets, in the order of `update_run`."""
    run, metadata = turn.run, turn.before.origin.metadata
    return (
        run.open[0].state if run.open else None,
        at,
        dump_json({**metadata, **turn.marks} if turn.marks else metadata),
        turn.before.revision + 1,
        encode_run(run).decode(),
        chain,
        at,
        int(any(map(_held_of, run.open))),
        min(map(get_step_number, run.open), default=None),
        run.digest,
    )


def lifecycle_columns(turn: Turn) -> tuple[Any, ...]:
    """Return the columns of a run that change with its lifecycle, in the order of `settle_run`."""
    if turn.run.lifecycle in LIVE_LIFECYCLES:
        return (str(turn.run.lifecycle), None, None)
    took = max(0, (turn.at - (turn.before.started or turn.at)) // MILLISECOND)
    return (str(turn.run.lifecycle), format_time(turn.at), took)


def measure_step(turn: Turn, number: int) -> int:
    """Return how many milliseconds a step that the turn closes has taken; 0 if that is not known."""
    return max(0, (turn.at - turn.before.opened.get(number, turn.at)) // MILLISECOND)


def origin_columns(turn: Turn) -> tuple[Any, ...]:
    """Return the columns that a run's first turn sets: they follow `moving_columns` in `insert_run`."""
    origin = turn.before.origin
    return (
        turn.run.id,
        turn.run.workflow,
        format_time(turn.before.started or turn.at),
        origin.face,
        str(origin.authority),
        project_id(origin.project) if origin.project else None,
        origin.goal,
        origin.principal,
        origin.parent or None,
    )


def entry_rows(revision: int, at: str, entries: Sequence[Entry]) -> list[tuple[Any, ...]]:
    """Return the rows of these entries, without the run."""
    return [
        (
            str(entry.kind),
            revision,
            entry.step or None,
            entry.agent or None,
            encode_json(entry.data).decode(),
            at,
        )
        for entry in entries
    ]


def read_entry_row(run: str, row: Sequence[Any]) -> JournalEntry:
    """Build an entry from its row."""
    number, revision, at, kind, step, agent, metadata = row
    entry = Entry(EntryKind(kind), step or "", agent or "", parse_json(metadata))
    return JournalEntry(number, run, revision, parse_time(at), entry)


def read_step_row(row: Sequence[Any]) -> StepRow:
    """Build a step from its row."""
    number, state, agent, status, opened, closed, duration, output = row
    return StepRow(
        number,
        state,
        agent,
        StepStatus(status),
        read_time(opened),
        read_time(closed),
        duration,
        None if output is None else parse_json(output),
    )


def read_time(text: str | None) -> datetime | None:
    """Parse a time column that may be empty."""
    return None if text is None else parse_time(text)


def completes_run(turn: Turn) -> bool:
    """True if the run is completed by this turn. Then its artifacts are final."""
    return turn.run.lifecycle is Lifecycle.COMPLETED


def extend_chain(chain: bytes, lines: Sequence[tuple[Any, ...]]) -> bytes:
    """Return the hash of the run's journal: of the hash before, and of the turn's entries."""
    return hashlib.sha256(chain + encode_link(lines)).digest()


def encode_link(lines: Sequence[tuple[Any, ...]]) -> bytes:
    """Return the bytes of a turn's entries, as they are hashed after the previous hash."""
    return _chain_encoder.encode(lines)
