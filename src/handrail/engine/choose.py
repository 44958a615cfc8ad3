"""What rows say of an event, guard by guard: for whoever must tell more than which row it is."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from handrail.engine.facts import PENDING, Value
from handrail.engine.guards import FAILS, Guard, Outcome, Verdict, judge, judge_all, together
from handrail.engine.known import Stand, claimed, known
from handrail.engine.model import Seen, Transition

FactsOf: TypeAlias = Callable[[str], Mapping[str, Value]]
"""The facts as the rows of a scope name them."""


class Tried(Struct, frozen=True):
    """A row, what its guards said, and what they say together."""

    row: Transition
    guards: tuple[Guard, ...]
    outcomes: tuple[Outcome, ...]
    verdict: Verdict

    def guards_that(self, verdict: Verdict) -> tuple[Guard, ...]:
        """The guards with this verdict."""
        return tuple(g for g, o in zip(self.guards, self.outcomes, strict=True) if o.verdict is verdict)


def seen_by(stand: Stand) -> FactsOf:
    """The facts as each scope names them, without what came with the event."""
    views: dict[str, Mapping[str, Value]] = {}

    def facts(scope: str) -> Mapping[str, Value]:
        if scope not in views:
            views[scope] = {**stand.facts, **known(stand, scope)}
        return views[scope]

    return facts


def brought(stand: Stand) -> FactsOf:
    """The same with what came with the event, which was found good."""
    before, views = seen_by(stand), dict[str, Mapping[str, Value]]()

    def facts(scope: str) -> Mapping[str, Value]:
        if scope not in views:
            views[scope] = {**before(scope), **claimed(stand, stand.step.state)}
        return views[scope]

    return facts


def possible(rows: Sequence[Transition], facts: FactsOf) -> tuple[tuple[Tried, ...], tuple[Tried, ...]]:
    """The rows whose `when` does not fail, in order, and those whose `when` does."""
    found = [tried(row, facts) for row in rows]
    return (
        tuple(one for one in found if one.verdict is not FAILS),
        tuple(one for one in found if one.verdict is FAILS),
    )


def tried(row: Transition, facts: FactsOf) -> Tried:
    """The row with what its `when` says."""
    outcomes = judge_all(row.when, facts(row.scope)) if row.when else ()
    return Tried(row, row.when, outcomes, together(outcomes))


def with_accept(candidate: Tried, facts: FactsOf) -> Tried:
    """The same with what its `accept` says, too."""
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


def awaited(tried: Tried, facts: Mapping[str, Value]) -> tuple[str, ...]:
    """The facts that the guards of a row wait for."""
    names = (fact.name for guard in tried.guards_that(Verdict.PENDING) for fact in guard.facts)
    return tuple(dict.fromkeys(name for name in names if facts.get(name) is PENDING))
