"""What the engine knows without looking at the world: the run it holds and the event that arrived."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from handrail.engine.contract import output_values
from handrail.engine.facts import Fact, Kind, Provenance, Type, Value, fits
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import Event, Run, State, Step, Variable, Who, Workflow

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
        domain=tuple(str(who) for who in Who),
        closed=True,
    ),
    Fact("event.note", Type(Kind.STRING), Provenance.CLAIMED, "the note that came with the event, or empty"),
)


def known(workflow: Workflow, run: Run, step: Step, event: Event, scope: str) -> dict[str, Value]:
    """The facts `run.*`, `event.by` and `event.note`, as rows of this scope name them."""
    facts: dict[str, Value] = {
        "run.state": step.state.removeprefix(scope),
        "run.attempts": step.attempt,
        "run.open": len(run.open),
        "event.by": str(event.by),
        "event.note": event.note,
    }
    variables, inputs = _named(workflow, scope)
    for fact, name, is_state in variables:
        value = run.vars.get(name)
        facts[fact] = _state(workflow, value, scope) if is_state else value
    for fact, name in inputs:
        facts[fact] = run.inputs.get(name)
    return facts


def _state(workflow: Workflow, value: Value, scope: str) -> Value:
    """The name of a state; null if the workflow has none of that name, for people edit state files."""
    return value.removeprefix(scope) if isinstance(value, str) and value in workflow.states else None


_Named: TypeAlias = tuple[tuple[tuple[str, str, bool], ...], tuple[tuple[str, str], ...]]


def _named(workflow: Workflow, scope: str) -> _Named:
    """The variables of a scope, each by its fact, its name and whether it holds a state; and the inputs."""
    if (known, scope) not in workflow.memo:
        own = {name.removeprefix(scope): name for name in workflow.vars if name.startswith(scope)}
        workflow.memo[known, scope] = (
            tuple(
                (f"run.vars.{short}", name, workflow.vars[name].type.kind is Kind.STATE)
                for short, name in own.items()
                if "/" not in short
            ),
            tuple((f"run.inputs.{name}", name) for name in workflow.inputs),
        )
    found: _Named = workflow.memo[known, scope]
    return found


def claimed(workflow: Workflow, state: str, event: Event) -> dict[str, Value]:
    """The facts `output.*` and `event.*` that came with an event whose payload has been found good."""
    if event.trigger == CONTINUE and workflow.states[state].brief is not None:
        return output_values(workflow.states[state].outputs, event.payload)
    if event.trigger in workflow.tools:
        params = workflow.tools[event.trigger].params
        return {f"event.{name}": event.payload.get(name, param.default) for name, param in params.items()}
    return {}


def mismatches(
    declared: Mapping[str, Variable], given: Mapping[str, Value], states: Mapping[str, State]
) -> Iterator[tuple[str, Value, str]]:
    """Each value that is unknown, missing or of the wrong type: its name, what was seen, what is needed."""
    for name in sorted(given.keys() - declared.keys()):
        yield name, given[name], f"one of {', '.join(sorted(declared)) or 'no names at all'}"
    for name, variable in declared.items():
        if (name in given or variable.required) and not suits(given.get(name), variable, states):
            wanted = " or ".join(str(choice) for choice in variable.choices)
            about = f" ({variable.about})" if variable.about else ""
            yield name, given.get(name), (wanted or f"a value of type {variable.type}") + about


def suits(value: Value, variable: Variable, states: Mapping[str, State]) -> bool:
    """True if the variable may hold this value."""
    if value is None or not variable.choices:
        return fits(value, variable.type, states)
    return value in variable.choices
