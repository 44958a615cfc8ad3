"""The data model of plan documents: plans, tasks, problems, warnings and refusals.

The message of every problem code is in the tables here; the documentation is generated from them. `Plan` is
what `parse` returns and `format` writes.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace


class Finding(Struct, frozen=True, gc=False):
    """An error or warning about one field, named by its path, such as `constraints.0.1`."""

    field: str
    message: str
    code: str


_MAX_WIDTH: Final = 100
_CONTEXT_WIDTH: Final = 40

# Why a text cannot be read, by code: the message and the repair. `{0}` is the first value of `seen`.
PROBLEM_MESSAGES: Final = {
    "body_opens_with_bullet": (
        "the body begins with a bullet that is neither a constraint nor a task",
        "write `- Key: value`, or `- [ ]: task`, or begin with a sentence, or use `* ` for bullets",
    ),
    "boxes_contradict": ("this is ticked, and a task below it is open", "tick what is below it, or open it"),
    "breaking_without_scope": ("a `!` needs a scope ahead of it", "name a scope: `{0}(scope)!:`"),
    "constraint_malformed": ("this is no constraint", "write `- Prefix: value` with one of {0}"),
    "constraints_empty": (
        "there is no constraint below this",
        "list some below it, or write `Constraints: none`",
    ),
    "description_missing": (
        "files were changed, and the commit has no description",
        "begin the plan with a header such as `feat(scope): summary`",
    ),
    "direction_too_short": ("a direction has more than {0} characters", "write it out, or take it out"),
    "finished_too_soon": (
        "the tasks are marked as complete, and some are open",
        "write `Tasks [ ]:`, or tick the open ones",
    ),
    "header_line_not_alone": ("the line below the header is not empty", "put an empty line below the header"),
    "header_malformed": ("the first line is no header", "begin with `{0}`"),
    "input_too_long": ("the text has {0} characters; {1} are read", "shorten it"),
    "mixed_dialects": (
        "line {0} is of one dialect, and this line of the other",
        "write the whole text in one of them",
    ),
    "section_malformed": (
        "this looks like the first line of a section and is not written as one",
        "write `Constraints:`, `Constraints: none`, `Tasks [ ]:` or `Tasks [X]:`",
    ),
    "section_order": (
        "this stands behind a section that it belongs ahead of",
        "put the constraints first, then the tasks, then the rest, each section once",
    ),
    "task_id_missing": ("no id can be made of this summary", "give it a letter or a digit"),
    "task_id_taken": ("another task beside this one is called `{0}`", "give it a summary of its own"),
    "task_indentation": (
        "the indentation skips a level, or half of one",
        "indent it by {0} spaces more than the task it belongs to",
    ),
    "task_malformed": (
        "this looks like a task and is not written as one",
        "write `{0}`, or `{1}` if it is done; a bullet that is no task begins with `* `",
    ),
    "task_too_deep": ("this task is on level {0}; the deepest is {1}", "indent it less"),
    "tasks_empty": ("there is no task below this", "list some below it, or take it out"),
    "text_after_end": (
        "text stands where the document has ended",
        "put it ahead of this section, or into the description",
    ),
    "title_too_long": ("the title has {0} characters; {1} are read", "shorten it, and say the rest below"),
    "too_many_tasks": ("there are more than {0} tasks", "join some, or make two plans of it"),
    "type_unknown": ("`{0}` is no type", "take one of {1}"),
    "unsafe_character": ("the character {0} cannot stand in a commit", "take it out"),
}

# The warnings of parsing and editing, by code: the field they are about, and the message.
WARNING_MESSAGES: Final = {
    "box_opened": ("tasks", "the plan was complete: its box is open again"),
    "completion_propagated": ("tasks", "`{0}` is read as ticked: all below it is"),
    "constraint_skipped": (
        "constraints",
        "`{0}` is kept and not read: a constraint is `- Key: value`, its value in small letters",
    ),
    "crlf_normalised": ("", "lines that end in CRLF are read as if they ended in LF"),
    "marker_removed": (
        "direction",
        "the plan was complete and has an open task again: its marker was taken away",
    ),
    "scope_lowercased": ("header.scope", "the scope `{0}` is read in small letters"),
    "title_ignored": (
        "header.title",
        "`{0}` is kept and not read as a title, which needs a scope ahead of the colon",
    ),
}

# Why a plan is not written or changed, by code: the message and the repair.
REFUSAL_MESSAGES: Final = {
    "constraint_not_representable": (
        "a constraint would not be read as one",
        "begin its key with a capital letter and its value with a small one",
    ),
    "direction_not_representable": (
        "the direction would be read as a part of the description",
        "leave a constraint or a task ahead of it",
    ),
    "goal_missing": ("the plan has no goal yet", "set the goal first: `type(scope): title`"),
    "no_tasks_found": ("the plan has no tasks", "set the tasks first"),
    "not_all_tasks_complete": ("{0} of {1} tasks are open: {2}", "complete and mark them first"),
    "plan_unread": ("the text is no whole plan", "mend what is reported of it first"),
    "skipped_not_representable": (
        "a line that was skipped before would be read as a part of the description",
        "leave a constraint or a task ahead of it, or mend the line in the text first",
    ),
    "task_ambiguous": ("`{0}` may mean {1} tasks: {2}", "name one of them whole, or by its path"),
    "task_has_others_below": (
        "`{0}` only groups the tasks below it",
        "mark those; it is complete when they are",
    ),
    "task_not_found": ("no task is called `{0}`", "name one of {1}"),
    "description_not_representable": (
        "this line of the description would be read as another section",
        "begin it with `* `, or say it in a sentence",
    ),
    "header_not_representable": (
        "the header would be read as something else",
        "a title needs a scope, and a `!` too; neither has spaces around it or a line break",
    ),
    "not_representable": (
        "the text would be read as something else",
        "look for line breaks in constraints and tasks, and for what stands twice",
    ),
}

_ALL_MESSAGES: Final = PROBLEM_MESSAGES | REFUSAL_MESSAGES


class PlanProblem(Struct, frozen=True, gc=False):
    """A problem to fix: line and column from 1, `span` in characters, the line. `seen` fills the message."""

    code: str
    line: int = 0
    column: int = 0
    span: int = 0
    text: str = ""
    seen: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What is wrong, as a sentence."""
        return _ALL_MESSAGES[self.code][0].format(*self.seen)

    @property
    def repair(self) -> str:
        """How to fix it, as a sentence."""
        return _ALL_MESSAGES[self.code][1].format(*self.seen)

    @property
    def shown(self) -> str:
        """The line, or the part of it around the problem if it is long."""
        return self.text[self._begin : self._begin + _MAX_WIDTH]

    @property
    def carets(self) -> str:
        """The line to print below the shown one, with carets under the problem."""
        ahead = self.text[self._begin : max(self.column - 1, 0)]
        indent = "".join("\t" if character == "\t" else " " for character in ahead)
        return indent + "^" * max(1, min(self.span, len(self.shown) - len(indent)))

    @property
    def _begin(self) -> int:
        return max(0, self.column - 1 - _CONTEXT_WIDTH) if len(self.text) > _MAX_WIDTH else 0


class PlanWarning(Struct, frozen=True, gc=False):
    """A note that a text was read differently than its author may have meant. Nothing has to be fixed."""

    code: str
    line: int = 0
    seen: str = ""

    @property
    def field(self) -> str:
        """The field it is about; empty if it is about the whole text."""
        return WARNING_MESSAGES[self.code][0]

    @property
    def message(self) -> str:
        """How the text was read, as a sentence."""
        return WARNING_MESSAGES[self.code][1].format(self.seen.strip())


def build_line_problem(code: str, lines: Sequence[str], number: int, *seen: str) -> PlanProblem:
    """Return a problem that covers a whole line after its indentation."""
    line = lines[number - 1]
    column = len(line) - len(line.lstrip()) + 1
    return PlanProblem(code, number, min(column, len(line) + 1), max(1, len(line.strip())), line, seen)


COMPLETE_DIRECTIVE: Final = "COMPLETE"

# A constraint: its key (the prefix) and its value (what it forbids).
Constraint: TypeAlias = tuple[str, str]


class PlanState(StrEnum):
    """How far a text could be parsed."""

    EMPTY = "empty"
    UNKNOWN = "unknown"
    PARSED = "parsed"
    HALTED = "halted"


class Section(StrEnum):
    """The sections of a body that consist of items or lines of their own."""

    CONSTRAINTS = "constraints"
    TASKS = "tasks"
    DIRECTION = "direction"


class Header(Struct, frozen=True, gc=False):
    """The first line. `ignored` is the text after a colon where the dialect reads no title."""

    type: str
    scope: str | None = None
    breaking: bool = False
    title: str | None = None
    ignored: str = ""


class Task(Struct, frozen=True, gc=False):
    """One task; `level` counts from 0. `details` follow the text in dialects that have them."""

    level: int
    ticked: bool
    text: str
    details: str = ""


class SkippedLine(Struct, frozen=True, gc=False):
    """A skipped line, kept verbatim, before the item (or line) at `index` of its section."""

    section: Section
    index: int
    text: str


class Plan(Struct, frozen=True, gc=False):
    """A plan document. None means that a section is missing; an empty tuple, that it is there but empty.

    Two plans are equal if they have the same content; warnings and problems do not count.
    """

    state: PlanState
    header: Header | None = None
    description: str | None = None
    constraints: tuple[Constraint, ...] | None = None
    tasks: tuple[Task, ...] | None = None
    direction: str | None = None
    finished: bool = False
    kept: tuple[SkippedLine, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    problems: tuple[PlanProblem, ...] = ()

    def __eq__(self, other: object) -> bool:
        """True if both plans have the same content."""
        return self._content() == other._content() if isinstance(other, Plan) else NotImplemented

    def __hash__(self) -> int:
        """Hash the content only, as equality does."""
        return hash(self._content())

    def _content(self) -> tuple[object, ...]:
        body = (self.description, self.constraints, self.tasks, self.direction, self.finished, self.kept)
        return (self.state, self.header, *body)


@dataclass(frozen=True, slots=True)
class PlanRefusal:
    """Why an operation was refused: problems of the text, findings about fields, and possible candidates."""

    problems: tuple[PlanProblem, ...] = ()
    findings: tuple[Finding, ...] = ()
    candidates: tuple[str, ...] = ()


_NON_ID: Final = re.compile(r"[\W_]+")


def make_task_id(text: str) -> str:
    """Return the id of a task: lower-case letters and digits joined by hyphens; empty if there are none."""
    return _NON_ID.sub("-", text.lower()).strip("-")


def list_task_paths(tasks: Sequence[Task]) -> tuple[str, ...]:
    """Return a unique path for each task, such as `a/b`: ids, numbered where siblings share one."""
    parents = find_parents(tasks)
    ids = [make_task_id(task.text) or "task" for task in tasks]
    shared = Counter(zip(parents, ids, strict=True))
    taken = set(shared)
    numbers: Counter[tuple[int | None, str]] = Counter()
    paths: list[str] = []
    for parent, name in zip(parents, ids, strict=True):
        unique = name
        while shared[parent, name] > 1 and (parent, unique) in taken:
            numbers[parent, name] += 1
            unique = f"{name}-{numbers[parent, name]}"
        taken.add((parent, unique))
        paths.append(unique if parent is None else f"{paths[parent]}/{unique}")
    return tuple(paths)


def find_parents(tasks: Sequence[Task]) -> tuple[int | None, ...]:
    """Return the index of each task's parent, or None."""
    ancestors: list[int] = []
    parents: list[int | None] = []
    for index, task in enumerate(tasks):
        del ancestors[task.level :]
        parents.append(ancestors[-1] if ancestors else None)
        ancestors.append(index)
    return tuple(parents)


def is_parent(tasks: Sequence[Task], index: int) -> bool:
    """True if the task at `index` has subtasks."""
    return index + 1 < len(tasks) and tasks[index + 1].level > tasks[index].level


def propagate_completion(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """Return the tasks with each parent ticked if all its subtasks are, and open otherwise."""
    ticked: dict[int, bool] = {}
    changed = []
    for task in reversed(tasks):
        is_complete = ticked.pop(task.level + 1, task.ticked)
        ticked[task.level] = ticked.get(task.level, True) and is_complete
        changed.append(task if task.ticked is is_complete else replace(task, ticked=is_complete))
    return tuple(reversed(changed))


def count_tasks(tasks: Sequence[Task]) -> tuple[int, int]:
    """Return the number of tasks on all levels, and how many of them are ticked."""
    return len(tasks), sum(task.ticked for task in tasks)


def find_open_leaf(tasks: Sequence[Task]) -> int | None:
    """Return the index of the first open task without subtasks; None if there is none."""
    for index, task in enumerate(tasks):
        if not task.ticked and not is_parent(tasks, index):
            return index
    return None
