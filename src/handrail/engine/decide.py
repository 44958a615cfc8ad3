"""The decision: what an event does to a run, given the facts. Start here to follow one.

`decide` asks, in this order: does the lifecycle allow it, which step is meant, is a row open (`when`), is
what came with the event good, which row takes it (`accept`), and where does that row lead (`walk`).
"""

from collections.abc import Mapping

from msgspec.structs import replace

from handrail.engine import lifecycle
from handrail.engine.choose import possible
from handrail.engine.contract import WHOLE, value_at, violations
from handrail.engine.facts import Value, flaws, sound, writable
from handrail.engine.known import mismatches
from handrail.engine.model import (
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
    Who,
    Workflow,
)
from handrail.engine.options import here, options, outside
from handrail.engine.refusals import unmet
from handrail.engine.walk import World, enter, walk


def decide(workflow: Workflow, run: Run, event: Event, facts: Mapping[str, Value]) -> Decision:
    """What this event does to this run. `facts` are those of the world; the engine adds what it knows itself.

    Pure and total: the same arguments give the same decision, and a refusal leaves the run as it was.
    """
    decision = _decided(World(workflow, event, facts), run)
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


def _decided(world: World, run: Run) -> Decision:
    event = world.event
    if event.note and (refused := _flawed("event.note", event.note)):
        return refused
    after = lifecycle.after(run.lifecycle, _kind(event.trigger))
    if after is None:
        return _not_running(run, event)
    if event.trigger == lifecycle.START:
        return _start(world, run)
    if event.trigger in lifecycle.CONTROLS:
        return _control(run, event, after)
    step = _step(world, run)
    return step if isinstance(step, Refused) else _on_trigger(world, run, step)


def _next(workflow: Workflow, run: Run, facts: Mapping[str, Value]) -> tuple[Option, ...]:
    """What may be called instead: the options of a run under way, or what the lifecycle allows."""
    return options(workflow, run, facts) if run.lifecycle is Lifecycle.RUNNING else outside(run)


def _kind(trigger: str) -> str:
    return trigger if trigger in lifecycle.RESERVED else lifecycle.CONTINUE


def _not_running(run: Run, event: Event) -> Refused:
    wanted = [str(state) for state, row in lifecycle.TABLE.items() if _kind(event.trigger) in row]
    seen = (Seen("run.lifecycle", str(run.lifecycle)),)
    return Refused("not_running", "lifecycle", seen, (f"run.lifecycle = {' or '.join(wanted)}",))


def _start(world: World, run: Run) -> Decision:
    workflow, given = world.workflow, world.event.payload
    refused = _arguments(world, lifecycle.START, workflow.inputs)
    if refused is not None:
        return refused
    started = replace(
        run,
        lifecycle=Lifecycle.RUNNING,
        inputs={name: given.get(name, declared.default) for name, declared in workflow.inputs.items()},
        vars={name: declared.default for name, declared in workflow.vars.items()},
    )
    return Accepted(started) if workflow.derive else enter(world, run, started)


def _control(run: Run, event: Event, after: Lifecycle) -> Decision:
    if event.trigger in lifecycle.NEEDS_REASON and not event.note.strip():
        return Refused(
            "reason", event.trigger, (Seen("event.note", event.note),), ("a reason as event.note",)
        )
    open_ = () if lifecycle.terminal(after) else run.open
    return Accepted(replace(run, lifecycle=after, open=open_, reason=event.note))


def _step(world: World, run: Run) -> Step | Refused:
    """The step the event is for."""
    wanted = world.event.step
    open_ = here(world.workflow, run, world.facts)
    steps = open_ if wanted is None else [step for step in open_ if step.number == wanted]
    if len(steps) != 1:
        numbers = ", ".join(str(step.number) for step in open_)
        return Refused("which_step", "open steps", (Seen("event.step", wanted),), (f"one of {numbers}",))
    if steps[0].state not in world.workflow.states:
        known = (f"a state of `{world.workflow.name}`",)
        derive = world.workflow.derive
        seen = Seen(derive, world.facts.get(derive)) if derive else Seen("run.state", steps[0].state)
        return Refused("unknown_state", "states", (seen,), known)
    return steps[0]


def _on_trigger(world: World, run: Run, step: Step) -> Decision:
    rows = world.workflow.index.get((step.state, world.event.trigger), ())
    if not rows:
        seen = (Seen("run.state", step.state), Seen("event.trigger", world.event.trigger))
        return Refused("no_row", step.state, seen, ("a trigger that is open here",))
    tool = world.workflow.tools.get(world.event.trigger)
    if tool is not None and tool.who not in {Who.AGENT, world.event.by}:
        by = Seen("event.by", str(world.event.by))
        return Refused("not_yours", tool.name, (by,), (f"event.by = {tool.who}",))
    facts = world.seen_by(run, step)
    candidates, closed = possible(rows, facts)
    if not candidates:
        return unmet("not_now", closed, facts)
    return _payload(world, step) or walk(world, run, step, candidates, facts)


def _payload(world: World, step: Step) -> Refused | None:
    """Why what came with the event cannot be used, before any row looks at it."""
    trigger, given = world.event.trigger, world.event.payload
    brief = world.workflow.states[step.state].brief
    if trigger != lifecycle.CONTINUE or brief is None:
        tool = world.workflow.tools.get(trigger)
        return _arguments(world, trigger, tool.params) if tool else _flawed(trigger, dict(given))
    found = violations(brief.contract, given)
    if not found:
        return None
    paths = dict.fromkeys(violation.path for violation in found)
    seen = tuple(Seen(f"output.{path}" if path != WHOLE else WHOLE, value_at(given, path)) for path in paths)
    return Refused("contract", step.state, seen, tuple(f"{v.path} {v.message}" for v in found))


def _flawed(rule: str, value: Value) -> Refused | None:
    """Why what nobody declared could not even be kept."""
    if sound(value):
        return None
    found = tuple(f"{path.removeprefix('.') or rule} {why}" for path, why in flaws(value))
    return Refused("arguments", rule, (Seen(rule, value),), found)


def _arguments(world: World, rule: str, declared: Mapping[str, Variable]) -> Refused | None:
    wrong = tuple(mismatches(declared, world.event.payload, world.workflow.states))
    if not wrong:
        return None
    seen = tuple(Seen(name, value) for name, value, _ in wrong)
    return Refused("arguments", rule, seen, tuple(f"{name}: {needed}" for name, _, needed in wrong))
