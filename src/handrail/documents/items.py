"""Work items: what a design document lists under one heading, each with a type and a status.

`### Item N: Title` below `## Work Items`, with a line `**Type:** code|task|bugfix` and one
`**Status:** pending|documented`. What is written is one status, in its place: every other character stays.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from handrail.documents.blocks import Line, blocks

TYPES: Final = ("code", "task", "bugfix")
PENDING: Final = "pending"
DOCUMENTED: Final = "documented"

_KNOWN: Final = {"type": TYPES, "status": (PENDING, DOCUMENTED)}
_SECTION: Final = "work items"
_HEADING: Final = re.compile(r" {0,3}(#{1,6})([ \t].*)?")
_ITEM: Final = re.compile(r"item[ \t]+([0-9]{1,6})[ \t]*:(.*)", re.IGNORECASE)
_FIELD: Final = re.compile(
    r"( {0,3}(?:[-*+][ \t]+)?)\*\*(type|status)(?::\*\*|\*\*[ \t]*:)(.*)", re.IGNORECASE
)
_BLANKS: Final = " \t"
_TOLD: Final = 20
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class Item:
    """A work item."""

    number: int
    title: str
    type: str = TYPES[0]
    documented: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a document in its order, and what is wrong with them, each with its line."""

    items: tuple[Item, ...]
    problems: tuple[str, ...]

    @property
    def pending(self) -> tuple[Item, ...]:
        """Those that are not documented yet."""
        return tuple(item for item in self.items if not item.documented)

    def current(self, number: object) -> Item | None:
        """The item that is worked on: the one of this number, if it is pending, or the first that is.

        If none is pending, the one of this number all the same.
        """
        ours = next((item for item in self.items if item.number == number), None)
        if ours and not ours.documented:
            return ours
        return next(iter(self.pending), ours)


@dataclass(frozen=True, slots=True)
class _Said:
    """A line that says a type or a status: what stands before it, and where in the text its value is."""

    line: Line
    lead: str
    value: str
    start: int


@dataclass(frozen=True, slots=True)
class _Found:
    """An item as it is read: its heading, and what its lines say."""

    number: int
    title: str
    heading: Line
    said: dict[str, _Said] = field(default_factory=dict)

    def says(self, name: str) -> str:
        return self.said[name].value.strip("`").lower() if name in self.said else ""


def read(design: str) -> Items:
    """The items of a design document."""
    found, problems = _read(design)
    return Items(
        tuple(
            Item(one.number, one.title, one.says("type") or TYPES[0], one.says("status") == DOCUMENTED)
            for one in found
        ),
        problems,
    )


def document(design: str, number: object) -> str | None:
    """The document with the status of an item set to documented; None if it has no such item.

    Where there is no status, a line for it is put behind that of the type, or behind the heading.
    """
    found = next((one for one in _read(design)[0] if one.number == number), None)
    if found is None:
        return None
    status = found.said.get("status")
    if status:
        ticks = "`" if status.value.startswith("`") else ""
        blank = "" if status.value else " "
        end = status.start + len(status.value)
        return f"{design[: status.start]}{blank}{ticks}{DOCUMENTED}{ticks}{design[end:]}"
    kind = found.said.get("type")
    line, lead = (kind.line, kind.lead) if kind else (found.heading, "")
    written = f"{lead}**Status:** {DOCUMENTED}"
    if not line.end:
        return f"{design}\n{written}"
    after = line.start + len(line.text) + len(line.end)
    return f"{design[:after]}{written}{line.end}{design[after:]}"


@lru_cache(maxsize=8)
def _read(design: str) -> tuple[tuple[_Found, ...], tuple[str, ...]]:
    parts = blocks(design)
    found: list[_Found] = []
    problems: list[str] = []
    numbers: set[int] = set()
    for item in _walked(parts.lines, problems):
        if item.number in numbers:
            problems.append(f"line {item.heading.number}: there is an item {item.number} already")
        problems += _wrong(item)
        numbers.add(item.number)
        found.append(item)
    if parts.unclosed:
        problems.append(f"line {parts.unclosed}: what begins here, a fence or a comment, is never closed")
    more = [f"and {len(problems) - _TOLD} more"] if len(problems) > _TOLD else []
    return tuple(found), (*problems[:_TOLD], *more)


def _walked(lines: tuple[Line, ...], problems: list[str]) -> Iterator[_Found]:
    """Each item, once it is read to its end."""
    within, item = False, None
    for line in lines:
        heading = _HEADING.fullmatch(line.text)
        if heading is None:
            if item:
                _take(item, line, problems)
            continue
        level, title = len(heading[1]), (heading[2] or "").strip(_BLANKS).rstrip("#").rstrip(_BLANKS)
        if level <= 3 and item:
            yield item
            item = None
        if level <= 2:
            within = level == 2 and title.lower().rstrip(":") == _SECTION
        elif level == 3 and within:
            item = _begun(line, title, problems)
    if item:
        yield item


def _begun(line: Line, title: str, problems: list[str]) -> _Found | None:
    match = _ITEM.fullmatch(title)
    if match:
        return _Found(int(match[1]), match[2].strip(_BLANKS), line)
    if title.lower().startswith("item"):
        problems.append(f"line {line.number}: write the heading as `### Item N: Title`, with a number")
    return None


def _take(item: _Found, line: Line, problems: list[str]) -> None:
    match = _FIELD.fullmatch(line.text)
    if match is None:
        return
    name, value = match[2].lower(), match[3].strip(_BLANKS)
    if name in item.said:
        problems.append(f"line {line.number}: item {item.number} has a {name} already")
        return
    start = line.start + match.start(3) + len(match[3]) - len(match[3].lstrip(_BLANKS))
    item.said[name] = _Said(line, match[1], value, start)


def _wrong(item: _Found) -> Iterator[str]:
    for name, known in _KNOWN.items():
        if name in item.said and item.says(name) not in known:
            line, said = item.said[name].line.number, item.said[name].value[:_SHOWN]
            yield f"line {line}: the {name} of item {item.number} is {said!a}; write {' or '.join(known)}"
