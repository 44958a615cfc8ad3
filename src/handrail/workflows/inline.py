"""Sub-workflows: another workflow's states and rows, put in place under the name of the state that uses it.

The state becomes a router into the first state of the other; the other's terminal states become routers out
of it, along the rows that leave the state. The engine needs no stack.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from handrail.engine.facts import Kind
from handrail.engine.model import (
    Assigned,
    Effect,
    Literal,
    State,
    Target,
    Text,
    ToState,
    ToVariable,
    Transition,
    Variable,
    Workflow,
    Write,
)


class Inlined(Struct, frozen=True):
    """What a sub-workflow brings: `exits` are its ends, `inside` the states in which a run can stay."""

    states: Mapping[str, State]
    rows: tuple[Transition, ...]
    vars: Mapping[str, Variable]
    texts: Mapping[str, Text]
    exits: tuple[str, ...]
    inside: tuple[str, ...]


def inline(used_by: State, sub: Workflow) -> Inlined:
    """The sub-workflow under the name of the state that uses it."""
    prefix = f"{used_by.name}/"
    changed = {name for row in sub.rows for name, _ in row.set}
    door = Transition(
        f"{prefix}@in",
        (used_by.name,),
        None,
        used_by.place,
        to=ToState(prefix + sub.initial),
        set=tuple((prefix + n, Literal(_variable(prefix, sub.vars[n]).default)) for n in sorted(changed)),
        scope=prefix,
    )
    states = {prefix + name: _state(prefix, state, used_by) for name, state in sub.states.items()}
    return Inlined(
        states={used_by.name: replace(used_by, router=True), **states},
        rows=(door, *(_row(prefix, row, sub) for row in sub.rows)),
        vars={prefix + name: _variable(prefix, variable) for name, variable in sub.vars.items()},
        texts={prefix + name: replace(text, name=prefix + name) for name, text in sub.texts.items()},
        exits=tuple(prefix + name for name, state in sub.states.items() if state.terminal),
        inside=tuple(prefix + n for n, s in sub.states.items() if not (s.router or s.terminal)),
    )


def _state(prefix: str, state: State, used_by: State) -> State:
    """An end becomes a router; what is wrong with the way on from there is wrong where the other is used."""
    own = replace(state, name=prefix + state.name, say=state.say and prefix + state.say)
    if not state.terminal:
        return own
    return replace(own, router=True, terminal=False, place=used_by.place)


def _variable(prefix: str, variable: Variable) -> Variable:
    default = variable.default
    if variable.type.kind is Kind.STATE and default is not None:
        default = f"{prefix}{default}"
    return replace(variable, name=prefix + variable.name, default=default)


def _row(prefix: str, row: Transition, sub: Workflow) -> Transition:
    return replace(
        row,
        id=prefix + row.id,
        sources=tuple(prefix + source for source in row.sources),
        to=_target(prefix, row.to),
        set=tuple(_set(prefix, row, sub)),
        do=tuple(_effect(prefix, effect) for effect in row.do),
        say=row.say and prefix + row.say,
        refuse=row.refuse and prefix + row.refuse,
        scope=prefix + row.scope,
    )


def _target(prefix: str, target: Target) -> Target:
    if isinstance(target, (ToState, ToVariable)):
        return replace(target, name=prefix + target.name)
    return target


def _set(prefix: str, row: Transition, sub: Workflow) -> Iterator[tuple[str, Assigned]]:
    for name, assigned in row.set:
        is_state = sub.vars[name].type.kind is Kind.STATE
        if isinstance(assigned, Literal) and is_state and assigned.value is not None:
            yield prefix + name, Literal(f"{prefix}{assigned.value}")
        else:
            yield prefix + name, assigned


def _effect(prefix: str, effect: Effect) -> Effect:
    if isinstance(effect, Write) and effect.template:
        return replace(effect, template=prefix + effect.template)
    return effect
