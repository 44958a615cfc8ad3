"""A plan of one dialect as a plan of the other, with a report of what could not be carried over as it was.

No word is lost: what the other dialect has no place for goes into the description.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from handrail.plan.commits import DETAILS
from handrail.plan.edit import MARKED, closed, settled
from handrail.plan.format import as_description
from handrail.plan.grammar import COMMIT_MESSAGE, COMMITS, Config, Dialect
from handrail.plan.model import Constraint, Header, Plan, Refused, Task
from handrail.plan.rules import rules_of
from handrail.plan.stage import directive, is_finished
from handrail.plan.tasks import parents, propagated, slug

NOTES: Final = {
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
"""Every code of a report, and what it says."""

_FALLBACK: Final = "chore"
_BREAKING: Final = "BREAKING CHANGE"
_NO_SCOPE: Final = re.compile(r"[^a-z0-9]+")
_NO_LETTER: Final = re.compile(r"\A[^a-z]+")


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that is not as it was; `text` is what it was."""

    code: str
    text: str

    @property
    def message(self) -> str:
        """What became of it, in a sentence."""
        return f"{NOTES[self.code]}: `{self.text}`"


@dataclass(frozen=True, slots=True)
class Converted:
    """The plan in the other dialect, and what is not as it was."""

    plan: Plan
    notes: tuple[Note, ...]


def convert(plan: Plan, source: Dialect, target: Dialect) -> Converted | Refused:
    """The plan, read in one dialect, as one of another."""
    if (refused := closed(plan)) is not None:
        return refused
    if source is target:
        return Converted(plan, ())
    config = COMMITS if target is Dialect.COMMITS else COMMIT_MESSAGE
    work = _Work(config)
    header = plan.header or Header("")
    made = work.to_commits(plan, header) if target is Dialect.COMMITS else work.to_planner(plan, header)
    done = settled(made, config)
    return done if isinstance(done, Refused) else Converted(done, tuple(work.notes))


@dataclass(slots=True)
class _Work:
    """One conversion: what is noted, and what is left for the description."""

    config: Config
    notes: list[Note] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def to_commits(self, plan: Plan, header: Header) -> Plan:
        """The plan of `planner` as far as `commits` can hold it."""
        summary = (header.title if header.title is not None else header.ignored).strip()
        goal = Header(self._type(header.type), self._scope(header.scope), header.breaking, summary)
        constraints = tuple(self._known(plan.constraints or ()))
        self._leave("skipped_in_description", [one.text for one in plan.kept])
        tasks = None if plan.tasks is None else self._with_ids(plan.tasks)
        if plan.direction is not None:
            lines = plan.direction.split("\n")
            self._leave("direction_in_description", lines if directive(plan) is None else lines[:-1])
        return replace(
            plan,
            header=goal,
            description=self._description(plan.description),
            constraints=constraints or None,
            tasks=tasks,
            direction=None,
            finished=bool(tasks) and is_finished(plan) and all(task.ticked for task in tasks or ()),
            kept=(),
            warnings=(),
        )

    def to_planner(self, plan: Plan, header: Header) -> Plan:
        """The plan of `commits` as far as `planner` can hold it."""
        goal = replace(header, type=self._type(header.type))
        if header.scope is None:
            self._note("title_unread", header.title or "")
            goal = Header(goal.type, ignored=f" {header.title}")
            if header.breaking:
                self._leave("breaking_lost", [_BREAKING])
        constraints = tuple(self._small(plan.constraints or ()))
        tasks = plan.tasks
        if tasks is not None:
            tasks = tuple(Task(one.level, one.ticked, f"{one.text}{DETAILS}{one.details}") for one in tasks)
        if plan.constraints == ():
            self._note("constraints_undecided", "Constraints: none")
        return replace(
            plan,
            header=goal,
            description=self._description(plan.description),
            constraints=constraints if constraints or tasks else None,
            tasks=tasks,
            direction=MARKED if plan.finished else None,
            finished=False,
            warnings=(),
        )

    def _type(self, kind: str) -> str:
        if kind in self.config.types:
            return kind
        self._note("type_changed", kind)
        return _FALLBACK

    def _scope(self, scope: str | None) -> str | None:
        if scope is None:
            return None
        spelled = _NO_LETTER.sub("", _NO_SCOPE.sub("-", scope.lower())).rstrip("-")
        if spelled != scope:
            self._note("scope_changed", scope)
        return spelled or None

    def _known(self, constraints: Sequence[Constraint]) -> list[Constraint]:
        """The constraints whose prefix is known; the others are left for the description."""
        unknown = [f"{key}{DETAILS}{value}" for key, value in constraints if key not in self.config.prefixes]
        self._leave("constraint_in_description", unknown)
        return [one for one in constraints if one[0] in self.config.prefixes]

    def _small(self, constraints: Sequence[Constraint]) -> list[Constraint]:
        """The constraints with values in small letters; those that cannot be are left for the description."""
        pattern = rules_of(self.config).constraint
        found = []
        for key, value in constraints:
            small = value[:1].lower() + value[1:]
            if pattern.fullmatch(f"- {key}{DETAILS}{small}") is None:
                self._leave("constraint_in_description", [f"{key}{DETAILS}{value}"])
                continue
            if small != value:
                self._note("constraint_lowercased", f"{key}{DETAILS}{value}")
            found.append((key, small))
        return found

    def _with_ids(self, tasks: Sequence[Task]) -> tuple[Task, ...]:
        """The tasks with summaries, details and ids, not too deep, and no box that contradicts."""
        deepest = self.config.max_nesting_depth
        for task in tasks:
            if task.level > deepest:
                self._note("level_raised", task.text)
        row = [replace(task, level=min(task.level, deepest)) for task in tasks]
        taken: Counter[tuple[int | None, str]] = Counter()
        for index, parent in enumerate(parents(row)):
            row[index] = self._named(row[index], parent, taken)
        right = propagated(row)
        for task, read in zip(row, right, strict=True):
            if task.ticked is not read.ticked:
                self._note("task_ticked" if read.ticked else "task_opened", task.text)
        return right

    def _named(self, task: Task, parent: int | None, taken: Counter[tuple[int | None, str]]) -> Task:
        text = task.text.strip()
        summary, _, details = (part.strip() for part in text.partition(DETAILS))
        if not slug(summary):
            summary, details = "task", text
            self._note("summary_changed", text)
        elif not details:
            summary = details = text.replace(DETAILS, " ").strip()
            self._note("details_repeated", text)
        own = summary
        first = parent, slug(own)
        taken[first] += 1
        while taken[first] > 1 and taken[parent, slug(f"{own} {taken[first]}")]:
            taken[first] += 1
        if taken[first] > 1:
            own = f"{own} {taken[first]}"
            taken[parent, slug(own)] += 1
        if own != summary:
            self._note("summary_changed", summary)
        return Task(task.level, task.ticked, own, details)

    def _description(self, text: str | None) -> str | None:
        """The description, and what is left for it."""
        fitting = None if text is None else as_description(text, self.config)
        if fitting != text:
            before, after = (text or "").split("\n"), (fitting or "").split("\n")
            for old, new in zip(before, after, strict=True):
                if old != new:
                    self._note("description_bulleted", old)
        left = "\n".join(self.left) or None
        return "\n\n".join(filter(None, (fitting, left))) or None

    def _leave(self, code: str, lines: Sequence[str]) -> None:
        for line in lines:
            if line.strip():
                self._note(code, line)
                self.left.append("* " + line.strip().removeprefix("- "))

    def _note(self, code: str, text: str) -> None:
        self.notes.append(Note(code, text))
