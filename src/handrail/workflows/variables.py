"""Variables, inputs and parameters: what each may hold, and what it holds at first."""

import difflib
from collections.abc import Collection, Mapping
from dataclasses import replace

from handrail.engine.facts import Kind, Type, Value, fits
from handrail.engine.model import Variable
from handrail.workflows.nodes import Items, Node, Scalar, Table, plain
from handrail.workflows.reader import IDENTIFIER, Reader

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
    reader: Reader, node: Node | None, what: str, states: Collection[str]
) -> dict[str, Variable]:
    """The variables declared under a key; `states` are the names that one of type `state` may hold."""
    declared = reader.named(node, what, IDENTIFIER)
    known = dict.fromkeys(states)
    return {name: _variable(reader, key, value, what, known) for name, (key, value) in declared.items()}


def initialised(reader: Reader, variables: Mapping[str, Variable]) -> dict[str, Variable]:
    """The variables with the value each has when a run starts; one that may not be null needs one."""
    found = {}
    for name, variable in variables.items():
        default = variable.default
        if default is None and not variable.type.optional:
            default = variable.choices[0] if variable.choices else _ZERO.get(variable.type.kind)
            if default is None:
                message = f"`{name}` of `vars` is a {variable.type} and has no value when a run starts"
                repair = f"write `{variable.type}?`, so that it is null at first, or give a `default`"
                reader.problem("missing-key", variable.place, message, repair)
        found[name] = replace(variable, default=default, required=False)
    return found


def as_typed(value: Value, kind: Type) -> Value:
    """The value as guards see it: a whole number written for a float is a float."""
    return float(value) if isinstance(value, int) and kind.kind is Kind.FLOAT else value


def _variable(reader: Reader, key: Scalar, node: Node, what: str, states: Mapping[str, object]) -> Variable:
    where = f"`{key.text}` of {what}"
    fields: dict[str, Node] = {"type": node}
    if isinstance(node, Table):
        fields = reader.fields(node, VARIABLE_KEYS, where)
    elif isinstance(node, Items):
        fields = {"choices": node}
    choices = _choices(reader, fields.get("choices"), where)
    kind = _type(reader, fields.get("type"), where)
    if choices and kind.kind is not Kind.STRING:
        message = f"{where} is a {kind}, and only a string can have choices"
        reader.problem("wrong-type", fields["choices"].place, message, "drop `choices`, or `type`")
    default = as_typed(plain(fields["default"]), kind) if "default" in fields else None
    if "default" in fields and not (fits(default, kind, states) and (not choices or default in choices)):
        wanted = f"one of {', '.join(choices)}" if choices else f"a value of type {kind}"
        message = f"the default of {where} is not {wanted}"
        reader.problem("wrong-value", fields["default"].place, message, "give one that is, or drop it")
    required = default is None and not kind.optional
    about = reader.text(fields.get("about"), f"`about` of {where}")
    return Variable(key.text, kind, key.place, about, default, required, choices)


def _choices(reader: Reader, node: Node | None, where: str) -> tuple[str, ...]:
    if isinstance(node, Items) and not node.items:
        message = f"{where} has a list of choices with nothing in it"
        reader.problem("wrong-type", node.place, message, "name the texts it may be")
    return reader.texts(node, f"each of the choices of {where}")


def _type(reader: Reader, node: Node | None, where: str) -> Type:
    """The type; of one that is misspelt the nearest, so that what uses the variable is not wrong too."""
    word = reader.text(node, f"the type of {where}", Kind.STRING)
    name = word.removesuffix("?")
    if name not in _KINDS and node is not None:
        reader.unknown("type", word, node.place, _KINDS, f"{where} cannot be of type")
        name = next(iter(difflib.get_close_matches(name[:20], _KINDS, 1)), Kind.JSON)
        return Type(_KINDS[name], optional=True)
    return Type(_KINDS[name], optional=word.endswith("?"))
