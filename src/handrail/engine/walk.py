"""Where a row leads: through routers, at once, to the state where the run stays."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from handrail.engine import lifecycle
from handrail.engine.choose import Broken, Chosen, FactsOf, Tried, Undecided, Unmet, choose, possible
from handrail.engine.facts import PENDING, Value
from handrail.engine.known import claimed, known, suits
from handrail.engine.model import (
    Accepted,
    Decision,
    Effect,
    Event,
    Literal,
    Move,
    Reference,
    Refused,
    Run,
    Seen,
    Stay,
    Step,
    ToDerived,
    ToState,
    ToVariable,
    Transition,
    Waiting,
    Workflow,
)
from handrail.engine.refusals import broken, said, unmet

_VARS = "run.vars."


class World(Struct, frozen=True):
    """What a decision is made on; the same from its first row to its last."""

    workflow: Workflow
    event: Event
    facts: Mapping[str, Value]

    def seen_by(self, run: Run, step: Step) -> FactsOf:
        """The facts as each scope names them, without what came with the event."""
        views: dict[str, Mapping[str, Value]] = {}

        def facts(scope: str) -> Mapping[str, Value]:
            if scope not in views:
                views[scope] = {**self.facts, **known(self.workflow, run, step, self.event, scope)}
            return views[scope]

        return facts

    def brought(self, state: str, before: FactsOf) -> FactsOf:
        """The same with what came with the event, which was found good."""
        views: dict[str, Mapping[str, Value]] = {}

        def facts(scope: str) -> Mapping[str, Value]:
            if scope not in views:
                views[scope] = {**before(scope), **claimed(self.workflow, state, self.event)}
            return views[scope]

        return facts


class Trail(Struct, frozen=True):
    """The way so far, and the run as it leaves it."""

    origin: Run
    step: Step
    run: Run
    moves: tuple[Move, ...] = ()
    effects: tuple[Effect, ...] = ()
    says: tuple[str, ...] = ()


def walk(world: World, run: Run, step: Step, candidates: Sequence[Tried], before: FactsOf) -> Decision:
    """What the event does to the run in this step, by the rows open there; its payload is good.

    `before` are the facts that the rows were opened by.
    """
    facts = world.brought(step.state, before)
    return _take(world, Trail(run, step, run), step, candidates, facts)


def enter(world: World, run: Run, started: Run) -> Decision:
    """The started run in the first state of the workflow, or where a router there leads.

    One that has to wait there has not started: it stays as it was, and `start` may be sent again.
    """
    nowhere = Step(0, world.workflow.initial, 0)
    return _arrive(world, Trail(run, nowhere, started), world.workflow.initial)


def _take(world: World, trail: Trail, here: Step, candidates: Sequence[Tried], facts: FactsOf) -> Decision:
    spent = [tried for tried in candidates if capped(world.workflow, trail.run, here, tried.row, facts)]
    left = [tried for tried in candidates if tried not in spent] if spent else candidates
    choice = choose(left, facts)
    if isinstance(choice, Unmet):
        ended = choose(spent, facts)
        if isinstance(ended, Chosen):
            return _give_up(trail, ended.row)
        choice = Unmet((*choice.tried, *ended.tried)) if isinstance(ended, Unmet) else ended
    match choice:
        case Chosen(row):
            return _go(world, trail, here, row, facts)
        case Undecided(row, awaited):
            return _wait(world, trail, row, awaited)
        case Broken():
            return broken(choice, facts)
        case Unmet(failed):
            return unmet("not_accepted", failed, facts)
        case _:
            assert_never(choice)


def _go(world: World, trail: Trail, here: Step, row: Transition, facts: FactsOf) -> Decision:
    if row.refuse:
        return said(row, facts)
    target = target_of(trail.run, here, row, facts)
    if target not in world.workflow.states:
        return Refused("no_target", row.id, (Seen("target", target),), ("a state to go to",))
    run = _assigned(world, trail, here, row, facts) if row.set else trail.run
    if not isinstance(run, Run):
        return run
    moved = Trail(
        trail.origin,
        trail.step,
        run,
        (*trail.moves, Move(row.id, here.state, str(target))),
        (*trail.effects, *row.do),
        (*trail.says, row.say) if row.say else trail.says,
    )
    if isinstance(row.to, Stay) or world.workflow.derive:
        return _settle(moved, _kept(world.event, trail.step))
    return _arrive(world, moved, str(target))


def _assigned(world: World, trail: Trail, here: Step, row: Transition, facts: FactsOf) -> Run | Decision:
    """The run with what the row sets; or what it waits for, or why it cannot hold that."""
    assigned = assigned_by(trail.run, here, row, facts(row.scope))
    if awaited := tuple(fact for fact, _, value in assigned if value is PENDING):
        return _wait(world, trail, row, awaited)
    if refused := _unsuited(world, row, assigned):
        return refused
    return replace(trail.run, vars={**trail.run.vars, **{name: value for _, name, value in assigned}})


def _kept(event: Event, step: Step) -> Step:
    """The step after a row that stays: it still holds what it waits with, unless this event was that."""
    settled = step.held is not None and step.held.trigger == event.trigger
    return replace(step, held=None) if settled else step


def target_of(run: Run, here: Step, row: Transition, facts: FactsOf) -> Value:
    """Where the row leads: the name of a state, or what stands where one should."""
    match row.to:
        case ToState(name):
            return name
        case ToVariable(name):
            return run.vars.get(name)
        case ToDerived(fact):
            return facts(row.scope).get(fact)
        case Stay():
            return here.state
        case _:
            assert_never(row.to)


def assigned_by(
    run: Run, here: Step, row: Transition, view: Mapping[str, Value]
) -> tuple[tuple[str, str, Value], ...]:
    """The fact, if it is one, the variable and the value of each line of `set`; states by full name."""
    found: list[tuple[str, str, Value]] = []
    for name, assigned in row.set:
        match assigned:
            case Literal(value):
                found.append(("", name, value))
            case Reference("run.state"):
                found.append((assigned.fact, name, here.state))
            case Reference(fact) if fact.startswith(_VARS):
                found.append((fact, name, run.vars.get(row.scope + fact.removeprefix(_VARS))))
            case Reference(fact):
                found.append((fact, name, view.get(fact)))
            case _:
                assert_never(assigned)
    return tuple(found)


def _unsuited(world: World, row: Transition, assigned: tuple[tuple[str, str, Value], ...]) -> Refused | None:
    """Why a variable cannot hold what the row sets it to."""
    workflow = world.workflow
    wrong = [entry for entry in assigned if not suits(entry[2], workflow.vars[entry[1]], workflow.states)]
    if not wrong:
        return None
    seen = tuple(Seen(fact or name, value) for fact, name, value in wrong)
    return Refused(
        "wrong_value", row.id, seen, tuple(f"a value that `{name}` may hold" for _, name, _ in wrong)
    )


def _arrive(world: World, trail: Trail, target: str) -> Decision:
    state = world.workflow.states[target]
    if not state.router:
        return _settle(trail, _opened(trail.run, target), terminal=state.terminal)
    if any(move.source == target for move in trail.moves):
        return Refused(
            "router_loop", target, (Seen("run.state", target),), ("a way that leaves the routers",)
        )
    rows = world.workflow.index.get((target, None), ())
    if not rows:
        return Refused(
            "router_stuck", target, (Seen("run.state", target),), ("a row that leaves the router",)
        )
    here = Step(0, target, 0)
    facts = world.brought(target, world.seen_by(trail.run, here))
    candidates, closed = possible(rows, facts)
    if not candidates:
        return unmet("router_stuck", closed, facts)
    return _take(world, trail, here, candidates, facts)


def _opened(run: Run, state: str) -> Step:
    return Step(run.steps + 1, state, run.attempts.get(state, 0) + 1)


def _settle(trail: Trail, step: Step, *, terminal: bool = False) -> Accepted:
    """The run with this step in place of the one the event was for; ended, if nothing is left open."""
    open_ = list(trail.run.open)
    place = open_.index(trail.step) if trail.step in open_ else len(open_)
    open_[place : place + 1] = [] if terminal or not step.number else [step]
    run, new = trail.run, step.number > trail.run.steps and not terminal
    ended = terminal and not open_
    settled = Run(
        id=run.id,
        workflow=run.workflow,
        digest=run.digest,
        lifecycle=lifecycle.TABLE[run.lifecycle][lifecycle.COMPLETE] if ended else run.lifecycle,
        open=tuple(open_),
        steps=step.number if new else run.steps,
        attempts={**run.attempts, step.state: step.attempt} if new else run.attempts,
        vars=run.vars,
        inputs=run.inputs,
        reason=run.reason,
    )
    return Accepted(settled, trail.moves, trail.effects, trail.says)


def _wait(world: World, trail: Trail, row: Transition, awaited: tuple[str, ...]) -> Waiting:
    open_ = tuple(replace(s, held=world.event) if s == trail.step else s for s in trail.origin.open)
    return Waiting(replace(trail.origin, open=open_), row.id, awaited)


def capped(workflow: Workflow, run: Run, here: Step, row: Transition, facts: FactsOf) -> bool:
    """True if the row leads to a state whose attempts are used up."""
    target = target_of(run, here, row, facts)
    state = workflow.states.get(target) if isinstance(target, str) else None
    if state is None or isinstance(row.to, Stay):
        return False
    return 0 < state.attempts <= run.attempts.get(state.name, 0)


def _give_up(trail: Trail, row: Transition) -> Accepted:
    """Only states whose attempts are used up are left to go to: the step and the run fail."""
    reason = f"row `{row.id}` leads to a state whose attempts are used up, and no other row is open"
    failed = lifecycle.TABLE[trail.run.lifecycle][lifecycle.FAIL]
    return Accepted(replace(trail.origin, lifecycle=failed, open=(), reason=reason))
