"""What a row sets: each variable with a value as written, or with a fact at the time of the move."""

from collections.abc import Iterator, Mapping

from handrail.engine.facts import Fact, fits
from handrail.engine.model import Assigned, Literal, Reference, State, Variable
from handrail.workflows.declared import DeclaredRow
from handrail.workflows.nodes import Node, Scalar, plain
from handrail.workflows.reader import Reader


def read_assigned(
    reader: Reader,
    row: DeclaredRow,
    variables: Mapping[str, Variable],
    states: Mapping[str, State],
    facts: Mapping[str, Fact],
) -> Iterator[tuple[str, Assigned]]:
    """The variables a row sets; `@name` is a fact, `@state` the state being left, anything else a value."""
    for name, (key, node) in row.set.items():
        what = f"`{name}` of row `{row.id}`"
        if name not in variables:
            reader.unknown("variable", name, key.place, variables, f"row `{row.id}`: no variable is called")
            continue
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value.startswith("@"):
            fact = _fact(reader, node, facts, what)
            if fact is not None and _same_type(reader, node, fact, variables[name], what):
                yield name, Reference(fact.name)
        else:
            yield name, _literal(reader, node, variables[name], states, what)


def _fact(reader: Reader, node: Scalar, facts: Mapping[str, Fact], what: str) -> Fact | None:
    name = node.text.removeprefix("@")
    found = facts.get(name) or facts.get(f"run.{name}")
    if found is None:
        reader.unknown("fact", name, node.place, facts, f"{what}: no fact is called")
    return found


def _same_type(reader: Reader, node: Scalar, fact: Fact, variable: Variable, what: str) -> bool:
    if fact.type.kind is variable.type.kind and (variable.type.optional or not fact.type.optional):
        return True
    message = f"{what} is a {variable.type}, and `{fact.name}` is a {fact.type}"
    reader.problem("wrong-value", node.place, message)
    return False


def _literal(
    reader: Reader, node: Node, variable: Variable, states: Mapping[str, State], what: str
) -> Literal:
    value = plain(node)
    if not fits(value, variable.type, states):
        message = f"{what} must be a {variable.type}"
        reader.problem(
            "wrong-value", node.place, message, "use a value of that type, or `null` where it may be"
        )
    return Literal(value)
