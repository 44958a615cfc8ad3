"""From nodes to declarations: every key known, every value of the right shape, every problem noted."""

from collections.abc import Collection, Mapping

from handrail.engine.model import Authority, State, Tool, Who
from handrail.engine.problems import Place
from handrail.workflows.briefs import BRIEF_KEYS, read_brief
from handrail.workflows.declared import Declared, DeclaredRow, DeclaredText, Ways
from handrail.workflows.nodes import Items, Node, Scalar, Table, plain
from handrail.workflows.reader import IDENTIFIER, Reader
from handrail.workflows.steps import expand
from handrail.workflows.variables import initialised, read_variables

TOP_KEYS = (
    "workflow",
    "version",
    "authority",
    "about",
    "inputs",
    "vars",
    "derive",
    "tools",
    "states",
    "transitions",
    "steps",
    "texts",
)
STATE_KEYS = ("about", "phase", "router", "terminal", "attempts", "workflow", "face", *BRIEF_KEYS)
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
)
TOOL_KEYS = ("about", "who", "reads", "params")
EVERYWHERE = "*"


def declare(reader: Reader, root: Node, beside: Mapping[str, tuple[str, str]]) -> Declared | None:
    """The declarations of a file; `beside` are the texts of files next to it, by name: file and content."""
    fields = reader.fields(root, TOP_KEYS, "a workflow", ("workflow", "version", "authority"))
    if not isinstance(root, Table):
        return None
    name = _name(reader, fields.get("workflow"))
    ways = _ways(reader, root, fields)
    authority = reader.one_of(fields.get("authority"), _words(Authority), "`authority`", Authority.SQL)
    derive = reader.scalars(fields.get("derive"), "`derive`")
    return Declared(
        place=root.place,
        name=name,
        version=reader.number(fields.get("version"), "`version`", 1, 1),
        authority=Authority(authority),
        about=reader.text(fields.get("about"), "`about`"),
        derive=derive[0] if derive else None,
        inputs=_variables(reader, fields.get("inputs"), "`inputs`"),
        vars=_initialised(reader, _variables(reader, fields.get("vars"), "`vars`")),
        states=ways.states,
        uses=ways.uses,
        tasks=ways.tasks,
        rows=ways.rows,
        tools=_tools(reader, fields.get("tools")),
        texts=_texts(reader, fields.get("texts"), beside),
    )


def _name(reader: Reader, node: Node | None) -> str:
    if isinstance(node, Scalar):
        reader.name(node, "`workflow`")
    return reader.text(node, "`workflow`", "unnamed")


def _words(words: type[Authority | Who]) -> dict[str, object]:
    return {str(word): word for word in words}


def _ways(reader: Reader, root: Table, fields: Mapping[str, Node]) -> Ways:
    """The states, the sub-workflows and the rows, from whichever of the two forms the file uses."""
    long_form = [name for name in ("states", "transitions") if name in fields]
    if "steps" in fields:
        if long_form:
            message = f"`steps` is the short form of `states` and `transitions`; `{long_form[0]}` is here too"
            reader.problem("both-forms", fields[long_form[0]].place, message, "use one of the two forms")
        return expand(reader, fields["steps"])
    if "states" not in fields:
        reader.problem("missing-key", root.place, "a workflow needs `states` or `steps`", "add one of them")
    named = reader.named(fields.get("states"), "`states`")
    states = {name: _state(reader, key, node) for name, (key, node) in named.items()}
    uses = {name: used for name, (_, node) in named.items() if (used := scalar_in(node, "workflow"))}
    tasks = {name: task for name, (_, node) in named.items() if (task := scalar_in(node, "task"))}
    rows = (_row(reader, item) for item in reader.items(fields.get("transitions"), "`transitions`"))
    return Ways(states, uses, tasks, tuple(row for row in rows if row is not None))


def _state(reader: Reader, key: Scalar, node: Node) -> State:
    what = f"state `{key.text}`"
    if isinstance(node, Scalar) and node.value is None:
        return State(key.text, key.place)
    fields = reader.fields(node, STATE_KEYS, what)
    face = reader.named(fields.get("face"), f"`face` of {what}")
    brief, outputs = read_brief(reader, fields, key, what) if "task" in fields else (None, {})
    reader.text(fields.get("workflow"), f"`workflow` of {what}")
    state = State(
        name=key.text,
        place=key.place,
        about=reader.text(fields.get("about"), f"`about` of {what}"),
        phase=reader.text(fields.get("phase"), f"`phase` of {what}"),
        router=reader.flag(fields.get("router"), f"`router` of {what}"),
        terminal=reader.flag(fields.get("terminal"), f"`terminal` of {what}"),
        attempts=reader.number(fields.get("attempts"), f"`attempts` of {what}", 1, 0),
        brief=brief,
        outputs=outputs,
        extra={name: plain(value) for name, (_, value) in face.items()},
    )
    if state.router and (state.terminal or state.brief):
        message = f"{what} is a router: nothing is done in it, and no run ends in it"
        reader.problem("router-shape", key.place, message, "drop `router`, or `terminal` and `task`")
    return state


def _row(reader: Reader, node: Node) -> DeclaredRow | None:
    fields = reader.fields(node, ROW_KEYS, "a transition", ("id", "from"))
    if not fields:
        return None
    name = reader.text(fields.get("id"), "`id`", "unnamed")
    what = f"row `{name}`"
    sources = reader.scalars(fields.get("from"), f"`from` of {what}")
    everywhere = any(source.value == EVERYWHERE for source in sources)
    if "except" in fields and not everywhere:
        message = f'`except` of {what} goes with `from: "*"`'
        reader.problem("except-without-star", fields["except"].place, message, "drop it, or use the star")
    return DeclaredRow(
        id=name,
        place=fields["id"].place if "id" in fields else node.place,
        sources=None if everywhere else tuple(sources),
        excepted=tuple(reader.scalars(fields.get("except"), f"`except` of {what}")),
        trigger=_single(reader, fields, "trigger", what),
        when=tuple(reader.scalars(fields.get("when"), f"`when` of {what}")),
        accept=tuple(reader.scalars(fields.get("accept"), f"`accept` of {what}")),
        drafts=reader.named(fields.get("draft"), f"`draft` of {what}"),
        to=_single(reader, fields, "to", what),
        set=reader.named(fields.get("set"), f"`set` of {what}"),
        do=reader.items(fields.get("do"), f"`do` of {what}"),
        say=_single(reader, fields, "say", what),
        refuse=_single(reader, fields, "refuse", what),
    )


def _single(reader: Reader, fields: Mapping[str, Node], key: str, what: str) -> Scalar | None:
    reader.text(fields.get(key), f"`{key}` of {what}")
    return as_scalar(fields.get(key))


def _tools(reader: Reader, node: Node | None) -> dict[str, Tool]:
    return {name: _tool(reader, *entry) for name, entry in reader.named(node, "`tools`").items()}


def _tool(reader: Reader, key: Scalar, node: Node) -> Tool:
    what = f"tool `{key.text}`"
    fields = reader.fields(node, TOOL_KEYS, what)
    return Tool(
        name=key.text,
        place=key.place,
        about=reader.text(fields.get("about"), f"`about` of {what}"),
        who=Who(reader.one_of(fields.get("who"), _words(Who), f"`who` of {what}", Who.AGENT)),
        reads=reader.flag(fields.get("reads"), f"`reads` of {what}"),
        params=_variables(reader, fields.get("params"), f"`params` of {what}"),
    )


def _texts(
    reader: Reader, node: Node | None, beside: Mapping[str, tuple[str, str]]
) -> dict[str, DeclaredText]:
    found = {
        name: DeclaredText(name, Place(file, 1, 1), {"text": (content, None)})
        for name, (file, content) in beside.items()
    }
    for name, (key, value) in reader.named(node, "`texts`").items():
        if name in found:
            message = f"text `{name}` is also a file beside the workflow, {found[name].place.file}"
            reader.problem("duplicate-text", key.place, message, "keep one of them")
        what = f"text `{name}`"
        parts = reader.named(value, what) if isinstance(value, Table) else {"text": (key, value)}
        found[name] = DeclaredText(
            name, key.place, {part: _part(reader, item, what) for part, (_, item) in parts.items()}
        )
    return found


def _part(reader: Reader, node: Node, what: str) -> tuple[str, Scalar | None]:
    return reader.text(node, what), node if isinstance(node, Scalar) else None
