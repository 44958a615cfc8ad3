"""Search for values of facts with which guards hold, fail or give an error.

`Domains` lists the values to try for a fact: all of a closed domain, or those at which a comparison can
change. `Search` tries their combinations, within the limits below, and answers yes, no or unknown.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import TypeAlias, assert_never

from handrail.engine.facts import Fact, Kind, Value
from handrail.engine.guards import Guard, Verdict, evaluate_guard
from handrail.engine.model import FactReference, LiteralValue, Workflow

# How many values one search tries before it answers unknown, and all searches over one workflow together.
_MAX_TRIES_PER_SEARCH = 20_000
MAX_TRIES_PER_WORKFLOW = 100_000
_MAX_FACTS = 100  # how many facts one search can vary; each adds a level of recursion

_TOKEN = re.compile(
    r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\d[\w.]*|[A-Za-z_][\w.]*|[=!<>]=|&&|\|\||\S"""
)

_TEXT_LITERAL = re.compile(r"""'([^'\\]*)'|"([^"\\]*)\"""")
_INT_LITERAL = re.compile(r"\d{1,18}")
_FLOAT_LITERAL = re.compile(r"\d{1,18}\.\d{1,18}")
_CONSTANTS = frozenset({"true", "false", "null"})
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_BOUNDS = frozenset({"", "(", ")", "&&", "||", "!", "?", ":"})

_SAMPLES: Mapping[Kind, tuple[Value, ...]] = {
    Kind.BOOL: (True, False),
    Kind.INT: (0, 1),
    Kind.FLOAT: (0.0, 1.0),
    Kind.STRING: ("", "something else"),
}


class Domains:
    """The values to try for each fact of a workflow, computed once per fact."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._values_by_fact: dict[tuple[str, str], tuple[Value, ...]] = {}
        guards = [guard for row in workflow.rows for guard in (*row.when, *row.accept)]
        lines = [(guard, _TOKEN.findall(guard.text)) for guard in guards]
        words = dict.fromkeys(token for _, tokens in lines for token in tokens)
        texts = (_TEXT_LITERAL.fullmatch(word) for word in words)
        self._texts = [match[1] or match[2] or "" for match in texts if match]
        self._ints = [int(word) for word in words if _INT_LITERAL.fullmatch(word)]
        self._floats = [float(word) for word in words if _FLOAT_LITERAL.fullmatch(word)]
        self._sampled_facts = {
            fact.name
            for guard, tokens in lines
            for fact in guard.facts
            if not (fact.closed or _is_only_compared(fact.name, tokens))
        }

    def list_values(self, fact: Fact, scope: str) -> tuple[Value, ...]:
        """Return the values of a fact as rows of this scope see it; empty if they cannot be enumerated."""
        key = (fact.name, scope)
        if key not in self._values_by_fact:
            self._values_by_fact[key] = tuple(self._compute_values(fact, scope))
        return self._values_by_fact[key]

    def is_sampled(self, fact: Fact) -> bool:
        """True if the values do not cover all cases: the fact is open, and guards do more than compare it."""
        return fact.name in self._sampled_facts

    def _compute_values(self, fact: Fact, scope: str) -> Iterable[Value]:
        if fact.name.startswith("run.vars."):
            name = scope + fact.name.removeprefix("run.vars.")
            if not any(target == name for row in self._workflow.rows for target, _ in row.set):
                return (self._workflow.vars[name].default,)
            if fact.type.kind is Kind.STATE:
                held = find_held_states(self._workflow, name)
                return (state.removeprefix(scope) if state else None for state in held)
        if fact.closed:
            return fact.domain
        least = min((value for value in fact.domain if isinstance(value, (int, float))), default=None)
        return dict.fromkeys(
            value
            for value in self._list_samples(fact)
            if least is None or not isinstance(value, (int, float)) or value >= least
        )

    def _list_samples(self, fact: Fact) -> Iterator[Value]:
        """Yield one value of each range in which no comparison with a literal can change.

        The caller drops numbers below the least of an open domain: a count is never negative.
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
                yield from ((low + high) / 2 for low, high in pairwise(turns))
            case _:
                yield from (text + more for text in self._texts for more in ("", "\uffff"))


def _is_only_compared(name: str, tokens: Sequence[str]) -> bool:
    """True if every use of the fact is a comparison with a literal, so that few values cover all cases."""
    around = ["", "", "", *tokens, "", "", ""]
    return all(
        _is_simple_comparison(token.removeprefix(name), around[at - 3 : at][::-1], around[at + 1 :])
        for at, token in enumerate(around)
        if token == name or token.startswith(f"{name}.")
    )


def _is_simple_comparison(called: str, before: Sequence[str], after: Sequence[str]) -> bool:
    """True for `fact == 1`, `1 == fact`, `fact in [1, 2]` and `fact.startsWith("a")`."""
    if called:
        return called == ".startsWith" and _is_literal(after[1]) and after[2] == ")"
    if after[0] == "in" and "]" in after:
        listed = after[2 : after.index("]")]
        return before[0] in _BOUNDS and all(_is_literal(word) or word == "," for word in listed)
    # An operator, a literal and the end of the expression, read from the fact outwards.
    near, (operator, literal, end) = (before, after[:3]) if before[0] in _BOUNDS else (after, before)
    return near[0] in _BOUNDS and operator in _COMPARISONS and _is_literal(literal) and end in _BOUNDS


def _is_literal(token: str) -> bool:
    return bool(
        token in _CONSTANTS
        or _TEXT_LITERAL.fullmatch(token)
        or _INT_LITERAL.fullmatch(token)
        or _FLOAT_LITERAL.fullmatch(token)
    )


def find_held_states(
    workflow: Workflow, variable: str, reached: Container[str] | None = None
) -> tuple[str | None, ...]:
    """Return the states a variable can hold, in their order: its initial value, and what rows set.

    A row that sets it to the state being left counts only the states in `reached`, if that is given.
    """
    held: set[Value] = set()
    todo, seen = [variable], {variable}
    while todo:
        name = todo.pop()
        held.add(workflow.vars[name].default)
        for row, assigned in [(at, value) for at in workflow.rows for to, value in at.set if to == name]:
            match assigned:
                case LiteralValue(value):
                    held.add(value)
                case FactReference("run.state"):
                    held.update(s for s in row.sources if reached is None or s in reached)
                case FactReference(fact):
                    other = row.scope + fact.removeprefix("run.vars.")
                    held.update(() if other in workflow.vars else workflow.states)
                    todo += [other] if other in workflow.vars and other not in seen else []
                    seen.add(other)
                case _:
                    assert_never(assigned)
    return tuple(name for name in (None, *workflow.states) if name in held)


class Answer(Enum):
    """Yes, no, or too much to try."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ScopedGuard:
    """A guard as a state of some scope sees it: the facts that are fixed there, and those that are open.

    `names` are the names of the open facts; a variable has the scope as prefix.
    """

    guard: Guard
    fixed: Mapping[str, Value]
    scope: str
    open: tuple[Fact, ...]
    names: tuple[str, ...]


_Constraint: TypeAlias = tuple[ScopedGuard, frozenset[Verdict]]  # a guard, and the verdicts it may have
_MUST_HOLD = frozenset({Verdict.HOLDS})
_MUST_NOT_FAIL = frozenset({Verdict.HOLDS, Verdict.ERROR})


@dataclass(slots=True)
class Search:
    """Searches over one workflow's domains. Caches the verdict of each guard by the values it saw."""

    domains: Domains
    tries_made: int = 0
    _verdicts: dict[tuple[object, ...], Verdict] = field(default_factory=dict)

    def can_hold(self, must: Sequence[ScopedGuard], must_not: Sequence[Sequence[ScopedGuard]] = ()) -> Answer:
        """Answer if every guard of `must` can hold while in each list of `must_not` at least one fails.

        A guard that gives an error does not fail: it stops the decision. A guard that cannot be tried,
        because a fact has no domain, may say anything.
        """
        if self.has_unbounded_facts(must):
            return Answer.UNKNOWN
        avoid = [lines for lines in must_not if not self.has_unbounded_facts(lines)]
        return self._solve([(guard, _MUST_HOLD) for guard in must], avoid)[0]

    def can_fail(self, guard: ScopedGuard) -> Answer:
        """Answer if a guard can fail."""
        return self._solve([(guard, frozenset({Verdict.FAILS}))], ())[0]

    def find_error_values(
        self, guard: ScopedGuard, beside: Sequence[ScopedGuard]
    ) -> Mapping[str, Value] | None:
        """Return values with which a guard gives an error while none of `beside` fails, or None."""
        bounded = [other for other in beside if not self.has_unbounded_facts([other])]
        constraints = [(guard, frozenset({Verdict.ERROR})), *((other, _MUST_NOT_FAIL) for other in bounded)]
        answer, values = self._solve(constraints, ())
        return values if answer is Answer.YES else None

    def has_unbounded_facts(self, guards: Sequence[ScopedGuard]) -> bool:
        """True if one of these guards names a fact whose values cannot be enumerated."""
        return any(not self.domains.list_values(fact, guard.scope) for guard in guards for fact in guard.open)

    def evaluate(self, scoped: ScopedGuard, values: Mapping[str, Value]) -> Verdict:
        """Return the verdict of a guard for these values."""
        inputs = tuple(values[name] for name in scoped.names)
        key = (scoped.guard.text, *scoped.fixed.values(), inputs)
        if key not in self._verdicts:
            facts = {fact.name: value for fact, value in zip(scoped.open, inputs, strict=True)}
            self._verdicts[key] = evaluate_guard(scoped.guard, {**scoped.fixed, **facts}).verdict
        return self._verdicts[key]

    def _solve(
        self, constraints: Sequence[_Constraint], avoid: Sequence[Sequence[ScopedGuard]]
    ) -> tuple[Answer, Mapping[str, Value]]:
        """Return an answer and, if it is yes, the values that prove it."""
        values: dict[str, tuple[Value, ...]] = {}
        sampled = False
        for guard in (*(line for line, _ in constraints), *(line for lines in avoid for line in lines)):
            for name, fact in zip(guard.names, guard.open, strict=True):
                values[name] = self.domains.list_values(fact, guard.scope)
                sampled = sampled or self.domains.is_sampled(fact)
        if len(values) > _MAX_FACTS:
            return Answer.UNKNOWN, {}
        trial = _Trial(self, list(values.items()), constraints, avoid)
        if trial.extend({}):
            return Answer.YES, trial.found
        return Answer.UNKNOWN if trial.gave_up or sampled else Answer.NO, {}


class _Trial:
    """One search: facts get values in order, and a guard is evaluated as soon as its facts have theirs."""

    def __init__(
        self,
        search: Search,
        facts: Sequence[tuple[str, tuple[Value, ...]]],
        constraints: Sequence[_Constraint],
        avoid: Sequence[Sequence[ScopedGuard]],
    ) -> None:
        self._search, self._facts = search, facts
        self._left = min(_MAX_TRIES_PER_SEARCH, MAX_TRIES_PER_WORKFLOW - search.tries_made)
        self.gave_up = False
        self.found: Mapping[str, Value] = {}
        order = {name: number for number, (name, _) in enumerate(facts, start=1)}
        self._constraints: list[list[_Constraint]] = [[] for _ in range(len(facts) + 1)]
        self._avoid: list[list[Sequence[ScopedGuard]]] = [[] for _ in range(len(facts) + 1)]
        for line, verdicts in constraints:
            self._constraints[max((order[name] for name in line.names), default=0)].append((line, verdicts))
        for lines in avoid:
            self._avoid[max((order[n] for line in lines for n in line.names), default=0)].append(lines)

    def extend(self, values: dict[str, Value]) -> bool:
        """True if these values can be extended to a solution. Gives up once the budget is spent."""
        depth, evaluate = len(values), self._search.evaluate
        if not all(evaluate(line, values) in verdicts for line, verdicts in self._constraints[depth]):
            return False
        for lines in self._avoid[depth]:
            if all(evaluate(line, values) is not Verdict.FAILS for line in lines):
                return False
        if depth == len(self._facts):
            self.found = values
            return True
        name, domain = self._facts[depth]
        for value in domain:
            self._left -= 1
            self._search.tries_made += 1
            self.gave_up = self.gave_up or self._left < 0
            if self.gave_up:
                return False
            if self.extend({**values, name: value}):
                return True
        return False


def scope_guard(guard: Guard, fixed: Mapping[str, Value], scope: str) -> ScopedGuard:
    """Return a guard as a state of some scope sees it."""
    fixed_here = {fact.name: fixed[fact.name] for fact in guard.facts if fact.name in fixed}
    open_ = tuple(fact for fact in guard.facts if fact.name not in fixed)
    names = tuple(f"{scope}{fact.name}" if fact.name.startswith("run.vars.") else fact.name for fact in open_)
    return ScopedGuard(guard, fixed_here, scope, open_, names)
