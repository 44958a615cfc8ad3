"""Which values a fact is tried with: all of a closed domain, or those at which guards can turn."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import assert_never

from handrail.engine.facts import Fact, Kind, Value
from handrail.engine.guards import Guard
from handrail.engine.model import Assigned, Literal, Reference, Transition, Workflow

_TOKEN = re.compile(
    r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\d[\w.]*|[A-Za-z_][\w.]*|[=!<>]=|&&|\|\||\S"""
)
_TEXT = re.compile(r"""'([^'\\]*)'|"([^"\\]*)\"""")
_INT = re.compile(r"\d{1,18}")
_FLOAT = re.compile(r"\d{1,18}\.\d{1,18}")
_CONSTANTS = frozenset({"true", "false", "null"})
_COMPARES = frozenset({"==", "!=", "<", "<=", ">", ">="})
_BOUNDS = frozenset({"", "(", ")", "&&", "||", "!", "?", ":"})
_SAMPLES: Mapping[Kind, tuple[Value, ...]] = {
    Kind.BOOL: (True, False),
    Kind.INT: (0, 1),
    Kind.FLOAT: (0.0, 1.0),
    Kind.STRING: ("", "something else"),
}


class Domains:
    """The values to try for each fact of a workflow, worked out once per fact."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self._found: dict[tuple[str, str], tuple[Value, ...]] = {}
        lines = [(guard, _tokens(guard.text)) for guard in guards(workflow.rows)]
        words = dict.fromkeys(token for _, tokens in lines for token in tokens)
        texts = (_TEXT.fullmatch(word) for word in words)
        self._texts = [found[1] or found[2] or "" for found in texts if found]
        self._ints = [int(word) for word in words if _INT.fullmatch(word)]
        self._floats = [float(word) for word in words if _FLOAT.fullmatch(word)]
        self._tangled = {
            fact.name
            for guard, tokens in lines
            for fact in guard.facts
            if not (fact.closed or _only_compared(fact.name, tokens))
        }

    def of(self, fact: Fact, scope: str) -> tuple[Value, ...]:
        """The values of a fact as rows of this scope see it; none if they cannot be enumerated."""
        key = (fact.name, scope)
        if key not in self._found:
            self._found[key] = tuple(self._values(fact, scope))
        return self._found[key]

    def samples(self, fact: Fact) -> bool:
        """True if the values do not tell all: the fact is open, and more is done with it than comparing."""
        return fact.name in self._tangled

    def _values(self, fact: Fact, scope: str) -> Iterable[Value]:
        if fact.name.startswith("run.vars."):
            name = scope + fact.name.removeprefix("run.vars.")
            if not any(target == name for row in self.workflow.rows for target, _ in row.set):
                return (self.workflow.vars[name].default,)
            if fact.type.kind is Kind.STATE:
                return (state.removeprefix(scope) if state else None for state in held(self.workflow, name))
        if fact.closed:
            return fact.domain
        least = min((value for value in fact.domain if isinstance(value, (int, float))), default=None)
        return dict.fromkeys(
            value
            for value in self._open(fact)
            if least is None or not isinstance(value, (int, float)) or value >= least
        )

    def _open(self, fact: Fact) -> Iterator[Value]:
        """One value of each stretch in which no comparison with a literal can turn.

        Numbers below the least of an open domain are left out by who asks: a count is never negative.
        """
        if fact.type.kind in {Kind.JSON, Kind.STRINGS}:
            return
        if fact.type.optional:
            yield None
        yield from fact.domain
        yield from _SAMPLES.get(fact.type.kind, ())
        match fact.type.kind:
            case Kind.INT:
                for number in self._ints:
                    yield from (sign * number + step for sign in (1, -1) for step in (-1, 0, 1))
            case Kind.FLOAT:
                turns = sorted({sign * number for number in self._floats for sign in (1, -1)})
                yield from (turns[0] - 1, *turns, turns[-1] + 1) if turns else ()
                yield from ((one + two) / 2 for one, two in pairwise(turns))
            case _:
                yield from (text + more for text in self._texts for more in ("", "\uffff"))


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _only_compared(name: str, tokens: Sequence[str]) -> bool:
    """True if wherever the fact is named it is compared with a literal, so that few values tell all."""
    around = ["", "", "", *tokens, "", "", ""]
    return all(
        _is_simple(token.removeprefix(name), around[at - 3 : at][::-1], around[at + 1 :])
        for at, token in enumerate(around)
        if token == name or token.startswith(f"{name}.")
    )


def _is_simple(called: str, before: Sequence[str], after: Sequence[str]) -> bool:
    """True for `fact == 1`, `1 == fact`, `fact in [1, 2]` and `fact.startsWith("a")`."""
    if called:
        return called == ".startsWith" and _is_literal(after[1]) and after[2] == ")"
    if after[0] == "in" and "]" in after:
        listed = after[2 : after.index("]")]
        return before[0] in _BOUNDS and all(_is_literal(word) or word == "," for word in listed)
    if before[0] in _BOUNDS:
        return _compared(after[:3])
    return after[0] in _BOUNDS and _compared(before)


def _compared(tokens: Sequence[str]) -> bool:
    """True for an operator, a literal and the end of the expression, read from the fact outwards."""
    operator, literal, after = tokens
    return operator in _COMPARES and _is_literal(literal) and after in _BOUNDS


def _is_literal(token: str) -> bool:
    return bool(
        token in _CONSTANTS or _TEXT.fullmatch(token) or _INT.fullmatch(token) or _FLOAT.fullmatch(token)
    )


def guards(rows: Iterable[Transition]) -> Iterator[Guard]:
    """Every guard of these rows."""
    for row in rows:
        yield from row.when
        yield from row.accept


def held(workflow: Workflow, variable: str, reached: Container[str] | None = None) -> tuple[str | None, ...]:
    """The states a variable can hold, in their order: as it starts, and as rows set it.

    A row that sets it to the state being left does so in the states that can be `reached`, if it is given.
    """
    found: set[Value] = set()
    todo, seen = [variable], {variable}
    while todo:
        name = todo.pop()
        found.add(workflow.vars[name].default)
        for row, assigned in _assignments(workflow, name):
            match assigned:
                case Literal(value):
                    found.add(value)
                case Reference("run.state"):
                    found.update(s for s in row.sources if reached is None or s in reached)
                case Reference(fact):
                    other = row.scope + fact.removeprefix("run.vars.")
                    found.update(() if other in workflow.vars else workflow.states)
                    todo += [other] if other in workflow.vars and other not in seen else []
                    seen.add(other)
                case _:
                    assert_never(assigned)
    return tuple(name for name in (None, *workflow.states) if name in found)


def _assignments(workflow: Workflow, variable: str) -> Iterator[tuple[Transition, Assigned]]:
    for row in workflow.rows:
        for name, assigned in row.set:
            if name == variable:
                yield row, assigned
