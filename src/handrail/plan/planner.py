"""The body of the dialect `planner`: description, constraints, tasks, direction, in this order."""

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field
from typing import Final

from handrail.plan.lines import joined
from handrail.plan.model import Constraint, Header, Kept, Plan, Section, State, Task
from handrail.plan.problems import Problem, Warned, at_line
from handrail.plan.rules import Found, Rules, task_examples

_CONSTRAINTS: Final = Section.CONSTRAINTS
_TASKS: Final = Section.TASKS
_DIRECTION: Final = Section.DIRECTION
_PARSED: Final = State.PARSED


def read_body(text: str, end: int, header: Header, rules: Rules, warnings: tuple[Warned, ...]) -> Plan:
    """The plan with this header; `end` is where the first line ends."""
    begin = 2
    if rules.opens is not None:
        opened = rules.opens.search(text, end)
        if opened is None:
            below = text.find("\n", end + 1)
            if below == end + 1 or text[end : below if below > 0 else None].isspace():
                return Plan(_PARSED, header, _trimmed(text, max(below, end)), warnings=warnings)
        else:
            begin = max(2, text.count("\n", 0, opened.start() + 1))
    return _Reader(rules, header, text.split("\n"), list(warnings)).read(begin)


def _trimmed(text: str, below: int) -> str | None:
    """What stands below the second line, without the empty lines around it."""
    kept = len(text.rstrip())
    if kept <= below:
        return None
    last = text.find("\n", kept)
    body = text[below + 1 :] if last < 0 else text[below + 1 : last]
    if not body[0].isspace():
        return body
    return body[body.rfind("\n", 0, len(body) - len(body.lstrip())) + 1 :]


@dataclass(slots=True)
class _Reader:
    """One reading, and what it found so far; `section` is None in the description, which has `begun`."""

    rules: Rules
    header: Header
    lines: list[str]
    warnings: list[Warned]
    description: list[str] = field(default_factory=list)
    constraints: list[Constraint] | None = None
    tasks: list[Task] = field(default_factory=list)
    direction: list[str] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    section: Section | None = None
    begun: bool = False
    marked: bool = False

    def read(self, begin: int) -> Plan:
        """The plan. The lines ahead of the index `begin` are known to be text."""
        lines, leads = self.lines, self.rules.leads
        if len(lines) > 1 and lines[1].strip():
            return self._plan(self._halt("header_line_not_alone", 2))
        self.description = lines[2:begin]
        self.begun = any(map(str.strip, self.description))
        for number, line in enumerate(lines[begin:], begin + 1):
            lead = line.lstrip()[:1]
            if not lead:
                self._blank(line)
                continue
            plain = leads and lead not in leads
            found = self._text(number, line) if plain else self._line(number, line)
            if found is not None:
                return self._plan(found)
        return self._plan(None)

    def _line(self, number: int, line: str) -> Problem | None:
        """A line that may be more than text."""
        rules = self.rules
        if rules.boxed in line:
            if (found := rules.task.fullmatch(line)) is not None:
                return self._task(number, found)
            if rules.near_task.fullmatch(line) is not None:
                return self._halt("task_malformed", number, *task_examples(rules.config))
        if rules.keyed in line and (found := rules.constraint.fullmatch(line)) is not None:
            return self._constraint(number, *found.group("key", "value"))
        if rules.marker.fullmatch(line) is not None:
            return self._marker(number, line)
        return self._bulleted(number, line)

    def _bulleted(self, number: int, line: str) -> Problem | None:
        """A line that is no task, no constraint and no marker, though it may look like a constraint."""
        if self.rules.keyed in line and self.rules.near_constraint.fullmatch(line) is not None:
            return self._skip(number, line)
        if self.section is _DIRECTION or self.rules.bullet.fullmatch(line) is None:
            return self._text(number, line)
        if self.section is not None:
            return self._skip(number, line)
        return self._text(number, line) if self.begun else self._halt("body_opens_with_bullet", number)

    def _blank(self, line: str) -> None:
        if self.section is None:
            self.description.append(line)
        elif self.section is _DIRECTION:
            self.direction.append(line)

    def _text(self, number: int, line: str) -> Problem | None:
        if self.section is None:
            self.description.append(line)
            self.begun = True
            return None
        if self.marked:
            return self._halt("text_after_end", number)
        if self.section is not _DIRECTION:
            most = self.rules.config.direction_halt_length
            if most is not None and len(line) <= most:
                return self._halt("direction_too_short", number, str(most))
            self.section = _DIRECTION
        self.direction.append(line)
        return None

    def _marker(self, number: int, line: str) -> Problem | None:
        if self.marked:
            return self._halt("text_after_end", number)
        self.section, self.marked = _DIRECTION, True
        self.direction.append(line)
        return None

    def _constraint(self, number: int, key: str | None, value: str | None) -> Problem | None:
        if self.section not in {None, _CONSTRAINTS}:
            return self._halt("section_order", number)
        self.section = _CONSTRAINTS
        if self.constraints is None:
            self.constraints = []
        self.constraints.append((key or "", value or ""))
        return None

    def _skip(self, number: int, line: str) -> Problem | None:
        if self.marked:
            return self._halt("text_after_end", number)
        if self.section is None:
            self.section = _CONSTRAINTS
            self.constraints = []
        items: Mapping[Section, Sized | None] = {
            _CONSTRAINTS: self.constraints,
            _TASKS: self.tasks,
            _DIRECTION: self.direction,
        }
        self.kept.append(Kept(self.section, len(items[self.section] or ()), line))
        self.warnings.append(Warned("constraint_skipped", number, line))
        return None

    def _task(self, number: int, found: Found) -> Problem | None:
        indent, box, text = found.group("indent", "box", "text")
        config, widths, tasks = self.rules.config, self.widths, self.tasks
        if self.section is not _TASKS:
            if self.section is _DIRECTION:
                return self._halt("section_order", number)
            self.section = _TASKS
        if len(tasks) >= config.max_task_count:
            return self._halt("too_many_tasks", number, f"{config.max_task_count:,}")
        width = len(indent) + indent.count("\t") * (config.indent_size - 1) if indent else 0
        while widths and widths[-1] >= width:
            widths.pop()
        level = len(widths)
        if level > config.max_nesting_depth:
            return self._halt("task_too_deep", number, str(level), str(config.max_nesting_depth))
        widths.append(width)
        tasks.append(Task(level, box == "x", text or ""))
        return None

    def _plan(self, found: Problem | None) -> Plan:
        direction = joined(self.direction)
        last = direction.count("\n") + 1 if direction else 0
        constraints = [] if self.constraints is None and self.tasks else self.constraints
        return Plan(
            _PARSED if found is None else State.HALTED,
            self.header,
            joined(self.description),
            None if constraints is None else tuple(constraints),
            tuple(self.tasks) or None,
            direction,
            kept=tuple(
                Kept(one.section, min(one.index, last), one.text) if one.section is _DIRECTION else one
                for one in self.kept
            ),
            warnings=tuple(self.warnings),
            problems=() if found is None else (found,),
        )

    def _halt(self, code: str, number: int, *seen: str) -> Problem:
        return at_line(code, self.lines, number, *seen)
