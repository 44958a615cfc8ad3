"""How far a plan has come: the stage of `planner`, the phase of `commits`, and what is decided by the way."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from handrail.plan import grammar
from handrail.plan.model import COMPLETE, Plan, State
from handrail.plan.tasks import counts, open_leaf, paths

_MARKER: Final = re.compile(grammar.MARKER)


class Phase(StrEnum):
    """The phases of a plan of `commits`."""

    UNINITIALIZED = "uninitialized"
    PLANNING = "planning"
    EXECUTING = "executing"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Progress:
    """What there is of a plan; `current` is the path of the first open task that has none below it."""

    phase: Phase
    has_goal: bool
    has_description: bool
    has_constraints: bool
    has_tasks: bool
    current: str | None
    total: int
    ticked: int


def directive(plan: Plan) -> str | None:
    """What the last line of the direction orders, if it is a marker or the bare word for a finished plan."""
    if plan.direction is None:
        return None
    last = plan.direction.rpartition("\n")[2]
    if last == COMPLETE:
        return COMPLETE
    found = _MARKER.fullmatch(last)
    return found["directive"].strip() if found else None


def is_finished(plan: Plan) -> bool:
    """True if the plan says of itself that it is complete."""
    return plan.finished or directive(plan) == COMPLETE


def detect_stage(plan: Plan) -> int:
    """The stage by what is there: 0, 1, 2 (which is also called 3), 4, 5 or 6.

    A plan with tasks that says of itself that it is complete is of the last one, whatever else was left out.
    """
    if plan.tasks is not None and is_finished(plan):
        return 6
    present = ((0, plan.header), (1, plan.description), (2, plan.constraints), (4, plan.tasks))
    for stage, part in present:
        if part is None:
            return stage
    return 5


def phase_of(plan: Plan) -> Phase:
    """The phase; a text that is no plan has none of its own and counts as not begun."""
    if plan.state is not State.PARSED:
        return Phase.UNINITIALIZED
    if plan.tasks is None:
        return Phase.PLANNING
    return Phase.COMPLETE if is_finished(plan) else Phase.EXECUTING


def lacking(plan: Plan) -> tuple[str, ...]:
    """The names of the parts that a plan has not, in the order they are written in."""
    parts = (("description", plan.description), ("constraints", plan.constraints), ("tasks", plan.tasks))
    return tuple(name for name, part in parts if part is None)


def progress(plan: Plan) -> Progress:
    """What there is of a plan; of a text that is no plan, nothing."""
    if plan.state is not State.PARSED:
        return Progress(
            Phase.UNINITIALIZED,
            has_goal=False,
            has_description=False,
            has_constraints=False,
            has_tasks=False,
            current=None,
            total=0,
            ticked=0,
        )
    tasks = plan.tasks or ()
    total, ticked = counts(tasks)
    first = open_leaf(tasks)
    return Progress(
        phase_of(plan),
        plan.header is not None,
        plan.description is not None,
        plan.constraints is not None,
        bool(tasks),
        None if first is None else paths(tasks)[first],
        total,
        ticked,
    )


def decide_type(types: Iterable[str], order: tuple[str, ...] = grammar.COMMITS.types) -> str | None:
    """The type of a commit whose changes are of these types: the first of the order among them."""
    given = frozenset(types)
    return next((one for one in order if one in given), None)
