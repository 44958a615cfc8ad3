"""Guards: one CEL expression each, compiled by `vocabulary`, and how they are judged.

CEL does not raise when an evaluation fails: the value is then a non-empty string of type ERROR,
which Python takes for true. So a guard *holds* only if the type is BOOL and the value `is True`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct

from handrail.engine.facts import PENDING, Fact, Value, fits
from handrail.engine.problems import Place


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


class Program(Protocol):
    """An expression that CEL has compiled."""

    def eval(self, *, data: Mapping[str, Value]) -> Any:  # noqa: ANN401 - CEL has no types for Python
        """What the expression says of these facts."""
        ...


@dataclass(frozen=True, slots=True)
class Guard:
    """A compiled expression, the facts it names, and where it was written.

    `said` is what it said before, by the values of its facts and their types: it says the same again.
    """

    text: str
    facts: tuple[Fact, ...]
    place: Place
    program: Program = field(compare=False, repr=False)
    said: "dict[_Values, Outcome]" = field(default_factory=dict, init=False, compare=False, repr=False)


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
    error = result.type().name() == "ERROR"
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
