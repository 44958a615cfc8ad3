"""A repository with a plan to come, and servers of the face `planner` over it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from faces.mcp.desk import Pipe, Place, Told, place
from stores.descriptions.repos import Repo, made

GOAL: Final = {"type": "feat", "scope": "tea", "breaking": False, "title": "brew tea"}
DETAIL: Final = "People are thirsty.\n\nTARGETS OF CHANGE:\n1. The kettle"
CONSTRAINTS: Final = ["Never: boil it twice"]
TASKS: Final = [[False, "Heat water", [[False, "Fill the kettle", []]]], [False, "Add leaves", []]]


@dataclass(frozen=True, slots=True)
class Kitchen:
    """A place whose project is a repository."""

    at: Place
    repo: Repo

    def server(self, era: str = "auto") -> Pipe:
        """A new server process, spoken to in bytes."""
        return Pipe(self.at, "--face", "planner", era=era, PATH=self.repo.path)

    def once(self, tool: str, **given: object) -> Told:
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
        """Put a text there, past every server."""
        store = self.repo.store()
        store.swap(store.read().version, text)


def kitchen(folder: Path, kind: str) -> Kitchen:
    """A new one, of a kind of repository."""
    at = place(folder)
    return Kitchen(at, made(kind, at.project, folder / "home"))
