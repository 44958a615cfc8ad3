"""Decide what an event does to a run, and which triggers and rows are open to it now.

Start reading at `decide`. `find_options` lists the triggers that would not be refused; `find_ways` explains
every row that leaves the open steps. All functions are pure: the caller reads the facts and stores the
result.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from handrail.engine import lifecycle
from handrail.engine.contract import (
    WHOLE_OUTPUT,
    find_mismatches,
    find_violations,
    get_value_at,
    is_allowed_value,
)
from handrail.engine.facts import PENDING, Value, find_value_flaws, is_valid_value, to_printable
from handrail.engine.guards import ERROR, FAILS, HOLDS, Guard, Verdict
from handrail.engine.lifecycle import CONTINUE, LIFECYCLE_TABLE, RESERVED_TRIGGERS, START, get_next_lifecycle
from handrail.engine.model import (
    RUNNING,
    Accepted,
    Actor,
    Decision,
    Effect,
    Event,
    FactReading,
    FactReference,
    Lifecycle,
    LiteralValue,
    Move,
    Option,
    Refused,
    Run,
    State,
    Stay,
    Step,
    ToDerived,
    ToState,
    ToVariable,
    Transition,
    Variable,
    Waiting,
    Workflow,
)
from handrail.engine.refusals import RefusalCode
from handrail.engine.rows import (
    CompiledRow,
    DecisionContext,
    EvaluatedRow,
    ScopedFacts,
    TriggerSpec,
    compile_rows,
    evaluate_accept,
    evaluate_when,
    find_pending_facts,
    get_router_rows,
    partition_rows,
    refuse_by_row,
    refuse_guard_error,
    refuse_unmet,
    scope_facts,
    scope_facts_with_payload,
)

_VARS_PREFIX = "run.vars."


def decide(workflow: Workflow, run: Run, event: Event, facts: Mapping[str, Value]) -> Decision:
    """Decide what this event does to this run.

    `facts` are the facts of the world; the engine adds the facts about the run and the event itself. Pure and
    total: the same arguments give the same decision, and a refusal leaves the run unchanged.
    """
    decision = _decide_event(workflow, run, event, facts)
    if not isinstance(decision, Refused):
        return decision
    seen = tuple(FactReading(reading.fact, to_printable(reading.value)) for reading in decision.seen)
    return replace(decision, seen=seen, next=_find_next_options(workflow, run, facts))


def is_message_only(workflow: Workflow, before: Run, decision: Decision) -> bool:
    """True if the row that was taken only says something and the run is unchanged."""
    if not isinstance(decision, Accepted) or decision.run != before:
        return False
    taken = {move.row for move in decision.moves}
    return any(row.only_says for row in workflow.rows if row.id in taken)


def _decide_event(workflow: Workflow, run: Run, event: Event, facts: Mapping[str, Value]) -> Decision:
    if event.note and (refused := _check_flaws("event.note", event.note)):
        return refused
    if run.lifecycle is not RUNNING or event.trigger in RESERVED_TRIGGERS:
        decision = _decide_by_lifecycle(workflow, run, event, facts)
        if decision is not None:
            return decision
    step_number, open_ = event.step, find_open_steps(workflow, run, facts) if workflow.derive else run.open
    if len(open_) == 1 and (step_number is None or step_number == open_[0].number):
        return _decide_by_rows(DecisionContext(workflow, event, facts, run, open_[0]))
    step = _find_step(open_, step_number)
    return (
        step
        if isinstance(step, Refused)
        else _decide_by_rows(DecisionContext(workflow, event, facts, run, step))
    )


def _decide_by_lifecycle(
    workflow: Workflow, run: Run, event: Event, facts: Mapping[str, Value]
) -> Decision | None:
    """Decide by the lifecycle table; None if the rows decide."""
    after = lifecycle.get_next_lifecycle(run.lifecycle, _lifecycle_trigger(event.trigger))
    if after is None:
        return _refuse_not_running(run, event)
    if event.trigger == lifecycle.START:
        return _start_run(workflow, run, event, facts)
    return _control_run(run, event, after) if event.trigger in lifecycle.CONTROL_TRIGGERS else None


def _lifecycle_trigger(trigger: str) -> str:
    return trigger if trigger in RESERVED_TRIGGERS else lifecycle.CONTINUE


def _refuse_not_running(run: Run, event: Event) -> Refused:
    wanted = [
        str(state)
        for state, row in lifecycle.LIFECYCLE_TABLE.items()
        if _lifecycle_trigger(event.trigger) in row
    ]
    seen = (FactReading("run.lifecycle", str(run.lifecycle)),)
    return Refused(RefusalCode.NOT_RUNNING, "lifecycle", seen, (f"run.lifecycle = {' or '.join(wanted)}",))


def _start_run(workflow: Workflow, run: Run, event: Event, facts: Mapping[str, Value]) -> Decision:
    given = event.payload
    refused = _check_arguments(workflow, lifecycle.START, workflow.inputs, given)
    if refused is not None:
        return refused
    started = replace(
        run,
        lifecycle=Lifecycle.RUNNING,
        inputs={name: given.get(name, declared.default) for name, declared in workflow.inputs.items()},
        vars={name: declared.default for name, declared in workflow.vars.items()},
    )
    if workflow.derive:
        return Accepted(started)
    return enter_first_state(
        DecisionContext(workflow, event, facts, started, Step(0, workflow.initial, 0)), run
    )


def _control_run(run: Run, event: Event, after: Lifecycle) -> Decision:
    if event.trigger in lifecycle.TRIGGERS_NEEDING_REASON and not event.note.strip():
        return Refused(
            RefusalCode.REASON,
            event.trigger,
            (FactReading("event.note", event.note),),
            ("a reason as event.note",),
        )
    open_ = () if lifecycle.is_terminal(after) else run.open
    return Accepted(replace(run, lifecycle=after, open=open_, reason=event.note))


def _find_step(open_: tuple[Step, ...], number: int | None) -> Step | Refused:
    """Return the open step with this number, or a refusal if it is not clear which step is meant."""
    steps = [step for step in open_ if step.number == number]
    if len(steps) == 1:
        return steps[0]
    numbers = ", ".join([str(step.number) for step in open_])
    return Refused(
        RefusalCode.WHICH_STEP, "open steps", (FactReading("event.step", number),), (f"one of {numbers}",)
    )


def _decide_by_rows(context: DecisionContext) -> Decision:
    event = context.event
    spec = get_trigger_spec(context.workflow, context.step.state, event.trigger)
    if spec is None:
        return _refuse_no_row(context)
    if spec.who is not None and spec.who is not event.by:
        by = FactReading("event.by", str(event.by))
        return Refused(RefusalCode.NOT_YOURS, event.trigger, (by,), (f"event.by = {spec.who}",))
    if event.payload or spec.contract or spec.params:
        refused = _check_payload(context, spec)
        if refused is not None:
            return refuse_if_closed(context, spec.rows) or refused
    return walk_rows(context, spec.rows)


def get_trigger_spec(workflow: Workflow, state: str, trigger: str) -> TriggerSpec | None:
    """Return what this state defines for the trigger, or None if it has no row.

    The rows of a workflow are compiled with the first decision about it.
    """
    specs: Mapping[tuple[str, str], TriggerSpec] | None = workflow.memo.get((compile_rows,))
    if specs is None:
        specs = workflow.memo[compile_rows,] = compile_rows(workflow)
    return specs.get((state, trigger))


def _refuse_no_row(context: DecisionContext) -> Refused:
    workflow, state = context.workflow, context.step.state
    if state in workflow.states:
        seen = (FactReading("run.state", state), FactReading("event.trigger", context.event.trigger))
        return Refused(RefusalCode.NO_ROW, state, seen, ("a trigger that is open here",))
    derive = workflow.derive
    reading = FactReading(derive, context.facts.get(derive)) if derive else FactReading("run.state", state)
    return Refused(RefusalCode.UNKNOWN_STATE, "states", (reading,), (f"a state of `{workflow.name}`",))


def _check_payload(context: DecisionContext, spec: TriggerSpec) -> Refused | None:
    """Return a refusal if the event's payload is unusable, before any row reads it."""
    trigger, given, state = context.event.trigger, context.event.payload, context.step.state
    if spec.contract is None:
        if spec.params is None:
            return _check_flaws(trigger, dict(given))
        return _check_arguments(context.workflow, trigger, spec.params, given)
    violations = find_violations(spec.contract, given)
    if not violations:
        return None
    paths = dict.fromkeys(violation.path for violation in violations)
    seen = tuple(
        FactReading(f"output.{path}" if path != WHOLE_OUTPUT else WHOLE_OUTPUT, get_value_at(given, path))
        for path in paths
    )
    return Refused(RefusalCode.CONTRACT, state, seen, tuple(f"{v.path} {v.message}" for v in violations))


def _check_arguments(
    workflow: Workflow, rule: str, declared: Mapping[str, Variable], given: Mapping[str, Value]
) -> Refused | None:
    wrong = tuple(find_mismatches(declared, given, workflow.states))
    if not wrong:
        return None
    seen = tuple(FactReading(name, value) for name, value, _ in wrong)
    return Refused(RefusalCode.ARGUMENTS, rule, seen, tuple(f"{name}: {needed}" for name, _, needed in wrong))


def _check_flaws(rule: str, value: Value) -> Refused | None:
    """Return a refusal if an undeclared value could not be stored."""
    if is_valid_value(value):
        return None
    flaws = tuple(f"{path.removeprefix('.') or rule} {why}" for path, why in find_value_flaws(value))
    return Refused(RefusalCode.ARGUMENTS, rule, (FactReading(rule, value),), flaws)


def _find_next_options(workflow: Workflow, run: Run, facts: Mapping[str, Value]) -> tuple[Option, ...]:
    """Return what may be called instead.

    For a running run these are its options, otherwise the triggers that the lifecycle allows.
    """
    return (
        find_options(workflow, run, facts)
        if run.lifecycle is Lifecycle.RUNNING
        else find_lifecycle_options(run)
    )


class TurnProgress(Struct, frozen=True):
    """What happened so far in this turn: the run and step the event was sent to, and the rows taken since."""

    origin: Run
    step: Step
    moves: tuple[Move, ...] = ()
    effects: tuple[Effect, ...] = ()
    says: tuple[str, ...] = ()


def enter_first_state(context: DecisionContext, run: Run) -> Decision:
    """Put the started run into the workflow's first state, or where a router there leads.

    A run that has to wait in that router has not started: it stays as `run` was, and `start` may be sent
    again.
    """
    first = context.workflow.states[context.step.state]
    if first.router:
        return _pass_router(context, TurnProgress(run, context.step), first.name)
    return Accepted(_enter_state(context.run, context.step, first))


def refuse_if_closed(context: DecisionContext, rows: tuple[CompiledRow, ...]) -> Refused | None:
    """Return why none of these rows is open, whatever the payload; None if one is open."""
    candidates = _find_candidates(context, [compiled.row for compiled in rows])
    return candidates if isinstance(candidates, Refused) else None


def walk_rows(
    context: DecisionContext, rows: tuple[CompiledRow, ...], progress: TurnProgress | None = None
) -> Decision:
    """Take the first of these rows whose guards hold, and return the decision. The payload is already valid.

    Rows that lead to a state without attempts left come last. `progress` is None on the first row of a turn.
    """
    exhausted: list[tuple[Transition, Verdict]] = []
    for compiled in rows:
        verdict = compiled.guards(context) if compiled.guards else HOLDS
        if verdict is FAILS:
            continue
        if compiled.limited and is_target_exhausted(context, compiled.row, scope_facts_with_payload(context)):
            exhausted.append((compiled.row, verdict))
        elif verdict is HOLDS:
            return _take_row(context, progress, compiled)
        else:
            return _refuse_or_wait(context, progress, compiled.row, verdict)
    if exhausted:
        row, verdict = exhausted[0]
        return (
            _fail_run(context, progress, row)
            if verdict is HOLDS
            else _refuse_or_wait(context, progress, row, verdict)
        )
    return _refuse_untaken(context, [compiled.row for compiled in rows])


def _find_candidates(
    context: DecisionContext, rows: Sequence[Transition]
) -> tuple[EvaluatedRow, ...] | Refused:
    """Return the open rows, or the refusal that says why none is open.

    Only the rows of a router read the event's payload here.
    """
    routes = rows[0].trigger is None
    facts = scope_facts_with_payload(context) if routes else scope_facts(context)
    open_, closed = partition_rows(rows, facts)
    if open_:
        return open_
    return (
        refuse_unmet(RefusalCode.ROUTER_STUCK, closed, facts)
        if routes
        else refuse_unmet(RefusalCode.NOT_NOW, closed, facts)
    )


def _refuse_or_wait(
    context: DecisionContext, progress: TurnProgress | None, row: Transition, verdict: Verdict
) -> Decision:
    """Refuse or wait, because a guard of this row gave an error or is not known yet.

    No later row may be taken in its place.
    """
    facts = scope_facts_with_payload(context)
    candidate = evaluate_when(row, facts if row.trigger is None else scope_facts(context))
    evaluated = evaluate_accept(candidate, facts)
    if verdict is Verdict.ERROR:
        return refuse_guard_error(evaluated, facts)
    return _wait_for_facts(context, progress, row, find_pending_facts(evaluated, facts(row.scope)))


def _refuse_untaken(context: DecisionContext, rows: Sequence[Transition]) -> Refused:
    """Explain why no row takes the event; rows whose state has no attempts left come last."""
    candidates, facts = _find_candidates(context, rows), scope_facts_with_payload(context)
    if isinstance(candidates, Refused):
        return candidates
    exhausted = [candidate for candidate in candidates if is_target_exhausted(context, candidate.row, facts)]
    ordered = [*(candidate for candidate in candidates if candidate not in exhausted), *exhausted]
    return refuse_unmet(
        RefusalCode.NOT_ACCEPTED, [evaluate_accept(candidate, facts) for candidate in ordered], facts
    )


def _take_row(context: DecisionContext, progress: TurnProgress | None, compiled: CompiledRow) -> Decision:
    row, run, target, move = compiled.row, context.run, compiled.target, compiled.move
    if row.refuse:
        return refuse_by_row(row, scope_facts_with_payload(context))
    if target is None or move is None:
        target_name = resolve_target(context, row, scope_facts_with_payload(context))
        if target_name not in context.workflow.states:
            return Refused(
                RefusalCode.NO_TARGET, row.id, (FactReading("target", target_name),), ("a state to go to",)
            )
        target = context.workflow.states[str(target_name)]
        move = Move(row.id, context.step.state, target.name)
    if row.set:
        changed = _assign_variables(context, progress, row)
        if not isinstance(changed, Run):
            return changed
        run = changed
    left, effects = context.step, row.do
    moves: tuple[Move, ...] = (move,)
    says: tuple[str, ...] = (row.say,) if row.say else ()
    if progress:
        left, moves = progress.step, progress.moves + moves
        effects, says = progress.effects + effects, progress.says + says
    if compiled.stays:
        return Accepted(_stay_in_step(run, left, context.event), moves, effects, says)
    if target.router:
        origin = progress.origin if progress else context.run
        return _pass_router(
            replace(context, run=run), TurnProgress(origin, left, moves, effects, says), target.name
        )
    return Accepted(_enter_state(run, left, target), moves, effects, says)


def _assign_variables(
    context: DecisionContext, progress: TurnProgress | None, row: Transition
) -> Run | Decision:
    """Return the run with the variables this row sets, or the decision to wait or to refuse."""
    run = context.run
    assigned = resolve_assignments(context, row, scope_facts_with_payload(context)(row.scope))
    if awaited := tuple(fact for fact, _, value in assigned if value is PENDING):
        return _wait_for_facts(context, progress, row, awaited)
    if refused := _refuse_wrong_values(context.workflow, row, assigned):
        return refused
    return replace(run, vars={**run.vars, **{name: value for _, name, value in assigned}})


def _refuse_wrong_values(
    workflow: Workflow, row: Transition, assigned: tuple[tuple[str, str, Value], ...]
) -> Refused | None:
    """Return a refusal if a variable may not hold the value this row sets."""
    wrong = [
        entry
        for entry in assigned
        if not is_allowed_value(entry[2], workflow.vars[entry[1]], workflow.states)
    ]
    if not wrong:
        return None
    seen = tuple(FactReading(fact or name, value) for fact, name, value in wrong)
    return Refused(
        RefusalCode.WRONG_VALUE,
        row.id,
        seen,
        tuple(f"a value that `{name}` may hold" for _, name, _ in wrong),
    )


def _pass_router(context: DecisionContext, progress: TurnProgress, router: str) -> Decision:
    """Continue through the router that the rows taken so far have led to."""
    if any(move.source == router for move in progress.moves):
        return Refused(
            RefusalCode.ROUTER_LOOP,
            router,
            (FactReading("run.state", router),),
            ("a way that leaves the routers",),
        )
    rows = get_router_rows(context.workflow, router, context.event.trigger)
    if not rows:
        return Refused(
            RefusalCode.ROUTER_STUCK,
            router,
            (FactReading("run.state", router),),
            ("a row that leaves the router",),
        )
    return walk_rows(replace(context, step=Step(0, router, 0)), rows, progress)


def _stay_in_step(run: Run, step: Step, event: Event) -> Run:
    """Return the run after a row that stays in its step.

    The step keeps the event it holds, unless this event has the same trigger.
    """
    settled = step.held is not None and step.held.trigger == event.trigger
    remaining = (replace(step, held=None) if settled else step,) if step.number else ()
    return replace(
        run,
        open=_replace_step(run.open, step, remaining),
        steps=max(run.steps, step.number),
        attempts=run.attempts if step.number <= run.steps else {**run.attempts, step.state: step.attempt},
    )


def _enter_state(run: Run, left: Step, state: State) -> Run:
    """Return the run with a step in this state instead of `left`; ended if no step is open any more."""
    if state.terminal:
        open_ = _replace_step(run.open, left, ())
        ended = run.lifecycle if open_ else lifecycle.LIFECYCLE_TABLE[run.lifecycle][lifecycle.COMPLETE]
        return replace(run, lifecycle=ended, open=open_)
    name, number = state.name, run.steps + 1
    attempt = run.attempts.get(name, 0) + 1
    opened = (Step(number, name, attempt),)
    return Run(
        run.id,
        run.workflow,
        run.digest,
        run.lifecycle,
        opened if run.open == (left,) else _replace_step(run.open, left, opened),
        number,
        {**run.attempts, name: attempt},
        run.vars,
        run.inputs,
        run.reason,
    )


def _replace_step(open_: tuple[Step, ...], left: Step, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the open steps with `steps` in place of `left`, or appended if `left` is not open."""
    place = open_.index(left) if left in open_ else len(open_)
    return (*open_[:place], *steps, *open_[place + 1 :])


def _wait_for_facts(
    context: DecisionContext, progress: TurnProgress | None, row: Transition, awaited: tuple[str, ...]
) -> Waiting:
    origin, step = (progress.origin, progress.step) if progress else (context.run, context.step)
    open_ = tuple(replace(s, held=context.event) if s == step else s for s in origin.open)
    return Waiting(replace(origin, open=open_), row.id, awaited)


def _fail_run(context: DecisionContext, progress: TurnProgress | None, row: Transition) -> Accepted:
    """Fail the step and the run: every state that could be entered has no attempts left."""
    reason = f"row `{row.id}` leads to a state whose attempts are used up, and no other row is open"
    failed = lifecycle.LIFECYCLE_TABLE[context.run.lifecycle][lifecycle.FAIL]
    origin = progress.origin if progress else context.run
    return Accepted(replace(origin, lifecycle=failed, open=(), reason=reason))


def resolve_target(context: DecisionContext, row: Transition, facts: ScopedFacts) -> Value:
    """Return the name of the state this row leads to, or the value found in its place."""
    match row.to:
        case ToState(name):
            return name
        case ToVariable(name):
            return context.run.vars.get(name)
        case ToDerived(fact):
            return facts(row.scope).get(fact)
        case Stay():
            return context.step.state
        case _:
            assert_never(row.to)


def resolve_assignments(
    context: DecisionContext, row: Transition, view: Mapping[str, Value]
) -> tuple[tuple[str, str, Value], ...]:
    """Return (fact, variable, value) for each line of `set`.

    The fact is empty for a literal value. States are given by their full name.
    """
    assignments: list[tuple[str, str, Value]] = []
    for name, assigned in row.set:
        match assigned:
            case LiteralValue(value):
                assignments.append(("", name, value))
            case FactReference("run.state"):
                assignments.append((assigned.fact, name, context.step.state))
            case FactReference(fact) if fact.startswith(_VARS_PREFIX):
                assignments.append(
                    (fact, name, context.run.vars.get(row.scope + fact.removeprefix(_VARS_PREFIX)))
                )
            case FactReference(fact):
                assignments.append((fact, name, view.get(fact)))
            case _:
                assert_never(assigned)
    return tuple(assignments)


def is_target_exhausted(context: DecisionContext, row: Transition, facts: ScopedFacts) -> bool:
    """True if the row leads to a state that has no attempts left."""
    target = resolve_target(context, row, facts)
    state = context.workflow.states.get(target) if isinstance(target, str) else None
    if state is None or isinstance(row.to, Stay):
        return False
    return 0 < state.attempts <= context.run.attempts.get(state.name, 0)


def find_options(workflow: Workflow, run: Run, facts: Mapping[str, Value]) -> tuple[Option, ...]:
    """Return the triggers that are open to a run, over all its open steps, in the order of the rows.

    A trigger is open if one of its rows neither fails nor refuses before it reads the payload.
    """
    if CONTINUE not in LIFECYCLE_TABLE[run.lifecycle]:
        return ()
    options = {}
    for step in find_open_steps(workflow, run, facts):
        for state, trigger in workflow.index:
            if state != step.state or trigger is None:
                continue
            if not _is_closed(
                _find_deciding_row(DecisionContext(workflow, Event(trigger), facts, run, step)), run
            ):
                tool = workflow.tools.get(trigger)
                options[trigger] = Option(trigger, tool.who if tool else Actor.AGENT)
    return tuple(options.values())


def find_closed_tools(workflow: Workflow, run: Run, facts: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the tools that would be refused now, each with the name of the text of the refusing row.

    The text is empty if no row says why. The order is that of the workflow. A tool that only reads is never
    refused.
    """
    refused = {}
    for step in find_open_steps(workflow, run, facts):
        for trigger in (name for name, tool in workflow.tools.items() if not tool.reads):
            deciding = _find_deciding_row(DecisionContext(workflow, Event(trigger), facts, run, step))
            if _is_closed(deciding, run):
                refused[trigger] = deciding[0].refuse if deciding else ""
    return refused


def find_lifecycle_options(run: Run) -> tuple[Option, ...]:
    """Return what the lifecycle allows for a run that is not running."""
    return tuple(
        Option(word, Actor.AGENT if word == START else Actor.PERSON)
        for word in LIFECYCLE_TABLE[run.lifecycle]
    )


def find_open_steps(workflow: Workflow, run: Run, facts: Mapping[str, Value]) -> tuple[Step, ...]:
    """Return the open steps. If the state is derived, return one step made for this question only."""
    if workflow.derive:
        state = facts.get(workflow.derive)
        return (Step(0, state if isinstance(state, str) else "", 1),)
    return run.open


def _is_closed(deciding: tuple[Transition, Verdict] | None, run: Run) -> bool:
    return deciding is None or deciding[1] is ERROR or _is_refusal(*deciding, run)


def _find_deciding_row(context: DecisionContext) -> tuple[Transition, Verdict] | None:
    """Return the first row that decides if a trigger is open, whatever the payload; None if no row does."""
    spec = get_trigger_spec(context.workflow, context.step.state, context.event.trigger)
    for compiled in spec.rows if spec else ():
        row, verdict = compiled.row, compiled.when(context) if compiled.when else HOLDS
        if verdict is ERROR or (
            verdict is not FAILS and not (row.accept and _is_refusal(row, verdict, context.run))
        ):
            return row, verdict
    return None


def _is_refusal(row: Transition, verdict: Verdict, run: Run) -> bool:
    """True if taking the row refuses: it says so, or the variable that holds its target is empty."""
    nowhere = isinstance(row.to, ToVariable) and run.vars.get(row.to.name) is None
    return (bool(row.refuse) or nowhere) and verdict is HOLDS


class Availability(StrEnum):
    """Whether a row can be taken: yes, not known yet, or no."""

    OPEN = "open"
    UNSURE = "unsure"
    SHUT = "shut"


class ReasonKind(StrEnum):
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
    """One condition of a way: `name` is the lifecycle, row, variable or state that it is about.

    `guards` are texts of guards: the guard that decides, or all guards of the row.
    """

    kind: ReasonKind
    name: str = ""
    guards: tuple[str, ...] = ()


class Exit(Struct, frozen=True):
    """A row that leaves a state, and where it leads now.

    `target` is empty if it is derived or does not exist. `why` is what the way depends on, or what keeps it
    shut.
    """

    source: str
    target: str
    row: str
    trigger: str | None
    prospect: Availability
    why: tuple[Reason, ...] = ()


def find_exits(workflow: Workflow, run: Run, facts: Mapping[str, Value]) -> tuple[Exit, ...]:
    """Return every way out of the open steps, and on through routers, in the order of the rows.

    The payload is unknown, as in `find_options`: a way that depends on it is unsure. A row that refuses is
    not a way, but it shuts the rows after it. Behind a row, variables have the values that it sets.
    """
    not_running = (
        ()
        if get_next_lifecycle(run.lifecycle, CONTINUE) is not None
        else (Reason(ReasonKind.RESTS, run.lifecycle),)
    )
    ways: list[Exit] = []
    for step in find_open_steps(workflow, run, facts):
        for (state, trigger), rows in workflow.index.items():
            if state == step.state and trigger is not None:
                at = DecisionContext(workflow, Event(trigger), facts, run, step)
                ways += _find_ways_by_rows(_Position(at, not_running, frozenset()), rows)
    return tuple(dict.fromkeys(ways))


class _Position(Struct, frozen=True):
    """Where rows are evaluated from.

    `shut` are the reasons that shut all of them, `passed` the routers passed before.
    """

    at: DecisionContext
    shut: tuple[Reason, ...]
    passed: frozenset[str]
    unsure: tuple[Reason, ...] = ()

    def facts(self) -> ScopedFacts:
        """Return the facts at this position; what comes with the event is pending."""
        at = self.at
        tool = at.workflow.tools.get(at.event.trigger)
        pending_params = {f"event.{name}": PENDING for name in tool.params} if tool else {}
        outputs = at.workflow.states[at.step.state].outputs
        known = scope_facts(at)
        unset = [name for name, value in at.run.vars.items() if value is PENDING]

        def facts(scope: str) -> Mapping[str, Value]:
            own = [name for name in unset if name.startswith(scope)]
            pending_vars = {f"run.vars.{name.removeprefix(scope)}": PENDING for name in own}
            return {**dict.fromkeys(outputs, PENDING), **pending_params, **known(scope), **pending_vars}

        return facts


def _find_ways_by_rows(place: _Position, rows: Sequence[Transition]) -> Iterator[Exit]:
    """Yield the ways by these rows. Rows are tried in order, so each may shut those after it."""
    facts = place.facts()
    open_, closed = partition_rows(rows, facts)
    tried = {evaluated.row.id: evaluated for evaluated in (*open_, *closed)}
    shut, unsure = place.shut, place.unsure
    for row in rows:
        evaluated = tried[row.id]
        if row.refuse:
            exhausted = False
        else:
            exhausted = is_target_exhausted(place.at, row, facts)
            way = _build_way(
                place, evaluated, facts, shut or _find_obstacles(place, evaluated, facts), unsure
            )
            yield way
            if way.prospect is not Availability.SHUT:
                yield from _find_ways_through_router(place, row, way, facts)
        if evaluated.verdict is Verdict.FAILS or exhausted or shut:
            continue
        if evaluated.verdict is Verdict.PENDING or (evaluated.verdict is Verdict.HOLDS and row.accept):
            unsure = (*unsure, Reason(ReasonKind.MAYBE, row.id))
        else:
            shut = (_blocking_reason(evaluated),)


def _build_way(
    place: _Position,
    evaluated: EvaluatedRow,
    facts: ScopedFacts,
    shut: tuple[Reason, ...],
    unsure: tuple[Reason, ...],
) -> Exit:
    row = evaluated.row
    target = resolve_target(place.at, row, facts)
    name = target if isinstance(target, str) and target in place.at.workflow.states else ""
    conditions = [_guard_reason(guard) for guard in (*evaluated.guards_with(Verdict.PENDING), *row.accept)]
    conditions += [Reason(ReasonKind.UNKNOWN)] if target is PENDING else []
    all_conditions = (*conditions, *unsure)
    prospect = Availability.SHUT if shut else Availability.UNSURE if all_conditions else Availability.OPEN
    return Exit(place.at.step.state, name, row.id, row.trigger, prospect, shut or all_conditions)


def _find_obstacles(place: _Position, evaluated: EvaluatedRow, facts: ScopedFacts) -> tuple[Reason, ...]:
    """Return what keeps a row from being taken once it is reached."""
    row = evaluated.row
    wrong = evaluated.guards_with(Verdict.FAILS) or evaluated.guards_with(Verdict.ERROR)
    if wrong:
        return tuple(map(_guard_reason, wrong))
    workflow, target = place.at.workflow, resolve_target(place.at, row, facts)
    if isinstance(row.to, ToVariable) and target is not PENDING and target not in workflow.states:
        return (Reason(ReasonKind.NO_STATE, row.to.name),)
    if is_target_exhausted(place.at, row, facts):
        return (Reason(ReasonKind.SPENT, str(target)),)
    return ()


def _guard_reason(guard: Guard) -> Reason:
    return Reason(ReasonKind.GUARD, guards=(guard.text,))


def _blocking_reason(evaluated: EvaluatedRow) -> Reason:
    """Return why no row after this one is reached."""
    row = evaluated.row
    kind = ReasonKind.REFUSES if row.refuse else ReasonKind.TAKEN
    if evaluated.verdict is Verdict.ERROR:
        kind = ReasonKind.WRONG
    return Reason(kind, row.id, tuple(guard.text for guard in row.when))


def _find_ways_through_router(
    place: _Position, row: Transition, way: Exit, facts: ScopedFacts
) -> Iterator[Exit]:
    """Yield the ways on from this one's target if that is a router, which a run leaves at once."""
    at, workflow = place.at, place.at.workflow
    router = way.target in workflow.states and workflow.states[way.target].router
    if not router or isinstance(row.to, Stay) or way.target in place.passed:
        return
    view = facts(row.scope)
    changed = {name: value for _, name, value in resolve_assignments(at, row, view)}
    next_position = replace(
        place,
        at=replace(at, run=replace(at.run, vars={**at.run.vars, **changed}), step=Step(0, way.target, 0)),
        passed=place.passed | {way.target},
        unsure=way.why,
    )
    yield from _find_ways_by_rows(next_position, workflow.index.get((way.target, None), ()))
