"""Take one turn: load the run, gather facts, decide, resolve effects, commit, reply.

Start at `take_turn`; the rest of the file follows the order of a turn. Only this loop moves runs. It reaches
the store, the files and the clock through `World`, and the run moves at exactly one place: `commit`.

At the end of the file: recovery of a run whose state file was deleted, and the report to an observer.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from handrail.engine.decide import decide, find_options, is_message_only
from handrail.engine.facts import Value
from handrail.engine.lifecycle import START
from handrail.engine.model import (
    Accepted,
    Authority,
    Decision,
    Event,
    Lifecycle,
    Move,
    Option,
    Refused,
    Run,
    Step,
    Waiting,
    Workflow,
)
from handrail.engine.refusals import TroubleCode
from handrail.runtime.comments import COMMENTS_KEY, prepare_delivery
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.errors import Busy, Fault
from handrail.runtime.gather import (
    NOTHING_GATHERED,
    FactContext,
    FileSnapshot,
    GatheredFacts,
    gather_facts,
)
from handrail.runtime.journal import (
    DecidedTurn,
    TurnRecord,
    attach_caller,
    build_file_artifacts,
    build_history_items,
    build_marks,
    build_refusal_entry,
    build_run_after,
    build_turn_record,
    describe_caller,
    read_offered_artifacts,
)
from handrail.runtime.records import (
    Caller,
    Definition,
    Origin,
    RecordedCall,
    RunChange,
    StoredRun,
    Trouble,
    Turn,
    refuse_moved_run,
    refuse_troubled_run,
    refuse_unknown_run,
)
from handrail.runtime.resolve import ResolvedEffects, TemplateValues, render_workflow_text, resolve_effects
from handrail.runtime.tokens import (
    RecordedReply,
    RejectedToken,
    TokenClaims,
    ValidToken,
    bind_event_to_step,
    check_token,
    hash_request,
    hash_token,
    issue_tokens,
)
from handrail.runtime.world import TurnObserver, TurnReport, TurnResult, World

MAX_ATTEMPTS: Final = 5
"""How often a turn is tried while other callers keep moving the run."""

ADOPTED_ROW: Final = "adopted"
"""The row id of a move that adopts a state from the files; no row of the workflow was taken."""

_START_EVENT: Final = Event(START)

_NO_EVENT: Final = Event("")
"""An event that no row waits for, so `gather_facts` makes no draft."""

_SIGN_KEY: Final = "sign"
_ADOPTED_BY_KEY: Final = "adopted_by"
Reply: TypeAlias = Mapping[str, Value]


class NewRun(Struct, frozen=True):
    """What `take_turn` needs to create a run that does not exist yet."""

    workflow: Workflow
    origin: Origin
    definition: Definition | None = None


class Call(Struct, frozen=True):
    """One call from a face: an event for a run, the caller, and the step token if there is one.

    - `new`: creates the run if it does not exist.
    - `entries`, `marks`: saved with the turn if it is accepted.
    - `only_if`: checks an existing run. If it returns False, the call is refused (`moved_on`) and the journal
      gets no entry.
    - `external`: a person did the step by hand. The journal says so; the step meets the same contract.
    - `find_earlier_reply`: returns the reply if this call already moved the run here; then nothing moves.
    - `journal_data`: returns data for the step's journal entry, given the run after the turn.
    - `deliveries`: entries about delivered comments; journaled whatever the outcome.
    - `unattended`: no agent reads the reply, so undelivered comments wait for the next one.
    - `claims`: the decoded token, if the face already decoded it to find the run.
    """

    run: str
    event: Event
    caller: Caller = field(default_factory=Caller)
    token: str = ""
    new: NewRun | None = None
    entries: tuple[Entry, ...] = ()
    marks: Mapping[str, Value] | None = None
    only_if: Callable[[StoredRun], bool] | None = None
    external: bool = False
    find_earlier_reply: Callable[[StoredRun], Reply | None] | None = None
    journal_data: Callable[[Run], Mapping[str, Value]] | None = None
    deliveries: tuple[Entry, ...] = ()
    unattended: bool = False
    claims: TokenClaims | None = None


class Outcome(Struct, frozen=True):
    """The result of a call, for a face to render: the decision, the run after it, and fresh tokens.

    - `workflow`: None if the run does not exist.
    - `texts`: what the rows say, in order, part by part; for a refusal, the text of the refusing row.
    - `facts`: the facts the decision was made on.
    - `synthesis`: the summary of a run that this call completed.
    - `options`: the triggers open after the turn, for a run in files or a commit.
    - `describes`: the new commit description, if the turn changes it.
    """

    decision: Decision
    stored: StoredRun | None
    workflow: Workflow | None = None
    tokens: Mapping[int, str] | None = None
    texts: tuple[Mapping[str, str], ...] = ()
    facts: Mapping[str, Value] | None = None
    synthesis: Mapping[str, Value] | None = None
    options: tuple[Option, ...] = ()
    describes: str | None = None

    @property
    def token_field(self) -> Mapping[str, str]:
        """The field of a reply with the token for the next call; empty if there is none."""
        token = next(iter((self.tokens or {}).values()), "")
        return {"step_token": token} if token else {}


ReplyRenderer: TypeAlias = Callable[[Outcome], Reply]
"""Renders an outcome as a face's reply. Pure: it runs before the commit, and retries get the saved reply."""


def take_turn(world: World, call: Call, render: ReplyRenderer) -> Reply:
    """Answer one call. An accepted call moves the run by exactly one revision, a refused call by none.

    A call that takes a message-only row moves nothing either: run, files and token stay, the journal gets an
    entry. Raises `Busy` if other callers kept moving the run, and the store's faults; then nothing has moved.
    """
    if world.watch is None:
        return retry_on_conflict(world, call.run, lambda: _attempt_turn(world, call, render))
    unwatched = replace(world, watch=None)
    return observe_turn(world.watch, world, call, render, lambda wrapped: take_turn(unwatched, call, wrapped))


def retry_on_conflict(world: World, run: str, once: Callable[[], Reply | None]) -> Reply:
    """Call `once` until it returns a reply. None means that another caller moved the run meanwhile.

    Raises `Busy` after `MAX_ATTEMPTS`.
    """
    for attempt in range(MAX_ATTEMPTS):
        with world.runs.hold_lock(run, attempt):
            reply = once()
        if reply is not None:
            return reply
    raise Busy(f"run {run} was moved by others {MAX_ATTEMPTS} times", "send the same call again")


# Load: the run, its workflow, and the check of the token.


class _LoadedCall(Struct, frozen=True):
    """The run of a call, its workflow, and the event, bound to the step of the token.

    `proposal` is set if the state file is gone and the other files suggest a state.
    """

    stored: StoredRun
    workflow: Workflow
    event: Event
    proposal: "AdoptionProposal | None" = None


def _attempt_turn(world: World, call: Call, render: ReplyRenderer) -> Reply | None:
    """Try the turn once. Return None if another caller moved the run meanwhile."""
    stored = _load_or_create(world, call)
    if stored is None:
        return refuse_call(world, call, render, Outcome(refuse_unknown_run(call.run), None))
    call, render = attach_comments(call, render, stored)
    new = call.new if not stored.revision else None
    workflow = new.workflow if new else get_workflow(world, stored.run)
    if call.only_if and stored.revision and not call.only_if(stored):
        return render(Outcome(refuse_moved_run(stored), stored, workflow))
    proposal: AdoptionProposal | None = None
    if stored.trouble:
        stored, proposal = propose_adoption(workflow, stored, FileSnapshot(world.workspace))
    if stored.trouble and not (proposal and call.event.trigger in proposal.ways):
        return refuse_call(
            world, call, render, Outcome(refuse_troubled_run(stored.trouble), stored, workflow)
        )
    return _check_call_token(world, call, render, _LoadedCall(stored, workflow, call.event, proposal))


def _load_or_create(world: World, call: Call) -> StoredRun | None:
    """Load the run, or build it at revision 0 if the call may create it."""
    stored = world.runs.load(call.run)
    if stored is None and call.new:
        workflow = call.new.workflow
        return StoredRun(Run(call.run, workflow.name, workflow.digest), call.new.origin)
    return stored


def get_workflow(world: World, run: Run) -> Workflow:
    """Return the workflow that a run follows."""
    return world.workflow or world.workflow_of(run.digest, run.workflow)


def attach_comments(call: Call, render: ReplyRenderer, stored: StoredRun) -> tuple[Call, ReplyRenderer]:
    """Return the call and its renderer, extended so that the reply carries the comments not yet delivered."""
    if call.unattended or not stored.undelivered:
        return call, render
    entry, lines = prepare_delivery(stored.undelivered)
    return replace(call, deliveries=(entry,)), lambda outcome: {**render(outcome), COMMENTS_KEY: lines}


def _check_call_token(world: World, call: Call, render: ReplyRenderer, loaded: _LoadedCall) -> Reply | None:
    """Repeat the recorded reply, refuse the token, or go on with the event bound to the token's step."""
    stored, workflow = loaded.stored, loaded.workflow
    check = check_token(world, stored, call.token, call.event, call.claims) if call.token else ValidToken(0)
    match check:
        case RecordedReply(reply):
            return msgspec.json.decode(reply, type=dict[str, Any])
        case RejectedToken():
            return refuse_token(world, call, render, Outcome(check.refused, stored, workflow), check)
        case ValidToken(step):
            earlier_reply = call.find_earlier_reply(stored) if call.find_earlier_reply else None
            if earlier_reply is not None:
                return earlier_reply
            loaded = _LoadedCall(stored, workflow, bind_event_to_step(call.event, step), loaded.proposal)
            return _gather_and_decide(world, call, render, loaded)


# Gather and decide.


class _AcceptedDecision(Struct, frozen=True):
    """An accepted decision and what it was made on."""

    loaded: _LoadedCall
    context: FactContext
    decision: Accepted | Waiting
    gathered: GatheredFacts


def _gather_and_decide(world: World, call: Call, render: ReplyRenderer, loaded: _LoadedCall) -> Reply | None:
    """Gather the facts, decide, and refuse the call, reply to it, or commit the turn."""
    stored, workflow, event = loaded.stored, loaded.workflow, loaded.event
    at, boundary = world.clock.now(), world.ids.nonce().hex()
    context = FactContext(workflow, FileSnapshot(world.workspace), stored.run, event, at, boundary)
    run = stored.run if event.trigger == START else begin_if_idle(world, stored, context)
    if run is not stored.run:
        context = replace(context, run=run)
    if loaded.proposal:
        call = replace(call, entries=(*call.entries, loaded.proposal.entry(stored)))
        return _commit_decision(world, call, render, _adopt_run(world, loaded, loaded.proposal, context))
    gathered = (
        gather_facts(context, world.readers(), world.drafters()) if workflow.reads else NOTHING_GATHERED
    )
    decision = decide(workflow, run, event, gathered.facts)
    if isinstance(decision, Refused):
        tokens = _unspent_tokens(world, loaded, call.token)
        values = TemplateValues(workflow, run, event, gathered, run)
        texts = tuple(render_workflow_text(workflow, text, values, at) for text in (decision.say,) if text)
        outcome = Outcome(decision, stored, workflow, tokens, texts, gathered.facts)
        return refuse_call(world, call, render, outcome)
    accepted = _AcceptedDecision(loaded, context, decision, gathered)
    if is_message_only(workflow, run, decision):
        return _reply_without_commit(world, call, render, accepted)
    return _commit_decision(world, call, render, accepted)


def begin_if_idle(world: World, stored: StoredRun, context: FactContext) -> Run:
    """Return the run, started if it is idle and its state lives in files or a commit.

    Such a run starts with its first event. In a database, a run starts with a call of its own.
    """
    run = stored.run
    if run.lifecycle is not Lifecycle.IDLE or stored.origin.authority is Authority.SQL:
        return run
    gathered = gather_facts(replace(context, event=_START_EVENT), world.readers(), world.drafters())
    decision = decide(context.workflow, run, _START_EVENT, gathered.facts)
    return decision.run if isinstance(decision, Accepted) else run


# Resolve.


def _resolve_decision(accepted: _AcceptedDecision) -> tuple[ResolvedEffects, tuple[Mapping[str, str], ...]]:
    """Return the final values of the decision's effects, and the texts that its rows say."""
    decision, workflow, context = accepted.decision, accepted.loaded.workflow, accepted.context
    if isinstance(decision, Waiting) or not (decision.effects or decision.says):
        return ResolvedEffects(), ()
    values = TemplateValues(workflow, decision.run, context.event, accepted.gathered, context.run)
    rows = {row.id: row for row in workflow.rows}
    scoped = [(rows[move.row].scope, effect) for move in decision.moves for effect in rows[move.row].do]
    resolved = resolve_effects(workflow, scoped, context.snapshot, values, context.at)
    texts = tuple(
        render_workflow_text(workflow, name, values, context.at, resolved.archived) for name in decision.says
    )
    return resolved, texts


# Commit.


def _commit_decision(
    world: World, call: Call, render: ReplyRenderer, accepted: _AcceptedDecision
) -> Reply | None:
    """Resolve the effects, render the reply, commit both as one turn, and publish the change.

    Return None if the revision has moved; then nothing was saved.
    """
    at, decision, loaded = accepted.context.at, accepted.decision, accepted.loaded
    stored, workflow, event, run = loaded.stored, loaded.workflow, loaded.event, decision.run
    resolved, texts = _resolve_decision(accepted)
    revision = world.next_revision(stored, resolved) if world.next_revision else stored.revision + 1
    issued = issue_tokens(world, run, revision, at)
    record = _record_decision(world, call, accepted)
    marks = build_marks(accepted.context.run, run, event, call.marks)
    after = build_run_after(stored, run, at, issued.hashes, record.opened, marks)
    if stored.adopted or revision != after.revision:
        after = replace(after, adopted=stored.adopted, revision=revision)
    options = _options_after(world, accepted, resolved)
    seen = (accepted.gathered.facts, record.synthesis, options, resolved.describes)
    # The turn saves the reply, so a repeated call gets the same one. That is why it is rendered first.
    reply = render(Outcome(decision, after, workflow, issued.tokens, texts, *seen))
    turn = Turn(
        before=stored,
        run=run,
        at=at,
        spent=RecordedCall(hash_token(call.token), hash_request(event), msgspec.json.encode(reply)),
        tokens=issued.hashes,
        closed=record.closed,
        opened=record.opened,
        artifacts=record.artifacts,
        entries=attach_caller((*record.entries, *call.entries, *call.deliveries), call.caller),
        finals=resolved.finals,
        passages=build_history_items(decision, event),
        describes=resolved.describes,
        anew=resolved.anew,
        definition=call.new.definition if call.new and not stored.revision else None,
        marks=marks,
        caller=call.caller,
    )
    if not world.runs.commit(turn):
        return None
    change = RunChange(run.id, after.revision)
    if world.mirror:
        files = accepted.context.snapshot.files_read
        world.mirror(change, build_file_artifacts(workflow, accepted.context.run, files))
    else:
        world.feed.announce(change)
    return reply


def _record_decision(world: World, call: Call, accepted: _AcceptedDecision) -> TurnRecord:
    """Build what the turn saves besides the run. A completed run in a database gets a synthesis too."""
    loaded, event, after = accepted.loaded, accepted.loaded.event, accepted.decision.run
    completed = after.lifecycle is Lifecycle.COMPLETED and loaded.stored.origin.authority is Authority.SQL
    decided = DecidedTurn(
        loaded.workflow,
        loaded.stored,
        accepted.context.run,
        event,
        call.caller,
        accepted.decision,
        accepted.context.at,
        tuple([world.ids.new_id() for _ in range(len(read_offered_artifacts(event)) + completed)]),
        token=bool(call.token),
        external=call.external,
        more=call.journal_data(after) if call.journal_data else {},
        kept=world.runs.steps(after.id) if completed else None,
    )
    return build_turn_record(decided)


def _options_after(
    world: World, accepted: _AcceptedDecision, resolved: ResolvedEffects
) -> tuple[Option, ...]:
    """Return the options of a run in files or a commit, given the files as the turn leaves them."""
    if accepted.loaded.stored.origin.authority is Authority.SQL:
        return ()
    snapshot = FileSnapshot(world.workspace, dict(resolved.files_after))
    context = replace(accepted.context, snapshot=snapshot, run=accepted.decision.run, event=_NO_EVENT)
    facts = gather_facts(context, world.readers(), world.drafters()).facts
    return find_options(context.workflow, context.run, facts)


# Reply without a commit: a message-only row, or a refusal.


def _reply_without_commit(
    world: World, call: Call, render: ReplyRenderer, accepted: _AcceptedDecision
) -> Reply:
    """Reply to a call that took a message-only row: journal it, keep the run, leave the token unspent."""
    stored = accepted.loaded.stored
    recorded = _record_decision(world, call, accepted).entries
    stayed = [entry for entry in recorded if entry.kind is EntryKind.STEP_STAYED]
    entries = (*stayed, *attach_caller(call.deliveries, call.caller))
    world.runs.note(stored.run.id if stored.revision else "", accepted.context.at, entries)
    publish = world.mirror or world.feed.announce
    publish(RunChange(stored.run.id, stored.revision))
    loaded = replace(accepted.loaded, stored=replace(stored, run=accepted.decision.run))
    resolved, texts = _resolve_decision(accepted)
    tokens = _unspent_tokens(world, loaded, call.token)
    options = _options_after(world, accepted, resolved)
    facts = accepted.gathered.facts
    return render(
        Outcome(accepted.decision, loaded.stored, loaded.workflow, tokens, texts, facts, options=options)
    )


def refuse_call(world: World, call: Call, render: ReplyRenderer, outcome: Outcome) -> Reply:
    """Journal the refusal and render it. Nothing else changes."""
    if isinstance(outcome.decision, Refused):
        run = outcome.stored.run.id if outcome.stored and outcome.stored.revision else ""
        entries = (
            _refusal_entry_with_caller(call, outcome, outcome.decision),
            *attach_caller(call.deliveries, call.caller),
        )
        world.runs.note(run, world.clock.now(), entries)
    return render(outcome)


def refuse_token(
    world: World, call: Call, render: ReplyRenderer, outcome: Outcome, rejected: RejectedToken
) -> Reply | None:
    """Refuse a call because of its token. An expired token is replaced and journaled in the same write.

    Return None if the run moved meanwhile, so that the token could not be replaced.
    """
    stored, issued = outcome.stored, rejected.issued
    if stored is None or issued is None:
        return refuse_call(world, call, render, outcome)
    outcome = replace(outcome, tokens=issued.tokens)
    entries = attach_caller(
        (*rejected.entries, _refusal_entry_with_caller(call, outcome, rejected.refused), *call.deliveries),
        call.caller,
    )
    renewed = world.runs.renew_tokens(stored, issued.hashes, world.clock.now(), entries)
    return render(outcome) if renewed else None


def _refusal_entry_with_caller(call: Call, outcome: Outcome, refused: Refused) -> Entry:
    run = outcome.stored.run if outcome.stored else None
    entry = build_refusal_entry(outcome.workflow, run, call.event, refused)
    return replace(entry, data={**entry.data, **describe_caller(call.caller)})


def _unspent_tokens(world: World, loaded: _LoadedCall, token: str) -> Mapping[int, str] | None:
    """Return the token of a call that did not spend it.

    A call without a token gets an equivalent one where the store keeps none, else None.
    """
    if token:
        return {loaded.event.step or 0: token}
    if world.lifetime is None:
        return issue_tokens(world, loaded.stored.run, loaded.stored.revision, world.clock.now()).tokens
    return None


# Adoption: recover a run whose state file was deleted. The remaining files suggest a state; a person confirms
# it by a word before the run continues. In a workflow, a state's `sign` names the file that suggests it, and
# `adopted_by` names the word that confirms it. A state with a word and no sign is where that word leads,
# whatever the files suggest.


class AdoptionProposal(Struct, frozen=True):
    """The state that the files suggest, and the state that each confirming word leads to."""

    state: str
    ways: Mapping[str, str]

    def options(self, workflow: Workflow) -> tuple[Option, ...]:
        """Return the confirming words as options, each with who may say it."""
        return tuple(Option(word, workflow.tools[word].who) for word in self.ways)

    def place_run(self, run: Run) -> Run:
        """Return the run, which has just begun, in the suggested state instead of its first."""
        (step,) = run.open
        return replace(run, open=(Step(step.number, self.state, 1),), attempts={self.state: 1})

    def entry(self, stored: StoredRun) -> Entry:
        """Return the journal entry of the adoption."""
        return Entry(
            EntryKind.STATE_ADOPTED,
            self.state,
            data={"why": TroubleCode.ORPHANED, "revision": stored.revision},
        )

    def apply_word(self, run: Run, word: str) -> Accepted:
        """Accept the word for a run in the suggested state: stay there, or move where the word leads."""
        target, number = self.ways[word], run.steps + 1
        if target != self.state:
            attempts = {**run.attempts, target: 1}
            run = replace(run, open=(Step(number, target, 1),), steps=number, attempts=attempts)
        return Accepted(run, (Move(ADOPTED_ROW, self.state, target),))


def propose_adoption(
    workflow: Workflow, stored: StoredRun, snapshot: FileSnapshot
) -> tuple[StoredRun, AdoptionProposal | None]:
    """Return the run, and a proposal if its state file is gone and other files suggest a state.

    With a proposal, the run's trouble lists the words that confirm it. If no file suggests a state, there is
    nothing to recover: the trouble is removed and the run may begin.
    """
    if stored.trouble is None or stored.trouble.code is not TroubleCode.ORPHANED:
        return stored, None
    signs = {
        name: str(state.extra[_SIGN_KEY])
        for name, state in workflow.states.items()
        if _SIGN_KEY in state.extra
    }
    if not signs:
        return stored, None
    suggested = [name for name, sign in signs.items() if snapshot.read(sign) is not None]
    if not suggested:
        return replace(stored, trouble=None), None
    words = {
        name: str(state.extra[_ADOPTED_BY_KEY])
        for name, state in workflow.states.items()
        if _ADOPTED_BY_KEY in state.extra
    }
    ways = {word: name for name, word in words.items() if name not in signs or name == suggested[-1]}
    proposal = AdoptionProposal(suggested[-1], ways)
    return replace(stored, trouble=_describe_ways_out(stored.trouble, proposal)), proposal


def _describe_ways_out(trouble: Trouble, proposal: AdoptionProposal) -> Trouble:
    ways = ", ".join(f"{word} goes on in {state}" for word, state in proposal.ways.items())
    return replace(trouble, repair=f"{ways}; nothing else is done then. Or {trouble.repair}")


def _adopt_run(
    world: World, loaded: _LoadedCall, proposal: AdoptionProposal, context: FactContext
) -> _AcceptedDecision:
    """Accept the confirming word without trying any row: the run takes the state that the word leads to."""
    before = proposal.place_run(context.run)
    decision = proposal.apply_word(before, context.event.trigger)
    gathered = gather_facts(replace(context, run=decision.run), world.readers(), world.drafters())
    return _AcceptedDecision(loaded, replace(context, run=before), decision, gathered)


# Observation: report each finished turn, for metrics and logs.


def observe_turn(
    watch: TurnObserver,
    world: World,
    call: Call,
    render: ReplyRenderer,
    take: Callable[[ReplyRenderer], Reply],
) -> Reply:
    """Take a turn and report its result to `watch`. Raises what the turn raises."""
    since, last = world.clock.now(), _LastOutcome()

    def render_and_remember(outcome: Outcome) -> Reply:
        last.outcome = outcome
        return render(outcome)

    def report(result: TurnResult, code: str) -> None:
        outcome = last.outcome
        stored_run = outcome.stored.run.id if outcome and outcome.stored and outcome.stored.revision else ""
        workflow = outcome.workflow.name if outcome and outcome.workflow else ""
        run = stored_run or (call.run if result is TurnResult.REPEATED else "")
        watch(TurnReport(call.event.trigger, result, code, workflow, run, since, world.clock.now()))

    try:
        reply = take(render_and_remember)
    except Fault as fault:
        report(TurnResult.FAILED, fault.code)
        raise
    report(*_classify_outcome(last.outcome))
    return reply


class _LastOutcome(Struct):
    """The outcome rendered last: a retried turn is rendered again."""

    outcome: Outcome | None = None


def _classify_outcome(outcome: Outcome | None) -> tuple[TurnResult, str]:
    """Return the result and the refusal code. No outcome means that a recorded reply was repeated."""
    if outcome is None:
        return TurnResult.REPEATED, ""
    match outcome.decision:
        case Refused(code=code):
            return TurnResult.REFUSED, code
        case Accepted():
            return TurnResult.ACCEPTED, ""
        case _:
            return TurnResult.WAITING, ""
