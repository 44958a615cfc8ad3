"""One turn: load, gather, decide, resolve, commit, apply, tell. Start here to follow a call.

Nothing has happened before `commit`; after it the turn has happened, whatever becomes of the process. A store
that acts on files applies them as part of its commit, and finishes after a crash what was left to do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from handrail.engine.decide import decide
from handrail.engine.facts import Value
from handrail.engine.lifecycle import START
from handrail.engine.model import (
    Accepted,
    Authority,
    Decision,
    Event,
    Lifecycle,
    Refused,
    Run,
    Seen,
    Waiting,
    Workflow,
)
from handrail.shell.facts import Asked, Gathered, Sight, gather
from handrail.shell.faults import Busy
from handrail.shell.gatekeeper import Held, Repeated, Stale, check, issue, request_of
from handrail.shell.journal import Told, left, offered, refusal_entry, who
from handrail.shell.records import Caller, Change, Definition, Origin, Spent, Stored, Trouble, Turn
from handrail.shell.resolve import Resolved, Values, resolve, said
from handrail.shell.tokens import hashed
from handrail.shell.world import World
from handrail.telemetry.entries import Entry, EntryKind

ATTEMPTS: Final = 5
NO_REASON: Final = "No reason provided"
Reply: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class New:
    """What a run that is not there yet is made from."""

    workflow: Workflow
    origin: Origin
    definition: Definition | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """What a face was asked: an event for a run, by whom, with which token (none: without).

    `new` is given to start a run. `entries` and `marks` are kept with the turn if it is accepted; `only_if`
    is asked of the run as it stands, and nothing happens if it says no.
    """

    run: str
    event: Event
    caller: Caller = field(default_factory=Caller)
    token: str = ""
    new: New | None = None
    entries: tuple[Entry, ...] = ()
    marks: Mapping[str, Value] | None = None
    only_if: Callable[[Stored], bool] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call, for a face to put into words: the decision, the run as it now stands, the token.

    `texts` are those the rows say, in order, part by part; `facts` what was seen. `workflow` is None if the
    run is not there.
    """

    decision: Decision
    stored: Stored | None
    workflow: Workflow | None = None
    tokens: Mapping[int, str] | None = None
    texts: tuple[Mapping[str, str], ...] = ()
    facts: Mapping[str, Value] | None = None


Render: TypeAlias = Callable[[Outcome], Reply]
"""How a face says it. Pure: it is asked before the commit, and what it says is kept for retries."""


def take_turn(world: World, call: Call, render: Render) -> Reply:
    """Answer one call, once: an accepted call moves the run by exactly one revision, a refused one by none.

    Raises `Busy` if others kept moving the run, and the faults of the store; then nothing has moved.
    """
    for attempt in range(ATTEMPTS):
        with world.runs.held(call.run, attempt):
            reply = _attempt(world, call, render)
        if reply is not None:
            return reply
    raise Busy(f"run {call.run} was moved by others {ATTEMPTS} times", "send the same call again")


def recover(world: World, run: str, render: Render) -> Reply:
    """The run as it stands, with fresh tokens that take the place of the old: the way back for a caller.

    Whatever a crash left undone is finished on the way.
    """
    for attempt in range(ATTEMPTS):
        with world.runs.held(run, attempt):
            stored = world.runs.load(run)
            if stored is None:
                return render(Outcome(_unknown(run), None))
            workflow = world.workflow_of(stored)
            at = world.clock.now()
            issued = issue(world, stored.run, stored.revision, at)
            entries = tuple(
                Entry(EntryKind.TOKEN_GENERATED, step.state, data={"why": "recover"})
                for step in stored.run.open
            )
            if not issued.tokens or world.runs.renew(stored, issued.hashes, at, entries):
                return render(Outcome(Accepted(stored.run), stored, workflow, issued.tokens))
    raise Busy(f"run {run} was moved by others {ATTEMPTS} times", "send the same call again")


def _attempt(world: World, call: Call, render: Render) -> Reply | None:
    """One try; None if somebody else moved the run meanwhile."""
    stored = _stored(world, call)
    if stored is None:
        return _refuse(world, call, render, Outcome(_unknown(call.run), None))
    workflow = call.new.workflow if call.new else world.workflow_of(stored)
    if stored.trouble:
        return _refuse(world, call, render, Outcome(_troubled(stored.trouble), stored, workflow))
    held = check(world, stored, call.token, call.event) if call.token else Held(0)
    match held:
        case Repeated(reply):
            return msgspec.json.decode(reply, type=dict[str, Any])
        case Stale(refused, issued, entries):
            if issued and not world.runs.renew(stored, issued.hashes, world.clock.now(), entries):
                return None
            tokens = issued.tokens if issued else None
            return _refuse(world, call, render, Outcome(refused, stored, workflow, tokens))
        case Held(step):
            event = replace(call.event, step=step or call.event.step)
            return _decide(world, replace(call, event=event), render, stored, workflow)


def _stored(world: World, call: Call) -> Stored | None:
    stored = world.runs.load(call.run)
    if stored is None and call.new:
        workflow = call.new.workflow
        return Stored(Run(call.run, workflow.name, workflow.digest), call.new.origin)
    if stored is not None and call.only_if and not call.only_if(stored):
        return None
    return stored


def _decide(world: World, call: Call, render: Render, stored: Stored, workflow: Workflow) -> Reply | None:
    sight = Sight(world.workspace)
    run = _begun(world, workflow, stored, sight, call.event)
    asked = Asked(sight, run, call.event)
    gathered = gather(workflow, asked, world.readers, world.drafters)
    decision = decide(workflow, run, call.event, gathered.facts)
    if isinstance(decision, Refused):
        tokens = _still_open(world, stored, call)
        return _refuse(world, call, render, Outcome(decision, stored, workflow, tokens, facts=gathered.facts))
    return _accept(world, call, render, _Taken(stored, workflow, run, decision, gathered, sight))


@dataclass(frozen=True, slots=True)
class _Taken:
    """An accepted decision and what it was made on."""

    stored: Stored
    workflow: Workflow
    run: Run
    decision: Accepted | Waiting
    gathered: Gathered
    sight: Sight


def _begun(world: World, workflow: Workflow, stored: Stored, sight: Sight, event: Event) -> Run:
    """The run; where the state lives in files or a commit, one that is new begins with its first event."""
    run = stored.run
    begins = run.lifecycle is Lifecycle.IDLE and stored.origin.authority is not Authority.SQL
    if not begins or event.trigger == START:
        return run
    start = Event(START)
    gathered = gather(workflow, Asked(sight, run, start), world.readers, world.drafters)
    decision = decide(workflow, run, start, gathered.facts)
    return decision.run if isinstance(decision, Accepted) else run


def _accept(world: World, call: Call, render: Render, taken: _Taken) -> Reply | None:
    """Resolve, commit, tell; None if the revision has moved."""
    at, decision, stored = world.clock.now(), taken.decision, taken.stored
    resolved, texts = _resolved(taken, call.event, at)
    revision = stored.revision + 1
    issued = issue(world, decision.run, revision, at)
    after = replace(stored, run=decision.run, revision=revision, updated=at, active=at, tokens=issued.hashes)
    reply = render(Outcome(decision, after, taken.workflow, issued.tokens, texts, taken.gathered.facts))
    ids = tuple(world.ids.run() for _ in offered(call.event))
    told = left(
        Told(taken.workflow, stored, taken.run, call.event, call.caller, decision, at, bool(call.token), ids)
    )
    turn = Turn(
        before=stored,
        run=decision.run,
        at=at,
        spent=Spent(hashed(call.token), request_of(call.event), msgspec.json.encode(reply)),
        tokens=issued.hashes,
        closed=told.closed,
        opened=told.opened,
        artifacts=told.artifacts,
        entries=(*told.entries, *call.entries),
        finals=resolved.finals,
        describes=resolved.describes,
        definition=call.new.definition if call.new else None,
        marks=_marks(taken, call),
    )
    if not world.runs.commit(turn):
        return None
    world.feed.announce(Change(call.run, turn.revision))
    return reply


def _resolved(taken: _Taken, event: Event, at: datetime) -> tuple[Resolved, tuple[Mapping[str, str], ...]]:
    """What the world will be, and what is said of it."""
    decision, workflow = taken.decision, taken.workflow
    if isinstance(decision, Waiting) or not (decision.effects or decision.says):
        return Resolved(), ()
    values = Values(workflow, decision.run, event, taken.gathered, taken.run)
    rows = {row.id: row for row in workflow.rows}
    scoped = [(rows[move.row].scope, effect) for move in decision.moves for effect in rows[move.row].do]
    resolved = resolve(workflow, scoped, taken.sight, values, at)
    texts = tuple(said(workflow, name, values, at) for name in decision.says)
    return resolved, texts


def _marks(taken: _Taken, call: Call) -> Mapping[str, Value]:
    """What the metadata of the run is told: why its lifecycle changed, and what the caller adds."""
    changed = taken.decision.run.lifecycle is not taken.run.lifecycle and call.event.trigger != START
    reason = {"last_transition_reason": taken.decision.run.reason or NO_REASON} if changed else {}
    return {**reason, **(call.marks or {})}


def _refuse(world: World, call: Call, render: Render, outcome: Outcome) -> Reply:
    """Say no; only the journal hears of it."""
    refused = outcome.decision
    if isinstance(refused, Refused):
        run = outcome.stored.run if outcome.stored else None
        known = call.run if outcome.stored and outcome.stored.revision else ""
        entry = refusal_entry(outcome.workflow, run, call.event, refused)
        entry = replace(entry, data={**entry.data, **who(call.caller)})
        world.runs.note(known, world.clock.now(), (entry,))
    return render(outcome)


def _still_open(world: World, stored: Stored, call: Call) -> Mapping[int, str] | None:
    """The token a refused call was made with: it is not spent. Where tokens are not kept, one as good."""
    if call.token:
        return {call.event.step or 0: call.token}
    if world.lifetime is None:
        return issue(world, stored.run, stored.revision, world.clock.now()).tokens
    return None


def _unknown(run: str) -> Refused:
    return Refused("unknown_run", "run", (Seen("run", run),), ("the id of a run of this store",))


def _troubled(trouble: Trouble) -> Refused:
    return Refused(trouble.code, "store", (Seen("found", trouble.message),), (trouble.repair,))
