"""Which row is it? The rows of a state and trigger, tried in order against the facts."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, assert_never

from msgspec import Struct

from handrail.engine.facts import PENDING, Value
from handrail.engine.guards import Guard, Outcome, Verdict, judge, judge_all, together
from handrail.engine.model import Seen, Transition


class Tried(Struct, frozen=True):
    """A row, what its guards said, and what they say together."""

    row: Transition
    guards: tuple[Guard, ...]
    outcomes: tuple[Outcome, ...]
    verdict: Verdict

    def guards_that(self, verdict: Verdict) -> tuple[Guard, ...]:
        """The guards with this verdict."""
        return tuple(g for g, o in zip(self.guards, self.outcomes, strict=True) if o.verdict is verdict)


class Chosen(Struct, frozen=True):
    """This row."""

    row: Transition


class Undecided(Struct, frozen=True):
    """Not before these facts are known: this row may be the one."""

    row: Transition
    facts: tuple[str, ...]


class Broken(Struct, frozen=True):
    """A guard of this row went wrong; no later row may be taken in its place."""

    row: Transition
    guard: Guard
    error: str


class Unmet(Struct, frozen=True):
    """No row: these failed."""

    tried: tuple[Tried, ...]


Choice: TypeAlias = Chosen | Undecided | Broken | Unmet

FactsOf: TypeAlias = Callable[[str], Mapping[str, Value]]
"""The facts as the rows of a scope name them."""


def possible(rows: Sequence[Transition], facts: FactsOf) -> tuple[tuple[Tried, ...], tuple[Tried, ...]]:
    """The rows whose `when` does not fail, in order, and those whose `when` does."""
    open_: list[Tried] = []
    closed: list[Tried] = []
    for row in rows:
        outcomes = judge_all(row.when, facts(row.scope)) if row.when else ()
        verdict = together(outcomes)
        (closed if verdict is Verdict.FAILS else open_).append(Tried(row, row.when, outcomes, verdict))
    return tuple(open_), tuple(closed)


def choose(candidates: Sequence[Tried], facts: FactsOf) -> Choice:
    """The first candidate whose `when` and `accept` hold, or why there is none."""
    failed: list[Tried] = []
    for candidate in candidates:
        row, tried = candidate.row, _with_accept(candidate, facts)
        match tried.verdict:
            case Verdict.ERROR:
                return _broken(tried)
            case Verdict.PENDING:
                return Undecided(row, _awaited(tried, facts(row.scope)))
            case Verdict.FAILS:
                failed.append(tried)
            case Verdict.HOLDS:
                return Chosen(row)
            case _:
                assert_never(tried.verdict)
    return Unmet(tuple(failed))


def _with_accept(candidate: Tried, facts: FactsOf) -> Tried:
    """The candidate with what its `accept` says, too."""
    row = candidate.row
    if not row.accept:
        return candidate
    outcomes = (*candidate.outcomes, *judge_all(row.accept, facts(row.scope)))
    return Tried(row, (*candidate.guards, *row.accept), outcomes, together(outcomes))


def seen(guards: Sequence[Guard], facts: Mapping[str, Value]) -> tuple[Seen, ...]:
    """The facts that these guards name, as they were read, each once."""
    names = dict.fromkeys(fact.name for guard in guards for fact in guard.facts)
    return tuple(Seen(name, facts.get(name)) for name in names)


def needed(guard: Guard) -> str:
    """What would make a guard hold: the values where there are few to try, otherwise its own text."""
    if len(guard.facts) != 1 or not guard.facts[0].closed:
        return guard.text
    (fact,) = guard.facts
    good = [value for value in fact.domain if judge(guard, {fact.name: value}).verdict is Verdict.HOLDS]
    if not 0 < len(good) <= 3:
        return guard.text
    return f"{fact.name} = {' or '.join(json.dumps(value) for value in good)}"


def _broken(tried: Tried) -> Broken:
    guard = tried.guards_that(Verdict.ERROR)[0]
    return Broken(tried.row, guard, tried.outcomes[tried.guards.index(guard)].error)


def _awaited(tried: Tried, facts: Mapping[str, Value]) -> tuple[str, ...]:
    names = (fact.name for guard in tried.guards_that(Verdict.PENDING) for fact in guard.facts)
    return tuple(dict.fromkeys(name for name in names if facts.get(name) is PENDING))
