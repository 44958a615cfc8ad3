"""What the engine knows without looking at the world: the run it holds and the event that arrived."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from handrail.engine.contract import output_name, output_value
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


class Stand(Struct, frozen=True, gc=False):
    """What a decision is made on: a run in one of its steps, an event, and the facts of the world."""

    workflow: Workflow
    event: Event
    facts: Mapping[str, Value]
    run: Run
    step: Step


Reader: TypeAlias = Callable[[Stand], Value]
"""How a fact is read."""


def known(stand: Stand, scope: str) -> dict[str, Value]:
    """The facts `run.*`, `event.by` and `event.note`, as rows of this scope name them."""
    return {fact: read(stand) for fact, read in known_by(stand.workflow, scope).items()}


def known_by(workflow: Workflow, scope: str) -> Mapping[str, Reader]:
    """How each of them is read."""
    if (known_by, scope) not in workflow.memo:
        workflow.memo[known_by, scope] = {
            "run.state": lambda at: at.step.state.removeprefix(scope),
            "run.attempts": lambda at: at.step.attempt,
            "run.open": lambda at: len(at.run.open),
            "event.by": lambda at: str(at.event.by),
            "event.note": lambda at: at.event.note,
            **dict(_variables(workflow, scope)),
            **{f"run.inputs.{name}": _of_input(name) for name in workflow.inputs},
        }
    found: Mapping[str, Reader] = workflow.memo[known_by, scope]
    return found


def _variables(workflow: Workflow, scope: str) -> Iterator[tuple[str, Reader]]:
    for name, variable in workflow.vars.items():
        short = name.removeprefix(scope)
        if name.startswith(scope) and "/" not in short:
            holds_state = variable.type.kind is Kind.STATE
            yield f"run.vars.{short}", _of_state(name, scope) if holds_state else _of_variable(name)


def _of_variable(name: str) -> Reader:
    return lambda at: at.run.vars.get(name)


def _of_input(name: str) -> Reader:
    return lambda at: at.run.inputs.get(name)


def _of_state(name: str, scope: str) -> Reader:
    """The name of a state; null if the workflow has none of that name, for people edit state files."""

    def read(at: Stand) -> Value:
        value = at.run.vars.get(name)
        return value.removeprefix(scope) if isinstance(value, str) and value in at.workflow.states else None

    return read


def claimed(stand: Stand, state: str) -> dict[str, Value]:
    """The facts `output.*` and `event.*` that came to this state with an event whose payload is good."""
    return {
        fact: read(stand) for fact, read in claimed_by(stand.workflow, state, stand.event.trigger).items()
    }


def claimed_by(workflow: Workflow, state: str, trigger: str) -> Mapping[str, Reader]:
    """How each of them is read."""
    if trigger == CONTINUE and workflow.states[state].brief is not None:
        return {name: _of_output(fact) for name, fact in workflow.states[state].outputs.items()}
    if trigger in workflow.tools:
        params = workflow.tools[trigger].params
        return {f"event.{name}": _of_param(name, param.default) for name, param in params.items()}
    return {}


def _of_output(fact: Fact) -> Reader:
    name = output_name(fact)
    return lambda at: output_value(fact, at.event.payload.get(name))


def _of_param(name: str, default: Value) -> Reader:
    return lambda at: at.event.payload.get(name, default)


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
