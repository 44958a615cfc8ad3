"""The body of the dialect `planner`: description, constraints, tasks, direction, in this order."""

from dataclasses import dataclass, field

from handrail.plan.lines import joined
from handrail.plan.model import Constraint, Header, Kept, Plan, Problem, Section, State, Task, Warned
from handrail.plan.problems import problem
from handrail.plan.rules import Named, Rules


def read_body(text: str, end: int, header: Header, rules: Rules, warnings: tuple[Warned, ...]) -> Plan:
    """The plan with this header; `end` is where the first line ends."""
    begin = 2
    if rules.opens is not None:
        opened = rules.opens.search(text, end)
        if opened is None:
            below = text.find("\n", end + 1)
            if below == end + 1 or text[end : below if below > 0 else None].isspace():
                return Plan(State.PARSED, header, _trimmed(text, max(below, end)), warnings=warnings)
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
    """One reading, and what it found so far; `section` is None in the description."""

    rules: Rules
    header: Header
    lines: list[str]
    warnings: list[Warned]
    description: list[str] = field(default_factory=list)
    constraints: list[Constraint] | None = None
    tasks: list[Task] | None = None
    direction: list[str] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    section: Section | None = None
    marked: bool = False

    def read(self, begin: int) -> Plan:
        """The plan. The lines ahead of the index `begin` are known to be text."""
        lines, leads = self.lines, self.rules.leads
        if len(lines) > 1 and lines[1].strip():
            return self._plan(self._crowded())
        self.description = lines[2:begin]
        for index in range(begin, len(lines)):
            line = lines[index]
            if not line or line.isspace():
                self._blank(line)
                continue
            plain = leads and line.lstrip()[0] not in leads
            found = self._text(index + 1, line) if plain else self._line(index + 1, line)
            if found is not None:
                return self._plan(found)
        return self._plan(None)

    def _line(self, number: int, line: str) -> Problem | None:
        """A line that may be more than text."""
        rules = self.rules
        if (found := rules.task.fullmatch(line)) is not None:
            return self._task(number, found.groupdict())
        if rules.near_task.fullmatch(line) is not None:
            return self._malformed(number)
        if (found := rules.constraint.fullmatch(line)) is not None:
            return self._constraint(number, found.groupdict())
        if rules.near_constraint.fullmatch(line) is not None:
            return self._skip(number, line)
        if rules.marker.fullmatch(line) is not None:
            return self._marker(number, line)
        if rules.bullet.fullmatch(line) is not None:
            if self.section is None and not any(map(str.strip, self.description)):
                return self._bullet(number)
            if self.section in {Section.CONSTRAINTS, Section.TASKS}:
                return self._skip(number, line)
        return self._text(number, line)

    def _blank(self, line: str) -> None:
        if self.section is None:
            self.description.append(line)
        elif self.section is Section.DIRECTION:
            self.direction.append(line)

    def _text(self, number: int, line: str) -> Problem | None:
        if self.section is None:
            self.description.append(line)
            return None
        if self.marked:
            return self._after_marker(number)
        if self.section is not Section.DIRECTION:
            most = self.rules.config.direction_halt_length
            if most is not None and len(line) <= most:
                return self._short(number, most)
            self.section = Section.DIRECTION
        self.direction.append(line)
        return None

    def _marker(self, number: int, line: str) -> Problem | None:
        if self.marked:
            return self._after_marker(number)
        self.section, self.marked = Section.DIRECTION, True
        self.direction.append(line)
        return None

    def _constraint(self, number: int, groups: Named) -> Problem | None:
        if self.section not in {None, Section.CONSTRAINTS}:
            return self._order(number, "a constraint", "put it ahead of the tasks")
        self.section = Section.CONSTRAINTS
        if self.constraints is None:
            self.constraints = []
        self.constraints.append((groups["key"] or "", groups["value"] or ""))
        return None

    def _skip(self, number: int, line: str) -> Problem | None:
        if self.marked:
            return self._after_marker(number)
        if self.section is None:
            self.section = Section.CONSTRAINTS
            self.constraints = []
        items = (self.constraints, self.tasks, self.direction)[list(Section).index(self.section)]
        self.kept.append(Kept(self.section, len(items or ()), line))
        message = f"`{line}` is kept and not read: a constraint is `- Key: value`, its value in small letters"
        self.warnings.append(Warned("constraint_skipped", message, "constraints", number))
        return None

    def _task(self, number: int, groups: Named) -> Problem | None:
        config = self.rules.config
        if self.section is Section.DIRECTION:
            return self._order(number, "a task", "put it ahead of the direction")
        self.section = Section.TASKS
        if self.tasks is None:
            self.tasks = []
        if len(self.tasks) >= config.max_task_count:
            return self._too_many(number)
        indent = groups["indent"] or ""
        width = len(indent) + indent.count("\t") * (config.indent_size - 1)
        while self.widths and self.widths[-1] >= width:
            self.widths.pop()
        level = len(self.widths)
        if level > config.max_nesting_depth:
            return self._too_deep(number, len(indent))
        self.widths.append(width)
        self.tasks.append(Task(level, groups["box"] == "x", groups["text"] or ""))
        return None

    def _plan(self, found: Problem | None) -> Plan:
        direction = joined(self.direction)
        last = direction.count("\n") + 1 if direction else 0
        constraints = [] if self.constraints is None and self.tasks is not None else self.constraints
        return Plan(
            State.PARSED if found is None else State.HALTED,
            self.header,
            joined(self.description),
            None if constraints is None else tuple(constraints),
            None if self.tasks is None else tuple(self.tasks),
            direction,
            kept=tuple(
                Kept(one.section, min(one.index, last), one.text) if one.section is Section.DIRECTION else one
                for one in self.kept
            ),
            warnings=tuple(self.warnings),
            problems=() if found is None else (found,),
        )

    # --- why a reading halts --------------------------------------------------------------------------------

    def _crowded(self) -> Problem:
        message = "the line below the header is not empty"
        return problem("header_line_not_alone", message, "put an empty line below the header", self.lines, 2)

    def _bullet(self, number: int) -> Problem:
        repair = "write `- Key: value`, or `- [ ]: task`, or begin with a sentence, or use `* ` for bullets"
        message = "the body begins with a bullet that is neither a constraint nor a task"
        return problem("body_opens_with_bullet", message, repair, self.lines, number)

    def _malformed(self, number: int) -> Problem:
        repair = (
            "write `- [ ]: text`, or `- [x]: text` if it is done; a bullet that is no task begins with `* `"
        )
        message = "this looks like a task and is not written as one"
        return problem("task_malformed", message, repair, self.lines, number)

    def _order(self, number: int, what: str, repair: str) -> Problem:
        message = f"{what} stands behind a section that follows it"
        return problem("section_order", message, repair, self.lines, number)

    def _too_deep(self, number: int, column: int) -> Problem:
        most = self.rules.config.max_nesting_depth
        message = f"a task of level {most + 1}; the deepest is {most}"
        return problem("task_too_deep", message, "indent it less", self.lines, number, column + 1)

    def _too_many(self, number: int) -> Problem:
        most = self.rules.config.max_task_count
        message = f"there are more than {most:,} tasks"
        return problem("too_many_tasks", message, "join some, or make two plans of it", self.lines, number)

    def _short(self, number: int, most: int) -> Problem:
        message = f"a direction has more than {most} characters"
        return problem("direction_too_short", message, "write it out, or take it out", self.lines, number)

    def _after_marker(self, number: int) -> Problem:
        message = "text stands behind the marker, which is the last line"
        return problem("text_after_end", message, "put it ahead of the marker", self.lines, number)
