"""Guards: one CEL expression each. The only file that imports CEL.

CEL does not raise when an evaluation fails: the value is then a non-empty string of type ERROR,
which Python takes for true. So a guard *holds* only if the type is BOOL and the value `is True`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from cel_expr_python import cel
from msgspec import Struct

from handrail.engine.facts import PENDING, Fact, Kind, Value, fits
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


class Verdict(Enum):
    """What a guard says: it holds, it does not, it cannot be told yet, or it went wrong."""

    HOLDS = "holds"
    FAILS = "fails"
    PENDING = "pending"
    ERROR = "error"


HOLDS: Final = Verdict.HOLDS
FAILS: Final = Verdict.FAILS
ERROR: Final = Verdict.ERROR
"""The same by a shorter way: Python looks a member up at length, whenever it is named by its class."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A compiled expression, the facts it names, and where it was written.

    `said` is what it said before, by the values of its facts and their types: it says the same again.
    """

    text: str
    facts: tuple[Fact, ...]
    place: Place
    program: cel.Expression = field(compare=False, repr=False)
    said: "dict[_Values, Outcome]" = field(default_factory=dict, init=False, compare=False, repr=False)


class Complaint(Struct, frozen=True):
    """Why an expression does not compile; `line` and `column` count from 1 within it."""

    line: int
    column: int
    message: str


class Outcome(Struct, frozen=True):
    """A verdict and, for an error, what CEL said."""

    verdict: Verdict
    error: str = ""


_Values: TypeAlias = tuple[object, ...]
_REMEMBERED: Final = 256
"""How many combinations of values a guard remembers its verdicts on."""

_LONGEST: Final = 64
_YES, _NO, _NOT_YET = Outcome(HOLDS), Outcome(FAILS), Outcome(Verdict.PENDING)

ABSENT: Final = object()
"""Stands for a fact that was not read."""

PLAIN: Final = frozenset({bool, int, type(None)})
"""Types whose values are all `small`."""


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


def judge(guard: Guard, facts: Mapping[str, Value]) -> Outcome:
    """The verdict of a guard on these facts; a missing or mistyped fact is an error, never a yes."""
    return judge_values(guard, [facts.get(fact.name, ABSENT) for fact in guard.facts])


def judge_values(guard: Guard, values: Sequence[Value]) -> Outcome:
    """The same, by the values of its facts in their order; `ABSENT` for one that is missing.

    What was said is remembered with the types of the values, since `1 == True`.
    """
    key: list[object] = []
    for value in values:
        kind = value.__class__
        if kind not in PLAIN and not small(value):
            return _judged(guard, values)
        key += (kind, value)
    known = tuple(key)
    outcome = guard.said.get(known)
    if outcome is None:
        if len(guard.said) >= _REMEMBERED:
            guard.said.clear()
        outcome = guard.said[known] = _judged(guard, values)
    return outcome


def small(value: Value) -> bool:
    """True if what is said of this value is remembered: not if it is large, nor if it is a zero.

    There are two of those, and they are equal.
    """
    if isinstance(value, str):
        return len(value) <= _LONGEST
    if isinstance(value, float):
        return value != 0
    return not isinstance(value, (list, dict))


def _judged(guard: Guard, values: Sequence[Value]) -> Outcome:
    read = [(fact, value) for fact, value in zip(guard.facts, values, strict=True) if value is not ABSENT]
    known = {fact.name: value for fact, value in read if fits(value, fact.type)}
    try:
        result = guard.program.eval(data=known)
    except RuntimeError as refusal:  # how CEL says that an expression goes on for too long
        return Outcome(ERROR, str(refusal))
    value = result.value()
    if isinstance(value, bool):
        return _YES if value else _NO
    if any(value is PENDING for _, value in read):
        return _NOT_YET
    for fact, _ in read:
        if fact.name not in known:
            return Outcome(ERROR, f"`{fact.name}` is no value of type {fact.type}")
    error = result.type() == cel.Type.ERROR
    return Outcome(ERROR, str(value) if error else "the value is neither true nor false")


def judge_all(guards: Sequence[Guard], facts: Mapping[str, Value]) -> tuple[Outcome, ...]:
    """The verdict of each guard, in order."""
    return tuple([judge(guard, facts) for guard in guards])


def together(outcomes: Sequence[Outcome]) -> Verdict:
    """The verdict of a list, which is an "and"."""
    return worst([outcome.verdict for outcome in outcomes])


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict that decides: that one fails, then an error, then a wait."""
    found: Verdict = HOLDS
    for verdict in verdicts:
        if verdict is FAILS:
            return verdict
        if verdict is ERROR or found is HOLDS:
            found = verdict
    return found


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
