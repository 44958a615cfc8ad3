"""Convert plans to plain values for JSON, in the shape of each dialect.

`edit.parse_plan_data` is the way back.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

from handrail.documents.plan.grammar import Dialect, PlanConfig
from handrail.documents.plan.model import (
    Header,
    Plan,
    PlanProblem,
    PlanState,
    PlanWarning,
    Task,
    count_tasks,
    find_parents,
    make_task_id,
)
from handrail.documents.plan.stages import detect_phase, read_directive

PlanData: TypeAlias = dict[str, object]
_COMMITS: Final = Dialect.COMMITS


def describe_plan(plan: Plan, config: PlanConfig, text: str | None = None) -> PlanData:
    """Return the plan in the shape of its dialect; `text` is the text it was parsed from."""
    return _describe_commits_plan(plan, text) if config.dialect is _COMMITS else _describe_planner_plan(plan)


def nest_tasks(tasks: Sequence[Task]) -> list[object]:
    """Return the tasks as nested lists: `[ticked, text, [subtasks]]`."""
    roots: list[object] = []
    rows = [roots]
    for task in tasks:
        del rows[task.level + 1 :]
        children: list[object] = []
        rows[-1].append([task.ticked, task.text, children])
        rows.append(children)
    return roots


def build_task_nodes(tasks: Sequence[Task]) -> list[object]:
    """Return the tasks as objects that contain their subtasks."""
    roots: list[object] = []
    rows = [roots]
    parents = find_parents(tasks)
    for task, parent in zip(tasks, parents, strict=True):
        del rows[task.level + 1 :]
        children: list[object] = []
        node: PlanData = {
            "id": make_task_id(task.text),
            "summary": task.text,
            "details": task.details,
            "completed": task.ticked,
            "children": children,
            "level": task.level,
        }
        if parent is not None:
            node["parent_id"] = make_task_id(tasks[parent].text)
        rows[-1].append(node)
        rows.append(children)
    return roots


def _describe_planner_plan(plan: Plan) -> PlanData:
    data: PlanData = {"state": str(plan.state)}
    if plan.header is not None:
        data["header"] = _describe_header(plan.header, "title")
    if plan.description is not None:
        data["description"] = plan.description
    if plan.constraints is not None:
        data["constraints"] = [list(entry) for entry in plan.constraints]
    if plan.tasks is not None:
        data["tasks"] = nest_tasks(plan.tasks)
    if plan.direction is not None:
        data["direction"] = plan.direction
    if (directive := read_directive(plan)) is not None:
        data["directive"] = directive
    data["warnings"] = [_describe_warning(entry) for entry in plan.warnings]
    data["problems"] = [describe_problem(entry) for entry in plan.problems]
    return data


def _describe_commits_plan(plan: Plan, text: str | None) -> PlanData:
    ok = not plan.problems and plan.state in {PlanState.PARSED, PlanState.EMPTY}
    data: PlanData = {"ok": ok, "phase": str(detect_phase(plan))}
    if plan.header is not None:
        data["header"] = _describe_header(plan.header, "summary")
    if plan.description is not None:
        data["description"] = plan.description
    if plan.constraints is not None:
        data["constraints"] = [f"{key}: {value}" for key, value in plan.constraints]
    if plan.tasks is not None:
        data["tasks"] = build_task_nodes(plan.tasks)
    total, ticked = count_tasks(plan.tasks or ())
    data["metadata"] = {"totalTasks": total, "completedTasks": ticked, "isComplete": ok and plan.finished}
    data["warnings"] = [entry.code for entry in plan.warnings]
    data["problems"] = [describe_problem(entry) for entry in plan.problems]
    if not ok and text is not None:
        data["raw_commit_content"] = text
    return data


def _describe_header(header: Header, title: str) -> PlanData:
    data: PlanData = {"type": header.type}
    if header.scope is not None:
        data["scope"] = header.scope
    data["breaking"] = header.breaking
    if header.title is not None:
        data[title] = header.title
    return data


def _describe_warning(warning: PlanWarning) -> PlanData:
    data: PlanData = {"code": warning.code}
    if warning.field:
        data["field"] = warning.field
    if warning.line:
        data["line"] = warning.line
    data["message"] = warning.message
    return data


def describe_problem(problem: PlanProblem) -> PlanData:
    """Return a problem as a plain value, without the fields it does not have."""
    data: PlanData = {"code": problem.code, "message": problem.message, "repair": problem.repair}
    if problem.line:
        data |= {"line": problem.line, "column": problem.column, "span": problem.span}
    if problem.text:
        data |= {"shown": problem.shown, "carets": problem.carets}
    return data
