"""Tell how far a plan has come: its stage in `planner`, its phase and progress in `commits`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from handrail.documents.plan import grammar
from handrail.documents.plan.model import (
    COMPLETE_DIRECTIVE,
    Plan,
    PlanState,
    count_tasks,
    find_open_leaf,
    list_task_paths,
)

_MARKER: Final = re.compile(grammar.MARKER_PATTERN)


class Phase(StrEnum):
    """The phases of a plan of `commits`."""

    UNINITIALIZED = "uninitialized"
    PLANNING = "planning"
    EXECUTING = "executing"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Progress:
    """Which parts a plan has; `current` is the path of the first open task without subtasks."""

    phase: Phase
    has_goal: bool
    has_description: bool
    has_constraints: bool
    has_tasks: bool
    current: str | None
    total: int
    ticked: int


def read_directive(plan: Plan) -> str | None:
    """Return the directive in the last line of the direction, a marker or the bare word; None without one."""
    if plan.direction is None:
        return None
    last = plan.direction.rpartition("\n")[2]
    if last == COMPLETE_DIRECTIVE:
        return COMPLETE_DIRECTIVE
    match = _MARKER.fullmatch(last)
    return match["directive"].strip() if match else None


def is_finished(plan: Plan) -> bool:
    """True if the plan is marked as complete."""
    return plan.finished or read_directive(plan) == COMPLETE_DIRECTIVE


def detect_stage(plan: Plan) -> int:
    """Return the stage by the parts that are there: 0, 1, 2 (which is also called 3), 4, 5 or 6.

    A plan with tasks that is marked as complete is at stage 6, even if other parts are missing.
    """
    if plan.tasks is not None and is_finished(plan):
        return 6
    present = ((0, plan.header), (1, plan.description), (2, plan.constraints), (4, plan.tasks))
    for stage, part in present:
        if part is None:
            return stage
    return 5


def detect_phase(plan: Plan) -> Phase:
    """Return the phase. A text that is not a valid plan counts as not begun."""
    if plan.state is not PlanState.PARSED:
        return Phase.UNINITIALIZED
    if plan.tasks is None:
        return Phase.PLANNING
    return Phase.COMPLETE if is_finished(plan) else Phase.EXECUTING


def list_missing_parts(plan: Plan) -> tuple[str, ...]:
    """Return the names of the parts that a plan lacks, in writing order."""
    parts = (("description", plan.description), ("constraints", plan.constraints), ("tasks", plan.tasks))
    return tuple(name for name, part in parts if part is None)


def measure_progress(plan: Plan) -> Progress:
    """Return the progress of a plan. A text that is not a valid plan has none."""
    if plan.state is not PlanState.PARSED:
        plan = Plan(plan.state)
    tasks = plan.tasks or ()
    total, ticked = count_tasks(tasks)
    first = find_open_leaf(tasks)
    return Progress(
        detect_phase(plan),
        plan.header is not None,
        plan.description is not None,
        plan.constraints is not None,
        bool(tasks),
        None if first is None else list_task_paths(tasks)[first],
        total,
        ticked,
    )


def decide_type(types: Iterable[str], order: tuple[str, ...] = grammar.COMMITS.types) -> str | None:
    """Return the type of a commit with changes of these types: the first in `order`; None if none is."""
    given = frozenset(types)
    return next((type_ for type_ in order if type_ in given), None)
