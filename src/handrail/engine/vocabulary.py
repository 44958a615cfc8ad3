"""The facts that a workflow's expressions may name, and how an expression is compiled to a guard.

The only file that imports CEL: reading and judging runs must not wait for it, and a hook does the first.
"""

import re
from collections.abc import Iterator, Mapping

from cel_expr_python import cel
from msgspec import Struct

from handrail.engine.facts import Fact, Kind
from handrail.engine.guards import Guard
from handrail.engine.problems import Place

_CHECKED: Mapping[Kind, cel.Type] = {
    Kind.BOOL: cel.Type.BOOL,
    Kind.INT: cel.Type.INT,
    Kind.FLOAT: cel.Type.DOUBLE,
    Kind.STRING: cel.Type.STRING,
    Kind.STATE: cel.Type.STRING,
    Kind.STRINGS: cel.Type.List(cel.Type.STRING),
    Kind.JSON: cel.Type.DYN,
}
_CHECKED_OPTIONAL: Mapping[Kind, cel.Type] = {
    Kind.BOOL: cel.Type("google.protobuf.BoolValue"),
    Kind.INT: cel.Type("google.protobuf.Int64Value"),
    Kind.FLOAT: cel.Type("google.protobuf.DoubleValue"),
    Kind.STRING: cel.Type("google.protobuf.StringValue"),
    Kind.STATE: cel.Type("google.protobuf.StringValue"),
    Kind.STRINGS: cel.Type.DYN,
    Kind.JSON: cel.Type.DYN,
}
_MESSAGE = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): ([^\n]*)")
_SHORT = re.compile(r"^[A-Z_]+: |\s*(\[[A-Z_]+\])?(\n.*)?$", re.DOTALL)


class Complaint(Struct, frozen=True):
    """Why an expression does not compile; `line` and `column` count from 1 within it."""

    line: int
    column: int
    message: str


class Vocabulary:
    """The facts that expressions may name, with their types.

    An optional fact is checked as a wrapper type (so `x == 3` on a string is an error at load, and
    `x == null` is not) and evaluated as a dynamic one, since the runtime takes no plain value for a wrapper.
    """

    def __init__(self, facts: Mapping[str, Fact]) -> None:
        self._facts = facts
        self._checker = cel.NewEnv(variables={name: _checked(fact) for name, fact in facts.items()})
        self._runner = cel.NewEnv(variables={name: _run(fact) for name, fact in facts.items()})

    def compile(self, text: str, place: Place) -> Guard | tuple[Complaint, ...]:
        """The guard, or every complaint about its text; a guard that is no yes-or-no is a complaint too."""
        try:
            checked = self._checker.compile(text)
        except RuntimeError as refusal:
            complaints = tuple(dict.fromkeys(_complaints(str(refusal))))
            return complaints or (Complaint(1, 1, f"Syntax error: {_SHORT.sub('', str(refusal))}"),)
        if checked.return_type() != cel.Type.BOOL:
            kind = checked.return_type().name().lower()
            return (Complaint(1, 1, f"a guard must be true or false; this one is of type {kind}"),)
        names = sorted(set(_identifiers(checked.serialize())) & self._facts.keys())
        return Guard(text, tuple(self._facts[name] for name in names), place, self._runner.compile(text))


def _checked(fact: Fact) -> cel.Type:
    return (_CHECKED_OPTIONAL if fact.type.optional else _CHECKED)[fact.type.kind]


def _run(fact: Fact) -> cel.Type:
    return cel.Type.DYN if fact.type.optional else _CHECKED[fact.type.kind]


def _complaints(text: str) -> Iterator[Complaint]:
    for line, column, message in _MESSAGE.findall(text):
        short = re.sub(r" (expecting \{|\(in container).*", "", message.removesuffix(" [INVALID_ARGUMENT]"))
        yield Complaint(max(int(line), 1), max(int(column), 1), short)


def _identifiers(checked: bytes) -> Iterator[str]:
    """The names in the reference map of a serialised `cel.expr.CheckedExpr`, wrapped in an `Any`."""
    for expression in _messages(checked, 2):
        for reference in (value for entry in _messages(expression, 2) for value in _messages(entry, 2)):
            for name in _messages(reference, 1):
                yield name.decode()


def _messages(data: bytes, number: int) -> Iterator[bytes]:
    """The length-delimited fields of this number in a protobuf message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value, at = _varint(data, at)
        if key & 7 == 2:
            if key >> 3 == number:
                yield data[at : at + value]
            at += value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
