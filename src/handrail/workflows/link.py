"""From declarations to a workflow: names looked up, guards compiled, sub-workflows in place."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from handrail.engine.facts import Kind
from handrail.engine.lifecycle import CONTINUE, RESERVED
from handrail.engine.model import (
    Archive,
    Authority,
    Index,
    Prompt,
    State,
    Stay,
    Target,
    ToDerived,
    ToState,
    ToVariable,
    Transition,
    Workflow,
)
from handrail.workflows.assigned import read_assigned
from handrail.workflows.declared import Declared, DeclaredPrompt, DeclaredRow
from handrail.workflows.effects import Scope, read_effects
from handrail.workflows.inline import Inlined
from handrail.workflows.names import Names
from handrail.workflows.nodes import Scalar
from handrail.workflows.reader import Reader
from handrail.workflows.registry import Registry
from handrail.workflows.texts import ARCHIVED, Texts

DERIVED = "@derived"


class Linker(Struct, frozen=True):
    """What the rows of one file are linked with."""

    reader: Reader
    registry: Registry
    declared: Declared
    subs: Mapping[str, Inlined]
    states: Mapping[str, State]
    names: Names
    texts: Texts


def link(
    reader: Reader, registry: Registry, declared: Declared, subs: Mapping[str, Inlined], digest: str
) -> Workflow:
    """The workflow that was declared; what could not be looked up is left out and noted as a problem."""
    linker = _linker(reader, registry, declared, subs)
    _check_derive(linker)
    _check_ids(linker)
    for name, task in declared.tasks:
        linker.texts.task(name, task, linker.names.world)
    for name, say in declared.says:
        linker.texts.named(say, linker.names.world, f"state `{name}`")
    own = [_row(linker, row) for row in declared.rows]
    rows = (*(row for sub in subs.values() for row in sub.rows), *own)
    return Workflow(
        name=declared.name,
        version=declared.version,
        authority=declared.authority or Authority.SQL,
        place=declared.place,
        digest=digest,
        initial=next(iter(declared.states), ""),
        states=linker.states,
        rows=rows,
        index=index(rows),
        facts=linker.names.world,
        folder=declared.folder,
        state_file=declared.state_file,
        about=declared.about,
        derive=declared.derive.text if declared.derive else "",
        inputs=declared.inputs,
        vars={**declared.vars, **{name: v for sub in subs.values() for name, v in sub.vars.items()}},
        tools=declared.tools,
        prompts={prompt.key.text: _prompt(linker, prompt) for prompt in declared.prompts},
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
    if fact.type.kind is not Kind.STRING:
        message = f"`derive`: `{fact.name}` is of type {fact.type}, and a state is a text"
        reader.problem("wrong-value", derive.place, message, "name a fact of type string")
        return
    for state in linker.states.values():
        if state.router:
            message = f"the state is derived from `{fact.name}`, so no run comes to the router `{state.name}`"
            reader.problem("derived-router", state.place, message, "drop the router, or `derive`")
        elif fact.closed and state.name not in fact.domain:
            message = f"the state is derived from `{fact.name}`, which is never `{state.name}`"
            reader.problem(
                "underivable-state", state.place, message, f"its values: {', '.join(map(str, fact.domain))}"
            )
    for value in fact.domain if fact.closed else ():
        if value not in linker.states:
            message = (
                f"the state is derived from `{fact.name}`, which can be `{value}`: no state is called so"
            )
            reader.problem("unknown-state", derive.place, message, f"declare `{value}` under `states`")


def _check_ids(linker: Linker) -> None:
    first: dict[str, DeclaredRow] = {}
    for row in linker.declared.rows:
        if row.id and first.setdefault(row.id, row) is not row:
            message = f"row `{row.id}` is there already, on line {first[row.id].place.line}"
            linker.reader.problem("duplicate-row", row.place, message, "give it an id of its own")


def _row(linker: Linker, row: DeclaredRow) -> Transition:
    reader, what = linker.reader, row.what
    sources = _sources(linker, row)
    facts = linker.names.for_row(row, [linker.states[name] for name in sources])
    drafts = tuple(_drafts(linker, row))
    values = [f"{name}.{value}" for name, kind in drafts for value in linker.registry.drafts[kind].values]
    known = [*facts, *values]
    _check_trigger(linker, row, sources)
    _check_shape(linker, row, sources)
    scope = Scope(what, facts, values, linker.texts, linker.declared.authority)
    with reader.doubting(_doubtful(linker, row, sources)):
        do = read_effects(reader, linker.registry, row.do, scope)
        archived = [ARCHIVED] if any(isinstance(effect, Archive) for effect in do) else []
        return Transition(
            id=row.id,
            sources=sources,
            trigger=row.trigger.text if row.trigger else None,
            place=row.place,
            when=linker.names.guards(row.when, facts, f"`when` of {what}", payload=False),
            accept=linker.names.guards(row.accept, facts, f"`accept` of {what}", payload=True),
            drafts=drafts,
            to=_target(linker, row),
            set=tuple(read_assigned(reader, row, linker.declared.vars, linker.states, facts)),
            do=do,
            say=linker.texts.named(row.say, [*known, *archived], what),
            refuse=linker.texts.named(row.refuse, known, what),
            only_says=row.only_says,
        )


def _prompt(linker: Linker, prompt: DeclaredPrompt) -> Prompt:
    text = linker.texts.alone(prompt.say, prompt.what)
    return Prompt(prompt.key.text, prompt.key.place, prompt.about, text)


def _doubtful(linker: Linker, row: DeclaredRow, sources: Collection[str]) -> Iterator[str]:
    """How names begin that this row could use if what is wrong elsewhere in it were mended."""
    tools = linker.declared.tools
    for name, (_, node) in row.drafts.items():
        if not isinstance(node, Scalar) or node.text not in linker.registry.drafts:
            yield f"{name}."
    unsent = row.trigger is not None and bool(tools) and row.trigger.text not in {CONTINUE, *tools}
    unknown = not sources or any(s.text not in linker.states for s in row.sources or ())
    if unknown or unsent or _unclear(linker, row, sources):
        yield "output."
    tool = tools.get(row.trigger.text) if row.trigger else None
    if unsent or _unclear(linker, row, ()) or (tool and linker.reader.unclear(tool.place)):
        yield "event."


def _unclear(linker: Linker, row: DeclaredRow, sources: Iterable[str]) -> bool:
    """True if the row or one of these states could not be read, or the workflow that a state stands for."""
    unclear = linker.reader.unclear
    broken = linker.declared.uses.keys() - linker.subs.keys()
    return unclear(row.place) or any(n in broken or unclear(linker.states[n].place) for n in sources)


def _drafts(linker: Linker, row: DeclaredRow) -> Iterator[tuple[str, str]]:
    """The drafts of a row by name; one that is not registered is a problem."""
    known = linker.registry.drafts
    for name, (_, node) in row.drafts.items():
        kind = linker.reader.single(node, f"the draft `{name}` of {row.what}")
        if kind is not None and kind.text in known:
            yield name, kind.text
        elif kind is not None:
            linker.reader.unknown("draft", kind.text, kind.place, known, f"{row.what}: no draft is called")


def _sources(linker: Linker, row: DeclaredRow) -> tuple[str, ...]:
    """The states a row leaves: a sub-workflow's ends, or all of its inside if the row has a trigger."""
    excepted = {name for scalar in row.excepted for name in _state_names(linker, scalar, row)}
    if row.sources is not None:
        return tuple(dict.fromkeys(n for scalar in row.sources for n in _state_names(linker, scalar, row)))
    stays = [name for name, state in linker.states.items() if not (state.router or state.terminal)]
    found = tuple(name for name in stays if name not in excepted)
    if stays and not found:
        message = f"{row.what} leaves no state: there is none that `except` does not name"
        linker.reader.problem("no-source", row.place, message, "leave some out of `except`, or drop the row")
    return found


def _state_names(linker: Linker, scalar: Scalar, row: DeclaredRow) -> tuple[str, ...]:
    if scalar.text in linker.subs:
        sub = linker.subs[scalar.text]
        found = sub.exits if row.trigger is None else sub.inside
        if not found:
            message = f"{row.what} leaves no state: no run ever stays inside `{scalar.text}`"
            linker.reader.problem("no-source", scalar.place, message, "drop the trigger, or the row")
        return found
    if scalar.text in linker.states:
        return (scalar.text,)
    message = f"{row.what}: no state is called"
    linker.reader.unknown("state", scalar.text, scalar.place, linker.states, message)
    return ()


def _check_trigger(linker: Linker, row: DeclaredRow, sources: tuple[str, ...]) -> None:
    """A row out of a router has no trigger; any other waits for one that can be sent."""
    reader = linker.reader
    if row.trigger is not None:
        _check_sent(linker, row.trigger, row.what)
    for scalar in row.sources or ():
        if scalar.text in linker.states and linker.states[scalar.text].terminal:
            message = f"{row.what} leaves `{scalar.text}`, where the run has ended"
            reader.problem("row-from-end", scalar.place, message, "drop it, or `terminal`")
    if _unclear(linker, row, sources):
        return
    stays = [n for n in sources if not (linker.states[n].router or linker.states[n].terminal)]
    routers = [name for name in sources if linker.states[name].router]
    if row.trigger is None and stays:
        message = f"{row.what} has no trigger, and `{stays[0]}` is no router"
        repair = f"add `trigger:`, or make `{stays[0]}` a router"
        reader.problem("missing-trigger", row.place, message, repair)
    elif row.trigger is not None and routers:
        message = f"{row.what}: `{routers[0]}` is a router, which is left at once and not on a trigger"
        reader.problem("router-trigger", row.trigger.place, message, "drop the trigger, or `router`")


def _check_sent(linker: Linker, trigger: Scalar, what: str) -> None:
    reader, tools = linker.reader, linker.declared.tools
    if trigger.text in tools:
        if tools[trigger.text].reads:
            message = f"{what}: `{trigger.text}` only reads, so no row can wait for it"
            reader.problem("reading-trigger", trigger.place, message, "drop `reads` of the tool, or the row")
    elif trigger.text in RESERVED:
        message = f"{what}: `{trigger.text}` acts on the run as a whole, so no row can wait for it"
        reader.problem("reserved-trigger", trigger.place, message, "choose another word")
    elif tools and trigger.text != CONTINUE:
        reader.unknown("trigger", trigger.text, trigger.place, tools, f"{what}: no tool sends")


def _check_shape(linker: Linker, row: DeclaredRow, sources: tuple[str, ...]) -> None:
    reader = linker.reader
    if row.refuse is not None and (row.to or row.set or row.do or row.say):
        message = f"{row.what} refuses, so nothing else can happen in it"
        reader.problem("refuse-and-act", row.refuse.place, message, "drop `to`, `set`, `do` and `say`")
    if row.only_says and (row.to or row.set or row.do or not row.say):
        message = f"{row.what} only says its text, and nothing is kept of it"
        repair = "name the text under `say`, and drop `to`, `set` and `do`; or drop `only_says`"
        reader.problem("only-says-and-acts", row.place, message, repair)
    routers = any(linker.states[name].router for name in sources)
    if row.trigger is not None or not routers or reader.unclear(row.place):
        return
    if row.accept:
        message = f"{row.what} leaves a router, where nothing has come with an event"
        reader.problem("accept-in-router", row.accept[0].place, message, "use `when`")
    if row.refuse is not None:
        message = f"{row.what} leaves a router, and by then it is too late to refuse"
        reader.problem("refuse-in-router", row.refuse.place, message, "refuse in the row that leads there")
    elif row.to is None:
        message = f"{row.what} leaves a router, and does not say where to"
        reader.problem("missing-key", row.place, message, "add `to:`")


def _target(linker: Linker, row: DeclaredRow) -> Target:
    if row.to is None:
        return Stay()
    name, reader, derive = row.to.text, linker.reader, linker.declared.derive
    if name == DERIVED:
        return _derived(linker, row, row.to)
    if name.startswith("@") and name not in linker.states:
        return _variable(linker, row.to, row.what)
    if name not in linker.states:
        reader.unknown("state", name, row.to.place, linker.states, f"{row.what}: no state is called")
        return Stay()
    if derive is not None:
        message = f"{row.what}: the state is derived from `{derive.text}`, so no row can set it"
        reader.problem("derived-target", row.to.place, message, f'write "{DERIVED}", or leave `to` out')
    return ToState(name)


def _variable(linker: Linker, to: Scalar, what: str) -> Target:
    variables = linker.declared.vars
    variable = variables.get(to.text.removeprefix("@"))
    if variable is None:
        known = [f"@{name}" for name, each in variables.items() if each.type.kind is Kind.STATE]
        linker.reader.unknown("variable", to.text, to.place, known, f"{what}: no variable is called")
        return Stay()
    if variable.type.kind is not Kind.STATE and not linker.reader.unclear(variable.place):
        message = f"{what}: `{variable.name}` holds a {variable.type.kind}, and only a state can be gone to"
        linker.reader.problem("wrong-value", to.place, message, "declare it as `state?`, or name a state")
    return ToVariable(variable.name)


def _derived(linker: Linker, row: DeclaredRow, to: Scalar) -> Target:
    """The fact of a draft that says where the drafted text stands."""
    derive = linker.declared.derive
    wanted = derive.text.rpartition(".")[2] if derive else ""
    for name, (_, node) in row.drafts.items():
        kind = linker.registry.drafts.get(node.text if isinstance(node, Scalar) else "")
        if kind is None or wanted in kind.facts:
            return ToDerived(f"{name}.{wanted}")
    message = f"{row.what}: no draft of this row says what the state will be"
    repair = "add a draft that changes the text" if derive else "declare `derive:` first"
    linker.reader.problem("underivable", to.place, message, repair)
    return Stay()
