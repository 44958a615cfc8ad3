"""Fork: a new run that goes on from one that has ended, with what that has finished and all its artifacts.

It is one turn of the new run, from revision 0 to 1. The id of the new run follows from the old one, the state
it begins in and how many forks there have moved on: so a fork that is asked for again makes no second run.
"""

import hmac
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Final
from uuid import UUID

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from handrail.engine.fork import FORK, forked, step_states
from handrail.engine.lifecycle import START
from handrail.engine.model import Accepted, Event, Lifecycle, Option, Refused, Run, Seen, Who, Workflow
from handrail.shell.gatekeeper import issue, request_of
from handrail.shell.journal import REASON, Told, agent_of, left, signed, who
from handrail.shell.records import Caller, Change, Origin, Spent, StepStatus, Stored, Turn
from handrail.shell.standing import shown_again
from handrail.shell.sweep import MARK
from handrail.shell.tokens import hashed
from handrail.shell.turn import (
    Call,
    New,
    Outcome,
    Render,
    Reply,
    refuse,
    tell,
    tried,
)
from handrail.shell.unfit import troubled, unknown
from handrail.shell.world import World
from handrail.telemetry.entries import Entry, EntryKind

_OF_THE_END: Final = frozenset({REASON, MARK})
"""Marks in the metadata of a run that tell how it ended: a fork has not."""


class Fork(Struct, frozen=True):
    """What a face was asked: to go on from a run that has ended, in this state (empty: where it stood).

    `new` is the workflow as it is now, which only a person may put in the place of the one that the run began
    with. Where the run belongs and what it is for is taken from the old run in any case.
    """

    run: str
    state: str = ""
    caller: Caller = field(default_factory=Caller)
    new: New | None = None


def fork(world: World, asked: Fork, render: Render) -> Reply:
    """Answer with the new run, or say why there is none; asked again, with the same run and a fresh token.

    Only a fork that has moved on since is followed by another. A refusal is entered with the old run. Raises
    `Busy` if others keep forking the run, and the faults of the store; then there is no new run.
    """
    return tried(world, asked.run, lambda: _attempt(world, asked, render))


def overrides(world: World, asked: Fork) -> str:
    """The code of why only a person can have this fork made; empty if an agent can, or nobody.

    Nothing is entered: so a person can be told before they go where no agent could.
    """
    stored = world.runs.load(asked.run)
    if stored is None or stored.trouble:
        return ""
    old = _old(world, stored, asked.new.workflow if asked.new else world.workflow_of(stored))
    made, without = _decided(world, old, "", asked.state or old.stood, asked.caller.by)
    return without if isinstance(made, Run) else ""


def fork_id(key: bytes, run: str, state: str, number: int) -> str:
    """The id of a fork of this run in this state, which so many have moved on from."""
    name = msgspec.json.encode([FORK, run, state, number])
    return str(UUID(bytes=hmac.digest(key, name, "sha256")[:16], version=5))


class _Old(Struct, frozen=True):
    """The run that is forked, the workflow to go on by, and where the run has been."""

    stored: Stored
    workflow: Workflow
    stood: str
    finished: frozenset[str]

    def forked(self, new_id: str, state: str, by: Who, used: Mapping[str, int]) -> Run | Refused:
        """The new run, as if these attempts had been used."""
        run = replace(self.stored.run, attempts=used)
        return forked(self.workflow, run, new_id, state, stood=self.stood, finished=self.finished, by=by)


def _attempt(world: World, asked: Fork, render: Render) -> Reply | None:
    """One try; None if somebody else was faster."""
    call = Call(asked.run, Event(FORK, {"state": asked.state}, asked.caller.by), asked.caller)
    stored = world.runs.load(asked.run)
    if stored is None:
        return refuse(world, call, render, Outcome(unknown(asked.run), None))
    workflow = asked.new.workflow if asked.new else world.workflow_of(stored)
    old = _old(world, stored, workflow)
    found = _refused(asked, stored) or old.forked("", asked.state, asked.caller.by, stored.run.attempts)
    if isinstance(found, Refused):
        return refuse(world, call, render, Outcome(found, stored, workflow))
    state = found.open[0].state
    new_id, there = _place(world, old, state)
    if there is not None:
        return shown_again(world, there, call, render)
    made, overrides = _decided(world, old, new_id, state, asked.caller.by)
    if isinstance(made, Refused):
        return refuse(world, call, render, Outcome(made, stored, workflow))
    return _begin(world, call, render, _Made(old, made, asked.new, overrides))


def _decided(world: World, old: _Old, new_id: str, state: str, by: Who) -> tuple[Run | Refused, str]:
    """The new run, no attempt of which another fork has used; and the code of why no agent could have it.

    A step that was left open is no further attempt, unless a fork has finished it since.
    """
    spent = _spent(world, old, state)
    if state == old.stood and spent.finished >= old.stored.run.attempts.get(state, 0):
        old = replace(old, stood="", finished=old.finished | {state})
    made, without = (old.forked(new_id, state, one, spent.attempts) for one in (by, Who.AGENT))
    return made, without.code if isinstance(without, Refused) else ""


def _refused(asked: Fork, stored: Stored) -> Refused | None:
    """Why a run is not forked, whatever the state."""
    if stored.trouble:
        return troubled(stored.trouble)
    if asked.new and asked.caller.by is not Who.PERSON:
        by = Seen("event.by", str(asked.caller.by))
        return Refused("not_yours", FORK, (by,), (f"event.by = {Who.PERSON}",), (Option(FORK, Who.PERSON),))
    return None


def _old(world: World, stored: Stored, workflow: Workflow) -> _Old:
    steps = world.runs.steps(stored.run.id)
    finished = [step.state for step in steps if step.status is StepStatus.COMPLETED]
    others = [step.state for step in steps if step.status is not StepStatus.COMPLETED]
    return _Old(stored, workflow, (others or finished or [""])[-1], frozenset(finished))


def _place(world: World, old: _Old, state: str) -> tuple[str, Stored | None]:
    """The id of the next fork in this state; and that fork, if it is there and nothing has come of it yet."""
    run, moved_on = old.stored.run.id, 0
    for there in _forks(world, run, state):
        if _untouched(there, old.workflow):
            return there.run.id, there
        moved_on += 1
    return fork_id(world.key, run, state, moved_on), None


def _forks(world: World, run: str, state: str) -> Iterator[Stored]:
    """The forks of a run in a state, in the order they were made."""
    ids = (fork_id(world.key, run, state, number) for number in count())
    while (found := world.runs.load(next(ids))) is not None:
        yield found


def _untouched(stored: Stored, workflow: Workflow) -> bool:
    run = stored.run
    return stored.revision == 1 and run.lifecycle is Lifecycle.RUNNING and run.digest == workflow.digest


class _Spent(Struct, frozen=True):
    """How often a run and all its forks have opened each state, and the last of it that one has finished."""

    attempts: Mapping[str, int]
    finished: int


def _spent(world: World, old: _Old, state: str) -> _Spent:
    attempts: dict[str, int] = {}
    finished = 0
    for stored in _family(world, old.stored, step_states(old.workflow)):
        for name, number in stored.run.attempts.items():
            attempts[name] = max(number, attempts.get(name, 0))
        stays = [step.status for step in world.runs.steps(stored.run.id) if step.state == state]
        if stays[-1:] == [StepStatus.COMPLETED]:
            finished = max(finished, stored.run.attempts.get(state, 0))
    return _Spent(attempts, finished)


def _family(world: World, stored: Stored, states: tuple[str, ...]) -> Iterator[Stored]:
    """A run, those it comes from, and the forks of each, and theirs."""
    found, known = [stored], set[str]()
    while found:
        one = found.pop()
        if one.run.id in known:
            continue
        known.add(one.run.id)
        yield one
        above = world.runs.load(one.origin.parent) if one.origin.parent else None
        found += [above] if above else []
        for state in states:
            found += _forks(world, one.run.id, state)


class _Made(Struct, frozen=True):
    """A new run, what it was made from, and the code of why an agent could not have had it made."""

    old: _Old
    run: Run
    new: New | None
    overrides: str


def _begin(world: World, call: Call, render: Render, made: _Made) -> Reply | None:
    """Commit the new run, and tell; None if somebody else was faster."""
    old, run, at = made.old, made.run, world.clock.now()
    before = Stored(Run(run.id, run.workflow, run.digest), _origin(old.stored, call.caller))
    issued = issue(world, run, before.revision + 1, at)
    told = left(Told(old.workflow, before, before.run, Event(START), call.caller, Accepted(run), at, ()))
    after = before.moved(run, at, issued.hashes, told.opened, {})
    reply = render(Outcome(Accepted(run), after, old.workflow, issued.tokens))
    turn = Turn(
        before=before,
        run=run,
        at=at,
        spent=Spent(hashed(call.token), request_of(call.event), msgspec.json.encode(reply)),
        tokens=issued.hashes,
        opened=told.opened,
        entries=signed(_entries(call.caller, made, told.entries), call.caller),
        definition=made.new.definition if made.new else None,
        inherits=old.stored.run.id,
    )
    if not world.runs.commit(turn):
        return None
    tell(world, Change(run.id, after.revision))
    return reply


def _origin(stored: Stored, caller: Caller) -> Origin:
    kept = {name: value for name, value in stored.origin.metadata.items() if name not in _OF_THE_END}
    return replace(stored.origin, parent=stored.run.id, principal=caller.principal, metadata=kept)


def _entries(caller: Caller, made: _Made, begun: tuple[Entry, ...]) -> Iterator[Entry]:
    """What is entered of a start, with where it comes from; and that a person went where no agent could.

    The comments that the agent of the old run was not told go with it.
    """
    created, *others = begun
    state = made.run.open[0].state
    yield replace(created, data={"parent": made.old.stored.run.id, "step": state, **created.data})
    if made.overrides:
        agent = agent_of(made.old.workflow, state)
        data = {"overrides": made.overrides, "stood": made.old.stood, **who(caller)}
        yield Entry(EntryKind.STEP_OVERRIDDEN, state, agent, data)
    yield from others
    yield from (one.entry for one in made.old.stored.unheard)
