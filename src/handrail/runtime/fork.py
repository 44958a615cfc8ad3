"""Fork a run that has ended: a new run continues with its completed steps and all its artifacts.

A fork is one turn of the new run, from revision 0 to 1. The new id is derived from the old run, the state to
begin in, and how many earlier forks there have moved on. So a repeated call makes no second run.
"""

import hmac
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Final
from uuid import UUID

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from handrail.engine.fork import FORK, build_fork, list_step_states
from handrail.engine.lifecycle import START
from handrail.engine.model import (
    Accepted,
    Actor,
    Event,
    FactReading,
    Lifecycle,
    Option,
    Refused,
    Run,
    Workflow,
)
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.journal import (
    REASON_KEY,
    DecidedTurn,
    attach_caller,
    build_run_after,
    build_turn_record,
    describe_caller,
    find_agent,
)
from handrail.runtime.records import (
    Caller,
    RecordedCall,
    RunChange,
    StepStatus,
    StoredRun,
    Turn,
    refuse_troubled_run,
    refuse_unknown_run,
)
from handrail.runtime.status import reissue_tokens
from handrail.runtime.sweep import AUTO_ABANDONED_MARK
from handrail.runtime.tokens import hash_request, hash_token, issue_tokens
from handrail.runtime.turn import (
    Call,
    NewRun,
    Outcome,
    Reply,
    ReplyRenderer,
    get_workflow,
    refuse_call,
    retry_on_conflict,
)
from handrail.runtime.world import World

# Metadata keys about the end of a run. A fork has not ended, so it does not copy them.
_END_MARKS: Final = frozenset({REASON_KEY, AUTO_ABANDONED_MARK})


class ForkRequest(Struct, frozen=True):
    """A request to continue a run that has ended, in this state; empty means where it ended.

    `new` is the current workflow. Only a person may use it in place of the one that the run began with. The
    origin always comes from the old run.
    """

    run: str
    state: str = ""
    caller: Caller = field(default_factory=Caller)
    new: NewRun | None = None


def fork_run(world: World, request: ForkRequest, render: ReplyRenderer) -> Reply:
    """Fork a run and reply with the new one, or refuse. A repeated call gets the same run and a new token.

    A second fork is made only if the first has moved on. A refusal is journaled with the old run. Raises
    `Busy` if other callers keep forking the run, and the faults of the store; then there is no new run.
    """
    return retry_on_conflict(world, request.run, lambda: _attempt_fork(world, request, render))


def find_agent_refusal_code(world: World, request: ForkRequest) -> str:
    """Return the refusal code that an agent would get, if only a person may make this fork.

    Empty if an agent may make it too, or a person may not. Journals nothing, so it can warn beforehand.
    """
    stored = world.runs.load(request.run)
    if stored is None or stored.trouble:
        return ""
    old = _load_fork_source(
        world,
        stored,
        request.new.workflow if request.new else get_workflow(world, stored.run),
    )
    made, agent_code = _decide_fork(world, old, "", request.state or old.last_state, request.caller.by)
    return agent_code if isinstance(made, Run) else ""


def derive_fork_id(key: bytes, run: str, state: str, number: int) -> str:
    """Derive the id of a fork in this state; `number` counts the earlier forks that have moved on."""
    name = msgspec.json.encode([FORK, run, state, number])
    return str(UUID(bytes=hmac.digest(key, name, "sha256")[:16], version=5))


class _ForkSource(Struct, frozen=True):
    """The run to fork, the workflow to continue with, where the run ended, and the states it completed."""

    stored: StoredRun
    workflow: Workflow
    last_state: str
    finished: frozenset[str]

    def make_run(self, new_id: str, state: str, by: Actor, used: Mapping[str, int]) -> Run | Refused:
        """Return the new run, or a refusal, as if these attempts had been used."""
        run = replace(self.stored.run, attempts=used)
        return build_fork(
            self.workflow, run, new_id, state, last_state=self.last_state, finished=self.finished, by=by
        )


def _attempt_fork(world: World, request: ForkRequest, render: ReplyRenderer) -> Reply | None:
    """Try the fork once. Return None if another caller was faster."""
    call = Call(request.run, Event(FORK, {"state": request.state}, request.caller.by), request.caller)
    stored = world.runs.load(request.run)
    if stored is None:
        return refuse_call(world, call, render, Outcome(refuse_unknown_run(request.run), None))
    workflow = request.new.workflow if request.new else get_workflow(world, stored.run)
    old = _load_fork_source(world, stored, workflow)
    trial: Run | Refused
    if stored.trouble:
        trial = refuse_troubled_run(stored.trouble)
    elif request.new and request.caller.by is not Actor.PERSON:
        by, needed = FactReading("event.by", str(request.caller.by)), f"event.by = {Actor.PERSON}"
        trial = Refused(RefusalCode.NOT_YOURS, FORK, (by,), (needed,), (Option(FORK, Actor.PERSON),))
    else:
        trial = old.make_run("", request.state, request.caller.by, stored.run.attempts)
    if isinstance(trial, Refused):
        return refuse_call(world, call, render, Outcome(trial, stored, workflow))
    state = trial.open[0].state
    new_id, existing = _find_next_fork(world, old, state)
    if existing is not None:
        return reissue_tokens(world, existing, call, render)
    made, overrides = _decide_fork(world, old, new_id, state, request.caller.by)
    if isinstance(made, Refused):
        return refuse_call(world, call, render, Outcome(made, stored, workflow))
    return _commit_fork(world, call, render, _NewFork(old, made, request.new, overrides))


def _decide_fork(
    world: World, old: _ForkSource, new_id: str, state: str, by: Actor
) -> tuple[Run | Refused, str]:
    """Return the new run or a refusal, and the refusal code that an agent would get.

    Attempts that other forks used count. Continuing a step that was left open is not another attempt, unless
    a fork has completed that step since.
    """
    used: dict[str, int] = {}
    last_finished = 0
    for stored in _iterate_family(world, old.stored, list_step_states(old.workflow)):
        for name, number in stored.run.attempts.items():
            used[name] = max(number, used.get(name, 0))
        statuses = [step.status for step in world.runs.steps(stored.run.id) if step.state == state]
        if statuses[-1:] == [StepStatus.COMPLETED]:
            last_finished = max(last_finished, stored.run.attempts.get(state, 0))
    if state == old.last_state and last_finished >= old.stored.run.attempts.get(state, 0):
        old = replace(old, last_state="", finished=old.finished | {state})
    made, by_agent = (old.make_run(new_id, state, actor, used) for actor in (by, Actor.AGENT))
    return made, by_agent.code if isinstance(by_agent, Refused) else ""


def _load_fork_source(world: World, stored: StoredRun, workflow: Workflow) -> _ForkSource:
    steps = world.runs.steps(stored.run.id)
    finished = [step.state for step in steps if step.status is StepStatus.COMPLETED]
    others = [step.state for step in steps if step.status is not StepStatus.COMPLETED]
    return _ForkSource(stored, workflow, (others or finished or [""])[-1], frozenset(finished))


def _find_next_fork(world: World, old: _ForkSource, state: str) -> tuple[str, StoredRun | None]:
    """Return the id of the next fork in this state, and that fork if it exists and has not moved yet."""
    run, moved_on = old.stored.run.id, 0
    for fork in _iterate_forks(world, run, state):
        running = fork.run.lifecycle is Lifecycle.RUNNING
        if running and fork.revision == 1 and fork.run.digest == old.workflow.digest:
            return fork.run.id, fork
        moved_on += 1
    return derive_fork_id(world.key, run, state, moved_on), None


def _iterate_forks(world: World, run: str, state: str) -> Iterator[StoredRun]:
    """Yield the forks of a run in a state, oldest first."""
    ids = (derive_fork_id(world.key, run, state, number) for number in count())
    while (fork := world.runs.load(next(ids))) is not None:
        yield fork


def _iterate_family(world: World, stored: StoredRun, states: tuple[str, ...]) -> Iterator[StoredRun]:
    """Yield a run, its ancestors, and all forks of each, recursively."""
    pending, visited = [stored], set[str]()
    while pending:
        relative = pending.pop()
        if relative.run.id in visited:
            continue
        visited.add(relative.run.id)
        yield relative
        parent = world.runs.load(relative.origin.parent) if relative.origin.parent else None
        pending += [parent] if parent else []
        for state in states:
            pending += _iterate_forks(world, relative.run.id, state)


class _NewFork(Struct, frozen=True):
    """A new run and its source. `overrides` is the refusal code that an agent would have got, or empty."""

    old: _ForkSource
    run: Run
    new: NewRun | None
    overrides: str


def _commit_fork(world: World, call: Call, render: ReplyRenderer, made: _NewFork) -> Reply | None:
    """Commit the new run and reply. Return None if another caller was faster."""
    old, run, at = made.old, made.run, world.clock.now()
    origin = old.stored.origin
    kept = {name: value for name, value in origin.metadata.items() if name not in _END_MARKS}
    origin = replace(origin, parent=old.stored.run.id, principal=call.caller.principal, metadata=kept)
    before = StoredRun(Run(run.id, run.workflow, run.digest), origin)
    issued = issue_tokens(world, run, before.revision + 1, at)
    record = build_turn_record(
        DecidedTurn(old.workflow, before, before.run, Event(START), call.caller, Accepted(run), at, ())
    )
    after = build_run_after(before, run, at, issued.hashes, record.opened, {})
    reply = render(Outcome(Accepted(run), after, old.workflow, issued.tokens))
    turn = Turn(
        before=before,
        run=run,
        at=at,
        spent=RecordedCall(hash_token(call.token), hash_request(call.event), msgspec.json.encode(reply)),
        tokens=issued.hashes,
        opened=record.opened,
        entries=attach_caller(_fork_entries(call.caller, made, record.entries), call.caller),
        definition=made.new.definition if made.new else None,
        inherits=old.stored.run.id,
    )
    if not world.runs.commit(turn):
        return None
    world.feed.announce(RunChange(run.id, after.revision))
    return reply


def _fork_entries(caller: Caller, made: _NewFork, started: tuple[Entry, ...]) -> Iterator[Entry]:
    """Yield the journal entries of the start, with the parent run.

    Adds an entry if a person went where no agent may, and the undelivered comments of the old run.
    """
    created, *others = started
    state = made.run.open[0].state
    yield replace(created, data={"parent": made.old.stored.run.id, "step": state, **created.data})
    if made.overrides:
        agent = find_agent(made.old.workflow, state)
        data = {"overrides": made.overrides, "stood": made.old.last_state, **describe_caller(caller)}
        yield Entry(EntryKind.STEP_OVERRIDDEN, state, agent, data)
    yield from others
    yield from (comment.entry for comment in made.old.stored.undelivered)
