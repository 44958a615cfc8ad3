"""Questions about a workflow that need no run: what a decision must know, and which ways there are."""

import re
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping
from typing import assert_never

from msgspec.structs import replace

from handrail.engine.domains import held
from handrail.engine.model import (
    Archive,
    Describe,
    Effect,
    Move,
    Needs,
    Reference,
    ToState,
    ToVariable,
    Transition,
    Workflow,
    Write,
)

_IN_PATH = re.compile(r"\{([^{}]*)\}")


def needs(workflow: Workflow, state: str, trigger: str | None = None) -> Needs:
    """What an event in a state must know, on one trigger or on any: its rows, and what lies behind them."""
    if (needs, state, trigger) not in workflow.memo:
        found = (rows for (source, _), rows in workflow.index.items() if source == state)
        rows = [row for some in found for row in some if trigger is None or row.trigger == trigger]
        behind = [target for row in rows for target in targets(workflow, row)]
        asked = _needs(workflow, rows, behind)
        workflow.memo[needs, state, trigger] = replace(asked, facts=asked.facts | _stands(workflow, state))
    known: Needs = workflow.memo[needs, state, trigger]
    return known


def _stands(workflow: Workflow, state: str) -> frozenset[str]:
    """The facts in the text that a state says."""
    say = workflow.states[state].say
    names = workflow.texts[say].names if say else ()
    return frozenset(name for name in names if name in workflow.facts and not name.startswith("run."))


def needs_to_start(workflow: Workflow) -> Needs:
    """What must be known to start a run: what the first state tells, and all behind it if it is a router."""
    return _needs(workflow, [], [workflow.initial])


def _needs(workflow: Workflow, rows: list[Transition], todo: list[str]) -> Needs:
    """What these rows name, the routers behind them, and the tasks of the states they lead to."""
    told: set[str] = {workflow.derive} if workflow.derive else set()
    seen: set[str] = set()
    while todo:
        state = workflow.states[todo.pop()]
        told |= set(state.brief.names if state.brief else ())
        if state.router and state.name not in seen:
            seen.add(state.name)
            behind = workflow.index.get((state.name, None), ())
            rows = [*rows, *behind]
            todo += [target for row in behind for target in targets(workflow, row)]
    told |= {name for row in rows for name in named(workflow, row)}
    return Needs(
        frozenset(name for name in told if name in workflow.facts and not name.startswith("run.")),
        frozenset(draft for row in rows for draft in row.drafts),
    )


def targets(workflow: Workflow, row: Transition, reached: Container[str] | None = None) -> tuple[str, ...]:
    """The states a row can lead to; none if it stays or refuses, or if where it leads is derived.

    A variable is taken to hold a state that was left only if it is among those `reached`, if they are given.
    """
    match row.to:
        case _ if row.refuse:
            return ()
        case ToState(name):
            return (name,)
        case ToVariable(name):
            return tuple(state for state in held(workflow, name, reached) if state is not None)
        case _:
            return ()


def shortest(
    workflow: Workflow, fires: Callable[[Transition, str], bool] = lambda _row, _state: True
) -> Mapping[str, tuple[str, ...]]:
    """The shortest way to each state that can be reached, as row ids, over the rows that can fire there.

    A variable holds the state that was left only where a run can have been: rows that go to a variable are
    asked again until they lead nowhere else.
    """
    roots = list(workflow.states) if workflow.derive else [workflow.initial]
    ways: dict[str, tuple[str, ...]] = dict.fromkeys(roots, ())
    outgoing = leaving(workflow)
    todo = deque((state, row) for state in roots for row in outgoing[state])
    asked: dict[tuple[str, str], Transition] = {}
    known = 0
    while todo or len(ways) > known:
        if not todo:
            todo, known = deque((state, row) for (state, _), row in asked.items()), len(ways)
            continue
        state, row = todo.popleft()
        if not fires(row, state):
            continue
        if isinstance(row.to, ToVariable):
            asked[state, row.id] = row
        for target in targets(workflow, row, ways):
            if target not in ways:
                ways[target] = (*ways[state], row.id)
                todo += [(target, behind) for behind in outgoing[target]]
    return ways


def paths(workflow: Workflow) -> Iterator[tuple[Move, ...]]:
    """Every way from the first state that takes no move twice and ends where no other is left, lazily."""
    rows = leaving(workflow)
    stack: list[tuple[str, tuple[Move, ...]]] = [(workflow.initial, ())]
    while stack:
        state, way = stack.pop()
        moves = [Move(row.id, state, target) for row in rows[state] for target in targets(workflow, row)]
        onward = [move for move in moves if move not in way]
        if not onward:
            yield way
        stack += [(move.target, (*way, move)) for move in reversed(onward)]


def leaving(workflow: Workflow) -> Mapping[str, tuple[Transition, ...]]:
    """The rows of each state, whatever their trigger."""
    found: dict[str, list[Transition]] = {name: [] for name in workflow.states}
    for (state, _), rows in workflow.index.items():
        found[state] += rows
    return {state: tuple(rows) for state, rows in found.items()}


def path_names(path: str) -> tuple[str, ...]:
    """The names that stand in braces in the path of an effect."""
    return tuple(_IN_PATH.findall(path))


def named(workflow: Workflow, row: Transition) -> Iterator[str]:
    """Every name a row uses: in guards, in what it sets, in the texts it says and the files it writes."""
    for guard in (*row.when, *row.accept):
        yield from (fact.name for fact in guard.facts)
    yield from (assigned.fact for _, assigned in row.set if isinstance(assigned, Reference))
    for effect in row.do:
        yield from (name for path in _paths(effect) for name in path_names(path))
    templates = [effect.template for effect in row.do if isinstance(effect, Write)]
    for text in (row.say, row.refuse, *templates):
        yield from workflow.texts[text].names if text else ()


def _paths(effect: Effect) -> tuple[str, ...]:
    match effect:
        case Write(path):
            return (path,)
        case Archive(paths, to):
            return (*paths, to)
        case Describe():
            return ()
        case _:
            assert_never(effect)
