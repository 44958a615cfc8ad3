"""The texts of a workflow: their placeholders found, and checked against what a row can fill in."""

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from handrail.engine.model import Text
from handrail.engine.problems import Place
from handrail.workflows.declared import DeclaredText
from handrail.workflows.nodes import Scalar
from handrail.workflows.reader import Reader, quoted, spot
from handrail.workflows.render import FILTERS, Misplaced, Placeholder, placeholders

NOW = "now"
"""The one name in templates and paths that is no fact: the time of the turn."""

ARCHIVED = "archived"
"""What a row that archives may name in what it says: the folder that it made, empty if there was no file."""


class _Found(Struct, frozen=True):
    placeholder: Placeholder
    place: Place


class Texts:
    """The texts of one file by name; `fill` is asked once for each row that says one."""

    def __init__(self, reader: Reader, declared: Mapping[str, DeclaredText]) -> None:
        self._reader = reader
        self._found = {name: tuple(self._placeholders(text)) for name, text in declared.items()}
        self._reported: set[tuple[str, str]] = set()
        self.texts = {name: self._text(text) for name, text in declared.items()}

    def named(self, node: Scalar | None, known: Collection[str], what: str) -> str:
        """The name of a text that is there and whose placeholders are all among the names known here."""
        return self._checked(node, [*known, NOW], what)

    def alone(self, node: Scalar | None, what: str) -> str:
        """The name of a text that is there and has no placeholder: it is said outside of any run."""
        return self._checked(node, (), what)

    def task(self, state: str, scalar: Scalar, known: Collection[str]) -> None:
        """Check the placeholders of what a step tells the agent."""
        what = f"`task` of `{state}`"
        declared = DeclaredText(what, what, scalar.place, {"text": (scalar.text, scalar)})
        self._found[what] = tuple(self._placeholders(declared))
        self._fill(what, [*known, NOW], what)

    def _checked(self, node: Scalar | None, known: Collection[str], what: str) -> str:
        if node is None:
            return ""
        if node.text not in self.texts:
            self._reader.unknown("text", node.text, node.place, self.texts, f"{what}: no text is called")
            return ""
        self._fill(node.text, known, what)
        return node.text

    def _fill(self, text: str, known: Collection[str], what: str) -> None:
        for found in self._found[text]:
            name = found.placeholder.name
            if name not in known and (text, name) not in self._reported:
                self._reported.add((text, name))
                where = what if text == what else f"text `{text}`, used by {what}"
                message = f"{where}: there is nothing to put in for"
                self._reader.unknown("placeholder", name, found.place, known, message)

    def _text(self, text: DeclaredText) -> Text:
        parts = {part: content for part, (content, _) in text.parts.items()}
        names = dict.fromkeys(found.placeholder.name for found in self._found[text.name])
        return Text(text.name, parts, tuple(names), text.place)

    def _placeholders(self, text: DeclaredText) -> Iterator[_Found]:
        for content, scalar in text.parts.values():
            for item in placeholders(content):
                place = _at(text, scalar, content, item)
                if not isinstance(item, Placeholder):
                    message = f"{text.what}: {quoted(item.text)} is no placeholder"
                    self._reader.problem(
                        "bad-placeholder", place, message, "write `{{name}}` or `{{name|filter}}`"
                    )
                elif item.filter not in FILTERS:
                    message = f"{text.what}: no filter is called"
                    known = [name for name in FILTERS if name]
                    self._reader.unknown("filter", item.filter, place, known, message)
                else:
                    yield _Found(item, place)


def _at(text: DeclaredText, scalar: Scalar | None, content: str, item: Placeholder | Misplaced) -> Place:
    before = content[: item.start]
    line, column = before.count("\n") + 1, item.start - (before.rfind("\n") + 1) + 1
    if scalar is None:
        return Place(text.place.file, line, column, item.length)
    return spot(scalar, line, column, item.length)
