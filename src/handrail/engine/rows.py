"""Compile the rows of each state and trigger once, read the facts they name, and evaluate their guards.

A compiled row reads only the facts its guards name, one by one. `compile_rows` makes the table that a
decision looks rows up in; `evaluate_when` and `evaluate_accept` keep every outcome, for callers that explain
a refusal.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from handrail.engine.contract import get_output_name, read_output_fact
from handrail.engine.facts import PENDING, Fact, Kind, Provenance, Type, Value
from handrail.engine.guards import (
    ABSENT,
    CACHEABLE_TYPES,
    ERROR,
    FAILS,
    HOLDS,
    Guard,
    Outcome,
    Verdict,
    evaluate_guard,
    evaluate_guard_values,
    is_cacheable,
)
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import (
    AGENT,
    Actor,
    Contract,
    Event,
    FactReading,
    Move,
    Refused,
    Run,
    State,
    Stay,
    Step,
    ToState,
    Transition,
    Variable,
    Workflow,
)
from handrail.engine.refusals import RefusalCode

RUN_FACTS = (
    Fact("run.state", Type(Kind.STATE), Provenance.MEASURED, "the state the run is in"),
    Fact(
        "run.attempts",
        Type(Kind.INT),
        Provenance.MEASURED,
        "how often this run has opened a step in this state, the current one included",
        domain=(1, 2),
    ),
    Fact("run.open", Type(Kind.INT), Provenance.MEASURED, "how many of its steps are open", domain=(1, 2)),
)

EVENT_FACTS = (
    Fact(
        "event.by",
        Type(Kind.STRING),
        Provenance.MEASURED,
        "who sent the event",
        domain=tuple(str(who) for who in Actor),
        closed=True,
    ),
    Fact("event.note", Type(Kind.STRING), Provenance.CLAIMED, "the note that came with the event, or empty"),
)


class DecisionContext(Struct, frozen=True, gc=False):
    """What a decision is based on: a run in one of its steps, an event, and the facts of the world."""

    workflow: Workflow
    event: Event
    facts: Mapping[str, Value]
    run: Run
    step: Step


FactReader: TypeAlias = Callable[[DecisionContext], Value]
"""A function that reads one fact."""


def read_known_facts(context: DecisionContext, scope: str) -> dict[str, Value]:
    """Return the facts `run.*`, `event.by` and `event.note`, as rows of this scope name them."""
    return {fact: read(context) for fact, read in get_known_readers(context.workflow, scope).items()}


def get_known_readers(workflow: Workflow, scope: str) -> Mapping[str, FactReader]:
    """Return the readers of these facts by name, cached per workflow and scope."""
    if (get_known_readers, scope) not in workflow.memo:
        workflow.memo[get_known_readers, scope] = {
            "run.state": lambda at: at.step.state.removeprefix(scope),
            "run.attempts": lambda at: at.step.attempt,
            "run.open": lambda at: len(at.run.open),
            "event.by": lambda at: str(at.event.by),
            "event.note": lambda at: at.event.note,
            **dict(_list_variable_readers(workflow, scope)),
            **{f"run.inputs.{name}": _make_input_reader(name) for name in workflow.inputs},
        }
    readers: Mapping[str, FactReader] = workflow.memo[get_known_readers, scope]
    return readers


def _list_variable_readers(workflow: Workflow, scope: str) -> Iterator[tuple[str, FactReader]]:
    for name, variable in workflow.vars.items():
        short = name.removeprefix(scope)
        if name.startswith(scope) and "/" not in short:
            holds_state = variable.type.kind is Kind.STATE
            yield (
                f"run.vars.{short}",
                _make_state_reader(name, scope) if holds_state else _make_variable_reader(name),
            )


def _make_variable_reader(name: str) -> FactReader:
    return lambda at: at.run.vars.get(name)


def _make_input_reader(name: str) -> FactReader:
    return lambda at: at.run.inputs.get(name)


def _make_state_reader(name: str, scope: str) -> FactReader:
    """Make a reader of a variable that holds a state's name.

    It reads None if the workflow has no such state, because people edit state files.
    """

    def read(at: DecisionContext) -> Value:
        value = at.run.vars.get(name)
        return value.removeprefix(scope) if isinstance(value, str) and value in at.workflow.states else None

    return read


def read_claimed_facts(context: DecisionContext, state: str) -> dict[str, Value]:
    """Return the facts `output.*` and `event.*` from the event's payload, which must be valid."""
    return {
        fact: read(context)
        for fact, read in get_claimed_readers(context.workflow, state, context.event.trigger).items()
    }


def get_claimed_readers(workflow: Workflow, state: str, trigger: str) -> Mapping[str, FactReader]:
    """Return the readers of these facts by name."""
    if trigger == CONTINUE and workflow.states[state].brief is not None:
        return {name: _make_output_reader(fact) for name, fact in workflow.states[state].outputs.items()}
    if trigger in workflow.tools:
        params = workflow.tools[trigger].params
        return {f"event.{name}": _make_param_reader(name, param.default) for name, param in params.items()}
    return {}


def _make_output_reader(fact: Fact) -> FactReader:
    name = get_output_name(fact)
    return lambda at: read_output_fact(fact, at.event.payload.get(name))


def _make_param_reader(name: str, default: Value) -> FactReader:
    return lambda at: at.event.payload.get(name, default)


GuardEvaluator: TypeAlias = Callable[[DecisionContext], Verdict]
"""A function that returns the combined verdict of some guards for a context."""


class CompiledRow(Struct, frozen=True):
    """A row of a state, with an evaluator for its `when` and one for all its guards; None if there is none.

    `target` is the state it leads to and `move` the move there; None if they depend on the run. It is
    `limited` if the target's attempts may be used up. A row that `stays` opens no step.
    """

    row: Transition
    when: GuardEvaluator | None
    guards: GuardEvaluator | None
    target: State | None
    move: Move | None
    limited: bool
    stays: bool


class TriggerSpec(Struct, frozen=True):
    """What a state defines for a trigger: its rows in order, who may send it, and what payload it needs.

    Anyone may send it if `who` is None. The payload is checked against the contract or, without one, against
    `params`; those are None if no tool sends the trigger.
    """

    rows: tuple[CompiledRow, ...]
    who: Actor | None
    contract: Contract | None
    params: Mapping[str, Variable] | None


def compile_rows(workflow: Workflow) -> Mapping[tuple[str, str], TriggerSpec]:
    """Return what each state defines for each trigger that it has a row for.

    Only `accept` reads the payload.
    """
    specs = {}
    for state, trigger in workflow.index:
        if trigger is None:
            continue
        tool = workflow.tools.get(trigger)
        brief = workflow.states[state].brief if trigger == CONTINUE else None
        specs[state, trigger] = TriggerSpec(
            _compile_rows(workflow, state, trigger, {}, get_claimed_readers(workflow, state, trigger)),
            tool.who if tool and tool.who is not AGENT else None,
            brief.contract if brief else None,
            tool.params if tool else None,
        )
    return specs


def get_router_rows(workflow: Workflow, router: str, trigger: str) -> tuple[CompiledRow, ...]:
    """Return the rows of a router reached on this trigger. All their guards may read the payload."""
    rows: tuple[CompiledRow, ...] | None = workflow.memo.get((get_router_rows, router, trigger))
    if rows is None:
        payload = get_claimed_readers(workflow, router, trigger)
        rows = workflow.memo[get_router_rows, router, trigger] = _compile_rows(
            workflow, router, None, payload, payload
        )
    return rows


def _compile_rows(
    workflow: Workflow,
    state: str,
    trigger: str | None,
    when_readers: Mapping[str, FactReader],
    accept_readers: Mapping[str, FactReader],
) -> tuple[CompiledRow, ...]:
    rows = workflow.index.get((state, trigger), ())
    return tuple([_compile_row(workflow, state, row, when_readers, accept_readers) for row in rows])


def _compile_row(
    workflow: Workflow,
    state: str,
    row: Transition,
    when_readers: Mapping[str, FactReader],
    accept_readers: Mapping[str, FactReader],
) -> CompiledRow:
    known = get_known_readers(workflow, row.scope)
    when, accept = (
        _build_evaluators(row.when, {**known, **when_readers}),
        _build_evaluators(row.accept, {**known, **accept_readers}),
    )
    stays = isinstance(row.to, Stay)
    to = row.to.name if isinstance(row.to, ToState) else state if stays else ""
    target = workflow.states.get(to)
    return CompiledRow(
        row,
        _combine_evaluators(when),
        _combine_evaluators([*when, *accept]),
        target,
        Move(row.id, state, target.name) if target else None,
        not stays and (target is None or target.attempts > 0),
        stays or bool(workflow.derive),
    )


def _build_evaluators(guards: tuple[Guard, ...], known: Mapping[str, FactReader]) -> list[GuardEvaluator]:
    """Build an evaluator for each guard; a fact without a reader in `known` is read from the world."""
    evaluators = []
    for guard in guards:
        readers = tuple([known.get(fact.name) or _make_world_reader(fact.name) for fact in guard.facts])
        evaluators.append(
            _make_single_fact_evaluator(guard, *readers)
            if len(readers) == 1
            else _make_evaluator(guard, readers)
        )
    return evaluators


def _make_world_reader(name: str) -> FactReader:
    return lambda at: at.facts.get(name, ABSENT)


def _make_single_fact_evaluator(guard: Guard, read: FactReader) -> GuardEvaluator:
    """Make the evaluator for a guard about one fact. Most guards are, and their outcome is cached."""
    cache = guard.outcome_cache

    def evaluate(at: DecisionContext) -> Verdict:
        value: Value = read(at)
        kind = value.__class__
        outcome = cache.get((kind, value)) if kind in CACHEABLE_TYPES or is_cacheable(value) else None
        return (outcome or evaluate_guard_values(guard, (value,))).verdict

    return evaluate


def _make_evaluator(guard: Guard, readers: tuple[FactReader, ...]) -> GuardEvaluator:
    return lambda at: evaluate_guard_values(guard, [read(at) for read in readers]).verdict


def _combine_evaluators(evaluators: list[GuardEvaluator]) -> GuardEvaluator | None:
    """Return one evaluator for all of these; None without any."""
    if len(evaluators) < 2:
        return evaluators[0] if evaluators else None
    return lambda at: combine_verdicts([evaluate(at) for evaluate in evaluators])


def evaluate_guards(guards: Sequence[Guard], facts: Mapping[str, Value]) -> tuple[Outcome, ...]:
    """Return the outcome of each guard, in order."""
    return tuple([evaluate_guard(guard, facts) for guard in guards])


def combine_outcomes(outcomes: Sequence[Outcome]) -> Verdict:
    """Combine the verdicts of a list of guards with "and"."""
    return combine_verdicts([outcome.verdict for outcome in outcomes])


def combine_verdicts(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict that decides: any failure first, then an error, then pending."""
    combined: Verdict = HOLDS
    for verdict in verdicts:
        if verdict is FAILS:
            return verdict
        if verdict is ERROR or combined is HOLDS:
            combined = verdict
    return combined


ScopedFacts: TypeAlias = Callable[[str], Mapping[str, Value]]
"""A function that returns the facts as the rows of a scope name them."""


class EvaluatedRow(Struct, frozen=True):
    """A row, the outcomes of its guards, and their combined verdict."""

    row: Transition
    guards: tuple[Guard, ...]
    outcomes: tuple[Outcome, ...]
    verdict: Verdict

    def guards_with(self, verdict: Verdict) -> tuple[Guard, ...]:
        """Return the guards with this verdict."""
        return tuple(g for g, o in zip(self.guards, self.outcomes, strict=True) if o.verdict is verdict)


def scope_facts(context: DecisionContext) -> ScopedFacts:
    """Return the facts by scope, without the event's payload."""
    views: dict[str, Mapping[str, Value]] = {}

    def facts(scope: str) -> Mapping[str, Value]:
        if scope not in views:
            views[scope] = {**context.facts, **read_known_facts(context, scope)}
        return views[scope]

    return facts


def scope_facts_with_payload(context: DecisionContext) -> ScopedFacts:
    """Return the facts by scope, with the event's payload, which must be valid."""
    before, views = scope_facts(context), dict[str, Mapping[str, Value]]()

    def facts(scope: str) -> Mapping[str, Value]:
        if scope not in views:
            views[scope] = {**before(scope), **read_claimed_facts(context, context.step.state)}
        return views[scope]

    return facts


def partition_rows(
    rows: Sequence[Transition], facts: ScopedFacts
) -> tuple[tuple[EvaluatedRow, ...], tuple[EvaluatedRow, ...]]:
    """Return the rows whose `when` does not fail, in order, and those whose `when` fails."""
    evaluated = [evaluate_when(row, facts) for row in rows]
    return (
        tuple(candidate for candidate in evaluated if candidate.verdict is not FAILS),
        tuple(candidate for candidate in evaluated if candidate.verdict is FAILS),
    )


def evaluate_when(row: Transition, facts: ScopedFacts) -> EvaluatedRow:
    """Evaluate the `when` of a row."""
    outcomes = evaluate_guards(row.when, facts(row.scope)) if row.when else ()
    return EvaluatedRow(row, row.when, outcomes, combine_outcomes(outcomes))


def evaluate_accept(candidate: EvaluatedRow, facts: ScopedFacts) -> EvaluatedRow:
    """Evaluate the `accept` of a row whose `when` is evaluated, and return both."""
    row = candidate.row
    if not row.accept:
        return candidate
    outcomes = (*candidate.outcomes, *evaluate_guards(row.accept, facts(row.scope)))
    return EvaluatedRow(row, (*candidate.guards, *row.accept), outcomes, combine_outcomes(outcomes))


def read_guard_facts(guards: Sequence[Guard], facts: Mapping[str, Value]) -> tuple[FactReading, ...]:
    """Return the facts that these guards name, as they were read, each once."""
    names = dict.fromkeys(fact.name for guard in guards for fact in guard.facts)
    return tuple(FactReading(name, facts.get(name)) for name in names)


def describe_needed(guard: Guard) -> str:
    """Describe what would make a guard hold: its values if at most three do, otherwise its own text."""
    if len(guard.facts) != 1 or not guard.facts[0].closed:
        return guard.text
    (fact,) = guard.facts
    holding = [
        value for value in fact.domain if evaluate_guard(guard, {fact.name: value}).verdict is Verdict.HOLDS
    ]
    if not 0 < len(holding) <= 3:
        return guard.text
    return f"{fact.name} = {' or '.join(json.dumps(value) for value in holding)}"


def find_pending_facts(tried: EvaluatedRow, facts: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the facts that the guards of a row wait for."""
    names = (fact.name for guard in tried.guards_with(Verdict.PENDING) for fact in guard.facts)
    return tuple(dict.fromkeys(name for name in names if facts.get(name) is PENDING))


def refuse_guard_error(tried: EvaluatedRow, facts: ScopedFacts) -> Refused:
    """Refuse because a guard gave an error. It never passes, and no later row is taken instead."""
    guard = tried.guards_with(Verdict.ERROR)[0]
    error = tried.outcomes[tried.guards.index(guard)].error
    return Refused(
        RefusalCode.GUARD_ERROR,
        tried.row.id,
        (*read_guard_facts((guard,), facts(tried.row.scope)), FactReading("guard.error", error)),
        (f"`{guard.text}` that can be evaluated",),
    )


def refuse_by_row(row: Transition, facts: ScopedFacts) -> Refused:
    """Build the refusal of a row that refuses."""
    guards = (*row.when, *row.accept)
    return Refused(RefusalCode.REFUSED, row.id, read_guard_facts(guards, facts(row.scope)), say=row.refuse)


def refuse_unmet(code: RefusalCode, tried: Sequence[EvaluatedRow], facts: ScopedFacts) -> Refused:
    """Refuse because no row holds: list each failed guard, the facts it read, and what it needs."""
    seen: dict[str, Value] = {}
    needed: list[str] = []
    for attempt in tried:
        failed = attempt.guards_with(Verdict.FAILS)
        view = facts(attempt.row.scope)
        seen |= {fact.fact: fact.value for fact in read_guard_facts(failed, view)}
        seen |= {
            f"{name}.problems": view[f"{name}.problems"]
            for name in _find_drafts_with_problems(failed, attempt.row, view)
        }
        needed += [describe_needed(guard) for guard in failed]
    return Refused(
        code,
        ", ".join(attempt.row.id for attempt in tried),
        tuple(FactReading(name, value) for name, value in seen.items()),
        tuple(dict.fromkeys(needed)),
    )


def _find_drafts_with_problems(
    guards: Sequence[Guard], row: Transition, view: Mapping[str, Value]
) -> Iterator[str]:
    """Yield the drafts these guards read that have `problems`, which say why an edit failed."""
    read = {fact.name for guard in guards for fact in guard.facts}
    for name, _ in row.drafts:
        if f"{name}.problems" in view and any(fact.startswith(f"{name}.") for fact in read):
            yield name
