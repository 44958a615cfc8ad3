"""Check that a workflow which loads is also sound: no dead ends, endless loops, or rows that never fire.

Start reading at `check_soundness`. `_RowAnalysis` decides which rows can fire; the rest walks the graph.
"""

import json
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from handrail.engine.facts import Provenance, Value
from handrail.engine.guards import Guard
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import (
    FLAT_STATE_FILE,
    Actor,
    Stay,
    ToDerived,
    ToVariable,
    Transition,
    Workflow,
    Write,
)
from handrail.engine.paths import (
    collect_row_names,
    find_shortest_paths,
    find_skill_problems,
    group_rows_by_state,
    list_targets,
)
from handrail.engine.problems import Problem, build_error, build_warning, sort_problems
from handrail.engine.satisfiability import Answer, Domains, ScopedGuard, Search, scope_guard

_STATE_FACT = "run.state"
_MAX_EARLIER_ROWS = 200  # how many of the rows before a row are checked for shadowing it
_Edge: TypeAlias = tuple[str, str, Transition]
_Paths: TypeAlias = Mapping[str, tuple[str, ...]]

# Every code that `check_soundness` can give, and what it means.
FINDING_CODES = {
    "ambiguous-skill": "two states that can follow each other have the same skill",
    "constant-guard": "a guard says the same whatever the facts are",
    "contradiction": "the guards of a row never hold together",
    "dead-end": "a run that comes here can neither go on nor end",
    "guard-can-fail": "a guard cannot be evaluated for some values of its facts, and then refuses everything",
    "loop-without-cap": "the agent alone can go round for ever",
    "missing-skill": "a state of a skill graph names no skill",
    "router-loop": "routers can lead to each other in a circle",
    "router-stuck": "a router can find no row that holds",
    "shadowed-row": "a row never fires, because rows before it always do",
    "unhandled-trigger": "no row waits for a trigger that can be sent",
    "unreachable-state": "no row leads to a state",
    "unset-variable": "a row goes to the state in a variable that nothing sets",
    "unused-text": "no row, state or prompt says a text",
    "unused-variable": "nothing reads a variable",
}


def check_soundness(workflow: Workflow) -> tuple[Problem, ...]:
    """Return everything that is unsound in a workflow that loads, in reading order; empty for a sound one."""
    rows = _RowAnalysis(workflow)
    paths = find_shortest_paths(workflow, rows.can_fire)
    problems = [
        *rows.find_problems(),
        *_find_unreachable_states(workflow, paths),
        *_find_dead_ends(workflow, rows, paths),
        *_find_unhandled_triggers(workflow, rows, paths),
        *_find_uncapped_loops(workflow, rows, paths),
        *_find_unused(workflow),
        *find_skill_problems(workflow),
    ]
    return sort_problems([_add_path(problem, workflow, paths) for problem in problems])


def _add_path(problem: Problem, workflow: Workflow, paths: _Paths) -> Problem:
    """Return the problem with the shortest path to its row or state, if it has no path yet."""
    if problem.path:
        return problem
    for row in workflow.rows:
        if row.place == problem.place or any(g.place == problem.place for g in (*row.when, *row.accept)):
            reached = [paths[state] for state in row.sources if state in paths]
            return replace(problem, path=min(reached, key=len)) if reached else problem
    for state in workflow.states.values():
        if state.place == problem.place:
            return replace(problem, path=paths.get(state.name, ()))
    return problem


class _RowAnalysis:
    """Finds out which rows of a workflow can fire."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._search = Search(Domains(workflow))
        self._steps_left = 1_000  # bounds the search for router loops
        self._guard_cache: dict[tuple[str, str], list[ScopedGuard]] = {}
        self._fires: dict[tuple[str, str], bool] = {}
        answered: dict[tuple[object, ...], list[bool]] = {}
        for (state, _), rows in self._workflow.index.items():
            aware = any(_has_state_guard(row) for row in rows)
            key = (state if aware else "", *(row.id for row in rows))
            if key not in answered:
                answered[key] = [self._can_fire(rows, number, state) for number in range(len(rows))]
            self._fires |= {(row.id, state): can for row, can in zip(rows, answered[key], strict=True)}

    def _can_fire(self, rows: Sequence[Transition], number: int, state: str) -> bool:
        # A row whose target's attempts can run out is skipped then, although its guards hold.
        before = [
            self._scope_guards(row, state)
            for row in rows[max(0, number - _MAX_EARLIER_ROWS) : number]
            if not any(self._workflow.states[to].attempts for to in list_targets(self._workflow, row))
        ]
        return self._search.can_hold(self._scope_guards(rows[number], state), before) is not Answer.NO

    def can_fire(self, row: Transition, state: str) -> bool:
        """False if in this state an earlier row, or the row's own guards, always prevent it."""
        return self._fires[row.id, state]

    def find_problems(self) -> Iterator[Problem]:
        """Yield constant guards, guards that can give errors, rows that never fire, and router problems."""
        for row in self._workflow.rows:
            constant = list(self._find_constant_guards(row))
            for guard, holds in constant:
                message = f"row `{row.id}`: `{guard.text}` {'always' if holds else 'never'} holds"
                repair = "leave it out" if holds else "compare with a value the fact can have"
                yield build_warning("constant-guard", guard.place, message, repair)
            if all(holds for _, holds in constant):
                yield from self._find_never_firing(row)
            yield from self._find_failing_guards(row, {guard for guard, holds in constant if not holds})
        for name, state in self._workflow.states.items():
            if state.router:
                yield from self._find_stuck_router(name)
        yield from self._find_router_loops()

    def _scope_guards(self, row: Transition, state: str) -> list[ScopedGuard]:
        key = (row.id, state if _has_state_guard(row) else "")
        if key not in self._guard_cache:
            fixed: dict[str, Value] = {_STATE_FACT: state.removeprefix(row.scope)}
            if self._workflow.states[state].router:
                fixed["run.attempts"] = 0
            self._guard_cache[key] = [
                scope_guard(guard, fixed, row.scope) for guard in (*row.when, *row.accept)
            ]
        return self._guard_cache[key]

    def _find_constant_guards(self, row: Transition) -> Iterator[tuple[Guard, bool]]:
        """Yield the guards that have the same verdict for all values, and whether they hold."""
        for number, guard in enumerate((*row.when, *row.accept)):
            varies = any(fact.name == _STATE_FACT for fact in guard.facts)
            states = row.sources if varies else row.sources[:1]
            lines = [self._scope_guards(row, state)[number] for state in states]
            if self._search.has_unbounded_facts(lines):
                continue
            if all(self._search.can_hold([line]) is Answer.NO for line in lines):
                yield guard, False
            elif all(
                self._search.can_fail(line) is Answer.NO and self._search.find_error_values(line, ()) is None
                for line in lines
            ):
                yield guard, True

    def _find_failing_guards(self, row: Transition, constant: Collection[Guard]) -> Iterator[Problem]:
        """Yield guards that give an error for some values while no other guard of the row fails."""
        for number, guard in enumerate((*row.when, *row.accept)):
            for state in row.sources[:1] if guard not in constant else ():
                lines = self._scope_guards(row, state)
                if self._search.has_unbounded_facts([lines[number]]):
                    continue
                beside = [*lines[:number], *lines[number + 1 :]]
                values = self._search.find_error_values(lines[number], beside)
                if values is not None:
                    seen = {name: values[name] for name in lines[number].names}
                    shown = " and ".join(f"{name} = {json.dumps(value)}" for name, value in seen.items())
                    message = f"row `{row.id}`: `{guard.text}` cannot be evaluated when {shown}"
                    nulls = [name for name, value in seen.items() if value is None]
                    repair = (
                        f"add the line `{nulls[0]} != null`" if nulls else "add a line that rules this out"
                    )
                    yield build_error("guard-can-fail", guard.place, message, repair)

    def _find_never_firing(self, row: Transition) -> Iterator[Problem]:
        if not row.sources or any(self.can_fire(row, state) for state in row.sources):
            return
        if all(self._search.can_hold(self._scope_guards(row, s)) is Answer.NO for s in row.sources):
            message = f"row `{row.id}` never fires: its guards never hold together"
            yield build_warning("contradiction", row.place, message, "drop one of them, or the row")
            return
        state, guards = row.sources[0], self._scope_guards(row, row.sources[0])
        rows = self._workflow.index[state, row.trigger]
        earlier = rows[: rows.index(row)]
        # One row that alone shadows this one is named alone.
        alone = (
            [other]
            for other in earlier
            if self._search.can_hold(guards, [self._scope_guards(other, state)]) is Answer.NO
        )
        names = [f"`{other.id}`" for other in next(alone, earlier)]
        before = names[0] if len(names) == 1 else f"one of {', '.join(names)}"
        message = f"row `{row.id}` never fires: before it, {before} always takes its place"
        yield build_warning("shadowed-row", row.place, message, "move it up, or narrow what stands before it")

    def _find_stuck_router(self, router: str) -> Iterator[Problem]:
        rows = self._workflow.index.get((router, None), ())
        lines = [self._scope_guards(row, router) for row in rows]
        if any(self._search.has_unbounded_facts(guards) for guards in lines):
            return
        place = self._workflow.states[router].place
        if not rows:
            message = f"no row leaves the router `{router}`, so the run would be stuck there"
            yield build_error("router-stuck", place, message, "add a row from it without a trigger")
        elif self._search.can_hold([], lines) is Answer.YES:
            message = f"router `{router}` can find no row that holds"
            yield build_error("router-stuck", place, message, "add a last row without `when`")

    def _find_router_loops(self) -> Iterator[Problem]:
        """Yield routers that can lead back to themselves within one turn, each loop once."""
        reported: set[frozenset[str]] = set()
        for name, state in self._workflow.states.items():
            for way in self._find_loops_from(name) if state.router else ():
                circle = frozenset(source for source, _ in way)
                if circle not in reported:
                    reported.add(circle)
                    ids = " → ".join(source for source, _ in way)
                    message = f"routers can go round in one turn: {ids} → {name}"
                    repair = "let one of them lead to a state"
                    rows = tuple(row.id for _, row in way)
                    yield build_error("router-loop", state.place, message, repair, rows)

    def _find_loops_from(self, start: str) -> Iterator[tuple[tuple[str, Transition], ...]]:
        """Yield the paths from a router through routers back to it that one set of facts allows."""
        stack: list[tuple[str, tuple[tuple[str, Transition], ...]]] = [(start, ())]
        while stack and self._steps_left:
            self._steps_left -= 1
            router, path = stack.pop()
            for row in self._workflow.index.get((router, None), ()):
                for target in list_targets(self._workflow, row):
                    longer = (*path, (router, row))
                    if not self._workflow.states[target].router or not self._is_walkable(longer):
                        continue
                    if target == start:
                        yield longer
                    elif all(target != source for source, _ in longer):
                        stack.append((target, longer))

    def _is_walkable(self, path: Sequence[tuple[str, Transition]]) -> bool:
        must: list[ScopedGuard] = []
        must_not: list[list[ScopedGuard]] = []
        for source, row in path:
            rows = self._workflow.index[source, None]
            must += self._scope_guards(row, source)
            must_not += [self._scope_guards(other, source) for other in rows[: rows.index(row)]]
        changed = {name for _, row in path for name, _ in row.set}
        read = {f"{each.scope}{f.name}" for each in must for f in each.guard.facts}
        if any(name.replace("run.vars.", "") in changed for name in read):
            return False
        return self._search.can_hold(must, must_not) is Answer.YES


def _has_state_guard(row: Transition) -> bool:
    return any(fact.name == _STATE_FACT for guard in (*row.when, *row.accept) for fact in guard.facts)


def _find_unreachable_states(workflow: Workflow, paths: _Paths) -> Iterator[Problem]:
    """Yield states that no path leads to, each with the states reachable only from it."""
    unreachable = {name: state for name, state in workflow.states.items() if name not in paths}
    out = {
        name: {t for r in rows for t in list_targets(workflow, r)}
        for name, rows in group_rows_by_state(workflow).items()
    }
    led_to = {target for name in unreachable for target in out[name] - {name}}
    reported: set[str] = set()
    for name in sorted(unreachable, key=lambda name: name in led_to):
        if name in reported:
            continue
        # The unreachable states that this one leads to, over any number of rows.
        lost, todo = {name: None}, [name]
        while todo:
            targets = out[todo.pop()] & unreachable.keys() - reported
            more_states = [target for target in sorted(targets) if target not in lost]
            lost |= dict.fromkeys(more_states)
            todo += more_states
        reported |= lost.keys()
        leads = [row.id for row in workflow.rows if name in list_targets(workflow, row)]
        why = f"only {', '.join(leads)} would lead there" if leads else "no row leads there"
        others = [f"`{other}`" for other in lost if other != name]
        more = f"; so neither can {', '.join(others)}" if others else ""
        message = f"state `{name}` cannot be reached: {why}{more}"
        repair = "add a row that leads there, or drop it"
        yield build_warning("unreachable-state", unreachable[name].place, message, repair)


def _find_dead_ends(workflow: Workflow, rows: _RowAnalysis, paths: _Paths) -> Iterator[Problem]:
    if workflow.derive:
        return
    outgoing = group_rows_by_state(workflow)
    for name, state in workflow.states.items():
        if state.terminal or state.router or name not in paths:
            continue
        out = {t for row in outgoing[name] if rows.can_fire(row, name) for t in list_targets(workflow, row)}
        if not out - {name}:
            message = f"state `{name}` has no way out and is not terminal"
            repair = "add a row that leaves it, or write `terminal: true`"
            yield build_error("dead-end", state.place, message, repair, paths[name])


def _find_unhandled_triggers(workflow: Workflow, rows: _RowAnalysis, paths: _Paths) -> Iterator[Problem]:
    handled = {
        row.trigger
        for row in workflow.rows
        for state in row.sources
        if state in paths and rows.can_fire(row, state)
    }
    for name, tool in workflow.tools.items():
        if not tool.reads and name not in handled:
            message = f"no row of a state that can be reached waits for `{name}`"
            yield build_warning("unhandled-trigger", tool.place, message, "add a row, or `reads: true`")
    states_with_rows = {state for state, _ in workflow.index}
    for name, state in workflow.states.items():
        if state.brief is not None and name in states_with_rows and (name, CONTINUE) not in workflow.index:
            message = f"state `{name}` asks for an output, and no row waits for `{CONTINUE}`"
            repair = f"add a row with `trigger: {CONTINUE}`"
            yield build_warning("unhandled-trigger", state.place, message, repair)


def _find_uncapped_loops(workflow: Workflow, rows: _RowAnalysis, paths: _Paths) -> Iterator[Problem]:
    """Yield loops that the agent alone keeps going: no fact of the world, no person and no cap in them."""
    edges = [
        (source, target, row)
        for row in workflow.rows
        if not _is_bounded(workflow, row)
        for target in list_targets(workflow, row)
        if not workflow.states[target].attempts
        for source in row.sources
        if source in paths and rows.can_fire(row, source)
    ]
    for loop in _find_cycles(edges):
        start, _, first = loop[0]
        message = f"nothing ends the loop {' → '.join(source for source, _, _ in loop)} → {start}"
        path = (*paths[start], *(row.id for _, _, row in loop))
        repair = "give one of its states `attempts:`, or a row of it a guard over a fact"
        yield build_warning("loop-without-cap", first.place, message, repair, path)


def _is_bounded(workflow: Workflow, row: Transition) -> bool:
    tool = workflow.tools.get(row.trigger or "")
    facts = (fact for guard in (*row.when, *row.accept) for fact in guard.facts)
    real = any(fact.provenance is not Provenance.CLAIMED and fact.name != _STATE_FACT for fact in facts)
    return real or (tool is not None and tool.who is Actor.PERSON) or isinstance(row.to, Stay | ToDerived)


def _find_unused(workflow: Workflow) -> Iterator[Problem]:
    """Yield unused texts and variables. In a flat state file variables count as used: others read them."""
    used_texts = {text for row in workflow.rows for text in (row.say, row.refuse)}
    used_texts |= {e.template for row in workflow.rows for e in row.do if isinstance(e, Write)}
    used_texts |= {state.say for state in workflow.states.values()}
    used_texts |= {prompt.text for prompt in workflow.prompts.values()}
    for name, text in workflow.texts.items():
        if name not in used_texts:
            message = f"no row, state or prompt says the text `{name}`"
            yield build_warning("unused-text", text.place, message, "say it, or drop it")
    namings: list[tuple[str, Iterable[str]]] = [
        (row.scope, collect_row_names(workflow, row)) for row in workflow.rows
    ]
    namings += [
        (name[: name.rfind("/") + 1], state.brief.names)
        for name, state in workflow.states.items()
        if state.brief
    ]
    prefix = "run.vars."
    read = {
        scope + name.removeprefix(prefix)
        for scope, names in namings
        for name in names
        if name.startswith(prefix)
    }
    gone_to = {row.to.name for row in workflow.rows if isinstance(row.to, ToVariable)}
    set_ = {name for row in workflow.rows for name, _ in row.set}
    is_flat = workflow.state_file == FLAT_STATE_FILE
    for name, variable in workflow.vars.items():
        if name not in read | gone_to and not is_flat:
            message = f"nothing reads the variable `{name}`"
            yield build_warning("unused-variable", variable.place, message, "read it, or drop it")
        if name in gone_to and name not in set_ and variable.default is None:
            message = f"a row goes to the state in `{name}`, and no row sets it"
            yield build_warning("unset-variable", variable.place, message, "set it, or name a state")


def _find_cycles(edges: Sequence[_Edge]) -> Iterator[tuple[_Edge, ...]]:
    """Yield the shortest cycle through each state that is in one, in the order of the edges.

    A state that is part of a cycle already found does not start another.
    """
    out: dict[str, list[_Edge]] = {}
    for edge in edges:
        out.setdefault(edge[0], []).append(edge)
    done: set[str] = set()
    for start in out:
        if start not in done and (loop := _find_shortest_cycle(out, start)):
            done |= {source for source, _, _ in loop}
            yield loop


def _find_shortest_cycle(out: Mapping[str, Sequence[_Edge]], start: str) -> tuple[_Edge, ...]:
    """Return the shortest cycle from a state back to itself, or an empty tuple."""
    came_by: dict[str, _Edge] = {}
    queue = deque([start])
    while queue and start not in came_by:
        for edge in out.get(queue.popleft(), ()):
            if edge[1] not in came_by:
                came_by[edge[1]] = edge
                queue.append(edge[1])
    if start not in came_by:
        return ()
    cycle = [came_by[start]]
    while cycle[-1][0] != start:
        cycle.append(came_by[cycle[-1][0]])
    return tuple(reversed(cycle))
