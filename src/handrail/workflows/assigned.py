"""What a row sets: each variable with a value as written, or with a fact at the time of the move."""

from collections.abc import Iterator, Mapping

from handrail.engine.facts import Fact, Kind
from handrail.engine.model import Assigned, Literal, Reference, State, Variable
from handrail.workflows.declared import DeclaredRow
from handrail.workflows.nodes import Scalar
from handrail.workflows.reader import Reader, as_text
from handrail.workflows.variables import read_value


def read_assigned(
    reader: Reader,
    row: DeclaredRow,
    variables: Mapping[str, Variable],
    states: Mapping[str, State],
    facts: Mapping[str, Fact],
) -> Iterator[tuple[str, Assigned]]:
    """The variables a row sets; `@name` is a fact, `@state` the state being left, anything else a value."""
    for name, (key, node) in row.set.items():
        what = f"`{name}` of {row.what}"
        if name not in variables:
            reader.unknown("variable", name, key.place, variables, f"{row.what}: no variable is called")
            continue
        reference = as_text(node)
        if reference is not None and reference.text.startswith("@"):
            fact = _fact(reader, reference, facts, what)
            if fact is not None and _fits(reader, reference, fact, variables[name], what):
                yield name, Reference(fact.name)
        else:
            yield name, Literal(read_value(reader, node, variables[name], states, what))


def _fact(reader: Reader, node: Scalar, facts: Mapping[str, Fact], what: str) -> Fact | None:
    name = node.text.removeprefix("@")
    found = facts.get(name) or facts.get(f"run.{name}")
    if found is None:
        reader.unknown("fact", name, node.place, facts, f"{what}: no fact is called")
    return found


def _fits(reader: Reader, node: Scalar, fact: Fact, variable: Variable, what: str) -> bool:
    same = variable.type.kind in {fact.type.kind, Kind.JSON}
    if not same or (fact.type.optional and not variable.type.optional):
        message = f"{what} is of type {variable.type}, and `{fact.name}` of type {fact.type}"
        reader.problem("wrong-value", node.place, message, "set it to a fact of its own type")
        return False
    if variable.choices and not (fact.closed and {*fact.domain} <= {*variable.choices, None}):
        choices = ", ".join(f"`{choice}`" for choice in variable.choices)
        message = f"{what} is one of {choices}, and `{fact.name}` can be something else"
        reader.problem("wrong-value", node.place, message, "give both the same choices")
        return False
    return True
