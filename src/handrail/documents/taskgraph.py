"""The task graph: tasks and what each depends on, in fenced YAML, layered into batches; and their statuses.

A batch holds every task whose dependencies lie in earlier batches. Batches are kept as the JSON that other
programs read: `{"id", "tasks": [{"id", "status", "dependsOn"}], "status"}`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

import yaml

from handrail.documents.blocks import Fence, blocks

MOST: Final = 1_000
"""How many tasks a graph may have."""

PENDING: Final = "pending"
IN_PROGRESS: Final = "in_progress"
COMPLETED: Final = "completed"
FAILED: Final = "failed"
STATUSES: Final = (PENDING, IN_PROGRESS, COMPLETED, FAILED)

Batch: TypeAlias = dict[str, Any]

_DEEPEST: Final = 8
_TOLD: Final = 20
_SHOWN: Final = 100
_WORDS: Final = ("yaml", "yml")
_TASKS: Final = re.compile(r"""^["']?tasks["']?[ \t]*:""", re.MULTILINE)
_ID: Final = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,100}")


@dataclass(frozen=True, slots=True)
class Task:
    """A task, and the ids of those that must be completed before it."""

    id: str
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskGraph:
    """The tasks of a document in its order, and what is wrong with them."""

    tasks: tuple[Task, ...]
    problems: tuple[str, ...] = ()


@lru_cache(maxsize=8)
def read(text: str) -> TaskGraph | None:
    """The tasks in every fence of YAML that has `tasks:`; None if there is none."""
    found = [one for one in blocks(text).fences if one.word.lower() in _WORDS and _TASKS.search(one.text)]
    if not found:
        return None
    tasks: list[Task] = []
    problems: list[str] = []
    for fence in found:
        _collect(fence, tasks, problems)
    if len(tasks) > MOST:
        problems = [f"there are {len(tasks)} tasks; {MOST} are the most"]
    problems = problems or list(_wrong(tasks))
    more = [f"and {len(problems) - _TOLD} more"] if len(problems) > _TOLD else []
    return TaskGraph(tuple(tasks), (*problems[:_TOLD], *more))


def layers(tasks: Sequence[Task]) -> list[Batch]:
    """The batches of tasks whose ids and dependencies are good; tasks in a circle are in none."""
    left, done, found = list(tasks), set[str](), list[Batch]()
    while ready := [task for task in left if done.issuperset(task.depends_on)]:
        found.append(_batch(len(found) + 1, ready))
        done |= {task.id for task in ready}
        left = [task for task in left if task.id not in done]
    return found


def sound(value: object) -> bool:
    """True if a value of JSON is a list of batches."""
    return isinstance(value, list) and all(
        isinstance(batch, dict)
        and isinstance(batch.get("id"), str)
        and batch.get("status") in {PENDING, IN_PROGRESS, COMPLETED}
        and isinstance(batch.get("tasks"), list)
        and all(map(_sound_task, batch["tasks"]))
        for batch in value
    )


def following(batches: Sequence[Batch]) -> int | None:
    """The number, from 0, of the first batch that is not completed."""
    return next((number for number, one in enumerate(batches) if one["status"] != COMPLETED), None)


def open_tasks(batch: Batch) -> list[str]:
    """The tasks of a batch that are not completed, each with its status."""
    return [f"task `{task['id']}` is {task['status']}" for task in batch["tasks"] if not _done(task)]


def ids(batches: Sequence[Batch], *, completed: bool) -> list[str]:
    """The ids of the tasks that are completed, or of those that are not, in the order of the batches."""
    return [task["id"] for batch in batches for task in batch["tasks"] if _done(task) is completed]


def closed(batches: Sequence[Batch], number: int) -> list[Batch]:
    """The batches with this one completed."""
    return [{**one, "status": COMPLETED} if at == number else one for at, one in enumerate(batches)]


def updated(batches: Sequence[Batch], task: str, status: str) -> list[Batch] | str:
    """The batches with the status of a task set, or why it cannot be."""
    known = {one["id"]: (batch, one) for batch in batches for one in batch["tasks"]}
    if task not in known:
        more = ", …" if len(known) > _TOLD else ""
        return f"there is no task {task[:_SHOWN]!a}; there are {', '.join([*known][:_TOLD])}{more}"
    batch, ours = known[task]
    if batch["status"] == COMPLETED:
        return f"batch `{batch['id']}` is completed, and task `{task}` with it"
    statuses = {name: one["status"] for name, (_, one) in known.items()}
    waits = [name for name in ours["dependsOn"] if statuses.get(name) != COMPLETED]
    if waits:
        named = ", ".join(f"`{name}` is {statuses.get(name, 'no task')}" for name in waits)
        return f"task `{task}` depends on what is not completed: {named}"
    return [_with_task(one, task, status) if one is batch else one for one in batches]


def _collect(fence: Fence, tasks: list[Task], problems: list[str]) -> None:
    try:
        tasks += [_task(entry) for entry in _listed(fence.text)]
    except _Wrong as wrong:
        problems.append(f"line {fence.number + wrong.line}: {wrong}")


class _Wrong(Exception):  # noqa: N818 - carries a sentence out of the reader; nobody outside sees it
    """Why a fence holds no tasks, and in which of its lines, from 0."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def _listed(text: str) -> list[object]:
    found = _loaded(text)
    listed = found.get("tasks") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise _Wrong("`tasks` must be a list")
    return listed


def _loaded(text: str) -> object:
    """The YAML of a fence: texts, lists and mappings; nothing refers to anything, no key stands twice."""
    if re.search(r"^%", text, re.MULTILINE):
        raise _Wrong("a directive (`%`) is not read here")
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            line = event.start_mark.line
            if isinstance(event, yaml.AliasEvent):
                raise _Wrong("an alias (`*name`) is not read here; write out what it stands for", line)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise _Wrong(f"it nests deeper than {_DEEPEST} levels", line)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - it makes nothing but texts, lists and mappings
    except yaml.reader.ReaderError as wrong:
        raise _Wrong("it is not YAML: it has a character that is no text") from wrong
    except yaml.MarkedYAMLError as wrong:
        line = wrong.problem_mark.line if wrong.problem_mark else 0
        raise _Wrong(f"it is not YAML: {wrong.problem}", line) from wrong


class _Loader(yaml.BaseLoader):
    """YAML as texts, lists and mappings."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - the signature of PyYAML
        """The mapping, if no key stands in it twice."""
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and keys.count(key.value) > 1:
                raise _Wrong(f"the key {key.value[:_SHOWN]!a} stands twice in one place", key.start_mark.line)
        return super().construct_mapping(node, deep)


def _task(entry: object) -> Task:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("id"), str):
        raise _Wrong("each task is a mapping with an `id`")
    given = entry.get("depends-on") or []
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise _Wrong(f"`depends-on` of task {entry['id'][:_SHOWN]!a} must be a list of ids")
    if not _ID.fullmatch(entry["id"]):
        raise _Wrong(f"{entry['id'][:_SHOWN]!a} is no id: it is one word of at most 100 characters")
    return Task(entry["id"], tuple(dict.fromkeys(given)))


def _wrong(tasks: Sequence[Task]) -> Iterator[str]:
    counts = Counter(task.id for task in tasks)
    if not tasks:
        yield "the task graph has no task"
    for name, count in counts.items():
        if count > 1:
            yield f"the id `{name}` stands there {count} times"
    for task in tasks:
        for name in task.depends_on:
            if name not in counts:
                yield f"task `{task.id}` depends on {name[:_SHOWN]!a}, which is no task"
    if way := _circle({task.id: [name for name in task.depends_on if name in counts] for task in tasks}):
        yield f"tasks depend on each other in a circle: {' → '.join(way)}"


def _circle(depends: Mapping[str, Sequence[str]]) -> list[str]:
    """A way from a task over its dependencies back to it; none if they can all be layered."""
    left = dict(depends)
    while ready := [name for name, wanted in left.items() if not any(other in left for other in wanted)]:
        for name in ready:
            del left[name]
    if not left:
        return []
    way = [next(iter(left))]
    while way[-1] not in way[:-1]:
        way.append(next(name for name in left[way[-1]] if name in left))
    return way[way.index(way[-1]) :]


def _batch(number: int, tasks: Sequence[Task]) -> Batch:
    told = [{"id": one.id, "status": PENDING, "dependsOn": list(one.depends_on)} for one in tasks]
    return {"id": f"batch-{number}", "tasks": told, "status": PENDING}


def _with_task(batch: Batch, task: str, status: str) -> Batch:
    """A batch is under way once one of its tasks is; it is completed by whoever closes it."""
    tasks = [{**one, "status": status} if one["id"] == task else one for one in batch["tasks"]]
    under_way = any(one["status"] != PENDING for one in tasks)
    return {**batch, "tasks": tasks, "status": IN_PROGRESS if under_way else PENDING}


def _sound_task(task: object) -> bool:
    return (
        isinstance(task, dict)
        and isinstance(task.get("id"), str)
        and task.get("status") in STATUSES
        and isinstance(task.get("dependsOn"), list)
        and all(isinstance(name, str) for name in task["dependsOn"])
    )


def _done(task: Mapping[str, Any]) -> bool:
    return bool(task["status"] == COMPLETED)
