"""One turn: load, gather, decide, resolve, commit, apply, tell. Start here to follow a call.

Nothing has happened before `commit`; after it the turn has happened, whatever becomes of the process. A store
that acts on files applies them as part of its commit, and finishes after a crash what was left to do.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from handrail.engine.decide import decide, only_says
from handrail.engine.facts import Value
from handrail.engine.lifecycle import START
from handrail.engine.model import (
    Accepted,
    Authority,
    Decision,
    Event,
    Lifecycle,
    Option,
    Refused,
    Run,
    Waiting,
    Workflow,
)
from handrail.engine.options import options
from handrail.shell.adopting import Proposal, adoptable
from handrail.shell.comments import TOLD, telling
from handrail.shell.facts import Asked, Gathered, Sight, gather
from handrail.shell.faults import Busy
from handrail.shell.gatekeeper import Held, Repeated, Stale, at_step, check, issue, request_of
from handrail.shell.journal import (
    Left,
    Told,
    left,
    marked,
    offered,
    passages,
    refusal_entry,
    signed,
    who,
)
from handrail.shell.papers import papers
from handrail.shell.records import Artifact, Caller, Change, Definition, Origin, Spent, Stored, Turn
from handrail.shell.resolve import Resolved, Values, resolve, said
from handrail.shell.tokens import Claims, hashed
from handrail.shell.unfit import moved_on, troubled, unknown
from handrail.shell.watching import watched
from handrail.shell.world import World
from handrail.telemetry.entries import Entry, EntryKind

ATTEMPTS: Final = 5
_BEGIN: Final = Event(START)
_NOTHING: Final = Event("")
"""What nobody waits for: no draft of the event is made once more."""

Reply: TypeAlias = Mapping[str, Value]


class New(Struct, frozen=True):
    """What a run that is not there yet is made from."""

    workflow: Workflow
    origin: Origin
    definition: Definition | None = None


class Call(Struct, frozen=True):
    """What a face was asked: an event for a run, by whom, with which token (none: without).

    `new` is given to start a run. `entries` and `marks` are kept with the turn if it is accepted; `only_if`
    is asked of a run that is there, as it stands; if it says no, the call is refused (`moved_on`) and not
    even the journal hears of it. `external` says that a person did the step by hand: it is entered so, and
    meets the same contract. `answered` gives, for a run as it stands, the reply that the same call had
    before, if it has moved the run there: then nothing moves. `tells` gives what is entered with the step,
    by the run as the turn leaves it. `told` is entered with whatever comes of the call. `aside` says that the
    answer is read by no agent: what its agent was not told yet stays for the next. `claims` is what the token
    says, if the face has read it to find the run: then nobody reads it again.
    """

    run: str
    event: Event
    caller: Caller = field(default_factory=Caller)
    token: str = ""
    new: New | None = None
    entries: tuple[Entry, ...] = ()
    marks: Mapping[str, Value] | None = None
    only_if: Callable[[Stored], bool] | None = None
    external: bool = False
    answered: Callable[[Stored], Reply | None] | None = None
    tells: Callable[[Run], Mapping[str, Value]] | None = None
    told: tuple[Entry, ...] = ()
    aside: bool = False
    claims: Claims | None = None


class Outcome(Struct, frozen=True):
    """What came of a call, for a face to put into words: the decision, the run as it now stands, the token.

    `texts` are those that rows say, in order, part by part, or that of the row that refuses; `facts` what was
    seen. `workflow` is None if the run is not there. `synthesis` sums up a run that this call completed.
    `options` are the triggers open to a run in files or a commit once the turn is done, and `describes` is
    the text that it leaves there, if it leaves another.
    """

    decision: Decision
    stored: Stored | None
    workflow: Workflow | None = None
    tokens: Mapping[int, str] | None = None
    texts: tuple[Mapping[str, str], ...] = ()
    facts: Mapping[str, Value] | None = None
    synthesis: Mapping[str, Value] | None = None
    options: tuple[Option, ...] = ()
    describes: str | None = None


Render: TypeAlias = Callable[[Outcome], Reply]
"""How a face says it. Pure: it is asked before the commit, and what it says is kept for retries."""


def take_turn(world: World, call: Call, render: Render) -> Reply:
    """Answer one call, once: an accepted call moves the run by exactly one revision, a refused one by none.

    Nor does one that takes a row that only says something: run, files and token are as they were, and the
    journal has it.
    Raises `Busy` if others kept moving the run, and the faults of the store; then nothing has moved.
    """
    if world.watch is None:
        return tried(world, call.run, lambda: _attempt(world, call, render))
    unwatched = replace(world, watch=None)
    return watched(world.watch, world, call, render, lambda told: take_turn(unwatched, call, told))


def tried(world: World, run: str, once: Callable[[], Reply | None]) -> Reply:
    """What comes of a call on a run, which is tried again as long as somebody else moves the run meanwhile.

    Raises `Busy` if others keep moving it.
    """
    for attempt in range(ATTEMPTS):
        with world.runs.held(run, attempt):
            reply = once()
        if reply is not None:
            return reply
    raise Busy(f"run {run} was moved by others {ATTEMPTS} times", "send the same call again")


def _attempt(world: World, call: Call, render: Render) -> Reply | None:
    """One try; None if somebody else moved the run meanwhile."""
    stored = _stored(world, call)
    if stored is None:
        return refuse(world, call, render, Outcome(unknown(call.run), None))
    call, render = listening(call, render, stored)
    begins = call.new if not stored.revision else None
    workflow = begins.workflow if begins else world.workflow_of(stored)
    if call.only_if and stored.revision and not call.only_if(stored):
        return render(Outcome(moved_on(stored), stored, workflow))
    proposal: Proposal | None = None
    if stored.trouble:
        stored, proposal = adoptable(workflow, stored, Sight(world.workspace))
    if stored.trouble and not (proposal and call.event.trigger in proposal.ways):
        return refuse(world, call, render, Outcome(troubled(stored.trouble), stored, workflow))
    return _admitted(world, call, render, _Found(stored, workflow, call.event, proposal))


def listening(call: Call, render: Render, stored: Stored) -> tuple[Call, Render]:
    """The call and its answer, which tells the agent what was written to the run since it was last told."""
    if call.aside or not stored.unheard:
        return call, render
    entry, lines = telling(stored.unheard)
    return replace(call, told=(entry,)), lambda outcome: {**render(outcome), TOLD: lines}


def _admitted(world: World, call: Call, render: Render, found: "_Found") -> Reply | None:
    """What becomes of a call, by the token it was made with."""
    stored, workflow = found.stored, found.workflow
    held = check(world, stored, call.token, call.event, call.claims) if call.token else Held(0)
    match held:
        case Repeated(reply):
            return msgspec.json.decode(reply, type=dict[str, Any])
        case Stale():
            return turned_away(world, call, render, Outcome(held.refused, stored, workflow), held)
        case Held(step):
            again = call.answered(stored) if call.answered else None
            if again is not None:
                return again
            found = _Found(stored, workflow, at_step(call.event, step), found.proposal)
            return _decide(world, call, render, found)


def turned_away(world: World, call: Call, render: Render, outcome: Outcome, stale: Stale) -> Reply | None:
    """Say no to a token; one that only came too late is replaced, and all of it is entered at once."""
    stored, issued = outcome.stored, stale.issued
    if stored is None or issued is None:
        return refuse(world, call, render, outcome)
    outcome = replace(outcome, tokens=issued.tokens)
    entries = signed((*stale.entries, _refusal(call, outcome, stale.refused), *call.told), call.caller)
    renewed = world.runs.renew(stored, issued.hashes, world.clock.now(), entries)
    return render(outcome) if renewed else None


def _stored(world: World, call: Call) -> Stored | None:
    stored = world.runs.load(call.run)
    if stored is None and call.new:
        workflow = call.new.workflow
        return Stored(Run(call.run, workflow.name, workflow.digest), call.new.origin)
    return stored


class _Found(Struct, frozen=True):
    """What a call is about: the run, its workflow, and the event for the step that the token is for.

    `proposal` is where the files say that the run is, if nothing else does.
    """

    stored: Stored
    workflow: Workflow
    event: Event
    proposal: Proposal | None = None


def _decide(world: World, call: Call, render: Render, found: _Found) -> Reply | None:
    stored, workflow, event = found.stored, found.workflow, found.event
    at, boundary = world.clock.now(), world.ids.nonce().hex()
    asked = Asked(workflow, Sight(world.workspace), stored.run, event, at, boundary)
    run = stored.run if event.trigger == START else begun(world, stored, asked)
    if run is not stored.run:
        asked = replace(asked, run=run)
    if found.proposal:
        call = replace(call, entries=(*call.entries, found.proposal.entry(stored)))
        return _accept(world, call, render, _adopted(world, found, found.proposal, asked))
    gathered = gather(asked, world.readers, world.drafters)
    decision = decide(workflow, run, event, gathered.facts)
    if isinstance(decision, Refused):
        tokens = _still_open(world, found, call.token)
        values = Values(workflow, run, event, gathered, run)
        texts = tuple(said(workflow, text, values, at) for text in (decision.say,) if text)
        outcome = Outcome(decision, stored, workflow, tokens, texts, gathered.facts)
        return refuse(world, call, render, outcome)
    taken = _Taken(found, asked, decision, gathered)
    if only_says(workflow, run, decision):
        return _answer(world, call, render, taken)
    return _accept(world, call, render, taken)


class _Taken(Struct, frozen=True):
    """An accepted decision and what it was made on."""

    found: _Found
    asked: Asked
    decision: Accepted | Waiting
    gathered: Gathered


def _adopted(world: World, found: _Found, proposal: Proposal, asked: Asked) -> _Taken:
    """The run taken as its files say, or as the word says instead; no row is tried."""
    before = proposal.standing(asked.run)
    decision = proposal.taken(before, asked.event.trigger)
    gathered = gather(replace(asked, run=decision.run), world.readers, world.drafters)
    return _Taken(found, replace(asked, run=before), decision, gathered)


def begun(world: World, stored: Stored, asked: Asked) -> Run:
    """The run; where the state lives in files or a commit, one that is new begins with its first event."""
    run = stored.run
    if run.lifecycle is not Lifecycle.IDLE or stored.origin.authority is Authority.SQL:
        return run
    gathered = gather(replace(asked, event=_BEGIN), world.readers, world.drafters)
    decision = decide(asked.workflow, run, _BEGIN, gathered.facts)
    return decision.run if isinstance(decision, Accepted) else run


def _answer(world: World, call: Call, render: Render, taken: _Taken) -> Reply:
    """Tell; only the journal hears of it, and the token is not spent."""
    stored = taken.found.stored
    entries = [entry for entry in _left(world, call, taken).entries if entry.kind is EntryKind.STEP_STAYED]
    entered = (*entries, *signed(call.told, call.caller))
    world.runs.note(stored.run.id if stored.revision else "", taken.asked.at, entered)
    tell(world, Change(stored.run.id, stored.revision))
    found = replace(taken.found, stored=replace(taken.found.stored, run=taken.decision.run))
    resolved, texts = _resolved(taken)
    tokens, open_ = _still_open(world, found, call.token), _open_after(world, taken, resolved)
    facts = taken.gathered.facts
    return render(Outcome(taken.decision, found.stored, found.workflow, tokens, texts, facts, options=open_))


def _accept(world: World, call: Call, render: Render, taken: _Taken) -> Reply | None:
    """Resolve, commit, tell; None if the revision has moved."""
    at, decision, found = taken.asked.at, taken.decision, taken.found
    stored, workflow, event, run = found.stored, found.workflow, found.event, decision.run
    resolved, texts = _resolved(taken)
    revision = world.revised(stored, resolved)
    issued = issue(world, run, revision, at)
    told = _left(world, call, taken)
    marks = marked(taken.asked.run, run, event, call.marks)
    after = stored.moved(run, at, issued.hashes, told.opened, marks)
    if stored.adopted or revision != after.revision:
        after = replace(after, adopted=stored.adopted, revision=revision)
    seen = (taken.gathered.facts, told.synthesis, _open_after(world, taken, resolved), resolved.describes)
    reply = render(Outcome(decision, after, workflow, issued.tokens, texts, *seen))
    turn = Turn(
        before=stored,
        run=run,
        at=at,
        spent=Spent(hashed(call.token), request_of(event), msgspec.json.encode(reply)),
        tokens=issued.hashes,
        closed=told.closed,
        opened=told.opened,
        artifacts=told.artifacts,
        entries=signed((*told.entries, *call.entries, *call.told), call.caller),
        finals=resolved.finals,
        passages=passages(decision, event),
        describes=resolved.describes,
        anew=resolved.anew,
        definition=call.new.definition if call.new and not stored.revision else None,
        marks=marks,
        caller=call.caller,
    )
    if not world.runs.commit(turn):
        return None
    tell(world, Change(run.id, after.revision), papers(workflow, taken.asked.run, taken.asked.sight.seen))
    return reply


def _open_after(world: World, taken: _Taken, resolved: Resolved) -> tuple[Option, ...]:
    """What may be called next, by the files and the description as the turn leaves them."""
    if taken.found.stored.origin.authority is Authority.SQL:
        return ()
    sight = Sight(world.workspace, resolved.left)
    asked = replace(taken.asked, sight=sight, run=taken.decision.run, event=_NOTHING)
    facts = gather(asked, world.readers, world.drafters).facts
    return options(asked.workflow, asked.run, facts)


def _left(world: World, call: Call, taken: _Taken) -> Left:
    """What the turn leaves behind besides the run; one that is kept here and completed is summed up."""
    found, event, after = taken.found, taken.found.event, taken.decision.run
    completed = after.lifecycle is Lifecycle.COMPLETED and found.stored.origin.authority is Authority.SQL
    told = Told(
        found.workflow,
        found.stored,
        taken.asked.run,
        event,
        call.caller,
        taken.decision,
        taken.asked.at,
        tuple([world.ids.run() for _ in range(len(offered(event)) + completed)]),
        token=bool(call.token),
        external=call.external,
        more=call.tells(after) if call.tells else {},
        kept=world.runs.steps(after.id) if completed else None,
    )
    return left(told)


def tell(world: World, change: Change, seen: tuple[Artifact, ...] = ()) -> None:
    """Let everybody know who wants to: the common store, with the files that were seen, and who listens."""
    if world.mirror:
        world.mirror(change.run, seen)
    world.feed.announce(change)


def _resolved(taken: _Taken) -> tuple[Resolved, tuple[Mapping[str, str], ...]]:
    """What the world will be, and what is said of it."""
    decision, workflow, asked = taken.decision, taken.found.workflow, taken.asked
    if isinstance(decision, Waiting) or not (decision.effects or decision.says):
        return Resolved(), ()
    values = Values(workflow, decision.run, asked.event, taken.gathered, asked.run)
    rows = {row.id: row for row in workflow.rows}
    scoped = [(rows[move.row].scope, effect) for move in decision.moves for effect in rows[move.row].do]
    resolved = resolve(workflow, scoped, asked.sight, values, asked.at)
    texts = tuple(said(workflow, name, values, asked.at, resolved.archived) for name in decision.says)
    return resolved, texts


def refuse(world: World, call: Call, render: Render, outcome: Outcome) -> Reply:
    """Say no; only the journal hears of it."""
    if isinstance(outcome.decision, Refused):
        known = outcome.stored.run.id if outcome.stored and outcome.stored.revision else ""
        entries = (_refusal(call, outcome, outcome.decision), *signed(call.told, call.caller))
        world.runs.note(known, world.clock.now(), entries)
    return render(outcome)


def _refusal(call: Call, outcome: Outcome, refused: Refused) -> Entry:
    run = outcome.stored.run if outcome.stored else None
    entry = refusal_entry(outcome.workflow, run, call.event, refused)
    return replace(entry, data={**entry.data, **who(call.caller)})


def _still_open(world: World, found: _Found, token: str) -> Mapping[int, str] | None:
    """The token a refused call was made with: it is not spent. Where tokens are not kept, one as good."""
    if token:
        return {found.event.step or 0: token}
    if world.lifetime is None:
        return issue(world, found.stored.run, found.stored.revision, world.clock.now()).tokens
    return None
