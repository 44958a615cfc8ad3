"""Tasks in a flat row: their ids, their paths, their parents, and which of them are complete."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from handrail.plan.model import Task

_OTHERS: Final = re.compile(r"[\W_]+")


def slug(text: str) -> str:
    """The id of a task: small letters and digits, hyphens for all else; empty if there are none."""
    return _OTHERS.sub("-", text.lower()).strip("-")


def paths(tasks: Sequence[Task]) -> tuple[str, ...]:
    """The path of each task: its name behind those of the tasks above it, as in `a/b`; no two are the same.

    The name is the id; tasks beside each other with the same id are numbered.
    """
    above = parents(tasks)
    ids = [slug(task.text) or "task" for task in tasks]
    shared = Counter(zip(above, ids, strict=True))
    taken = set(shared)
    numbers: Counter[tuple[int | None, str]] = Counter()
    found: list[str] = []
    for parent, name in zip(above, ids, strict=True):
        own = name
        while shared[parent, name] > 1 and (parent, own) in taken:
            numbers[parent, name] += 1
            own = f"{name}-{numbers[parent, name]}"
        taken.add((parent, own))
        found.append(own if parent is None else f"{found[parent]}/{own}")
    return tuple(found)


def parents(tasks: Sequence[Task]) -> tuple[int | None, ...]:
    """The index of the task above each, or None."""
    above: list[int] = []
    found: list[int | None] = []
    for index, task in enumerate(tasks):
        del above[task.level :]
        found.append(above[-1] if above else None)
        above.append(index)
    return tuple(found)


def is_parent(tasks: Sequence[Task], index: int) -> bool:
    """True if other tasks stand below the one at `index`."""
    return index + 1 < len(tasks) and tasks[index + 1].level > tasks[index].level


def propagated(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The tasks with every parent ticked if all below it are, and open if not."""
    ticked: dict[int, bool] = {}
    found = []
    for task in reversed(tasks):
        right = ticked.pop(task.level + 1, task.ticked)
        ticked[task.level] = ticked.get(task.level, True) and right
        found.append(task if task.ticked is right else replace(task, ticked=right))
    return tuple(reversed(found))


def counts(tasks: Sequence[Task]) -> tuple[int, int]:
    """How many tasks there are on all levels, and how many of them are ticked."""
    return len(tasks), sum(task.ticked for task in tasks)


def open_leaf(tasks: Sequence[Task]) -> int | None:
    """The index of the first open task that has none below it."""
    for index, task in enumerate(tasks):
        if not task.ticked and not is_parent(tasks, index):
            return index
    return None
