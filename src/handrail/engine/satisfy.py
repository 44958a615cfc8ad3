"""Can these guards hold while those do not? A search over the facts' domains that stops at the first yes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from handrail.engine.domains import Domains
from handrail.engine.facts import Value
from handrail.engine.guards import Guard, Verdict, judge

BUDGET = 20_000
"""How many values one search tries before it gives up and says nothing."""


class Answer(Enum):
    """Yes, no, or too much to try."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Line:
    """A guard as a state of some scope sees it: what is fixed there, and what each other fact can be."""

    guard: Guard
    fixed: Mapping[str, Value]
    scope: str

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts it depends on that are not fixed; a variable of a scope bears its prefix."""
        names = (fact.name for fact in self.guard.facts if fact.name not in self.fixed)
        return tuple(f"{self.scope}{name}" if name.startswith("run.vars.") else name for name in names)


@dataclass(slots=True)
class Search:
    """Searches over one workflow's domains, remembering what each line said to which values."""

    domains: Domains
    _said: dict[tuple[str, str, tuple[Value, ...]], bool] = field(default_factory=dict)

    def possible(self, must: Sequence[Line], must_not: Sequence[Sequence[Line]] = ()) -> Answer:
        """Whether every line of `must` can hold while in each list of `must_not` at least one does not.

        A line that cannot be tried (a fact without a domain) may say either.
        """
        if any(self._free(line) for line in must):
            return Answer.UNKNOWN
        avoid = [lines for lines in must_not if not any(self._free(line) for line in lines)]
        values = self._values([*must, *(line for lines in avoid for line in lines)])
        trial = _Trial(self, must, avoid, list(values.items()))
        found = trial.extend({})
        if found:
            return Answer.YES
        return Answer.UNKNOWN if trial.tried > BUDGET else Answer.NO

    def free(self, lines: Sequence[Line]) -> bool:
        """True if one of these lines names a fact whose values cannot be enumerated."""
        return any(self._free(line) for line in lines)

    def says(self, line: Line, values: Mapping[str, Value]) -> bool:
        """What a line says to these values; one that goes wrong does not hold."""
        key = (line.guard.text, repr(sorted(line.fixed.items())), tuple(values[name] for name in line.facts))
        if key not in self._said:
            facts = {name.removeprefix(line.scope): values[name] for name in line.facts}
            self._said[key] = judge(line.guard, {**line.fixed, **facts}).verdict is Verdict.HOLDS
        return self._said[key]

    def _free(self, line: Line) -> bool:
        return any(
            not self.domains.of(fact, line.scope) for fact in line.guard.facts if fact.name not in line.fixed
        )

    def _values(self, lines: Sequence[Line]) -> dict[str, tuple[Value, ...]]:
        found: dict[str, tuple[Value, ...]] = {}
        for line in lines:
            open_ = [fact for fact in line.guard.facts if fact.name not in line.fixed]
            for name, fact in zip(line.facts, open_, strict=True):
                found[name] = self.domains.of(fact, line.scope)
        return found


@dataclass(slots=True)
class _Trial:
    search: Search
    must: Sequence[Line]
    avoid: Sequence[Sequence[Line]]
    facts: Sequence[tuple[str, tuple[Value, ...]]]
    tried: int = 0

    def extend(self, values: dict[str, Value]) -> bool:
        """True if these values can be extended to ones that do; gives up once the budget is spent."""
        if not self._bearable(values):
            return False
        if len(values) == len(self.facts):
            return True
        name, domain = self.facts[len(values)]
        for value in domain:
            self.tried += 1
            if self.tried > BUDGET:
                return False
            if self.extend({**values, name: value}):
                return True
        return False

    def _bearable(self, values: Mapping[str, Value]) -> bool:
        known = values.keys()
        if any(known >= set(line.facts) and not self.search.says(line, values) for line in self.must):
            return False
        return not any(
            all(known >= set(line.facts) and self.search.says(line, values) for line in lines)
            for lines in self.avoid
        )
