"""Is this workflow sound? Every finding has a severity, a code, a place, and the shortest way to it."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from handrail.engine.explore import leaving, named, shortest, targets
from handrail.engine.facts import Provenance
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.loops import cycles
from handrail.engine.model import (
    FLAT,
    Stay,
    ToDerived,
    ToVariable,
    Transition,
    Who,
    Workflow,
    Write,
)
from handrail.engine.problems import Problem, error, in_reading_order, warning
from handrail.engine.rows import Rows
from handrail.engine.skills import skill_problems

FINDINGS = {
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
"""Every code `check` can give, and what it means."""


def check(workflow: Workflow) -> tuple[Problem, ...]:
    """Everything that is unsound in a workflow that loads, in reading order; nothing for a sound one."""
    rows = Rows(workflow)
    ways = shortest(workflow, rows.fires)
    found = [
        *rows.problems(),
        *_unreachable(workflow, ways),
        *_dead_ends(workflow, rows, ways),
        *_unhandled(workflow, rows, ways),
        *_uncapped(workflow, rows, ways),
        *_unused(workflow),
        *skill_problems(workflow),
    ]
    return in_reading_order([_with_way(problem, workflow, ways) for problem in found])


def _with_way(problem: Problem, workflow: Workflow, ways: Mapping[str, tuple[str, ...]]) -> Problem:
    """The problem with the shortest way to the row or state it stands at, if it has none yet."""
    if problem.path:
        return problem
    for row in workflow.rows:
        if row.place == problem.place or any(g.place == problem.place for g in (*row.when, *row.accept)):
            reached = [ways[state] for state in row.sources if state in ways]
            return replace(problem, path=min(reached, key=len)) if reached else problem
    for state in workflow.states.values():
        if state.place == problem.place:
            return replace(problem, path=ways.get(state.name, ()))
    return problem


def _unreachable(workflow: Workflow, ways: Mapping[str, tuple[str, ...]]) -> Iterator[Problem]:
    """States that no way leads to; those that only such a state leads to are named with it."""
    lost = {name: state for name, state in workflow.states.items() if name not in ways}
    out = {name: {t for r in rows for t in targets(workflow, r)} for name, rows in leaving(workflow).items()}
    led_to = {target for name in lost for target in out[name] - {name}}
    told: set[str] = set()
    for name in sorted(lost, key=lambda name: name in led_to):
        if name in told:
            continue
        behind = _behind(name, out, lost.keys() - told)
        told |= {name, *behind}
        leads = [row.id for row in workflow.rows if name in targets(workflow, row)]
        why = f"only {', '.join(leads)} would lead there" if leads else "no row leads there"
        more = f"; so neither can {', '.join(f'`{other}`' for other in behind)}" if behind else ""
        message = f"state `{name}` cannot be reached: {why}{more}"
        yield warning(
            "unreachable-state", lost[name].place, message, "add a row that leads there, or drop it"
        )


def _behind(name: str, out: Mapping[str, AbstractSet[str]], lost: AbstractSet[str]) -> list[str]:
    """The lost states that this one leads to, over any number of rows."""
    found, todo = {name: None}, [name]
    while todo:
        onward = [target for target in sorted(out[todo.pop()] & lost) if target not in found]
        found |= dict.fromkeys(onward)
        todo += onward
    return list(found)[1:]


def _dead_ends(workflow: Workflow, rows: Rows, ways: Mapping[str, tuple[str, ...]]) -> Iterator[Problem]:
    if workflow.derive:
        return
    outgoing = leaving(workflow)
    for name, state in workflow.states.items():
        if state.terminal or state.router or name not in ways:
            continue
        out = {t for row in outgoing[name] if rows.fires(row, name) for t in targets(workflow, row)}
        if not out - {name}:
            message = f"state `{name}` has no way out and is not terminal"
            repair = "add a row that leaves it, or write `terminal: true`"
            yield error("dead-end", state.place, message, repair, ways[name])


def _unhandled(workflow: Workflow, rows: Rows, ways: Mapping[str, tuple[str, ...]]) -> Iterator[Problem]:
    handled = {
        row.trigger
        for row in workflow.rows
        for state in row.sources
        if state in ways and rows.fires(row, state)
    }
    for name, tool in workflow.tools.items():
        if not tool.reads and name not in handled:
            message = f"no row of a state that can be reached waits for `{name}`"
            yield warning("unhandled-trigger", tool.place, message, "add a row, or `reads: true`")
    left = {state for state, _ in workflow.index}
    for name, state in workflow.states.items():
        if state.brief is not None and name in left and (name, CONTINUE) not in workflow.index:
            message = f"state `{name}` asks for an output, and no row waits for `{CONTINUE}`"
            yield warning("unhandled-trigger", state.place, message, f"add a row with `trigger: {CONTINUE}`")


def _uncapped(workflow: Workflow, rows: Rows, ways: Mapping[str, tuple[str, ...]]) -> Iterator[Problem]:
    """Loops that the agent's word alone keeps going: no fact of the world, no person and no cap in them."""
    edges = [
        (source, target, row)
        for row in workflow.rows
        if not _bounded(workflow, row)
        for target in targets(workflow, row)
        if not workflow.states[target].attempts
        for source in row.sources
        if source in ways and rows.fires(row, source)
    ]
    for loop in cycles(edges):
        start, _, first = loop[0]
        message = f"nothing ends the loop {' → '.join(source for source, _, _ in loop)} → {start}"
        way = (*ways[start], *(row.id for _, _, row in loop))
        repair = "give one of its states `attempts:`, or a row of it a guard over a fact"
        yield warning("loop-without-cap", first.place, message, repair, way)


def _bounded(workflow: Workflow, row: Transition) -> bool:
    tool = workflow.tools.get(row.trigger or "")
    facts = (fact for guard in (*row.when, *row.accept) for fact in guard.facts)
    real = any(fact.provenance is not Provenance.CLAIMED and fact.name != "run.state" for fact in facts)
    return real or (tool is not None and tool.who is Who.PERSON) or isinstance(row.to, Stay | ToDerived)


def _unused(workflow: Workflow) -> Iterator[Problem]:
    """What nothing uses; the variables of a flat state file are there for other programs to read."""
    said = {text for row in workflow.rows for text in (row.say, row.refuse)}
    said |= {e.template for row in workflow.rows for e in row.do if isinstance(e, Write)}
    said |= {state.say for state in workflow.states.values()}
    said |= {prompt.text for prompt in workflow.prompts.values()}
    for name, text in workflow.texts.items():
        if name not in said:
            message = f"no row, state or prompt says the text `{name}`"
            yield warning("unused-text", text.place, message, "say it, or drop it")
    read = set(_read(workflow))
    gone_to = {row.to.name for row in workflow.rows if isinstance(row.to, ToVariable)}
    set_ = {name for row in workflow.rows for name, _ in row.set}
    told = workflow.state_file == FLAT
    for name, variable in workflow.vars.items():
        if name not in read | gone_to and not told:
            message = f"nothing reads the variable `{name}`"
            yield warning("unused-variable", variable.place, message, "read it, or drop it")
        if name in gone_to and name not in set_ and variable.default is None:
            message = f"a row goes to the state in `{name}`, and no row sets it"
            yield warning("unset-variable", variable.place, message, "set it, or name a state")


def _read(workflow: Workflow) -> Iterator[str]:
    """The variables that guards, texts, paths, assignments and tasks read."""
    for row in workflow.rows:
        yield from (row.scope + name for name in _variables(named(workflow, row)))
    for name, state in workflow.states.items():
        scope = name[: name.rfind("/") + 1]
        yield from (scope + name for name in _variables(state.brief.names if state.brief else ()))


def _variables(names: Iterable[str]) -> Iterator[str]:
    prefix = "run.vars."
    return (name.removeprefix(prefix) for name in names if name.startswith(prefix))
