"""Variables, inputs and parameters: what each may hold, and what it holds at first."""

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from handrail.engine.facts import Kind, Type, Value, fits
from handrail.engine.model import Variable
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
    reader: Reader, node: Node | None, what: str, states: Collection[str], lost: Iterable[str] = ()
) -> dict[str, Variable]:
    """The variables declared under a key; `states` are the names that one of type `state` may hold."""
    declared = reader.named(node, what, FIELD, lost)
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
                message = f"`{name}` of `vars` is of type {variable.type}, and has no value when a run starts"
                repair = f"write `{variable.type}?`, so that it is null at first, or give a `default`"
                reader.problem("missing-key", variable.place, message, repair)
        found[name] = replace(variable, default=default, required=False)
    return found


def as_typed(value: Value, kind: Type) -> Value:
    """The value as guards see it: a whole number written for a float is a float."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(str(value)) if whole and kind.kind is Kind.FLOAT else value


def _variable(reader: Reader, key: Scalar, node: Node, what: str, states: Mapping[str, object]) -> Variable:
    where = f"`{key.text}` of {what}"
    fields: dict[str, Node] = {"type": node}
    if isinstance(node, Table):
        fields = reader.fields(node, VARIABLE_KEYS, where)
    elif isinstance(node, Items):
        fields = {"choices": node}
    with reader.reading(key.place):
        kind, choices = _holds(reader, fields, where)
    default = as_typed(plain(fields["default"]), kind) if "default" in fields else None
    _check_default(reader, fields.get("default"), (kind, choices), states, where)
    required = default is None and not kind.optional
    about = reader.text(fields.get("about"), f"`about` of {where}")
    return Variable(key.text, kind, key.place, about, default, required, choices)


def _check_default(
    reader: Reader,
    node: Node | None,
    holds: tuple[Type, tuple[str, ...]],
    states: Mapping[str, object],
    where: str,
) -> None:
    if node is None:
        return
    (kind, choices), state = holds, as_text(node)
    value = as_typed(plain(node), kind)
    if kind.kind is Kind.STATE and state is not None and state.text not in states:
        reader.unknown(
            "state", state.text, state.place, states, f"the default of {where}: no state is called"
        )
    elif not fits(value, kind, states) or (choices and value is not None and value not in choices):
        wanted = f"one of {', '.join(choices)}" if choices else f"a value of type {kind}"
        message = f"the default of {where} is not {wanted}"
        reader.problem("wrong-value", node.place, message, "give one that is, or drop it")


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
