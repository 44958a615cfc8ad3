"""Convert plans to plain values for JSON, in the shape of each dialect.

`edit.parse_plan_data` is the way back.
"""

from collections.abc import Sequence
from typing import TypeAlias

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


def describe_plan(plan: Plan, config: PlanConfig, text: str | None = None) -> PlanData:
    """Return the plan in the shape of its dialect; `text` is the text it was parsed from."""
    commits = config.dialect is Dialect.COMMITS
    ok = not plan.problems and plan.state in {PlanState.PARSED, PlanState.EMPTY}
    data: PlanData = {"ok": ok, "phase": str(detect_phase(plan))} if commits else {"state": str(plan.state)}
    if plan.header is not None:
        data["header"] = _describe_header(plan.header, "summary" if commits else "title")
    if plan.description is not None:
        data["description"] = plan.description
    if plan.constraints is not None:
        data["constraints"] = [": ".join(each) if commits else list(each) for each in plan.constraints]
    if plan.tasks is not None:
        data["tasks"] = _build_task_nodes(plan.tasks) if commits else nest_tasks(plan.tasks)
    if commits:
        total, ticked = count_tasks(plan.tasks or ())
        finished = ok and plan.finished
        data["metadata"] = {"totalTasks": total, "completedTasks": ticked, "isComplete": finished}
    elif plan.direction is not None:
        data["direction"] = plan.direction
        if (directive := read_directive(plan)) is not None:
            data["directive"] = directive
    data["warnings"] = [each.code if commits else _describe_warning(each) for each in plan.warnings]
    data["problems"] = [_describe_problem(each) for each in plan.problems]
    if commits and not ok and text is not None:
        data["raw_commit_content"] = text
    return data


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


def _build_task_nodes(tasks: Sequence[Task]) -> list[object]:
    roots: list[object] = []
    rows = [roots]
    for task, parent in zip(tasks, find_parents(tasks), strict=True):
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


def _describe_header(header: Header, title: str) -> PlanData:
    data = {"type": header.type, "scope": header.scope, "breaking": header.breaking, title: header.title}
    return {name: value for name, value in data.items() if value is not None}


def _describe_warning(warning: PlanWarning) -> PlanData:
    data = {"code": warning.code, "field": warning.field, "line": warning.line, "message": warning.message}
    return {name: value for name, value in data.items() if value}


def _describe_problem(problem: PlanProblem) -> PlanData:
    data: PlanData = {"code": problem.code, "message": problem.message, "repair": problem.repair}
    if problem.line:
        data |= {"line": problem.line, "column": problem.column, "span": problem.span}
    if problem.text:
        data |= {"shown": problem.shown, "carets": problem.carets}
    return data
