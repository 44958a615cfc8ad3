"""Start a new run from one that has ended: where it may begin, and which values it takes over.

Forking gives an agent no advantage. It begins where the old run was or has been before, with the attempts
already used, and follows the workflow's rows. Only a person may begin elsewhere.
"""

from collections.abc import Mapping
from typing import Final

from handrail.engine import lifecycle
from handrail.engine.contract import is_allowed_value
from handrail.engine.facts import Value, to_printable
from handrail.engine.model import (
    Actor,
    Authority,
    FactReading,
    Lifecycle,
    Option,
    Refused,
    Run,
    Step,
    Variable,
    Workflow,
)
from handrail.engine.refusals import RefusalCode

FORK: Final = "fork"
_STEP_ARGUMENT: Final = "step_name"
_BY_PERSON: Final = (Option(FORK, Actor.PERSON),)


def build_fork(  # noqa: PLR0913 - the request, then by keyword what is known of the old run and the caller
    workflow: Workflow,
    run: Run,
    new_id: str,
    state: str,
    *,
    last_state: str,
    finished: frozenset[str],
    by: Actor,
) -> Run | Refused:
    """Return the new run with a step open in this state, or a refusal.

    An empty `state` means where the old run was. `last_state` is where its last step was left open or failed;
    for a completed run, the last it finished. `finished` are the states of all finished steps. `workflow` may
    be another one than the run's.
    """
    target = state or last_state
    refused = _refuse_not_ended(workflow, run) or _refuse_state(workflow, target, last_state, finished, by)
    if refused is not None:
        return refused
    left_there = target == last_state and run.lifecycle is not Lifecycle.COMPLETED
    used, most = run.attempts.get(target, 0), workflow.states[target].attempts
    if not left_there and 0 < most <= used and by is not Actor.PERSON:
        seen = (FactReading("run.attempts", used),)
        return Refused(RefusalCode.ATTEMPTS_SPENT, target, seen, (f"run.attempts < {most}",), _BY_PERSON)
    step = Step(run.steps + 1, target, max(used, 1) if left_there else used + 1)
    known = {name: number for name, number in run.attempts.items() if name in workflow.states}
    return Run(
        id=new_id,
        workflow=workflow.name,
        digest=workflow.digest,
        lifecycle=Lifecycle.RUNNING,
        open=(step,),
        steps=step.number,
        attempts={**known, target: step.attempt},
        vars=_carry_values(workflow, workflow.vars, run.vars),
        inputs=_carry_values(workflow, workflow.inputs, run.inputs),
    )


def list_step_states(workflow: Workflow) -> tuple[str, ...]:
    """Return the states of a workflow in which a run can have a step."""
    return tuple(name for name, at in workflow.states.items() if not (at.router or at.terminal))


def _refuse_not_ended(workflow: Workflow, run: Run) -> Refused | None:
    if workflow.authority is not Authority.SQL:
        seen = (FactReading("authority", str(workflow.authority)),)
        needed = f"authority = {Authority.SQL}: files and commits have one run only, which goes on by itself"
        return Refused(RefusalCode.KEPT_ELSEWHERE, FORK, seen, (needed,))
    if lifecycle.is_terminal(run.lifecycle):
        return None
    seen = (FactReading("run.lifecycle", str(run.lifecycle)),)
    options = (
        Option(word, Actor.AGENT if word in {lifecycle.START, lifecycle.CONTINUE} else Actor.PERSON)
        for word in (lifecycle.START, lifecycle.CONTINUE, lifecycle.RESUME, lifecycle.ABANDON)
        if word in lifecycle.LIFECYCLE_TABLE[run.lifecycle]
    )
    needed = "a run that has ended: go on with it until it is completed, or abandon it first"
    return Refused(RefusalCode.NOT_ENDED, FORK, seen, (needed,), tuple(options))


def _refuse_state(
    workflow: Workflow, target: str, last_state: str, finished: frozenset[str], by: Actor
) -> Refused | None:
    """Return a refusal if a run cannot begin in this state, or this actor may not begin it there."""
    steps = list_step_states(workflow)
    visited = tuple(name for name in steps if name == last_state or name in finished)
    allowed = steps if by is Actor.PERSON else visited
    if target in allowed:
        return None
    seen = (FactReading(_STEP_ARGUMENT, to_printable(target)),)
    nowhere = f"a run that has had a step of `{workflow.name}`"
    needed = (f"{_STEP_ARGUMENT} = {' or '.join(allowed)}" if allowed else nowhere,)
    if target in steps:
        return Refused(RefusalCode.LATER_STEP, FORK, seen, needed, _BY_PERSON)
    return Refused(RefusalCode.UNKNOWN_STEP, FORK, seen, needed, (Option(FORK, by),))


def _carry_values(
    workflow: Workflow, declared: Mapping[str, Variable], old: Mapping[str, Value]
) -> dict[str, Value]:
    """Return the declared variables with the old run's values; the default for one missing or not allowed."""
    return {
        name: old[name]
        if name in old and is_allowed_value(old[name], variable, workflow.states)
        else variable.default
        for name, variable in declared.items()
    }
