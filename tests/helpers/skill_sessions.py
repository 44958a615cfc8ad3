"""A project with sessions of skills, and an agent at the face without a process in between."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import handrail
from handrail.app.app import App
from handrail.app.catalog import read_source
from handrail.app.projects import Projects
from handrail.app.stores import open_store
from handrail.app.trust import TrustStore
from handrail.engine.model import Workflow
from handrail.mcp.faces.skills import SkillsFace
from handrail.runtime.records import Caller
from handrail.workflows.load import load_workflow
from helpers.replies import list_leaves
from helpers.servers import ToolAnswer
from helpers.turns import ManualClock

FILE: Final = Path(handrail.__file__).parent / "workflows" / "library" / "skills" / "skills" / "workflow.yaml"
SESSION: Final = "demo"


def load_graph() -> Workflow:
    found = load_workflow(read_source(FILE)).workflow
    assert found is not None
    return found


FLOW: Final = load_graph()


def write_design(types: Sequence[str], documented: Sequence[int] = ()) -> str:
    """A design document with items of these types, some of them documented."""
    items = [
        f"### Item {number}: The {kind}\n\n**Type:** {kind}\n**Status:** {_status(number in documented)}\n"
        for number, kind in enumerate(types, start=1)
    ]
    return "# Design\n\n## Work Items\n\n" + "\n".join(items)


def _status(documented: object) -> str:
    return "documented" if documented else "pending"


def write_task_graph(tasks: Mapping[str, Sequence[str]]) -> str:
    """A document with a task graph: each task, and what it depends on."""
    lines = [f"  - id: {name}\n    depends-on: [{', '.join(of)}]\n" for name, of in tasks.items()]
    return "# Tasks\n\n```yaml\ntasks:\n" + "".join(lines) + "```\n"


@dataclass(frozen=True, slots=True)
class SkillAgent:
    """Somebody who calls the tools of the face, for one session unless said otherwise."""

    root: Path
    face: SkillsFace
    app: App
    clock: ManualClock

    def calls(self, tool: str, **given: object) -> ToolAnswer:
        """Call a tool; its answer holds in both forms."""
        (listed,) = [one for one in self.face.tools if one.names == (tool,)]
        arguments = {"project": str(self.root), "session": SESSION, **given}
        answer = self.face.call(listed, arguments, Caller(client="bench 1"))
        lacking = [leaf for leaf in list_leaves(answer.reply) if leaf not in answer.text]
        assert lacking == [], answer.text
        return ToolAnswer(dict(answer.reply), answer.text, answer.failed)

    def completes(self, skill: str | None, **more: object) -> ToolAnswer:
        return self.calls("complete_skill", skill=skill, **more)

    def sets(self, task: str, status: str = "completed", **more: object) -> ToolAnswer:
        return self.calls("update_task_status", task_id=task, status=status, **more)

    def looks(self, **more: object) -> ToolAnswer:
        return self.calls("session_status", **more)

    def walks(self, *skills: str) -> ToolAnswer:
        """Report one skill after the other; each is accepted."""
        answer = [self.completes(skill) for skill in skills]
        assert [one.text for one in answer if one.failed] == []
        return answer[-1]

    def writes(self, name: str, text: str, session: str = SESSION) -> None:
        place = self.home(session) / "documents" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())

    def home(self, session: str = SESSION) -> Path:
        return self.root / ".collab" / "sessions" / session

    def design(self) -> str:
        return (self.home() / "documents" / "design.md").read_bytes().decode()

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.home() / "collab-state.json").read_bytes())
        return found

    def puts(self, **fields: object) -> None:
        self.home().mkdir(parents=True, exist_ok=True)
        (self.home() / "collab-state.json").write_text(json.dumps(fields), "utf-8")


@contextmanager
def open_skill_agent(folder: Path, *roots: Path) -> Iterator[SkillAgent]:
    """An agent at a server of a project, or of several; the first is the one it works in."""
    made = roots or (folder / "project",)
    for root in made:
        root.mkdir(parents=True, exist_ok=True)
    clock = ManualClock()
    with open_store(folder / "store" / "handrail.db") as store:
        app = App(store, Projects(made, TrustStore()), clock=clock)
        yield SkillAgent(made[0], SkillsFace(app, FLOW), app, clock)


TO_FIRST_ITEM: Final = ("collab-start", "gather-session-goals", "collab-clear")
TO_VALIDATED: Final = (
    "brainstorming-exploring",
    "collab-clear",
    "brainstorming-clarifying",
    "collab-clear",
    "brainstorming-designing",
    "collab-clear",
    "brainstorming-validating",
)
BUG_DONE: Final = (*TO_FIRST_ITEM, "systematic-debugging", "collab-clear")
"""A session whose only item is a bug, up to where it is ready to be implemented."""

TO_BATCHES: Final = (*BUG_DONE, "ready-to-implement", "collab-clear")
