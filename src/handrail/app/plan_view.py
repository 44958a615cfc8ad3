"""Parse the plan in a text, and format its problems with line numbers, for the plan commands."""

from dataclasses import dataclass
from typing import Final

from handrail.documents.plan.grammar import Dialect, PlanConfig
from handrail.documents.plan.model import Plan
from handrail.documents.plan.parse import DIALECT_CONFIGS, normalise_newlines, parse_any, parse_plan
from handrail.engine.problems import Place, Problem, build_error, build_warning, sort_problems
from handrail.workflows.problem_report import format_problems

STDIN: Final = "-"
DIALECTS: Final = tuple(dialect.value for dialect in Dialect)
AUTO_DIALECT: Final = "auto"


@dataclass(frozen=True, slots=True)
class PlanText:
    """A text, the file it came from, and the plan in it."""

    file: str
    text: str
    plan: Plan
    config: PlanConfig


def parse_plan_text(text: str, file: str, dialect: str, *, has_modifications: bool = False) -> PlanText:
    """Parse the plan in a text. `dialect` may be `auto`; `file` is only a name for messages."""
    if dialect == AUTO_DIALECT:
        plan, config = parse_any(text, has_modifications=has_modifications)
    else:
        config = DIALECT_CONFIGS[Dialect(dialect)]
        plan = parse_plan(text, config, has_modifications=has_modifications)
    return PlanText(file, text, plan, config)


def format_plan_problems(source: PlanText) -> str:
    """Format the errors and warnings of a plan, each with its line and carets; empty if there are none."""
    file = source_name(source.file)
    lines = normalise_newlines(source.text).split("\n")
    problems: list[Problem] = []
    for problem in source.plan.problems:
        place = Place(file, max(problem.line, 1), max(problem.column, 1), max(problem.span, 1))
        problems.append(build_error(problem.code, place, problem.message, problem.repair))
    for warning in source.plan.warnings:
        line = lines[max(warning.line, 1) - 1]
        place = Place(file, max(warning.line, 1), 1, max(1, len(line)))
        problems.append(build_warning(warning.code, place, warning.message))
    return format_problems(sort_problems(problems), {file: source.text}) if problems else ""


def source_name(file: str) -> str:
    """Return the name of a file in messages."""
    return "stdin" if file == STDIN else file
