"""The decision: what an event does to a run, given the facts. Start here to follow one.

`decide` asks: does the lifecycle allow it, which step is meant, is what came with the event good, which row
takes it (`when` and `accept`), and where does that row lead (`walk`). A trigger that no row is open to
(`when`) is refused for that, whatever came with the event.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from handrail.engine import lifecycle
from handrail.engine.asking import Door, door
from handrail.engine.contract import WHOLE, value_at, violations
from handrail.engine.facts import Value, flaws, sound, writable
from handrail.engine.known import Stand, mismatches
from handrail.engine.lifecycle import RESERVED
from handrail.engine.model import (
    RUNNING,
    Accepted,
    Decision,
    Event,
    Lifecycle,
    Option,
    Refused,
    Run,
    Seen,
    Step,
    Variable,
    Workflow,
)
from handrail.engine.options import here, options, outside
from handrail.engine.walk import enter, shut, walk


def decide(workflow: Workflow, run: Run, event: Event, facts: Mapping[str, Value]) -> Decision:
    """What this event does to this run. `facts` are those of the world; the engine adds what it knows itself.

    Pure and total: the same arguments give the same decision, and a refusal leaves the run as it was.
    """
    decision = _decided(workflow, run, event, facts)
    if not isinstance(decision, Refused):
        return decision
    seen = tuple(Seen(one.fact, writable(one.value)) for one in decision.seen)
    return replace(decision, seen=seen, next=_next(workflow, run, facts))


def only_says(workflow: Workflow, before: Run, decision: Decision) -> bool:
    """True if the row that was taken only says something, and the run is as it was before."""
    if not isinstance(decision, Accepted) or decision.run != before:
        return False
    taken = {move.row for move in decision.moves}
    return any(row.only_says for row in workflow.rows if row.id in taken)


def _decided(workflow: Workflow, run: Run, event: Event, facts: Mapping[str, Value]) -> Decision:
    if event.note and (refused := _flawed("event.note", event.note)):
        return refused
    if run.lifecycle is not RUNNING or event.trigger in RESERVED:
        decision = _by_lifecycle(workflow, run, event, facts)
        if decision is not None:
            return decision
    wanted, open_ = event.step, here(workflow, run, facts) if workflow.derive else run.open
    if len(open_) == 1 and (wanted is None or wanted == open_[0].number):
        return _on_trigger(Stand(workflow, event, facts, run, open_[0]))
    step = _step(open_, wanted)
    return step if isinstance(step, Refused) else _on_trigger(Stand(workflow, event, facts, run, step))


def _by_lifecycle(workflow: Workflow, run: Run, event: Event, facts: Mapping[str, Value]) -> Decision | None:
    """What the lifecycle says of it; None if the rows are to be asked."""
    after = lifecycle.after(run.lifecycle, _kind(event.trigger))
    if after is None:
        return _not_running(run, event)
    if event.trigger == lifecycle.START:
        return _start(workflow, run, event, facts)
    return _control(run, event, after) if event.trigger in lifecycle.CONTROLS else None


def _next(workflow: Workflow, run: Run, facts: Mapping[str, Value]) -> tuple[Option, ...]:
    """What may be called instead: the options of a run under way, or what the lifecycle allows."""
    return options(workflow, run, facts) if run.lifecycle is Lifecycle.RUNNING else outside(run)


def _kind(trigger: str) -> str:
    return trigger if trigger in RESERVED else lifecycle.CONTINUE


def _not_running(run: Run, event: Event) -> Refused:
    wanted = [str(state) for state, row in lifecycle.TABLE.items() if _kind(event.trigger) in row]
    seen = (Seen("run.lifecycle", str(run.lifecycle)),)
    return Refused("not_running", "lifecycle", seen, (f"run.lifecycle = {' or '.join(wanted)}",))


def _start(workflow: Workflow, run: Run, event: Event, facts: Mapping[str, Value]) -> Decision:
    given = event.payload
    refused = _arguments(workflow, lifecycle.START, workflow.inputs, given)
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
    return enter(Stand(workflow, event, facts, started, Step(0, workflow.initial, 0)), run)


def _control(run: Run, event: Event, after: Lifecycle) -> Decision:
    if event.trigger in lifecycle.NEEDS_REASON and not event.note.strip():
        return Refused(
            "reason", event.trigger, (Seen("event.note", event.note),), ("a reason as event.note",)
        )
    open_ = () if lifecycle.terminal(after) else run.open
    return Accepted(replace(run, lifecycle=after, open=open_, reason=event.note))


def _step(open_: tuple[Step, ...], wanted: int | None) -> Step | Refused:
    """The open step of this number; without one, it is not clear which is meant."""
    steps = [step for step in open_ if step.number == wanted]
    if len(steps) == 1:
        return steps[0]
    numbers = ", ".join([str(step.number) for step in open_])
    return Refused("which_step", "open steps", (Seen("event.step", wanted),), (f"one of {numbers}",))


def _on_trigger(stand: Stand) -> Decision:
    event = stand.event
    met = door(stand.workflow, stand.step.state, event.trigger)
    if met is None:
        return _no_row(stand)
    if met.who is not None and met.who is not event.by:
        by = Seen("event.by", str(event.by))
        return Refused("not_yours", event.trigger, (by,), (f"event.by = {met.who}",))
    if event.payload or met.contract or met.params:
        refused = _payload(stand, met)
        if refused is not None:
            return shut(stand, met.rows) or refused
    return walk(stand, met.rows)


def _no_row(stand: Stand) -> Refused:
    workflow, state = stand.workflow, stand.step.state
    if state in workflow.states:
        seen = (Seen("run.state", state), Seen("event.trigger", stand.event.trigger))
        return Refused("no_row", state, seen, ("a trigger that is open here",))
    derive = workflow.derive
    told = Seen(derive, stand.facts.get(derive)) if derive else Seen("run.state", state)
    return Refused("unknown_state", "states", (told,), (f"a state of `{workflow.name}`",))


def _payload(stand: Stand, met: Door) -> Refused | None:
    """Why what came with the event cannot be used, before any row looks at it."""
    trigger, given, state = stand.event.trigger, stand.event.payload, stand.step.state
    if met.contract is None:
        if met.params is None:
            return _flawed(trigger, dict(given))
        return _arguments(stand.workflow, trigger, met.params, given)
    found = violations(met.contract, given)
    if not found:
        return None
    paths = dict.fromkeys(violation.path for violation in found)
    seen = tuple(Seen(f"output.{path}" if path != WHOLE else WHOLE, value_at(given, path)) for path in paths)
    return Refused("contract", state, seen, tuple(f"{v.path} {v.message}" for v in found))


def _flawed(rule: str, value: Value) -> Refused | None:
    """Why what nobody declared could not even be kept."""
    if sound(value):
        return None
    found = tuple(f"{path.removeprefix('.') or rule} {why}" for path, why in flaws(value))
    return Refused("arguments", rule, (Seen(rule, value),), found)


def _arguments(
    workflow: Workflow, rule: str, declared: Mapping[str, Variable], given: Mapping[str, Value]
) -> Refused | None:
    wrong = tuple(mismatches(declared, given, workflow.states))
    if not wrong:
        return None
    seen = tuple(Seen(name, value) for name, value, _ in wrong)
    return Refused("arguments", rule, seen, tuple(f"{name}: {needed}" for name, _, needed in wrong))
