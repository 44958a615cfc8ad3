"""Read the declarations of a workflow file: its states, rows, tools, variables and texts.

Start reading at `read_declarations`. Shapes and types are checked here; names are looked up later, in
`compile`.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from handrail.engine.contract import declare_output_facts, find_schema_problem, is_allowed_value
from handrail.engine.facts import Fact, Kind, Type, Value
from handrail.engine.lifecycle import CONTINUE, RESERVED_TRIGGERS
from handrail.engine.model import (
    RUN_NAME_PLACEHOLDER,
    STATE_FILES,
    Actor,
    Authority,
    Brief,
    Contract,
    State,
    Tool,
    Variable,
)
from handrail.engine.problems import Place
from handrail.engine.rows import EVENT_FACTS
from handrail.workflows.nodes import (
    FIELD_PATTERN,
    ROOT_PATTERN,
    Node,
    NodeList,
    NodeReader,
    Scalar,
    Table,
    as_text,
    is_unsafe_path,
    quote_excerpt,
    to_plain,
)
from handrail.workflows.outline import NO_EDITS
from handrail.workflows.templates import Placeholder, find_placeholders


class DeclaredRow(Struct, frozen=True):
    """A row before its names are looked up. `sources` None means every state but those in `excepted`."""

    id: str
    what: str  # how problems refer to it
    place: Place
    sources: tuple[Scalar, ...] | None
    excepted: tuple[Scalar, ...] = ()
    trigger: Scalar | None = None
    when: tuple[Scalar, ...] = ()
    accept: tuple[Scalar, ...] = ()
    drafts: Mapping[str, tuple[Scalar, Node]] = field(default_factory=dict)
    to: Scalar | None = None
    set: Mapping[str, tuple[Scalar, Node]] = field(default_factory=dict)
    do: tuple[Node, ...] = ()
    say: Scalar | None = None
    refuse: Scalar | None = None
    only_says: bool = False


class DeclaredPrompt(Struct, frozen=True):
    """A prompt before its text is looked up."""

    key: Scalar
    what: str
    about: str
    say: Scalar | None


class DeclaredText(Struct, frozen=True):
    """A named text: each part with the scalar it was written in, or None if it is a file of its own."""

    name: str
    what: str
    place: Place
    parts: Mapping[str, tuple[str, Scalar | None]]


class DeclaredGraph(Struct, frozen=True, kw_only=True):
    """States and rows, whichever of the two forms they were written in.

    `uses` are the states that stand for another workflow, `tasks` the texts of steps, `says` the names of the
    texts that states say.
    """

    states: Mapping[str, State]
    uses: Mapping[str, Scalar]
    tasks: tuple[tuple[str, Scalar], ...]
    rows: tuple[DeclaredRow, ...]
    says: tuple[tuple[str, Scalar], ...] = ()


class DeclaredWorkflow(DeclaredGraph, frozen=True, kw_only=True):
    """A whole file. The name is empty and the authority None if they could not be read."""

    place: Place
    name: str
    version: int
    authority: Authority | None
    folder: str
    state_file: str
    about: str
    derive: Scalar | None
    inputs: Mapping[str, Variable]
    vars: Mapping[str, Variable]
    tools: Mapping[str, Tool]
    prompts: tuple[DeclaredPrompt, ...]
    texts: Mapping[str, DeclaredText]


BRIEF_KEYS = ("agent", "task", "inputs", "allowed_actions", "forbidden_actions", "done_when", "contract")
CONTRACT_KEYS = ("artifacts", "min_confidence", "no_blockers", "schema")
VARIABLE_KEYS = ("type", "about", "default", "choices")

TOP_KEYS = (
    *("workflow", "version", "authority", "folder", "state_file", "about", "inputs", "vars", "derive"),
    *("tools", "states", "transitions", "steps", "prompts", "texts"),
)

STATE_KEYS = (
    *("about", "phase", "router", "terminal", "attempts", "workflow", "say", "edits", "face"),
    *BRIEF_KEYS,
)

ROW_KEYS = (
    *("id", "from", "except", "trigger", "when", "accept", "draft", "to"),
    *("set", "do", "say", "refuse", "only_says"),
)

TOOL_KEYS = ("about", "who", "reads", "params", "face")
PROMPT_KEYS = ("about", "say")
STEP_KEYS = ("name", "about", "phase", "attempts", "next", "workflow", "edits", *BRIEF_KEYS)
NEXT_KEYS = ("when", "accept", "to", "say")
_SUB_WORKFLOW_KEYS = (*BRIEF_KEYS, "attempts", "edits", "router", "terminal", "say")
ANY_STATE = "*"

# The state every list of steps ends in; no author can give a state this name.
END_STATE = "@end"
_KIND_BY_NAME = {str(kind): kind for kind in Kind}

_INITIAL_VALUES: Mapping[Kind, Value] = {
    Kind.BOOL: False,
    Kind.INT: 0,
    Kind.FLOAT: 0.0,
    Kind.STRING: "",
    Kind.STRINGS: [],
}


def read_declarations(
    reader: NodeReader, root: Node, beside: Mapping[str, tuple[str, str]]
) -> DeclaredWorkflow | None:
    """Read the declarations of a file; `beside` are texts of files next to it: name to file and content."""
    fields = reader.fields(root, TOP_KEYS, "a workflow", ("workflow", "version", "authority"))
    if not isinstance(root, Table):
        return None
    name = reader.read_scalar(fields.get("workflow"), "`workflow`")
    if name is not None:
        reader.check_name(name, "`workflow`")
    graph = _read_graph(reader, root, fields)
    authority = reader.read_choice(fields.get("authority"), list(Authority), "`authority`", "")
    variables = read_variables(reader, fields.get("vars"), "`vars`", graph.states, ["run.vars.", "variable"])
    return DeclaredWorkflow(
        place=name.place if name else root.place,
        name=name.text if name else "",
        version=reader.number(fields.get("version"), "`version`", 1, 1),
        authority=Authority(authority) if authority else None,
        folder=_read_folder(reader, fields.get("folder"), authority),
        state_file=_read_state_file(reader, fields.get("state_file"), fields.get("folder")),
        about=reader.text(fields.get("about"), "`about`"),
        derive=_read_derive(reader, fields),
        inputs=read_variables(reader, fields.get("inputs"), "`inputs`", graph.states, ["run.inputs."]),
        vars=_set_initial_values(reader, variables),
        **asdict(graph),
        tools={
            key.text: _read_tool(reader, key, node, graph.states)
            for key, node in reader.read_named_entries(
                fields.get("tools"), "`tools`", lost=["event."]
            ).values()
        },
        prompts=tuple(
            _read_prompt(reader, key, node)
            for key, node in reader.read_named_entries(fields.get("prompts"), "`prompts`").values()
        ),
        texts=_read_texts(reader, fields.get("texts"), beside),
    )


def _read_folder(reader: NodeReader, node: Node | None, authority: str) -> str:
    """Return the folder of a run's files, below the project."""
    folder = reader.read_scalar(node, "`folder`")
    if folder is None:
        return ""
    if authority not in {"", Authority.FILES}:
        message = f"`folder` needs `authority: files`, this workflow has {authority}"
        reader.report_problem("wrong-authority", folder.place, message, "drop it, or change `authority`")
    above, _, last = folder.text.rpartition("/")
    fixed = above if above and last == RUN_NAME_PLACEHOLDER else folder.text
    if is_unsafe_path(fixed) or "{" in fixed:
        message = f"`folder`: {quote_excerpt(folder.text)} is no path below the project"
        repair = f"write it relative, without `..`; only the last part may be `{RUN_NAME_PLACEHOLDER}`"
        reader.report_problem("unsafe-path", folder.place, message, repair)
    return folder.text


def _read_state_file(reader: NodeReader, node: Node | None, folder: Node | None) -> str:
    """Return the name of the state file in the run's folder."""
    if node is not None and folder is None:
        message = "`state_file` is a file in the folder of a run, and there is no `folder`"
        reader.report_problem("missing-key", node.place, message, "add `folder`, or drop it")
    return reader.read_choice(node, STATE_FILES, "`state_file`", STATE_FILES[0])


def _read_derive(reader: NodeReader, fields: Mapping[str, Node]) -> Scalar | None:
    derive = reader.read_scalar(fields.get("derive"), "`derive`")
    if derive is None or "steps" not in fields:
        return derive
    message = "steps follow each other, so their state cannot be derived"
    repair = "drop `derive`, or write `states` and `transitions`"
    reader.report_problem("derived-target", derive.place, message, repair)
    return None


def _read_graph(reader: NodeReader, root: Table, fields: Mapping[str, Node]) -> DeclaredGraph:
    """Return the states, the sub-workflows and the rows, whichever of the two forms the file uses."""
    if "steps" in fields:
        for entry in root.entries:
            if entry.key.text in {"states", "transitions"}:
                message = f"`steps` stands for `states` and `transitions`, and `{entry.key.text}` is here too"
                reader.report_problem("both-forms", entry.key.place, message, "use one of the two forms")
        return expand_steps(reader, fields["steps"])
    named = reader.read_named_entries(fields.get("states"), "`states`")
    if not named:
        reader.tolerate_unknown(["state"])
    if "states" not in fields:
        message = "a workflow needs `states` or `steps`"
        reader.report_problem("missing-key", root.place, message, "add one of them")
    elif isinstance(fields["states"], Table) and not named:
        reader.report_problem("no-states", fields["states"].place, "the workflow has no state", "declare one")
    states = {name: _read_state(reader, key, node) for name, (key, node) in named.items()}
    tables = {name: node for name, (_, node) in named.items() if isinstance(node, Table)}
    uses = {name: used for name, table in tables.items() if (used := as_text(table.get("workflow")))}
    tasks = [(name, task) for name, table in tables.items() if (task := as_text(table.get("task")))]
    says = [(name, say) for name, table in tables.items() if (say := as_text(table.get("say")))]
    items = reader.items(fields.get("transitions"), "`transitions`")
    rows = [row for item in items if (row := _read_row(reader, item)) is not None]
    return DeclaredGraph(states=states, uses=uses, tasks=tuple(tasks), rows=tuple(rows), says=tuple(says))


def _read_state(reader: NodeReader, key: Scalar, node: Node) -> State:
    what = f"state `{key.text}`"
    if isinstance(node, Scalar) and node.value is None:
        return State(key.text, key.place)
    with reader.track_problems_at(key.place):
        fields = reader.fields(node, STATE_KEYS, what)
        has_brief = any(name in fields for name in BRIEF_KEYS)
        state = _read_state_fields(reader, key, fields, what, has_brief=has_brief)
        if "workflow" in fields:
            _check_sub_workflow_state(reader, node, what)
        else:
            _check_state_shape(reader, state, what)
        return state


def _read_state_fields(
    reader: NodeReader, key: Scalar, fields: Mapping[str, Node], what: str, *, has_brief: bool
) -> State:
    """Read a state or a step, which has fewer fields. One that uses another workflow has no brief."""
    briefed = has_brief and "workflow" not in fields
    brief, outputs = _read_brief(reader, fields, key, what) if briefed else (None, {})
    return State(
        name=key.text,
        place=key.place,
        about=reader.text(fields.get("about"), f"`about` of {what}"),
        phase=reader.text(fields.get("phase"), f"`phase` of {what}"),
        router=reader.flag(fields.get("router"), f"`router` of {what}"),
        terminal=reader.flag(fields.get("terminal"), f"`terminal` of {what}"),
        attempts=reader.number(fields.get("attempts"), f"`attempts` of {what}", 1, 0),
        say=reader.text(fields.get("say"), f"`say` of {what}"),
        brief=brief,
        outputs=outputs,
        edits=_read_edits(reader, fields.get("edits"), what),
        extra=_read_extra(reader, fields.get("face"), what),
    )


def _check_state_shape(reader: NodeReader, state: State, what: str) -> None:
    """Check that no work is declared in a router or in a terminal state."""
    works = state.brief is not None or state.attempts > 0 or state.edits is not None
    if state.router and (state.terminal or works):
        message = f"{what} is a router: it is left at once, so nothing is done in it and no run ends in it"
        repair = "drop `router`, or else `terminal`, `attempts`, `edits`, `agent` and `task`"
        reader.report_problem("router-shape", state.place, message, repair)
    elif state.terminal and works:
        message = f"{what} is terminal: the run has ended there, so nothing is done in it"
        repair = "drop `terminal`, or `attempts`, `edits`, `agent` and `task`"
        reader.report_problem("terminal-shape", state.place, message, repair)


def _read_row(reader: NodeReader, node: Node) -> DeclaredRow | None:
    fields = reader.fields(node, ROW_KEYS, "a transition", ("id", "from"))
    if not fields:
        return None
    key = reader.read_scalar(fields.get("id"), "`id` of a transition")
    if key is not None:
        reader.check_name(key, "`id`")
    what = f"row `{key.text}`" if key else f"the row on line {node.place.line}"
    place = key.place if key else node.place
    with reader.track_problems_at(place):
        sources = reader.scalars(fields.get("from"), f"`from` of {what}")
        _check_sources(reader, fields, sources, what)
        return DeclaredRow(
            id=key.text if key else "",
            what=what,
            place=place,
            sources=None if any(source.text == ANY_STATE for source in sources) else sources,
            excepted=reader.scalars(fields.get("except"), f"`except` of {what}"),
            trigger=reader.read_scalar(fields.get("trigger"), f"`trigger` of {what}"),
            when=reader.scalars(fields.get("when"), f"`when` of {what}"),
            accept=reader.scalars(fields.get("accept"), f"`accept` of {what}"),
            drafts=reader.read_named_entries(fields.get("draft"), f"`draft` of {what}", ROOT_PATTERN),
            to=reader.read_scalar(fields.get("to"), f"`to` of {what}"),
            set=reader.read_named_entries(fields.get("set"), f"`set` of {what}", FIELD_PATTERN),
            do=reader.items(fields.get("do"), f"`do` of {what}"),
            say=reader.read_scalar(fields.get("say"), f"`say` of {what}"),
            refuse=reader.read_scalar(fields.get("refuse"), f"`refuse` of {what}"),
            only_says=reader.flag(fields.get("only_says"), f"`only_says` of {what}"),
        )


def _check_sources(
    reader: NodeReader, fields: Mapping[str, Node], sources: Collection[Scalar], what: str
) -> None:
    node, star = fields.get("from"), next((s for s in sources if s.text == ANY_STATE), None)
    if isinstance(node, NodeList) and not node.items:
        reader.report_problem("no-source", node.place, f"{what} leaves no state", "name one, or several")
    if star is not None and len(sources) > 1:
        message = f"`from` of {what}: `*` stands for every state, so nothing can stand beside it"
        reader.report_problem("wrong-type", star.place, message, "drop the star, or the rest")
    if "except" in fields and sources and star is None:
        message, place = f'`except` of {what} goes with `from: "*"` only', fields["except"].place
        reader.report_problem("except-without-star", place, message, "drop it, or use the star")


def _read_tool(reader: NodeReader, key: Scalar, node: Node, states: Mapping[str, State]) -> Tool:
    what = f"tool `{key.text}`"
    if key.text in {*RESERVED_TRIGGERS, CONTINUE}:
        message = f"no tool can be called `{key.text}`: every run knows this word already"
        reader.report_problem("reserved-trigger", key.place, message, "choose another word")
    with reader.track_problems_at(key.place):
        fields = reader.fields(node, TOOL_KEYS, what)
        params = read_variables(reader, fields.get("params"), f"`params` of {what}", states)
        extra = _read_extra(reader, fields.get("face"), what)
    for param in params.values():
        if f"event.{param.name}" in {fact.name for fact in EVENT_FACTS}:
            message = f"`{param.name}` cannot be one of the `params` of {what}: every event has it already"
            reader.report_problem("bad-name", param.place, message, "choose another word")
    return Tool(
        name=key.text,
        place=key.place,
        about=reader.text(fields.get("about"), f"`about` of {what}"),
        who=Actor(reader.read_choice(fields.get("who"), list(Actor), f"`who` of {what}", Actor.AGENT)),
        reads=reader.flag(fields.get("reads"), f"`reads` of {what}"),
        params=params,
        extra=extra,
    )


def _read_extra(reader: NodeReader, node: Node | None, what: str) -> dict[str, Value]:
    """Return the data for the interfaces, as the author wrote it."""
    entries = reader.read_named_entries(node, f"`face` of {what}")
    return {name: to_plain(value) for name, (_, value) in entries.items()}


def _read_prompt(reader: NodeReader, key: Scalar, node: Node) -> DeclaredPrompt:
    what = f"prompt `{key.text}`"
    with reader.track_problems_at(key.place):
        fields = reader.fields(node, PROMPT_KEYS, what, PROMPT_KEYS)
    about = reader.text(fields.get("about"), f"`about` of {what}")
    return DeclaredPrompt(key, what, about, reader.read_scalar(fields.get("say"), f"`say` of {what}"))


def _read_texts(
    reader: NodeReader, node: Node | None, beside: Mapping[str, tuple[str, str]]
) -> dict[str, DeclaredText]:
    texts = {
        name: DeclaredText(name, f"text `{name}`", Place(file, 1, 1), {"text": (content, None)})
        for name, (file, content) in beside.items()
    }
    for name, (key, value) in reader.read_named_entries(node, "`texts`", lost=["text"]).items():
        what = f"text `{name}`"
        if name in texts:
            message = f"{what} is also a file beside the workflow, {texts[name].place.file}"
            reader.report_problem("duplicate-text", key.place, message, "keep one of them")
        if isinstance(value, Table):
            if not value.entries:
                repair = "write it, or at least one part"
                reader.report_problem("wrong-type", value.place, f"{what} has no part", repair)
            named = reader.read_named_entries(value, f"the parts of {what}")
            scalars = {
                part: reader.read_scalar(item, f"`{part}` of {what}") for part, (_, item) in named.items()
            }
        else:
            scalars = {"text": reader.read_scalar(value, what)}
        parts = {part: (scalar.text if scalar else "", scalar) for part, scalar in scalars.items()}
        texts[name] = DeclaredText(name, what, key.place, parts)
    return texts


def expand_steps(reader: NodeReader, node: Node) -> DeclaredGraph:
    """Return the states, the sub-workflows and the rows of a list of steps."""
    items = reader.items(node, "`steps`")
    if isinstance(node, NodeList) and not items:
        reader.report_problem("no-states", node.place, "`steps` holds no step", "add one")
    steps: list[tuple[Scalar, State, dict[str, Node]]] = []
    for item in items:
        fields = reader.fields(item, STEP_KEYS, "a step", ("name",))
        name = reader.read_scalar(fields.get("name"), "`name` of a step")
        if name is None:
            continue
        reader.check_name(name, "`steps`")
        what = f"step `{name.text}`"
        with reader.track_problems_at(name.place):
            if "workflow" in fields:
                _check_sub_workflow_state(reader, item, what)
            steps.append((name, _read_state_fields(reader, name, fields, what, has_brief=True), fields))
    states: dict[str, State] = {}
    rows: list[DeclaredRow] = []
    followers = [*(key for key, _, _ in steps[1:]), Scalar(END_STATE, node.place, END_STATE, node.place)]
    for (key, state, fields), follower in zip(steps, followers, strict=False):
        leaving = _read_step_rows(reader, key, fields, follower)
        if key.text in states:
            message = f"step `{key.text}` is there already, on line {states[key.text].place.line}"
            reader.report_problem("duplicate-state", key.place, message, "give it another name")
            leaving = [replace(row, id="") for row in leaving]
        states.setdefault(key.text, state)
        rows += leaving
    if states:
        states[END_STATE] = State(END_STATE, node.place, terminal=True)
    uses = {key.text: used for key, _, fields in steps if (used := as_text(fields.get("workflow")))}
    tasks = [(key.text, task) for key, _, fields in steps if (task := as_text(fields.get("task")))]
    return DeclaredGraph(states=states, uses=uses, tasks=tuple(tasks), rows=tuple(rows))


def _read_step_rows(
    reader: NodeReader, key: Scalar, fields: Mapping[str, Node], follower: Scalar
) -> Sequence[DeclaredRow]:
    """Return the rows that leave a step: those of its `next`, or one to the following step."""
    trigger = None if "workflow" in fields else Scalar(CONTINUE, key.place, CONTINUE, key.place)
    if "next" not in fields:
        name = f"{key.text}.1"
        return (DeclaredRow(name, f"row `{name}`", key.place, (key,), trigger=trigger, to=follower),)
    rows = []
    for number, item in enumerate(reader.items(fields["next"], f"`next` of step `{key.text}`"), start=1):
        what = f"row {number} of `next` of step `{key.text}`"
        row = reader.fields(item, NEXT_KEYS, what)
        rows.append(
            DeclaredRow(
                id=f"{key.text}.{number}",
                what=what,
                place=item.place,
                sources=(key,),
                trigger=trigger,
                when=reader.scalars(row.get("when"), f"`when` of {what}"),
                accept=reader.scalars(row.get("accept"), f"`accept` of {what}"),
                to=reader.read_scalar(row.get("to"), f"`to` of {what}") or follower,
                say=reader.read_scalar(row.get("say"), f"`say` of {what}"),
            )
        )
    return rows


def _read_brief(
    reader: NodeReader, fields: Mapping[str, Node], key: Scalar, what: str
) -> tuple[Brief, dict[str, Fact]]:
    """Return the brief, and the facts that guards may read from the output it asks for."""
    missing = [f"`{name}`" for name in ("agent", "task") if name not in fields]
    if missing:
        message = f"{what} needs {' and '.join(missing)}"
        reader.report_problem("missing-key", key.place, message, "say who does what, or add `workflow:`")
    contract = _read_contract(reader, fields.get("contract"), f"`contract` of {what}")
    task = reader.text(fields.get("task"), f"`task` of {what}")
    brief = Brief(
        agent=reader.text(fields.get("agent"), f"`agent` of {what}"),
        task=task,
        names=tuple(each.name for each in find_placeholders(task) if isinstance(each, Placeholder)),
        inputs=reader.texts(fields.get("inputs"), f"`inputs` of {what}"),
        allowed_actions=reader.texts(fields.get("allowed_actions"), f"`allowed_actions` of {what}"),
        forbidden_actions=reader.texts(fields.get("forbidden_actions"), f"`forbidden_actions` of {what}"),
        done_when=reader.texts(fields.get("done_when"), f"`done_when` of {what}"),
        contract=contract,
    )
    return brief, declare_output_facts(contract)


def _read_contract(reader: NodeReader, node: Node | None, what: str) -> Contract:
    if node is None:
        return Contract()
    fields = reader.fields(node, CONTRACT_KEYS, what)
    return Contract(
        artifacts=reader.texts(fields.get("artifacts"), f"`artifacts` of {what}"),
        min_confidence=_read_confidence(reader, fields.get("min_confidence"), what),
        no_blockers=reader.flag(fields.get("no_blockers"), f"`no_blockers` of {what}"),
        schema=_read_schema(reader, fields.get("schema"), what),
    )


def _read_confidence(reader: NodeReader, node: Node | None, what: str) -> float:
    if node is None:
        return 0.0
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    message = f"`min_confidence` of {what} must be a number from 0 to 1"
    reader.report_problem("wrong-type", node.place, message, "write it without quotes, such as 0.8")
    return 0.0


def _read_schema(reader: NodeReader, node: Node | None, what: str) -> Mapping[str, Value] | None:
    if node is None:
        return None
    schema = to_plain(node)
    if not isinstance(schema, dict):
        message = f"`schema` of {what} must be a mapping"
        reader.report_problem("wrong-type", node.place, message, "write a JSON Schema as YAML")
    elif fault := find_schema_problem(schema):
        message = f"`schema` of {what} is no JSON Schema: {fault}"
        reader.report_problem("bad-schema", node.place, message, "mend it; it may only refer to itself")
    else:
        return schema
    return None


def _read_edits(reader: NodeReader, node: Node | None, what: str) -> tuple[str, ...] | None:
    """Return the project files that may be changed in a state; None if `edits` is not given."""
    if node is None:
        return None
    globs = reader.scalars(node, f"`edits` of {what}")
    if [glob.text for glob in globs] == [NO_EDITS]:
        return ()
    for glob in globs:
        if is_unsafe_path(glob.text):
            named = quote_excerpt(glob.text)
            message = f"`edits` of {what} names {named}, which is no path below the project"
            repair = f"name files below it, such as `docs/**`, or write `{NO_EDITS}`"
            reader.report_problem("unsafe-path", glob.place, message, repair)
    return tuple(glob.text for glob in globs)


def _check_sub_workflow_state(reader: NodeReader, node: Node, what: str) -> None:
    """Check that a state which uses another workflow has no keys that the other workflow defines."""
    entries = node.entries if isinstance(node, Table) else ()
    keys = {entry.key.text: entry for entry in entries}
    used = reader.text(keys["workflow"].value, f"`workflow` of {what}", "another")
    for name in keys.keys() & set(_SUB_WORKFLOW_KEYS):
        message = f"{what} stands for the workflow `{used}`, where that is said"
        reader.report_problem("unfit-workflow", keys[name].key.place, message, f"drop `{name}`")


def read_variables(
    reader: NodeReader, node: Node | None, what: str, states: Mapping[str, State], lost: Iterable[str] = ()
) -> dict[str, Variable]:
    """Read the variables declared under a key; one of type `state` may hold the name of one of `states`."""
    declared = reader.read_named_entries(node, what, FIELD_PATTERN, lost)
    return {name: _read_variable(reader, key, value, what, states) for name, (key, value) in declared.items()}


def _read_variable(
    reader: NodeReader, key: Scalar, node: Node, what: str, states: Mapping[str, State]
) -> Variable:
    where = f"`{key.text}` of {what}"
    fields: dict[str, Node] = {"type": node}
    if isinstance(node, Table):
        fields = reader.fields(node, VARIABLE_KEYS, where)
    elif isinstance(node, NodeList):
        fields = {"choices": node}
    with reader.track_problems_at(key.place):
        type_, choices = _read_type_and_choices(reader, fields, where)
    about = reader.text(fields.get("about"), f"`about` of {where}")
    variable = Variable(key.text, type_, key.place, about, required=not type_.optional, choices=choices)
    if "default" not in fields:
        return variable
    default = read_value(reader, fields["default"], variable, states, f"the default of {where}")
    return replace(variable, default=default, required=variable.required and default is None)


def _read_type_and_choices(
    reader: NodeReader, fields: Mapping[str, Node], where: str
) -> tuple[Type, tuple[str, ...]]:
    """Return the type and the choices; any JSON value if they cannot be read."""
    before, node = len(reader.problems), fields.get("choices")
    if isinstance(node, NodeList) and not node.items:
        message = f"{where} has a list of choices with nothing in it"
        reader.report_problem("wrong-type", node.place, message, "name the texts it may be")
    choices = reader.texts(node, f"each of the choices of {where}")
    type_ = _read_type(reader, fields.get("type"), where)
    if choices and type_.kind is not Kind.STRING:
        message = f"{where} is of type {type_}, and only a string can have choices"
        reader.report_problem("wrong-type", fields["choices"].place, message, "drop `choices`, or `type`")
    unclear = len(reader.problems) > before and type_.kind is Kind.STRING
    return (Type(Kind.JSON, optional=True), ()) if unclear else (type_, choices)


def _read_type(reader: NodeReader, node: Node | None, where: str) -> Type:
    """Return the type; for a misspelt one the nearest, so that its uses cause no further problems."""
    word = reader.text(node, f"the type of {where}", Kind.STRING)
    name = word.removesuffix("?")
    if name not in _KIND_BY_NAME and node is not None:
        reader.report_unknown("type", word, node.place, _KIND_BY_NAME, f"{where} cannot be of type")
        name = next(iter(difflib.get_close_matches(name[:20], _KIND_BY_NAME, 1)), Kind.JSON)
        return Type(_KIND_BY_NAME[name], optional=True)
    return Type(_KIND_BY_NAME[name], optional=word.endswith("?"))


def _set_initial_values(reader: NodeReader, variables: Mapping[str, Variable]) -> dict[str, Variable]:
    """Give the variables their values at the start of a run. One that may not be null needs one."""
    initialised = {}
    for name, variable in variables.items():
        default = variable.default
        if default is None and not variable.type.optional:
            default = variable.choices[0] if variable.choices else _INITIAL_VALUES.get(variable.type.kind)
            if default is None:
                message = f"`{name}` of `vars` is of type {variable.type}, and has no value when a run starts"
                repair = f"write `{variable.type}?`, so that it is null at first, or give a `default`"
                reader.report_problem("missing-key", variable.place, message, repair)
        initialised[name] = replace(variable, default=default, required=False)
    return initialised


def read_value(
    reader: NodeReader, node: Node, variable: Variable, states: Mapping[str, State], what: str
) -> Value:
    """Return the value written for a variable, as guards see it. A value it may not hold is a problem."""
    value = to_plain(node)
    if isinstance(value, int) and not isinstance(value, bool) and variable.type.kind is Kind.FLOAT:
        value = float(str(value))
    state = as_text(node)
    if variable.type.kind is Kind.STATE and state is not None and state.text not in states:
        reader.report_unknown("state", state.text, state.place, states, f"{what}: no state is called")
    elif not is_allowed_value(value, variable, states):
        choices = ", ".join(f"`{choice}`" for choice in variable.choices)
        wanted = f"one of {choices}" if choices else f"of type {variable.type}"
        repair = "use one of these, or add it to the choices" if choices else "use a value of that type"
        reader.report_problem("wrong-value", node.place, f"{what} must be {wanted}", repair)
    return value
