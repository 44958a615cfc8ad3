"""What a step asks of the agent, read from a step or a state: task, actions, and the output's contract."""

from collections.abc import Mapping

from handrail.engine.contract import output_facts, schema_problem
from handrail.engine.facts import Fact, Value
from handrail.engine.model import Brief, Contract
from handrail.workflows.nodes import Node, Scalar, Table, plain
from handrail.workflows.outline import NO_EDITS
from handrail.workflows.reader import Reader, quoted, unsafe
from handrail.workflows.render import Placeholder, placeholders

BRIEF_KEYS = ("agent", "task", "inputs", "allowed_actions", "forbidden_actions", "done_when", "contract")
_SAID_THERE = (*BRIEF_KEYS, "attempts", "edits", "router", "terminal", "say")
CONTRACT_KEYS = ("artifacts", "min_confidence", "no_blockers", "schema")


def read_brief(
    reader: Reader, fields: Mapping[str, Node], key: Scalar, what: str
) -> tuple[Brief, dict[str, Fact]]:
    """The brief, and the facts that guards may read from the output it asks for."""
    missing = [f"`{name}`" for name in ("agent", "task") if name not in fields]
    if missing:
        message = f"{what} needs {' and '.join(missing)}"
        reader.problem("missing-key", key.place, message, "say who does what, or add `workflow:`")
    contract = _contract(reader, fields.get("contract"), f"`contract` of {what}")
    task = reader.text(fields.get("task"), f"`task` of {what}")
    brief = Brief(
        agent=reader.text(fields.get("agent"), f"`agent` of {what}"),
        task=task,
        names=tuple(found.name for found in placeholders(task) if isinstance(found, Placeholder)),
        inputs=reader.texts(fields.get("inputs"), f"`inputs` of {what}"),
        allowed_actions=reader.texts(fields.get("allowed_actions"), f"`allowed_actions` of {what}"),
        forbidden_actions=reader.texts(fields.get("forbidden_actions"), f"`forbidden_actions` of {what}"),
        done_when=reader.texts(fields.get("done_when"), f"`done_when` of {what}"),
        contract=contract,
    )
    return brief, output_facts(contract)


def read_edits(reader: Reader, node: Node | None, what: str) -> tuple[str, ...] | None:
    """The files of the project that may be changed in a state; None where nothing is said of it."""
    if node is None:
        return None
    globs = reader.scalars(node, f"`edits` of {what}")
    if [glob.text for glob in globs] == [NO_EDITS]:
        return ()
    for glob in globs:
        if unsafe(glob.text):
            message = f"`edits` of {what} names {quoted(glob.text)}, which is no path below the project"
            repair = f"name files below it, such as `docs/**`, or write `{NO_EDITS}`"
            reader.problem("unsafe-path", glob.place, message, repair)
    return tuple(glob.text for glob in globs)


def check_stand_in(reader: Reader, node: Node, what: str) -> None:
    """A state that stands for another workflow says nothing about what is done there, and how often."""
    entries = node.entries if isinstance(node, Table) else ()
    keys = {entry.key.text: entry for entry in entries}
    used = reader.text(keys["workflow"].value, f"`workflow` of {what}", "another")
    for name in keys.keys() & set(_SAID_THERE):
        message = f"{what} stands for the workflow `{used}`, where that is said"
        reader.problem("unfit-workflow", keys[name].key.place, message, f"drop `{name}`")


def _contract(reader: Reader, node: Node | None, what: str) -> Contract:
    if node is None:
        return Contract()
    fields = reader.fields(node, CONTRACT_KEYS, what)
    return Contract(
        artifacts=reader.texts(fields.get("artifacts"), f"`artifacts` of {what}"),
        min_confidence=_confidence(reader, fields.get("min_confidence"), what),
        no_blockers=reader.flag(fields.get("no_blockers"), f"`no_blockers` of {what}"),
        schema=_schema(reader, fields.get("schema"), what),
    )


def _confidence(reader: Reader, node: Node | None, what: str) -> float:
    if node is None:
        return 0.0
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    message = f"`min_confidence` of {what} must be a number from 0 to 1"
    reader.problem("wrong-type", node.place, message, "write it without quotes, such as 0.8")
    return 0.0


def _schema(reader: Reader, node: Node | None, what: str) -> Mapping[str, Value] | None:
    if node is None:
        return None
    schema = plain(node)
    if not isinstance(schema, dict):
        message = f"`schema` of {what} must be a mapping"
        reader.problem("wrong-type", node.place, message, "write a JSON Schema as YAML")
        return None
    fault = schema_problem(schema)
    if fault:
        message = f"`schema` of {what} is no JSON Schema: {fault}"
        reader.problem("bad-schema", node.place, message, "mend it; it may only refer to itself")
        return None
    return schema
