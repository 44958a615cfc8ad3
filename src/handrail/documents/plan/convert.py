"""Convert a plan from one dialect to the other, and report what could not be carried over unchanged.

No word is lost: content that the target dialect has no place for moves into the description.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from handrail.documents.plan.edit import COMPLETE_MARKER, ensure_writable, refuse_uneditable
from handrail.documents.plan.format import to_description
from handrail.documents.plan.grammar import COMMIT_MESSAGE, COMMITS, Dialect, PlanConfig, compile_rules
from handrail.documents.plan.model import (
    Header,
    Plan,
    PlanRefusal,
    Task,
    find_parents,
    make_task_id,
    propagate_completion,
)
from handrail.documents.plan.parse import DETAILS_SEPARATOR
from handrail.documents.plan.stages import is_finished, read_directive

# Every code of a conversion note, with its message. The documentation is generated from this table.
NOTE_MESSAGES: Final = {
    "breaking_lost": "a `!` needs a scope; the description says it instead",
    "constraint_in_description": "a constraint that the other dialect does not know is in the description",
    "constraint_lowercased": "the value of a constraint begins with a small letter now",
    "constraints_undecided": "that there are no constraints is not written in the other dialect",
    "description_bulleted": "a line of the description would be a section of the other dialect: a bullet",
    "details_repeated": "a task without details repeats its summary",
    "direction_in_description": "the direction is in the description",
    "level_raised": "a task that was too deep stands one level higher",
    "scope_changed": "the scope is spelled otherwise, or left out",
    "skipped_in_description": "a line that was skipped is in the description",
    "summary_changed": "the summary of a task is spelled otherwise, so that it has an id of its own",
    "task_opened": "a task is open, since one below it is",
    "task_ticked": "a task is ticked, since all below it are",
    "title_unread": "a title needs a scope to be read; it is kept behind the colon",
    "type_changed": "the type is none of the other dialect",
}

_FALLBACK_TYPE: Final = "chore"
_BREAKING_LINE: Final = "BREAKING CHANGE"
_NON_SCOPE: Final = re.compile(r"[^a-z0-9]+")
_LEADING_NON_LETTERS: Final = re.compile(r"\A[^a-z]+")


@dataclass(frozen=True, slots=True)
class ConversionNote:
    """One thing that the conversion changed; `text` is the original."""

    code: str
    text: str

    @property
    def message(self) -> str:
        """What changed, as a sentence."""
        return f"{NOTE_MESSAGES[self.code]}: `{self.text}`"


@dataclass(frozen=True, slots=True)
class Conversion:
    """The plan in the target dialect, and what the conversion changed."""

    plan: Plan
    notes: tuple[ConversionNote, ...]


def convert_plan(plan: Plan, source: Dialect, target: Dialect) -> Conversion | PlanRefusal:
    """Convert a plan that was parsed in dialect `source` to dialect `target`."""
    if (refused := refuse_uneditable(plan)) is not None:
        return refused
    if source is target:
        return Conversion(plan, ())
    header = plan.header or Header("")
    if target is Dialect.COMMITS:
        converter = _Converter(COMMITS)
        converted = converter.to_commits(plan, header)
    else:
        converter = _Converter(COMMIT_MESSAGE)
        converted = converter.to_planner(plan, header)
    checked = ensure_writable(converted, converter.config)
    return checked if isinstance(checked, PlanRefusal) else Conversion(checked, tuple(converter.notes))


@dataclass(slots=True)
class _Converter:
    """One conversion: the notes so far, and the lines that move into the description (`left`)."""

    config: PlanConfig
    notes: list[ConversionNote] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def to_commits(self, plan: Plan, header: Header) -> Plan:
        """Convert a `planner` plan, as far as `commits` can hold it."""
        summary = (header.title if header.title is not None else header.ignored).strip()
        kind, scope = self._convert_type(header.type), header.scope
        if scope is not None:
            scope = _LEADING_NON_LETTERS.sub("", _NON_SCOPE.sub("-", scope.lower())).rstrip("-")
            if scope != header.scope:
                self._add_note("scope_changed", header.scope or "")
        goal = Header(kind, scope or None, header.breaking, summary)
        constraints = []
        for key, value in plan.constraints or ():
            if key in self.config.prefixes:
                constraints.append((key, value))
            else:
                line = f"{key}{DETAILS_SEPARATOR}{value}"
                self._move_to_description("constraint_in_description", [line])
        self._move_to_description("skipped_in_description", [line.text for line in plan.kept])
        tasks = None if plan.tasks is None else self._convert_tasks(plan.tasks)
        if plan.direction is not None:
            lines = plan.direction.split("\n")
            lines = lines if read_directive(plan) is None else lines[:-1]
            self._move_to_description("direction_in_description", lines)
        return replace(
            plan,
            header=goal,
            description=self._build_description(plan.description),
            constraints=tuple(constraints) or None,
            tasks=tasks,
            direction=None,
            finished=bool(tasks) and is_finished(plan) and all(task.ticked for task in tasks or ()),
            kept=(),
            warnings=(),
        )

    def to_planner(self, plan: Plan, header: Header) -> Plan:
        """Convert a `commits` plan, as far as `planner` can hold it."""
        goal = replace(header, type=self._convert_type(header.type))
        if header.scope is None:
            self._add_note("title_unread", header.title or "")
            goal = Header(goal.type, ignored=f" {header.title}")
            if header.breaking:
                self._move_to_description("breaking_lost", [_BREAKING_LINE])
        constraints, pattern = [], compile_rules(self.config).constraint
        for key, value in plan.constraints or ():
            line, lowered = f"{key}{DETAILS_SEPARATOR}{value}", value[:1].lower() + value[1:]
            if pattern.fullmatch(f"- {key}{DETAILS_SEPARATOR}{lowered}") is None:
                self._move_to_description("constraint_in_description", [line])
                continue
            if lowered != value:
                self._add_note("constraint_lowercased", line)
            constraints.append((key, lowered))
        tasks = plan.tasks
        if tasks is not None:
            tasks = tuple(
                Task(task.level, task.ticked, f"{task.text}{DETAILS_SEPARATOR}{task.details}")
                for task in tasks
            )
        if plan.constraints == ():
            self._add_note("constraints_undecided", "Constraints: none")
        return replace(
            plan,
            header=goal,
            description=self._build_description(plan.description),
            constraints=tuple(constraints) if constraints or tasks else None,
            tasks=tasks,
            direction=COMPLETE_MARKER if plan.finished else None,
            finished=False,
            warnings=(),
        )

    def _convert_type(self, kind: str) -> str:
        if kind in self.config.types:
            return kind
        self._add_note("type_changed", kind)
        return _FALLBACK_TYPE

    def _convert_tasks(self, tasks: Sequence[Task]) -> tuple[Task, ...]:
        """Return the tasks with summaries, details and ids, not too deep, and with consistent boxes."""
        deepest = self.config.max_nesting_depth
        for task in tasks:
            if task.level > deepest:
                self._add_note("level_raised", task.text)
        converted = [replace(task, level=min(task.level, deepest)) for task in tasks]
        taken: Counter[tuple[int | None, str]] = Counter()
        for index, parent in enumerate(find_parents(converted)):
            converted[index] = self._give_unique_summary(converted[index], parent, taken)
        consistent = propagate_completion(converted)
        for task, result in zip(converted, consistent, strict=True):
            if task.ticked is not result.ticked:
                self._add_note("task_ticked" if result.ticked else "task_opened", task.text)
        return consistent

    def _give_unique_summary(
        self, task: Task, parent: int | None, taken: Counter[tuple[int | None, str]]
    ) -> Task:
        text = task.text.strip()
        summary, _, details = (part.strip() for part in text.partition(DETAILS_SEPARATOR))
        if not make_task_id(summary):
            summary, details = "task", text
            self._add_note("summary_changed", text)
        elif not details:
            summary = details = text.replace(DETAILS_SEPARATOR, " ").strip()
            self._add_note("details_repeated", text)
        first = parent, make_task_id(summary)
        taken[first] += 1
        while taken[first] > 1 and taken[parent, make_task_id(f"{summary} {taken[first]}")]:
            taken[first] += 1
        if taken[first] > 1:
            self._add_note("summary_changed", summary)
            summary = f"{summary} {taken[first]}"
            taken[parent, make_task_id(summary)] += 1
        return Task(task.level, task.ticked, summary, details)

    def _build_description(self, text: str | None) -> str | None:
        """Return the description plus the lines that moved into it."""
        adapted = None if text is None else to_description(text, self.config)
        for old, new in zip((text or "").split("\n"), (adapted or "").split("\n"), strict=True):
            if old != new:
                self._add_note("description_bulleted", old)
        return "\n\n".join(filter(None, (adapted, "\n".join(self.left)))) or None

    def _move_to_description(self, code: str, lines: Sequence[str]) -> None:
        for line in lines:
            if line.strip():
                self._add_note(code, line)
                self.left.append("* " + line.strip().removeprefix("- "))

    def _add_note(self, code: str, text: str) -> None:
        self.notes.append(ConversionNote(code, text))
