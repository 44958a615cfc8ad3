"""Build what a turn records besides the run: closed and opened steps, artifacts, entries, the synthesis.

Also what follows from a turn for every store: the run after it, and how long its steps took. Pure, except for
`read_file_artifacts`. Start at `build_turn_record`.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import NAMESPACE_OID, uuid5

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from handrail.documents.criteria import MAX_CHARACTERS
from handrail.documents.state_file import HistoryItem
from handrail.engine.facts import Value, to_printable
from handrail.engine.lifecycle import CONTINUE, CONTROL_TRIGGERS, START, is_terminal
from handrail.engine.model import Accepted, Event, Lifecycle, Refused, Run, Step, Waiting, Workflow
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.errors import Fault
from handrail.runtime.ports.queries import StepRow
from handrail.runtime.ports.turn import Workspace
from handrail.runtime.records import (
    MILLISECOND,
    Artifact,
    Caller,
    ClosedStep,
    OpenedStep,
    StepStatus,
    StoredRun,
    Turn,
    get_step_number,
)

SYNTHESIS_TYPE: Final = "synthesis"
"""The artifact type of a synthesis."""

MAX_TITLE_CHARACTERS: Final = 120
"""The maximum length of the title of a synthesis."""

REASON_KEY = "last_transition_reason"
"""The metadata key for the reason of the last lifecycle change."""

_NO_REASON = "No reason provided"

_ENDS_WITH_OPEN_STEPS = frozenset({Lifecycle.ABANDONED, Lifecycle.DIVERGED})
"""Lifecycles in which a run ends with open steps: the store keeps those as running."""

_FILE_READER: Final = "file.exists"


class TurnRecord(Struct, frozen=True):
    """What a turn records besides the run."""

    closed: tuple[ClosedStep, ...]
    opened: tuple[OpenedStep, ...]
    artifacts: tuple[Artifact, ...]
    entries: tuple[Entry, ...]
    synthesis: Mapping[str, Value] | None = None


class DecidedTurn(Struct, frozen=True):
    """A decided turn: the call, the decision, and what is needed to record them.

    - `before`: the run the decision was made on: the stored one, started if it was new.
    - `ids`: one id for each artifact, and one for the synthesis.
    - `token`: True if the call carried a token.
    - `external`: a person did the step by hand.
    - `more`: extra data for the entry of the step.
    - `kept`: the steps in the store, if the run is completed and needs a synthesis; else None.
    """

    workflow: Workflow
    stored: StoredRun
    before: Run
    event: Event
    caller: Caller
    decision: Accepted | Waiting
    at: datetime
    ids: tuple[str, ...]
    token: bool = False
    external: bool = False
    more: Mapping[str, Value] = field(default_factory=dict)
    kept: tuple[StepRow, ...] | None = None


def build_turn_record(turn: DecidedTurn) -> TurnRecord:
    """Build what the turn records: steps, artifacts, journal entries, and the synthesis if one is due."""
    after = turn.decision.run
    artifacts = _step_artifacts(turn) if turn.ids else ()
    closed = _close_steps(turn, artifacts)
    synthesis: Mapping[str, Value] | None = None
    if turn.kept is not None:
        steps = _completed_steps(turn, turn.kept, closed)
        synthesis = build_synthesis(steps, milliseconds_between(turn.stored.started or turn.at, turn.at))
        artifacts = (*artifacts, build_synthesis_artifact(turn.ids[-1], steps, synthesis))
    before = set(map(get_step_number, turn.stored.run.open))
    opened = [
        OpenedStep(step.number, step.state, find_agent(turn.workflow, step.state))
        for step in after.open
        if step.number not in before
    ]
    entries = _build_entries(turn, closed, opened, artifacts)
    return TurnRecord(closed, tuple(opened), artifacts, tuple(entries), synthesis)


def _step_artifacts(turn: DecidedTurn) -> tuple[Artifact, ...]:
    """Return the artifacts of the step: none while it waits, none in a state without a contract."""
    given = read_offered_artifacts(turn.event)
    if isinstance(turn.decision, Waiting) or not turn.before.open or not given:
        return ()
    step = _called_step(turn)
    if turn.workflow.states[step.state].brief is None:
        return ()
    agent = find_agent(turn.workflow, step.state)
    return tuple(
        [
            Artifact(
                given_id,
                step.state,
                agent,
                str(item["type"]),
                str(item["title"]),
                str(item["content"]),
                str(item.get("description") or ""),
            )
            for given_id, item in zip(turn.ids[: len(given)], given, strict=True)
        ]
    )


def _called_step(turn: DecidedTurn) -> Step:
    """Return the step that the event is for."""
    wanted, open_ = turn.event.step, turn.before.open
    if wanted is None or open_[0].number == wanted:
        return open_[0]
    return next(step for step in open_ if step.number == wanted)


def _close_steps(turn: DecidedTurn, artifacts: tuple[Artifact, ...]) -> tuple[ClosedStep, ...]:
    after = turn.decision.run
    if after.lifecycle in _ENDS_WITH_OPEN_STEPS:
        return ()
    still = set(map(get_step_number, after.open))
    status = StepStatus.FAILED if after.lifecycle is Lifecycle.FAILED else StepStatus.COMPLETED
    output = None if turn.event.trigger in CONTROL_TRIGGERS else _stored_output(turn.event.payload, artifacts)
    return tuple(
        [
            ClosedStep(step.number, step.state, status, output)
            for step in turn.before.open
            if step.number not in still
        ]
    )


def _stored_output(payload: Mapping[str, Value], artifacts: tuple[Artifact, ...]) -> dict[str, Value]:
    """Return the output to store: artifacts by id, because their text is stored with the artifact."""
    kept = dict(payload)
    if artifacts:
        kept["artifacts"] = [{"artifact_id": a.id, "type": a.type, "title": a.title} for a in artifacts]
    return kept


def _completed_steps(
    turn: DecidedTurn, kept: tuple[StepRow, ...], closed: tuple[ClosedStep, ...]
) -> tuple[StepRow, ...]:
    """Return every completed step of the run, ending with those that this turn closes."""
    opened = turn.stored.opened
    now = (
        StepRow(
            step.number,
            step.state,
            find_agent(turn.workflow, step.state),
            step.status,
            opened.get(step.number),
            turn.at,
            measure_step(turn.stored, step.number, turn.at),
            step.output,
        )
        for step in closed
    )
    return (*(row for row in kept if row.status is StepStatus.COMPLETED), *now)


def _build_entries(
    turn: DecidedTurn,
    closed: tuple[ClosedStep, ...],
    opened: Sequence[OpenedStep],
    artifacts: tuple[Artifact, ...],
) -> list[Entry]:
    workflow = turn.workflow
    entries = _start_entries(turn) if turn.stored.run.lifecycle is Lifecycle.IDLE else []
    if turn.token:
        state = _called_step(turn).state if turn.before.open else ""
        entries.append(Entry(EntryKind.TOKEN_VALIDATED, state, find_agent(workflow, state)))
    entries += _step_entries(turn, closed)
    if artifacts:
        entries += [
            Entry(EntryKind.ARTIFACT_STORED, a.step, a.agent, {"artifact_id": a.id, "type": a.type})
            for a in artifacts
        ]
    begun = set(map(get_step_number, turn.before.open))
    entries += [
        Entry(EntryKind.STEP_STARTED, s.state, s.agent, {"number": s.number})
        for s in opened
        if s.number not in begun
    ]
    if turn.decision.run.lifecycle is Lifecycle.RUNNING:
        entries += [
            Entry(EntryKind.TOKEN_GENERATED, step.state, find_agent(workflow, step.state))
            for step in turn.decision.run.open
        ]
    if turn.stored.run.lifecycle is not turn.decision.run.lifecycle:
        entries.append(build_lifecycle_entry(turn.stored, turn.decision.run, turn.at, turn.caller))
    return entries


def _start_entries(turn: DecidedTurn) -> list[Entry]:
    """Return the entries of a start. A run that starts with its first event also opened its first steps."""
    workflow, stored = turn.workflow, turn.stored
    created = {"workflow": workflow.name, "version": workflow.version, **describe_caller(turn.caller)}
    begun = [
        Entry(EntryKind.STEP_STARTED, step.state, find_agent(workflow, step.state), {"number": step.number})
        for step in turn.before.open
    ]
    return begun if stored.revision else [Entry(EntryKind.WORKFLOW_CREATED, data=created), *begun]


def _step_entries(turn: DecidedTurn, closed: tuple[ClosedStep, ...]) -> list[Entry]:
    """Return the entries of the called step: closed, still open after a row that stays, or waiting."""
    details: dict[str, Value] = {"trigger": turn.event.trigger, **describe_caller(turn.caller), **turn.more}
    if turn.event.note:
        details["note"] = turn.event.note
    match turn.decision:
        case Waiting(waits_for=facts):
            details["waits_for"] = list(facts)
            kind = EntryKind.STEP_WAITING
        case Accepted(moves=moves):
            details["rows"] = [move.row for move in moves]
            if moves:
                details["to"] = moves[-1].target
            kind = EntryKind.STEP_STAYED
    if closed:
        failed = closed[0].status is StepStatus.FAILED
        kind = EntryKind.STEP_FAILED if failed else EntryKind.STEP_COMPLETED
        if turn.external and not failed:
            details["external"] = True
        return [
            Entry(
                kind,
                step.state,
                find_agent(turn.workflow, step.state),
                {
                    "number": step.number,
                    **details,
                    **_duration_data(turn.stored.opened.get(step.number), turn.at),
                },
            )
            for step in closed
        ]
    if turn.event.trigger in CONTROL_TRIGGERS or turn.event.trigger == START:
        return []
    state = _called_step(turn).state if turn.before.open else ""
    return [Entry(kind, state, find_agent(turn.workflow, state), details)]


def build_lifecycle_entry(stored: StoredRun, after: Run, at: datetime, caller: Caller) -> Entry:
    """Return the journal entry of a lifecycle change; with the duration if the run has ended."""
    details: dict[str, Value] = {"from": str(stored.run.lifecycle), "to": str(after.lifecycle)}
    if after.reason:
        details["reason"] = after.reason
    if is_terminal(after.lifecycle):
        details |= _duration_data(stored.started, at)
    return Entry(EntryKind.WORKFLOW_STATE_TRANSITION, data={**details, **describe_caller(caller)})


def _duration_data(began: datetime | None, at: datetime) -> dict[str, Value]:
    return {} if began is None else {"duration_ms": milliseconds_between(began, at)}


def build_refusal_entry(workflow: Workflow | None, run: Run | None, event: Event, refused: Refused) -> Entry:
    """Return the journal entry of a refusal: its code, rule and trigger, not the payload."""
    state = run.open[0].state if run and len(run.open) == 1 else ""
    agent = find_agent(workflow, state) if workflow else ""
    data = {"error_type": refused.code, "rule": refused.rule, "trigger": to_printable(event.trigger)}
    return Entry(EntryKind.ERROR_OCCURRED, state, agent, data)


@lru_cache(maxsize=16)
def describe_caller(caller: Caller) -> Mapping[str, Value]:
    """Return the caller as entry data. Empty parts are left out."""
    given = {"principal": caller.principal, "client": caller.client, "agent": caller.agent}
    return {"by": str(caller.by), **{name: to_printable(value) for name, value in given.items() if value}}


def attach_caller(entries: Iterable[Entry], caller: Caller) -> tuple[Entry, ...]:
    """Add the caller to each entry that does not name one yet."""
    mark = describe_caller(caller)
    return tuple(
        [
            entry
            if "by" in entry.data
            else Entry(entry.kind, entry.step, entry.agent, {**entry.data, **mark})
            for entry in entries
        ]
    )


def find_agent(workflow: Workflow, state: str) -> str:
    """Return the persona that works in a state; empty if there is none."""
    known = workflow.states.get(state)
    return known.brief.agent if known and known.brief else ""


def read_offered_artifacts(event: Event) -> list[Mapping[str, Value]]:
    """Return the artifacts in the payload of a step output."""
    items = event.payload.get("artifacts") if event.trigger == CONTINUE else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def build_history_items(decision: Accepted | Waiting, event: Event) -> tuple[HistoryItem, ...]:
    """Return the move of the turn from its first to its last state, without routers in between."""
    if isinstance(decision, Waiting) or not decision.moves:
        return ()
    return (HistoryItem(decision.moves[0].source, decision.moves[-1].target, event.trigger, event.note),)


def build_marks(
    before: Run, after: Run, event: Event, given: Mapping[str, Value] | None
) -> Mapping[str, Value]:
    """Return the marks for the metadata of the run: the reason of a lifecycle change, and those given."""
    changed = after.lifecycle is not before.lifecycle and event.trigger != START
    return {**({REASON_KEY: after.reason or _NO_REASON} if changed else {}), **(given or {})}


def read_reason(metadata: Mapping[str, Value]) -> str:
    """Return the reason of the last lifecycle change from a run's metadata; empty if none was given."""
    reason = metadata.get(REASON_KEY)
    return str(reason) if reason and reason != _NO_REASON else ""


def build_run_after(  # noqa: PLR0913, PLR0917 - what a turn changes of a run
    before: StoredRun,
    run: Run,
    at: datetime,
    tokens: Mapping[int, str],
    opened: Sequence[OpenedStep],
    marks: Mapping[str, Value],
) -> StoredRun:
    """Return the stored run after a turn with this result; the same for every store."""
    origin, known = before.origin, {**before.opened, **dict.fromkeys(map(get_step_number, opened), at)}
    return StoredRun(
        run,
        replace(origin, metadata={**origin.metadata, **marks}) if marks else origin,
        before.revision + 1,
        before.started or at,
        at,
        at,
        tokens,
        {step.number: known[step.number] for step in run.open if step.number in known},
    )


def get_run_after(turn: Turn) -> StoredRun:
    """Return the stored run after this turn."""
    return build_run_after(turn.before, turn.run, turn.at, turn.tokens, turn.opened, turn.marks)


def measure_step(stored: StoredRun, step: int, at: datetime) -> int:
    """Return how many milliseconds an open step has taken at `at`; 0 if unknown."""
    return milliseconds_between(stored.opened.get(step, at), at)


def milliseconds_between(began: datetime, ended: datetime) -> int:
    """Return a duration in milliseconds; never negative, even if the clock jumped back."""
    return max(0, (ended - began) // MILLISECOND)


def build_synthesis(steps: Sequence[StepRow], total_ms: int) -> dict[str, Value]:
    """Return the synthesis of a completed run from its steps, in order.

    It adds no words of its own: every text comes from the output of a step.
    """
    return {
        "outcome_summary": _read_summary(steps),
        "model_output": {
            "steps_completed": len(steps),
            "artifacts": [artifact for step in steps for artifact in _output_artifacts(step)],
            "decisions": [decision for step in steps for decision in _output_list(step, "decisions")],
            "durations": {
                "total_ms": total_ms,
                "steps": [{"step_name": s.state, "duration_ms": s.duration_ms or 0} for s in steps],
            },
        },
    }


def build_synthesis_artifact(
    given_id: str, steps: Sequence[StepRow], synthesis: Mapping[str, Value]
) -> Artifact:
    """Return the synthesis as an artifact of the last step."""
    state, agent = (steps[-1].state, steps[-1].agent) if steps else ("", "")
    title = next(iter(_read_summary(steps).strip().splitlines()), "")[:MAX_TITLE_CHARACTERS]
    return Artifact(given_id, state, agent, SYNTHESIS_TYPE, title, msgspec.json.encode(synthesis).decode())


def _read_summary(steps: Sequence[StepRow]) -> str:
    """Return the summary in the output of the last step; empty if there is none."""
    summary = (steps[-1].output or {}).get("summary") if steps else None
    return summary if isinstance(summary, str) else ""


def _output_artifacts(step: StepRow) -> Iterator[Mapping[str, Value]]:
    """Yield the artifacts that the output of a step lists."""
    for item in _output_list(step, "artifacts"):
        if isinstance(item, Mapping) and "artifact_id" in item:
            named = {name: item.get(name) for name in ("artifact_id", "type", "title")}
            yield {**named, "step_name": step.state}


def _output_list(step: StepRow, name: str) -> Sequence[Value]:
    values = (step.output or {}).get(name)
    return values if isinstance(values, list) else ()


def build_file_artifacts(
    workflow: Workflow, run: Run, seen: Mapping[str, bytes | None]
) -> tuple[Artifact, ...]:
    """Return the files that the turn read and the workflow names, as artifacts.

    The id is derived from the content: the same text has the same id. The type is the name that facts use
    for the file. A file longer than `MAX_CHARACTERS` is left out.
    """
    return tuple(_file_artifacts(workflow, run, seen.get)) if seen else ()


def read_file_artifacts(workflow: Workflow, run: Run, workspace: Workspace) -> tuple[Artifact, ...]:
    """Return the files that the workflow names as artifacts, read now. Unreadable files are left out."""

    def read(path: str) -> bytes | None:
        try:
            return workspace.read(path)
        except Fault:
            return None

    return tuple(_file_artifacts(workflow, run, read))


def _file_artifacts(workflow: Workflow, run: Run, read: Callable[[str], bytes | None]) -> Iterator[Artifact]:
    state = run.open[0].state if run.open else ""
    for name, fact in workflow.facts.items():
        data = read(fact.of[0]) if fact.reader == _FILE_READER else None
        if data is None or len(data) > MAX_CHARACTERS:
            continue
        kind, digest = name.partition(".")[0].replace("_", "-"), hashlib.sha256(data).hexdigest()
        artifact_id = str(uuid5(NAMESPACE_OID, f"{run.id} {fact.of[0]} {digest}"))
        text = data.decode("utf-8", "replace")
        yield Artifact(artifact_id, state, "", kind, fact.of[0], text, f"sha256 {digest}")
