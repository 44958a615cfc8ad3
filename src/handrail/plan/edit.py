"""Changes to a plan. Each gives a new plan that is valid and can be written, or says why there is none."""

from collections.abc import Sequence
from dataclasses import replace as with_limits
from typing import Any, Final, assert_never

from msgspec.structs import replace

from handrail.plan.check import check_constraints, validate
from handrail.plan.check_tasks import check_tasks
from handrail.plan.findings import Finding
from handrail.plan.format import format_plan, unfit
from handrail.plan.given import constraint_of, nested_by_level, tasks_of
from handrail.plan.grammar import COMMIT_MESSAGE, Config, Dialect
from handrail.plan.lines import joined, normalised
from handrail.plan.model import COMPLETE, Header, Kept, Plan, Refused, Section, State, Task
from handrail.plan.parse import parse
from handrail.plan.problems import Problem, Warned
from handrail.plan.stage import directive
from handrail.plan.tasks import propagated

DEEPEST: Final = 3
"""The deepest level that is written, of those that are read."""

MARKED: Final = f"~~~ {COMPLETE} ~~~"
"""The line that says of a plan that it is complete."""


def written_anew(text: str, config: Config = COMMIT_MESSAGE) -> Plan | Refused:
    """The plan that a whole text is: all of it, or what is wrong with it."""
    plan = parse(text, config)
    if plan.state is State.PARSED:
        return settled(plan, config)
    return Refused(plan.problems or (Problem("goal_missing"),))


def with_goal(plan: Plan, goal: Header, config: Config = COMMIT_MESSAGE) -> Plan | Refused:
    """The plan with this header; a scope in capital letters is written small, and warned of."""
    if plan.state in {State.UNKNOWN, State.HALTED}:
        return Refused((Problem("plan_unread"), *plan.problems))
    warnings: tuple[Warned, ...] = ()
    if goal.scope is not None and goal.scope != goal.scope.lower():
        warnings = (Warned("scope_lowercased", 0, goal.scope),)
        goal = replace(goal, scope=goal.scope.lower())
    return settled(replace(plan, state=State.PARSED, header=goal, warnings=warnings, problems=()), config)


def with_description(plan: Plan, text: str, config: Config = COMMIT_MESSAGE) -> Plan | Refused:
    """The plan with this description; the line of a problem counts in the text that was given."""
    if (refused := closed(plan)) is not None:
        return refused
    text = normalised(text)
    if (found := unfit(text, config)) is not None:
        return Refused((found,))
    description = joined(text.split("\n"))
    if description is None:
        return Refused(findings=(Finding("description", "the description says nothing", "TOO_SMALL"),))
    return settled(replace(plan, description=description, warnings=()), config)


def with_constraints(
    plan: Plan, given: Sequence[str | Sequence[str]], config: Config = COMMIT_MESSAGE
) -> Plan | Refused:
    """The plan with these constraints, each `Prefix: value` or a prefix and a value."""
    if (refused := closed(plan)) is not None:
        return refused
    errors = tuple(check_constraints(given, config))
    if errors:
        return Refused(findings=errors)
    constraints = tuple(map(constraint_of, given))
    kept = any(one.section is Section.CONSTRAINTS for one in plan.kept)
    unsaid = not constraints and not kept and plan.tasks is None and config.dialect is Dialect.PLANNER
    return settled(replace(plan, constraints=None if unsaid else constraints, warnings=()), config)


def with_tasks(plan: Plan, given: Sequence[Any], config: Config = COMMIT_MESSAGE) -> Plan | Refused:
    """The plan with these tasks, as nested values, or with a `level` each; one of `commits` is open again."""
    if (refused := closed(plan)) is not None:
        return refused
    rows = nested_by_level(given) if config.dialect is Dialect.COMMITS else given
    if isinstance(rows, Finding):
        return Refused(findings=(rows,))
    narrow = with_limits(config, max_nesting_depth=min(DEEPEST, config.max_nesting_depth))
    errors = tuple(check_tasks(rows, narrow))
    if errors:
        return Refused(findings=errors)
    constraints = plan.constraints
    if constraints is None and config.dialect is Dialect.PLANNER:
        constraints = ()
    reopens = config.dialect is Dialect.COMMITS
    return with_row(replace(plan, constraints=constraints), tasks_of(rows, config), config, reopens=reopens)


def with_row(plan: Plan, tasks: tuple[Task, ...], config: Config, *, reopens: bool = False) -> Plan | Refused:
    """The plan with this row of tasks; it is no longer complete if one is open, or if it `reopens`."""
    if config.dialect is Dialect.COMMITS:
        tasks = propagated(tasks)
    changed = replace(plan, tasks=tasks, warnings=())
    stays = not reopens and all(task.ticked for task in tasks)
    return settled(changed if stays else opened(changed), config)


def opened(plan: Plan) -> Plan:
    """The plan without what says that it is complete; it warns if it said so."""
    if plan.finished:
        return replace(plan, finished=False, warnings=(*plan.warnings, Warned("box_opened")))
    if plan.direction is None or directive(plan) != COMPLETE:
        return plan
    direction = joined(plan.direction.split("\n")[:-1])
    return replace(plan, direction=direction, warnings=(*plan.warnings, Warned("marker_removed")))


def finished(plan: Plan, config: Config = COMMIT_MESSAGE) -> Plan | Refused:
    """The plan that says of itself that it is complete: every task of it is."""
    if (refused := closed(plan)) is not None:
        return refused
    if not plan.tasks:
        return Refused((Problem("no_tasks_found"),))
    left = tuple(task.text for task in plan.tasks if not task.ticked)
    if left:
        seen = (str(len(left)), str(len(plan.tasks)), ", ".join(left))
        return Refused((Problem("not_all_tasks_complete", seen=seen),), candidates=left)
    if config.dialect is Dialect.COMMITS:
        return settled(replace(plan, finished=True, warnings=()), config)
    lines = (plan.direction or "").split("\n")
    text = joined(lines if directive(plan) is None else lines[:-1])
    direction = MARKED if text is None else f"{text}\n{MARKED}"
    return settled(replace(plan, direction=direction, warnings=()), config)


def unfinished(plan: Plan, config: Config = COMMIT_MESSAGE) -> Plan | Refused:
    """The plan that no longer says that it is complete; its tasks stay as they are."""
    refused = closed(plan)
    return refused if refused is not None else settled(opened(replace(plan, warnings=())), config)


def settled(plan: Plan, config: Config) -> Plan | Refused:
    """The plan, if it is valid and can be written; what was skipped stays as near to its place as it can."""
    if plan.kept:
        plan = replace(plan, kept=tuple(_placed(one, plan) for one in plan.kept))
    errors = validate(plan, config).errors
    if errors:
        return Refused(findings=errors)
    text = format_plan(plan, config)
    return text if isinstance(text, Refused) else plan


def closed(plan: Plan) -> Refused | None:
    """Why a plan cannot be changed at all."""
    if plan.state is State.EMPTY:
        return Refused((Problem("goal_missing"),))
    return None if plan.state is State.PARSED else Refused((Problem("plan_unread"), *plan.problems))


def _placed(kept: Kept, plan: Plan) -> Kept:
    """A skipped line in a section that is there, not behind its end."""
    section = kept.section
    if section is Section.DIRECTION and plan.direction is None:
        section = Section.TASKS
    if section is Section.TASKS and plan.tasks is None:
        section = Section.CONSTRAINTS
    match section:
        case Section.DIRECTION:
            end = (plan.direction or "").count("\n") + 1
        case Section.TASKS:
            end = len(plan.tasks or ())
        case Section.CONSTRAINTS:
            end = len(plan.constraints or ())
        case _:
            assert_never(section)
    return Kept(section, min(kept.index, end) if section is kept.section else end, kept.text)
