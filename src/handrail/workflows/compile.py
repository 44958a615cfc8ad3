"""Compile the declarations of a workflow file into a `Workflow`: look up every name and check every row.

Start reading at `link_workflow`. `inline_workflow` puts a sub-workflow into the state that uses it. Problems
go to the `NodeReader`; nothing here raises for what an author can write.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from handrail.engine.facts import Fact, Kind
from handrail.engine.lifecycle import CONTINUE, RESERVED_TRIGGERS
from handrail.engine.model import (
    STATE_FILES,
    Archive,
    AssignedValue,
    Authority,
    Effect,
    FactReference,
    LiteralValue,
    Prompt,
    State,
    Stay,
    Target,
    Text,
    ToDerived,
    ToState,
    ToVariable,
    Transition,
    Variable,
    Workflow,
    Write,
)
from handrail.engine.paths import find_path_placeholders
from handrail.engine.problems import Place
from handrail.workflows.declarations import (
    DeclaredRow,
    DeclaredText,
    DeclaredWorkflow,
    read_value,
)
from handrail.workflows.guard_compiler import GuardCompiler
from handrail.workflows.nodes import (
    Node,
    NodeList,
    NodeReader,
    Scalar,
    Table,
    as_text,
    is_unsafe_path,
    locate_span,
    quote_excerpt,
)
from handrail.workflows.registry import EffectKind, Registry
from handrail.workflows.templates import FILTERS, Placeholder, find_placeholders

# The one name in templates and paths that is not a fact: the time of the turn.
NOW_NAME = "now"

# A name that the texts of a row with an `archive` effect may use: the folder that it made. It is empty if
# there was no file to archive.
ARCHIVED_NAME = "archived"
DERIVED_TARGET = "@derived"

# Paths that no effect may touch: the run's state, and Handrail's own folder.
PROTECTED_PATHS = frozenset({".handrail", *STATE_FILES})


class InlinedWorkflow(Struct, frozen=True):
    """The parts of a sub-workflow; `exits` are its terminal states, `inside` the states a run can stay in."""

    states: Mapping[str, State]
    rows: tuple[Transition, ...]
    vars: Mapping[str, Variable]
    texts: Mapping[str, Text]
    exits: tuple[str, ...]
    inside: tuple[str, ...]


class TextChecker:
    """Checks the texts of one file and their placeholders, for each row, state or prompt that uses one."""

    def __init__(self, reader: NodeReader, declared: Mapping[str, DeclaredText]) -> None:
        self._reader = reader
        self._reported: set[tuple[str, str]] = set()
        self._placeholders = {name: tuple(self._find_placeholders(text)) for name, text in declared.items()}
        self.texts = {
            name: Text(
                name,
                {part: content for part, (content, _) in text.parts.items()},
                tuple(dict.fromkeys(placeholder for placeholder, _ in self._placeholders[name])),
                text.place,
            )
            for name, text in declared.items()
        }

    def check_text(self, node: Scalar | None, known: Collection[str], what: str) -> str:
        """Return the text's name, after checking that it exists and `known` has all its placeholders."""
        if node is None:
            return ""
        if node.text not in self.texts:
            message = f"{what}: no text is called"
            self._reader.report_unknown("text", node.text, node.place, self.texts, message)
            return ""
        self._check_placeholders(node.text, known, what)
        return node.text

    def check_task(self, state: str, scalar: Scalar, known: Collection[str]) -> None:
        """Check the placeholders in the task of a step."""
        what = f"`task` of `{state}`"
        declared = DeclaredText(what, what, scalar.place, {"text": (scalar.text, scalar)})
        self._placeholders[what] = tuple(self._find_placeholders(declared))
        self._check_placeholders(what, known, what)

    def _check_placeholders(self, text: str, known: Collection[str], what: str) -> None:
        for name, place in self._placeholders[text]:
            if name not in known and (text, name) not in self._reported:
                self._reported.add((text, name))
                where = what if text == what else f"text `{text}`, used by {what}"
                message = f"{where}: there is nothing to put in for"
                self._reader.report_unknown("placeholder", name, place, known, message)

    def _find_placeholders(self, text: DeclaredText) -> Iterator[tuple[str, Place]]:
        for content, scalar in text.parts.values():
            for item in find_placeholders(content):
                before = content[: item.start]
                line, column = before.count("\n") + 1, item.start - (before.rfind("\n") + 1) + 1
                if scalar is None:
                    place = Place(text.place.file, line, column, item.length)
                else:
                    place = locate_span(scalar, line, column, item.length)
                if not isinstance(item, Placeholder):
                    message = f"{text.what}: {quote_excerpt(item.text)} is no placeholder"
                    repair = "write `{{name}}` or `{{name|filter}}`"
                    self._reader.report_problem("bad-placeholder", place, message, repair)
                elif item.filter not in FILTERS:
                    message = f"{text.what}: no filter is called"
                    known = [name for name in FILTERS if name]
                    self._reader.report_unknown("filter", item.filter, place, known, message)
                else:
                    yield item.name, place


class LinkContext(Struct, frozen=True):
    """What the rows of one file are linked with."""

    reader: NodeReader
    registry: Registry
    declared: DeclaredWorkflow
    subs: Mapping[str, InlinedWorkflow]
    states: Mapping[str, State]
    names: GuardCompiler
    texts: TextChecker


def link_workflow(
    reader: NodeReader,
    registry: Registry,
    declared: DeclaredWorkflow,
    subs: Mapping[str, InlinedWorkflow],
    digest: str,
) -> Workflow:
    """Return the declared workflow. Names that are not found are left out and reported as problems."""
    states: dict[str, State] = {}
    for name, state in declared.states.items():
        states |= subs[name].states if name in subs else {name: state}
    names, texts = GuardCompiler(reader, registry, declared), TextChecker(reader, declared.texts)
    linker = LinkContext(reader, registry, declared, subs, states, names, texts)
    _check_derive(linker)
    first: dict[str, DeclaredRow] = {}
    for row in declared.rows:
        if row.id and first.setdefault(row.id, row) is not row:
            message = f"row `{row.id}` is there already, on line {first[row.id].place.line}"
            reader.report_problem("duplicate-row", row.place, message, "give it an id of its own")
    world = [*names.world_facts, NOW_NAME]
    for name, task in declared.tasks:
        texts.check_task(name, task, world)
    for name, say in declared.says:
        texts.check_text(say, world, f"state `{name}`")
    own = [_link_row(linker, row) for row in declared.rows]
    rows = (*(row for sub in subs.values() for row in sub.rows), *own)
    prompts = [
        Prompt(each.key.text, each.key.place, each.about, texts.check_text(each.say, (), each.what))
        for each in declared.prompts
    ]
    index: dict[tuple[str, str | None], list[Transition]] = {}
    for linked in rows:
        for source in linked.sources:
            index.setdefault((source, linked.trigger), []).append(linked)
    return Workflow(
        name=declared.name,
        version=declared.version,
        authority=declared.authority or Authority.SQL,
        place=declared.place,
        digest=digest,
        initial=next(iter(declared.states), ""),
        states=states,
        rows=rows,
        index={key: tuple(matching) for key, matching in index.items()},
        facts=names.world_facts,
        folder=declared.folder,
        state_file=declared.state_file,
        about=declared.about,
        derive=declared.derive.text if declared.derive else "",
        inputs=declared.inputs,
        vars={**declared.vars, **{name: v for sub in subs.values() for name, v in sub.vars.items()}},
        tools=declared.tools,
        prompts={prompt.name: prompt for prompt in prompts},
        texts={**texts.texts, **{n: t for sub in subs.values() for n, t in sub.texts.items()}},
    )


def _check_derive(linker: LinkContext) -> None:
    derive, reader = linker.declared.derive, linker.reader
    if derive is None:
        return
    fact = linker.registry.facts.get(derive.text)
    if fact is None:
        message = "`derive`: no fact is called"
        reader.report_unknown("fact", derive.text, derive.place, linker.registry.facts, message)
        return
    if fact.type.kind is not Kind.STRING:
        message = f"`derive`: `{fact.name}` is of type {fact.type}, and a state is a text"
        reader.report_problem("wrong-value", derive.place, message, "name a fact of type string")
        return
    for state in linker.states.values():
        if state.router:
            message = f"the state is derived from `{fact.name}`, so no run comes to the router `{state.name}`"
            reader.report_problem("derived-router", state.place, message, "drop the router, or `derive`")
        elif fact.closed and state.name not in fact.domain:
            message = f"the state is derived from `{fact.name}`, which is never `{state.name}`"
            repair = f"its values: {', '.join(map(str, fact.domain))}"
            reader.report_problem("underivable-state", state.place, message, repair)
    for value in fact.domain if fact.closed else ():
        if value not in linker.states:
            derived = f"the state is derived from `{fact.name}`"
            message = f"{derived}, which can be `{value}`: no state is called so"
            reader.report_problem("unknown-state", derive.place, message, f"declare `{value}` under `states`")


def _link_row(linker: LinkContext, row: DeclaredRow) -> Transition:
    reader, what = linker.reader, row.what
    sources = _link_sources(linker, row)
    facts = linker.names.list_row_facts(row, [linker.states[name] for name in sources])
    drafts: list[tuple[str, str]] = []
    for name, (_, node) in row.drafts.items():
        kind = reader.read_scalar(node, f"the draft `{name}` of {what}")
        if kind is not None and kind.text in linker.registry.drafts:
            drafts.append((name, kind.text))
        elif kind is not None:
            message = f"{what}: no draft is called"
            reader.report_unknown("draft", kind.text, kind.place, linker.registry.drafts, message)
    values = [f"{name}.{value}" for name, draft in drafts for value in linker.registry.drafts[draft].values]
    known = [*facts, *values, NOW_NAME]
    _check_trigger(linker, row, sources)
    _check_shape(linker, row, sources)
    scope = _EffectScope(linker, what, facts, values)
    with reader.tolerate_prefixes(_list_doubtful_prefixes(linker, row, sources)):
        do = tuple(effect for node in row.do if (effect := _read_effect(node, scope)) is not None)
        archived = [ARCHIVED_NAME] if any(isinstance(effect, Archive) for effect in do) else []
        return Transition(
            id=row.id,
            sources=sources,
            trigger=row.trigger.text if row.trigger else None,
            place=row.place,
            when=linker.names.compile_guards(row.when, facts, f"`when` of {what}", payload=False),
            accept=linker.names.compile_guards(row.accept, facts, f"`accept` of {what}", payload=True),
            drafts=tuple(drafts),
            to=_link_target(linker, row),
            set=tuple(_read_assignments(linker, row, facts)),
            do=do,
            say=linker.texts.check_text(row.say, [*known, *archived], what),
            refuse=linker.texts.check_text(row.refuse, known, what),
            only_says=row.only_says,
        )


def _link_sources(linker: LinkContext, row: DeclaredRow) -> tuple[str, ...]:
    """Return the states a row leaves.

    For a state that uses a sub-workflow these are its exits, or with a trigger all states inside.
    """
    excepted = {name for scalar in row.excepted for name in _expand_state_name(linker, scalar, row)}
    if row.sources is not None:
        names = (name for scalar in row.sources for name in _expand_state_name(linker, scalar, row))
        return tuple(dict.fromkeys(names))
    step_states = [name for name, state in linker.states.items() if not (state.router or state.terminal)]
    sources = tuple(name for name in step_states if name not in excepted)
    if step_states and not sources:
        message = f"{row.what} leaves no state: there is none that `except` does not name"
        repair = "leave some out of `except`, or drop the row"
        linker.reader.report_problem("no-source", row.place, message, repair)
    return sources


def _expand_state_name(linker: LinkContext, scalar: Scalar, row: DeclaredRow) -> tuple[str, ...]:
    if scalar.text in linker.subs:
        sub = linker.subs[scalar.text]
        names = sub.exits if row.trigger is None else sub.inside
        if not names:
            message = f"{row.what} leaves no state: no run ever stays inside `{scalar.text}`"
            linker.reader.report_problem("no-source", scalar.place, message, "drop the trigger, or the row")
        return names
    if scalar.text in linker.states:
        return (scalar.text,)
    message = f"{row.what}: no state is called"
    linker.reader.report_unknown("state", scalar.text, scalar.place, linker.states, message)
    return ()


def _check_trigger(linker: LinkContext, row: DeclaredRow, sources: tuple[str, ...]) -> None:
    """Check that a row out of a router has no trigger, and that any other has one that can be sent."""
    reader = linker.reader
    if row.trigger is not None:
        _check_trigger_name(linker, row.trigger, row.what)
    for scalar in row.sources or ():
        if scalar.text in linker.states and linker.states[scalar.text].terminal:
            message = f"{row.what} leaves `{scalar.text}`, where the run has ended"
            reader.report_problem("row-from-end", scalar.place, message, "drop it, or `terminal`")
    if _is_unclear(linker, row, sources):
        return
    step_states = [n for n in sources if not (linker.states[n].router or linker.states[n].terminal)]
    routers = [name for name in sources if linker.states[name].router]
    if row.trigger is None and step_states:
        message = f"{row.what} has no trigger, and `{step_states[0]}` is no router"
        repair = f"add `trigger:`, or make `{step_states[0]}` a router"
        reader.report_problem("missing-trigger", row.place, message, repair)
    elif row.trigger is not None and routers:
        message = f"{row.what}: `{routers[0]}` is a router, which is left at once and not on a trigger"
        reader.report_problem("router-trigger", row.trigger.place, message, "drop the trigger, or `router`")


def _check_trigger_name(linker: LinkContext, trigger: Scalar, what: str) -> None:
    reader, tools = linker.reader, linker.declared.tools
    if trigger.text in tools:
        if tools[trigger.text].reads:
            message = f"{what}: `{trigger.text}` only reads, so no row can wait for it"
            repair = "drop `reads` of the tool, or the row"
            reader.report_problem("reading-trigger", trigger.place, message, repair)
    elif trigger.text in RESERVED_TRIGGERS:
        message = f"{what}: `{trigger.text}` acts on the run as a whole, so no row can wait for it"
        reader.report_problem("reserved-trigger", trigger.place, message, "choose another word")
    elif tools and trigger.text != CONTINUE:
        reader.report_unknown("trigger", trigger.text, trigger.place, tools, f"{what}: no tool sends")


def _check_shape(linker: LinkContext, row: DeclaredRow, sources: tuple[str, ...]) -> None:
    reader = linker.reader
    if row.refuse is not None and (row.to or row.set or row.do or row.say):
        message = f"{row.what} refuses, so nothing else can happen in it"
        reader.report_problem("refuse-and-act", row.refuse.place, message, "drop `to`, `set`, `do` and `say`")
    if row.only_says and (row.to or row.set or row.do or not row.say):
        message = f"{row.what} only says its text, and nothing is kept of it"
        repair = "name the text under `say`, and drop `to`, `set` and `do`; or drop `only_says`"
        reader.report_problem("only-says-and-acts", row.place, message, repair)
    routers = any(linker.states[name].router for name in sources)
    if row.trigger is not None or not routers or reader.is_unclear(row.place):
        return
    if row.accept:
        message = f"{row.what} leaves a router, where nothing has come with an event"
        reader.report_problem("accept-in-router", row.accept[0].place, message, "use `when`")
    if row.refuse is not None:
        message = f"{row.what} leaves a router, and by then it is too late to refuse"
        repair = "refuse in the row that leads there"
        reader.report_problem("refuse-in-router", row.refuse.place, message, repair)
    elif row.to is None:
        message = f"{row.what} leaves a router, and does not say where to"
        reader.report_problem("missing-key", row.place, message, "add `to:`")


def _list_doubtful_prefixes(linker: LinkContext, row: DeclaredRow, sources: Collection[str]) -> Iterator[str]:
    """Yield prefixes of names that this row could use if its other problems were fixed."""
    tools = linker.declared.tools
    for name, (_, node) in row.drafts.items():
        if not isinstance(node, Scalar) or node.text not in linker.registry.drafts:
            yield f"{name}."
    unsent = row.trigger is not None and bool(tools) and row.trigger.text not in {CONTINUE, *tools}
    unknown = not sources or any(s.text not in linker.states for s in row.sources or ())
    if unknown or unsent or _is_unclear(linker, row, sources):
        yield "output."
    tool = tools.get(row.trigger.text) if row.trigger else None
    if unsent or _is_unclear(linker, row, ()) or (tool and linker.reader.is_unclear(tool.place)):
        yield "event."


def _is_unclear(linker: LinkContext, row: DeclaredRow, sources: Iterable[str]) -> bool:
    """True if the row, one of these states, or the workflow a state uses could not be read."""
    unclear = linker.reader.is_unclear
    broken = linker.declared.uses.keys() - linker.subs.keys()
    return unclear(row.place) or any(n in broken or unclear(linker.states[n].place) for n in sources)


def _link_target(linker: LinkContext, row: DeclaredRow) -> Target:
    if row.to is None:
        return Stay()
    name, reader, derive = row.to.text, linker.reader, linker.declared.derive
    if name == DERIVED_TARGET:
        return _link_derived_target(linker, row, row.to)
    if name.startswith("@") and name not in linker.states:
        return _link_variable_target(linker, row.to, row.what)
    if name not in linker.states:
        reader.report_unknown("state", name, row.to.place, linker.states, f"{row.what}: no state is called")
        return Stay()
    if derive is not None:
        message = f"{row.what}: the state is derived from `{derive.text}`, so no row can set it"
        repair = f'write "{DERIVED_TARGET}", or leave `to` out'
        reader.report_problem("derived-target", row.to.place, message, repair)
    return ToState(name)


def _link_variable_target(linker: LinkContext, to: Scalar, what: str) -> Target:
    variables = linker.declared.vars
    variable = variables.get(to.text.removeprefix("@"))
    if variable is None:
        known = [f"@{name}" for name, each in variables.items() if each.type.kind is Kind.STATE]
        linker.reader.report_unknown("variable", to.text, to.place, known, f"{what}: no variable is called")
        return Stay()
    if variable.type.kind is not Kind.STATE and not linker.reader.is_unclear(variable.place):
        message = f"{what}: `{variable.name}` holds a {variable.type.kind}, and only a state can be gone to"
        repair = "declare it as `state?`, or name a state"
        linker.reader.report_problem("wrong-value", to.place, message, repair)
    return ToVariable(variable.name)


def _link_derived_target(linker: LinkContext, row: DeclaredRow, to: Scalar) -> Target:
    """Return the draft's fact that gives the state of the drafted text."""
    derive = linker.declared.derive
    wanted = derive.text.rpartition(".")[2] if derive else ""
    for name, (_, node) in row.drafts.items():
        kind = linker.registry.drafts.get(node.text if isinstance(node, Scalar) else "")
        if kind is None or wanted in kind.facts:
            return ToDerived(f"{name}.{wanted}")
    message = f"{row.what}: no draft of this row says what the state will be"
    repair = "add a draft that changes the text" if derive else "declare `derive:` first"
    linker.reader.report_problem("underivable", to.place, message, repair)
    return Stay()


def _read_assignments(
    linker: LinkContext, row: DeclaredRow, facts: Mapping[str, Fact]
) -> Iterator[tuple[str, AssignedValue]]:
    """Yield the variables a row sets.

    `@name` is a fact, `@state` the state being left, anything else a literal value.
    """
    reader, variables = linker.reader, linker.declared.vars
    for name, (key, node) in row.set.items():
        what = f"`{name}` of {row.what}"
        if name not in variables:
            message = f"{row.what}: no variable is called"
            reader.report_unknown("variable", name, key.place, variables, message)
            continue
        reference = as_text(node)
        if reference is None or not reference.text.startswith("@"):
            yield name, LiteralValue(read_value(reader, node, variables[name], linker.states, what))
            continue
        wanted = reference.text.removeprefix("@")
        fact = facts.get(wanted) or facts.get(f"run.{wanted}")
        if fact is None:
            reader.report_unknown("fact", wanted, reference.place, facts, f"{what}: no fact is called")
        elif _check_fit(reader, reference, fact, variables[name], what):
            yield name, FactReference(fact.name)


def _check_fit(reader: NodeReader, node: Scalar, fact: Fact, variable: Variable, what: str) -> bool:
    same = variable.type.kind in {fact.type.kind, Kind.JSON}
    if not same or (fact.type.optional and not variable.type.optional):
        message = f"{what} is of type {variable.type}, and `{fact.name}` of type {fact.type}"
        reader.report_problem("wrong-value", node.place, message, "set it to a fact of its own type")
        return False
    if variable.choices and not (fact.closed and {*fact.domain} <= {*variable.choices, None}):
        choices = ", ".join(f"`{choice}`" for choice in variable.choices)
        message = f"{what} is one of {choices}, and `{fact.name}` can be something else"
        reader.report_problem("wrong-value", node.place, message, "give both the same choices")
        return False
    return True


class _EffectScope(Struct, frozen=True):
    """What an effect of one row may name: facts and draft values."""

    linker: LinkContext
    what: str
    names: Collection[str]
    values: Collection[str]


def _read_effect(node: Node, scope: _EffectScope) -> Effect | None:
    reader, known = scope.linker.reader, scope.linker.registry.effects
    if not isinstance(node, Table) or not node.entries:
        message = f"{scope.what}: an effect is a mapping, such as `write: plan.md`"
        repair = f"begin with {_join_with_or(known)}"
        reader.report_problem("wrong-type", node.place, message, repair)
        return None
    key = next((entry.key for entry in node.entries if entry.key.text in known), node.entries[0].key)
    kind, authority = known.get(key.text), scope.linker.declared.authority
    if kind is None:
        reader.report_unknown("effect", key.text, key.place, known, f"{scope.what}: no effect is called")
        return None
    if authority not in {None, *kind.authorities}:
        needed = f"`authority: {' or '.join(kind.authorities)}`"
        message = f"{scope.what}: `{kind.name}` needs {needed}, this workflow has {authority}"
        reader.report_problem("wrong-authority", key.place, message, "drop it, or change `authority`")
    before = len(reader.problems)
    arguments = _read_arguments(kind, node, scope)
    return kind.build(arguments) if len(reader.problems) == before else None


def _join_with_or(names: Collection[str]) -> str:
    return " or ".join(f"`{name}`" for name in sorted(names))


def _read_arguments(kind: EffectKind, node: Table, scope: _EffectScope) -> dict[str, object]:
    reader, what = scope.linker.reader, f"`{kind.name}` of {scope.what}"
    required = [name for name, param in kind.params.items() if param.required]
    fields = reader.fields(node, kind.params, what, required)
    chosen = [entry.key for entry in node.entries if entry.key.text in kind.one_of]
    if kind.one_of and not chosen:
        message = f"{what} needs {_join_with_or(kind.one_of)}"
        reader.report_problem("missing-key", node.place, message, "add one of them")
    for key in chosen[1:]:
        message = f"{what} takes {_join_with_or(kind.one_of)}, not both"
        reader.report_problem("both-forms", key.place, message, "drop one of them")
    arguments: dict[str, object] = {}
    for name, value in fields.items():
        where = what if name == kind.name else f"`{name}` of {what}"
        arguments[name] = _read_argument(kind.params[name].kind, value, scope, where)
    return arguments


def _read_argument(kind: str, node: Node, scope: _EffectScope, what: str) -> object:
    reader = scope.linker.reader
    match kind:
        case "flag":
            return reader.flag(node, what)
        case "paths":
            paths = node.items if isinstance(node, NodeList) else (node,)
            if not paths:
                message = f"{what} names no file"
                reader.report_problem("wrong-type", node.place, message, "name one, or several")
            return [_read_path(path, scope, what) for path in paths]
        case "path":
            return _read_path(node, scope, what)
        case "template":
            known = [*scope.names, *scope.values, NOW_NAME]
            return scope.linker.texts.check_text(reader.read_scalar(node, what), known, scope.what)
        case _:
            name = reader.read_scalar(node, what)
            if name is not None and name.text not in scope.values:
                message = f"{what}: no draft of this row makes"
                reader.report_unknown("value", name.text, name.place, scope.values, message)
            return name.text if name is not None else ""


def _read_path(node: Node, scope: _EffectScope, what: str) -> str:
    """Read a path below the task folder; it may contain `{fact}` and `{now}`."""
    reader = scope.linker.reader
    path = reader.read_scalar(node, what)
    if path is None:
        return ""
    if is_unsafe_path(path.text):
        message = f"{what}: {quote_excerpt(path.text)} is no path below the task folder"
        reader.report_problem("unsafe-path", path.place, message, "write it relative, without `..`")
    elif path.text.split("/")[0] in PROTECTED_PATHS:
        message = f"{what}: {quote_excerpt(path.text)} is where Handrail keeps the run itself"
        reader.report_problem("unsafe-path", path.place, message, "name another file")
    bare = path.text
    for name in find_path_placeholders(path.text):
        bare = bare.replace(f"{{{name}}}", " " * (len(name) + 2), 1)
        if name != NOW_NAME and name not in scope.names:
            place = locate_span(path, 1, path.text.find(f"{{{name}}}") + 2, len(name))
            message = f"{what}: there is nothing to put in for"
            reader.report_unknown("placeholder", name, place, scope.names, message)
    if stray := [sign for sign in "{}" if sign in bare]:
        message = f"{what}: `{stray[0]}` is no part of a placeholder"
        place = locate_span(path, 1, bare.find(stray[0]) + 1, 1)
        reader.report_problem("bad-placeholder", place, message, "write `{name}`")
    return path.text


def inline_workflow(used_by: State, sub: Workflow) -> InlinedWorkflow:
    """Return the sub-workflow with all names prefixed by the state that uses it."""
    prefix = f"{used_by.name}/"
    changed = {name for row in sub.rows for name, _ in row.set}
    door = Transition(
        f"{prefix}@in",
        (used_by.name,),
        None,
        used_by.place,
        to=ToState(prefix + sub.initial),
        set=tuple(
            (prefix + n, LiteralValue(_rename_variable(prefix, sub.vars[n]).default)) for n in sorted(changed)
        ),
        scope=prefix,
    )
    states = {}
    for name, state in sub.states.items():
        renamed = replace(state, name=prefix + name, say=state.say and prefix + state.say)
        if state.terminal:
            # A problem with the way on from there is reported where the sub-workflow is used.
            renamed = replace(renamed, router=True, terminal=False, place=used_by.place)
        states[prefix + name] = renamed
    return InlinedWorkflow(
        states={used_by.name: replace(used_by, router=True), **states},
        rows=(door, *(_rename_row(prefix, row, sub) for row in sub.rows)),
        vars={prefix + name: _rename_variable(prefix, variable) for name, variable in sub.vars.items()},
        texts={prefix + name: replace(text, name=prefix + name) for name, text in sub.texts.items()},
        exits=tuple(prefix + name for name, state in sub.states.items() if state.terminal),
        inside=tuple(prefix + n for n, s in sub.states.items() if not (s.router or s.terminal)),
    )


def _rename_variable(prefix: str, variable: Variable) -> Variable:
    default = variable.default
    if variable.type.kind is Kind.STATE and default is not None:
        default = f"{prefix}{default}"
    return replace(variable, name=prefix + variable.name, default=default)


def _rename_row(prefix: str, row: Transition, sub: Workflow) -> Transition:
    assignments: list[tuple[str, AssignedValue]] = []
    for name, value in row.set:
        is_state = sub.vars[name].type.kind is Kind.STATE
        if is_state and isinstance(value, LiteralValue) and value.value is not None:
            assignments.append((prefix + name, LiteralValue(f"{prefix}{value.value}")))
        else:
            assignments.append((prefix + name, value))
    effects = (
        replace(effect, template=prefix + effect.template)
        if isinstance(effect, Write) and effect.template
        else effect
        for effect in row.do
    )
    return replace(
        row,
        id=prefix + row.id,
        sources=tuple(prefix + source for source in row.sources),
        to=replace(row.to, name=prefix + row.to.name)
        if isinstance(row.to, (ToState, ToVariable))
        else row.to,
        set=tuple(assignments),
        do=tuple(effects),
        say=row.say and prefix + row.say,
        refuse=row.refuse and prefix + row.refuse,
        scope=prefix + row.scope,
    )
