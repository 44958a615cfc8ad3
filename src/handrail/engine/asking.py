"""What the guards of a row ask, and of whom: worked out once for each state and trigger of a workflow.

A decision then reads the facts that are asked for, one by one, and no others.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from handrail.engine.facts import Value
from handrail.engine.guards import ABSENT, HOLDS, PLAIN, Guard, Verdict, judge_values, small, worst
from handrail.engine.known import Reader, Stand, claimed_by, known_by
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import (
    AGENT,
    Contract,
    Move,
    State,
    Stay,
    ToState,
    Transition,
    Variable,
    Who,
    Workflow,
)

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
    """What a trigger meets in a state: its rows in their order, whose word it is, and what comes with it.

    It is anybody's if `who` is None. What comes is held against the contract or, without one, against the
    `params`; those are None if no tool sends the trigger.
    """

    rows: tuple[Asking, ...]
    who: Who | None
    contract: Contract | None
    params: Mapping[str, Variable] | None


def door(workflow: Workflow, state: str, trigger: str) -> Door | None:
    """What the trigger meets in this state, if it has a row; only `accept` knows what came with the event."""
    found: Door | None = workflow.memo.get((door, state, trigger))
    if found is None and workflow.index.get((state, trigger)):
        tool = workflow.tools.get(trigger)
        brief = workflow.states[state].brief if trigger == CONTINUE else None
        found = workflow.memo[door, state, trigger] = Door(
            _rows(workflow, state, trigger, {}, claimed_by(workflow, state, trigger)),
            tool.who if tool and tool.who is not AGENT else None,
            brief.contract if brief else None,
            tool.params if tool else None,
        )
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
    when, accept = _says(row.when, {**known, **before}), _says(row.accept, {**known, **brought})
    stays = isinstance(row.to, Stay)
    to = row.to.name if isinstance(row.to, ToState) else state if stays else ""
    target = workflow.states.get(to)
    return Asking(
        row,
        _all(when),
        _all([*when, *accept]),
        target,
        Move(row.id, state, target.name) if target else None,
        not stays and (target is None or target.attempts > 0),
        stays or bool(workflow.derive),
    )


def _says(guards: tuple[Guard, ...], known: Mapping[str, Reader]) -> list[Says]:
    """What each of these guards says, by the facts that are known."""
    found = []
    for guard in guards:
        readers = tuple([known.get(fact.name) or _of_world(fact.name) for fact in guard.facts])
        found.append(_of_one(guard, *readers) if len(readers) == 1 else _of_many(guard, readers))
    return found


def _of_world(name: str) -> Reader:
    return lambda at: at.facts.get(name, ABSENT)


def _of_one(guard: Guard, read: Reader) -> Says:
    """Most guards are about one fact, and have been asked before."""
    said = guard.said

    def says(at: Stand) -> Verdict:
        value: Value = read(at)
        kind = value.__class__
        outcome = said.get((kind, value)) if kind in PLAIN or small(value) else None
        return (outcome or judge_values(guard, (value,))).verdict

    return says


def _of_many(guard: Guard, readers: tuple[Reader, ...]) -> Says:
    return lambda at: judge_values(guard, [read(at) for read in readers]).verdict


def _all(says: list[Says]) -> Says:
    """What these say together."""
    if len(says) == 1:
        return says[0]
    return (lambda at: worst([one(at) for one in says])) if says else lambda _: HOLDS
