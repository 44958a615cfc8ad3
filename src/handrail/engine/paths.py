"""Answer questions about a workflow that need no run: required facts, targets of rows, paths, skills.

Start reading at `find_requirements` for what a decision must read, at `find_shortest_paths` for the graph.
"""

import re
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Final, assert_never

from msgspec.structs import replace

from handrail.engine.model import (
    Archive,
    Describe,
    Effect,
    FactReference,
    Requirements,
    ToState,
    ToVariable,
    Transition,
    Workflow,
    Write,
)
from handrail.engine.problems import Problem, build_error, build_warning
from handrail.engine.satisfiability import find_held_states

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def find_requirements(workflow: Workflow, state: str, trigger: str | None = None) -> Requirements:
    """Return what must be read to decide an event in a state, on one trigger or (None) on any.

    This covers the rows of the state and the routers behind them. The result is cached.
    """
    if (find_requirements, state, trigger) not in workflow.memo:
        matches = (rows for (source, _), rows in workflow.index.items() if source == state)
        rows = [row for group in matches for row in group if trigger is None or row.trigger == trigger]
        behind = [target for row in rows for target in list_targets(workflow, row)]
        requirements = _collect_requirements(workflow, rows, behind)
        workflow.memo[find_requirements, state, trigger] = replace(
            requirements, facts=requirements.facts | _find_text_facts(workflow, state)
        )
    known: Requirements = workflow.memo[find_requirements, state, trigger]
    return known


def _find_text_facts(workflow: Workflow, state: str) -> frozenset[str]:
    """Return the facts in the text that a state says."""
    say = workflow.states[state].say
    names = workflow.texts[say].names if say else ()
    return frozenset(name for name in names if name in workflow.facts and not name.startswith("run."))


def reads_world(workflow: Workflow) -> bool:
    """True if some decision or task of the workflow needs a fact or a draft that is read from the world."""
    tasks = (name for state in workflow.states.values() if state.brief for name in state.brief.names)
    texts = (name for text in workflow.texts.values() for name in text.names)
    rows = (name for row in workflow.rows for name in collect_row_names(workflow, row))
    return (
        bool(workflow.derive)
        or any(row.drafts for row in workflow.rows)
        or any(
            name in workflow.facts and not name.startswith("run.")
            for names in (tasks, texts, rows)
            for name in names
        )
    )


def find_start_requirements(workflow: Workflow) -> Requirements:
    """Return what must be read to start a run: for the first state's task, and the routers there."""
    return _collect_requirements(workflow, [], [workflow.initial])


def _collect_requirements(workflow: Workflow, rows: list[Transition], todo: list[str]) -> Requirements:
    """Collect what these rows name, the routers behind them, and the tasks of the states they lead to."""
    names: set[str] = {workflow.derive} if workflow.derive else set()
    seen: set[str] = set()
    while todo:
        state = workflow.states[todo.pop()]
        names |= set(state.brief.names if state.brief else ())
        if state.router and state.name not in seen:
            seen.add(state.name)
            behind = workflow.index.get((state.name, None), ())
            rows = [*rows, *behind]
            todo += [target for row in behind for target in list_targets(workflow, row)]
    names |= {name for row in rows for name in collect_row_names(workflow, row)}
    return Requirements(
        frozenset(name for name in names if name in workflow.facts and not name.startswith("run.")),
        frozenset(draft for row in rows for draft in row.drafts),
    )


def list_targets(
    workflow: Workflow, row: Transition, reached: Container[str] | None = None
) -> tuple[str, ...]:
    """Return the states a row can lead to; none if it stays, refuses, or its target is derived.

    If `reached` is given, a variable can hold a state that was left only if it is among those.
    """
    match row.to:
        case _ if row.refuse:
            return ()
        case ToState(name):
            return (name,)
        case ToVariable(name):
            return tuple(state for state in find_held_states(workflow, name, reached) if state is not None)
        case _:
            return ()


def find_shortest_paths(
    workflow: Workflow, fires: Callable[[Transition, str], bool] = lambda _row, _state: True
) -> Mapping[str, tuple[str, ...]]:
    """Return the shortest path to each reachable state, as row ids, over rows that can fire.

    A variable can hold a state that was left only if a run can have been there. So rows that go to a variable
    are checked again until they lead to no new state.
    """
    roots = list(workflow.states) if workflow.derive else [workflow.initial]
    paths: dict[str, tuple[str, ...]] = dict.fromkeys(roots, ())
    outgoing = group_rows_by_state(workflow)
    todo = deque((state, row) for state in roots for row in outgoing[state])
    variable_rows: dict[tuple[str, str], Transition] = {}
    known = 0
    while todo or len(paths) > known:
        if not todo:
            todo, known = deque((state, row) for (state, _), row in variable_rows.items()), len(paths)
            continue
        state, row = todo.popleft()
        if not fires(row, state):
            continue
        if isinstance(row.to, ToVariable):
            variable_rows[state, row.id] = row
        for target in list_targets(workflow, row, paths):
            if target not in paths:
                paths[target] = (*paths[state], row.id)
                todo += [(target, behind) for behind in outgoing[target]]
    return paths


def group_rows_by_state(workflow: Workflow) -> Mapping[str, tuple[Transition, ...]]:
    """Return the rows of each state, whatever their trigger."""
    grouped: dict[str, list[Transition]] = {name: [] for name in workflow.states}
    for (state, _), rows in workflow.index.items():
        grouped[state] += rows
    return {state: tuple(rows) for state, rows in grouped.items()}


def find_path_placeholders(path: str) -> tuple[str, ...]:
    """Return the names in braces in the path of an effect."""
    return tuple(_PLACEHOLDER.findall(path))


def collect_row_names(workflow: Workflow, row: Transition) -> Iterator[str]:
    """Yield every name a row uses: in guards, assignments, texts and file paths."""
    for guard in (*row.when, *row.accept):
        yield from (fact.name for fact in guard.facts)
    yield from (assigned.fact for _, assigned in row.set if isinstance(assigned, FactReference))
    for effect in row.do:
        yield from (name for path in _list_effect_paths(effect) for name in find_path_placeholders(path))
    templates = [effect.template for effect in row.do if isinstance(effect, Write)]
    for text in (row.say, row.refuse, *templates):
        yield from workflow.texts[text].names if text else ()


def _list_effect_paths(effect: Effect) -> tuple[str, ...]:
    match effect:
        case Write(path):
            return (path,)
        case Archive(paths, to):
            return (*paths, to)
        case Describe():
            return ()
        case _:
            assert_never(effect)


SKILL: Final = "skill"
"""The key under which a state of a skill graph names its skill, and the parameter of its tool."""


def get_skill(workflow: Workflow, state: str) -> str:
    """Return the skill of a state, or an empty string."""
    return str(workflow.states[state].extra.get(SKILL) or "") if state in workflow.states else ""


def find_skill_problems(workflow: Workflow) -> Iterator[Problem]:
    """Yield what is wrong with a skill graph; nothing for any other workflow."""
    if not any(SKILL in tool.params for tool in workflow.tools.values()):
        return
    skilled = [name for name in workflow.states if get_skill(workflow, name)]
    for name, state in workflow.states.items():
        if not (state.router or state.terminal or get_skill(workflow, name)):
            message = f"state `{name}` names no skill, so nobody is told what to do in it"
            repair = f"add `face: {{{SKILL}: …}}`, or make it a router"
            yield build_error("missing-skill", state.place, message, repair)
    for name in skilled:
        for other in _list_next_states(workflow, name):
            if get_skill(workflow, other) == get_skill(workflow, name):
                message = (
                    f"`{name}` can lead to `{other}`, and both have the skill `{get_skill(workflow, name)}`: "
                    "without a token, a repeated call is taken for the next one"
                )
                repair = "give one of them another skill, or a state with another between them"
                yield build_warning("ambiguous-skill", workflow.states[name].place, message, repair)


def _list_next_states(workflow: Workflow, state: str) -> list[str]:
    """Return the states a run can be in after one turn in this state, through routers."""
    rows = group_rows_by_state(workflow)
    seen: dict[str, None] = {}
    todo = [state]
    while todo:
        onward = [target for row in rows[todo.pop()] for target in list_targets(workflow, row)]
        fresh = [target for target in dict.fromkeys(onward) if target not in seen]
        seen |= dict.fromkeys(fresh)
        todo += [target for target in fresh if workflow.states[target].router]
    return [name for name in seen if not workflow.states[name].router]
