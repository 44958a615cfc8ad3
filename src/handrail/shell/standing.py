"""How a run stands: asked by somebody who comes back to it, or who cannot go on. Nothing moves."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from handrail.engine.decide import decide
from handrail.engine.model import Accepted, Event, Lifecycle, Refused
from handrail.engine.options import options
from handrail.shell.adopting import adoptable
from handrail.shell.facts import Asked, Sight, gather
from handrail.shell.gatekeeper import Held, Stale, check, issue, not_running
from handrail.shell.journal import agent_of, signed
from handrail.shell.records import Caller, Stored
from handrail.shell.resolve import Values, said
from handrail.shell.turn import (
    Call,
    Outcome,
    Render,
    Reply,
    begun,
    listening,
    refuse,
    tried,
    turned_away,
)
from handrail.shell.unfit import troubled, unknown
from handrail.shell.world import World
from handrail.telemetry.entries import Entry, EntryKind

RECOVER: Final = "recover"
NOBODY: Final = Caller()
NOTICED: Final = timedelta(seconds=1)
"""How often it is noted, at most, that somebody looks after a run: each note is a write."""


def recover(world: World, run: str, render: Render, caller: Caller = NOBODY) -> Reply:
    """The run as it stands, with fresh tokens that take the place of the old: the way back for a caller.

    Whatever a crash left undone is finished on the way. A run that rests or has ended has no step to go back
    to: that is refused.
    """
    call = Call(run, Event(RECOVER), caller)
    return tried(world, run, lambda: _recovered(world, call, render))


def ask(world: World, call: Call, render: Render) -> Reply:
    """How the run stands, whatever that is.

    A good token stays good, one that does not pass is refused; without one a fresh one is given.
    """
    return tried(world, call.run, lambda: _asked(world, call, render))


def look(world: World, stored: Stored, sight: Sight | None = None) -> Outcome:
    """How the run in files or a commit stands, and what may be called; nothing is written, no entry made.

    `sight` is how the files are seen, if somebody has looked at them already, or looks ahead.

    The token that is given is good for the revision, as every one there. A run whose trouble is told and
    that stands all the same is only proposed to stand so.
    """
    workflow, at, sight = world.workflow_of(stored), world.clock.now(), sight or Sight(world.workspace)
    stored, proposal = adoptable(workflow, stored, sight)
    if stored.trouble and not proposal:
        return Outcome(troubled(stored.trouble), stored, workflow)
    asked = Asked(workflow, sight, stored.run, Event(""), at, world.ids.nonce().hex())
    run = begun(world, stored, asked)
    asked = replace(asked, run=proposal.standing(run) if proposal else run)
    facts = gather(asked, world.readers, world.drafters).facts
    open_ = proposal.options(workflow) if proposal else options(workflow, asked.run, facts)
    shown = replace(stored, run=asked.run)
    tokens = issue(world, asked.run, stored.revision, at).tokens
    return Outcome(Accepted(asked.run), shown, workflow, tokens, facts=facts, options=open_)


def unready(world: World, shown: Outcome, event: Event) -> Mapping[str, str]:
    """What a row would say that refused this event now, of a run that `look` has shown; or nothing."""
    workflow, stored, at = shown.workflow, shown.stored, world.clock.now()
    if workflow is None or stored is None:
        return {}
    asked = Asked(workflow, Sight(world.workspace), stored.run, event, at, world.ids.nonce().hex())
    gathered = gather(asked, world.readers, world.drafters)
    decision = decide(workflow, stored.run, event, gathered.facts)
    if not isinstance(decision, Refused) or not decision.say:
        return {}
    return said(workflow, decision.say, Values(workflow, stored.run, event, gathered, stored.run), at)


def shown_again(world: World, stored: Stored, call: Call, render: Render) -> Reply | None:
    """The run as it was loaded, with fresh tokens; None if somebody else moved it meanwhile."""
    workflow, at = world.workflow_of(stored), world.clock.now()
    issued = issue(world, stored.run, stored.revision, at)
    entries = tuple(
        Entry(EntryKind.TOKEN_GENERATED, step.state, agent_of(workflow, step.state), {"why": RECOVER})
        for step in stored.run.open
    )
    entered = signed((*entries, *call.told), call.caller)
    if issued.tokens and not world.runs.renew(stored, issued.hashes, at, entered):
        return None
    return render(Outcome(Accepted(stored.run), stored, workflow, issued.tokens))


def _heard(world: World, call: Call) -> None:
    """Enter what an answer tells besides, where nothing else is entered."""
    if call.told:
        world.runs.note(call.run, world.clock.now(), signed(call.told, call.caller))


def _recovered(world: World, call: Call, render: Render) -> Reply | None:
    stored = world.runs.load(call.run)
    if stored is None:
        return refuse(world, call, render, Outcome(unknown(call.run), None))
    call, render = listening(call, render, stored)
    if stored.run.lifecycle not in {Lifecycle.RUNNING, Lifecycle.IDLE}:
        outcome = Outcome(not_running(stored.run), stored, world.workflow_of(stored))
        return refuse(world, call, render, outcome)
    return shown_again(world, stored, call, render)


def _asked(world: World, call: Call, render: Render) -> Reply | None:
    stored = world.runs.load(call.run)
    if stored is None:
        return refuse(world, call, render, Outcome(unknown(call.run), None))
    call, render = listening(call, render, stored)
    workflow = world.workflow_of(stored)
    if stored.run.lifecycle is not Lifecycle.RUNNING:
        _heard(world, call)
        return render(Outcome(Accepted(stored.run), stored, workflow))
    if not call.token:
        return shown_again(world, stored, call, render)
    held = check(world, stored, call.token, call.event, call.claims)
    if isinstance(held, Stale):
        return turned_away(world, call, render, Outcome(held.refused, stored, workflow), held)
    now = world.clock.now()
    if stored.active is None or now - stored.active >= NOTICED:
        world.runs.touch(call.run, now)
    _heard(world, call)
    step = held.step if isinstance(held, Held) else 0
    return render(Outcome(Accepted(stored.run), stored, workflow, {step: call.token}))
