"""Parse the task graph of a document, group its tasks into batches, and update their statuses.

Tasks and their dependencies are written in fenced YAML. A batch holds every task whose dependencies are in
earlier batches. Batches are stored as JSON that other programs read:

`{"id", "tasks": [{"id", "status", "dependsOn"}], "status"}`
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

import yaml

from handrail.documents.markdown import parse_blocks

MAX_TASKS: Final = 1_000
PENDING: Final = "pending"
IN_PROGRESS: Final = "in_progress"
COMPLETED: Final = "completed"
FAILED: Final = "failed"
STATUSES: Final = (PENDING, IN_PROGRESS, COMPLETED, FAILED)
Batch: TypeAlias = dict[str, Any]
_MAX_DEPTH: Final = 8
_MAX_LISTED: Final = 20
_MAX_SHOWN_CHARACTERS: Final = 100
_FENCE_WORDS: Final = ("yaml", "yml")
_TASKS_KEY: Final = re.compile(r"""^["']?tasks["']?[ \t]*:""", re.MULTILINE)
_ID: Final = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,100}")


@dataclass(frozen=True, slots=True)
class Task:
    """A task, and the ids of the tasks that must be completed before it."""

    id: str
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskGraph:
    """The tasks of a document in order, and the problems found in them."""

    tasks: tuple[Task, ...]
    problems: tuple[str, ...] = ()


@lru_cache(maxsize=8)
def parse_task_graph(text: str) -> TaskGraph | None:
    """Return the tasks of every YAML fence that has `tasks:`; None if there is no such fence."""
    fences = [fence for fence in parse_blocks(text).fences if fence.word.lower() in _FENCE_WORDS]
    fences = [fence for fence in fences if _TASKS_KEY.search(fence.text)]
    if not fences:
        return None
    tasks: list[Task] = []
    problems: list[str] = []
    for fence in fences:
        try:
            tasks += _read_tasks(fence.text)
        except _TaskGraphError as error:
            problems.append(f"line {fence.number + error.line}: {error}")
    if len(tasks) > MAX_TASKS:
        problems = [f"there are {len(tasks)} tasks; {MAX_TASKS} are the most"]
    problems = problems or list(_find_problems(tasks))
    more = [f"and {len(problems) - _MAX_LISTED} more"] if len(problems) > _MAX_LISTED else []
    return TaskGraph(tuple(tasks), (*problems[:_MAX_LISTED], *more))


def layer_tasks(tasks: Sequence[Task]) -> list[Batch]:
    """Group tasks with valid ids and dependencies into batches. Tasks in a cycle are left out."""
    left, done, batches = list(tasks), set[str](), list[Batch]()
    while ready := [task for task in left if done.issuperset(task.depends_on)]:
        entries = [{"id": task.id, "status": PENDING, "dependsOn": list(task.depends_on)} for task in ready]
        batches.append({"id": f"batch-{len(batches) + 1}", "tasks": entries, "status": PENDING})
        done |= {task.id for task in ready}
        left = [task for task in left if task.id not in done]
    return batches


def is_batch_list(value: object) -> bool:
    """True if a JSON value is a list of batches."""
    return isinstance(value, list) and all(
        isinstance(batch, dict)
        and isinstance(batch.get("id"), str)
        and batch.get("status") in {PENDING, IN_PROGRESS, COMPLETED}
        and isinstance(batch.get("tasks"), list)
        and all(map(_is_task, batch["tasks"]))
        for batch in value
    )


def find_next_batch(batches: Sequence[Batch]) -> int | None:
    """Return the index of the first batch that is not completed; None if all are."""
    return next((number for number, batch in enumerate(batches) if batch["status"] != COMPLETED), None)


def describe_open_tasks(batch: Batch) -> list[str]:
    """Return a line with id and status for each task of a batch that is not completed."""
    return [f"task `{task['id']}` is {task['status']}" for task in batch["tasks"] if not _is_completed(task)]


def list_task_ids(batches: Sequence[Batch], *, completed: bool) -> list[str]:
    """Return the ids of the completed tasks, or of the others, in the order of the batches."""
    return [task["id"] for batch in batches for task in batch["tasks"] if _is_completed(task) is completed]


def complete_batch(batches: Sequence[Batch], number: int) -> list[Batch]:
    """Return the batches with the batch at index `number` completed."""
    return [{**batch, "status": COMPLETED} if at == number else batch for at, batch in enumerate(batches)]


def update_task(batches: Sequence[Batch], task: str, status: str) -> list[Batch] | str:
    """Return the batches with the new status of a task, or the reason why it cannot be set."""
    known = {one["id"]: (batch, one) for batch in batches for one in batch["tasks"]}
    if task not in known:
        listed = ", ".join([*known][:_MAX_LISTED]) + (", …" if len(known) > _MAX_LISTED else "")
        return f"there is no task {task[:_MAX_SHOWN_CHARACTERS]!a}; there are {listed}"
    batch, entry = known[task]
    if batch["status"] == COMPLETED:
        return f"batch `{batch['id']}` is completed, and task `{task}` with it"
    statuses = {name: one["status"] for name, (_, one) in known.items()}
    blocking = [name for name in entry["dependsOn"] if statuses.get(name) != COMPLETED]
    if blocking:
        named = ", ".join(f"`{name}` is {statuses.get(name, 'no task')}" for name in blocking)
        return f"task `{task}` depends on what is not completed: {named}"
    # A batch is in progress once one of its tasks has started; only `complete_batch` completes it.
    tasks = [{**one, "status": status} if one["id"] == task else one for one in batch["tasks"]]
    under_way = any(one["status"] != PENDING for one in tasks)
    updated = {**batch, "tasks": tasks, "status": IN_PROGRESS if under_way else PENDING}
    return [updated if one is batch else one for one in batches]


class _TaskGraphError(Exception):
    """Why a fence holds no valid tasks, and on which of its lines, counted from 0."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def _read_tasks(text: str) -> list[Task]:
    document = _load_yaml(text)
    entries = document.get("tasks") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise _TaskGraphError("`tasks` must be a list")
    tasks = []
    for entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("id"), str):
            raise _TaskGraphError("each task is a mapping with an `id`")
        shown = entry["id"][:_MAX_SHOWN_CHARACTERS]
        depends_on = entry.get("depends-on") or []
        if not isinstance(depends_on, list) or not all(isinstance(name, str) for name in depends_on):
            raise _TaskGraphError(f"`depends-on` of task {shown!a} must be a list of ids")
        if not _ID.fullmatch(entry["id"]):
            raise _TaskGraphError(f"{shown!a} is no id: it is one word of at most 100 characters")
        tasks.append(Task(entry["id"], tuple(dict.fromkeys(depends_on))))
    return tasks


def _load_yaml(text: str) -> object:
    """Load the YAML of a fence as texts, lists and mappings. Aliases and duplicate keys raise."""
    if re.search(r"^%", text, re.MULTILINE):
        raise _TaskGraphError("a directive (`%`) is not read here")
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            line = event.start_mark.line
            if isinstance(event, yaml.AliasEvent):
                message = "an alias (`*name`) is not read here; write out what it stands for"
                raise _TaskGraphError(message, line)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise _TaskGraphError(f"it nests deeper than {_MAX_DEPTH} levels", line)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - it makes nothing but texts, lists and mappings
    except yaml.reader.ReaderError as error:
        raise _TaskGraphError("it is not YAML: it has a character that is no text") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        raise _TaskGraphError(f"it is not YAML: {error.problem}", line) from error


class _Loader(yaml.BaseLoader):
    """A YAML loader for texts, lists and mappings only."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - the signature of PyYAML
        """Return the mapping. Raise if it has a duplicate key."""
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and keys.count(key.value) > 1:
                message = f"the key {key.value[:_MAX_SHOWN_CHARACTERS]!a} stands twice in one place"
                raise _TaskGraphError(message, key.start_mark.line)
        return super().construct_mapping(node, deep)


def _find_problems(tasks: Sequence[Task]) -> Iterator[str]:
    counts = Counter(task.id for task in tasks)
    if not tasks:
        yield "the task graph has no task"
    yield from (f"the id `{name}` stands there {count} times" for name, count in counts.items() if count > 1)
    for task in tasks:
        for name in task.depends_on:
            if name not in counts:
                yield f"task `{task.id}` depends on {name[:_MAX_SHOWN_CHARACTERS]!a}, which is no task"
    left = {task.id: task.depends_on for task in tasks}
    while ready := [name for name, wanted in left.items() if not any(other in left for other in wanted)]:
        for name in ready:
            del left[name]
    if left:
        path = [next(iter(left))]
        while path[-1] not in path[:-1]:
            path.append(next(name for name in left[path[-1]] if name in left))
        yield f"tasks depend on each other in a circle: {' → '.join(path[path.index(path[-1]) :])}"


def _is_task(task: object) -> bool:
    return (
        isinstance(task, dict)
        and isinstance(task.get("id"), str)
        and task.get("status") in STATUSES
        and isinstance(task.get("dependsOn"), list)
        and all(isinstance(name, str) for name in task["dependsOn"])
    )


def _is_completed(task: Mapping[str, Any]) -> bool:
    return bool(task["status"] == COMPLETED)
