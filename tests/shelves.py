"""Definitions of a project that a test types by hand, and the resources of a server over a store."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from handrail.faces.mcp.resources import Resources
from handrail.shell.definitions import Pinned
from handrail.shell.sweep import Limits
from handrail.shell.vcs import Vcs
from handrail.stores.sql.questions import SqlRecords
from handrail.stores.sql.runs import SqlRuns
from turns import Desk


@dataclass(frozen=True, slots=True)
class Markdown:
    """A persona or a guardrail."""

    name: str
    text: str
    origin: str = "built-in"
    about: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A workflow file."""

    name: str
    origin: str = "built-in"
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Hiding:
    """A file that hides another and is not trusted."""

    path: Path
    hides: Path


@dataclass(frozen=True, slots=True)
class Typed:
    """What stands on the shelf of a project."""

    agents: tuple[Markdown, ...] = ()
    rules: tuple[Markdown, ...] = ()
    files: tuple[File, ...] = ()
    pins: Mapping[str, Pinned | Hiding] = field(default_factory=dict)

    def personas(self) -> tuple[Markdown, ...]:
        return self.agents

    def persona(self, name: str) -> Markdown | None:
        wanted = "supervisor" if name == "default" else name
        return next((agent for agent in self.agents if agent.name == wanted), None)

    def guardrails(self) -> tuple[Markdown, ...]:
        return self.rules

    def workflows(self) -> tuple[File, ...]:
        return self.files

    def pinned(self, name: str) -> Pinned | Hiding | None:
        return self.pins.get(name)


def resources(
    desk: Desk,
    shelves: Mapping[str, Typed] | None = None,
    vcs: Vcs | None = None,
) -> Resources:
    """The resources over the store of this desk, for the projects of these shelves."""
    runs, known = desk.runs, shelves or {"/home/ann/paper": Typed()}
    assert isinstance(runs, SqlRuns)
    return Resources(
        SqlRecords(runs.database),
        lambda run: runs.touch(run, desk.clock.now()),
        known.__getitem__,
        tuple(known),
        Limits(),
        desk.clock,
        lambda _root: vcs or Vcs("none"),
    )
