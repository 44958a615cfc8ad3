"""The dialect `commits`: a header, a description, `Constraints:` and `Tasks [ ]:`, all of it or nothing."""

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from handrail.plan import grammar
from handrail.plan.grammar import Config
from handrail.plan.lines import joined
from handrail.plan.model import Constraint, Header, Plan, State, Task
from handrail.plan.problems import Problem, Warned, at_line
from handrail.plan.rules import Rules, task_examples
from handrail.plan.tasks import propagated, slug

_NEAR_SECTION: Final = re.compile(grammar.NEAR_SECTION)
DETAILS: Final = ": "
"""What stands between the summary of a task and its details."""

_HEADER: Final = "type(scope): summary"


class _Part(Enum):
    """Where in the body a line stands."""

    DESCRIPTION = auto()
    NO_CONSTRAINTS = auto()
    CONSTRAINTS = auto()
    TASKS = auto()


_SECTIONS: Final = {
    grammar.NO_CONSTRAINTS_LINE: _Part.NO_CONSTRAINTS,
    grammar.CONSTRAINTS_LINE: _Part.CONSTRAINTS,
    grammar.OPEN_TASKS_LINE: _Part.TASKS,
    grammar.FINISHED_TASKS_LINE: _Part.TASKS,
}


def read_commits(text: str, rules: Rules, warnings: tuple[Warned, ...]) -> Plan:
    """The plan that the text holds."""
    return _Reader(rules, text.split("\n"), list(warnings)).read()


def section_line(line: str) -> bool:
    """True if the line opens a section, or looks as if it did."""
    return _NEAR_SECTION.fullmatch(line) is not None


@dataclass(slots=True)
class _Reader:
    """One reading, and what it found so far.

    `opened` is the line of the section it is in; `decided` says that there was one of constraints.
    """

    rules: Rules
    lines: list[str]
    warnings: list[Warned]
    header: Header | None = None
    description: list[str] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    finished: bool = False
    part: _Part = _Part.DESCRIPTION
    decided: bool = False
    opened: int = 0
    ids: list[set[str]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def read(self) -> Plan:
        """The plan, halted at the first line that does not belong."""
        found = self._first(self.lines[0])
        for index in range(1, len(self.lines)):
            if found is not None:
                break
            found = self._line(index + 1, self.lines[index])
        found = found or self._emptied() or self._completed()
        state = State.PARSED if found is None else State.HALTED
        return Plan(
            State.UNKNOWN if self.header is None else state,
            self.header,
            joined(self.description),
            tuple(self.constraints) if self.decided else None,
            tuple(self.tasks) if self.part is _Part.TASKS else None,
            finished=self.finished,
            warnings=tuple(self.warnings),
            problems=() if found is None else (found,),
        )

    def _first(self, line: str) -> Problem | None:
        config = self.rules.config
        found = self.rules.headers[0][0].fullmatch(line)
        if found is None:
            return self._halt("header_malformed", 1, _HEADER)
        groups = found.groupdict()
        kind, scope, title = groups["type"] or "", groups["scope"], groups["title"] or ""
        breaking = groups["breaking"] is not None
        if kind not in config.types:
            return Problem("type_unknown", 1, 1, len(kind), line, (kind, ", ".join(config.types)))
        if scope is not None and scope != scope.lower():
            self.warnings.append(Warned("scope_lowercased", 1, scope))
            scope = scope.lower()
        self.header = Header(kind, scope, breaking)
        if len(title) > config.max_title_length:
            return title_too_long(line, title, config)
        self.header = Header(kind, scope, breaking, title)
        return None

    def _line(self, number: int, line: str) -> Problem | None:
        if number == 2 and line.strip():
            return self._halt("header_line_not_alone", 2)
        if line in _SECTIONS:
            return self._open(number, line)
        if section_line(line):
            return self._halt("section_malformed", number)
        if self.part is _Part.DESCRIPTION:
            self.description.append(line)
        elif line.strip():
            return self._item(number, line)
        return None

    def _open(self, number: int, line: str) -> Problem | None:
        part = _SECTIONS[line]
        if (emptied := self._emptied()) is not None:
            return emptied
        if self.part is _Part.TASKS or (self.decided and part is not _Part.TASKS):
            return self._halt("section_order", number)
        self.part, self.opened = part, number
        self.decided = self.decided or part is not _Part.TASKS
        self.finished = line == grammar.FINISHED_TASKS_LINE
        return None

    def _item(self, number: int, line: str) -> Problem | None:
        if self.part is _Part.TASKS:
            return self._task(number, line)
        if self.part is _Part.CONSTRAINTS:
            return self._constraint(number, line)
        return self._halt("text_after_end", number)

    def _constraint(self, number: int, line: str) -> Problem | None:
        prefixes = self.rules.config.prefixes
        found = self.rules.constraint.fullmatch(line)
        groups = found.groupdict() if found is not None else {}
        key = groups.get("key")
        if key not in prefixes:
            return self._halt("constraint_malformed", number, ", ".join(prefixes))
        self.constraints.append((key, groups["value"] or ""))
        return None

    def _task(self, number: int, line: str) -> Problem | None:
        config = self.rules.config
        found = self.rules.task.fullmatch(line)
        groups = found.groupdict() if found is not None else {}
        summary, _, details = (groups.get("text") or "").partition(DETAILS)
        if not details.strip():
            return self._halt("task_malformed", number, *task_examples(config))
        level, odd = divmod(len(groups["indent"] or ""), config.indent_size)
        if level > config.max_nesting_depth:
            return self._halt("task_too_deep", number, str(level), str(config.max_nesting_depth))
        if odd or level > len(self.ids):
            return self._halt("task_indentation", number, str(config.indent_size))
        if len(self.tasks) >= config.max_task_count:
            return self._halt("too_many_tasks", number, f"{config.max_task_count:,}")
        return self._named(number, Task(level, groups["box"] == "x", summary, details))

    def _named(self, number: int, task: Task) -> Problem | None:
        """The task under its id, which none of its siblings has."""
        del self.ids[task.level + 1 :]
        if len(self.ids) == task.level:
            self.ids.append(set())
        name = slug(task.text)
        if not name:
            return self._halt("task_id_missing", number)
        if name in self.ids[task.level]:
            return self._halt("task_id_taken", number, name)
        self.ids[task.level].add(name)
        self.tasks.append(task)
        self.places.append(number)
        return None

    def _emptied(self) -> Problem | None:
        """Why the section that ends here is none."""
        if self.part is _Part.CONSTRAINTS and not self.constraints:
            return self._halt("constraints_empty", self.opened)
        if self.part is _Part.TASKS and not self.tasks:
            return self._halt("tasks_empty", self.opened)
        return None

    def _completed(self) -> Problem | None:
        """Why the boxes contradict each other; a parent of ticked tasks only is ticked."""
        right = propagated(self.tasks)
        for number, task, read in zip(self.places, self.tasks, right, strict=True):
            if task.ticked and not read.ticked:
                return self._halt("boxes_contradict", number)
            if task.ticked is not read.ticked:
                self.warnings.append(Warned("completion_propagated", number, task.text))
        self.tasks = list(right)
        if self.finished and not all(task.ticked for task in right):
            return self._halt("finished_too_soon", self.opened)
        return None

    def _halt(self, code: str, number: int, *seen: str) -> Problem:
        return at_line(code, self.lines, number, *seen)


def title_too_long(line: str, title: str, config: Config) -> Problem:
    """What is wrong with a title, from the first character that is not read."""
    over = len(title) - config.max_title_length
    seen = (str(len(title)), str(config.max_title_length))
    return Problem("title_too_long", 1, len(line) - over + 1, over, line, seen)
