"""The short form: a list of steps becomes states and `continue` rows, so the engine knows one form only."""

from collections.abc import Mapping, Sequence

from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import State
from handrail.workflows.briefs import BRIEF_KEYS, read_brief
from handrail.workflows.declared import DeclaredRow, Ways
from handrail.workflows.nodes import Node, Scalar
from handrail.workflows.reader import Reader, as_scalar

END = "@end"
"""The state every list of steps ends in; no author can give a state this name."""

STEP_KEYS = ("name", "about", "phase", "attempts", "next", "workflow", *BRIEF_KEYS)
NEXT_KEYS = ("when", "accept", "to", "say")


def expand(reader: Reader, node: Node) -> Ways:
    """The states, the sub-workflows and the rows that a list of steps stands for."""
    read = [_step(reader, item) for item in reader.items(node, "`steps`")]
    steps = [entry for entry in read if entry is not None]
    states: dict[str, State] = {}
    rows: list[DeclaredRow] = []
    followers = [key for key, _, _ in steps[1:]] + [_end(node)]
    for (key, state, fields), follower in zip(steps, followers, strict=True):
        if key.text in states:
            first = states[key.text].place.line
            message = f"step `{key.text}` is there already, on line {first}"
            reader.problem("duplicate-state", key.place, message, "give it another name")
        states[key.text] = state
        reader.text(fields.get("workflow"), f"`workflow` of step `{key.text}`")
        rows += _rows(reader, key, fields, follower)
    if not steps:
        reader.problem("no-states", node.place, "`steps` holds no step", "add one")
    states[END] = State(END, node.place, terminal=True)
    uses = {key.text: used for key, _, fields in steps if (used := as_scalar(fields.get("workflow")))}
    tasks = {key.text: task for key, _, fields in steps if (task := as_scalar(fields.get("task")))}
    return Ways(states, uses, tasks, tuple(rows))


def _end(node: Node) -> Scalar:
    return Scalar(END, node.place, END, node.place)


def _step(reader: Reader, node: Node) -> tuple[Scalar, State, Mapping[str, Node]] | None:
    fields = reader.fields(node, STEP_KEYS, "a step", ("name",))
    key = fields.get("name")
    if not isinstance(key, Scalar):
        return None
    reader.name(key, "`steps`")
    what = f"step `{key.text}`"
    brief, outputs = (None, {}) if "workflow" in fields else read_brief(reader, fields, key, what)
    state = State(
        name=key.text,
        place=key.place,
        about=reader.text(fields.get("about"), f"`about` of {what}"),
        phase=reader.text(fields.get("phase"), f"`phase` of {what}"),
        attempts=reader.number(fields.get("attempts"), f"`attempts` of {what}", 1, 0),
        brief=brief,
        outputs=outputs,
    )
    return key, state, fields


def _rows(reader: Reader, key: Scalar, fields: Mapping[str, Node], follower: Scalar) -> Sequence[DeclaredRow]:
    """The rows that leave a step: those of its `next`, or one to the step that follows."""
    trigger = None if "workflow" in fields else Scalar(CONTINUE, key.place, CONTINUE, key.place)
    if "next" not in fields:
        return (DeclaredRow(f"{key.text}.1", key.place, (key,), trigger=trigger, to=follower),)
    rows = []
    for number, item in enumerate(reader.items(fields["next"], f"`next` of step `{key.text}`"), start=1):
        what = f"row {number} of `next` of step `{key.text}`"
        row = reader.fields(item, NEXT_KEYS, what)
        to = reader.scalars(row.get("to"), f"`to` of {what}")
        say = reader.scalars(row.get("say"), f"`say` of {what}")
        rows.append(
            DeclaredRow(
                id=f"{key.text}.{number}",
                place=item.place,
                sources=(key,),
                trigger=trigger,
                when=tuple(reader.scalars(row.get("when"), f"`when` of {what}")),
                accept=tuple(reader.scalars(row.get("accept"), f"`accept` of {what}")),
                to=to[0] if to else follower,
                say=say[0] if say else None,
            )
        )
    return rows
