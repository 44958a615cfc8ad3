"""A workflow read and checked: everything that is wrong with it, for people on any face."""

from dataclasses import dataclass
from typing import Final

from handrail.engine.check import check
from handrail.engine.model import Workflow
from handrail.engine.problems import Problem
from handrail.shell.remembered import Remembered
from handrail.workflows.load import Find, Source, load


@dataclass(frozen=True, slots=True)
class Checked:
    """A workflow, if it could be read, and its problems, warnings included."""

    workflow: Workflow | None
    problems: tuple[Problem, ...]


def _checked(source: Source, find: Find) -> Checked:
    loaded = load(source, find)
    problems = loaded.problems or (check(loaded.workflow) if loaded.workflow else ())
    return Checked(loaded.workflow, problems)


checked: Final = Remembered(_checked)
"""Reads a text, and looks at every way through the workflow that it is."""
