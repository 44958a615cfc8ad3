"""Variables, inputs and parameters: what each may hold, and what it holds at first."""

import difflib
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from handrail.engine.facts import Kind, Type, Value
from handrail.engine.known import suits
from handrail.engine.model import State, Variable
from handrail.workflows.nodes import Items, Node, Scalar, Table, plain
from handrail.workflows.reader import FIELD, Reader, as_text

VARIABLE_KEYS = ("type", "about", "default", "choices")
_KINDS = {str(kind): kind for kind in Kind}
_ZERO: Mapping[Kind, Value] = {
    Kind.BOOL: False,
    Kind.INT: 0,
    Kind.FLOAT: 0.0,
    Kind.STRING: "",
    Kind.STRINGS: [],
}


def read_variables(
    reader: Reader, node: Node | None, what: str, states: Mapping[str, State], lost: Iterable[str] = ()
) -> dict[str, Variable]:
    """The variables declared under a key; one of type `state` may hold the name of one of `states`."""
    declared = reader.named(node, what, FIELD, lost)
    return {name: _variable(reader, key, value, what, states) for name, (key, value) in declared.items()}


def initialised(reader: Reader, variables: Mapping[str, Variable]) -> dict[str, Variable]:
    """The variables with the value each has when a run starts; one that may not be null needs one."""
    found = {}
    for name, variable in variables.items():
        default = variable.default
        if default is None and not variable.type.optional:
            default = variable.choices[0] if variable.choices else _ZERO.get(variable.type.kind)
            if default is None:
                message = f"`{name}` of `vars` is of type {variable.type}, and has no value when a run starts"
                repair = f"write `{variable.type}?`, so that it is null at first, or give a `default`"
                reader.problem("missing-key", variable.place, message, repair)
        found[name] = replace(variable, default=default, required=False)
    return found


def _variable(reader: Reader, key: Scalar, node: Node, what: str, states: Mapping[str, State]) -> Variable:
    where = f"`{key.text}` of {what}"
    fields: dict[str, Node] = {"type": node}
    if isinstance(node, Table):
        fields = reader.fields(node, VARIABLE_KEYS, where)
    elif isinstance(node, Items):
        fields = {"choices": node}
    with reader.reading(key.place):
        kind, choices = _holds(reader, fields, where)
    about = reader.text(fields.get("about"), f"`about` of {where}")
    variable = Variable(key.text, kind, key.place, about, required=not kind.optional, choices=choices)
    if "default" not in fields:
        return variable
    default = read_value(reader, fields["default"], variable, states, f"the default of {where}")
    return replace(variable, default=default, required=variable.required and default is None)


def read_value(
    reader: Reader, node: Node, variable: Variable, states: Mapping[str, State], what: str
) -> Value:
    """The value written for a variable, as guards see it; one that it may not hold is a problem."""
    value = plain(node)
    if isinstance(value, int) and not isinstance(value, bool) and variable.type.kind is Kind.FLOAT:
        value = float(str(value))
    state = as_text(node)
    if variable.type.kind is Kind.STATE and state is not None and state.text not in states:
        reader.unknown("state", state.text, state.place, states, f"{what}: no state is called")
    elif not suits(value, variable, states):
        choices = ", ".join(f"`{choice}`" for choice in variable.choices)
        wanted = f"one of {choices}" if choices else f"of type {variable.type}"
        repair = "use one of these, or add it to the choices" if choices else "use a value of that type"
        reader.problem("wrong-value", node.place, f"{what} must be {wanted}", repair)
    return value


def _holds(reader: Reader, fields: Mapping[str, Node], where: str) -> tuple[Type, tuple[str, ...]]:
    """The type and the choices; anything at all if they cannot be read."""
    before = len(reader.problems)
    choices = _choices(reader, fields.get("choices"), where)
    kind = _type(reader, fields.get("type"), where)
    if choices and kind.kind is not Kind.STRING:
        message = f"{where} is of type {kind}, and only a string can have choices"
        reader.problem("wrong-type", fields["choices"].place, message, "drop `choices`, or `type`")
    unclear = len(reader.problems) > before and kind.kind is Kind.STRING
    return (Type(Kind.JSON, optional=True), ()) if unclear else (kind, choices)


def _choices(reader: Reader, node: Node | None, where: str) -> tuple[str, ...]:
    if isinstance(node, Items) and not node.items:
        message = f"{where} has a list of choices with nothing in it"
        reader.problem("wrong-type", node.place, message, "name the texts it may be")
    return reader.texts(node, f"each of the choices of {where}")


def _type(reader: Reader, node: Node | None, where: str) -> Type:
    """The type; of one that is misspelt the nearest, so that what uses it is not wrong too."""
    word = reader.text(node, f"the type of {where}", Kind.STRING)
    name = word.removesuffix("?")
    if name not in _KINDS and node is not None:
        reader.unknown("type", word, node.place, _KINDS, f"{where} cannot be of type")
        name = next(iter(difflib.get_close_matches(name[:20], _KINDS, 1)), Kind.JSON)
        return Type(_KINDS[name], optional=True)
    return Type(_KINDS[name], optional=word.endswith("?"))
