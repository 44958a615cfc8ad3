"""Writing a plan document: what is written reads back as the same plan, or nothing is written."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.plan import grammar
from handrail.plan.commits import section_line
from handrail.plan.grammar import COMMIT_MESSAGE, Config, Dialect
from handrail.plan.lines import joined, normalised
from handrail.plan.model import Header, Kept, Plan, Refused, Section
from handrail.plan.parse import parse
from handrail.plan.problems import Problem, at_line
from handrail.plan.rules import Rules, rules_of

_BOX: Final = re.compile(rf"{grammar.SPACE}*(?:[-*+]{grammar.SPACE}*)?\[(?P<box>[xX ]?)\]:?")
_FIELD: Final = re.compile(r"\{([a-z]+)\}")


def format_plan(plan: Plan, config: Config = COMMIT_MESSAGE) -> str | Refused:
    """The text of a plan, with one empty line between its sections and one newline at its end.

    A plan without a header is the empty text. What could not be read back is refused.
    """
    if plan.header is None:
        return "" if plan == Plan(plan.state) else Refused((Problem("header_not_representable"),))
    found = unfit(plan.description, config) if plan.description is not None else None
    if found is not None:
        return Refused((found,))
    text = "\n\n".join(["\n".join(part) for part in _sections(plan, plan.header, config) if part]) + "\n"
    return _read_back(plan, text, config)


def unfit(description: str, config: Config) -> Problem | None:
    """Why a description cannot be written; the line counts in the description."""
    rules = rules_of(config)
    if rules.opens is not None and rules.opens.search(f"\n{description}") is None:
        return None
    lines = description.split("\n")
    blank = True
    for number, line in enumerate(lines, start=1):
        if _taken(line, rules, opening=blank):
            return at_line("description_not_representable", lines, number)
        blank = blank and not line.strip()
    return None


def as_description(text: str, config: Config = COMMIT_MESSAGE) -> str | None:
    """Any text as a description: what would be more than text becomes a bullet; None if it says nothing."""
    rules = rules_of(config)
    lines: list[str] = []
    opening = True
    for line in normalised(text).split("\n"):
        lines.append(_bulleted(line) if _taken(line, rules, opening=opening) else line)
        opening = opening and not line.strip()
    return joined(lines)


def _bulleted(line: str) -> str:
    """A line as a bullet that is nothing but text; a box becomes round."""
    found = _BOX.match(line)
    if found is not None:
        return f"* ({found['box'] or ' '}) {line[found.end() :].lstrip()}".rstrip()
    return "* " + line.lstrip().removeprefix("- ")


def _taken(line: str, rules: Rules, *, opening: bool) -> bool:
    """True if the line is more than text where a description stands."""
    if rules.config.dialect is Dialect.COMMITS:
        return section_line(line)
    patterns = [rules.task, rules.near_task, rules.constraint, rules.near_constraint, rules.marker]
    patterns += [rules.bullet] if opening else []
    return any(pattern.fullmatch(line) is not None for pattern in patterns)


def _sections(plan: Plan, header: Header, config: Config) -> Iterator[list[str]]:
    commits = config.dialect is Dialect.COMMITS
    yield [_header(header, config)]
    yield [] if plan.description is None else [plan.description]
    constraints = [
        _filled(config.forms.constraint, {"key": key, "value": value})
        for key, value in plan.constraints or ()
    ]
    tasks = list(_tasks(plan, config))
    if commits and plan.constraints is not None:
        first = grammar.CONSTRAINTS_LINE if constraints else grammar.NO_CONSTRAINTS_LINE
        constraints = [first, *constraints]
    if commits and plan.tasks is not None:
        tasks = [grammar.FINISHED_TASKS_LINE if plan.finished else grammar.OPEN_TASKS_LINE, *tasks]
    yield _with_kept(constraints, plan.kept, Section.CONSTRAINTS)
    yield _with_kept(tasks, plan.kept, Section.TASKS)
    yield _with_kept(
        [] if plan.direction is None else plan.direction.split("\n"), plan.kept, Section.DIRECTION
    )


def _tasks(plan: Plan, config: Config) -> Iterator[str]:
    for task in plan.tasks or ():
        fields = {
            "indent": " " * (config.indent_size * task.level),
            "box": "x" if task.ticked else " ",
            "text": task.text,
            "details": task.details,
        }
        yield _filled(config.forms.task, fields)


def _with_kept(lines: list[str], kept: Sequence[Kept], section: Section) -> list[str]:
    """The lines of a section with what was skipped in it, in place; an index behind the end is the end."""
    found: list[str] = []
    at = 0
    for one in kept:
        if one.section is section:
            found += lines[at : one.index]
            found.append(one.text)
            at = max(at, one.index)
    return found + lines[at:]


def _header(header: Header, config: Config) -> str:
    fields = {
        "type": header.type,
        "scope": header.scope or "",
        "breaking": "!" if header.breaking else "",
        "title": header.title or "",
        "ignored": header.ignored,
    }
    forms = config.forms
    if header.scope is None and forms.type:
        return _filled(forms.type, fields)
    return _filled(forms.complete if header.title is not None else forms.type_scope, fields)


def _filled(form: str, fields: dict[str, str]) -> str:
    return _FIELD.sub(lambda found: fields.get(found[1], found[0]), form)


def _read_back(plan: Plan, text: str, config: Config) -> str | Refused:
    """The text, if it reads back as the plan."""
    back = parse(text, config)
    if back == plan:
        return text
    if back.problems:
        return Refused(back.problems)
    return Refused((at_line(_lost(plan, back), text.split("\n"), 1),))


def _lost(plan: Plan, back: Plan) -> str:
    """The code of why a plan reads back as another."""
    if back.header != plan.header:
        return "header_not_representable"
    if back.direction != plan.direction:
        return "direction_not_representable"
    if len(back.kept) > len(plan.kept):
        return "constraint_not_representable"
    return "not_representable" if back.kept == plan.kept else "skipped_not_representable"
