"""A run as a person reads it in a terminal, and as a program reads it in JSON."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from handrail.engine.lifecycle import terminal
from handrail.engine.model import Authority, Lifecycle
from handrail.engine.refusals import CODES
from handrail.faces.cli.output import one_line
from handrail.faces.mcp import codes
from handrail.shell import comments, starting, tokens, unfit
from handrail.shell.comments import Comment
from handrail.shell.journal import reason_of
from handrail.shell.records import StepStatus, Written, rfc3339
from handrail.shell.sweep import Limits
from handrail.shell.view import REMARKS, ArtifactRow, Records, RunRow, StepRow, every
from handrail.telemetry.entries import EntryKind
from handrail.telemetry.units import took
from handrail.workflows.characters import split_lines

_REMARKS = frozenset({EntryKind.COMMENT_WRITTEN, EntryKind.COMMENT_TOLD})

REFUSALS = 5
"""How many of the last refusals are shown with a run."""

MEANINGS: Mapping[str, str] = {
    **CODES,
    **tokens.CODES,
    **unfit.CODES,
    **comments.CODES,
    **codes.CODES,
    **codes.SESSIONS,
    **starting.CODES,
}
"""What each code of a refusal means."""


class Wait(Struct, frozen=True):
    """What a run waits for in a state.

    `output` of an agent; the next `call` of a tool, for a run in files or a description; `facts`; or a
    `person` who lets it go on.
    """

    what: str
    state: str
    agent: str = ""
    facts: tuple[str, ...] = ()


class Whole(Struct, frozen=True):
    """A run with its steps, what it waits for, its last refusals and its comments, the newest last.

    `gives_up` is when the sweep gives it up, if it has gone quiet.
    """

    run: RunRow
    steps: tuple[StepRow, ...]
    waits: tuple[Wait, ...]
    refusals: tuple[Written, ...]
    gives_up: datetime | None = None
    comments: tuple[Comment, ...] = ()


def whole(records: Records, run: RunRow, limits: Limits, now: datetime) -> Whole:
    """Everything `show` tells of a run."""
    steps, facts = tuple(every(partial(records.steps, run.id))), {}
    refusals: list[Written] = []
    remarks: list[Written] = []
    for written in every(partial(records.journal, run=run.id)):
        entry = written.entry
        if entry.kind is EntryKind.ERROR_OCCURRED:
            refusals = [*refusals, written][-REFUSALS:]
        elif entry.kind is EntryKind.STEP_WAITING:
            facts[entry.step] = entry.data.get("waits_for")
        elif entry.kind in _REMARKS:
            remarks = [*remarks, written][-REMARKS:]
    gives_up = limits.gives_up(run) if limits.is_quiet(run, now) else None
    waits = tuple(_waits(run, steps, facts))
    return Whole(run, steps, waits, tuple(refusals), gives_up, comments.comments(remarks))


def _waits(run: RunRow, steps: tuple[StepRow, ...], facts: Mapping[str, object]) -> Iterator[Wait]:
    if terminal(run.lifecycle):
        return
    if run.lifecycle is Lifecycle.PAUSED:
        yield Wait("person", run.state)
        return
    for step in steps:
        named = facts.get(step.state)
        if step.status is not StepStatus.RUNNING:
            continue
        if run.waiting and isinstance(named, list):
            yield Wait("facts", step.state, step.agent, tuple(map(str, named)))
        else:
            yield Wait("output" if run.authority is Authority.SQL else "call", step.state, step.agent)


def described(told: Whole) -> str:
    """The run in a few lines; nothing in it can give orders to a terminal."""
    return "\n".join(map(one_line, _lines(told)))


def _lines(told: Whole) -> Iterator[str]:
    run = told.run
    yield f"run {run.id}"
    yield f"  {run.workflow}, face {run.face}, authority {run.authority}"
    for name in ("goal", "project", "principal", "parent"):
        if value := getattr(run, name):
            yield f"  {name} {value}"
    where = f" in {run.state}" if run.state else ""
    yield f"  {run.lifecycle}{where}, revision {run.revision}"
    yield f"  started {rfc3339(run.started)}, last called {rfc3339(run.active)}"
    if run.ended:
        yield f"  ended {rfc3339(run.ended)} after {took(run.duration_ms)}"
    if reason := reason_of(run.metadata):
        yield f"  reason {reason}"
    yield from (f"  waits for {_awaited(wait)}" for wait in told.waits)
    if told.gives_up:
        yield f"  quiet: given up from {rfc3339(told.gives_up)} on, unless it is called"
    yield from ("", "steps") if told.steps else ()
    for step in told.steps:
        agent = f" by {step.agent}" if step.agent else ""
        yield f"  {step.number} {step.state}{agent}: {step.status}, {took(step.duration_ms)}"
    yield from ("", "last refusals") if told.refusals else ()
    for written in told.refusals:
        yield f"  {written.number} {rfc3339(written.at)} {_refusal(written)}"
    yield from ("", "comments") if told.comments else ()
    for one in told.comments:
        heard = f"told to the agent {rfc3339(one.told)}" if one.told else "not told to the agent yet"
        yield f"  {rfc3339(one.at)} {one.principal}, {heard}"
        yield from (f"    {line}" for line in split_lines(one.text))


def _awaited(wait: Wait) -> str:
    match wait.what:
        case "person":
            return "a person to resume it"
        case "facts":
            return f"{', '.join(wait.facts)} in {wait.state}"
        case "call":
            return f"the next call in {wait.state}"
        case _:
            return f"the output of {wait.state}" + (f", from the {wait.agent}" if wait.agent else "")


def _refusal(written: Written) -> str:
    data = written.entry.data
    code = str(data.get("error_type", ""))
    where = f" in {written.entry.step}" if written.entry.step else ""
    meaning = f": {MEANINGS[code]}" if code in MEANINGS else ""
    return f"{data.get('trigger', '')}{where} was refused as {code} by {data.get('rule', '')}{meaning}"


def event_cells(written: Written) -> tuple[str, ...]:
    """An entry as one line: its number, time, kind, state and details."""
    entry = written.entry
    details = msgspec.json.encode(entry.data).decode() if entry.data else ""
    return str(written.number), rfc3339(written.at), str(entry.kind), entry.step, details


# --- as JSON ------------------------------------------------------------------------------------------------


def as_data(row: RunRow | StepRow | ArtifactRow | Wait | Comment) -> dict[str, object]:
    """A row by the names of its parts."""
    return {part.name: _plain(getattr(row, part.name)) for part in fields(row)}


def run_data(row: RunRow, *, quiet: bool) -> dict[str, object]:
    """A run by the names of its parts, and whether it has gone quiet."""
    return {**as_data(row), "quiet": quiet}


def event_data(written: Written) -> dict[str, object]:
    """An entry by the names of its parts."""
    entry = written.entry
    return {
        "number": written.number,
        "run": written.run,
        "revision": written.revision,
        "at": rfc3339(written.at),
        "kind": str(entry.kind),
        "step": entry.step,
        "agent": entry.agent,
        "data": dict(entry.data),
    }


def whole_data(told: Whole) -> dict[str, object]:
    """The run, its steps, what it waits for, its last refusals and its comments."""
    return {
        "run": run_data(told.run, quiet=told.gives_up is not None),
        "steps": [as_data(step) for step in told.steps],
        "waits": [as_data(wait) for wait in told.waits],
        "refusals": [
            {**event_data(written), "meaning": MEANINGS.get(str(written.entry.data.get("error_type")), "")}
            for written in told.refusals
        ],
        "comments": [as_data(one) for one in told.comments],
    }


def _plain(value: object) -> object:
    return rfc3339(value) if isinstance(value, datetime) else value
