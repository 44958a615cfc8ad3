"""Parse a plan document in either dialect.

Start at `parse_plan`, or at `parse_any` if the dialect is not known. Each dialect has a reader that goes
through the lines once and stops at the first problem. A bad text never raises: problems and warnings are in
the `Plan`.
"""

import re
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, NoReturn

from handrail.documents.plan import grammar
from handrail.documents.plan.grammar import (
    COMMIT_MESSAGE,
    COMMITS,
    Dialect,
    Match,
    PlanConfig,
    Rules,
    compile_rules,
    format_task_examples,
)
from handrail.documents.plan.model import (
    Constraint,
    Header,
    Plan,
    PlanProblem,
    PlanState,
    PlanWarning,
    Section,
    SkippedLine,
    Task,
    build_line_problem,
    make_task_id,
    propagate_completion,
)

_BREAKING_HEADER: Final = re.compile(r"([a-z]+)!:.*")
_CRLF_WARNING: Final = (PlanWarning("crlf_normalised"),)
_COMMITS: Final = Dialect.COMMITS
_PARSED: Final = PlanState.PARSED
_HEADER_EXAMPLE: Final = "type(scope): title"
_DEFAULT_RULES: Final = compile_rules(COMMIT_MESSAGE)


def parse_plan(text: str, config: PlanConfig = COMMIT_MESSAGE, *, has_modifications: bool = False) -> Plan:
    """Parse the text. `has_modifications` says that the commit it describes changed files."""
    if (problem := _find_unreadable_part(text, config)) is not None:
        return Plan(PlanState.HALTED, problems=(problem,))
    warnings: tuple[PlanWarning, ...] = ()
    if "\r" in text and (plain := normalise_newlines(text)) != text:
        text, warnings = plain, _CRLF_WARNING
    if not text or text.isspace():
        missing = has_modifications and config.dialect is _COMMITS
        return Plan(PlanState.EMPTY, problems=(PlanProblem("description_missing"),) if missing else ())
    rules = _DEFAULT_RULES if config is COMMIT_MESSAGE else compile_rules(config)
    if config.dialect is _COMMITS:
        return read_commits_plan(text, rules, warnings)
    end = text.find("\n")
    first = text if end < 0 else text[:end]
    header = _parse_header(first, rules)
    if isinstance(header, PlanProblem):
        return Plan(PlanState.UNKNOWN, warnings=warnings, problems=(header,))
    if header.title is None:
        if header.ignored and not header.ignored.isspace():
            warnings = (*warnings, PlanWarning("title_ignored", 1, header.ignored))
    elif len(header.title) > config.max_title_length:
        problem = _build_title_problem(first, header.title, config)
        short = Header(header.type, header.scope, header.breaking)
        return Plan(PlanState.HALTED, short, warnings=warnings, problems=(problem,))
    return read_planner_body(text, end, header, rules, warnings)


def _parse_header(line: str, rules: Rules) -> Header | PlanProblem:
    for pattern, parts in rules.headers:
        if (match := pattern.fullmatch(line)) is not None:
            kind, scope, mark, title, ignored = parts((*match.groups(), None))
            return Header(kind or "", scope, mark is not None, title, ignored or "")
    if (bare := _BREAKING_HEADER.fullmatch(line)) is not None:
        return PlanProblem("breaking_without_scope", 1, bare.end(1) + 1, 1, line, (bare[1],))
    return PlanProblem("header_malformed", 1, 1, max(1, len(line)), line, (_HEADER_EXAMPLE,))


def _find_unreadable_part(text: str, config: PlanConfig) -> PlanProblem | None:
    if len(text) > config.max_input_length:
        return PlanProblem("input_too_long", seen=(f"{len(text):,}", f"{config.max_input_length:,}"))
    at = text.find("\0")
    if not text.isascii():
        try:
            text.encode()  # by far the fastest way to look for lone surrogates
        except UnicodeEncodeError as error:
            at = error.start
    if at < 0:
        return None
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return PlanProblem("unsafe_character", line, column, 1, seen=(f"U+{ord(text[at]):04X}",))


DIALECT_CONFIGS: Final = {Dialect.PLANNER: COMMIT_MESSAGE, Dialect.COMMITS: COMMITS}
_PLANNER_TASK: Final = re.compile(r"\s*- \[[x ]\]: ")


def parse_any(
    text: str, default: Dialect = Dialect.PLANNER, *, has_modifications: bool = False
) -> tuple[Plan, PlanConfig]:
    """Parse a text in either dialect. Return the plan and the configuration used.

    A section of `commits` or a task of `planner` tells the dialect. A text that has both is halted.
    """
    planner = commits = 0
    lines = normalise_newlines(text).split("\n")
    for number, line in enumerate(lines, start=1):
        if not commits and line in _PARTS_BY_LINE:
            commits = number
        if not planner and _PLANNER_TASK.match(line) is not None:
            planner = number
        if planner and commits:
            first, second = sorted((planner, commits))
            problem = build_line_problem("mixed_dialects", lines, second, str(first))
            return Plan(PlanState.HALTED, problems=(problem,)), COMMITS
    if planner or commits:
        default = Dialect.COMMITS if commits else Dialect.PLANNER
    config = DIALECT_CONFIGS[default]
    return parse_plan(text, config, has_modifications=has_modifications), config


class _HaltError(Exception):
    """The first problem of a text, which ends reading it."""

    def __init__(self, problem: PlanProblem) -> None:
        super().__init__(problem.code)
        self.problem = problem


@dataclass(slots=True)
class _Reader:
    """What both dialects read from: the rules, the lines, and the warnings so far."""

    rules: Rules
    lines: list[str]
    warnings: list[PlanWarning]

    def _halt(self, code: str, number: int, *seen: str) -> NoReturn:
        raise _HaltError(build_line_problem(code, self.lines, number, *seen))


# --- the dialect `planner` ----------------------------------------------------------------------------------
_CONSTRAINTS: Final = Section.CONSTRAINTS
_TASKS: Final = Section.TASKS
_DIRECTION: Final = Section.DIRECTION


def read_planner_body(
    text: str, end: int, header: Header, rules: Rules, warnings: tuple[PlanWarning, ...]
) -> Plan:
    """Parse the body below this header; `end` is where the first line ends, -1 if there is no other."""
    if end < 0:
        return Plan(_PARSED, header, warnings=warnings)
    begin = 2
    if rules.opening_pattern is not None:
        opening = rules.opening_pattern.search(text, end)
        if opening is None:
            below = text.find("\n", end + 1)
            if below == end + 1 or text[end : below if below > 0 else None].isspace():
                # All of it is the description: the text below the second line, without empty lines around.
                below, kept = max(below, end), len(text.rstrip())
                if kept <= below:
                    return Plan(_PARSED, header, warnings=warnings)
                last = text.find("\n", kept)
                body = text[below + 1 :] if last < 0 else text[below + 1 : last]
                if body[0].isspace():
                    body = body[body.rfind("\n", 0, len(body) - len(body.lstrip())) + 1 :]
                return Plan(_PARSED, header, body, warnings=warnings)
        else:
            begin = max(2, text.count("\n", 0, opening.start() + 1))
    return _PlannerReader(rules, text.split("\n"), list(warnings), header).read(begin)


@dataclass(slots=True)
class _PlannerReader(_Reader):
    """One pass over a `planner` plan, and its results so far."""

    header: Header
    description: list[str] = field(default_factory=list)
    constraints: list[Constraint] | None = None
    tasks: list[Task] = field(default_factory=list)
    direction: list[str] = field(default_factory=list)
    kept: list[SkippedLine] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    section: Section | None = None  # None while in the description
    begun: bool = False  # the description has text
    marked: bool = False

    def read(self, begin: int) -> Plan:
        """Return the plan. The lines before index `begin` are known to be text."""
        problems: tuple[PlanProblem, ...] = ()
        try:
            self._read_lines(begin)
        except _HaltError as halt:
            problems = (halt.problem,)
        direction = join_lines(self.direction)
        last = direction.count("\n") + 1 if direction else 0
        constraints = [] if self.constraints is None and self.tasks else self.constraints
        return Plan(
            PlanState.HALTED if problems else _PARSED,
            self.header,
            join_lines(self.description),
            None if constraints is None else tuple(constraints),
            tuple(self.tasks) or None,
            direction,
            kept=tuple(
                SkippedLine(line.section, min(line.index, last), line.text)
                if line.section is _DIRECTION
                else line
                for line in self.kept
            ),
            warnings=tuple(self.warnings),
            problems=problems,
        )

    def _read_lines(self, begin: int) -> None:
        lines, leads = self.lines, self.rules.lead_characters
        if len(lines) > 1 and lines[1].strip():
            self._halt("header_line_not_alone", 2)
        self.description = lines[2:begin]
        self.begun = any(map(str.strip, self.description))
        for number, line in enumerate(lines[begin:], begin + 1):
            lead = line.lstrip()[:1]
            if not lead:
                if self.section is None:
                    self.description.append(line)
                elif self.section is _DIRECTION:
                    self.direction.append(line)
            elif leads and lead not in leads:
                self._read_text(number, line)
            else:
                self._read_line(number, line)

    def _read_line(self, number: int, line: str) -> None:
        """Read a line that may be more than text."""
        rules = self.rules
        if rules.task_sign in line:
            if (match := rules.task.fullmatch(line)) is not None:
                self._read_task(number, match)
                return
            if rules.near_task.fullmatch(line) is not None:
                self._halt("task_malformed", number, *format_task_examples(rules.config))
        if rules.constraint_sign in line and (match := rules.constraint.fullmatch(line)) is not None:
            self._read_constraint(number, *match.group("key", "value"))
        elif not self.marked and rules.marker.fullmatch(line) is not None:
            self.section, self.marked = _DIRECTION, True
            self.direction.append(line)
        elif rules.constraint_sign in line and rules.near_constraint.fullmatch(line) is not None:
            self._skip_line(number, line)
        elif self.section is _DIRECTION or rules.bullet.fullmatch(line) is None:
            self._read_text(number, line)
        elif self.section is not None:
            self._skip_line(number, line)
        elif self.begun:
            self._read_text(number, line)
        else:
            self._halt("body_opens_with_bullet", number)

    def _read_constraint(self, number: int, key: str | None, value: str | None) -> None:
        if self.section not in {None, _CONSTRAINTS}:
            self._halt("section_order", number)
        self.section = _CONSTRAINTS
        if self.constraints is None:
            self.constraints = []
        self.constraints.append((key or "", value or ""))

    def _read_text(self, number: int, line: str) -> None:
        if self.section is None:
            self.description.append(line)
            self.begun = True
            return
        if self.marked:
            self._halt("text_after_end", number)
        if self.section is not _DIRECTION:
            most = self.rules.config.direction_halt_length
            if most is not None and len(line) <= most:
                self._halt("direction_too_short", number, str(most))
            self.section = _DIRECTION
        self.direction.append(line)

    def _skip_line(self, number: int, line: str) -> None:
        if self.marked:
            self._halt("text_after_end", number)
        if self.section is None:
            self.section = _CONSTRAINTS
            self.constraints = []
        items: Mapping[Section, Sized | None] = {
            _CONSTRAINTS: self.constraints,
            _TASKS: self.tasks,
            _DIRECTION: self.direction,
        }
        self.kept.append(SkippedLine(self.section, len(items[self.section] or ()), line))
        self.warnings.append(PlanWarning("constraint_skipped", number, line))

    def _read_task(self, number: int, match: Match) -> None:
        indent, box, text = match.group("indent", "box", "text")
        config, widths, tasks = self.rules.config, self.widths, self.tasks
        if self.section is not _TASKS:
            if self.section is _DIRECTION:
                self._halt("section_order", number)
            self.section = _TASKS
        if len(tasks) >= config.max_task_count:
            self._halt("too_many_tasks", number, f"{config.max_task_count:,}")
        width = len(indent) + indent.count("\t") * (config.indent_size - 1) if indent else 0
        while widths and widths[-1] >= width:
            widths.pop()
        level = len(widths)
        if level > config.max_nesting_depth:
            self._halt("task_too_deep", number, str(level), str(config.max_nesting_depth))
        widths.append(width)
        tasks.append(Task(level, box == "x", text or ""))


# --- the dialect `commits` ----------------------------------------------------------------------------------
_NEAR_SECTION: Final = re.compile(grammar.NEAR_SECTION_PATTERN)
DETAILS_SEPARATOR: Final = ": "
_COMMITS_HEADER_EXAMPLE: Final = "type(scope): summary"


class _BodyPart(Enum):
    """The part of the body that a line belongs to."""

    DESCRIPTION = auto()
    NO_CONSTRAINTS = auto()
    CONSTRAINTS = auto()
    TASKS = auto()


_PARTS_BY_LINE: Final = {
    grammar.NO_CONSTRAINTS_LINE: _BodyPart.NO_CONSTRAINTS,
    grammar.CONSTRAINTS_LINE: _BodyPart.CONSTRAINTS,
    grammar.OPEN_TASKS_LINE: _BodyPart.TASKS,
    grammar.FINISHED_TASKS_LINE: _BodyPart.TASKS,
}


def read_commits_plan(text: str, rules: Rules, warnings: tuple[PlanWarning, ...]) -> Plan:
    """Parse the text of a `commits` plan."""
    return _CommitsReader(rules, text.split("\n"), list(warnings)).read()


def is_section_line(line: str) -> bool:
    """True if the line opens a section, or looks as if it did."""
    return _NEAR_SECTION.fullmatch(line) is not None


@dataclass(slots=True)
class _CommitsReader(_Reader):
    """One pass over a `commits` plan, and its results so far."""

    header: Header | None = None
    description: list[str] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    finished: bool = False
    part: _BodyPart = _BodyPart.DESCRIPTION
    decided: bool = False  # there was a constraints section
    opened: int = 0  # the line that opened the current section
    ids: list[set[str]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def read(self) -> Plan:
        """Return the plan, halted at the first line that does not belong."""
        state, problems = _PARSED, tuple[PlanProblem, ...]()
        try:
            self._read_header(self.lines[0])
            for number, line in enumerate(self.lines[1:], start=2):
                self._read_line(number, line)
            self._check_section()
            self._check_boxes()
        except _HaltError as halt:
            state = PlanState.UNKNOWN if self.header is None else PlanState.HALTED
            problems = (halt.problem,)
        return Plan(
            state,
            self.header,
            join_lines(self.description),
            tuple(self.constraints) if self.decided else None,
            tuple(self.tasks) if self.part is _BodyPart.TASKS else None,
            finished=self.finished,
            warnings=tuple(self.warnings),
            problems=problems,
        )

    def _read_header(self, line: str) -> None:
        config = self.rules.config
        match = self.rules.headers[0][0].fullmatch(line)
        if match is None:
            self._halt("header_malformed", 1, _COMMITS_HEADER_EXAMPLE)
        groups = match.groupdict()
        kind, scope, title = groups["type"] or "", groups["scope"], groups["title"] or ""
        breaking = groups["breaking"] is not None
        if kind not in config.types:
            seen = (kind, ", ".join(config.types))
            raise _HaltError(PlanProblem("type_unknown", 1, 1, len(kind), line, seen))
        if scope is not None and scope != scope.lower():
            self.warnings.append(PlanWarning("scope_lowercased", 1, scope))
            scope = scope.lower()
        self.header = Header(kind, scope, breaking)
        if len(title) > config.max_title_length:
            raise _HaltError(_build_title_problem(line, title, config))
        self.header = Header(kind, scope, breaking, title)

    def _read_line(self, number: int, line: str) -> None:
        if number == 2 and line.strip():
            self._halt("header_line_not_alone", 2)
        if (part := _PARTS_BY_LINE.get(line)) is not None:
            self._check_section()
            if self.part is _BodyPart.TASKS or (self.decided and part is not _BodyPart.TASKS):
                self._halt("section_order", number)
            self.part, self.opened = part, number
            self.decided = self.decided or part is not _BodyPart.TASKS
            self.finished = line == grammar.FINISHED_TASKS_LINE
        elif is_section_line(line):
            self._halt("section_malformed", number)
        elif self.part is _BodyPart.DESCRIPTION:
            self.description.append(line)
        elif not line.strip():
            pass
        elif self.part is _BodyPart.TASKS:
            self._read_task(number, line)
        elif self.part is _BodyPart.CONSTRAINTS:
            self._read_constraint(number, line)
        else:
            self._halt("text_after_end", number)

    def _read_constraint(self, number: int, line: str) -> None:
        prefixes = self.rules.config.prefixes
        match = self.rules.constraint.fullmatch(line)
        groups = match.groupdict() if match is not None else {}
        key = groups.get("key")
        if key not in prefixes:
            self._halt("constraint_malformed", number, ", ".join(prefixes))
        self.constraints.append((key, groups["value"] or ""))

    def _read_task(self, number: int, line: str) -> None:
        config = self.rules.config
        match = self.rules.task.fullmatch(line)
        groups = match.groupdict() if match is not None else {}
        summary, _, details = (groups.get("text") or "").partition(DETAILS_SEPARATOR)
        if not details.strip():
            self._halt("task_malformed", number, *format_task_examples(config))
        level, odd = divmod(len(groups["indent"] or ""), config.indent_size)
        if level > config.max_nesting_depth:
            self._halt("task_too_deep", number, str(level), str(config.max_nesting_depth))
        if odd or level > len(self.ids):
            self._halt("task_indentation", number, str(config.indent_size))
        if len(self.tasks) >= config.max_task_count:
            self._halt("too_many_tasks", number, f"{config.max_task_count:,}")
        del self.ids[level + 1 :]
        if len(self.ids) == level:
            self.ids.append(set())
        name = make_task_id(summary)
        if not name:
            self._halt("task_id_missing", number)
        if name in self.ids[level]:
            self._halt("task_id_taken", number, name)
        self.ids[level].add(name)
        self.tasks.append(Task(level, groups["box"] == "x", summary, details))
        self.places.append(number)

    def _check_section(self) -> None:
        """Check that the section that ends here is not empty."""
        if self.part is _BodyPart.CONSTRAINTS and not self.constraints:
            self._halt("constraints_empty", self.opened)
        if self.part is _BodyPart.TASKS and not self.tasks:
            self._halt("tasks_empty", self.opened)

    def _check_boxes(self) -> None:
        """Check that the boxes do not contradict each other. Tick parents whose subtasks are all ticked."""
        consistent = propagate_completion(self.tasks)
        for number, task, result in zip(self.places, self.tasks, consistent, strict=True):
            if task.ticked and not result.ticked:
                self._halt("boxes_contradict", number)
            if task.ticked is not result.ticked:
                self.warnings.append(PlanWarning("completion_propagated", number, task.text))
        self.tasks = list(consistent)
        if self.finished and not all(task.ticked for task in consistent):
            self._halt("finished_too_soon", self.opened)


# --- what both dialects use ---------------------------------------------------------------------------------


def _build_title_problem(line: str, title: str, config: PlanConfig) -> PlanProblem:
    """Return the problem of a title that is too long, from the first character over the limit."""
    over = len(title) - config.max_title_length
    seen = (str(len(title)), str(config.max_title_length))
    return PlanProblem("title_too_long", 1, len(line) - over + 1, over, line, seen)


def normalise_newlines(text: str) -> str:
    """Return the text with LF line ends. A carriage return at the end of a single line stays."""
    text = text.replace("\r\n", "\n")
    if "\r" not in text or "\n" not in text:
        return text
    return "\n".join([line.rstrip("\r") for line in text.split("\n")])


def join_lines(lines: Sequence[str]) -> str | None:
    """Join the lines without the empty ones around them; None if all are empty."""
    begin, end = 0, len(lines)
    while begin < end and not lines[begin].strip():
        begin += 1
    while end > begin and not lines[end - 1].strip():
        end -= 1
    return "\n".join(lines[begin:end]) if end > begin else None
