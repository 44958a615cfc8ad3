"""The projects that a server serves: their roots and names, their definitions, and runs limited to them.

`Projects` finds the project that a call means. `App.limit_to` uses `FilteredRuns` and `FilteredFeed`: faces,
tools and resources get only a limited app, and so need no access checks of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from msgspec.structs import replace

from handrail.app.definitions import Definitions, Persona
from handrail.app.trust import TrustStore
from handrail.engine.facts import Value
from handrail.engine.model import FactReading, Refused
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import Entry
from handrail.runtime.ports.queries import RunQueries, StepRow
from handrail.runtime.ports.turn import Feed, Runs
from handrail.runtime.records import (
    Definition,
    JournalEntry,
    RecordedCall,
    RunChange,
    StoredRun,
    Turn,
    project_name,
)
from handrail.stores.vcs.commands import NO_VCS, find_repository


def describe_overlap(root: Path, other: Path) -> str:
    """Describe why two projects cannot be separate; empty if they can.

    Access to a folder includes the folders inside it. A repository has one commit description, which is one
    plan.
    """
    if root == other:
        return "it is the same folder"
    if root.is_relative_to(other) or other.is_relative_to(root):
        return "one is inside the other"
    kind, repository = find_repository(root)
    return (
        "they are in one repository"
        if kind != NO_VCS and find_repository(other) == (kind, repository)
        else ""
    )


ProjectRoots: TypeAlias = Callable[[], Sequence[str]]
"""Returns the current roots of the visible projects."""

VisibleProjects: TypeAlias = frozenset[str] | None
"""The names of the projects that a caller may see; None for all."""


@dataclass(frozen=True, slots=True)
class FilteredRuns:
    """`Runs` limited to these projects. A run of another project is treated as if it did not exist."""

    runs: Runs
    roots: ProjectRoots

    def hold_lock(self, run: str, attempt: int) -> AbstractContextManager[None]:
        """Return the lock to hold during a turn."""
        return self.runs.hold_lock(run, attempt)

    def load(self, run: str) -> StoredRun | None:
        """Load a run; None if it is in another project."""
        stored = self.runs.load(run)
        return stored if stored and stored.origin.project in self.roots() else None

    def commit(self, turn: Turn) -> bool:
        """Save a turn. Raises `ValueError` for a run of another project, which no face can cause."""
        if turn.before.origin.project not in self.roots():
            raise ValueError("a turn of a project outside the fence")
        if turn.inherits and self.load(turn.inherits) is None:
            return False
        return self.runs.commit(turn)

    def find_recorded_call(self, run: str, revision: int) -> RecordedCall | None:
        """Find the recorded call of a turn; None for a run of another project."""
        return self.runs.find_recorded_call(run, revision) if self._is_visible(run) else None

    def renew_tokens(
        self, stored: StoredRun, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        """Replace the tokens of a run; False for a run of another project."""
        return self._is_visible(stored.run.id) and self.runs.renew_tokens(stored, tokens, at, entries)

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Write entries outside a turn. For a run of another project they are about no run."""
        self.runs.note(run if self._is_visible(run) else "", at, entries)

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[JournalEntry, ...]:
        """Read the journal of a run; empty for a run of another project."""
        return self.runs.entries(run, after, most) if self._is_visible(run) else ()

    def steps(self, run: str) -> tuple[StepRow, ...]:
        """List the steps of a run; none for a run of another project."""
        return self.runs.steps(run) if self._is_visible(run) else ()

    def definition(self, digest: str) -> Definition | None:
        """Return the definition of a digest. No check is needed: only visible runs reveal digests."""
        return self.runs.definition(digest)

    def touch(self, run: str, at: datetime) -> None:
        """Record that a run is still in use, unless it is in another project."""
        if self._is_visible(run):
            self.runs.touch(run, at)

    def _is_visible(self, run: str) -> bool:
        return bool(run) and self.load(run) is not None


@dataclass(frozen=True, slots=True)
class FilteredFeed:
    """`Feed` limited to the runs that `records` has."""

    feed: Feed
    records: RunQueries

    def announce(self, change: RunChange) -> None:
        """Announce a change to all listeners."""
        self.feed.announce(change)

    def listen(self, heard: Callable[[RunChange], None]) -> Callable[[], None]:
        """Call `heard` for every change of a visible run. Return the function that stops it."""

        def forward_visible(change: RunChange) -> None:
            if self.records.run(change.run) is not None:
                heard(change)

        return self.feed.listen(forward_visible)


DefinitionsLoader: TypeAlias = Callable[[str], Definitions]
"""Returns the definitions of a project root. `""` means no project."""

_PROJECT_RULE: Final = "project"


def make_definitions_loader(trusted: TrustStore) -> DefinitionsLoader:
    """Return a loader that creates the definitions of each root once per process."""
    return cache(lambda root: Definitions(Path(root or "/nonexistent"), trusted))


class Projects:
    """The project roots of a server; empty if it was started outside a project."""

    about = "project"
    """The key of the text that explains how a client names a project."""

    def __init__(self, roots: Sequence[Path], trusted: TrustStore) -> None:
        self._roots = tuple(roots)
        self.definitions = make_definitions_loader(trusted)

    @property
    def roots(self) -> tuple[Path, ...]:
        """The current folders of the projects."""
        return self._roots

    def label(self, root: str) -> str | None:
        """Return the public name of a project; None if clients may see its path."""
        del root
        return None

    def name_of(self, root: Path) -> str:
        """Return what a client writes for a project: its public name or its path."""
        label = self.label(str(root))
        return str(root) if label is None else label

    def display_name(self, root: str) -> str:
        """Return the name of a project for people: its public name or the name of its folder."""
        label = self.label(root)
        return project_name(root) if label is None else label

    def root_of(self, name: str) -> str:
        """Return the root of a project that a person names; the name itself if there is none."""
        return name

    def all_definitions(self) -> tuple[Definitions, ...]:
        """Return the definitions of all roots; without roots, only the user's and built-in ones."""
        return tuple(self.definitions(str(root)) for root in self.roots) or (self.definitions(""),)

    def signature(self) -> str:
        """Return a text that changes when the projects or their definitions change."""
        return "\n".join(found.signature() for found in self.all_definitions())

    def find_root(self, name: str) -> Path | Refused:
        """Find the root of this name; without a name, the only root."""
        roots = self.roots
        if not roots:
            return self._no_project_refusal()
        found = [root for root in roots if not name or self._matches_name(root, name)]
        if len(found) == 1:
            return found[0]
        return self._unknown_project_refusal(
            RefusalCode.UNKNOWN_PROJECT if name and not found else RefusalCode.WHICH_PROJECT, name
        )

    def find_exact_root(self, name: str) -> Path | Refused:
        """Find a root by its full path only. The disk is not read for this."""
        for root in self.roots:
            if name.startswith("/") and PurePosixPath(name) == PurePosixPath(root):
                return root
        return (
            self._unknown_project_refusal(RefusalCode.UNKNOWN_PROJECT, name)
            if self.roots
            else self._no_project_refusal()
        )

    def hide(self, text: str) -> str:
        """Return a text with the server's paths hidden from clients. Here nothing is hidden."""
        return text

    def hide_refusal(self, refused: Refused) -> Refused:
        """Return a refusal with the server's paths hidden from clients."""
        seen = tuple(
            FactReading(reading.fact, _map_text(reading.value, self.hide)) for reading in refused.seen
        )
        return replace(refused, seen=seen, needed=tuple(map(self.hide, refused.needed)))

    def persona(self, root: str, name: str) -> Persona | None:
        """Find a persona in a project; None if there is none. An unreadable one has a `problem`."""
        found = self.definitions(root).persona(name)
        return replace(found, text=self.hide(found.text)) if found and found.problem else found

    def _matches_name(self, root: Path, name: str) -> bool:
        return name in {str(root), root.name}

    def _no_project_refusal(self) -> Refused:
        needed = 'put "--project", "/path/of/the/project" behind "serve" in the client\'s configuration'
        return Refused(RefusalCode.NO_PROJECT, _PROJECT_RULE, (FactReading("projects", []),), (needed,))

    def _unknown_project_refusal(self, code: RefusalCode, name: str) -> Refused:
        known = ", ".join(map(self.name_of, self.roots))
        return Refused(code, _PROJECT_RULE, (FactReading(_PROJECT_RULE, name),), (f"one of {known}",))


class NamedProjects(Projects):
    """Projects that clients know by name only. `known` is called each time for the current ones.

    `folders` maps the server's own folders to what clients read instead.
    """

    about = "project_named"

    def __init__(
        self,
        known: Callable[[], Mapping[str, Path]],
        definitions: DefinitionsLoader,
        folders: Mapping[str, str],
    ) -> None:
        self.definitions, self._known, self._folders = definitions, known, folders

    @property
    def roots(self) -> tuple[Path, ...]:
        """The current folders of the projects."""
        return tuple(self._known().values())

    def label(self, root: str) -> str | None:
        """Return the name of a project; empty if it is not known."""
        return next((name for name, path in self._known().items() if str(path) == root), "")

    def root_of(self, name: str) -> str:
        """Return the root of this name; the name itself if there is none."""
        return str(self._known().get(name, name))

    def definitions_by_name(self) -> Mapping[str, Definitions]:
        """Return the definitions by project; without projects, those for every project, without a name."""
        found = {name: self.definitions(str(root)) for name, root in self._known().items()}
        return found or {"": self.definitions("")}

    def find_exact_root(self, name: str) -> Path | Refused:
        """Find the root of this name."""
        return (
            self.find_root(name) if name else self._unknown_project_refusal(RefusalCode.UNKNOWN_PROJECT, name)
        )

    def hide(self, text: str) -> str:
        """Replace the server's folders in a text by their public names."""
        known = {str(root): name for name, root in self._known().items()} | dict(self._folders)
        for path in sorted(known, key=len, reverse=True):
            text = text.replace(path, known[path])
        return text

    def _matches_name(self, root: Path, name: str) -> bool:
        return self.label(str(root)) == name

    def _no_project_refusal(self) -> Refused:
        needed = "a token for a project that is served: ask whoever runs the server"
        return Refused(RefusalCode.NO_PROJECT, _PROJECT_RULE, (FactReading("projects", []),), (needed,))


def _map_text(value: Value, change: Callable[[str], str]) -> Value:
    return change(value) if isinstance(value, str) else value
