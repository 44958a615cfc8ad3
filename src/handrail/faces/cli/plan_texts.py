"""How the commands about plans read a text, and how they tell what is wrong with it."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

import click

from handrail.engine import problems as told
from handrail.faces.cli.output import Failure, NotFound
from handrail.plan.check import Verdict
from handrail.plan.detect import CONFIGS, parse_any
from handrail.plan.findings import Finding
from handrail.plan.given import plan_of
from handrail.plan.grammar import Config, Dialect
from handrail.plan.lines import normalised
from handrail.plan.model import Plan, Refused
from handrail.plan.parse import parse
from handrail.plan.problems import Problem
from handrail.plan.stage import detect_stage, phase_of
from handrail.plan.tasks import counts
from handrail.shell.reading import read_bytes
from handrail.workflows.carets import show_all

STDIN: Final = "-"
DIALECTS: Final = tuple(one.value for one in Dialect)
AUTO: Final = "auto"
_MOST: Final = 1 << 20
"""How many bytes are read: far more than the grammar takes, and no more than a machine has room for."""

Decorator: TypeAlias = Callable[[Callable[..., None]], Callable[..., None]]

text_file: Final[Decorator] = click.argument("file", default=STDIN)
in_dialect: Final[Decorator] = click.option(
    "--dialect",
    type=click.Choice([*DIALECTS, AUTO]),
    default=AUTO,
    show_default=True,
    help="How the text is laid out; `auto` looks for what only one of them has, and else takes planner.",
)
modified: Final[Decorator] = click.option(
    "--has-modifications",
    "has_modifications",
    is_flag=True,
    help="Files were changed in the commit: then an empty text is no fresh start of commits.",
)


@dataclass(frozen=True, slots=True)
class Read:
    """A text, where it came from, and the plan in it."""

    file: str
    text: str
    plan: Plan
    config: Config


def read_text(file: str) -> str:
    """The text of a file, or of stdin for `-`."""
    if file == STDIN:
        data = sys.stdin.buffer.read(_MOST)
    else:
        path = Path(file)
        if not path.is_file():
            raise NotFound("file", file, "give the path of a text file, or - for stdin")
        data = read_bytes(path, _MOST)
    try:
        return data.decode()
    except UnicodeDecodeError as fault:
        message = f"{named(file)}: byte {fault.start + 1} is no UTF-8"
        raise Failure("not_text", message, "save the text as UTF-8") from None


def read_plan(file: str, dialect: str, *, has_modifications: bool = False) -> Read:
    """The plan in a file, or on stdin for `-`, in this dialect or in the one it is found to be in."""
    return plan_in(read_text(file), file, dialect, has_modifications=has_modifications)


def plan_in(text: str, file: str, dialect: str, *, has_modifications: bool = False) -> Read:
    """The plan in a text that came from this file."""
    if dialect == AUTO:
        plan, config = parse_any(text, has_modifications=has_modifications)
    else:
        config = CONFIGS[Dialect(dialect)]
        plan = parse(text, config, has_modifications=has_modifications)
    return Read(file, text, plan, config)


def value_in(text: str, dialect: str) -> tuple[Mapping[str, Any], Config] | None:
    """The JSON object that a text is, with the configuration it is for; None if the text is a plan."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as fault:
        message = f"the text begins like JSON and is none: {fault}"
        raise Failure("not_json", message, "give a plan document, or one JSON object") from None
    header = value.get("header")
    commits = isinstance(header, Mapping) and "summary" in header
    found = (Dialect.COMMITS if commits else Dialect.PLANNER) if dialect == AUTO else Dialect(dialect)
    return value, CONFIGS[found]


def plan_of_value(value: Mapping[str, Any], config: Config) -> Plan:
    """The plan that a JSON object says."""
    plan = plan_of(value, config)
    if isinstance(plan, Verdict):
        refuse(Refused(findings=plan.errors))
    return plan


def refuse(refused: Refused) -> NoReturn:
    """End the command with the first reason of a refusal."""
    if refused.findings:
        first = refused.findings[0]
        raise Failure(first.code, f"{first.field}: {first.message}", "handrail plan check tells all of it")
    problem = refused.problems[-1]
    place = f"line {problem.line}: " if problem.line else ""
    raise Failure(problem.code, f"{place}{problem.message}", problem.repair)


def shown(read: Read) -> str:
    """What is wrong with a text and what was read otherwise than meant, each with its line and carets."""
    file = named(read.file)
    lines = normalised(read.text).split("\n")
    found = [_error(problem, file) for problem in read.plan.problems]
    for warned in read.plan.warnings:
        line = lines[max(warned.line, 1) - 1]
        place = told.Place(file, max(warned.line, 1), 1, max(1, len(line)))
        found.append(told.warning(warned.code, place, warned.message))
    return show_all(told.in_reading_order(found), {file: read.text}) if found else ""


def findings(verdict: Verdict) -> list[tuple[str, str, str, str]]:
    """What the validator found, a row each."""
    return [
        *(_row("error", one) for one in verdict.errors),
        *(_row("warning", one) for one in verdict.warnings),
    ]


def named(file: str) -> str:
    """What a file is called in a message."""
    return "stdin" if file == STDIN else file


def rows(read: Read) -> list[tuple[str, str]]:
    """What a plan holds, a row for each part."""
    plan = read.plan
    total, ticked = counts(plan.tasks or ())
    commits = read.config.dialect is Dialect.COMMITS
    far = ("phase", str(phase_of(plan))) if commits else ("stage", str(detect_stage(plan)))
    found = [("dialect", str(read.config.dialect)), ("state", str(plan.state)), far]
    if plan.header is not None:
        found.append(("type", plan.header.type))
        found += [("scope", plan.header.scope)] if plan.header.scope is not None else []
        found += [("title", plan.header.title)] if plan.header.title is not None else []
        found += [("breaking", "yes")] if plan.header.breaking else []
    if plan.description is not None:
        lines = plan.description.count("\n") + 1
        found.append(("description", "1 line" if lines == 1 else f"{lines} lines"))
    found += [("constraint", f"{key}: {value}") for key, value in plan.constraints or ()]
    found += [("tasks", f"{ticked} of {total} complete")] if total else []
    found += [("direction", plan.direction)] if plan.direction is not None else []
    return found


def _row(kind: str, found: Finding) -> tuple[str, str, str, str]:
    return kind, found.field, found.code, found.message


def _error(problem: Problem, file: str) -> told.Problem:
    place = told.Place(file, max(problem.line, 1), max(problem.column, 1), max(problem.span, 1))
    return told.error(problem.code, place, problem.message, problem.repair)
