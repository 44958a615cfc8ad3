"""Read YAML strictly into nodes that know their places, and read typed values from those nodes.

`read_yaml` returns the tree or problems. Only plain scalars are resolved, by one short table; tags, merge
keys, directives and further documents are refused. Columns count characters; a byte order mark at the start
does not count. `NodeReader` reads fields from the tree and collects every problem.
"""

import difflib
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Protocol, TypeAlias, cast

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

from handrail.documents.text import split_lines
from handrail.engine.problems import Place, Problem, build_error, sort_problems

_UNFIT_CHARACTER = re.compile(
    r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)

# Python's `surrogateescape` adds this to a byte that could not be decoded.
_SURROGATE_ESCAPE = 0xDC00


def list_character_problems(lines: Sequence[str], file: str) -> Iterator[Problem]:
    """Yield a problem for each character that a text may not contain, and each byte that is not UTF-8."""
    for number, line in enumerate(lines, 1):
        for match in _UNFIT_CHARACTER.finditer(line):
            place, byte = Place(file, number, match.start() + 1), ord(match[0]) - _SURROGATE_ESCAPE
            if 0x80 <= byte <= 0xFF:
                message = f"the byte 0x{byte:02X} is not UTF-8"
                yield build_error("yaml-character", place, message, "save the file as UTF-8")
            else:
                message = f"the character U+{ord(match[0]):04X} cannot stand in a text"
                yield build_error("yaml-character", place, message, "remove it")


ScalarValue: TypeAlias = bool | int | float | str | None
_SCALAR_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "true": True, "false": False}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+(?:[eE][+-]?[0-9]+)?)?")
_TAG = re.compile(r"![^\s,\[\]{}]*")
_LITERAL_STYLE = re.compile(r"(?:[&!]\S*[ \t]+)*\|")

_SYNTAX_HINTS = (
    ("alias", "put quotes around a text that begins with `*`"),
    ("tag", "put quotes around a text that begins with `!`; tags are not used here"),
    ("tab character", "indent with spaces"),
    ("mapping values", "put quotes around a value that contains `: `, or start a new line for the key"),
    ("quoted scalar", "close the quote, and write `\\\\` for a backslash in double quotes"),
    ("any token", "put quotes around the value"),
    ("", "mend the indentation, the quotes or the brackets here"),
)


class YamlLimits(Struct, frozen=True):
    """The most a text may hold: bytes in UTF-8, levels, aliases, nodes (aliases as copies), problems."""

    size: int = 1 << 20
    depth: int = 32
    aliases: int = 64
    nodes: int = 100_000
    problems: int = 100


DEFAULT_LIMITS = YamlLimits()


class Scalar(Struct, frozen=True):
    """One value. `text` is its text as a string, whatever `value` it was resolved to.

    `place` covers the node with its quotes. If `exact`, the file holds the text itself from `content` on.
    """

    value: ScalarValue
    place: Place
    text: str
    content: Place
    exact: bool = True

    def place_at(self, line: int, column: int) -> Place:
        """Return the place in the file of a position within the text; line and column count from 1.

        This is the scalar's own place if the file does not hold the text unchanged, or has no such position.
        """
        rows = self.text.removesuffix("\n").split("\n")
        if not self.exact or not 1 <= line <= len(rows) or not 1 <= column <= len(rows[line - 1]) + 1:
            return self.place
        return Place(self.place.file, self.content.line + line - 1, self.content.column + column - 1)


class NodeList(Struct, frozen=True):
    """A list of nodes."""

    items: tuple["Node", ...]
    place: Place


class TableEntry(Struct, frozen=True):
    """A key, whose value is always its text, and the node under it."""

    key: Scalar
    value: "Node"


class Table(Struct, frozen=True):
    """Entries in the order written, each key once."""

    entries: tuple[TableEntry, ...]
    place: Place

    def get(self, name: str) -> "Node | None":
        """Return the node under this key, or None; takes time linear in the number of entries."""
        return next((entry.value for entry in self.entries if entry.key.text == name), None)


Node: TypeAlias = Scalar | NodeList | Table


class YamlDocument(Struct, frozen=True):
    """The tree of a text and its problems, in order. With problems, the root serves only to find more."""

    root: Node | None
    problems: tuple[Problem, ...]


def read_yaml(text: str, file: str, limits: YamlLimits = DEFAULT_LIMITS) -> YamlDocument:
    """Return the tree of a text and every problem in it, up to the limits. No text makes it raise."""
    body = text.removeprefix("\ufeff")
    if len(body) > limits.size or len(body.encode("utf-8", "surrogatepass")) > limits.size:
        message = f"the text exceeds {limits.size:,} bytes"
        return YamlDocument(None, (build_error("yaml-size", Place(file, 1, 1), message, "split it"),))
    lines = split_lines(body)
    if unfit := tuple(islice(list_character_problems(lines, file), limits.problems)):
        return YamlDocument(None, unfit)
    directives = _blank_directives(lines, file)
    composer = _Composer(file, lines, limits)
    root = composer.compose()
    return YamlDocument(root, sort_problems([*directives, *composer.problems])[: limits.problems])


def to_plain(node: Node) -> object:
    """Return the node as dict, list and scalars. Recursive: `Limits.depth` bounds the tree."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, NodeList):
        return [to_plain(item) for item in node.items]
    return {entry.key.text: to_plain(entry.value) for entry in node.entries}


def _blank_directives(lines: list[str], file: str) -> list[Problem]:
    """Blank the directives at the top, in place, and report them: the parser is slow on many `%TAG` lines."""
    problems = []
    for number, line in enumerate(lines):
        if line.startswith("%"):
            place = Place(file, number + 1, 1, len(line.rstrip()))
            message = f"directive {quote_excerpt(line)}"
            problems.append(build_error("yaml-directive", place, message, "remove it"))
            lines[number] = ""
        elif not _is_blank(line):
            break
    return problems


def _is_blank(line: str) -> bool:
    return line.lstrip(" \t")[:1] in {"", "#"}


class _Event(Protocol):
    start_mark: yaml.Mark
    end_mark: yaml.Mark
    anchor: str | None
    tag: str | None
    value: str
    style: str
    explicit: bool


class _OpenCollection(Struct):
    """A collection that is not closed yet. In a table keys and values alternate; None is a refused node."""

    start: _Event
    table: bool
    before: int
    height: int = 1
    children: list[Node | None] = field(default_factory=list)


class _Composer:
    """Builds the tree from the parser's events, with a stack of its own. Use once."""

    def __init__(self, file: str, lines: Sequence[str], limits: YamlLimits) -> None:
        self.problems: list[Problem] = []
        self._file, self._lines, self._limits = file, lines, limits
        self._root: Node | None = None
        self._done = self._incomplete = False
        self._stack: list[_OpenCollection] = []
        self._anchors: dict[str, _OpenCollection | tuple[Node, int, int]] = {}
        self._nodes = self._aliases = 0

    def compose(self) -> Node | None:
        """Return the root, or None if it could not be read to its end; `problems` says why."""
        handlers: Mapping[type, Callable[[_Event], None]] = {
            yaml.ScalarEvent: self._on_scalar,
            yaml.SequenceStartEvent: self._on_collection_start,
            yaml.SequenceEndEvent: self._on_collection_end,
            yaml.MappingStartEvent: self._on_collection_start,
            yaml.MappingEndEvent: self._on_collection_end,
            yaml.AliasEvent: self._on_alias,
            yaml.DocumentEndEvent: self._on_document_end,
        }
        events = yaml.parse("\n".join(self._lines), Loader=yaml.CSafeLoader)
        try:
            for event in cast("Iterator[_Event]", events):
                if type(event) in handlers:
                    handlers[type(event)](event)
                if self._done:
                    break
        except yaml.MarkedYAMLError as refusal:
            self._report_syntax_error(refusal)
        for opened in self._stack:
            self._build_entries(opened.children if opened.table else [])
        if self._root is None and not self.problems:
            self._report("yaml-empty", Place(self._file, 1, 1), "the text is empty", "write a table")
        return None if self._incomplete else self._root

    def _on_scalar(self, event: _Event) -> None:
        place, text, as_key = self._enter(event), event.value, self._awaits_key()
        value: ScalarValue = text
        if "\0" in text:
            self._report("yaml-character", place, "this text holds the character U+0000", "leave it out")
        if not event.style:
            if as_key and text == "<<":
                self._report("yaml-merge", place, "`<<` would merge tables", "write the entries out")
                self._attach(None)
                return
            if not text and not self._stack:
                return
            value = text if as_key else self._resolve_scalar(text, place)
        node = Scalar(value, place, text, *self._locate_content(event, place))
        if event.anchor is not None:
            self._anchors[event.anchor] = (node, 1, 0)
        self._attach(node)

    def _on_collection_start(self, event: _Event) -> None:
        self._check_depth(1, self._enter(event))
        self._stack.append(_OpenCollection(event, isinstance(event, yaml.MappingStartEvent), self._nodes - 1))
        if event.anchor is not None:
            self._anchors[event.anchor] = self._stack[-1]

    def _on_collection_end(self, event: _Event) -> None:
        opened = self._stack.pop()
        place, anchor = self._make_place(opened.start.start_mark, event.end_mark), opened.start.anchor
        node: Node = NodeList(tuple(filter(None, opened.children)), place)
        if opened.table:
            node = Table(self._build_entries(opened.children), place)
        if anchor is not None and self._anchors[anchor] is opened:
            self._anchors[anchor] = (node, self._nodes - opened.before, opened.height)
        self._attach(node, opened.height)

    def _on_alias(self, event: _Event) -> None:
        place = self._make_place(event.start_mark, event.end_mark)
        self._aliases += 1
        if self._aliases > self._limits.aliases:
            self._stop("yaml-aliases", place, f"alias number {self._aliases}", "write some values out")
        anchored = self._anchors.get(event.anchor or "")
        if self._awaits_key():
            self._report("yaml-key", place, "a key is an alias", "write the key itself")
            self._attach(None)
        elif isinstance(anchored, tuple):
            node, weight, height = anchored
            self._count(weight, place)
            self._check_depth(height, place)
            self._attach(node, height)
        else:
            flaw = "is in its own anchor" if anchored else "has no anchor"
            message = f"{quote_excerpt(f'*{event.anchor}')} {flaw}"
            self._report("yaml-alias", place, message, "put quotes around a text, or name an anchor above")
            self._incomplete = True
            self._attach(None)

    def _on_document_end(self, event: _Event) -> None:
        """Look for more documents here: the parser would be slow on many directives there."""
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

    def _build_entries(self, children: list[Node | None]) -> tuple[TableEntry, ...]:
        seen: dict[str, TableEntry] = {}
        for key, value in zip(children[::2], children[1::2], strict=False):
            if isinstance(key, NodeList | Table):
                self._report("yaml-key", key.place, "a key is a list or a table", "make the key a plain text")
            elif key is not None and key.text in seen:
                line = seen[key.text].key.place.line
                message = f"{quote_excerpt(key.text)} is a key already, at line {line}"
                self._report("duplicate-key", key.place, message, "remove or rename one of the two")
            elif key is not None and value is not None:
                seen[key.text] = TableEntry(key, value)
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

    def _resolve_scalar(self, text: str, place: Place) -> ScalarValue:
        match = _NUMBER.fullmatch(text)
        if not match:
            return _SCALAR_WORDS.get(text, text)
        number = float(text) if match[1] or len(text) > 20 else int(text)
        if math.isinf(number) or not (match[1] or -(2**63) <= number < 2**63):
            message = f"the number {quote_excerpt(text)} does not fit in 64 bits"
            self._report("yaml-number", place, message, "use a smaller one, or put it in quotes")
        return number

    def _locate_content(self, event: _Event, place: Place) -> tuple[Place, bool]:
        """Return where the text of a scalar begins, and whether the file holds it there unchanged."""
        start, end, text, style = event.start_mark, event.end_mark, event.value, event.style
        if style == "|":
            rows = text.split("\n")
            if _LITERAL_STYLE.match(self._lines[place.line - 1], place.column - 1):
                for number, row in enumerate(rows, place.line):
                    if row:
                        indent = len(self._lines[number]) - len(row)
                        return Place(self._file, place.line + 1, indent + 1, len(rows[0])), True
            return place, False
        if style == ">" or start.line != end.line:
            return place, False
        if not style and event.anchor is None and event.tag is None:
            return place, True
        column = end.column - len(text) - len(style)
        opening = self._lines[start.line][column - len(style) : column]
        if style and (style in text or opening != style):
            return place, False
        return Place(self._file, place.line, column + 1, len(text)), True

    def _make_place(self, start: yaml.Mark, end: yaml.Mark) -> Place:
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
        """Count a node that begins here, report its tag if it has one, and return its place."""
        place = self._make_place(event.start_mark, event.end_mark)
        self._count(1, place)
        if event.tag is not None:
            match = _TAG.search(self._lines[place.line - 1], place.column - 1)
            tag, column = (match[0], match.start() + 1) if match else (event.tag, place.column)
            where = Place(self._file, place.line, column, len(tag))
            self._report("yaml-tag", where, f"the tag {quote_excerpt(tag)} stands here", "remove the tag")
        return place

    def _report_syntax_error(self, refusal: yaml.MarkedYAMLError) -> None:
        mark, begun = refusal.problem_mark, refusal.context_mark
        place = replace(self._make_place(mark, mark), length=1) if mark else Place(self._file, 1, 1)
        words = re.sub("flow |block |[<>]", "", f"{refusal.problem} {refusal.context or ''}").rstrip()
        if self._lines[place.line - 1][place.column - 1 :].startswith("\t"):
            words = "found a tab character where only spaces can indent"
        hint = next(repair for fragment, repair in _SYNTAX_HINTS if fragment in words)
        if begun and begun.line + 1 < place.line:
            words += f" begun at line {begun.line + 1}"
        self._stop("yaml-tag" if "tag" in words else "yaml-syntax", place, words, hint)

    def _stop(self, code: str, place: Place, message: str, repair: str) -> None:
        self._report(code, place, message, repair)
        self._done = self._incomplete = True

    def _report(self, code: str, place: Place, message: str, repair: str) -> None:
        self.problems.append(build_error(code, place, message, repair))


NAME_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_WORD_PATTERN = "[A-Za-z][A-Za-z0-9_]{0,63}"

# A name that guards use after a dot.
FIELD_PATTERN = re.compile(f"(?!(?:false|in|null|true)$){_WORD_PATTERN}")

# A name that guards use before a dot.
ROOT_PATTERN = re.compile(
    "(?!(?:as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package"
    f"|return|true|var|void|while)$){_WORD_PATTERN}"
)

_MAX_GUESSED_LENGTH = 80
_MAX_GUESSES = 100
_MAX_LISTED = 16


class NodeReader:
    """Reads typed values from nodes and collects every problem; never raises for what an author can write."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._tolerated_prefixes: tuple[str, ...] = ()
        self._lost: tuple[str, ...] = ()
        self._unclear_places: set[Place] = set()

    def report_problem(self, code: str, place: Place, message: str, repair: str = "") -> None:
        """Add an error."""
        self.problems.append(build_error(code, place, message, repair))

    @contextmanager
    def tolerate_prefixes(self, prefixes: Iterable[str]) -> Iterator[None]:
        """Within this context, report no unknown name with these prefixes: a reported problem explains it."""
        self._tolerated_prefixes = tuple(prefixes)
        yield
        self._tolerated_prefixes = ()

    @contextmanager
    def track_problems_at(self, place: Place) -> Iterator[None]:
        """Mark what is declared at this place as unclear if a problem is reported within this context."""
        before = len(self.problems)
        yield
        if len(self.problems) > before:
            self._unclear_places.add(place)

    def is_unclear(self, place: Place) -> bool:
        """True if what is declared there could not be read; what follows from it is then not a problem."""
        return place in self._unclear_places

    def tolerate_unknown(self, lost: Iterable[str]) -> None:
        """From now on, report no unknown name of these kinds or prefixes: a reported problem explains it."""
        self._lost += tuple(lost)

    def fields(
        self, node: Node, known: Collection[str], what: str, required: Collection[str] = ()
    ) -> dict[str, Node]:
        """Return the entries of a table with a fixed set of keys; an unknown or missing key is a problem.

        A misspelt key is read as the one it was probably meant to be, so that no other problem follows.
        """
        if not isinstance(node, Table):
            self._report_wrong_type(node, what, "a mapping", "write `key: value`")
            return {}
        entries = {entry.key.text: entry.value for entry in node.entries}
        for entry in node.entries:
            if entry.key.text not in known:
                self.report_unknown("key", entry.key.text, entry.key.place, known, f"{what} has no key")
                meant = _guess_meant(entry.key.text, [name for name in known if name not in entries])
                entries |= {meant: entry.value} if meant else {}
        missing = [f"`{name}`" for name in required if name not in entries]
        if missing:
            keys = f"the key{'s' * (len(missing) > 1)} {' and '.join(missing)}"
            self.report_problem("missing-key", node.place, f"{what} needs {keys}", "add what is missing")
        return {name: value for name, value in entries.items() if name in known}

    def read_named_entries(
        self, node: Node | None, what: str, rule: re.Pattern[str] = NAME_PATTERN, lost: Iterable[str] = ()
    ) -> dict[str, tuple[Scalar, Node]]:
        """Return the entries of a table whose keys are names the author chose.

        If the table cannot be read, unknown names of the kinds or prefixes in `lost` are not reported.
        """
        if node is None:
            return {}
        if not isinstance(node, Table):
            repair = "write `name: …` for each, or drop the key"
            self._report_wrong_type(node, what, "a mapping of names", repair)
            self.tolerate_unknown(lost)
            return {}
        for entry in node.entries:
            self.check_name(entry.key, what, rule)
        return {entry.key.text: (entry.key, entry.value) for entry in node.entries}

    def check_name(self, node: Scalar, what: str, rule: re.Pattern[str] = NAME_PATTERN) -> None:
        """Check that a name is short and plain, so that guards, paths and pages can contain it."""
        if rule.fullmatch(node.text):
            return
        message = f"{quote_excerpt(node.text)} cannot be a name in {what}"
        signs = "`_`, `-` and `.`" if rule is NAME_PATTERN else "`_`"
        repair = f"use letters, digits, {signs}, beginning with a letter, at most 64"
        if rule is not NAME_PATTERN and re.fullmatch(_WORD_PATTERN, node.text):
            message, repair = f"{message}: it is a word of guards", "choose another word"
        self.report_problem("bad-name", node.place, message, repair)

    def text(self, node: Node | None, what: str, default: str = "") -> str:
        """Return a text, or the default. Numbers and truth values must be quoted to be texts."""
        scalar = self.read_scalar(node, what)
        return scalar.text if scalar else default

    def read_scalar(self, node: Node | None, what: str) -> Scalar | None:
        """Return a text as the scalar it was written in; None if it is missing or not a text."""
        scalar = as_text(node)
        if scalar is None and node is not None:
            bare = isinstance(node, Scalar) and node.value is not None
            self._report_wrong_type(node, what, "a text", "put it in quotes" if bare else "write one text")
        return scalar

    def flag(self, node: Node | None, what: str) -> bool:
        """Return a truth value: `true` or `false`, nothing else."""
        if node is None:
            return False
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        self._report_wrong_type(node, what, "`true` or `false`", "write one of the two, without quotes")
        return False

    def number(self, node: Node | None, what: str, least: int, default: int) -> int:
        """Return a whole number that is not below `least`, or the default."""
        if node is None:
            return default
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        self._report_wrong_type(node, what, f"a whole number from {least} on", "write it without quotes")
        return default

    def scalars(self, node: Node | None, what: str) -> tuple[Scalar, ...]:
        """Return a list of texts as scalars; one text counts as a list of one."""
        items: Iterable[Node | None] = node.items if isinstance(node, NodeList) else (node,)
        scalars = (self.read_scalar(item, what) for item in items)
        return tuple(scalar for scalar in scalars if scalar is not None)

    def texts(self, node: Node | None, what: str) -> tuple[str, ...]:
        """Return a list of texts; one text counts as a list of one."""
        return tuple(scalar.text for scalar in self.scalars(node, what))

    def items(self, node: Node | None, what: str) -> tuple[Node, ...]:
        """Return the nodes of a list."""
        if node is None:
            return ()
        if isinstance(node, NodeList):
            return node.items
        self._report_wrong_type(node, what, "a list", "put `- ` before each item")
        return ()

    def read_choice(self, node: Node | None, choices: Collection[str], what: str, default: str) -> str:
        """Return one of a few words, or the default."""
        word = self.read_scalar(node, what)
        if word is None:
            return default
        if word.text not in choices:
            self.report_unknown("value", word.text, word.place, choices, f"{what} cannot be")
            return default
        return word.text

    def report_unknown(
        self, kind: str, name: str, place: Place, known: Collection[str], message: str
    ) -> None:
        """Report an unknown name, and suggest the nearest known one."""
        if self.is_consequence(kind, name):
            return
        if len(self.problems) >= _MAX_GUESSES or len(name) > _MAX_GUESSED_LENGTH:
            repair = ""
        elif near := difflib.get_close_matches(name, known, 1, 0.6):
            repair = f"did you mean `{near[0]}`?"
        elif len(known) > _MAX_LISTED:
            repair = f"the nearest are {', '.join(difflib.get_close_matches(name, known, 5, 0.0))}"
        else:
            repair = f"known: {', '.join(sorted(known))}" if known else "none is declared"
        self.report_problem(f"unknown-{kind}", place, f"{message} {quote_excerpt(name)}", repair)

    def is_consequence(self, kind: str, name: str) -> bool:
        """True if this name is unknown because of a problem already reported."""
        doubtful = (*self._tolerated_prefixes, *self._lost)
        return bool(self.problems) and (kind in self._lost or name.startswith(doubtful))

    def _report_wrong_type(self, node: Node, what: str, wanted: str, repair: str) -> None:
        match node:
            case NodeList():
                seen = "a list"
            case Table():
                seen = "a mapping"
            case Scalar(value=None):
                seen = "nothing"
            case _:
                short = len(node.text) <= 40 and "\n" not in node.text
                seen = f"`{node.text}`" if short else "a long text"
        self.report_problem("wrong-type", node.place, f"{what} must be {wanted}, not {seen}", repair)


def as_text(node: Node | None) -> Scalar | None:
    """Return the node if it is a text, otherwise None."""
    return node if isinstance(node, Scalar) and isinstance(node.value, str) else None


def locate_span(scalar: Scalar, line: int, column: int, length: int) -> Place:
    """Return the place of a part of a text; the whole text if the file does not hold it unchanged."""
    if not scalar.exact:
        return scalar.place
    rows = scalar.text.rstrip("\n").split("\n")
    if line > len(rows):
        line, column = len(rows), len(rows[-1]) + 1
    return replace(scalar.place_at(line, column), length=length)


def is_unsafe_path(path: str) -> bool:
    """True if a path is not plainly a relative path below a folder."""
    above = any(part.strip() in {"", ".", ".."} for part in path.split("/"))
    return above or "\\" in path or not path.isprintable()


def quote_excerpt(text: str) -> str:
    """Return an author's text as a message shows it: in backquotes, cut if it is long."""
    return f"`{text[:60]}…`" if len(text) > 60 else f"`{text}`"


def _guess_meant(name: str, known: Iterable[str]) -> str:
    """Return the name this is a typo of: almost the same, or the same letters; empty if there is none."""
    for other in difflib.get_close_matches(name[:_MAX_GUESSED_LENGTH], list(known), 1, 0.7):
        if sorted(other) == sorted(name) or difflib.get_close_matches(name, [other], 1, 0.8):
            return other
    return ""
