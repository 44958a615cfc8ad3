"""What is planned in the tests of the face `commits`, and the way from nothing to its end."""

from pathlib import Path
from typing import Any, Final

from helpers.planner_agents import RepositoryPlace, create_repository_place

START: Final = {"type": "feat", "scope": "tea", "summary": "brew tea"}
DESCRIPTION: Final = "People are thirsty.\n\nThe kettle learns to whistle."
CONSTRAINTS: Final = ["Never: boil it twice"]
TASKS: Final[list[dict[str, Any]]] = [
    {
        "summary": "Heat water",
        "details": "in the kettle",
        "children": [{"summary": "Fill it", "details": "from the tap"}],
    },
    {"summary": "Add leaves", "details": "two spoons"},
]
TO_START: Final = ("start_planning", START)
TO_DESCRIBE: Final = ("update_description", {"description": DESCRIPTION})
TO_BIND: Final = ("set_constraints", {"constraints": CONSTRAINTS})
TO_PLAN: Final = ("set_tasks", {"tasks": TASKS})
TO_FILL: Final = ("mark_task", {"task_id": "heat-water/fill-it"})
TO_ADD: Final = ("mark_task", {"task_id": "add-leaves"})
TO_READ: Final[tuple[str, dict[str, Any]]] = ("get_plan", {})
TO_FINISH: Final[tuple[str, dict[str, Any]]] = ("finish_job", {})

COMPLETE: Final = """feat(tea): brew tea

People are thirsty.

The kettle learns to whistle.

Constraints:
- Never: boil it twice

Tasks [X]:
- [x] Heat water: in the kettle
  - [x] Fill it: from the tap
- [x] Add leaves: two spoons
"""


def create_clean_place(folder: Path, kind: str) -> RepositoryPlace:
    """A new place whose files are all in the commit before, so that the current one is truly empty."""
    at = create_repository_place(folder, kind, "commits")
    if kind == "git":
        at.repo.git("add", "--all")
        at.repo.git("commit", "-q", "-m", "the project")
    else:
        at.repo.jj("commit", "-m", "the project")
    return at


NOTHING: Final = {
    "phase": "uninitialized",
    "has_goal": False,
    "has_description": False,
    "has_constraints": False,
    "has_tasks": False,
    "total_tasks": 0,
    "completed_tasks": 0,
}
"""The state of the plan where there is none."""

EDITS: Final[tuple[tuple[str, dict[str, object]], ...]] = (
    ("update_goal", {"summary": "x"}),
    ("update_description", {"description": "x"}),
    ("set_constraints", {"constraints": []}),
    ("set_tasks", {"tasks": TASKS}),
    ("mark_task", {"task_id": "x"}),
    ("finish_job", {}),
    ("unfinish_job", {}),
)
"""Calls that change a plan which is there."""
