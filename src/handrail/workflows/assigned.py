"""What a row sets: each variable with a value as written, or with a fact at the time of the move."""

from collections.abc import Iterator, Mapping

from handrail.engine.facts import Fact, Kind, fits
from handrail.engine.model import Assigned, Literal, Reference, State, Variable
from handrail.workflows.declared import DeclaredRow
from handrail.workflows.nodes import Node, Scalar, plain
from handrail.workflows.reader import Reader, as_text
from handrail.workflows.variables import as_typed


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
            yield name, _literal(reader, node, variables[name], states, what)


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
        message = f"{what} is one of {_listed(variable)}, and `{fact.name}` can be something else"
        reader.problem("wrong-value", node.place, message, "give both the same choices")
        return False
    return True


def _literal(
    reader: Reader, node: Node, variable: Variable, states: Mapping[str, State], what: str
) -> Literal:
    value = as_typed(plain(node), variable.type)
    state = as_text(node)
    if variable.type.kind is Kind.STATE and state is not None and state.text not in states:
        reader.unknown("state", state.text, state.place, states, f"{what}: no state is called")
    elif not fits(value, variable.type, states):
        repair = "use a value of that type" + (", or null" if variable.type.optional else "")
        reader.problem("wrong-value", node.place, f"{what} must be of type {variable.type}", repair)
    elif variable.choices and value is not None and value not in variable.choices:
        message = f"{what} must be one of {_listed(variable)}"
        reader.problem("wrong-value", node.place, message, "use one of these, or add it to the choices")
    return Literal(value)


def _listed(variable: Variable) -> str:
    return ", ".join(f"`{choice}`" for choice in variable.choices)
