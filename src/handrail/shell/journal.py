"""What a turn leaves behind: steps closed and opened, artifacts, and entries. Computed, not yet written."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from handrail.documents.statefile import Passage
from handrail.engine.facts import Value, writable
from handrail.engine.lifecycle import CONTINUE, CONTROLS, START, terminal
from handrail.engine.model import Accepted, Event, Lifecycle, Refused, Run, Step, Waiting, Workflow
from handrail.shell.records import (
    Artifact,
    Caller,
    Closed,
    Opened,
    StepStatus,
    Stored,
    milliseconds,
    number_of,
)
from handrail.shell.synthesis import as_artifact, synthesised
from handrail.shell.view import StepRow
from handrail.telemetry.entries import Entry, EntryKind

REASON = "last_transition_reason"
"""Where the metadata of a run say why its lifecycle is as it is."""

_NO_REASON = "No reason provided"
_LEFT_OPEN = frozenset({Lifecycle.ABANDONED, Lifecycle.DIVERGED})
"""Where a run ends without its steps: the store keeps them as running, as they were."""


class Left(Struct, frozen=True):
    """What a turn leaves behind besides the run."""

    closed: tuple[Closed, ...]
    opened: tuple[Opened, ...]
    artifacts: tuple[Artifact, ...]
    entries: tuple[Entry, ...]
    synthesis: Mapping[str, Value] | None = None


class Told(Struct, frozen=True):
    """One turn as it was decided: who called with what, whether by token, and what came of it.

    `before` is the run the decision was made on: the stored one, begun if it was new. `external`: a person
    did the step by hand. `more` is entered with the step. `kept` are the steps that the store keeps, if the
    run is to be summed up now.
    """

    workflow: Workflow
    stored: Stored
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


def left(told: Told) -> Left:
    """What the turn leaves behind; `told.ids` are for its artifacts: one each, and one for the synthesis."""
    after = told.decision.run
    artifacts = _artifacts(told) if told.ids else ()
    closed = _closed(told, artifacts)
    synthesis: Mapping[str, Value] | None = None
    if told.kept is not None:
        steps = _completed(told, told.kept, closed)
        synthesis = synthesised(steps, milliseconds(told.stored.started or told.at, told.at))
        artifacts = (*artifacts, as_artifact(told.ids[-1], steps, synthesis))
    before = set(map(number_of, told.stored.run.open))
    opened = [
        Opened(step.number, step.state, agent_of(told.workflow, step.state))
        for step in after.open
        if step.number not in before
    ]
    entries = _entries(told, closed, opened, artifacts)
    return Left(closed, tuple(opened), artifacts, tuple(entries), synthesis)


def offered(event: Event) -> list[Mapping[str, Value]]:
    """The artifacts that came with a step output."""
    found = event.payload.get("artifacts") if event.trigger == CONTINUE else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def agent_of(workflow: Workflow, state: str) -> str:
    """The persona that works in a state."""
    known = workflow.states.get(state)
    return known.brief.agent if known and known.brief else ""


def refusal_entry(workflow: Workflow | None, run: Run | None, event: Event, refused: Refused) -> Entry:
    """What is entered of a refusal: its code and its rule, not what was sent."""
    state = run.open[0].state if run and len(run.open) == 1 else ""
    agent = agent_of(workflow, state) if workflow else ""
    data = {"error_type": refused.code, "rule": refused.rule, "trigger": writable(event.trigger)}
    return Entry(EntryKind.ERROR_OCCURRED, state, agent, data)


def passages(decision: Accepted | Waiting, event: Event) -> tuple[Passage, ...]:
    """The way of the turn from where it began to where it ended; routers in between are not told."""
    if isinstance(decision, Waiting) or not decision.moves:
        return ()
    return (Passage(decision.moves[0].source, decision.moves[-1].target, event.trigger, event.note),)


def lifecycle_entry(stored: Stored, after: Run, at: datetime, caller: Caller) -> Entry:
    """What is entered of a run whose lifecycle has changed; if it has ended, also how long it took."""
    details: dict[str, Value] = {"from": str(stored.run.lifecycle), "to": str(after.lifecycle)}
    if after.reason:
        details["reason"] = after.reason
    if terminal(after.lifecycle):
        details |= _took(stored.started, at)
    return Entry(EntryKind.WORKFLOW_STATE_TRANSITION, data={**details, **who(caller)})


def who(caller: Caller) -> Mapping[str, Value]:
    """The caller as entries have it: empty parts are left out."""
    given = {"principal": caller.principal, "client": caller.client, "agent": caller.agent}
    return {"by": str(caller.by), **{name: writable(value) for name, value in given.items() if value}}


def signed(entries: Iterable[Entry], caller: Caller) -> tuple[Entry, ...]:
    """The entries, each of which says who called."""
    mark = who(caller)
    return tuple(
        [
            entry
            if "by" in entry.data
            else Entry(entry.kind, entry.step, entry.agent, {**entry.data, **mark})
            for entry in entries
        ]
    )


def _took(began: datetime | None, at: datetime) -> dict[str, Value]:
    return {} if began is None else {"duration_ms": milliseconds(began, at)}


def _artifacts(told: Told) -> tuple[Artifact, ...]:
    """What the step hands in: nothing yet if it only waits, never what no contract has looked at."""
    given = offered(told.event)
    if isinstance(told.decision, Waiting) or not told.before.open or not given:
        return ()
    step = _step(told)
    if told.workflow.states[step.state].brief is None:
        return ()
    agent = agent_of(told.workflow, step.state)
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
            for given_id, item in zip(told.ids[: len(given)], given, strict=True)
        ]
    )


def _step(told: Told) -> Step:
    """The step the event was for."""
    wanted, open_ = told.event.step, told.before.open
    if wanted is None or open_[0].number == wanted:
        return open_[0]
    return next(step for step in open_ if step.number == wanted)


def _closed(told: Told, artifacts: tuple[Artifact, ...]) -> tuple[Closed, ...]:
    after = told.decision.run
    if after.lifecycle in _LEFT_OPEN:
        return ()
    still = set(map(number_of, after.open))
    status = StepStatus.FAILED if after.lifecycle is Lifecycle.FAILED else StepStatus.COMPLETED
    output = None if told.event.trigger in CONTROLS else _kept(told.event.payload, artifacts)
    return tuple(
        [
            Closed(step.number, step.state, status, output)
            for step in told.before.open
            if step.number not in still
        ]
    )


def _completed(told: Told, kept: tuple[StepRow, ...], closed: tuple[Closed, ...]) -> tuple[StepRow, ...]:
    """Every completed step of the run, those that this turn closes at the end."""
    opened = told.stored.opened
    now = (
        StepRow(
            step.number,
            step.state,
            agent_of(told.workflow, step.state),
            step.status,
            opened.get(step.number),
            told.at,
            told.stored.took(step.number, told.at),
            step.output,
        )
        for step in closed
    )
    return (*(row for row in kept if row.status is StepStatus.COMPLETED), *now)


def _kept(payload: Mapping[str, Value], artifacts: tuple[Artifact, ...]) -> dict[str, Value]:
    """The output as the step keeps it: artifacts by id, their text stands once, in its own place."""
    kept = dict(payload)
    if artifacts:
        kept["artifacts"] = [{"artifact_id": a.id, "type": a.type, "title": a.title} for a in artifacts]
    return kept


def _entries(
    told: Told, closed: tuple[Closed, ...], opened: Sequence[Opened], artifacts: tuple[Artifact, ...]
) -> list[Entry]:
    workflow = told.workflow
    found = _of_beginning(told) if told.stored.run.lifecycle is Lifecycle.IDLE else []
    if told.token:
        state = _step(told).state if told.before.open else ""
        found.append(Entry(EntryKind.TOKEN_VALIDATED, state, agent_of(workflow, state)))
    found += _of_steps(told, closed)
    if artifacts:
        found += [
            Entry(EntryKind.ARTIFACT_STORED, a.step, a.agent, {"artifact_id": a.id, "type": a.type})
            for a in artifacts
        ]
    begun = set(map(number_of, told.before.open))
    found += [
        Entry(EntryKind.STEP_STARTED, s.state, s.agent, {"number": s.number})
        for s in opened
        if s.number not in begun
    ]
    if told.decision.run.lifecycle is Lifecycle.RUNNING:
        found += [
            Entry(EntryKind.TOKEN_GENERATED, step.state, agent_of(workflow, step.state))
            for step in told.decision.run.open
        ]
    if told.stored.run.lifecycle is not told.decision.run.lifecycle:
        found.append(lifecycle_entry(told.stored, told.decision.run, told.at, told.caller))
    return found


def _of_beginning(told: Told) -> list[Entry]:
    """The start of an idle run, once; one that begins with its first event has opened a step by itself."""
    workflow, stored = told.workflow, told.stored
    created = {"workflow": workflow.name, "version": workflow.version, **who(told.caller)}
    begun = [
        Entry(EntryKind.STEP_STARTED, step.state, agent_of(workflow, step.state), {"number": step.number})
        for step in told.before.open
    ]
    return begun if stored.revision else [Entry(EntryKind.WORKFLOW_CREATED, data=created), *begun]


def _of_steps(told: Told, closed: tuple[Closed, ...]) -> list[Entry]:
    """What became of the step: closed, still open after a row that stays, or waiting."""
    details: dict[str, Value] = {"trigger": told.event.trigger, **who(told.caller), **told.more}
    if told.event.note:
        details["note"] = told.event.note
    match told.decision:
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
        if told.external and not failed:
            details["external"] = True
        return [
            Entry(
                kind,
                step.state,
                agent_of(told.workflow, step.state),
                {"number": step.number, **details, **_took(told.stored.opened.get(step.number), told.at)},
            )
            for step in closed
        ]
    if told.event.trigger in CONTROLS or told.event.trigger == START:
        return []
    state = _step(told).state if told.before.open else ""
    return [Entry(kind, state, agent_of(told.workflow, state), details)]


def reason_of(metadata: Mapping[str, Value]) -> str:
    """Why the lifecycle of a run is as it is, by its metadata; empty if nobody gave a reason."""
    found = metadata.get(REASON)
    return str(found) if found and found != _NO_REASON else ""


def marked(before: Run, after: Run, event: Event, given: Mapping[str, Value] | None) -> Mapping[str, Value]:
    """What the metadata of the run is told: why its lifecycle changed, and what the caller adds."""
    changed = after.lifecycle is not before.lifecycle and event.trigger != START
    return {**({REASON: after.reason or _NO_REASON} if changed else {}), **(given or {})}
