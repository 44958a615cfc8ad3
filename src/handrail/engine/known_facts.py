"""Read the facts that the engine knows without looking at the world: those of the run and of the event.

Also checks if a variable, an input or a parameter may hold a value.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from handrail.engine.contract import get_output_name, read_output_fact
from handrail.engine.facts import Fact, Kind, Provenance, Type, Value, has_type
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import Actor, Event, Run, State, Step, Variable, Workflow

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


def find_mismatches(
    declared: Mapping[str, Variable], given: Mapping[str, Value], states: Mapping[str, State]
) -> Iterator[tuple[str, Value, str]]:
    """Yield each value that is unknown, missing or mistyped: its name, what was seen, what is needed."""
    for name in sorted(given.keys() - declared.keys()):
        yield name, given[name], f"one of {', '.join(sorted(declared)) or 'no names at all'}"
    for name, variable in declared.items():
        if (name in given or variable.required) and not is_allowed_value(given.get(name), variable, states):
            wanted = " or ".join(str(choice) for choice in variable.choices)
            about = f" ({variable.about})" if variable.about else ""
            yield name, given.get(name), (wanted or f"a value of type {variable.type}") + about


def is_allowed_value(value: Value, variable: Variable, states: Mapping[str, State]) -> bool:
    """True if the variable may hold this value."""
    if value is None or not variable.choices:
        return has_type(value, variable.type, states)
    return value in variable.choices
