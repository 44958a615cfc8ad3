"""Parse a plan document in either dialect.

Start at `parse_plan`, or at `parse_any` if the dialect is not known. Each dialect has a reader that goes
through the lines once and stops at the first problem. A bad text never raises: problems and warnings are in
the `Plan`.
"""

import re
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

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

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BREAKING_HEADER: Final = re.compile(r"([a-z]+)!:.*")
_CRLF_WARNING: Final = (PlanWarning("crlf_normalised"),)
_COMMITS: Final = Dialect.COMMITS
_PARSED: Final = PlanState.PARSED
_UNKNOWN_STATE: Final = PlanState.UNKNOWN
_HEADER_EXAMPLE: Final = "type(scope): title"
_DEFAULT_RULES: Final = compile_rules(COMMIT_MESSAGE)


def parse_plan(text: str, config: PlanConfig = COMMIT_MESSAGE, *, has_modifications: bool = False) -> Plan:
    """Parse the text. `has_modifications` says that the commit it describes changed files."""
    if len(text) > config.max_input_length or "\0" in text or not (text.isascii() or _is_encodable(text)):
        return Plan(PlanState.HALTED, problems=(_build_unreadable_problem(text, config),))
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
    if header is None:
        return Plan(_UNKNOWN_STATE, warnings=warnings, problems=(_build_header_problem(first),))
    if header.title is None:
        if header.ignored and not header.ignored.isspace():
            warnings = (*warnings, PlanWarning("title_ignored", 1, header.ignored))
    elif len(header.title) > config.max_title_length:
        return _halt_at_title(header, header.title, first, config, warnings)
    return (
        Plan(_PARSED, header, warnings=warnings)
        if end < 0
        else read_planner_body(text, end, header, rules, warnings)
    )


def _parse_header(line: str, rules: Rules) -> Header | None:
    for pattern, parts in rules.headers:
        match = pattern.fullmatch(line)
        if match is not None:
            kind, scope, mark, title, ignored = parts((*match.groups(), None))
            return Header(kind or "", scope, mark is not None, title, ignored or "")
    return None


def _halt_at_title(
    header: Header, title: str, first: str, config: PlanConfig, warnings: tuple[PlanWarning, ...]
) -> Plan:
    """Return the header without its title, which is too long."""
    problem = build_title_problem(first, title, config)
    short = Header(header.type, header.scope, header.breaking)
    return Plan(PlanState.HALTED, short, warnings=warnings, problems=(problem,))


def _is_encodable(text: str) -> bool:
    """True if the text has no lone surrogates. Encoding it is by far the fastest way to check."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _build_unreadable_problem(text: str, config: PlanConfig) -> PlanProblem:
    if len(text) > config.max_input_length:
        return PlanProblem("input_too_long", seen=(f"{len(text):,}", f"{config.max_input_length:,}"))
    match = _SURROGATE.search(text)
    at = match.start() if match is not None else text.index("\0")
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return PlanProblem("unsafe_character", line, column, 1, seen=(f"U+{ord(text[at]):04X}",))


def _build_header_problem(first: str) -> PlanProblem:
    match = _BREAKING_HEADER.fullmatch(first)
    if match is not None:
        return PlanProblem("breaking_without_scope", 1, match.end(1) + 1, 1, first, (match[1],))
    return PlanProblem("header_malformed", 1, 1, max(1, len(first)), first, (_HEADER_EXAMPLE,))


DIALECT_CONFIGS: Final = {Dialect.PLANNER: COMMIT_MESSAGE, Dialect.COMMITS: COMMITS}
_PLANNER_TASK: Final = re.compile(r"\s*- \[[x ]\]: ")


@dataclass(frozen=True, slots=True)
class DialectDetection:
    """The first line that only `planner`, and the first that only `commits` has; 0 if there is none."""

    planner: int
    commits: int

    @property
    def is_mixed(self) -> bool:
        """True if the text has lines of both dialects."""
        return bool(self.planner and self.commits)

    def choose_dialect(self, default: Dialect) -> Dialect:
        """Return the detected dialect, or the default if nothing distinguishes it."""
        if self.commits:
            return Dialect.COMMITS
        return Dialect.PLANNER if self.planner else default


def detect_dialect(text: str) -> DialectDetection:
    """Find the lines that tell the dialect of a text: a section of `commits`, or a task of `planner`."""
    planner = commits = 0
    for number, line in enumerate(normalise_newlines(text).split("\n"), start=1):
        if not commits and line in _PARTS_BY_LINE:
            commits = number
        if not planner and _PLANNER_TASK.match(line) is not None:
            planner = number
        if planner and commits:
            break
    return DialectDetection(planner, commits)


def parse_any(
    text: str, default: Dialect = Dialect.PLANNER, *, has_modifications: bool = False
) -> tuple[Plan, PlanConfig]:
    """Parse a text in either dialect. Return the plan and the configuration used.

    A text that mixes both dialects is halted.
    """
    detection = detect_dialect(text)
    config = DIALECT_CONFIGS[detection.choose_dialect(default)]
    if not detection.is_mixed:
        return parse_plan(text, config, has_modifications=has_modifications), config
    first, second = sorted((detection.planner, detection.commits))
    lines = normalise_newlines(text).split("\n")
    return Plan(
        PlanState.HALTED, problems=(build_line_problem("mixed_dialects", lines, second, str(first)),)
    ), config


# --- the dialect `planner` ----------------------------------------------------------------------------------


_CONSTRAINTS: Final = Section.CONSTRAINTS
_TASKS: Final = Section.TASKS
_DIRECTION: Final = Section.DIRECTION


def read_planner_body(
    text: str, end: int, header: Header, rules: Rules, warnings: tuple[PlanWarning, ...]
) -> Plan:
    """Parse the body below this header; `end` is where the first line ends."""
    begin = 2
    if rules.opening_pattern is not None:
        opening = rules.opening_pattern.search(text, end)
        if opening is None:
            below = text.find("\n", end + 1)
            if below == end + 1 or text[end : below if below > 0 else None].isspace():
                return Plan(_PARSED, header, _trim_body(text, max(below, end)), warnings=warnings)
        else:
            begin = max(2, text.count("\n", 0, opening.start() + 1))
    return _PlannerReader(rules, header, text.split("\n"), list(warnings)).read(begin)


def _trim_body(text: str, below: int) -> str | None:
    """Return the text below the second line without surrounding empty lines; None if it is empty."""
    kept = len(text.rstrip())
    if kept <= below:
        return None
    last = text.find("\n", kept)
    body = text[below + 1 :] if last < 0 else text[below + 1 : last]
    if not body[0].isspace():
        return body
    return body[body.rfind("\n", 0, len(body) - len(body.lstrip())) + 1 :]


@dataclass(slots=True)
class _PlannerReader:
    """One pass over a `planner` plan, and its results so far.

    `section` is None while in the description; `begun` is True once the description has text.
    """

    rules: Rules
    header: Header
    lines: list[str]
    warnings: list[PlanWarning]
    description: list[str] = field(default_factory=list)
    constraints: list[Constraint] | None = None
    tasks: list[Task] = field(default_factory=list)
    direction: list[str] = field(default_factory=list)
    kept: list[SkippedLine] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    section: Section | None = None
    begun: bool = False
    marked: bool = False

    def read(self, begin: int) -> Plan:
        """Return the plan. The lines before index `begin` are known to be text."""
        lines, leads = self.lines, self.rules.lead_characters
        if len(lines) > 1 and lines[1].strip():
            return self._build_plan(self._build_problem("header_line_not_alone", 2))
        self.description = lines[2:begin]
        self.begun = any(map(str.strip, self.description))
        for number, line in enumerate(lines[begin:], begin + 1):
            lead = line.lstrip()[:1]
            if not lead:
                self._read_blank(line)
                continue
            plain = leads and lead not in leads
            problem = self._read_text(number, line) if plain else self._read_line(number, line)
            if problem is not None:
                return self._build_plan(problem)
        return self._build_plan(None)

    def _read_line(self, number: int, line: str) -> PlanProblem | None:
        """Read a line that may be more than text."""
        rules = self.rules
        if rules.task_sign in line:
            if (match := rules.task.fullmatch(line)) is not None:
                return self._read_task(number, match)
            if rules.near_task.fullmatch(line) is not None:
                return self._build_problem("task_malformed", number, *format_task_examples(rules.config))
        if rules.constraint_sign in line and (match := rules.constraint.fullmatch(line)) is not None:
            return self._read_constraint(number, *match.group("key", "value"))
        if rules.marker.fullmatch(line) is not None:
            return self._read_marker(number, line)
        return self._read_bullet(number, line)

    def _read_bullet(self, number: int, line: str) -> PlanProblem | None:
        """Read a line that is not a task, constraint or marker, though it may look like a constraint."""
        if self.rules.constraint_sign in line and self.rules.near_constraint.fullmatch(line) is not None:
            return self._skip_line(number, line)
        if self.section is _DIRECTION or self.rules.bullet.fullmatch(line) is None:
            return self._read_text(number, line)
        if self.section is not None:
            return self._skip_line(number, line)
        return (
            self._read_text(number, line)
            if self.begun
            else self._build_problem("body_opens_with_bullet", number)
        )

    def _read_blank(self, line: str) -> None:
        if self.section is None:
            self.description.append(line)
        elif self.section is _DIRECTION:
            self.direction.append(line)

    def _read_text(self, number: int, line: str) -> PlanProblem | None:
        if self.section is None:
            self.description.append(line)
            self.begun = True
            return None
        if self.marked:
            return self._build_problem("text_after_end", number)
        if self.section is not _DIRECTION:
            most = self.rules.config.direction_halt_length
            if most is not None and len(line) <= most:
                return self._build_problem("direction_too_short", number, str(most))
            self.section = _DIRECTION
        self.direction.append(line)
        return None

    def _read_marker(self, number: int, line: str) -> PlanProblem | None:
        if self.marked:
            return self._build_problem("text_after_end", number)
        self.section, self.marked = _DIRECTION, True
        self.direction.append(line)
        return None

    def _read_constraint(self, number: int, key: str | None, value: str | None) -> PlanProblem | None:
        if self.section not in {None, _CONSTRAINTS}:
            return self._build_problem("section_order", number)
        self.section = _CONSTRAINTS
        if self.constraints is None:
            self.constraints = []
        self.constraints.append((key or "", value or ""))
        return None

    def _skip_line(self, number: int, line: str) -> PlanProblem | None:
        if self.marked:
            return self._build_problem("text_after_end", number)
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
        return None

    def _read_task(self, number: int, match: Match) -> PlanProblem | None:
        indent, box, text = match.group("indent", "box", "text")
        config, widths, tasks = self.rules.config, self.widths, self.tasks
        if self.section is not _TASKS:
            if self.section is _DIRECTION:
                return self._build_problem("section_order", number)
            self.section = _TASKS
        if len(tasks) >= config.max_task_count:
            return self._build_problem("too_many_tasks", number, f"{config.max_task_count:,}")
        width = len(indent) + indent.count("\t") * (config.indent_size - 1) if indent else 0
        while widths and widths[-1] >= width:
            widths.pop()
        level = len(widths)
        if level > config.max_nesting_depth:
            return self._build_problem("task_too_deep", number, str(level), str(config.max_nesting_depth))
        widths.append(width)
        tasks.append(Task(level, box == "x", text or ""))
        return None

    def _build_plan(self, problem: PlanProblem | None) -> Plan:
        direction = join_lines(self.direction)
        last = direction.count("\n") + 1 if direction else 0
        constraints = [] if self.constraints is None and self.tasks else self.constraints
        return Plan(
            _PARSED if problem is None else PlanState.HALTED,
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
            problems=() if problem is None else (problem,),
        )

    def _build_problem(self, code: str, number: int, *seen: str) -> PlanProblem:
        return build_line_problem(code, self.lines, number, *seen)


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
class _CommitsReader:
    """One pass over a `commits` plan, and its results so far.

    `opened` is the line that opened the current section. `decided` is True once there was a constraints
    section.
    """

    rules: Rules
    lines: list[str]
    warnings: list[PlanWarning]
    header: Header | None = None
    description: list[str] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    finished: bool = False
    part: _BodyPart = _BodyPart.DESCRIPTION
    decided: bool = False
    opened: int = 0
    ids: list[set[str]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def read(self) -> Plan:
        """Return the plan, halted at the first line that does not belong."""
        problem = self._read_header(self.lines[0])
        for index in range(1, len(self.lines)):
            if problem is not None:
                break
            problem = self._read_line(index + 1, self.lines[index])
        problem = problem or self._find_empty_section() or self._check_boxes()
        state = PlanState.PARSED if problem is None else PlanState.HALTED
        return Plan(
            PlanState.UNKNOWN if self.header is None else state,
            self.header,
            join_lines(self.description),
            tuple(self.constraints) if self.decided else None,
            tuple(self.tasks) if self.part is _BodyPart.TASKS else None,
            finished=self.finished,
            warnings=tuple(self.warnings),
            problems=() if problem is None else (problem,),
        )

    def _read_header(self, line: str) -> PlanProblem | None:
        config = self.rules.config
        match = self.rules.headers[0][0].fullmatch(line)
        if match is None:
            return self._build_problem("header_malformed", 1, _COMMITS_HEADER_EXAMPLE)
        groups = match.groupdict()
        kind, scope, title = groups["type"] or "", groups["scope"], groups["title"] or ""
        breaking = groups["breaking"] is not None
        if kind not in config.types:
            return PlanProblem("type_unknown", 1, 1, len(kind), line, (kind, ", ".join(config.types)))
        if scope is not None and scope != scope.lower():
            self.warnings.append(PlanWarning("scope_lowercased", 1, scope))
            scope = scope.lower()
        self.header = Header(kind, scope, breaking)
        if len(title) > config.max_title_length:
            return build_title_problem(line, title, config)
        self.header = Header(kind, scope, breaking, title)
        return None

    def _read_line(self, number: int, line: str) -> PlanProblem | None:
        if number == 2 and line.strip():
            return self._build_problem("header_line_not_alone", 2)
        if line in _PARTS_BY_LINE:
            return self._open_section(number, line)
        if is_section_line(line):
            return self._build_problem("section_malformed", number)
        if self.part is _BodyPart.DESCRIPTION:
            self.description.append(line)
        elif line.strip():
            return self._read_item(number, line)
        return None

    def _open_section(self, number: int, line: str) -> PlanProblem | None:
        part = _PARTS_BY_LINE[line]
        if (problem := self._find_empty_section()) is not None:
            return problem
        if self.part is _BodyPart.TASKS or (self.decided and part is not _BodyPart.TASKS):
            return self._build_problem("section_order", number)
        self.part, self.opened = part, number
        self.decided = self.decided or part is not _BodyPart.TASKS
        self.finished = line == grammar.FINISHED_TASKS_LINE
        return None

    def _read_item(self, number: int, line: str) -> PlanProblem | None:
        if self.part is _BodyPart.TASKS:
            return self._read_task(number, line)
        if self.part is _BodyPart.CONSTRAINTS:
            return self._read_constraint(number, line)
        return self._build_problem("text_after_end", number)

    def _read_constraint(self, number: int, line: str) -> PlanProblem | None:
        prefixes = self.rules.config.prefixes
        match = self.rules.constraint.fullmatch(line)
        groups = match.groupdict() if match is not None else {}
        key = groups.get("key")
        if key not in prefixes:
            return self._build_problem("constraint_malformed", number, ", ".join(prefixes))
        self.constraints.append((key, groups["value"] or ""))
        return None

    def _read_task(self, number: int, line: str) -> PlanProblem | None:
        config = self.rules.config
        match = self.rules.task.fullmatch(line)
        groups = match.groupdict() if match is not None else {}
        summary, _, details = (groups.get("text") or "").partition(DETAILS_SEPARATOR)
        if not details.strip():
            return self._build_problem("task_malformed", number, *format_task_examples(config))
        level, odd = divmod(len(groups["indent"] or ""), config.indent_size)
        if level > config.max_nesting_depth:
            return self._build_problem("task_too_deep", number, str(level), str(config.max_nesting_depth))
        if odd or level > len(self.ids):
            return self._build_problem("task_indentation", number, str(config.indent_size))
        if len(self.tasks) >= config.max_task_count:
            return self._build_problem("too_many_tasks", number, f"{config.max_task_count:,}")
        return self._add_task(number, Task(level, groups["box"] == "x", summary, details))

    def _add_task(self, number: int, task: Task) -> PlanProblem | None:
        """Add the task unless a sibling has the same id."""
        del self.ids[task.level + 1 :]
        if len(self.ids) == task.level:
            self.ids.append(set())
        name = make_task_id(task.text)
        if not name:
            return self._build_problem("task_id_missing", number)
        if name in self.ids[task.level]:
            return self._build_problem("task_id_taken", number, name)
        self.ids[task.level].add(name)
        self.tasks.append(task)
        self.places.append(number)
        return None

    def _find_empty_section(self) -> PlanProblem | None:
        """Return a problem if the section that ends here is empty."""
        if self.part is _BodyPart.CONSTRAINTS and not self.constraints:
            return self._build_problem("constraints_empty", self.opened)
        if self.part is _BodyPart.TASKS and not self.tasks:
            return self._build_problem("tasks_empty", self.opened)
        return None

    def _check_boxes(self) -> PlanProblem | None:
        """Return a problem if the boxes contradict each other. Tick parents whose subtasks are all ticked."""
        consistent = propagate_completion(self.tasks)
        for number, task, result in zip(self.places, self.tasks, consistent, strict=True):
            if task.ticked and not result.ticked:
                return self._build_problem("boxes_contradict", number)
            if task.ticked is not result.ticked:
                self.warnings.append(PlanWarning("completion_propagated", number, task.text))
        self.tasks = list(consistent)
        if self.finished and not all(task.ticked for task in consistent):
            return self._build_problem("finished_too_soon", self.opened)
        return None

    def _build_problem(self, code: str, number: int, *seen: str) -> PlanProblem:
        return build_line_problem(code, self.lines, number, *seen)


# --- what both dialects use ---------------------------------------------------------------------------------


def build_title_problem(line: str, title: str, config: PlanConfig) -> PlanProblem:
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
