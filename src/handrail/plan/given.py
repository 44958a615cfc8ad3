"""A plan from a plain value, such as the arguments of a tool or a JSON file."""

from collections.abc import Mapping, Sequence
from typing import Any

from handrail.plan.check import Verdict, validate
from handrail.plan.commits import DETAILS
from handrail.plan.findings import Finding
from handrail.plan.grammar import COMMIT_MESSAGE, Config, Dialect
from handrail.plan.model import Constraint, Header, Plan, State, Task


def plan_of(data: Mapping[str, Any], config: Config = COMMIT_MESSAGE) -> Plan | Verdict:
    """The plan that a value in the shape of the dialect says; a value of another shape is told why not.

    Only the shape is looked at: whether the plan is valid is for `validate` to say, and whether it can be
    written for `format_plan`.
    """
    shaped = {**data, "state": State.PARSED, "ok": True, "phase": ""}
    wrong = tuple(one for one in validate(shaped, config).errors if one.code == "INVALID_TYPE")
    if wrong:
        return Verdict(wrong)
    commits = config.dialect is Dialect.COMMITS
    given, tasks, constraints = data["header"], data.get("tasks"), data.get("constraints")
    title = given.get("summary" if commits else "title")
    header = Header(given["type"], given.get("scope"), given.get("breaking", False), title)
    if constraints is None and tasks is not None and not commits:
        constraints = ()
    return Plan(
        State.PARSED,
        header,
        data.get("description"),
        None if constraints is None else tuple(map(constraint_of, constraints)),
        None if tasks is None else tasks_of(tasks, config),
        data.get("direction"),
        finished=commits and data.get("metadata", {}).get("isComplete") is True,
    )


def constraint_of(given: str | Sequence[str]) -> Constraint:
    """A constraint from `Prefix: value`, or from a prefix and a value."""
    key, value = given.split(DETAILS, 1) if isinstance(given, str) else given
    return (key, value)


def tasks_of(given: Sequence[Any], config: Config) -> tuple[Task, ...]:
    """The tasks of nested values, in one row."""
    found: list[Task] = []
    waiting = [(0, one) for one in reversed(given)]
    while waiting:
        level, one = waiting.pop()
        if config.dialect is Dialect.COMMITS:
            ticked, below = one.get("completed", False), one.get("children", ())
            found.append(Task(level, ticked, one["summary"], one["details"]))
        else:
            ticked, text, below = one
            found.append(Task(level, ticked, text))
        waiting += [(level + 1, child) for child in reversed(below)]
    return tuple(found)


def nested_by_level(given: Sequence[Any]) -> Sequence[Any] | Finding:
    """Tasks in a row with a `level` each, put below each other; other values as they are."""
    if any(not isinstance(one, Mapping) or "children" in one for one in given):
        return given
    roots: list[object] = []
    rows = [roots]
    for index, one in enumerate(given):
        level = one.get("level", 0)
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < len(rows):
            message = f"a level is a number from 0 to {len(rows) - 1} here: no more than one below the last"
            return Finding(f"tasks.{index}.level", message, "INVALID_VALUE")
        del rows[level + 1 :]
        below: list[object] = []
        rows[-1].append({**one, "children": below})
        rows.append(below)
    return roots
