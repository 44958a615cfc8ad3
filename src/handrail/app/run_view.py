"""One run, ready to be shown: its steps, what it waits for, its last refusals and its comments.

`load_run_view` reads it. `format_run_view` writes it for a terminal and `run_view_data` for JSON.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from handrail.app import definitions, faces
from handrail.documents.text import escape_for_terminal, split_lines
from handrail.drawing.tables import format_milliseconds
from handrail.engine.lifecycle import is_terminal
from handrail.engine.model import Authority, Lifecycle
from handrail.engine.refusals import REFUSAL_CODES
from handrail.runtime import comments, records, tokens
from handrail.runtime.comments import Comment
from handrail.runtime.entries import EntryKind
from handrail.runtime.journal import read_reason
from handrail.runtime.ports.queries import (
    MAX_COMMENT_ENTRIES,
    ArtifactRow,
    RunQueries,
    RunRow,
    StepRow,
    iterate_pages,
)
from handrail.runtime.records import JournalEntry, StepStatus, format_rfc3339
from handrail.runtime.sweep import IdleLimits

_COMMENT_KINDS = frozenset({EntryKind.COMMENT_WRITTEN, EntryKind.COMMENT_TOLD})
# The most refusals shown with a run; the last ones are kept.
MAX_REFUSALS = 5

# The meaning of each refusal code. A journal may have codes of other versions, so the keys are texts.
CODE_MEANINGS: Mapping[str, str] = {
    str(code): meaning
    for codes in (
        REFUSAL_CODES,
        tokens.TOKEN_REFUSAL_CODES,
        records.RUN_REFUSAL_CODES,
        comments.COMMENT_REFUSAL_CODES,
        faces.CALL_CODES,
        faces.SESSION_CODES,
        definitions.START_REFUSAL_CODES,
    )
    for code, meaning in codes.items()
}


class AwaitedThing(StrEnum):
    """What a run waits for.

    `CALL` is the next tool call, for a run in files or a commit description; `PERSON` resumes the run.
    """

    OUTPUT = "output"
    CALL = "call"
    FACTS = "facts"
    PERSON = "person"


class RunWait(Struct, frozen=True):
    """What a run waits for in a state."""

    what: AwaitedThing
    state: str
    agent: str = ""
    facts: tuple[str, ...] = ()


class RunView(Struct, frozen=True):
    """A run with its steps, what it waits for, its last refusals and its comments, the newest last.

    `gives_up` is when the sweep abandons the run; None unless it is idle.
    """

    run: RunRow
    steps: tuple[StepRow, ...]
    waits: tuple[RunWait, ...]
    refusals: tuple[JournalEntry, ...]
    gives_up: datetime | None = None
    comments: tuple[Comment, ...] = ()


def load_run_view(records: RunQueries, run: RunRow, limits: IdleLimits, now: datetime) -> RunView:
    """Load everything that `runs show` prints about a run."""
    steps, facts = tuple(iterate_pages(partial(records.steps, run.id))), {}
    refusals: list[JournalEntry] = []
    comment_entries: list[JournalEntry] = []
    for line in iterate_pages(partial(records.journal, run=run.id)):
        entry = line.entry
        if entry.kind is EntryKind.ERROR_OCCURRED:
            refusals = [*refusals, line][-MAX_REFUSALS:]
        elif entry.kind is EntryKind.STEP_WAITING:
            facts[entry.step] = entry.data.get("waits_for")
        elif entry.kind in _COMMENT_KINDS:
            comment_entries = [*comment_entries, line][-MAX_COMMENT_ENTRIES:]
    gives_up = limits.gives_up(run) if limits.is_quiet(run, now) else None
    waits = tuple(_list_waits(run, steps, facts))
    return RunView(run, steps, waits, tuple(refusals), gives_up, comments.collect_comments(comment_entries))


def _list_waits(run: RunRow, steps: tuple[StepRow, ...], facts: Mapping[str, object]) -> Iterator[RunWait]:
    if is_terminal(run.lifecycle):
        return
    if run.lifecycle is Lifecycle.PAUSED:
        yield RunWait(AwaitedThing.PERSON, run.state)
        return
    for step in steps:
        fact_names = facts.get(step.state)
        if step.status is not StepStatus.RUNNING:
            continue
        if run.waiting and isinstance(fact_names, list):
            yield RunWait(AwaitedThing.FACTS, step.state, step.agent, tuple(map(str, fact_names)))
        else:
            what = AwaitedThing.OUTPUT if run.authority is Authority.SQL else AwaitedThing.CALL
            yield RunWait(what, step.state, step.agent)


def format_run_view(view: RunView) -> str:
    """Format a run in a few lines, with control characters escaped."""
    return "\n".join(map(escape_for_terminal, _run_view_lines(view)))


def _run_view_lines(view: RunView) -> Iterator[str]:
    run = view.run
    yield f"run {run.id}"
    yield f"  {run.workflow}, face {run.face}, authority {run.authority}"
    for name in ("goal", "project", "principal", "parent"):
        if value := getattr(run, name):
            yield f"  {name} {value}"
    where = f" in {run.state}" if run.state else ""
    yield f"  {run.lifecycle}{where}, revision {run.revision}"
    yield f"  started {format_rfc3339(run.started)}, last called {format_rfc3339(run.active)}"
    if run.ended:
        yield f"  ended {format_rfc3339(run.ended)} after {format_milliseconds(run.duration_ms)}"
    if reason := read_reason(run.metadata):
        yield f"  reason {reason}"
    yield from (f"  waits for {_describe_wait(wait)}" for wait in view.waits)
    if view.gives_up:
        yield f"  quiet: given up from {format_rfc3339(view.gives_up)} on, unless it is called"
    yield from ("", "steps") if view.steps else ()
    for step in view.steps:
        agent = f" by {step.agent}" if step.agent else ""
        yield f"  {step.number} {step.state}{agent}: {step.status}, {format_milliseconds(step.duration_ms)}"
    yield from ("", "last refusals") if view.refusals else ()
    for refusal in view.refusals:
        yield f"  {refusal.number} {format_rfc3339(refusal.at)} {_describe_refusal(refusal)}"
    yield from ("", "comments") if view.comments else ()
    for comment in view.comments:
        told = f"told to the agent {format_rfc3339(comment.delivered_at)}" if comment.delivered_at else ""
        delivery = told or "not told to the agent yet"
        yield f"  {format_rfc3339(comment.at)} {comment.principal}, {delivery}"
        yield from (f"    {line}" for line in split_lines(comment.text))


def _describe_wait(wait: RunWait) -> str:
    match wait.what:
        case AwaitedThing.PERSON:
            return "a person to resume it"
        case AwaitedThing.FACTS:
            return f"{', '.join(wait.facts)} in {wait.state}"
        case AwaitedThing.CALL:
            return f"the next call in {wait.state}"
        case _:
            return f"the output of {wait.state}" + (f", from the {wait.agent}" if wait.agent else "")


def _describe_refusal(line: JournalEntry) -> str:
    data = line.entry.data
    code = str(data.get("error_type", ""))
    where = f" in {line.entry.step}" if line.entry.step else ""
    meaning = f": {CODE_MEANINGS[code]}" if code in CODE_MEANINGS else ""
    return f"{data.get('trigger', '')}{where} was refused as {code} by {data.get('rule', '')}{meaning}"


def event_cells(line: JournalEntry) -> tuple[str, ...]:
    """Return the cells of one entry: number, time, kind, state and details."""
    entry = line.entry
    details = msgspec.json.encode(entry.data).decode() if entry.data else ""
    return str(line.number), format_rfc3339(line.at), str(entry.kind), entry.step, details


# --- as JSON ------------------------------------------------------------------------------------------------


def row_data(row: RunRow | StepRow | ArtifactRow | RunWait | Comment) -> dict[str, object]:
    """Return the fields of a row, by the names that programs read."""
    values = {part.encode_name: getattr(row, part.name) for part in fields(row)}
    return {name: format_rfc3339(v) if isinstance(v, datetime) else v for name, v in values.items()}


def run_data(row: RunRow, *, quiet: bool) -> dict[str, object]:
    """Return the fields of a run by name, and whether it is idle."""
    return {**row_data(row), "quiet": quiet}


def event_data(line: JournalEntry) -> dict[str, object]:
    """Return the fields of a journal entry by name."""
    entry = line.entry
    return {
        "number": line.number,
        "run": line.run,
        "revision": line.revision,
        "at": format_rfc3339(line.at),
        "kind": str(entry.kind),
        "step": entry.step,
        "agent": entry.agent,
        "data": dict(entry.data),
    }


def run_view_data(view: RunView) -> dict[str, object]:
    """Return a run view as JSON data."""
    return {
        "run": run_data(view.run, quiet=view.gives_up is not None),
        "steps": [row_data(step) for step in view.steps],
        "waits": [row_data(wait) for wait in view.waits],
        "refusals": [
            {**event_data(line), "meaning": CODE_MEANINGS.get(str(line.entry.data.get("error_type")), "")}
            for line in view.refusals
        ],
        "comments": [row_data(comment) for comment in view.comments],
    }
