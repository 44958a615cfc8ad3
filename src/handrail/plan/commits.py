"""The dialect `commits`: a header, a description, `Constraints:` and `Tasks [ ]:`, all of it or nothing."""

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from handrail.plan import grammar
from handrail.plan.lines import joined
from handrail.plan.model import Constraint, Header, Plan, Problem, State, Task, Warned
from handrail.plan.problems import problem
from handrail.plan.rules import Rules
from handrail.plan.tasks import propagated, slug

_NEAR_SECTION: Final = re.compile(grammar.NEAR_SECTION)
_DETAILS: Final = ": "
_HEADER: Final = (
    "write `type(scope): summary`, the scope in letters, digits and hyphens, or without `(scope)`"
)
_SECTION: Final = (
    f"write `{grammar.CONSTRAINTS_LINE}`, `{grammar.NO_CONSTRAINTS_LINE}`, `{grammar.OPEN_TASKS_LINE}`"
    f" or `{grammar.FINISHED_TASKS_LINE}`"
)
_TASK: Final = "write `- [ ] summary: details`, or `- [x] summary: details` if it is done"


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
        found = self.rules.complete.fullmatch(line)
        if found is None:
            return self._at("header_malformed", "the first line is no header", _HEADER, 1)
        groups = found.groupdict()
        kind, scope, title = groups["type"] or "", groups["scope"], groups["title"] or ""
        breaking = groups["breaking"] is not None
        if kind not in config.types:
            repair = f"take one of {', '.join(config.types)}"
            return self._at("header_malformed", f"`{kind}` is no type", repair, 1, 1, len(kind))
        if scope is not None and scope != scope.lower():
            message = f"the scope `{scope}` is read as `{scope.lower()}`: scopes are written small"
            self.warnings.append(Warned("scope_lowercased", message, "header.scope", 1))
            scope = scope.lower()
        self.header = Header(kind, scope, breaking)
        if len(title) > config.max_title_length:
            message = f"the summary has {len(title)} characters; {config.max_title_length} are read"
            column = len(line) - len(title) + config.max_title_length + 1
            return self._at("title_too_long", message, "shorten it, and say the rest below", 1, column)
        self.header = Header(kind, scope, breaking, title)
        return None

    def _line(self, number: int, line: str) -> Problem | None:
        if number == 2 and line.strip():
            message = "the line below the header is not empty"
            return self._at("header_line_not_alone", message, "put an empty line below the header", 2)
        if line in _SECTIONS:
            return self._open(number, line)
        if _NEAR_SECTION.fullmatch(line) is not None:
            message = "this looks like the first line of a section and is not written as one"
            return self._at("section_malformed", message, _SECTION, number)
        if self.part is _Part.DESCRIPTION:
            self.description.append(line)
            return None
        if not line.strip():
            return None
        match self.part:
            case _Part.CONSTRAINTS:
                return self._constraint(number, line)
            case _Part.TASKS:
                return self._task(number, line)
            case _:
                message = "text stands behind `Constraints: none`"
                return self._at("text_after_end", message, "put it into the description", number)

    def _open(self, number: int, line: str) -> Problem | None:
        part = _SECTIONS[line]
        if (emptied := self._emptied()) is not None:
            return emptied
        if self.part is _Part.TASKS or (self.decided and part is not _Part.TASKS):
            message = "this section was opened before, or belongs ahead of another"
            return self._at(
                "section_order", message, "put the constraints first, then the tasks, each once", number
            )
        self.part, self.opened = part, number
        self.decided = self.decided or part is not _Part.TASKS
        self.finished = line == grammar.FINISHED_TASKS_LINE
        return None

    def _constraint(self, number: int, line: str) -> Problem | None:
        found = self.rules.constraint.fullmatch(line)
        key = (found.groupdict()["key"] or "") if found else ""
        if found is None or key not in self.rules.config.prefixes:
            said = f"`{key}` forbids nothing" if found else "this is no constraint"
            repair = f"write `- Prefix: value` with one of {', '.join(self.rules.config.prefixes)}"
            return self._at("constraint_malformed", said, repair, number)
        self.constraints.append((key, found.groupdict()["value"] or ""))
        return None

    def _task(self, number: int, line: str) -> Problem | None:
        config = self.rules.config
        found = self.rules.task.fullmatch(line)
        if found is None:
            return self._at("task_malformed", "this is no task", _TASK, number)
        groups = found.groupdict()
        level, odd = divmod(len(groups["indent"] or ""), config.indent_size)
        if level > config.max_nesting_depth:
            message = f"a task of level {level}; the deepest is {config.max_nesting_depth}"
            return self._at(
                "task_too_deep", message, "indent it less", number, level * config.indent_size + 1
            )
        if odd or level > len(self.ids):
            repair = f"indent it by {config.indent_size} spaces more than the task it belongs to"
            return self._at("task_malformed", "the indentation skips a level", repair, number)
        if len(self.tasks) >= config.max_task_count:
            message = f"there are more than {config.max_task_count:,} tasks"
            return self._at("too_many_tasks", message, "join some, or make two commits of it", number)
        summary, colon, details = (groups["text"] or "").partition(_DETAILS)
        if not colon or not details.strip():
            return self._at("task_malformed", "the task has no details", _TASK, number)
        return self._named(number, Task(level, groups["box"] == "x", summary, details))

    def _named(self, number: int, task: Task) -> Problem | None:
        """The task under its id, which none of its siblings has."""
        del self.ids[task.level + 1 :]
        if len(self.ids) == task.level:
            self.ids.append(set())
        name = slug(task.text)
        if not name or name in self.ids[task.level]:
            said = f"two tasks beside each other are called `{name}`" if name else "the task has no name"
            return self._at("task_malformed", said, "give it a summary of its own", number)
        self.ids[task.level].add(name)
        self.tasks.append(task)
        self.places.append(number)
        return None

    def _emptied(self) -> Problem | None:
        """Why the section that ends here is none."""
        if self.part is _Part.CONSTRAINTS and not self.constraints:
            repair = "list some below it, or write `Constraints: none`"
            return self._at("constraints_empty", "there is no constraint below this", repair, self.opened)
        if self.part is _Part.TASKS and not self.tasks:
            repair = "list some below it, or take it out"
            return self._at("tasks_empty", "there is no task below this", repair, self.opened)
        return None

    def _completed(self) -> Problem | None:
        """Why the boxes contradict each other; a parent of ticked tasks only is ticked."""
        right = propagated(self.tasks)
        for number, task, read in zip(self.places, self.tasks, right, strict=True):
            if task.ticked and not read.ticked:
                message = "this is ticked, and a task below it is open"
                return self._at("task_malformed", message, "tick what is below it, or open it", number)
            if task.ticked is not read.ticked:
                message = f"`{task.text}` is read as ticked: all below it is"
                self.warnings.append(Warned("completion_propagated", message, "tasks", number))
        self.tasks = list(right)
        if self.finished and not all(task.ticked for task in right):
            message = "the tasks are marked as complete, and some are open"
            return self._at("section_malformed", message, f"write `{grammar.OPEN_TASKS_LINE}`", self.opened)
        return None

    def _at(
        self, code: str, message: str, repair: str, number: int, column: int = 1, span: int = 0
    ) -> Problem:
        return problem(code, message, repair, self.lines, number, column, span)
