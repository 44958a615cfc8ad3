"""Reading nodes strictly: each question about a node gives a value, or a default and a problem."""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping

from handrail.engine.problems import Place, Problem, error
from handrail.workflows.nodes import Items, Node, Scalar, Table

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


class Reader:
    """Collects every problem of a file while it is read; never raises for what an author can write."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def problem(self, code: str, place: Place, message: str, repair: str = "") -> None:
        """Note an error."""
        self.problems.append(error(code, place, message, repair))

    def fields(
        self, node: Node | None, known: Collection[str], what: str, required: Collection[str] = ()
    ) -> dict[str, Node]:
        """The entries of a table with a fixed set of keys; an unknown or missing key is a problem."""
        if not isinstance(node, Table):
            self._wrong(node, what, "a mapping")
            return {}
        found = {entry.key.text: entry.value for entry in node.entries}
        for entry in node.entries:
            if entry.key.text not in known:
                self.unknown("key", entry.key.text, entry.key.place, known, f"{what} has no key")
        for name in required:
            if name not in found:
                self.problem("missing-key", node.place, f"{what} needs the key `{name}`", f"add `{name}:`")
        return {name: value for name, value in found.items() if name in known}

    def named(self, node: Node | None, what: str) -> dict[str, tuple[Scalar, Node]]:
        """The entries of a table whose keys are names of the author's choosing."""
        if node is None:
            return {}
        if not isinstance(node, Table):
            self._wrong(node, what, "a mapping of names")
            return {}
        for entry in node.entries:
            self.name(entry.key, what)
        return {entry.key.text: (entry.key, entry.value) for entry in node.entries}

    def name(self, node: Scalar, what: str) -> None:
        """A name must be short and plain, so that it can stand in guards, paths and pages."""
        if not NAME.fullmatch(node.text):
            rule = "letters, digits, `_`, `-` and `.`, beginning with a letter, at most 64"
            self.problem("bad-name", node.place, f"`{node.text}` cannot be a name in {what}", f"use {rule}")

    def text(self, node: Node | None, what: str, default: str = "") -> str:
        """A text; numbers and truth values must be quoted to be texts."""
        if node is None:
            return default
        if isinstance(node, Scalar) and isinstance(node.value, str):
            return node.value
        self._wrong(node, what, "a text")
        return default

    def flag(self, node: Node | None, what: str) -> bool:
        """A truth value: `true` or `false`, nothing else."""
        if node is None:
            return False
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        self._wrong(node, what, "`true` or `false`")
        return False

    def number(self, node: Node | None, what: str, least: int, default: int) -> int:
        """A whole number, not below `least`."""
        if node is None:
            return default
        whole = isinstance(node, Scalar) and isinstance(node.value, int) and not isinstance(node.value, bool)
        if whole and isinstance(node, Scalar) and isinstance(node.value, int) and node.value >= least:
            return node.value
        self._wrong(node, what, f"a whole number from {least} on")
        return default

    def scalars(self, node: Node | None, what: str) -> list[Scalar]:
        """A list of texts, or one text standing for a list of one."""
        if node is None:
            return []
        items: Iterable[Node] = node.items if isinstance(node, Items) else (node,)
        found = []
        for item in items:
            if isinstance(item, Scalar) and isinstance(item.value, str):
                found.append(item)
            else:
                self._wrong(item, what, "a text")
        return found

    def texts(self, node: Node | None, what: str) -> tuple[str, ...]:
        """The values of such a list."""
        return tuple(str(scalar.value) for scalar in self.scalars(node, what))

    def items(self, node: Node | None, what: str) -> tuple[Node, ...]:
        """A list of anything."""
        if node is None:
            return ()
        if isinstance(node, Items):
            return node.items
        self._wrong(node, what, "a list")
        return ()

    def one_of(self, node: Node | None, choices: Mapping[str, object], what: str, default: str) -> str:
        """One of a few words."""
        word = self.text(node, what, default)
        if node is not None and word not in choices:
            self.unknown("value", word, node.place, choices, f"{what} cannot be")
            return default
        return word

    def unknown(self, kind: str, name: str, place: Place, known: Collection[str], message: str) -> None:
        """Note a name that is not known, with the nearest that is."""
        near = difflib.get_close_matches(name, known, 1, 0.6)
        few = ", ".join(sorted(known)) if 0 < len(known) <= 16 else ""
        repair = f"did you mean `{near[0]}`?" if near else few and f"known: {few}"
        self.problem(f"unknown-{kind}", place, f"{message} `{name}`", repair)

    def _wrong(self, node: Node | None, what: str, wanted: str) -> None:
        if node is not None:
            self.problem("wrong-type", node.place, f"{what} must be {wanted}, not {_described(node)}")


def as_scalar(node: Node | None) -> Scalar | None:
    """The node, if it is a text."""
    return node if isinstance(node, Scalar) and isinstance(node.value, str) else None


def scalar_in(node: Node, key: str) -> Scalar | None:
    """The text under a key of a table, if there is one."""
    return as_scalar(node.get(key)) if isinstance(node, Table) else None


def _described(node: Node) -> str:
    match node:
        case Items():
            return "a list"
        case Table():
            return "a mapping"
        case Scalar(None):
            return "nothing"
        case Scalar():
            return f"`{node.text}`" if len(node.text) <= 40 and "\n" not in node.text else "a long text"
