"""Whether tasks, as plain values, are what their dialect allows; they nest, and nothing recurses."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from handrail.plan.findings import Finding
from handrail.plan.grammar import Config, Dialect
from handrail.plan.tasks import slug

LISTS: Final = (list, tuple)
"""What a list is given as."""


class _Parts(Struct, frozen=True, gc=False):
    """The fields of one task, by the names they have in its path."""

    texts: tuple[tuple[str, object], ...]
    ticked: tuple[str, object]
    below: tuple[str, object]


def check_tasks(given: object, config: Config) -> Iterator[Finding]:
    """What is wrong with a list of tasks; None is no list, and nothing is wrong with it."""
    if given is None:
        return
    if not isinstance(given, LISTS):
        yield Finding("tasks", "the tasks are a list", "INVALID_TYPE")
        return
    if not given:
        yield Finding("tasks", "there is no task; give at least one", "TOO_SMALL")
    waiting: list[tuple[str, int, object]] = [("tasks", 0, given)]
    count = 0
    while waiting:
        at, level, row = waiting.pop()
        if not isinstance(row, LISTS):
            yield Finding(at, "the tasks below are a list", "INVALID_TYPE")
            continue
        count += len(row)
        if row and level > config.max_nesting_depth:
            message = f"tasks of level {level}; the deepest is {config.max_nesting_depth}"
            yield Finding(at, message, "TOO_BIG")
            continue
        below: list[tuple[str, int, object]] = []
        yield from _beside(at, level, row, config, below)
        waiting += reversed(below)
    if count > config.max_task_count:
        yield Finding("tasks", f"{count:,} tasks; {config.max_task_count:,} are allowed", "TOO_BIG")


def _beside(
    at: str, level: int, row: Sequence[object], config: Config, below: list[tuple[str, int, object]]
) -> Iterator[Finding]:
    """What is wrong with tasks beside each other; those below them are put into `below`."""
    commits = config.dialect is Dialect.COMMITS
    if commits:
        yield from _siblings(at, row)
    for index, one in enumerate(row):
        place = f"{at}.{index}"
        parts = _node(one) if commits else _row(one)
        if parts is None:
            shape = "{summary, details}" if commits else "[ticked, text, [tasks below]]"
            yield Finding(place, f"a task is {shape}", "INVALID_TYPE")
            continue
        yield from _task(place, parts)
        below.append((f"{place}.{parts.below[0]}", level + 1, parts.below[1]))


def _row(one: object) -> _Parts | None:
    if not (isinstance(one, LISTS) and len(one) == 3):
        return None
    return _Parts((("1", one[1]),), ("0", one[0]), ("2", one[2]))


def _node(one: object) -> _Parts | None:
    if not isinstance(one, Mapping):
        return None
    texts = tuple((name, one.get(name)) for name in ("summary", "details"))
    return _Parts(texts, ("completed", one.get("completed", False)), ("children", one.get("children", ())))


def _task(at: str, parts: _Parts) -> Iterator[Finding]:
    name, ticked = parts.ticked
    if not isinstance(ticked, bool):
        yield Finding(f"{at}.{name}", "a task is ticked or not: true or false", "INVALID_TYPE")
    for name, text in parts.texts:
        if not isinstance(text, str):
            yield Finding(f"{at}.{name}", "this is a text", "INVALID_TYPE")
        elif not text.strip():
            yield Finding(f"{at}.{name}", "this says nothing", "TOO_SMALL")
        elif "\n" in text:
            yield Finding(f"{at}.{name}", "a task is one line", "INVALID_FORMAT")


def _siblings(at: str, row: Sequence[object]) -> Iterator[Finding]:
    """The ids of tasks beside each other, which refer to them, must differ."""
    seen: set[str] = set()
    for index, one in enumerate(row):
        summary = one.get("summary") if isinstance(one, Mapping) else None
        if not isinstance(summary, str) or not summary.strip():
            continue
        name = slug(summary)
        if not name:
            message = "no id can be made of this; give it a letter or a digit"
            yield Finding(f"{at}.{index}.summary", message, "INVALID_FORMAT")
        elif name in seen:
            message = f"another task beside it is called `{name}`; give it a summary of its own"
            yield Finding(f"{at}.{index}.summary", message, "INVALID_VALUE")
        seen.add(name)
