"""Write a plan document as text that parses back as the same plan; otherwise nothing is written."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.documents.plan import grammar
from handrail.documents.plan.grammar import COMMIT_MESSAGE, Dialect, PlanConfig, Rules, compile_rules
from handrail.documents.plan.model import (
    Header,
    Plan,
    PlanProblem,
    PlanRefusal,
    Section,
    SkippedLine,
    build_line_problem,
)
from handrail.documents.plan.parse import is_section_line, join_lines, normalise_newlines, parse_plan

_BOX: Final = re.compile(rf"{grammar.SPACE}*(?:[-*+]{grammar.SPACE}*)?\[(?P<box>[xX ]?)\]:?")
_FIELD: Final = re.compile(r"\{([a-z]+)\}")


def format_plan(plan: Plan, config: PlanConfig = COMMIT_MESSAGE) -> str | PlanRefusal:
    """Return the text of a plan, empty without a header. One that would not parse back is refused."""
    if plan.header is None:
        return "" if plan == Plan(plan.state) else PlanRefusal((PlanProblem("header_not_representable"),))
    problem = find_description_problem(plan.description, config) if plan.description is not None else None
    if problem is not None:
        return PlanRefusal((problem,))
    sections = _format_sections(plan, plan.header, config)
    text = "\n\n".join(["\n".join(section) for section in sections if section]) + "\n"
    parsed = parse_plan(text, config)
    if parsed == plan:
        return text
    if parsed.problems:
        return PlanRefusal(parsed.problems)
    if parsed.header != plan.header:
        code = "header_not_representable"
    elif parsed.direction != plan.direction:
        code = "direction_not_representable"
    elif len(parsed.kept) > len(plan.kept):
        code = "constraint_not_representable"
    else:
        code = "not_representable" if parsed.kept == plan.kept else "skipped_not_representable"
    return PlanRefusal((build_line_problem(code, text.split("\n"), 1),))


def find_description_problem(description: str, config: PlanConfig) -> PlanProblem | None:
    """Return why a description cannot be written; None if it can. Lines count within the description."""
    rules = compile_rules(config)
    if rules.opening_pattern is not None and rules.opening_pattern.search(f"\n{description}") is None:
        return None
    lines = description.split("\n")
    blank = True
    for number, line in enumerate(lines, start=1):
        if _is_more_than_text(line, rules, opening=blank):
            return build_line_problem("description_not_representable", lines, number)
        blank = blank and not line.strip()
    return None


def to_description(text: str, config: PlanConfig = COMMIT_MESSAGE) -> str | None:
    """Turn any text into a description; None if it is empty. Lines that are more than text become bullets."""
    rules = compile_rules(config)
    lines: list[str] = []
    opening = True
    for line in normalise_newlines(text).split("\n"):
        if not _is_more_than_text(line, rules, opening=opening):
            lines.append(line)
        elif (box := _BOX.match(line)) is not None:
            lines.append(f"* ({box['box'] or ' '}) {line[box.end() :].lstrip()}".rstrip())
        else:
            lines.append("* " + line.lstrip().removeprefix("- "))
        opening = opening and not line.strip()
    return join_lines(lines)


def _is_more_than_text(line: str, rules: Rules, *, opening: bool) -> bool:
    """True if the line would be read as more than text inside a description."""
    if rules.config.dialect is Dialect.COMMITS:
        return is_section_line(line)
    patterns = [rules.task, rules.near_task, rules.constraint, rules.near_constraint, rules.marker]
    patterns += [rules.bullet] if opening else []
    return any(pattern.fullmatch(line) is not None for pattern in patterns)


def _format_sections(plan: Plan, header: Header, config: PlanConfig) -> Iterator[list[str]]:
    commits = config.dialect is Dialect.COMMITS
    yield [_format_header(header, config)]
    yield [] if plan.description is None else [plan.description]
    constraints = [
        _fill_form(config.forms.constraint, {"key": key, "value": value})
        for key, value in plan.constraints or ()
    ]
    tasks = [
        _fill_form(
            config.forms.task,
            {
                "indent": " " * (config.indent_size * task.level),
                "box": "x" if task.ticked else " ",
                "text": task.text,
                "details": task.details,
            },
        )
        for task in plan.tasks or ()
    ]
    if commits and plan.constraints is not None:
        first = grammar.CONSTRAINTS_LINE if constraints else grammar.NO_CONSTRAINTS_LINE
        constraints = [first, *constraints]
    if commits and plan.tasks is not None:
        tasks = [grammar.FINISHED_TASKS_LINE if plan.finished else grammar.OPEN_TASKS_LINE, *tasks]
    yield _insert_kept_lines(constraints, plan.kept, Section.CONSTRAINTS)
    yield _insert_kept_lines(tasks, plan.kept, Section.TASKS)
    direction = [] if plan.direction is None else plan.direction.split("\n")
    yield _insert_kept_lines(direction, plan.kept, Section.DIRECTION)


def _insert_kept_lines(lines: list[str], kept: Sequence[SkippedLine], section: Section) -> list[str]:
    """Return the lines of a section with its skipped lines in place; an index past the end means the end."""
    result: list[str] = []
    at = 0
    for line in kept:
        if line.section is section:
            result += lines[at : line.index]
            result.append(line.text)
            at = max(at, line.index)
    return result + lines[at:]


def _format_header(header: Header, config: PlanConfig) -> str:
    fields = {
        "type": header.type,
        "scope": header.scope or "",
        "breaking": "!" if header.breaking else "",
        "title": header.title or "",
        "ignored": header.ignored,
    }
    forms = config.forms
    if header.scope is None and forms.type:
        return _fill_form(forms.type, fields)
    return _fill_form(forms.complete if header.title is not None else forms.type_scope, fields)


def _fill_form(form: str, fields: dict[str, str]) -> str:
    return _FIELD.sub(lambda match: fields.get(match[1], match[0]), form)
