"""The projects of a server: where runs are started, and whose personas and guardrails guide them."""

from collections.abc import Sequence
from pathlib import Path

from handrail.engine.model import Refused, Seen
from handrail.faces.mcp.message import Guide, Guides
from handrail.faces.mcp.texts import Texts
from handrail.shell.shelf import Shelf
from handrail.shell.trust import Trusted


class Projects:
    """The roots a server was started with; empty if the only one it could take is no project at all."""

    def __init__(self, roots: Sequence[Path], trusted: Trusted) -> None:
        self.roots = tuple(roots)
        self._trusted = trusted
        self._shelves: dict[str, Shelf] = {}

    def shelf(self, root: str) -> Shelf:
        """The definitions as seen from a project; of a run without one, from nowhere."""
        if root not in self._shelves:
            self._shelves[root] = Shelf(Path(root or "/nonexistent"), self._trusted)
        return self._shelves[root]

    def shelves(self) -> tuple[Shelf, ...]:
        """Those of all roots; without any, the one that has only what is the person's own and built in."""
        return tuple(self.shelf(str(root)) for root in self.roots) or (self.shelf(""),)

    def signature(self) -> str:
        """Another text whenever a definition of these projects has changed."""
        return "\n".join(shelf.signature() for shelf in self.shelves())

    def named(self, name: str) -> Path | Refused:
        """The root that is called so, by path or by the name of its folder; without a name, the only one."""
        if not self.roots:
            needed = 'put "--project", "/path/of/the/project" behind "serve" in the client\'s configuration'
            return Refused("no_project", "project", (Seen("projects", []),), (needed,))
        found = [root for root in self.roots if name in {"", str(root), root.name}]
        if len(found) == 1:
            return found[0]
        code = "unknown_project" if name and not found else "which_project"
        known = ", ".join(map(str, self.roots))
        return Refused(code, "project", (Seen("project", name),), (f"one of {known}",))

    def guides(self, texts: Texts, boundary: str, root: str) -> Guides:
        """What guides an agent in a run of this project."""
        shelf = self.shelf(root)

        def guardrails(workflow: str, step: str) -> Sequence[Guide]:
            return [one for one in shelf.guardrails() if one.told_in(workflow, step)]

        return Guides(texts, boundary, shelf.persona, guardrails)
