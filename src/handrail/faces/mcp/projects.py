"""The projects of a server: where runs are started, and whose personas and guardrails guide them.

Whoever starts a server for themselves names a project by its path, or by its folder. Over HTTP a project has
a name, and a path is nothing that a client knows, or is told.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from msgspec.structs import replace

from handrail.engine.facts import Value
from handrail.engine.model import Refused, Seen
from handrail.faces.mcp.message import Guide, Guides
from handrail.faces.mcp.texts import Texts
from handrail.shell.shelf import Persona, Shelf
from handrail.shell.trust import Trusted

ShelfOf: TypeAlias = Callable[[str], Shelf]
"""The definitions as seen from a root; of a run without one, from nowhere, `""`."""

_RULE: Final = "project"


def shelves(trusted: Trusted) -> ShelfOf:
    """The shelves of a process: each is made once."""
    return cache(lambda root: Shelf(Path(root or "/nonexistent"), trusted))


class Projects:
    """The roots a server was started with; empty if the only one it could take is no project at all."""

    about = "project"
    """The name of the text that says what a client writes for a project."""

    def __init__(self, roots: Sequence[Path], trusted: Trusted) -> None:
        self._roots = tuple(roots)
        self.shelf = shelves(trusted)

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders of the projects, as they are now."""
        return self._roots

    def label(self, root: str) -> str | None:
        """The name that a project was given, where it has one, and its path is not to be told."""
        del root
        return None

    def called(self, root: Path) -> str:
        """What a client writes for a project."""
        label = self.label(str(root))
        return str(root) if label is None else label

    def shelves(self) -> tuple[Shelf, ...]:
        """Those of all roots; without any, the one that has only what is the person's own and built in."""
        return tuple(self.shelf(str(root)) for root in self.roots) or (self.shelf(""),)

    def signature(self) -> str:
        """Another text whenever a definition of these projects has changed, or they are others."""
        return "\n".join(shelf.signature() for shelf in self.shelves())

    def named(self, name: str) -> Path | Refused:
        """The root that is called so; without a name, the only one."""
        roots = self.roots
        if not roots:
            return self._none()
        found = [root for root in roots if not name or self._is_called(root, name)]
        if len(found) == 1:
            return found[0]
        return self._unknown("unknown_project" if name and not found else "which_project", name)

    def exactly(self, name: str) -> Path | Refused:
        """The root that is meant, by its whole path only, and nothing is looked up on the disk for that."""
        for root in self.roots:
            if name.startswith("/") and PurePosixPath(name) == PurePosixPath(root):
                return root
        return self._unknown("unknown_project", name) if self.roots else self._none()

    def hide(self, text: str) -> str:
        """A text about the server's own files, as its clients may read it."""
        return text

    def hidden(self, refused: Refused) -> Refused:
        """A refusal that tells of the server's own files, as its clients may read it."""
        seen = tuple(Seen(one.fact, _each(one.value, self.hide)) for one in refused.seen)
        return replace(refused, seen=seen, needed=tuple(map(self.hide, refused.needed)))

    def guides(self, texts: Texts, boundary: str, root: str) -> Guides:
        """What guides an agent in a run of this project."""
        shelf = self.shelf(root)

        def guardrails(workflow: str, step: str) -> Sequence[Guide]:
            return [one for one in shelf.guardrails() if one.told_in(workflow, step)]

        return Guides(texts, boundary, partial(self.persona, root), guardrails, self.hide)

    def persona(self, root: str, name: str) -> Persona | None:
        """The persona of this name as seen from a project; one that cannot be read says so."""
        found = self.shelf(root).persona(name)
        return replace(found, text=self.hide(found.text)) if found and found.problem else found

    def _is_called(self, root: Path, name: str) -> bool:
        return name in {str(root), root.name}

    def _none(self) -> Refused:
        needed = 'put "--project", "/path/of/the/project" behind "serve" in the client\'s configuration'
        return Refused("no_project", _RULE, (Seen("projects", []),), (needed,))

    def _unknown(self, code: str, name: str) -> Refused:
        known = ", ".join(map(self.called, self.roots))
        return Refused(code, _RULE, (Seen(_RULE, name),), (f"one of {known}",))


class NamedProjects(Projects):
    """Projects by their names only; which there are is asked anew each time.

    `folders` are those of the server, and what a client reads in their place.
    """

    about = "project_named"

    def __init__(
        self, known: Callable[[], Mapping[str, Path]], shelf_of: ShelfOf, folders: Mapping[str, str]
    ) -> None:
        self.shelf, self._known, self._folders = shelf_of, known, folders

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders of the projects, as they are now."""
        return tuple(self._known().values())

    def label(self, root: str) -> str | None:
        """The name of a project."""
        return next((name for name, one in self._known().items() if str(one) == root), "")

    def exactly(self, name: str) -> Path | Refused:
        """The root that is called so."""
        return self.named(name) if name else self._unknown("unknown_project", name)

    def hide(self, text: str) -> str:
        """The text with names in the place of the folders that it tells of."""
        known = {str(root): name for name, root in self._known().items()} | dict(self._folders)
        for path in sorted(known, key=len, reverse=True):
            text = text.replace(path, known[path])
        return text

    def _is_called(self, root: Path, name: str) -> bool:
        return self.label(str(root)) == name

    def _none(self) -> Refused:
        needed = "a token for a project that is served: ask whoever runs the server"
        return Refused("no_project", _RULE, (Seen("projects", []),), (needed,))


def _each(value: Value, change: Callable[[str], str]) -> Value:
    return change(value) if isinstance(value, str) else value
