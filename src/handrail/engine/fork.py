"""A run that goes on from one that has ended: where it may begin, and what it begins with.

Nothing is won by it: an agent begins where the old run stood or where it has been before, with the attempts
that were used, and by the rows of the workflow. Only a person goes elsewhere.
"""

from collections.abc import Mapping
from typing import Final

from handrail.engine import lifecycle
from handrail.engine.facts import Value, writable
from handrail.engine.known import suits
from handrail.engine.model import (
    Authority,
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

FORK: Final = "fork"
_STEP: Final = "step_name"
_BY_PERSON: Final = (Option(FORK, Who.PERSON),)


def forked(  # noqa: PLR0913 - what is asked, and by name what is known of the old run and of the caller
    workflow: Workflow,
    run: Run,
    new_id: str,
    state: str,
    *,
    stood: str,
    finished: frozenset[str],
    by: Who,
) -> Run | Refused:
    """The new run, with a step open in this state, or why there is none; empty: where the old run stood.

    `stood` is where its last step was left open or failed, or the last it finished if it was completed;
    `finished` are the states of all that it finished. `workflow` may be another one than that of the run.
    """
    target = state or stood
    refused = _not_ended(workflow, run) or _not_there(workflow, target, stood, finished, by)
    if refused is not None:
        return refused
    left_there = target == stood and run.lifecycle is not Lifecycle.COMPLETED
    used, most = run.attempts.get(target, 0), workflow.states[target].attempts
    if not left_there and 0 < most <= used and by is not Who.PERSON:
        seen = (Seen("run.attempts", used),)
        return Refused("attempts_spent", target, seen, (f"run.attempts < {most}",), _BY_PERSON)
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
        vars=_taken(workflow, workflow.vars, run.vars),
        inputs=_taken(workflow, workflow.inputs, run.inputs),
    )


def step_states(workflow: Workflow) -> tuple[str, ...]:
    """The states of a workflow in which a run can have a step."""
    return tuple(name for name, at in workflow.states.items() if not (at.router or at.terminal))


def _not_ended(workflow: Workflow, run: Run) -> Refused | None:
    if workflow.authority is not Authority.SQL:
        seen = (Seen("authority", str(workflow.authority)),)
        needed = (
            f"authority = {Authority.SQL}: files and commits have one run only, which goes on by itself",
        )
        return Refused("kept_elsewhere", FORK, seen, needed)
    if lifecycle.terminal(run.lifecycle):
        return None
    seen = (Seen("run.lifecycle", str(run.lifecycle)),)
    words = (lifecycle.START, lifecycle.CONTINUE, lifecycle.RESUME, lifecycle.ABANDON)
    open_ = tuple(word for word in words if word in lifecycle.TABLE[run.lifecycle])
    agents = {lifecycle.START, lifecycle.CONTINUE}
    return Refused(
        "not_ended",
        FORK,
        seen,
        ("a run that has ended: go on with it until it is completed, or abandon it first",),
        tuple(Option(word, Who.AGENT if word in agents else Who.PERSON) for word in open_),
    )


def _not_there(
    workflow: Workflow, target: str, stood: str, finished: frozenset[str], by: Who
) -> Refused | None:
    """Why a run cannot begin in this state, or not by whom asks for it."""
    steps = step_states(workflow)
    been = tuple(name for name in steps if name == stood or name in finished)
    allowed = steps if by is Who.PERSON else been
    if target in allowed:
        return None
    seen = (Seen(_STEP, writable(target)),)
    nowhere = f"a run that has had a step of `{workflow.name}`"
    needed = (f"{_STEP} = {' or '.join(allowed)}" if allowed else nowhere,)
    if target in steps:
        return Refused("later_step", FORK, seen, needed, _BY_PERSON)
    return Refused("unknown_step", FORK, seen, needed, (Option(FORK, by),))


def _taken(
    workflow: Workflow, declared: Mapping[str, Variable], old: Mapping[str, Value]
) -> dict[str, Value]:
    """What the workflow declares, as the old run had it; what cannot be had from there, as it is at first."""

    def there(name: str, variable: Variable) -> bool:
        return name in old and suits(old[name], variable, workflow.states)

    return {name: old[name] if there(name, one) else one.default for name, one in declared.items()}
