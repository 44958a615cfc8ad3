"""Evaluate guards: CEL expressions that `workflows.guard_compiler` has compiled.

CEL does not raise when an evaluation fails: the value is then a non-empty string of type ERROR, which Python
takes for true. So a guard *holds* only if the value is a bool and `is True`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct

from handrail.engine.facts import PENDING, Fact, Value, has_type
from handrail.engine.problems import Place


class Verdict(Enum):
    """The result of a guard: it holds, it fails, it is not known yet, or it gave an error."""

    HOLDS = "holds"
    FAILS = "fails"
    PENDING = "pending"
    ERROR = "error"


# Looking a member up through its enum class is slow in Python.
HOLDS: Final = Verdict.HOLDS
FAILS: Final = Verdict.FAILS
ERROR: Final = Verdict.ERROR


class Program(Protocol):
    """An expression that CEL has compiled."""

    def eval(self, *, data: Mapping[str, Value]) -> Any:  # noqa: ANN401 - CEL has no types for Python
        """Evaluate the expression with these facts."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A compiled expression, the facts it names, and where it was written.

    `outcome_cache` holds earlier outcomes by the values of the facts and their types; a guard is pure.
    """

    text: str
    facts: tuple[Fact, ...]
    place: Place
    program: Program = field(compare=False, repr=False)
    outcome_cache: "dict[_Values, Outcome]" = field(
        default_factory=dict, init=False, compare=False, repr=False
    )


class Outcome(Struct, frozen=True):
    """A verdict and, for an error, CEL's message."""

    verdict: Verdict
    error: str = ""


_Values: TypeAlias = tuple[object, ...]
_MAX_CACHED_OUTCOMES: Final = 256  # for each guard
_MAX_CACHED_CHARACTERS: Final = 64
_OUTCOME_HOLDS, _OUTCOME_FAILS, _OUTCOME_PENDING = Outcome(HOLDS), Outcome(FAILS), Outcome(Verdict.PENDING)
ABSENT: Final = object()  # the value of a fact that was not read
CACHEABLE_TYPES: Final = frozenset({bool, int, type(None)})  # their values are always cacheable


def evaluate_guard(guard: Guard, facts: Mapping[str, Value]) -> Outcome:
    """Evaluate a guard with these facts. A missing or mistyped fact is an error, never a yes."""
    return evaluate_guard_values(guard, [facts.get(fact.name, ABSENT) for fact in guard.facts])


def evaluate_guard_values(guard: Guard, values: Sequence[Value]) -> Outcome:
    """Evaluate a guard with the values of its facts, in their order; `ABSENT` for a missing one.

    The cache key includes the types of the values, since `1 == True`.
    """
    key: list[object] = []
    for value in values:
        kind = value.__class__
        if kind not in CACHEABLE_TYPES and not is_cacheable(value):
            return _evaluate_uncached(guard, values)
        key += (kind, value)
    known = tuple(key)
    outcome = guard.outcome_cache.get(known)
    if outcome is None:
        if len(guard.outcome_cache) >= _MAX_CACHED_OUTCOMES:
            guard.outcome_cache.clear()
        outcome = guard.outcome_cache[known] = _evaluate_uncached(guard, values)
    return outcome


def is_cacheable(value: Value) -> bool:
    """True if outcomes for this value are cached: it is not large, and not a float zero.

    0.0 and -0.0 are equal, but different values.
    """
    if isinstance(value, str):
        return len(value) <= _MAX_CACHED_CHARACTERS
    if isinstance(value, float):
        return value != 0
    return not isinstance(value, (list, dict))


def _evaluate_uncached(guard: Guard, values: Sequence[Value]) -> Outcome:
    read = [(fact, value) for fact, value in zip(guard.facts, values, strict=True) if value is not ABSENT]
    known = {fact.name: value for fact, value in read if has_type(value, fact.type)}
    try:
        result = guard.program.eval(data=known)
    except RuntimeError as refusal:  # CEL raises this when an evaluation takes too long
        return Outcome(ERROR, str(refusal))
    value = result.value()
    if isinstance(value, bool):
        return _OUTCOME_HOLDS if value else _OUTCOME_FAILS
    if any(value is PENDING for _, value in read):
        return _OUTCOME_PENDING
    for fact, _ in read:
        if fact.name not in known:
            return Outcome(ERROR, f"`{fact.name}` is no value of type {fact.type}")
    error = result.type().name() == "ERROR"
    return Outcome(ERROR, str(value) if error else "the value is neither true nor false")
