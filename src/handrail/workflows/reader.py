"""Reading nodes strictly: each question about a node gives a value, or a default and a problem."""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from handrail.engine.problems import Place, Problem, error
from handrail.workflows.nodes import Items, Node, Scalar, Table

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
NO_IDENTIFIERS = frozenset(
    "as break const continue else false for function if import in let loop namespace null package return "
    "true var void while".split()
)
"""Words that guards cannot use as names."""

_LONGEST_GUESSED = 80
_MOST_GUESSES = 100
_MOST_LISTED = 16


class Reader:
    """Collects every problem of a file while it is read; never raises for what an author can write."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._doubtful: tuple[str, ...] = ()

    def problem(self, code: str, place: Place, message: str, repair: str = "") -> None:
        """Note an error."""
        self.problems.append(error(code, place, message, repair))

    @contextmanager
    def doubting(self, prefixes: Collection[str]) -> Iterator[None]:
        """While this lasts, no name with one of these prefixes is called unknown: a problem is why it is."""
        self._doubtful = tuple(prefixes)
        yield
        self._doubtful = ()

    def fields(
        self, node: Node, known: Collection[str], what: str, required: Collection[str] = ()
    ) -> dict[str, Node]:
        """The entries of a table with a fixed set of keys; an unknown or missing key is a problem."""
        if not isinstance(node, Table):
            self._wrong(node, what, "a mapping", "write `key: value`")
            return {}
        found = {entry.key.text: entry.value for entry in node.entries}
        for entry in node.entries:
            if entry.key.text not in known:
                self.unknown("key", entry.key.text, entry.key.place, known, f"{what} has no key")
        for name in required:
            if name not in found:
                self.problem("missing-key", node.place, f"{what} needs the key `{name}`", f"add `{name}:`")
        return {name: value for name, value in found.items() if name in known}

    def named(
        self, node: Node | None, what: str, rule: re.Pattern[str] = NAME
    ) -> dict[str, tuple[Scalar, Node]]:
        """The entries of a table whose keys are names of the author's choosing."""
        if node is None:
            return {}
        if not isinstance(node, Table):
            self._wrong(node, what, "a mapping of names", "write `name: …` for each, or drop the key")
            return {}
        for entry in node.entries:
            self.name(entry.key, what, rule)
        return {entry.key.text: (entry.key, entry.value) for entry in node.entries}

    def name(self, node: Scalar, what: str, rule: re.Pattern[str] = NAME) -> None:
        """A name must be short and plain, so that it can stand in guards, paths and pages."""
        if rule is IDENTIFIER and node.text in NO_IDENTIFIERS:
            message = f"`{node.text}` cannot be a name in {what}: guards give it another meaning"
            self.problem("bad-name", node.place, message, "choose another word")
        elif not rule.fullmatch(node.text):
            signs = "`_`" if rule is IDENTIFIER else "`_`, `-` and `.`"
            repair = f"use letters, digits, {signs}, beginning with a letter, at most 64"
            self.problem("bad-name", node.place, f"{quoted(node.text)} cannot be a name in {what}", repair)

    def text(self, node: Node | None, what: str, default: str = "") -> str:
        """A text; numbers and truth values must be quoted to be texts."""
        scalar = self.single(node, what)
        return scalar.text if scalar else default

    def single(self, node: Node | None, what: str) -> Scalar | None:
        """A text as the scalar it was written in; nothing if it is not there or is no text."""
        if isinstance(node, Scalar) and isinstance(node.value, str):
            return node
        if node is not None:
            bare = isinstance(node, Scalar) and node.value is not None
            self._wrong(node, what, "a text", "put it in quotes" if bare else "write one text")
        return None

    def flag(self, node: Node | None, what: str) -> bool:
        """A truth value: `true` or `false`, nothing else."""
        if node is None:
            return False
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        self._wrong(node, what, "`true` or `false`", "write one of the two, without quotes")
        return False

    def number(self, node: Node | None, what: str, least: int, default: int) -> int:
        """A whole number, not below `least`."""
        if node is None:
            return default
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        self._wrong(node, what, f"a whole number from {least} on", "write it without quotes")
        return default

    def scalars(self, node: Node | None, what: str) -> tuple[Scalar, ...]:
        """A list of texts, or one text standing for a list of one."""
        items: Iterable[Node | None] = node.items if isinstance(node, Items) else (node,)
        found = (self.single(item, what) for item in items)
        return tuple(scalar for scalar in found if scalar is not None)

    def texts(self, node: Node | None, what: str) -> tuple[str, ...]:
        """The values of such a list."""
        return tuple(scalar.text for scalar in self.scalars(node, what))

    def items(self, node: Node | None, what: str) -> tuple[Node, ...]:
        """A list of anything."""
        if node is None:
            return ()
        if isinstance(node, Items):
            return node.items
        self._wrong(node, what, "a list", "put `- ` before each item")
        return ()

    def one_of(self, node: Node | None, choices: Mapping[str, object], what: str, default: str) -> str:
        """One of a few words."""
        word = self.single(node, what)
        if word is None:
            return default
        if word.text not in choices:
            self.unknown("value", word.text, word.place, choices, f"{what} cannot be")
            return default
        return word.text

    def unknown(self, kind: str, name: str, place: Place, known: Collection[str], message: str) -> None:
        """Note a name that is not known, with the nearest that is."""
        if not (self._doubtful and name.startswith(self._doubtful)):
            repair = self._guess(name, known)
            self.problem(f"unknown-{kind}", place, f"{message} {quoted(name)}", repair)

    def _guess(self, name: str, known: Collection[str]) -> str:
        if len(self.problems) >= _MOST_GUESSES or len(name) > _LONGEST_GUESSED:
            return ""
        near = difflib.get_close_matches(name, known, 1, 0.6)
        if near:
            return f"did you mean `{near[0]}`?"
        if len(known) > _MOST_LISTED:
            return f"the nearest are {', '.join(difflib.get_close_matches(name, known, 5, 0.0))}"
        return f"known: {', '.join(sorted(known))}" if known else "none is declared"

    def _wrong(self, node: Node, what: str, wanted: str, repair: str) -> None:
        self.problem("wrong-type", node.place, f"{what} must be {wanted}, not {_described(node)}", repair)


def quoted(text: str) -> str:
    """A text of the author's as it stands in a message: cut if it is long."""
    return f"`{text[:60]}…`" if len(text) > 60 else f"`{text}`"


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
