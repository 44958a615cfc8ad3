"""Report the state of a run, for a caller who returns to it or cannot continue. Nothing moves.

`recover_run` and `report_run` answer calls and may issue new tokens. `inspect_run` and `build_outlook` only
read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from handrail.engine.decide import decide, find_closed_tools, find_options
from handrail.engine.model import Accepted, Event, Lifecycle, Refused, State
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.gather import FactContext, FileSnapshot, GatheredFacts, gather_facts
from handrail.runtime.journal import attach_caller, find_agent
from handrail.runtime.records import Caller, StoredRun, refuse_troubled_run, refuse_unknown_run
from handrail.runtime.resolve import TemplateValues, render_workflow_text
from handrail.runtime.tokens import RejectedToken, ValidToken, check_token, issue_tokens, refuse_not_running
from handrail.runtime.turn import (
    Call,
    Outcome,
    Reply,
    ReplyRenderer,
    attach_comments,
    begin_if_idle,
    get_workflow,
    propose_adoption,
    refuse_call,
    refuse_token,
    retry_on_conflict,
)
from handrail.runtime.world import World

_RECOVER: Final = "recover"
_ANONYMOUS_CALLER: Final = Caller()
_TOUCH_INTERVAL: Final = timedelta(seconds=1)  # each `touch` of a run is a write


def recover_run(world: World, run: str, render: ReplyRenderer, caller: Caller = _ANONYMOUS_CALLER) -> Reply:
    """Report the run with new tokens, which replace the old ones, so that a caller can continue.

    Loading the run also finishes what a crash left unfinished. A run that is paused or has ended has no open
    step to return to, so the call is refused.
    """
    call = Call(run, Event(_RECOVER), caller)
    return retry_on_conflict(world, run, lambda: _attempt_recovery(world, call, render))


def _attempt_recovery(world: World, call: Call, render: ReplyRenderer) -> Reply | None:
    stored = world.runs.load(call.run)
    if stored is None:
        return refuse_call(world, call, render, Outcome(refuse_unknown_run(call.run), None))
    call, render = attach_comments(call, render, stored)
    if stored.run.lifecycle not in {Lifecycle.RUNNING, Lifecycle.IDLE}:
        outcome = Outcome(refuse_not_running(stored.run), stored, get_workflow(world, stored.run))
        return refuse_call(world, call, render, outcome)
    return reissue_tokens(world, stored, call, render)


def report_run(world: World, call: Call, render: ReplyRenderer) -> Reply:
    """Report the run in any lifecycle.

    A valid token stays valid and an invalid one is refused. A call without a token gets a new one.
    """
    return retry_on_conflict(world, call.run, lambda: _attempt_report(world, call, render))


def _attempt_report(world: World, call: Call, render: ReplyRenderer) -> Reply | None:
    stored = world.runs.load(call.run)
    if stored is None:
        return refuse_call(world, call, render, Outcome(refuse_unknown_run(call.run), None))
    call, render = attach_comments(call, render, stored)
    workflow = get_workflow(world, stored.run)
    if stored.run.lifecycle is not Lifecycle.RUNNING:
        _note_told_comments(world, call)
        return render(Outcome(Accepted(stored.run), stored, workflow))
    if not call.token:
        return reissue_tokens(world, stored, call, render)
    check = check_token(world, stored, call.token, call.event, call.claims)
    if isinstance(check, RejectedToken):
        return refuse_token(world, call, render, Outcome(check.refused, stored, workflow), check)
    now = world.clock.now()
    if stored.active is None or now - stored.active >= _TOUCH_INTERVAL:
        world.runs.touch(call.run, now)
    _note_told_comments(world, call)
    step = check.step if isinstance(check, ValidToken) else 0
    return render(Outcome(Accepted(stored.run), stored, workflow, {step: call.token}))


def _note_told_comments(world: World, call: Call) -> None:
    """Journal the delivery of comments where the call journals nothing else."""
    if call.deliveries:
        world.runs.note(call.run, world.clock.now(), attach_caller(call.deliveries, call.caller))


def reissue_tokens(world: World, stored: StoredRun, call: Call, render: ReplyRenderer) -> Reply | None:
    """Report the loaded run with new tokens. Return None if another caller moved it meanwhile."""
    workflow, at = get_workflow(world, stored.run), world.clock.now()
    issued = issue_tokens(world, stored.run, stored.revision, at)
    entries = tuple(
        Entry(EntryKind.TOKEN_GENERATED, step.state, find_agent(workflow, step.state), {"why": _RECOVER})
        for step in stored.run.open
    )
    entered = attach_caller((*entries, *call.deliveries), call.caller)
    if issued.tokens and not world.runs.renew_tokens(stored, issued.hashes, at, entered):
        return None
    return render(Outcome(Accepted(stored.run), stored, workflow, issued.tokens))


def inspect_run(world: World, stored: StoredRun, snapshot: FileSnapshot | None = None) -> Outcome:
    """Return the state of a run in files or a commit, and its options. Writes nothing, not even an entry.

    `snapshot` is given if the files were already read, or to look at future content. The token in the outcome
    is valid for the revision, as always for such runs. If the outcome has both a trouble and an open state,
    that state is only proposed: a person must confirm it.
    """
    workflow, at = get_workflow(world, stored.run), world.clock.now()
    snapshot = snapshot or FileSnapshot(world.workspace)
    stored, proposal = propose_adoption(workflow, stored, snapshot)
    if stored.trouble and not proposal:
        return Outcome(refuse_troubled_run(stored.trouble), stored, workflow)
    context = FactContext(workflow, snapshot, stored.run, Event(""), at, world.ids.nonce().hex())
    run = begin_if_idle(world, stored, context)
    context = replace(context, run=proposal.place_run(run) if proposal else run)
    facts = gather_facts(context, world.readers(), world.drafters()).facts
    open_ = proposal.options(workflow) if proposal else find_options(workflow, context.run, facts)
    shown = replace(stored, run=context.run)
    tokens = issue_tokens(world, context.run, stored.revision, at).tokens
    return Outcome(Accepted(context.run), shown, workflow, tokens, facts=facts, options=open_)


def preview_refusal(world: World, shown: Outcome, event: Event) -> Mapping[str, str]:
    """Return the text of the row that would refuse this event now; empty if none would.

    `shown` is the outcome of `inspect_run`.
    """
    workflow, stored, at = shown.workflow, shown.stored, world.clock.now()
    if workflow is None or stored is None:
        return {}
    files, boundary = FileSnapshot(world.workspace), world.ids.nonce().hex()
    context = FactContext(workflow, files, stored.run, event, at, boundary)
    gathered = gather_facts(context, world.readers(), world.drafters())
    decision = decide(workflow, stored.run, event, gathered.facts)
    if not isinstance(decision, Refused) or not decision.say:
        return {}
    values = TemplateValues(workflow, stored.run, event, gathered, stored.run)
    return render_workflow_text(workflow, decision.say, values, at)


@dataclass(frozen=True, slots=True)
class Outlook:
    """The inspected run, its state with its text, and the refusal text of each closed trigger."""

    shown: Outcome
    state: State
    says: Mapping[str, str]
    closed: Mapping[str, Mapping[str, str]]


def build_outlook(world: World, stored: StoredRun, left: Mapping[str, bytes | None]) -> Outlook:
    """Return the outlook of a run, given its files now or as a turn will have `left` them."""
    shown = inspect_run(world, stored, FileSnapshot(world.workspace, dict(left)))
    workflow, run, facts = (
        get_workflow(world, stored.run),
        (shown.stored or stored).run,
        shown.facts or {},
    )
    state, at = workflow.states[str(facts[workflow.derive])], world.clock.now()
    values = TemplateValues(workflow, run, Event(""), GatheredFacts(facts, {}), run)

    def render_text(name: str) -> Mapping[str, str]:
        return render_workflow_text(workflow, name, values, at) if name else {}

    closed = {trigger: render_text(name) for trigger, name in find_closed_tools(workflow, run, facts).items()}
    return Outlook(shown, state, render_text(state.say), closed)
