"""What the guards of a row ask, and of whom: worked out once for each state and trigger of a workflow.

A decision then reads the facts that are asked for, one by one, and no others.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from handrail.engine.facts import Value
from handrail.engine.guards import ABSENT, HOLDS, PLAIN, Guard, Verdict, judge_values, together
from handrail.engine.known import Reader, Stand, claimed_by, known_by
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import Contract, Move, State, Stay, Tool, ToState, Transition, Workflow

Says: TypeAlias = Callable[[Stand], Verdict]
"""What guards say together of a run in a step."""


class Asking(Struct, frozen=True):
    """A row of a state, what its `when` says, and what all its guards say.

    `target` is the state that it leads to, and `move` the way there, if that is always the same one. It is
    `limited` if the attempts in a state that it leads to may be used up; one that `stays` opens no step.
    """

    row: Transition
    when: Says
    guards: Says
    target: State | None
    move: Move | None
    limited: bool
    stays: bool


class Door(Struct, frozen=True):
    """What a trigger meets in a state: the rows, in their order, and what must come with it.

    That is what the `contract` says or, without one, what the `tool` does.
    """

    rows: tuple[Asking, ...]
    tool: Tool | None
    contract: Contract | None


def door(workflow: Workflow, state: str, trigger: str) -> Door | None:
    """What the trigger meets in this state, if it has a row; only `accept` knows what came with the event."""
    found: Door | None = workflow.memo.get((door, state, trigger))
    if found is None and workflow.index.get((state, trigger)):
        brief = workflow.states[state].brief if trigger == CONTINUE else None
        rows = _rows(workflow, state, trigger, {}, claimed_by(workflow, state, trigger))
        found = Door(rows, workflow.tools.get(trigger), brief.contract if brief else None)
        workflow.memo[door, state, trigger] = found
    return found


def behind(workflow: Workflow, router: str, trigger: str) -> tuple[Asking, ...]:
    """The rows of a router that was reached on this trigger: all their guards know what came with it."""
    found: tuple[Asking, ...] | None = workflow.memo.get((behind, router, trigger))
    if found is None:
        brought = claimed_by(workflow, router, trigger)
        found = workflow.memo[behind, router, trigger] = _rows(workflow, router, None, brought, brought)
    return found


def _rows(
    workflow: Workflow,
    state: str,
    trigger: str | None,
    before: Mapping[str, Reader],
    brought: Mapping[str, Reader],
) -> tuple[Asking, ...]:
    rows = workflow.index.get((state, trigger), ())
    return tuple([_asking(workflow, state, row, before, brought) for row in rows])


def _asking(
    workflow: Workflow,
    state: str,
    row: Transition,
    before: Mapping[str, Reader],
    brought: Mapping[str, Reader],
) -> Asking:
    known = known_by(workflow, row.scope)
    when = [(guard, _readers(guard, {**known, **before})) for guard in row.when]
    accept = [(guard, _readers(guard, {**known, **brought})) for guard in row.accept]
    stays = isinstance(row.to, Stay)
    to = row.to.name if isinstance(row.to, ToState) else state if stays else ""
    target = workflow.states.get(to)
    return Asking(
        row,
        _says(when),
        _says([*when, *accept]),
        target,
        Move(row.id, state, target.name) if target else None,
        not stays and (target is None or target.attempts > 0),
        stays or bool(workflow.derive),
    )


def _readers(guard: Guard, known: Mapping[str, Reader]) -> tuple[Reader, ...]:
    return tuple([known.get(fact.name) or _of_world(fact.name) for fact in guard.facts])


def _of_world(name: str) -> Reader:
    return lambda at: at.facts.get(name, ABSENT)


def _says(guards: list[tuple[Guard, tuple[Reader, ...]]]) -> Says:
    if not guards:
        return lambda _: HOLDS
    if len(guards) == 1 and len(guards[0][1]) == 1:
        return _says_of_one(*guards[0])
    return lambda at: together([judge_values(guard, [r(at) for r in readers]) for guard, readers in guards])


def _says_of_one(guard: Guard, readers: tuple[Reader, ...]) -> Says:
    """Most rows have one guard, over one fact."""
    said, (read,) = guard.said, readers

    def says(at: Stand) -> Verdict:
        value: Value = read(at)
        kind = value.__class__
        outcome = said.get((kind, value)) if kind in PLAIN else None
        return (outcome or judge_values(guard, (value,))).verdict

    return says
