"""How facts of work items and task batches are read, and how edits of them are tried on paper."""

from collections.abc import Mapping, Sequence
from typing import Final

from handrail.documents import items, taskgraph
from handrail.documents.taskgraph import Batch, Task, TaskGraph
from handrail.engine.facts import Value
from handrail.engine.skills import skill_of
from handrail.shell.facts import Asked, Drafted, Drafter, Reader
from handrail.shell.readers import document, trying
from handrail.workflows.registry import BATCH, BATCHES, DESIGN, GRAPH, ITEM, OK, PROBLEMS

_LAYERS: Final = "taskgraph.layers"


def _items(asked: Asked, of: tuple[str, ...]) -> items.Items:
    return items.read(document(asked, of[0]))


def _number(asked: Asked, of: tuple[str, ...]) -> Value:
    current = _items(asked, of).current(asked.run.vars.get(of[1]))
    return current.number if current else None


def _type(asked: Asked, of: tuple[str, ...]) -> Value:
    current = _items(asked, of).current(asked.run.vars.get(of[1]))
    return current.type if current and current.type in items.TYPES else items.TYPES[0]


def _remaining(asked: Asked, of: tuple[str, ...]) -> Value:
    return bool(_items(asked, of).pending)


def _total(asked: Asked, of: tuple[str, ...]) -> Value:
    return len(_items(asked, of).items)


def _documented(asked: Asked, of: tuple[str, ...]) -> Value:
    return sum(item.documented for item in _items(asked, of).items)


def _problems(asked: Asked, of: tuple[str, ...]) -> Value:
    return list(_items(asked, of).problems)


def _skill(asked: Asked, of: tuple[str, ...]) -> Value:  # noqa: ARG001 - every reader is given it
    return next((skill_of(asked.workflow, step.state) for step in asked.run.open), "")


def _batches(asked: Asked) -> list[Batch]:
    """The batches of the run; of one that has none yet, none."""
    kept = asked.run.vars.get(BATCHES)
    return kept if isinstance(kept, list) and taskgraph.sound(kept) else []


def _next(asked: Asked, of: tuple[str, ...]) -> Value:  # noqa: ARG001 - every reader is given it
    return taskgraph.following(_batches(asked))


def _batches_remain(asked: Asked, of: tuple[str, ...]) -> Value:  # noqa: ARG001 - the same
    """What is kept, unless a row that may be taken now makes the batches: then those it would make."""
    making = next(trying(asked, _LAYERS), None)
    batches = _layered(asked)[0] if making else _batches(asked)
    return taskgraph.following(batches) is not None


def _document(asked: Asked) -> Drafted:
    """The design document with the item of the run documented."""
    design, number = document(asked, DESIGN), asked.run.vars.get(ITEM)
    text = items.document(design, number)
    found = items.read(design if text is None else text)
    problems = list(found.problems)
    if text is None:
        problems.append(f"{DESIGN} has no item {number} any more, which is the one that was worked on")
    counts = {"total": len(found.items), "documented": sum(item.documented for item in found.items)}
    return Drafted({OK: not problems, PROBLEMS: problems, **counts}, {"text": text or design})


def _layers(asked: Asked) -> Drafted:
    """The batches of the task graph, none of them begun."""
    batches, problems = _layered(asked)
    pending = taskgraph.ids(batches, completed=False)
    return Drafted({OK: not problems, PROBLEMS: problems, "batches": batches, "pending": pending})


def _layered(asked: Asked) -> tuple[list[Batch], list[str]]:
    """The batches, or why there are none: no task is not the same as nothing to do."""
    path, graph = _graph(asked)
    if graph is None:
        found = items.read(document(asked, DESIGN)).items
        graph = TaskGraph(tuple(Task(f"item-{one.number}") for one in found if one.documented))
    if graph.problems:
        return [], [f"{path}: {problem}" for problem in graph.problems]
    if not graph.tasks:
        return [], [f"there is neither a task graph in {GRAPH} or {DESIGN}, nor an item that is documented"]
    return taskgraph.layers(graph.tasks), []


def _graph(asked: Asked) -> tuple[str, TaskGraph | None]:
    for path in (GRAPH, DESIGN):
        graph = taskgraph.read(document(asked, path))
        if graph is not None:
            return path, graph
    return "", None


def _update(asked: Asked) -> Drafted:
    """The batches with one task set."""
    given = asked.event.payload
    found = taskgraph.updated(_batches(asked), str(given.get("task_id", "")), str(given.get("status", "")))
    return _drafted(_batches(asked), [found]) if isinstance(found, str) else _drafted(found)


def _complete(asked: Asked) -> Drafted:
    """The batches with the current one completed."""
    batches, number = _batches(asked), asked.run.vars.get(BATCH)
    if not isinstance(number, int) or number >= len(batches):
        return _drafted(batches, ["there is no current batch"])
    return _drafted(taskgraph.closed(batches, number), taskgraph.open_tasks(batches[number]))


def _drafted(batches: Sequence[Batch], problems: Sequence[str] = ()) -> Drafted:
    facts: dict[str, Value] = {"batches": list(batches)}
    for name, completed in (("completed", True), ("pending", False)):
        facts[name] = taskgraph.ids(batches, completed=completed)
    return Drafted({OK: not problems, PROBLEMS: list(problems), **facts})


ITEM_READERS: Final[Mapping[str, Reader]] = {
    "batches.next": _next,
    "batches.remaining": _batches_remain,
    "items.documented": _documented,
    "items.number": _number,
    "items.problems": _problems,
    "items.remaining": _remaining,
    "items.total": _total,
    "items.type": _type,
    "state.skill": _skill,
}
"""How these facts are read, by the name of their reader."""

ITEM_DRAFTERS: Final[Mapping[str, Drafter]] = {
    "batch.complete": _complete,
    "items.document": _document,
    _LAYERS: _layers,
    "tasks.update": _update,
}
"""How these edits are tried, by the name of their kind."""
