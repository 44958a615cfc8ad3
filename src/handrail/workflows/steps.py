"""The short form: a list of steps becomes states and `continue` rows, so the engine knows one form only."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import State
from handrail.workflows.briefs import BRIEF_KEYS, check_stand_in, read_brief, read_edits
from handrail.workflows.declared import DeclaredRow, Ways
from handrail.workflows.nodes import Items, Node, Scalar
from handrail.workflows.reader import Reader, as_text

END = "@end"
"""The state every list of steps ends in; no author can give a state this name."""

STEP_KEYS = ("name", "about", "phase", "attempts", "next", "workflow", "edits", *BRIEF_KEYS)
NEXT_KEYS = ("when", "accept", "to", "say")


def expand(reader: Reader, node: Node) -> Ways:
    """The states, the sub-workflows and the rows that a list of steps stands for."""
    items = reader.items(node, "`steps`")
    if isinstance(node, Items) and not items:
        reader.problem("no-states", node.place, "`steps` holds no step", "add one")
    steps = [step for item in items if (step := _step(reader, item)) is not None]
    states: dict[str, State] = {}
    rows: list[DeclaredRow] = []
    followers = [key for key, _, _ in steps[1:]] + [_end(node)]
    for (key, state, fields), follower in zip(steps, followers, strict=False):
        leaving = _rows(reader, key, fields, follower)
        if key.text in states:
            message = f"step `{key.text}` is there already, on line {states[key.text].place.line}"
            reader.problem("duplicate-state", key.place, message, "give it another name")
            leaving = [replace(row, id="") for row in leaving]
        states.setdefault(key.text, state)
        rows += leaving
    if states:
        states[END] = State(END, node.place, terminal=True)
    uses = {key.text: used for key, _, fields in steps if (used := as_text(fields.get("workflow")))}
    tasks = [(key.text, task) for key, _, fields in steps if (task := as_text(fields.get("task")))]
    return Ways(states, uses, tuple(tasks), tuple(rows))


def _end(node: Node) -> Scalar:
    return Scalar(END, node.place, END, node.place)


def _step(reader: Reader, node: Node) -> tuple[Scalar, State, Mapping[str, Node]] | None:
    fields = reader.fields(node, STEP_KEYS, "a step", ("name",))
    key = reader.single(fields.get("name"), "`name` of a step")
    if key is None:
        return None
    reader.name(key, "`steps`")
    with reader.reading(key.place):
        return key, _state(reader, key, node, fields), fields


def _state(reader: Reader, key: Scalar, node: Node, fields: Mapping[str, Node]) -> State:
    what = f"step `{key.text}`"
    stands_for = "workflow" in fields
    brief, outputs = (None, {}) if stands_for else read_brief(reader, fields, key, what)
    if stands_for:
        check_stand_in(reader, node, what)
    return State(
        name=key.text,
        place=key.place,
        about=reader.text(fields.get("about"), f"`about` of {what}"),
        phase=reader.text(fields.get("phase"), f"`phase` of {what}"),
        attempts=reader.number(fields.get("attempts"), f"`attempts` of {what}", 1, 0),
        brief=brief,
        outputs=outputs,
        edits=read_edits(reader, fields.get("edits"), what),
    )


def _rows(reader: Reader, key: Scalar, fields: Mapping[str, Node], follower: Scalar) -> Sequence[DeclaredRow]:
    """The rows that leave a step: those of its `next`, or one to the step that follows."""
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
                to=reader.single(row.get("to"), f"`to` of {what}") or follower,
                say=reader.single(row.get("say"), f"`say` of {what}"),
            )
        )
    return rows
