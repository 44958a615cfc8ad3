"""Create and edit plans: from plain values, part by part, or one task at a time.

Every edit returns a new plan, or a `PlanRefusal` if the result would be invalid or could not be written.
`ensure_writable` is the check that all edits end with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace as with_limits
from typing import Any, Final

from msgspec.structs import replace

from handrail.documents.plan.format import find_description_problem, format_plan
from handrail.documents.plan.grammar import COMMIT_MESSAGE, Dialect, PlanConfig
from handrail.documents.plan.model import (
    COMPLETE_DIRECTIVE,
    Constraint,
    Finding,
    Header,
    Plan,
    PlanProblem,
    PlanRefusal,
    PlanState,
    PlanWarning,
    Section,
    SkippedLine,
    Task,
    find_parents,
    is_parent,
    list_task_paths,
    propagate_completion,
)
from handrail.documents.plan.parse import DETAILS_SEPARATOR, join_lines, normalise_newlines, parse_plan
from handrail.documents.plan.stages import read_directive
from handrail.documents.plan.validate import ValidationResult, check_constraints, check_tasks, validate_plan

# The deepest task level that edits may write. Parsing accepts deeper ones.
MAX_WRITTEN_LEVEL: Final = 3
COMPLETE_MARKER: Final = f"~~~ {COMPLETE_DIRECTIVE} ~~~"

# The maximum number of candidates in a message; the refusal has them all.
_MAX_LISTED: Final = 10


def parse_plan_data(data: Mapping[str, Any], config: PlanConfig = COMMIT_MESSAGE) -> Plan | ValidationResult:
    """Return the plan that a value in the shape of the dialect describes, or which of its types are wrong."""
    found = validate_plan({**data, "state": PlanState.PARSED, "ok": True, "phase": ""}, config).errors
    if errors := tuple(finding for finding in found if finding.code == "INVALID_TYPE"):
        return ValidationResult(errors)
    commits = config.dialect is Dialect.COMMITS
    given, tasks, constraints = data["header"], data.get("tasks"), data.get("constraints")
    title = given.get("summary" if commits else "title")
    header = Header(given["type"], given.get("scope"), given.get("breaking", False), title)
    if constraints is None and tasks is not None and not commits:
        constraints = ()
    return Plan(
        PlanState.PARSED,
        header,
        data.get("description"),
        None if constraints is None else tuple(map(_build_constraint, constraints)),
        None if tasks is None else build_tasks(tasks, config),
        data.get("direction"),
        finished=commits and data.get("metadata", {}).get("isComplete") is True,
    )


def _build_constraint(given: str | Sequence[str]) -> Constraint:
    """Return a constraint from `Prefix: value`, or from a prefix and a value."""
    key, value = given.split(DETAILS_SEPARATOR, 1) if isinstance(given, str) else given
    return (key, value)


def build_tasks(given: Sequence[Any], config: PlanConfig) -> tuple[Task, ...]:
    """Flatten nested task values into a row of tasks with levels."""
    tasks: list[Task] = []
    pending = [(0, value) for value in reversed(given)]
    while pending:
        level, value = pending.pop()
        if config.dialect is Dialect.COMMITS:
            ticked, below = value.get("completed", False), value.get("children", ())
            tasks.append(Task(level, ticked, value["summary"], value["details"]))
        else:
            ticked, text, below = value
            tasks.append(Task(level, ticked, text))
        pending += [(level + 1, child) for child in reversed(below)]
    return tuple(tasks)


def _nest_by_level(given: Sequence[Any]) -> Sequence[Any] | Finding:
    """Nest a row of tasks by their `level`; a `Finding` if one is invalid. Return other values unchanged."""
    if any(not isinstance(task, Mapping) or "children" in task for task in given):
        return given
    roots: list[object] = []
    rows = [roots]
    for index, task in enumerate(given):
        level = task.get("level", 0)
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < len(rows):
            message = f"a level is a number from 0 to {len(rows) - 1} here: no more than one below the last"
            return Finding(f"tasks.{index}.level", message, "INVALID_VALUE")
        del rows[level + 1 :]
        children: list[object] = []
        rows[-1].append({**task, "children": children})
        rows.append(children)
    return roots


def parse_writable_plan(text: str, config: PlanConfig = COMMIT_MESSAGE) -> Plan | PlanRefusal:
    """Return the plan if the whole text parses and can be written; otherwise what is wrong with it."""
    plan = parse_plan(text, config)
    if plan.state is PlanState.PARSED:
        return ensure_writable(plan, config)
    return PlanRefusal(plan.problems or (PlanProblem("goal_missing"),))


def set_goal(plan: Plan, goal: Header, config: PlanConfig = COMMIT_MESSAGE) -> Plan | PlanRefusal:
    """Return the plan with this header. An upper-case scope is lowered, with a warning."""
    if plan.state in {PlanState.UNKNOWN, PlanState.HALTED}:
        return PlanRefusal((PlanProblem("plan_unread"), *plan.problems))
    warnings: tuple[PlanWarning, ...] = ()
    if goal.scope is not None and goal.scope != goal.scope.lower():
        warnings = (PlanWarning("scope_lowercased", 0, goal.scope),)
        goal = replace(goal, scope=goal.scope.lower())
    changed = replace(plan, state=PlanState.PARSED, header=goal, warnings=warnings, problems=())
    return ensure_writable(changed, config)


def set_description(plan: Plan, text: str, config: PlanConfig = COMMIT_MESSAGE) -> Plan | PlanRefusal:
    """Return the plan with this description, which may not be empty. Problems count lines within `text`."""
    if (refused := refuse_uneditable(plan)) is not None:
        return refused
    text = normalise_newlines(text)
    if (problem := find_description_problem(text, config)) is not None:
        return PlanRefusal((problem,))
    description = join_lines(text.split("\n"))
    if description is None:
        return PlanRefusal(findings=(Finding("description", "the description says nothing", "TOO_SMALL"),))
    return ensure_writable(replace(plan, description=description, warnings=()), config)


def set_constraints(
    plan: Plan, given: Sequence[str | Sequence[str]], config: PlanConfig = COMMIT_MESSAGE
) -> Plan | PlanRefusal:
    """Return the plan with these constraints, each `Prefix: value` or a prefix and a value."""
    if (refused := refuse_uneditable(plan)) is not None:
        return refused
    if errors := tuple(check_constraints(given, config)):
        return PlanRefusal(findings=errors)
    constraints = tuple(map(_build_constraint, given))
    kept = any(line.section is Section.CONSTRAINTS for line in plan.kept)
    omitted = not constraints and not kept and plan.tasks is None and config.dialect is Dialect.PLANNER
    return ensure_writable(replace(plan, constraints=None if omitted else constraints, warnings=()), config)


def set_tasks(plan: Plan, given: Sequence[Any], config: PlanConfig = COMMIT_MESSAGE) -> Plan | PlanRefusal:
    """Return the plan with these tasks, nested or with a `level` each. In `commits`, this reopens a plan."""
    if (refused := refuse_uneditable(plan)) is not None:
        return refused
    commits = config.dialect is Dialect.COMMITS
    rows = _nest_by_level(given) if commits else given
    if isinstance(rows, Finding):
        return PlanRefusal(findings=(rows,))
    narrow = with_limits(config, max_nesting_depth=min(MAX_WRITTEN_LEVEL, config.max_nesting_depth))
    if errors := tuple(check_tasks(rows, narrow)):
        return PlanRefusal(findings=errors)
    if plan.constraints is None and not commits:
        plan = replace(plan, constraints=())
    return _replace_tasks(plan, build_tasks(rows, config), config, reopens=commits)


def _replace_tasks(
    plan: Plan, tasks: tuple[Task, ...], config: PlanConfig, *, reopens: bool = False
) -> Plan | PlanRefusal:
    """Return the plan with this row of tasks. With an open task or `reopens`, it is no longer complete."""
    if config.dialect is Dialect.COMMITS:
        tasks = propagate_completion(tasks)
    changed = replace(plan, tasks=tasks, warnings=())
    still_complete = not reopens and all(task.ticked for task in tasks)
    return ensure_writable(changed if still_complete else _remove_completion(changed), config)


def _remove_completion(plan: Plan) -> Plan:
    """Return the plan without its completion mark, with a warning if it had one."""
    if plan.finished:
        return replace(plan, finished=False, warnings=(*plan.warnings, PlanWarning("box_opened")))
    if plan.direction is None or read_directive(plan) != COMPLETE_DIRECTIVE:
        return plan
    direction = join_lines(plan.direction.split("\n")[:-1])
    return replace(plan, direction=direction, warnings=(*plan.warnings, PlanWarning("marker_removed")))


def finish_plan(plan: Plan, config: PlanConfig = COMMIT_MESSAGE) -> Plan | PlanRefusal:
    """Return the plan marked as complete. Refused unless every task is ticked."""
    if (refused := refuse_uneditable(plan)) is not None:
        return refused
    if not plan.tasks:
        return PlanRefusal((PlanProblem("no_tasks_found"),))
    left = tuple(task.text for task in plan.tasks if not task.ticked)
    if left:
        seen = (str(len(left)), str(len(plan.tasks)), ", ".join(left))
        return PlanRefusal((PlanProblem("not_all_tasks_complete", seen=seen),), candidates=left)
    if config.dialect is Dialect.COMMITS:
        return ensure_writable(replace(plan, finished=True, warnings=()), config)
    lines = (plan.direction or "").split("\n")
    text = join_lines(lines if read_directive(plan) is None else lines[:-1])
    direction = COMPLETE_MARKER if text is None else f"{text}\n{COMPLETE_MARKER}"
    return ensure_writable(replace(plan, direction=direction, warnings=()), config)


def reopen_plan(plan: Plan, config: PlanConfig = COMMIT_MESSAGE) -> Plan | PlanRefusal:
    """Return the plan without its completion mark; its tasks stay unchanged."""
    if (refused := refuse_uneditable(plan)) is not None:
        return refused
    return ensure_writable(_remove_completion(replace(plan, warnings=())), config)


def ensure_writable(plan: Plan, config: PlanConfig) -> Plan | PlanRefusal:
    """Return the plan, skipped lines near their places, if it is valid and can be written; else a refusal."""
    if plan.kept:
        plan = replace(plan, kept=tuple(_place_kept_line(line, plan) for line in plan.kept))
    if errors := validate_plan(plan, config).errors:
        return PlanRefusal(findings=errors)
    text = format_plan(plan, config)
    return text if isinstance(text, PlanRefusal) else plan


def refuse_uneditable(plan: Plan) -> PlanRefusal | None:
    """Return why a plan cannot be edited at all; None if it can."""
    if plan.state is PlanState.PARSED:
        return None
    if plan.state is PlanState.EMPTY:
        return PlanRefusal((PlanProblem("goal_missing"),))
    return PlanRefusal((PlanProblem("plan_unread"), *plan.problems))


def _place_kept_line(kept: SkippedLine, plan: Plan) -> SkippedLine:
    """Move a skipped line into a section that exists, not past its end."""
    section = kept.section
    if section is Section.DIRECTION and plan.direction is None:
        section = Section.TASKS
    if section is Section.TASKS and plan.tasks is None:
        section = Section.CONSTRAINTS
    end = {
        Section.DIRECTION: (plan.direction or "").count("\n") + 1,
        Section.TASKS: len(plan.tasks or ()),
        Section.CONSTRAINTS: len(plan.constraints or ()),
    }[section]
    return SkippedLine(section, min(kept.index, end) if section is kept.section else end, kept.text)


def mark_task(
    plan: Plan, name: str, config: PlanConfig = COMMIT_MESSAGE, *, completed: bool = True
) -> Plan | PlanRefusal:
    """Return the plan with one task ticked, or opened.

    `planner` takes a text, a part of one, an id or a path, and changes only that task. `commits` takes the id
    or path of a task without subtasks; its parents follow.
    """
    if (refused := refuse_uneditable(plan)) is not None:
        return refused
    tasks = plan.tasks or ()
    if not tasks:
        return PlanRefusal((PlanProblem("no_tasks_found"),))
    index = _find_task(tasks, name, config)
    if isinstance(index, PlanRefusal):
        return index
    commits = config.dialect is Dialect.COMMITS
    if commits and is_parent(tasks, index):
        return PlanRefusal((PlanProblem("task_has_others_below", seen=(name,)),))
    row = list(tasks)
    row[index] = replace(row[index], ticked=completed)
    if commits and not completed:
        parents = find_parents(tasks)
        above = parents[index]
        while above is not None:
            row[above] = replace(row[above], ticked=False)
            above = parents[above]
    return _replace_tasks(plan, tuple(row), config)


def _find_task(tasks: tuple[Task, ...], name: str, config: PlanConfig) -> int | PlanRefusal:
    """Return the index of the one task that a name means; if there are several or none, the candidates."""
    paths = list_task_paths(tasks)
    wanted = name.strip()
    matches = [index for index, path in enumerate(paths) if path == wanted.strip("/")]
    if not matches:
        matches = [index for index, path in enumerate(paths) if path.rpartition("/")[2] == wanted]
    if config.dialect is Dialect.PLANNER and wanted:
        exact = [index for index, task in enumerate(tasks) if task.text.strip() == wanted]
        part = [index for index, task in enumerate(tasks) if wanted.casefold() in task.text.casefold()]
        matches = exact or matches or part
    if len(matches) == 1:
        return matches[0]
    candidates = tuple(paths[index] for index in matches or range(len(tasks)))
    more = f" and {len(candidates) - _MAX_LISTED} more" if len(candidates) > _MAX_LISTED else ""
    listed = ", ".join(candidates[:_MAX_LISTED]) + more
    if matches:
        problem = PlanProblem("task_ambiguous", seen=(name, str(len(matches)), listed))
    else:
        problem = PlanProblem("task_not_found", seen=(name, listed))
    return PlanRefusal((problem,), candidates=candidates)
