"""A store with a run of every face, each played by a real server: some way into its work, and still open."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from helpers.commit_plans import CONSTRAINTS, DESCRIPTION, START, TO_FILL, TO_PLAN
from helpers.repositories import create_repository
from helpers.servers import Pipe, Place, ToolAnswer, create_place

SESSION: Final = "sorting"
FEATURE: Final = "Save twice keeps both changes"
PLAN: Final = """# Sort the list

## Acceptance Criteria

- [ ] The list is sorted
- [ ] An empty list stays empty
- [ ] Equal entries keep their order
"""
TASK: Final = "---\ntask_name: sort\n---\n# Sort it\n\nUse the built-in, and *nothing else*.\n"
RESULTS: Final = "# Results\n\n## Acceptance Criteria\n\n- [x] The list is sorted\n"
DESIGN: Final = """# Sort the list

## Work Items

### Item 1: Sort it

**Type:** code
**Status:** pending

### Item 2: Write it down

**Type:** task
**Status:** documented
"""
GRAPH: Final = """# Tasks

```yaml
tasks:
  - id: sort
    files: [sort.py]
  - id: speed
  - id: test
    depends-on: [sort, speed]
```
"""
SKILLS: Final = (
    "collab-start",
    "gather-session-goals",
    *(
        word
        for skill in ("exploring", "clarifying", "designing", "validating")
        for word in ("collab-clear", f"brainstorming-{skill}")
    ),
    *(
        word
        for skill in ("rough-draft-interface", "rough-draft-pseudocode", "rough-draft-skeleton")
        for word in ("collab-clear", skill)
    ),
    *("collab-clear", "build-task-graph", "collab-clear", "rough-draft-handoff", "collab-clear"),
    *("ready-to-implement", "collab-clear"),
)
GOAL: Final = {"type": "feat", "scope": "kettle", "breaking": False, "title": "whistle when the water boils"}
DETAIL: Final = "People forget the kettle.\n\nTARGETS OF CHANGE:\n1. The lid\n2. The spout"
TASKS: Final[list[Any]] = [
    [True, "Choose a whistle", [[True, "Measure the spout", []], [True, "Ask three people", []]]],
    [False, "Fit it", [[True, "Drill the lid", []], [False, "Solder the reed", []]]],
    [False, "Write the leaflet", []],
]


@dataclass(frozen=True, slots=True)
class FaceRuns:
    """A place, and the run of each face in its store."""

    at: Place
    runs: dict[str, str]


def require_success(answer: ToolAnswer) -> ToolAnswer:
    """What was told, which was no refusal."""
    assert not answer.failed, answer.text
    return answer


def play_all_faces(at: Place) -> None:
    """Play them in the store of this place."""
    play_faces(at, play_steps, play_spells, play_skills, play_planner)
    second = create_place(at.folder / "second")
    create_repository("git", second.project, second.folder / "home")
    play_commits(second, at)


def play_faces(at: Place, *plays: Callable[[Place], object]) -> None:
    """Play these of them there, in a project that is kept in git."""
    create_repository("git", at.project, at.folder / "home")
    for play in plays:
        play(at)


def play_steps(at: Place) -> str:
    """A run of six steps, in its third, after a refusal."""
    with Pipe(at) as agent:
        begun = require_success(agent.start(goal=FEATURE))
        once = require_success(agent.continue_run(begun.token, summary="It is drawn."))
        assert agent.continue_run(once.token, artifacts=[]).failed
        again = require_success(agent.recover(begun.run))
        require_success(agent.continue_run(again.token, summary="It is built."))
        return begun.run


def play_spells(at: Place) -> None:
    """A task of which one criterion is met, and the next task is done."""
    home = at.project / ".ai" / "task"
    with Pipe(at, "--face", "spells") as agent:
        require_success(agent.call({}, "accio"))
        (home / "plan.md").write_text(PLAN, "utf-8")
        require_success(agent.call({}, "accio"))
        (home / "task.md").write_text(TASK, "utf-8")
        require_success(agent.call({}, "accio"))
        (home / "task-results.md").write_text(RESULTS, "utf-8")
        require_success(agent.call({}, "accio"))
        (home / "task.md").write_text(TASK.replace("Sort it", "Think of empty lists"), "utf-8")
        require_success(agent.call({}, "accio"))


def play_skills(at: Place) -> None:
    """A session in its first batch."""
    home = at.project / ".collab" / "sessions" / SESSION / "documents"
    home.mkdir(parents=True)
    (home / "design.md").write_text(DESIGN, "utf-8")
    (home / "task-graph.md").write_text(GRAPH, "utf-8")
    named = {"project": str(at.project), "session": SESSION}
    with Pipe(at, "--face", "skills") as agent:
        for skill in SKILLS:
            require_success(agent.call({**named, "skill": skill}, "complete_skill"))
        require_success(agent.call({**named, "task_id": "sort", "status": "completed"}, "update_task_status"))


def play_planner(at: Place) -> None:
    """A plan that is worked off."""
    with Pipe(at, "--face", "planner") as agent:
        require_success(agent.call({"goal": GOAL}, "set_overarching_goal"))
        given = {"description": DETAIL, "constraints": ["Never: boil it dry", "Do not: add a battery"]}
        require_success(agent.call(given, "set_detailed_goal"))
        require_success(agent.call({"plan": TASKS}, "set_plan"))
        require_success(agent.call({"task_id": "Write the leaflet"}, "mark_task"))


def play_commits(at: Place, stored: Place) -> None:
    """A plan with a task that is done, in a place of its own; its runs are kept with the others."""
    with Pipe(at, "--face", "commits", "--store", str(stored.store)) as agent:
        require_success(agent.call({**START, "confirm": True}, "start_planning"))
        require_success(agent.call({"description": DESCRIPTION}, "update_description"))
        require_success(agent.call({"constraints": CONSTRAINTS}, "set_constraints"))
        for tool, given in (TO_PLAN, TO_FILL):
            require_success(agent.call(given, tool))
