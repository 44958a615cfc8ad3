"""Which task a name means, and how it is ticked."""

from typing import Final

from msgspec.structs import replace

from handrail.plan.edit import closed, with_row
from handrail.plan.grammar import COMMIT_MESSAGE, Config, Dialect
from handrail.plan.model import Plan, Refused, Task
from handrail.plan.problems import Problem
from handrail.plan.tasks import is_parent, parents, paths

_LISTED: Final = 10
"""How many candidates a sentence names; the answer holds all."""


def mark_task(
    plan: Plan, name: str, config: Config = COMMIT_MESSAGE, *, completed: bool = True
) -> Plan | Refused:
    """The plan with one task ticked, or open.

    `planner` takes a text, a part of one, an id or a path, and changes that task only. `commits` takes an id
    or a path of a task that has none below it; those above it follow.
    """
    if (refused := closed(plan)) is not None:
        return refused
    tasks = plan.tasks or ()
    if not tasks:
        return Refused((Problem("no_tasks_found"),))
    index = find_task(tasks, name, config)
    if isinstance(index, Refused):
        return index
    commits = config.dialect is Dialect.COMMITS
    if commits and is_parent(tasks, index):
        return Refused((Problem("task_has_others_below", seen=(name,)),))
    row = list(tasks)
    row[index] = replace(row[index], ticked=completed)
    if commits and not completed:
        for above in _above(tasks, index):
            row[above] = replace(row[above], ticked=False)
    return with_row(plan, tuple(row), config)


def find_task(tasks: tuple[Task, ...], name: str, config: Config) -> int | Refused:
    """The index of the one task that a name means; if there are several or none, the candidates."""
    ways = paths(tasks)
    wanted = name.strip()
    found = [index for index, way in enumerate(ways) if way == wanted.strip("/")]
    if not found:
        found = [index for index, way in enumerate(ways) if way.rpartition("/")[2] == wanted]
    if config.dialect is Dialect.PLANNER and wanted:
        exact = [index for index, task in enumerate(tasks) if task.text.strip() == wanted]
        part = [index for index, task in enumerate(tasks) if wanted.casefold() in task.text.casefold()]
        found = exact or found or part
    if len(found) == 1:
        return found[0]
    meant = tuple(ways[index] for index in found or range(len(tasks)))
    more = f" and {len(meant) - _LISTED} more" if len(meant) > _LISTED else ""
    listed = ", ".join(meant[:_LISTED]) + more
    if found:
        refused = Problem("task_ambiguous", seen=(name, str(len(found)), listed))
    else:
        refused = Problem("task_not_found", seen=(name, listed))
    return Refused((refused,), candidates=meant)


def _above(tasks: tuple[Task, ...], index: int) -> list[int]:
    ahead = parents(tasks)
    found: list[int] = []
    above = ahead[index]
    while above is not None:
        found.append(above)
        above = ahead[above]
    return found
