"""Which row takes an event, and where it leads: through routers, at once, to the state where a run stays."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from handrail.engine import lifecycle
from handrail.engine.asking import Asking, behind
from handrail.engine.choose import FactsOf, Tried, awaited, brought, possible, seen_by, tried, with_accept
from handrail.engine.facts import PENDING, Value
from handrail.engine.guards import FAILS, HOLDS, Verdict
from handrail.engine.known import Stand, suits
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
    State,
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


class Trail(Struct, frozen=True):
    """The way so far: the run and the step that the event was for, and what was done since."""

    origin: Run
    step: Step
    moves: tuple[Move, ...] = ()
    effects: tuple[Effect, ...] = ()
    says: tuple[str, ...] = ()


def enter(stand: Stand, run: Run) -> Decision:
    """The started run in the first state of the workflow, or where a router there leads.

    One that has to wait there has not started: it stays as `run` was, and `start` may be sent again.
    """
    first = stand.workflow.states[stand.step.state]
    if first.router:
        return _pass(stand, Trail(run, stand.step), first.name)
    return Accepted(_entered(stand.run, stand.step, first))


def shut(stand: Stand, rows: tuple[Asking, ...]) -> Refused | None:
    """Why none of these rows is open, whatever came with the event; None if one is."""
    found = _candidates(stand, [asking.row for asking in rows])
    return found if isinstance(found, Refused) else None


def walk(stand: Stand, rows: tuple[Asking, ...], trail: Trail | None = None) -> Decision:
    """What the event does to the run by these rows, on its way or as it begins; what came with it is good.

    The first whose guards hold is taken; those that lead to a state that is used up come last.
    """
    spent: list[tuple[Transition, Verdict]] = []
    for asking in rows:
        verdict = asking.guards(stand)
        if verdict is FAILS:
            continue
        if asking.limited and capped(stand, asking.row, brought(stand)):
            spent.append((asking.row, verdict))
        elif verdict is HOLDS:
            return _go(stand, trail, asking)
        else:
            return _held_up(stand, trail, asking.row, verdict)
    if spent:
        row, verdict = spent[0]
        return _give_up(stand, trail, row) if verdict is HOLDS else _held_up(stand, trail, row, verdict)
    return _untaken(stand, [asking.row for asking in rows])


def _candidates(stand: Stand, rows: Sequence[Transition]) -> tuple[Tried, ...] | Refused:
    """The rows that are open, or why none is; only those of a router see what came with the event."""
    routes = rows[0].trigger is None
    facts = brought(stand) if routes else seen_by(stand)
    open_, closed = possible(rows, facts)
    if open_:
        return open_
    return unmet("router_stuck", closed, facts) if routes else unmet("not_now", closed, facts)


def _held_up(stand: Stand, trail: Trail | None, row: Transition, verdict: Verdict) -> Decision:
    """A guard of this row went wrong or cannot be told yet: no later row may be taken in its place."""
    facts = brought(stand)
    opened = tried(row, facts if row.trigger is None else seen_by(stand))
    told = with_accept(opened, facts)
    if verdict is Verdict.ERROR:
        return broken(told, facts)
    return _wait(stand, trail, row, awaited(told, facts(row.scope)))


def _untaken(stand: Stand, rows: Sequence[Transition]) -> Refused:
    """Why no row takes the event; those whose state is used up are told last."""
    found, facts = _candidates(stand, rows), brought(stand)
    if isinstance(found, Refused):
        return found
    spent = [one for one in found if capped(stand, one.row, facts)]
    ordered = [*(one for one in found if one not in spent), *spent]
    return unmet("not_accepted", [with_accept(one, facts) for one in ordered], facts)


def _go(stand: Stand, trail: Trail | None, asking: Asking) -> Decision:
    row, run, target, move = asking.row, stand.run, asking.target, asking.move
    if row.refuse:
        return said(row, brought(stand))
    if target is None or move is None:
        named = target_of(stand, row, brought(stand))
        if named not in stand.workflow.states:
            return Refused("no_target", row.id, (Seen("target", named),), ("a state to go to",))
        target = stand.workflow.states[str(named)]
        move = Move(row.id, stand.step.state, target.name)
    if row.set:
        changed = _assigned(stand, trail, row)
        if not isinstance(changed, Run):
            return changed
        run = changed
    left, effects = stand.step, row.do
    moves: tuple[Move, ...] = (move,)
    says: tuple[str, ...] = (row.say,) if row.say else ()
    if trail:
        left, moves = trail.step, trail.moves + moves
        effects, says = trail.effects + effects, trail.says + says
    if asking.stays:
        return Accepted(_stayed(run, left, stand.event), moves, effects, says)
    if target.router:
        origin = trail.origin if trail else stand.run
        return _pass(replace(stand, run=run), Trail(origin, left, moves, effects, says), target.name)
    return Accepted(_entered(run, left, target), moves, effects, says)


def _assigned(stand: Stand, trail: Trail | None, row: Transition) -> Run | Decision:
    """The run with what the row sets; or what it waits for, or why it cannot hold that."""
    run = stand.run
    assigned = assigned_by(stand, row, brought(stand)(row.scope))
    if awaited := tuple(fact for fact, _, value in assigned if value is PENDING):
        return _wait(stand, trail, row, awaited)
    if refused := _unsuited(stand.workflow, row, assigned):
        return refused
    return replace(run, vars={**run.vars, **{name: value for _, name, value in assigned}})


def target_of(stand: Stand, row: Transition, facts: FactsOf) -> Value:
    """Where the row leads: the name of a state, or what stands where one should."""
    match row.to:
        case ToState(name):
            return name
        case ToVariable(name):
            return stand.run.vars.get(name)
        case ToDerived(fact):
            return facts(row.scope).get(fact)
        case Stay():
            return stand.step.state
        case _:
            assert_never(row.to)


def assigned_by(
    stand: Stand, row: Transition, view: Mapping[str, Value]
) -> tuple[tuple[str, str, Value], ...]:
    """The fact, if it is one, the variable and the value of each line of `set`; states by full name."""
    found: list[tuple[str, str, Value]] = []
    for name, assigned in row.set:
        match assigned:
            case Literal(value):
                found.append(("", name, value))
            case Reference("run.state"):
                found.append((assigned.fact, name, stand.step.state))
            case Reference(fact) if fact.startswith(_VARS):
                found.append((fact, name, stand.run.vars.get(row.scope + fact.removeprefix(_VARS))))
            case Reference(fact):
                found.append((fact, name, view.get(fact)))
            case _:
                assert_never(assigned)
    return tuple(found)


def _unsuited(
    workflow: Workflow, row: Transition, assigned: tuple[tuple[str, str, Value], ...]
) -> Refused | None:
    """Why a variable cannot hold what the row sets it to."""
    wrong = [entry for entry in assigned if not suits(entry[2], workflow.vars[entry[1]], workflow.states)]
    if not wrong:
        return None
    seen = tuple(Seen(fact or name, value) for fact, name, value in wrong)
    return Refused(
        "wrong_value", row.id, seen, tuple(f"a value that `{name}` may hold" for _, name, _ in wrong)
    )


def _pass(stand: Stand, trail: Trail, router: str) -> Decision:
    """On through a router, which the way so far has led to."""
    if any(move.source == router for move in trail.moves):
        return Refused(
            "router_loop", router, (Seen("run.state", router),), ("a way that leaves the routers",)
        )
    rows = behind(stand.workflow, router, stand.event.trigger)
    if not rows:
        return Refused(
            "router_stuck", router, (Seen("run.state", router),), ("a row that leaves the router",)
        )
    return walk(replace(stand, step=Step(0, router, 0)), rows, trail)


def _stayed(run: Run, step: Step, event: Event) -> Run:
    """The run after a row that stays: a step still holds what it waits with, unless this event was that."""
    settled = step.held is not None and step.held.trigger == event.trigger
    kept = (replace(step, held=None) if settled else step,) if step.number else ()
    return replace(
        run,
        open=_in_place(run.open, step, kept),
        steps=max(run.steps, step.number),
        attempts=run.attempts if step.number <= run.steps else {**run.attempts, step.state: step.attempt},
    )


def _entered(run: Run, left: Step, state: State) -> Run:
    """The run with a step in this state in place of the one that is left; ended, if none is open any more."""
    if state.terminal:
        open_ = _in_place(run.open, left, ())
        ended = run.lifecycle if open_ else lifecycle.TABLE[run.lifecycle][lifecycle.COMPLETE]
        return replace(run, lifecycle=ended, open=open_)
    name, number = state.name, run.steps + 1
    attempt = run.attempts.get(name, 0) + 1
    opened = (Step(number, name, attempt),)
    return Run(
        run.id,
        run.workflow,
        run.digest,
        run.lifecycle,
        opened if run.open == (left,) else _in_place(run.open, left, opened),
        number,
        {**run.attempts, name: attempt},
        run.vars,
        run.inputs,
        run.reason,
    )


def _in_place(open_: tuple[Step, ...], left: Step, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The open steps with these in place of one; at the end, if it is not among them."""
    place = open_.index(left) if left in open_ else len(open_)
    return (*open_[:place], *steps, *open_[place + 1 :])


def _wait(stand: Stand, trail: Trail | None, row: Transition, awaited: tuple[str, ...]) -> Waiting:
    origin, step = (trail.origin, trail.step) if trail else (stand.run, stand.step)
    open_ = tuple(replace(s, held=stand.event) if s == step else s for s in origin.open)
    return Waiting(replace(origin, open=open_), row.id, awaited)


def capped(stand: Stand, row: Transition, facts: FactsOf) -> bool:
    """True if the row leads to a state whose attempts are used up."""
    target = target_of(stand, row, facts)
    state = stand.workflow.states.get(target) if isinstance(target, str) else None
    if state is None or isinstance(row.to, Stay):
        return False
    return 0 < state.attempts <= stand.run.attempts.get(state.name, 0)


def _give_up(stand: Stand, trail: Trail | None, row: Transition) -> Accepted:
    """Only states whose attempts are used up are left to go to: the step and the run fail."""
    reason = f"row `{row.id}` leads to a state whose attempts are used up, and no other row is open"
    failed = lifecycle.TABLE[stand.run.lifecycle][lifecycle.FAIL]
    origin = trail.origin if trail else stand.run
    return Accepted(replace(origin, lifecycle=failed, open=(), reason=reason))
