"""Plans as the plain values that JSON holds: the shape of each dialect."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from handrail.plan.grammar import Config, Dialect
from handrail.plan.model import Header, Plan, State, Task
from handrail.plan.problems import Problem, Warned
from handrail.plan.stage import directive, phase_of
from handrail.plan.tasks import counts, parents, slug

Data: TypeAlias = dict[str, object]
_COMMITS: Final = Dialect.COMMITS


def as_data(plan: Plan, config: Config, text: str | None = None) -> Data:
    """The plan in the shape of its dialect; `text` is what it was read from."""
    return _commits(plan, text) if config.dialect is _COMMITS else _planner(plan)


def nested(tasks: Sequence[Task]) -> list[object]:
    """The tasks as `[ticked, text, [tasks below]]`."""
    roots: list[object] = []
    rows = [roots]
    for task in tasks:
        del rows[task.level + 1 :]
        below: list[object] = []
        rows[-1].append([task.ticked, task.text, below])
        rows.append(below)
    return roots


def nodes(tasks: Sequence[Task]) -> list[object]:
    """The tasks as objects that hold those below them."""
    roots: list[object] = []
    rows = [roots]
    above = parents(tasks)
    for task, parent in zip(tasks, above, strict=True):
        del rows[task.level + 1 :]
        below: list[object] = []
        node: Data = {
            "id": slug(task.text),
            "summary": task.text,
            "details": task.details,
            "completed": task.ticked,
            "children": below,
            "level": task.level,
        }
        if parent is not None:
            node["parent_id"] = slug(tasks[parent].text)
        rows[-1].append(node)
        rows.append(below)
    return roots


def _planner(plan: Plan) -> Data:
    data: Data = {"state": str(plan.state)}
    if plan.header is not None:
        data["header"] = _header(plan.header, "title")
    if plan.description is not None:
        data["description"] = plan.description
    if plan.constraints is not None:
        data["constraints"] = [list(one) for one in plan.constraints]
    if plan.tasks is not None:
        data["tasks"] = nested(plan.tasks)
    if plan.direction is not None:
        data["direction"] = plan.direction
    if (order := directive(plan)) is not None:
        data["directive"] = order
    data["warnings"] = [_warned(one) for one in plan.warnings]
    data["problems"] = [problem_data(one) for one in plan.problems]
    return data


def _commits(plan: Plan, text: str | None) -> Data:
    ok = not plan.problems and plan.state in {State.PARSED, State.EMPTY}
    data: Data = {"ok": ok, "phase": str(phase_of(plan))}
    if plan.header is not None:
        data["header"] = _header(plan.header, "summary")
    if plan.description is not None:
        data["description"] = plan.description
    if plan.constraints is not None:
        data["constraints"] = [f"{key}: {value}" for key, value in plan.constraints]
    if plan.tasks is not None:
        data["tasks"] = nodes(plan.tasks)
    total, ticked = counts(plan.tasks or ())
    data["metadata"] = {
        "totalTasks": total,
        "completedTasks": ticked,
        "isComplete": ok and plan.finished,
    }
    data["warnings"] = [one.code for one in plan.warnings]
    data["problems"] = [problem_data(one) for one in plan.problems]
    if not ok and text is not None:
        data["raw_commit_content"] = text
    return data


def _header(header: Header, title: str) -> Data:
    data: Data = {"type": header.type}
    if header.scope is not None:
        data["scope"] = header.scope
    data["breaking"] = header.breaking
    if header.title is not None:
        data[title] = header.title
    return data


def _warned(warned: Warned) -> Data:
    data: Data = {"code": warned.code}
    if warned.field:
        data["field"] = warned.field
    if warned.line:
        data["line"] = warned.line
    data["message"] = warned.message
    return data


def problem_data(problem: Problem) -> Data:
    """A problem as a value; what it does not have is left out."""
    data: Data = {"code": problem.code, "message": problem.message, "repair": problem.repair}
    if problem.line:
        data |= {"line": problem.line, "column": problem.column, "span": problem.span}
    if problem.text:
        data |= {"shown": problem.shown, "carets": problem.carets}
    return data
