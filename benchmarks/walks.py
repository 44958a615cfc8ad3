"""Whole runs of every face, as an honest agent takes them: all replies, from the first to the last."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.commit_plans import (
    TO_ADD,
    TO_BIND,
    TO_DESCRIBE,
    TO_FILL,
    TO_FINISH,
    TO_PLAN,
    TO_START,
    create_clean_place,
)
from helpers.library_outputs import HONEST
from helpers.planner_agents import CONSTRAINTS, DETAIL, GOAL, TASKS, RepositoryPlace, create_repository_place
from helpers.reply_sizes import walk_workflow
from helpers.servers import Pipe, ToolAnswer, create_place, open_in_process

Calls: TypeAlias = Sequence[tuple[str, Mapping[str, object]]]
COMMITS: Final[Calls] = (TO_START, TO_DESCRIBE, TO_BIND, TO_PLAN, TO_FILL, TO_ADD, TO_FINISH)
PLANNER: Final[Calls] = (
    ("set_overarching_goal", {"goal": GOAL}),
    ("set_detailed_goal", {"description": DETAIL, "constraints": CONSTRAINTS}),
    ("set_plan", {"plan": TASKS}),
    ("mark_task", {"task_id": "kettle"}),
    ("mark_task", {"task_id": "heat water", "completed": True}),
    ("mark_task", {"task_id": "leaves"}),
    ("finish_job", {}),
)
DESIGN: Final = "# Sort\n\n## Work Items\n\n### Item 1: Sort it\n\n**Type:** code\n**Status:** pending\n"
GRAPH: Final = "# Tasks\n\n```yaml\ntasks:\n  - {id: sort, files: [sort.py], description: Sort it}\n```\n"
CRITERIA: Final = "# Sort\n\n## Acceptance Criteria\n\n- [ ] The list is sorted\n"
WRITTEN: Final = (
    ("plan.md", CRITERIA),
    ("task.md", "---\ntask_name: sort\n---\n# Sort it\n\nUse the built-in.\n"),
    ("task-results.md", CRITERIA.replace("[ ]", "[x]")),
    ("plan.md", CRITERIA.replace("[ ]", "[x]")),
)


def runs(folder: Path) -> Iterator[tuple[str, list[ToolAnswer]]]:
    """The replies of a run, by the name of its workflow."""
    for workflow in HONEST:
        with open_in_process(create_place(folder / workflow)) as client:
            yield workflow, list(walk_workflow(client, workflow))
    yield "commits", list(_in_git(create_clean_place(folder / "commits", "git"), "get_plan", COMMITS))
    yield (
        "planner",
        list(_in_git(create_repository_place(folder / "planner", "git"), "gather_requirements", PLANNER)),
    )
    yield "skills", list(_skills(folder / "skills"))
    yield "spells", list(_spells(folder / "spells"))


def _in_git(at: RepositoryPlace, look: str, calls: Calls) -> Iterator[ToolAnswer]:
    """A plan that stands in git, from nothing to complete; each call has the token of the one before."""
    with at.server("legacy") as pipe:
        answer = _sound(pipe.call({}, look))
        yield answer
        for tool, given in calls:
            answer = _sound(pipe.call({**given, "step_token": answer.reply["step_token"]}, tool))
            yield answer


def _skills(folder: Path) -> Iterator[ToolAnswer]:
    """A session with one item of code; each skill that is done names the next."""
    at = create_place(folder)
    home = at.project / ".collab" / "sessions" / "demo" / "documents"
    home.mkdir(parents=True)
    (home / "design.md").write_text(DESIGN, "utf-8")
    (home / "task-graph.md").write_text(GRAPH, "utf-8")
    named = {"project": str(at.project), "session": "demo"}
    skill = "collab-start"
    with Pipe(at, "--face", "skills", era="legacy") as pipe:
        while skill:
            if skill == "executing-plans":
                done = {**named, "task_id": "sort", "status": "completed"}
                yield _sound(pipe.call(done, "update_task_status"))
            answer = _sound(pipe.call({**named, "skill": skill}, "complete_skill"))
            yield answer
            skill = answer.reply["next_skill"]


def _spells(folder: Path) -> Iterator[ToolAnswer]:
    """A task with one criterion; whoever works on it writes a file between two words."""
    at = create_place(folder)
    with Pipe(at, "--face", "spells", era="legacy") as pipe:
        yield _sound(pipe.call({}, "accio"))
        for name, text in WRITTEN:
            (at.project / ".ai" / "task" / name).write_text(text, "utf-8")
            yield _sound(pipe.call({}, "accio"))


def _sound(answer: ToolAnswer) -> ToolAnswer:
    if answer.failed:
        raise SystemExit(answer.text)
    return answer
