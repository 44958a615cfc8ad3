"""A repository with a plan to come, and servers of the face `planner` over it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import handrail
from handrail.app.app import App
from handrail.app.catalog import read_source
from handrail.app.faces import Question
from handrail.app.projects import Projects
from handrail.app.stores import ProjectRuns, open_store
from handrail.app.trust import TrustStore
from handrail.engine.model import Workflow
from handrail.mcp.faces.commits import CommitsFace
from handrail.mcp.faces.planner import PlannerFace
from handrail.mcp.faces.shared import DescriptionFace
from handrail.runtime.entries import EntryKind
from handrail.runtime.ports.open_store import CommitRun
from handrail.runtime.ports.queries import RunFilter
from handrail.runtime.ports.turn import Descriptions
from handrail.runtime.records import Caller
from handrail.runtime.world import World
from handrail.stores.vcs.commit_runs import VcsCommitRuns
from handrail.workflows.load import load_workflow
from helpers.replies import list_leaves
from helpers.repositories import Repo, create_repository
from helpers.servers import Pipe, Place, ToolAnswer, create_place

LIBRARY: Final = Path(handrail.__file__).parent / "workflows" / "library"
GOAL: Final = {"type": "feat", "scope": "tea", "breaking": False, "title": "brew tea"}
DETAIL: Final = "People are thirsty.\n\nTARGETS OF CHANGE:\n1. The kettle"
CONSTRAINTS: Final = ["Never: boil it twice"]
TASKS: Final = [[False, "Heat water", [[False, "Fill the kettle", []]]], [False, "Add leaves", []]]


@dataclass(frozen=True, slots=True)
class RepositoryPlace:
    """A place whose project is a repository."""

    at: Place
    repo: Repo
    face: str = "planner"

    def server(self, era: str = "auto") -> Pipe:
        """A new server process, spoken to in bytes."""
        return Pipe(self.at, "--face", self.face, era=era, PATH=self.repo.path)

    def once(self, tool: str, **given: object) -> ToolAnswer:
        """What a server answers that was started for this call alone."""
        with self.server() as pipe:
            return pipe.call(given, tool)

    def text(self) -> str:
        """The description as it stands, asked of the program itself."""
        if self.repo.kind == "git":
            return self.repo.git("cat-file", "blob", "refs/worktree/handrail/plan:plan")
        return self.repo.jj(
            "--ignore-working-copy", "log", "-r", "@", "--no-graph", "-T", "self.description()"
        )

    def writes(self, text: str) -> None:
        store = self.repo.store()
        store.swap(store.read(), text)


def create_repository_place(folder: Path, kind: str, face: str = "planner") -> RepositoryPlace:
    at = create_place(folder)
    return RepositoryPlace(at, create_repository(kind, at.project, folder / "home"), face)


def load_face_workflow(face: str) -> Workflow:
    """The workflow of a face that comes with Handrail."""
    found = load_workflow(read_source(LIBRARY / face / face / "workflow.yaml")).workflow
    assert found is not None
    return found


FLOW: Final = load_face_workflow("planner")
FACES: Final = {"planner": (PlannerFace, FLOW), "commits": (CommitsFace, load_face_workflow("commits"))}


@dataclass(frozen=True, slots=True)
class PlanAgent:
    """Somebody who calls the tools of the face, without a process in between."""

    repo: Repo
    face: DescriptionFace
    app: App
    store: Descriptions

    def calls(self, tool: str, **given: object) -> ToolAnswer:
        """Call a tool where nobody can be asked; its answer holds in both forms."""
        (listed,) = [one for one in self.face.tools if one.names == (tool,)]
        found = self.face.call(listed, given, Caller(client="bench 1"))
        answer = found.fallback if isinstance(found, Question) else found
        lines = [line for leaf in list_leaves(answer.reply) for line in leaf.split("\n")]
        assert [line for line in lines if line.rstrip("\n") not in answer.text] == [], answer.text
        return ToolAnswer(dict(answer.reply), answer.text, answer.failed)

    def does(self, *calls: tuple[str, Mapping[str, object]]) -> ToolAnswer:
        """Make one call after the other; each is accepted."""
        answer = [self.calls(tool, **given) for tool, given in calls]
        assert [one.text for one in answer if one.failed] == []
        return answer[-1]

    def text(self) -> str:
        return self.store.read().text

    def writes(self, text: str) -> None:
        self.store.swap(self.store.read(), text)

    def lifecycles(self) -> list[tuple[object, object]]:
        """From where to where the run went, as its journal has it."""
        (row,) = self.app.runs.runs(RunFilter())
        entries = [one.entry for one in self.app.world.runs.entries(row.id)]
        passed = [one.data for one in entries if one.kind is EntryKind.WORKFLOW_STATE_TRANSITION]
        assert {one["client"] for one in passed} == {"bench 1"}
        return [(one["from"], one["to"]) for one in passed]


@contextmanager
def open_plan_agent(
    folder: Path, repo: Repo, store: Descriptions | None = None, face: str = "planner"
) -> Iterator[PlanAgent]:
    """Somebody at a server of this repository, with a store in this folder."""
    stored = store or repo.store()

    class Opened(ProjectRuns):
        """Opens every run in the descriptions that are given."""

        def open_commit_run(self, root: Path, world: World, workflow: Workflow) -> CommitRun:
            """Open the run."""
            return VcsCommitRuns(stored, world.runs, root, workflow)

    with open_store(folder / "store" / "handrail.db") as opened:
        make, workflow = FACES[face]
        app = App(opened, Projects((repo.folder,), TrustStore()), project_runs=Opened())
        yield PlanAgent(repo, make(app, workflow), app, stored)


TO_GOAL: Final = ("set_overarching_goal", {"goal": GOAL})
TO_DETAIL: Final = ("set_detailed_goal", {"description": DETAIL})
TO_PLAN: Final = ("set_plan", {"plan": TASKS})
