"""YAML without surprises: from text to a tree of nodes that know their places, or to problems.

Only plain scalars are resolved, by one short table; tags, merge keys, directives and further documents
are refused. Columns count characters. A byte order mark at the start is no character of the text.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol, TypeAlias, cast

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

from handrail.engine.problems import Place, Problem, error, in_reading_order
from handrail.workflows.characters import split_lines, unfit_characters

Value: TypeAlias = bool | int | float | str | None

_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "true": True, "false": False}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+(?:[eE][+-]?[0-9]+)?)?")
_TAG = re.compile(r"![^\s,\[\]{}]*")
_LITERAL = re.compile(r"(?:[&!]\S*[ \t]+)*\|")
_HINTS = (
    ("alias", "put quotes around a text that begins with `*`"),
    ("tag", "put quotes around a text that begins with `!`; tags are not used here"),
    ("tab character", "indent with spaces"),
    ("mapping values", "put quotes around a value that contains `: `, or start a new line for the key"),
    ("quoted scalar", "close the quote, and write `\\\\` for a backslash in double quotes"),
    ("any token", "put quotes around the value"),
    ("", "mend the indentation, the quotes or the brackets here"),
)


class Limits(Struct, frozen=True):
    """The most a text may hold: bytes in UTF-8, levels, aliases, nodes with aliases as copies, problems."""

    size: int = 1 << 20
    depth: int = 32
    aliases: int = 64
    nodes: int = 100_000
    problems: int = 100


STANDARD = Limits()


class Scalar(Struct, frozen=True):
    """One value. `text` is what it says as a string, whatever `value` it was resolved to.

    `place` spans the node with its quotes. From `content` on the file holds the text itself, if `exact`.
    """

    value: Value
    place: Place
    text: str
    content: Place
    exact: bool = True

    def at(self, line: int, column: int) -> Place:
        """The place in the file of a position within the text, both from 1.

        The scalar's own place if the file does not hold the text as it is, or has no such position.
        """
        rows = self.text.removesuffix("\n").split("\n")
        if not self.exact or not 1 <= line <= len(rows) or not 1 <= column <= len(rows[line - 1]) + 1:
            return self.place
        return Place(self.place.file, self.content.line + line - 1, self.content.column + column - 1)


class Items(Struct, frozen=True):
    """A list of nodes."""

    items: tuple["Node", ...]
    place: Place


class Entry(Struct, frozen=True):
    """A key, whose value is always its text, and what stands under it."""

    key: Scalar
    value: "Node"


class Table(Struct, frozen=True):
    """Entries in the order written, each key once."""

    entries: tuple[Entry, ...]
    place: Place

    def get(self, name: str) -> "Node | None":
        """The node under this key, or None; takes time linear in the number of entries."""
        return next((entry.value for entry in self.entries if entry.key.text == name), None)


Node: TypeAlias = Scalar | Items | Table


class Document(Struct, frozen=True):
    """What a text holds and what is wrong with it, in reading order.

    `root` is not None if there are no problems; with problems it serves only to find more of them.
    """

    root: Node | None
    problems: tuple[Problem, ...]


def read(text: str, file: str, limits: Limits = STANDARD) -> Document:
    """The tree of a text and every problem in it, up to the limits. Total: no text makes it raise."""
    body = text.removeprefix("\ufeff")
    if len(body) > limits.size or len(body.encode("utf-8", "surrogatepass")) > limits.size:
        large = error("yaml-size", Place(file, 1, 1), f"the text exceeds {limits.size:,} bytes", "split it")
        return Document(None, (large,))
    lines = split_lines(body)
    if unfit := tuple(islice(unfit_characters(lines, file), limits.problems)):
        return Document(None, unfit)
    directives = _without_directives(lines, file)
    composer = _Composer(file, lines, limits)
    root = composer.compose()
    return Document(root, in_reading_order([*directives, *composer.problems])[: limits.problems])


def plain(node: Node) -> object:
    """The node as dict, list and scalars. Recursive, as `Limits.depth` bounds what `read` returns."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return {entry.key.text: plain(entry.value) for entry in node.entries}


def _without_directives(lines: list[str], file: str) -> list[Problem]:
    """Blanks, in place, and reports the directives on top: the parser takes long over many `%TAG`."""
    problems = []
    for number, line in enumerate(lines):
        if line.startswith("%"):
            place = Place(file, number + 1, 1, len(line.rstrip()))
            problems.append(error("yaml-directive", place, f"directive {_quoted(line)}", "remove it"))
            lines[number] = ""
        elif not _is_blank(line):
            break
    return problems


def _is_blank(line: str) -> bool:
    return line.lstrip(" \t")[:1] in {"", "#"}


def _quoted(text: str) -> str:
    return f"`{text[:60]}…`" if len(text) > 60 else f"`{text}`"


class _Event(Protocol):
    start_mark: yaml.Mark
    end_mark: yaml.Mark
    anchor: str | None
    tag: str | None
    value: str
    style: str
    explicit: bool


class _Open(Struct):
    """A collection not closed yet. In a table keys and values alternate; None is a node refused."""

    start: _Event
    table: bool
    before: int
    height: int = 1
    children: list[Node | None] = field(default_factory=list)


class _Composer:
    """Builds the tree from the parser's events, with a stack of its own. Use once."""

    def __init__(self, file: str, lines: Sequence[str], limits: Limits) -> None:
        self.problems: list[Problem] = []
        self._file, self._lines, self._limits = file, lines, limits
        self._root: Node | None = None
        self._done = self._lost = False
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Open | tuple[Node, int, int]] = {}
        self._nodes = self._aliases = 0

    def compose(self) -> Node | None:
        """The root, or None if it could not be read to its end; `problems` says why."""
        handlers: Mapping[type, Callable[[_Event], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.SequenceStartEvent: self._open,
            yaml.SequenceEndEvent: self._close,
            yaml.MappingStartEvent: self._open,
            yaml.MappingEndEvent: self._close,
            yaml.AliasEvent: self._alias,
            yaml.DocumentEndEvent: self._end,
        }
        events = yaml.parse("\n".join(self._lines), Loader=yaml.CSafeLoader)
        try:
            for event in cast("Iterator[_Event]", events):
                if type(event) in handlers:
                    handlers[type(event)](event)
                if self._done:
                    break
        except yaml.MarkedYAMLError as refusal:
            self._syntax(refusal)
        for opened in self._stack:
            self._entries(opened.children if opened.table else [])
        if self._root is None and not self.problems:
            self._report("yaml-empty", Place(self._file, 1, 1), "the text is empty", "write a table")
        return None if self._lost else self._root

    def _scalar(self, event: _Event) -> None:
        place, text, as_key = self._enter(event), event.value, self._awaits_key()
        value: Value = text
        if "\0" in text:
            self._report("yaml-character", place, "this text holds the character U+0000", "leave it out")
        if not event.style:
            if as_key and text == "<<":
                self._report("yaml-merge", place, "`<<` would merge tables", "write the entries out")
                self._attach(None)
                return
            if not text and not self._stack:
                return
            value = text if as_key else self._resolved(text, place)
        node = Scalar(value, place, text, *self._content(event, place))
        if event.anchor is not None:
            self._anchors[event.anchor] = (node, 1, 0)
        self._attach(node)

    def _open(self, event: _Event) -> None:
        self._check_depth(1, self._enter(event))
        self._stack.append(_Open(event, isinstance(event, yaml.MappingStartEvent), self._nodes - 1))
        if event.anchor is not None:
            self._anchors[event.anchor] = self._stack[-1]

    def _close(self, event: _Event) -> None:
        opened = self._stack.pop()
        place, anchor = self._span(opened.start.start_mark, event.end_mark), opened.start.anchor
        node: Node = Items(tuple(filter(None, opened.children)), place)
        if opened.table:
            node = Table(self._entries(opened.children), place)
        if anchor is not None and self._anchors[anchor] is opened:
            self._anchors[anchor] = (node, self._nodes - opened.before, opened.height)
        self._attach(node, opened.height)

    def _alias(self, event: _Event) -> None:
        place = self._span(event.start_mark, event.end_mark)
        self._aliases += 1
        if self._aliases > self._limits.aliases:
            self._stop("yaml-aliases", place, f"alias number {self._aliases}", "write some values out")
        found = self._anchors.get(event.anchor or "")
        if self._awaits_key():
            self._report("yaml-key", place, "a key is an alias", "write the key itself")
            self._attach(None)
        elif isinstance(found, tuple):
            node, weight, height = found
            self._count(weight, place)
            self._check_depth(height, place)
            self._attach(node, height)
        else:
            message = f"{_quoted(f'*{event.anchor}')} {'is in its own anchor' if found else 'has no anchor'}"
            self._report("yaml-alias", place, message, "put quotes around a text, or name an anchor above")
            self._lost = True
            self._attach(None)

    def _end(self, event: _Event) -> None:
        """Looks for more documents itself: the parser would take long over many directives there."""
        if event.end_mark.column and not event.explicit:
            return
        for number, line in enumerate(self._lines[event.end_mark.line :], event.end_mark.line + 1):
            if _is_blank(line.removeprefix("...")):
                continue
            if event.explicit or line.startswith(("---", "%")):
                place = Place(self._file, number, 1, len(line.rstrip()))
                self._report("yaml-documents", place, "a second document begins here", "keep one per file")
                self._done = True
            return

    def _entries(self, children: list[Node | None]) -> tuple[Entry, ...]:
        seen: dict[str, Entry] = {}
        for key, value in zip(children[::2], children[1::2], strict=False):
            if isinstance(key, Items | Table):
                self._report("yaml-key", key.place, "a key is a list or a table", "make the key a plain text")
            elif key is not None and key.text in seen:
                message = f"{_quoted(key.text)} is a key already, at line {seen[key.text].key.place.line}"
                self._report("duplicate-key", key.place, message, "remove or rename one of the two")
            elif key is not None and value is not None:
                seen[key.text] = Entry(key, value)
        return tuple(seen.values())

    def _attach(self, node: Node | None, height: int = 0) -> None:
        if self._stack:
            parent = self._stack[-1]
            parent.children.append(node)
            parent.height = max(parent.height, height + 1)
        else:
            self._root = node

    def _awaits_key(self) -> bool:
        return bool(self._stack) and self._stack[-1].table and len(self._stack[-1].children) % 2 == 0

    def _resolved(self, text: str, place: Place) -> Value:
        found = _NUMBER.fullmatch(text)
        if not found:
            return _WORDS.get(text, text)
        number = float(text) if found[1] or len(text) > 20 else int(text)
        if math.isinf(number) or not (found[1] or -(2**63) <= number < 2**63):
            message = f"the number {_quoted(text)} does not fit in 64 bits"
            self._report("yaml-number", place, message, "use a smaller one, or put it in quotes")
        return number

    def _content(self, event: _Event, place: Place) -> tuple[Place, bool]:
        """Where the text of a scalar begins, and whether it stands there as it is."""
        start, end, text, style = event.start_mark, event.end_mark, event.value, event.style
        if style == "|":
            return self._literal(event, place)
        if style == ">" or start.line != end.line:
            return place, False
        if not style and event.anchor is None and event.tag is None:
            return place, True
        column = end.column - len(text) - len(style)
        opening = self._lines[start.line][column - len(style) : column]
        if style and (style in text or opening != style):
            return place, False
        return Place(self._file, place.line, column + 1, len(text)), True

    def _literal(self, event: _Event, place: Place) -> tuple[Place, bool]:
        rows = event.value.split("\n")
        if _LITERAL.match(self._lines[place.line - 1], place.column - 1):
            for number, row in enumerate(rows, place.line):
                if row:
                    indent = len(self._lines[number]) - len(row)
                    return Place(self._file, place.line + 1, indent + 1, len(rows[0])), True
        return place, False

    def _span(self, start: yaml.Mark, end: yaml.Mark) -> Place:
        line, column, lines = start.line, start.column, self._lines
        if line >= len(lines):
            return Place(self._file, len(lines), len(lines[-1]) + 1, 0)
        stop = end.column if end.line == line else len(lines[line].rstrip(" \t"))
        return Place(self._file, line + 1, column + 1, stop - column)

    def _count(self, weight: int, place: Place) -> None:
        self._nodes += weight
        if self._nodes > self._limits.nodes:
            message = f"more than {self._limits.nodes:,} values, each alias counted as a copy"
            self._stop("yaml-aliases" if self._aliases else "yaml-size", place, message, "split the file")

    def _check_depth(self, height: int, place: Place) -> None:
        if len(self._stack) + height > self._limits.depth:
            self._stop("yaml-depth", place, f"more than {self._limits.depth} levels nest here", "nest less")

    def _enter(self, event: _Event) -> Place:
        """The place of a node that begins here, counted, and refused its tag."""
        place = self._span(event.start_mark, event.end_mark)
        self._count(1, place)
        if event.tag is not None:
            found = _TAG.search(self._lines[place.line - 1], place.column - 1)
            tag, column = (found[0], found.start() + 1) if found else (event.tag, place.column)
            where = Place(self._file, place.line, column, len(tag))
            self._report("yaml-tag", where, f"the tag {_quoted(tag)} stands here", "remove the tag")
        return place

    def _syntax(self, refusal: yaml.MarkedYAMLError) -> None:
        mark, begun = refusal.problem_mark, refusal.context_mark
        place = replace(self._span(mark, mark), length=1) if mark else Place(self._file, 1, 1)
        words = re.sub("flow |block |[<>]", "", f"{refusal.problem} {refusal.context or ''}").rstrip()
        if self._lines[place.line - 1][place.column - 1 :].startswith("\t"):
            words = "found a tab character where only spaces can indent"
        hint = next(repair for fragment, repair in _HINTS if fragment in words)
        if begun and begun.line + 1 < place.line:
            words += f" begun at line {begun.line + 1}"
        self._stop("yaml-tag" if "tag" in words else "yaml-syntax", place, words, hint)

    def _stop(self, code: str, place: Place, message: str, repair: str) -> None:
        self._report(code, place, message, repair)
        self._done = self._lost = True

    def _report(self, code: str, place: Place, message: str, repair: str) -> None:
        self.problems.append(error(code, place, message, repair))
