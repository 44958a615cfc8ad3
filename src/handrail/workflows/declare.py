"""From nodes to declarations: every key known, every value of the right shape, every problem noted."""

from collections.abc import Collection, Mapping

from handrail.engine.facts import Value
from handrail.engine.known import EVENT_FACTS
from handrail.engine.lifecycle import CONTINUE, RESERVED
from handrail.engine.model import NAME, STATE_FILES, Authority, State, Tool, Variable, Who
from handrail.engine.problems import Place
from handrail.workflows.briefs import BRIEF_KEYS, check_stand_in, read_brief, read_edits
from handrail.workflows.declared import Declared, DeclaredPrompt, DeclaredRow, DeclaredText, Ways
from handrail.workflows.nodes import Items, Node, Scalar, Table, plain
from handrail.workflows.reader import FIELD, ROOT, Reader, as_text, quoted, unsafe
from handrail.workflows.steps import expand
from handrail.workflows.variables import initialised, read_variables

TOP_KEYS = (
    "workflow",
    "version",
    "authority",
    "folder",
    "state_file",
    "about",
    "inputs",
    "vars",
    "derive",
    "tools",
    "states",
    "transitions",
    "steps",
    "prompts",
    "texts",
)
STATE_KEYS = (
    *("about", "phase", "router", "terminal", "attempts", "workflow", "say", "edits", "face"),
    *BRIEF_KEYS,
)
ROW_KEYS = (
    "id",
    "from",
    "except",
    "trigger",
    "when",
    "accept",
    "draft",
    "to",
    "set",
    "do",
    "say",
    "refuse",
    "only_says",
)
TOOL_KEYS = ("about", "who", "reads", "params", "face")
PROMPT_KEYS = ("about", "say")
EVERYWHERE = "*"


def declare(reader: Reader, root: Node, beside: Mapping[str, tuple[str, str]]) -> Declared | None:
    """The declarations of a file; `beside` are the texts of files next to it, by name: file and content."""
    fields = reader.fields(root, TOP_KEYS, "a workflow", ("workflow", "version", "authority"))
    if not isinstance(root, Table):
        return None
    name = reader.single(fields.get("workflow"), "`workflow`")
    if name is not None:
        reader.name(name, "`workflow`")
    ways = _ways(reader, root, fields)
    authority = reader.one_of(fields.get("authority"), _words(Authority), "`authority`", "")
    return Declared(
        place=name.place if name else root.place,
        name=name.text if name else "",
        version=reader.number(fields.get("version"), "`version`", 1, 1),
        authority=Authority(authority) if authority else None,
        folder=_folder(reader, fields.get("folder"), authority),
        state_file=_state_file(reader, fields.get("state_file"), fields.get("folder")),
        about=reader.text(fields.get("about"), "`about`"),
        derive=_derive(reader, fields),
        inputs=read_variables(reader, fields.get("inputs"), "`inputs`", ways.states, ["run.inputs."]),
        vars=_vars(reader, fields.get("vars"), ways.states),
        states=ways.states,
        uses=ways.uses,
        tasks=ways.tasks,
        says=ways.says,
        rows=ways.rows,
        tools=_tools(reader, fields.get("tools"), ways.states),
        prompts=_prompts(reader, fields.get("prompts")),
        texts=_texts(reader, fields.get("texts"), beside),
    )


def _vars(reader: Reader, node: Node | None, states: Mapping[str, State]) -> dict[str, Variable]:
    return initialised(reader, read_variables(reader, node, "`vars`", states, ["run.vars.", "variable"]))


def _words(words: type[Authority | Who]) -> dict[str, object]:
    return {str(word): word for word in words}


def _folder(reader: Reader, node: Node | None, authority: object) -> str:
    """Where the files of a run lie, below the project."""
    folder = reader.single(node, "`folder`")
    if folder is None:
        return ""
    if authority not in {"", str(Authority.FILES)}:
        message = f"`folder` needs `authority: files`, this workflow has {authority}"
        reader.problem("wrong-authority", folder.place, message, "drop it, or change `authority`")
    above, _, last = folder.text.rpartition("/")
    fixed = above if above and last == NAME else folder.text
    if unsafe(fixed) or "{" in fixed:
        message = f"`folder`: {quoted(folder.text)} is no path below the project"
        repair = f"write it relative, without `..`; only the last part may be `{NAME}`"
        reader.problem("unsafe-path", folder.place, message, repair)
    return folder.text


def _state_file(reader: Reader, node: Node | None, folder: Node | None) -> str:
    """The file that tells how a run stands, in its folder."""
    if node is not None and folder is None:
        message = "`state_file` is a file in the folder of a run, and there is no `folder`"
        reader.problem("missing-key", node.place, message, "add `folder`, or drop it")
    known: dict[str, object] = {name: name for name in STATE_FILES}
    return str(reader.one_of(node, known, "`state_file`", STATE_FILES[0]))


def _derive(reader: Reader, fields: Mapping[str, Node]) -> Scalar | None:
    derive = reader.single(fields.get("derive"), "`derive`")
    if derive is None or "steps" not in fields:
        return derive
    message = "steps follow each other, so their state cannot be derived"
    reader.problem(
        "derived-target", derive.place, message, "drop `derive`, or write `states` and `transitions`"
    )
    return None


def _ways(reader: Reader, root: Table, fields: Mapping[str, Node]) -> Ways:
    """The states, the sub-workflows and the rows, from whichever of the two forms the file uses."""
    if "steps" in fields:
        for entry in root.entries:
            if entry.key.text in {"states", "transitions"}:
                message = f"`steps` stands for `states` and `transitions`, and `{entry.key.text}` is here too"
                reader.problem("both-forms", entry.key.place, message, "use one of the two forms")
        return expand(reader, fields["steps"])
    named = reader.named(fields.get("states"), "`states`")
    if not named:
        reader.lose(["state"])
    if "states" not in fields:
        reader.problem("missing-key", root.place, "a workflow needs `states` or `steps`", "add one of them")
    elif isinstance(fields["states"], Table) and not named:
        reader.problem("no-states", fields["states"].place, "the workflow has no state", "declare one")
    states = {name: _state(reader, key, node) for name, (key, node) in named.items()}
    tables = {name: node for name, (_, node) in named.items() if isinstance(node, Table)}
    uses = {name: used for name, table in tables.items() if (used := as_text(table.get("workflow")))}
    tasks = [(name, task) for name, table in tables.items() if (task := as_text(table.get("task")))]
    says = [(name, say) for name, table in tables.items() if (say := as_text(table.get("say")))]
    rows = (_row(reader, item) for item in reader.items(fields.get("transitions"), "`transitions`"))
    return Ways(states, uses, tuple(tasks), tuple(row for row in rows if row is not None), tuple(says))


def _state(reader: Reader, key: Scalar, node: Node) -> State:
    what = f"state `{key.text}`"
    if isinstance(node, Scalar) and node.value is None:
        return State(key.text, key.place)
    with reader.reading(key.place):
        return _described(reader, key, node, what)


def _described(reader: Reader, key: Scalar, node: Node, what: str) -> State:
    fields = reader.fields(node, STATE_KEYS, what)
    stands_for = "workflow" in fields
    asks = any(name in fields for name in BRIEF_KEYS) and not stands_for
    brief, outputs = read_brief(reader, fields, key, what) if asks else (None, {})
    state = State(
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
        edits=read_edits(reader, fields.get("edits"), what),
        extra=_extra(reader, fields.get("face"), what),
    )
    if stands_for:
        check_stand_in(reader, node, what)
    else:
        _check_stay(reader, state, what)
    return state


def _check_stay(reader: Reader, state: State, what: str) -> None:
    """Nobody works in a router, and nobody in a state where the run has ended."""
    works = state.brief is not None or state.attempts > 0 or state.edits is not None
    if state.router and (state.terminal or works):
        message = f"{what} is a router: it is left at once, so nothing is done in it and no run ends in it"
        repair = "drop `router`, or else `terminal`, `attempts`, `edits`, `agent` and `task`"
        reader.problem("router-shape", state.place, message, repair)
    elif state.terminal and works:
        message = f"{what} is terminal: the run has ended there, so nothing is done in it"
        reader.problem(
            "terminal-shape",
            state.place,
            message,
            "drop `terminal`, or `attempts`, `edits`, `agent` and `task`",
        )


def _row(reader: Reader, node: Node) -> DeclaredRow | None:
    fields = reader.fields(node, ROW_KEYS, "a transition", ("id", "from"))
    if not fields:
        return None
    key = reader.single(fields.get("id"), "`id` of a transition")
    if key is not None:
        reader.name(key, "`id`")
    what = f"row `{key.text}`" if key else f"the row on line {node.place.line}"
    place = key.place if key else node.place
    with reader.reading(place):
        return _read_row(reader, fields, key.text if key else "", what, place)


def _read_row(reader: Reader, fields: Mapping[str, Node], name: str, what: str, place: Place) -> DeclaredRow:
    sources = reader.scalars(fields.get("from"), f"`from` of {what}")
    everywhere = any(source.text == EVERYWHERE for source in sources)
    _check_from(reader, fields, sources, what)
    return DeclaredRow(
        id=name,
        what=what,
        place=place,
        sources=None if everywhere else sources,
        excepted=reader.scalars(fields.get("except"), f"`except` of {what}"),
        trigger=reader.single(fields.get("trigger"), f"`trigger` of {what}"),
        when=reader.scalars(fields.get("when"), f"`when` of {what}"),
        accept=reader.scalars(fields.get("accept"), f"`accept` of {what}"),
        drafts=reader.named(fields.get("draft"), f"`draft` of {what}", ROOT),
        to=reader.single(fields.get("to"), f"`to` of {what}"),
        set=reader.named(fields.get("set"), f"`set` of {what}", FIELD),
        do=reader.items(fields.get("do"), f"`do` of {what}"),
        say=reader.single(fields.get("say"), f"`say` of {what}"),
        refuse=reader.single(fields.get("refuse"), f"`refuse` of {what}"),
        only_says=reader.flag(fields.get("only_says"), f"`only_says` of {what}"),
    )


def _check_from(reader: Reader, fields: Mapping[str, Node], sources: Collection[Scalar], what: str) -> None:
    node, star = fields.get("from"), next((s for s in sources if s.text == EVERYWHERE), None)
    if isinstance(node, Items) and not node.items:
        reader.problem("no-source", node.place, f"{what} leaves no state", "name one, or several")
    if star is not None and len(sources) > 1:
        message = f"`from` of {what}: `*` stands for every state, so nothing can stand beside it"
        reader.problem("wrong-type", star.place, message, "drop the star, or the rest")
    if "except" in fields and sources and star is None:
        message = f'`except` of {what} goes with `from: "*"` only'
        reader.problem("except-without-star", fields["except"].place, message, "drop it, or use the star")


def _tools(reader: Reader, node: Node | None, states: Mapping[str, State]) -> dict[str, Tool]:
    declared = reader.named(node, "`tools`", lost=["event."])
    return {name: _tool(reader, *entry, states) for name, entry in declared.items()}


def _tool(reader: Reader, key: Scalar, node: Node, states: Mapping[str, State]) -> Tool:
    what = f"tool `{key.text}`"
    if key.text in {*RESERVED, CONTINUE}:
        message = f"no tool can be called `{key.text}`: every run knows this word already"
        reader.problem("reserved-trigger", key.place, message, "choose another word")
    with reader.reading(key.place):
        fields = reader.fields(node, TOOL_KEYS, what)
        params = read_variables(reader, fields.get("params"), f"`params` of {what}", states)
        extra = _extra(reader, fields.get("face"), what)
    for param in params.values():
        if f"event.{param.name}" in {fact.name for fact in EVENT_FACTS}:
            message = f"`{param.name}` cannot be one of the `params` of {what}: every event has it already"
            reader.problem("bad-name", param.place, message, "choose another word")
    return Tool(
        name=key.text,
        place=key.place,
        about=reader.text(fields.get("about"), f"`about` of {what}"),
        who=Who(reader.one_of(fields.get("who"), _words(Who), f"`who` of {what}", Who.AGENT)),
        reads=reader.flag(fields.get("reads"), f"`reads` of {what}"),
        params=params,
        extra=extra,
    )


def _extra(reader: Reader, node: Node | None, what: str) -> dict[str, Value]:
    """What a face reads, as the author wrote it."""
    return {name: plain(value) for name, (_, value) in reader.named(node, f"`face` of {what}").items()}


def _prompts(reader: Reader, node: Node | None) -> tuple[DeclaredPrompt, ...]:
    return tuple(_prompt(reader, *entry) for entry in reader.named(node, "`prompts`").values())


def _prompt(reader: Reader, key: Scalar, node: Node) -> DeclaredPrompt:
    what = f"prompt `{key.text}`"
    with reader.reading(key.place):
        fields = reader.fields(node, PROMPT_KEYS, what, PROMPT_KEYS)
    about = reader.text(fields.get("about"), f"`about` of {what}")
    return DeclaredPrompt(key, what, about, reader.single(fields.get("say"), f"`say` of {what}"))


def _texts(
    reader: Reader, node: Node | None, beside: Mapping[str, tuple[str, str]]
) -> dict[str, DeclaredText]:
    found = {
        name: DeclaredText(name, f"text `{name}`", Place(file, 1, 1), {"text": (content, None)})
        for name, (file, content) in beside.items()
    }
    for name, (key, value) in reader.named(node, "`texts`", lost=["text"]).items():
        what = f"text `{name}`"
        if name in found:
            message = f"{what} is also a file beside the workflow, {found[name].place.file}"
            reader.problem("duplicate-text", key.place, message, "keep one of them")
        if isinstance(value, Table) and not value.entries:
            reader.problem("wrong-type", value.place, f"{what} has no part", "write it, or at least one part")
        if isinstance(value, Table):
            named = reader.named(value, f"the parts of {what}")
            parts = {part: _part(reader, item, f"`{part}` of {what}") for part, (_, item) in named.items()}
        else:
            parts = {"text": _part(reader, value, what)}
        found[name] = DeclaredText(name, what, key.place, parts)
    return found


def _part(reader: Reader, node: Node, what: str) -> tuple[str, Scalar | None]:
    scalar = reader.single(node, what)
    return scalar.text if scalar else "", scalar
