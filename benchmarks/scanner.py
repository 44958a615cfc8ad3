"""The floor of the plan parser: the grammar of `planner` in one bare loop over lines, with dicts for results.

It does the whole job: header, limits, sections and their order, nesting, skipped lines, the code and the line
of what halts it. It has no configuration, no carets and no sentences.
"""

import re
from typing import Any, Final

_COMPLETE: Final = re.compile(r"([a-z]+)\(([^)\s]+)\)(!)?:\s*(.+)")
_SCOPED: Final = re.compile(r"([a-z]+)\(([^)\s]+)\)(!)?:")
_TYPED: Final = re.compile(r"([a-z]+):(.*)")
_TASK: Final = re.compile(r"(\s*)- \[([x ])\]: (.+)")
_NEAR_TASK: Final = re.compile(r"\s*(?:[-*+]\s*)?\[[xX ]\](?![(\[])|\s*[-*+]\s*\[\](?![(\[])")
_CONSTRAINT: Final = re.compile(r"- ([A-Z][a-z ]*): ([a-z].*)")
_MARKER: Final = re.compile(r"~~~ [A-Z\s]+ ~~~")
Result = dict[str, Any]


def scan(text: str) -> Result:
    """What the text says, in the shape of the source."""
    if len(text) > 100_000 or "\0" in text:
        return {"state": "halted", "problem": ("unread", 0)}
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    if not text.strip():
        return {"state": "empty"}
    lines = text.split("\n")
    out = _header(lines[0])
    if out["state"] == "parsed" and len(lines) > 1:
        if lines[1].strip():
            return {**out, "state": "halted", "problem": ("crowded", 2)}
        _body(out, lines)
    return out


def _header(line: str) -> Result:
    if found := _COMPLETE.fullmatch(line):
        kind, scope, mark, title = found.groups()
        header = {"type": kind, "scope": scope, "breaking": mark is not None}
        if len(title) > 120:
            return {"state": "halted", "header": header, "problem": ("title", 1)}
        return {"state": "parsed", "header": {**header, "title": title}}
    if found := _SCOPED.fullmatch(line):
        kind, scope, mark = found.groups()
        return {"state": "parsed", "header": {"type": kind, "scope": scope, "breaking": mark is not None}}
    if found := _TYPED.fullmatch(line):
        kind, ignored = found.groups()
        warnings = [("title_ignored", 1)] if ignored.strip() else []
        header = {"type": kind, "breaking": False, "ignored": ignored}
        return {"state": "parsed", "header": header, "warnings": warnings}
    return {"state": "unknown", "problem": ("header", 1)}


def _body(out: Result, lines: list[str]) -> None:
    description: list[str] = []
    direction: list[str] = []
    constraints: list[tuple[str, str]] = []
    tasks: list[list[Any]] = []
    stored: list[tuple[int, int, str]] = []
    stack: list[tuple[int, list[Any]]] = []
    part = count = 0
    problem = None
    for index in range(2, len(lines)):
        line = lines[index]
        lead = line.lstrip()[:1]
        if not lead:
            (description if part == 0 else direction).append(line)
        elif lead in "-*+[" and (found := _TASK.fullmatch(line)):
            part, count = 2 if part < 3 else 4, count + 1
            problem = _add_task(tasks, stack, found, count) or ("order" if part == 4 else None)
        elif lead in "-*+[" and _NEAR_TASK.match(line):
            problem = "task"
        elif lead == "-" and (found := _CONSTRAINT.fullmatch(line)):
            problem, part = ("order" if part > 1 else None), max(part, 1)
            constraints.append((found[1], found[2]))
        elif line.startswith("- ") and (": " in line[3:] or part in {1, 2}):
            part = max(part, 1)
            stored.append((part, len((constraints, tasks, direction)[part - 1]), line))
        elif line.startswith("- ") and part == 0 and not any(description):
            problem = "bullet"
        elif part == 0 and not (lead == "~" and _MARKER.fullmatch(line)):
            description.append(line)
        else:
            problem = "direction" if part < 3 and len(line) <= 3 else _ended(direction)
            part = 3
            direction.append(line)
        if problem:
            out["state"], out["problem"] = "halted", (problem, index + 1)
            break
    _finish(out, description, direction, (constraints, tasks, stored))


def _ended(direction: list[str]) -> str | None:
    return "marker" if direction and _MARKER.fullmatch(direction[-1]) else None


def _add_task(
    tasks: list[list[Any]], stack: list[tuple[int, list[Any]]], found: re.Match[str], count: int
) -> str | None:
    indent, box, text = found.groups()
    width = len(indent) + indent.count("\t")
    while stack and stack[-1][0] >= width:
        stack.pop()
    task: list[Any] = [box == "x", text, []]
    (stack[-1][1][2] if stack else tasks).append(task)
    stack.append((width, task))
    return "tasks" if count > 1000 or len(stack) > 5 else None


def _finish(out: Result, description: list[str], direction: list[str], rest: tuple[Any, Any, Any]) -> None:
    constraints, tasks, stored = rest
    if text := "\n".join(description).strip("\n"):
        out["description"] = text
    if constraints or tasks or stored:
        out["constraints"] = constraints
    if tasks:
        out["tasks"] = tasks
    if stored:
        out["kept"] = stored
    if text := "\n".join(direction).strip("\n"):
        out["direction"] = text
