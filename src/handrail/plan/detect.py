"""Which dialect a text is written in."""

import re
from dataclasses import dataclass
from typing import Final

from handrail.plan import grammar
from handrail.plan.grammar import COMMIT_MESSAGE, COMMITS, Config, Dialect
from handrail.plan.lines import normalised
from handrail.plan.model import Plan, State
from handrail.plan.parse import parse
from handrail.plan.problems import at_line

CONFIGS: Final = {Dialect.PLANNER: COMMIT_MESSAGE, Dialect.COMMITS: COMMITS}
"""The configuration of each dialect."""

_SECTIONS: Final = frozenset(
    [
        grammar.CONSTRAINTS_LINE,
        grammar.NO_CONSTRAINTS_LINE,
        grammar.OPEN_TASKS_LINE,
        grammar.FINISHED_TASKS_LINE,
    ]
)
_TASK: Final = re.compile(r"\s*- \[[x ]\]: ")


@dataclass(frozen=True, slots=True)
class Detected:
    """The first lines that only one of the dialects has; 0 if there is none."""

    planner: int
    commits: int

    @property
    def mixed(self) -> bool:
        """True if the text is of both."""
        return bool(self.planner and self.commits)

    def dialect(self, default: Dialect) -> Dialect:
        """The dialect, or the default if nothing tells it."""
        if self.commits:
            return Dialect.COMMITS
        return Dialect.PLANNER if self.planner else default


def detect(text: str) -> Detected:
    """What tells the dialect of a text: a section of `commits`, or a task of `planner`."""
    planner = commits = 0
    for number, line in enumerate(normalised(text).split("\n"), start=1):
        if not commits and line in _SECTIONS:
            commits = number
        if not planner and _TASK.match(line) is not None:
            planner = number
        if planner and commits:
            break
    return Detected(planner, commits)


def parse_any(
    text: str, default: Dialect = Dialect.PLANNER, *, has_modifications: bool = False
) -> tuple[Plan, Config]:
    """The plan of a text in either dialect, and the configuration it was read by; one of both is halted."""
    found = detect(text)
    config = CONFIGS[found.dialect(default)]
    if not found.mixed:
        return parse(text, config, has_modifications=has_modifications), config
    first, second = sorted((found.planner, found.commits))
    lines = normalised(text).split("\n")
    return Plan(State.HALTED, problems=(at_line("mixed_dialects", lines, second, str(first)),)), config
