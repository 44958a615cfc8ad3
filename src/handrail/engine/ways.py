"""Where a run can go from where it stands: every row that leaves, and what keeps it from being taken."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from handrail.engine.choose import FactsOf, Tried, possible, seen_by
from handrail.engine.facts import PENDING, Value
from handrail.engine.guards import Guard, Verdict
from handrail.engine.known import Stand
from handrail.engine.lifecycle import CONTINUE, after
from handrail.engine.model import Event, Run, Stay, Step, ToVariable, Transition, Workflow
from handrail.engine.options import here
from handrail.engine.walk import assigned_by, capped, target_of


class Prospect(StrEnum):
    """How it stands with a way: it can be taken, that is not known yet, or something keeps it shut."""

    OPEN = "open"
    UNSURE = "unsure"
    SHUT = "shut"


class Because(StrEnum):
    """What a way depends on, or what keeps it shut."""

    GUARD = "guard"
    RESTS = "rests"
    MAYBE = "maybe"
    UNKNOWN = "unknown"
    NO_STATE = "no_state"
    SPENT = "spent"
    WRONG = "wrong"
    REFUSES = "refuses"
    TAKEN = "taken"


class Reason(Struct, frozen=True):
    """One such thing: `name` is the lifecycle, row, variable or state that it is about.

    `guards` are by their text: the one that it is, or those of the row.
    """

    kind: Because
    name: str = ""
    guards: tuple[str, ...] = ()


class Way(Struct, frozen=True):
    """A row that leaves a state, for where it leads now; `target` is empty if that is derived or nowhere.

    `why` is what it depends on, or what keeps it shut.
    """

    source: str
    target: str
    row: str
    trigger: str | None
    prospect: Prospect
    why: tuple[Reason, ...] = ()


def ways(workflow: Workflow, run: Run, facts: Mapping[str, Value]) -> tuple[Way, ...]:
    """Every way out of the open steps, and on through the routers behind it, in the order of the rows.

    Told without a payload, as `options` are: what depends on one is unsure. A row that refuses is no way,
    but it shuts those after it. Behind a row, variables are what it sets.
    """
    rests = () if after(run.lifecycle, CONTINUE) is not None else (Reason(Because.RESTS, run.lifecycle),)
    found: list[Way] = []
    for step in here(workflow, run, facts):
        for (state, trigger), rows in workflow.index.items():
            if state == step.state and trigger is not None:
                at = Stand(workflow, Event(trigger), facts, run, step)
                found += _leaving(_Place(at, rests, frozenset()), rows)
    return tuple(dict.fromkeys(found))


class _Place(Struct, frozen=True):
    """Where the rows are looked at from: `shut` is what shuts all of them, `passed` the routers before."""

    at: Stand
    shut: tuple[Reason, ...]
    passed: frozenset[str]
    unsure: tuple[Reason, ...] = ()

    def facts(self) -> FactsOf:
        """The facts as they are here; what comes with the event is not known yet."""
        at = self.at
        tool = at.workflow.tools.get(at.event.trigger)
        brings = {f"event.{name}": PENDING for name in tool.params} if tool else {}
        output = at.workflow.states[at.step.state].outputs
        known = seen_by(at)
        unset = [name for name, value in at.run.vars.items() if value is PENDING]

        def facts(scope: str) -> Mapping[str, Value]:
            own = [name for name in unset if name.startswith(scope)]
            held = {f"run.vars.{name.removeprefix(scope)}": PENDING for name in own}
            return {**dict.fromkeys(output, PENDING), **brings, **known(scope), **held}

        return facts


def _leaving(place: _Place, rows: Sequence[Transition]) -> Iterator[Way]:
    """The ways by these rows, which are tried in order: each may keep those after it from being reached."""
    facts = place.facts()
    open_, closed = possible(rows, facts)
    tried = {one.row.id: one for one in (*open_, *closed)}
    shut, unsure = place.shut, place.unsure
    for row in rows:
        one = tried[row.id]
        if row.refuse:
            spent = False
        else:
            spent = capped(place.at, row, facts)
            way = _way(place, one, facts, shut or _keeps(place, one, facts), unsure)
            yield way
            if way.prospect is not Prospect.SHUT:
                yield from _behind(place, row, way, facts)
        if one.verdict is Verdict.FAILS or spent or shut:
            continue
        if one.verdict is Verdict.PENDING or (one.verdict is Verdict.HOLDS and row.accept):
            unsure = (*unsure, Reason(Because.MAYBE, row.id))
        else:
            shut = (_before(one),)


def _way(
    place: _Place, one: Tried, facts: FactsOf, shut: tuple[Reason, ...], unsure: tuple[Reason, ...]
) -> Way:
    row = one.row
    target = target_of(place.at, row, facts)
    name = target if isinstance(target, str) and target in place.at.workflow.states else ""
    asks = [_guarded(guard) for guard in (*one.guards_that(Verdict.PENDING), *row.accept)]
    asks += [Reason(Because.UNKNOWN)] if target is PENDING else []
    waits = (*asks, *unsure)
    prospect = Prospect.SHUT if shut else Prospect.UNSURE if waits else Prospect.OPEN
    return Way(place.at.step.state, name, row.id, row.trigger, prospect, shut or waits)


def _keeps(place: _Place, one: Tried, facts: FactsOf) -> tuple[Reason, ...]:
    """What keeps a row from being taken, if it is reached."""
    row = one.row
    wrong = one.guards_that(Verdict.FAILS) or one.guards_that(Verdict.ERROR)
    if wrong:
        return tuple(map(_guarded, wrong))
    workflow, target = place.at.workflow, target_of(place.at, row, facts)
    if isinstance(row.to, ToVariable) and target is not PENDING and target not in workflow.states:
        return (Reason(Because.NO_STATE, row.to.name),)
    if capped(place.at, row, facts):
        return (Reason(Because.SPENT, str(target)),)
    return ()


def _guarded(guard: Guard) -> Reason:
    return Reason(Because.GUARD, guards=(guard.text,))


def _before(one: Tried) -> Reason:
    """Why no row after this one is reached."""
    row = one.row
    kind = Because.REFUSES if row.refuse else Because.TAKEN
    if one.verdict is Verdict.ERROR:
        kind = Because.WRONG
    return Reason(kind, row.id, tuple(guard.text for guard in row.when))


def _behind(place: _Place, row: Transition, way: Way, facts: FactsOf) -> Iterator[Way]:
    """The ways on from where this one leads, if that is a router, which is left at once."""
    at, workflow = place.at, place.at.workflow
    router = way.target in workflow.states and workflow.states[way.target].router
    if not router or isinstance(row.to, Stay) or way.target in place.passed:
        return
    view = facts(row.scope)
    changed = {name: value for _, name, value in assigned_by(at, row, view)}
    onward = replace(
        place,
        at=replace(at, run=replace(at.run, vars={**at.run.vars, **changed}), step=Step(0, way.target, 0)),
        passed=place.passed | {way.target},
        unsure=way.why,
    )
    yield from _leaving(onward, workflow.index.get((way.target, None), ()))
