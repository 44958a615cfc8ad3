"""From declarations to a workflow: names looked up, guards compiled, sub-workflows in place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from handrail.engine.lifecycle import CONTINUE, RESERVED
from handrail.engine.model import (
    Index,
    State,
    Stay,
    Target,
    ToDerived,
    ToState,
    ToVariable,
    Transition,
    Variable,
    Workflow,
)
from handrail.workflows.assigned import read_assigned
from handrail.workflows.declared import Declared, DeclaredRow
from handrail.workflows.effects import Scope, read_effects
from handrail.workflows.inline import Inlined
from handrail.workflows.names import Names
from handrail.workflows.nodes import Scalar
from handrail.workflows.reader import Reader
from handrail.workflows.registry import Registry
from handrail.workflows.texts import Texts

DERIVED = "@derived"


@dataclass(frozen=True, slots=True)
class Linker:
    """What the rows of one file are linked with."""

    reader: Reader
    registry: Registry
    declared: Declared
    subs: Mapping[str, Inlined]
    states: Mapping[str, State]
    vars: Mapping[str, Variable]
    names: Names
    texts: Texts


def link(
    reader: Reader, registry: Registry, declared: Declared, subs: Mapping[str, Inlined], digest: str
) -> Workflow:
    """The workflow that was declared; what could not be looked up is left out and noted as a problem."""
    linker = _linker(reader, registry, declared, subs)
    _check_derive(linker)
    _check_ids(linker)
    for name, task in declared.tasks.items():
        linker.texts.task(name, task, linker.names.world)
    own = [_row(linker, row) for row in declared.rows]
    rows = (*(row for sub in subs.values() for row in sub.rows), *own)
    return Workflow(
        name=declared.name,
        version=declared.version,
        authority=declared.authority,
        place=declared.place,
        digest=digest,
        initial=next(iter(declared.states), ""),
        states=linker.states,
        rows=rows,
        index=index(rows),
        facts=linker.names.world,
        about=declared.about,
        derive=declared.derive.text if declared.derive else "",
        inputs=declared.inputs,
        vars=linker.vars,
        tools=declared.tools,
        texts={**linker.texts.texts, **{n: t for sub in subs.values() for n, t in sub.texts.items()}},
    )


def index(rows: tuple[Transition, ...]) -> Index:
    """The rows of each state and trigger, in order."""
    found: dict[tuple[str, str | None], list[Transition]] = {}
    for row in rows:
        for source in row.sources:
            found.setdefault((source, row.trigger), []).append(row)
    return {key: tuple(those) for key, those in found.items()}


def _linker(reader: Reader, registry: Registry, declared: Declared, subs: Mapping[str, Inlined]) -> Linker:
    states: dict[str, State] = {}
    for name, state in declared.states.items():
        states |= subs[name].states if name in subs else {name: state}
    return Linker(
        reader,
        registry,
        declared,
        subs,
        states,
        {**declared.vars, **{name: v for sub in subs.values() for name, v in sub.vars.items()}},
        Names(reader, registry, declared),
        Texts(reader, declared.texts),
    )


def _check_derive(linker: Linker) -> None:
    derive, reader = linker.declared.derive, linker.reader
    if derive is None:
        return
    fact = linker.registry.facts.get(derive.text)
    if fact is None:
        reader.unknown(
            "fact", derive.text, derive.place, linker.registry.facts, "`derive`: no fact is called"
        )
        return
    for state in linker.states.values():
        if state.router:
            message = f"the state is derived, so the run can never be in the router `{state.name}`"
            reader.problem("derived-router", state.place, message, "drop the router, or `derive`")
        if fact.closed and state.name not in fact.domain:
            message = f"`{fact.name}` is never `{state.name}`"
            reader.problem(
                "underivable-state", state.place, message, f"its values: {', '.join(map(str, fact.domain))}"
            )
    for value in fact.domain if fact.closed else ():
        if value not in linker.states:
            message = f"`{fact.name}` can be `{value}`, and there is no such state"
            reader.problem("unknown-state", derive.place, message, f"declare `{value}`")


def _check_ids(linker: Linker) -> None:
    first: dict[str, DeclaredRow] = {}
    for row in linker.declared.rows:
        if first.setdefault(row.id, row) is not row:
            message = f"row `{row.id}` is there already, on line {first[row.id].place.line}"
            linker.reader.problem("duplicate-row", row.place, message, "give it an id of its own")


def _row(linker: Linker, row: DeclaredRow) -> Transition:
    what = f"row `{row.id}`"
    sources = _sources(linker, row)
    facts = linker.names.for_row(row, [linker.states[name] for name in sources])
    values = [
        f"{name}.{value}" for name, kind in _drafts(linker, row, what) for value in _values(linker, kind)
    ]
    known = [*facts, *values]
    _check_trigger(linker, row, sources, what)
    _check_shape(linker, row, what)
    scope = Scope(what, facts, values, linker.texts, linker.declared.authority)
    return Transition(
        id=row.id,
        sources=sources,
        trigger=row.trigger.text if row.trigger else None,
        place=row.place,
        when=linker.names.guards(row.when, facts, f"`when` of {what}", payload=False),
        accept=linker.names.guards(row.accept, facts, f"`accept` of {what}", payload=True),
        drafts=tuple(_drafts(linker, row, "")),
        to=_target(linker, row, what),
        set=tuple(read_assigned(linker.reader, row, linker.vars, linker.states, facts)),
        do=read_effects(linker.reader, linker.registry, row.do, scope),
        say=linker.texts.named(row.say, known, what),
        refuse=linker.texts.named(row.refuse, known, what),
    )


def _drafts(linker: Linker, row: DeclaredRow, what: str) -> Iterator[tuple[str, str]]:
    """The drafts of a row that are registered; one that is not is a problem, if `what` says for whom."""
    for name, (_, node) in row.drafts.items():
        kind = node.text if isinstance(node, Scalar) else ""
        if kind in linker.registry.drafts:
            yield name, kind
        elif what:
            known = linker.registry.drafts
            linker.reader.unknown("draft", kind, node.place, known, f"{what}: no draft is called")


def _values(linker: Linker, kind: str) -> tuple[str, ...]:
    return linker.registry.drafts[kind].values


def _sources(linker: Linker, row: DeclaredRow) -> tuple[str, ...]:
    """The states a row leaves: a sub-workflow's ends, or all of its inside if the row has a trigger."""
    excepted = {name for scalar in row.excepted for name in _state_names(linker, scalar, row)}
    if row.sources is not None:
        names = (name for scalar in row.sources for name in _state_names(linker, scalar, row))
    else:
        names = (name for name, state in linker.states.items() if not (state.router or state.terminal))
    return tuple(dict.fromkeys(name for name in names if name not in excepted))


def _state_names(linker: Linker, scalar: Scalar, row: DeclaredRow) -> tuple[str, ...]:
    if scalar.text in linker.subs:
        sub = linker.subs[scalar.text]
        return sub.exits if row.trigger is None else sub.inside
    if scalar.text in linker.states:
        return (scalar.text,)
    linker.reader.unknown(
        "state", scalar.text, scalar.place, linker.states, f"row `{row.id}`: no state is called"
    )
    return ()


def _check_trigger(linker: Linker, row: DeclaredRow, sources: tuple[str, ...], what: str) -> None:
    reader, tools = linker.reader, linker.declared.tools
    routers = [name for name in sources if linker.states[name].router]
    ends = [name for name in sources if linker.states[name].terminal]
    if ends:
        reader.problem("row-from-end", row.place, f"{what} leaves `{ends[0]}`, where the run has ended")
    if row.trigger is None:
        stays = [name for name in sources if name not in routers and name not in ends]
        if row.sources is None or stays:
            message = f"{what} has no trigger, and `{stays[0] if stays else '*'}` is no router"
            reader.problem("missing-trigger", row.place, message, "add `trigger:`")
        return
    if routers:
        message = f"{what}: `{routers[0]}` is a router, which no trigger reaches"
        reader.problem("router-trigger", row.trigger.place, message, "drop the trigger")
    if row.trigger.text in RESERVED:
        message = f"{what}: `{row.trigger.text}` acts on the run as a whole"
        reader.problem("reserved-trigger", row.trigger.place, message, "choose another word")
    elif tools and row.trigger.text not in tools and row.trigger.text != CONTINUE:
        reader.unknown("trigger", row.trigger.text, row.trigger.place, tools, f"{what}: no tool sends")
    elif row.trigger.text in tools and tools[row.trigger.text].reads:
        message = f"{what}: `{row.trigger.text}` only reads, so no row can wait for it"
        reader.problem("reading-trigger", row.trigger.place, message, "drop `reads`, or the row")


def _check_shape(linker: Linker, row: DeclaredRow, what: str) -> None:
    reader = linker.reader
    if row.refuse is not None and (row.to or row.set or row.do or row.say):
        message = f"{what} refuses, so nothing else can happen in it"
        reader.problem("refuse-and-act", row.refuse.place, message, "drop `to`, `set`, `do` and `say`")
    if row.trigger is None and row.accept:
        message = f"{what}: nothing comes with an event into a router"
        reader.problem("accept-in-router", row.accept[0].place, message, "use `when`")
    if row.trigger is None and row.refuse is None and row.to is None:
        message = f"{what} leaves a router, and does not say where to"
        reader.problem("missing-key", row.place, message, "add `to:`")


def _target(linker: Linker, row: DeclaredRow, what: str) -> Target:
    if row.to is None:
        return Stay()
    name, reader = row.to.text, linker.reader
    if name == DERIVED:
        return _derived(linker, row, what)
    if name.startswith("@") and name not in linker.states:
        variable = linker.vars.get(name.removeprefix("@"))
        if variable is not None and variable.type.kind == "state":
            return ToVariable(variable.name)
        states = [f"@{v.name}" for v in linker.vars.values() if v.type.kind == "state"]
        reader.unknown(
            "variable", name, row.to.place, states, f"{what}: no variable that holds a state is called"
        )
        return Stay()
    if name not in linker.states:
        reader.unknown("state", name, row.to.place, linker.states, f"{what}: no state is called")
        return Stay()
    if linker.declared.derive is not None:
        message = f"{what}: the state is derived from `{linker.declared.derive.text}`; no row can set it"
        reader.problem("derived-target", row.to.place, message, f'write "{DERIVED}", or leave `to` out')
    return ToState(name)


def _derived(linker: Linker, row: DeclaredRow, what: str) -> Target:
    """The fact of a draft that says where the drafted text stands."""
    derive = linker.declared.derive
    wanted = derive.text.rpartition(".")[2] if derive else ""
    for name, kind in _drafts(linker, row, ""):
        if wanted in linker.registry.drafts[kind].facts:
            return ToDerived(f"{name}.{wanted}")
    place = row.to.place if row.to else row.place
    message = f"{what}: no draft of this row says what the state will be"
    repair = "add a draft that changes the text" if derive else "declare `derive:` first"
    linker.reader.problem("underivable", place, message, repair)
    return Stay()
