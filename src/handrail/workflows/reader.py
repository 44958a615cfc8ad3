"""Reading nodes strictly: each question about a node gives a value, or a default and a problem."""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from msgspec.structs import replace

from handrail.engine.problems import Place, Problem, error
from handrail.workflows.nodes import Items, Node, Scalar, Table

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_WORD = "[A-Za-z][A-Za-z0-9_]{0,63}"
FIELD = re.compile(f"(?!(?:false|in|null|true)$){_WORD}")
"""A name that guards use behind a dot."""
ROOT = re.compile(
    "(?!(?:as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package"
    f"|return|true|var|void|while)$){_WORD}"
)
"""A name that guards use before a dot."""

_LONGEST_GUESSED = 80
_MOST_GUESSES = 100
_MOST_LISTED = 16


class Reader:
    """Collects every problem of a file while it is read; never raises for what an author can write."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._doubtful: tuple[str, ...] = ()
        self._lost: tuple[str, ...] = ()
        self._unclear: set[Place] = set()

    def problem(self, code: str, place: Place, message: str, repair: str = "") -> None:
        """Note an error."""
        self.problems.append(error(code, place, message, repair))

    @contextmanager
    def doubting(self, prefixes: Iterable[str]) -> Iterator[None]:
        """While this lasts, no name with one of these prefixes is called unknown: a problem is why it is."""
        self._doubtful = tuple(prefixes)
        yield
        self._doubtful = ()

    @contextmanager
    def reading(self, place: Place) -> Iterator[None]:
        """What is declared at this place is unclear if a problem is noted meanwhile."""
        before = len(self.problems)
        yield
        if len(self.problems) > before:
            self._unclear.add(place)

    def unclear(self, place: Place) -> bool:
        """True if what is declared there could not be read: nothing that follows from it is a problem."""
        return place in self._unclear

    def lose(self, lost: Iterable[str]) -> None:
        """From now on no name is called unknown that is of such a kind, or begins so: a problem is why."""
        self._lost += tuple(lost)

    def fields(
        self, node: Node, known: Collection[str], what: str, required: Collection[str] = ()
    ) -> dict[str, Node]:
        """The entries of a table with a fixed set of keys; an unknown or missing key is a problem.

        A key that is misspelt is read as the one it must be meant for, so that no other problem follows.
        """
        if not isinstance(node, Table):
            self._wrong(node, what, "a mapping", "write `key: value`")
            return {}
        found = {entry.key.text: entry.value for entry in node.entries}
        for entry in node.entries:
            if entry.key.text not in known:
                self.unknown("key", entry.key.text, entry.key.place, known, f"{what} has no key")
                meant = _meant(entry.key.text, [name for name in known if name not in found])
                found |= {meant: entry.value} if meant else {}
        missing = [f"`{name}`" for name in required if name not in found]
        if missing:
            keys = f"the key{'s' * (len(missing) > 1)} {' and '.join(missing)}"
            self.problem("missing-key", node.place, f"{what} needs {keys}", "add what is missing")
        return {name: value for name, value in found.items() if name in known}

    def named(
        self, node: Node | None, what: str, rule: re.Pattern[str] = NAME, lost: Iterable[str] = ()
    ) -> dict[str, tuple[Scalar, Node]]:
        """The entries of a table whose keys are names of the author's choosing.

        If it cannot be read, no name is called unknown that is of a kind, or begins, as `lost` says.
        """
        if node is None:
            return {}
        if not isinstance(node, Table):
            self._wrong(node, what, "a mapping of names", "write `name: …` for each, or drop the key")
            self.lose(lost)
            return {}
        for entry in node.entries:
            self.name(entry.key, what, rule)
        return {entry.key.text: (entry.key, entry.value) for entry in node.entries}

    def name(self, node: Scalar, what: str, rule: re.Pattern[str] = NAME) -> None:
        """A name must be short and plain, so that it can stand in guards, paths and pages."""
        if rule.fullmatch(node.text):
            return
        message = f"{quoted(node.text)} cannot be a name in {what}"
        if rule is not NAME and re.fullmatch(_WORD, node.text):
            self.problem("bad-name", node.place, f"{message}: it is a word of guards", "choose another word")
            return
        signs = "`_`, `-` and `.`" if rule is NAME else "`_`"
        repair = f"use letters, digits, {signs}, beginning with a letter, at most 64"
        self.problem("bad-name", node.place, message, repair)

    def text(self, node: Node | None, what: str, default: str = "") -> str:
        """A text; numbers and truth values must be quoted to be texts."""
        scalar = self.single(node, what)
        return scalar.text if scalar else default

    def single(self, node: Node | None, what: str) -> Scalar | None:
        """A text as the scalar it was written in; nothing if it is not there or is no text."""
        scalar = as_text(node)
        if scalar is None and node is not None:
            bare = isinstance(node, Scalar) and node.value is not None
            self._wrong(node, what, "a text", "put it in quotes" if bare else "write one text")
        return scalar

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
        if not self.follows(kind, name):
            self.problem(f"unknown-{kind}", place, f"{message} {quoted(name)}", self._guess(name, known))

    def follows(self, kind: str, name: str) -> bool:
        """True if it is no wonder that this name is not known: a problem noted already is why."""
        doubtful = (*self._doubtful, *self._lost)
        return bool(self.problems) and (kind in self._lost or name.startswith(doubtful))

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


def as_text(node: Node | None) -> Scalar | None:
    """The node, if it is a text."""
    return node if isinstance(node, Scalar) and isinstance(node.value, str) else None


def spot(scalar: Scalar, line: int, column: int, length: int) -> Place:
    """A stretch of a text in the file, or the whole text where the file does not hold it as it is."""
    if not scalar.exact:
        return scalar.place
    rows = scalar.text.rstrip("\n").split("\n")
    if line > len(rows):
        line, column = len(rows), len(rows[-1]) + 1
    return replace(scalar.at(line, column), length=length)


def unsafe(path: str) -> bool:
    """True if a path is not plainly one below a folder."""
    above = any(part.strip() in {"", ".", ".."} for part in path.split("/"))
    return above or "\\" in path or not path.isprintable()


def quoted(text: str) -> str:
    """A text of the author's as it stands in a message: cut if it is long."""
    return f"`{text[:60]}…`" if len(text) > 60 else f"`{text}`"


def _meant(name: str, known: Iterable[str]) -> str:
    """The one of these names that this is a slip of: almost the same, or the same letters."""
    for other in difflib.get_close_matches(name[:_LONGEST_GUESSED], list(known), 1, 0.7):
        if sorted(other) == sorted(name) or difflib.get_close_matches(name, [other], 1, 0.8):
            return other
    return ""


def _described(node: Node) -> str:
    if isinstance(node, Items):
        return "a list"
    if isinstance(node, Table):
        return "a mapping"
    if node.value is None:
        return "nothing"
    return f"`{node.text}`" if len(node.text) <= 40 and "\n" not in node.text else "a long text"
