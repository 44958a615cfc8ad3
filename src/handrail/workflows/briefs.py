"""What a step asks of the agent, read from a step or a state: task, actions, and the output's contract."""

from collections.abc import Mapping

from handrail.engine.contract import output_facts, schema_problem
from handrail.engine.facts import Fact, Value
from handrail.engine.model import Brief, Contract
from handrail.workflows.nodes import Node, Scalar, plain
from handrail.workflows.reader import Reader

BRIEF_KEYS = ("agent", "task", "inputs", "allowed_actions", "forbidden_actions", "done_when", "contract")
CONTRACT_KEYS = ("artifacts", "min_confidence", "no_blockers", "schema")


def read_brief(
    reader: Reader, fields: Mapping[str, Node], key: Scalar, what: str
) -> tuple[Brief, dict[str, Fact]]:
    """The brief, and the facts that guards may read from the output it asks for."""
    for name in ("agent", "task"):
        if name not in fields:
            reader.problem("missing-key", key.place, f"{what} needs the key `{name}`", f"add `{name}:`")
    contract = _contract(reader, fields.get("contract"), f"`contract` of {what}")
    brief = Brief(
        agent=reader.text(fields.get("agent"), f"`agent` of {what}"),
        task=reader.text(fields.get("task"), f"`task` of {what}"),
        inputs=reader.texts(fields.get("inputs"), f"`inputs` of {what}"),
        allowed_actions=reader.texts(fields.get("allowed_actions"), f"`allowed_actions` of {what}"),
        forbidden_actions=reader.texts(fields.get("forbidden_actions"), f"`forbidden_actions` of {what}"),
        done_when=reader.texts(fields.get("done_when"), f"`done_when` of {what}"),
        contract=contract,
    )
    return brief, output_facts(contract)


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
    value = plain(node) if node is not None else 0
    if node is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        value = -1
    if isinstance(value, (int, float)) and 0 <= value <= 1:
        return float(value)
    if node is not None:
        message = f"`min_confidence` of {what} must be a number from 0 to 1"
        reader.problem("wrong-type", node.place, message)
    return 0.0


def _schema(reader: Reader, node: Node | None, what: str) -> Mapping[str, Value] | None:
    if node is None:
        return None
    schema = plain(node)
    if not isinstance(schema, dict):
        reader.problem("wrong-type", node.place, f"`schema` of {what} must be a mapping")
        return None
    fault = schema_problem(schema)
    if fault:
        reader.problem("bad-schema", node.place, f"`schema` of {what} is no JSON Schema: {fault}")
        return None
    return schema
