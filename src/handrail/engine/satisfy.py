"""Can these guards hold while those do not? A search over the facts' domains that stops at the first yes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from handrail.engine.domains import Domains
from handrail.engine.facts import Fact, Value
from handrail.engine.guards import Guard, Verdict, judge

BUDGET = 20_000
"""How many values one search tries before it gives up and says nothing."""

ALL_IN_ALL = 100_000
"""How many values all the searches over one workflow try."""

MOST_FACTS = 100
"""How many facts one search can vary; one value is tried inside another, so this bounds the depth."""


class Answer(Enum):
    """Yes, no, or too much to try."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Line:
    """A guard as a state of some scope sees it: what is fixed there, and the facts that are open.

    `names` are those of the open facts; a variable of a scope bears its prefix.
    """

    guard: Guard
    fixed: Mapping[str, Value]
    scope: str
    open: tuple[Fact, ...]
    names: tuple[str, ...]


Wanted: TypeAlias = tuple[Line, frozenset[Verdict]]
"""A line, and what it must say."""

Tried: TypeAlias = tuple[Answer, Mapping[str, Value]]
"""An answer, and the values that show it if it is yes."""

HOLDS = frozenset({Verdict.HOLDS})
NOT_FAILS = frozenset({Verdict.HOLDS, Verdict.ERROR})


def line(guard: Guard, fixed: Mapping[str, Value], scope: str) -> Line:
    """A guard as a state of some scope sees it."""
    held = {fact.name: fixed[fact.name] for fact in guard.facts if fact.name in fixed}
    open_ = tuple(fact for fact in guard.facts if fact.name not in fixed)
    names = tuple(f"{scope}{fact.name}" if fact.name.startswith("run.vars.") else fact.name for fact in open_)
    return Line(guard, held, scope, open_, names)


@dataclass(slots=True)
class Search:
    """Searches over one workflow's domains, remembering what each line said to which values."""

    domains: Domains
    tried: int = 0
    _said: dict[tuple[object, ...], Verdict] = field(default_factory=dict)

    def possible(self, must: Sequence[Line], must_not: Sequence[Sequence[Line]] = ()) -> Answer:
        """Whether every line of `must` can hold while in each list of `must_not` at least one fails.

        A line that goes wrong does not fail: it stops the decision. One that cannot be tried (a fact without
        a domain) may say anything.
        """
        if self.free(must):
            return Answer.UNKNOWN
        avoid = [lines for lines in must_not if not self.free(lines)]
        return self._tried([(each, HOLDS) for each in must], avoid)[0]

    def can_fail(self, each: Line) -> Answer:
        """Whether a line can say no."""
        return self._tried([(each, frozenset({Verdict.FAILS}))], ())[0]

    def goes_wrong(self, each: Line, beside: Sequence[Line]) -> Mapping[str, Value] | None:
        """Values with which a line cannot be evaluated while none beside it fails, if such are found."""
        asked = [other for other in beside if not self.free([other])]
        wanted = [(each, frozenset({Verdict.ERROR})), *((other, NOT_FAILS) for other in asked)]
        answer, values = self._tried(wanted, ())
        return values if answer is Answer.YES else None

    def free(self, lines: Sequence[Line]) -> bool:
        """True if one of these lines names a fact whose values cannot be enumerated."""
        return any(not self.domains.of(fact, each.scope) for each in lines for fact in each.open)

    def says(self, line: Line, values: Mapping[str, Value]) -> Verdict:
        """What a line says to these values."""
        given = tuple(values[name] for name in line.names)
        key = (line.guard.text, *line.fixed.values(), given)
        if key not in self._said:
            facts = {fact.name: value for fact, value in zip(line.open, given, strict=True)}
            self._said[key] = judge(line.guard, {**line.fixed, **facts}).verdict
        return self._said[key]

    def _tried(self, wanted: Sequence[Wanted], avoid: Sequence[Sequence[Line]]) -> Tried:
        values: dict[str, tuple[Value, ...]] = {}
        sampled = False
        for each in (*(line for line, _ in wanted), *(line for lines in avoid for line in lines)):
            for name, fact in zip(each.names, each.open, strict=True):
                values[name] = self.domains.of(fact, each.scope)
                sampled = sampled or self.domains.samples(fact)
        if len(values) > MOST_FACTS:
            return Answer.UNKNOWN, {}
        trial = _Trial(self, list(values.items()), wanted, avoid)
        if trial.extend({}):
            return Answer.YES, trial.found
        return Answer.UNKNOWN if trial.gave_up or sampled else Answer.NO, {}


class _Trial:
    """One search: facts are given values in order, and a line is asked as soon as its facts have theirs."""

    def __init__(
        self,
        search: Search,
        facts: Sequence[tuple[str, tuple[Value, ...]]],
        wanted: Sequence[Wanted],
        avoid: Sequence[Sequence[Line]],
    ) -> None:
        self._search, self._facts = search, facts
        self._left = min(BUDGET, ALL_IN_ALL - search.tried)
        self.gave_up = False
        self.found: Mapping[str, Value] = {}
        order = {name: number for number, (name, _) in enumerate(facts, start=1)}
        self._wanted: list[list[Wanted]] = [[] for _ in range(len(facts) + 1)]
        self._avoid: list[list[Sequence[Line]]] = [[] for _ in range(len(facts) + 1)]
        for line, verdicts in wanted:
            self._wanted[max((order[name] for name in line.names), default=0)].append((line, verdicts))
        for lines in avoid:
            self._avoid[max((order[n] for line in lines for n in line.names), default=0)].append(lines)

    def extend(self, values: dict[str, Value]) -> bool:
        """True if these values can be extended to ones that do; gives up once the budget is spent."""
        depth, says = len(values), self._search.says
        if not all(says(line, values) in verdicts for line, verdicts in self._wanted[depth]):
            return False
        if not all(
            any(says(line, values) is Verdict.FAILS for line in lines) for lines in self._avoid[depth]
        ):
            return False
        if depth == len(self._facts):
            self.found = values
            return True
        name, domain = self._facts[depth]
        for value in domain:
            self._left -= 1
            self._search.tried += 1
            self.gave_up = self.gave_up or self._left < 0
            if self.gave_up:
                return False
            if self.extend({**values, name: value}):
                return True
        return False
