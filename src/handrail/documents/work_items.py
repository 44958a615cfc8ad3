"""Parse the work items of a design document and mark one as documented.

Items are headings `### Item N: Title` below `## Work Items`, each with a line `**Type:** code|task|bugfix`
and a line `**Status:** pending|documented`. Marking changes one status; every other character stays.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from handrail.documents.markdown import Line, parse_blocks

ITEM_TYPES: Final = ("code", "task", "bugfix")
PENDING: Final = "pending"
DOCUMENTED: Final = "documented"
_ALLOWED_VALUES: Final = {"type": ITEM_TYPES, "status": (PENDING, DOCUMENTED)}
_SECTION: Final = "work items"
_HEADING: Final = re.compile(r" {0,3}(#{1,6})([ \t].*)?")
_ITEM: Final = re.compile(r"item[ \t]+([0-9]{1,6})[ \t]*:(.*)", re.IGNORECASE)

_FIELD: Final = re.compile(
    r"( {0,3}(?:[-*+][ \t]+)?)\*\*(type|status)(?::\*\*|\*\*[ \t]*:)(.*)", re.IGNORECASE
)

_BLANKS: Final = " \t"
_MAX_PROBLEMS: Final = 20
_MAX_SHOWN_CHARACTERS: Final = 40


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One work item of a design document."""

    number: int
    title: str
    type: str = ITEM_TYPES[0]
    documented: bool = False


@dataclass(frozen=True, slots=True)
class WorkItems:
    """The items of a document in order, and the problems found, each with its line."""

    items: tuple[WorkItem, ...]
    problems: tuple[str, ...]

    @property
    def pending(self) -> tuple[WorkItem, ...]:
        """The items that are not documented yet."""
        return tuple(item for item in self.items if not item.documented)

    def find_current(self, number: object) -> WorkItem | None:
        """Return the pending item with this number, else the first pending one, else any with this number."""
        match = next((item for item in self.items if item.number == number), None)
        if match and not match.documented:
            return match
        return next(iter(self.pending), match)


@dataclass(frozen=True, slots=True)
class _FieldLine:
    """A line with a type or a status: the text before it, its value, and the offset of the value."""

    line: Line
    lead: str
    value: str
    start: int


@dataclass(frozen=True, slots=True)
class _ParsedItem:
    """An item while it is parsed: its heading and its field lines."""

    number: int
    title: str
    heading: Line
    field_lines: dict[str, _FieldLine] = field(default_factory=dict)

    def read_value(self, name: str) -> str:
        return self.field_lines[name].value.strip("`").lower() if name in self.field_lines else ""


def parse_work_items(design: str) -> WorkItems:
    """Return the work items of a design document."""
    parsed, problems = _parse_design(design)
    items = (
        WorkItem(
            item.number,
            item.title,
            item.read_value("type") or ITEM_TYPES[0],
            item.read_value("status") == DOCUMENTED,
        )
        for item in parsed
    )
    return WorkItems(tuple(items), problems)


def mark_documented(design: str, number: object) -> str | None:
    """Return the document with an item's status set to documented; None if there is no such item.

    If the item has no status line, one is added after the type line, or after the heading.
    """
    item = next((parsed for parsed in _parse_design(design)[0] if parsed.number == number), None)
    if item is None:
        return None
    status = item.field_lines.get("status")
    if status:
        ticks = "`" if status.value.startswith("`") else ""
        blank = "" if status.value else " "
        end = status.start + len(status.value)
        return f"{design[: status.start]}{blank}{ticks}{DOCUMENTED}{ticks}{design[end:]}"
    kind = item.field_lines.get("type")
    line, lead = (kind.line, kind.lead) if kind else (item.heading, "")
    written = f"{lead}**Status:** {DOCUMENTED}"
    if not line.end:
        return f"{design}\n{written}"
    after = line.start + len(line.text) + len(line.end)
    return f"{design[:after]}{written}{line.end}{design[after:]}"


@lru_cache(maxsize=8)
def _parse_design(design: str) -> tuple[tuple[_ParsedItem, ...], tuple[str, ...]]:
    parts = parse_blocks(design)
    items: list[_ParsedItem] = []
    problems: list[str] = []
    numbers: set[int] = set()
    for item in _walk_items(parts.lines, problems):
        if item.number in numbers:
            problems.append(f"line {item.heading.number}: there is an item {item.number} already")
        for name, known in _ALLOWED_VALUES.items():
            if name in item.field_lines and item.read_value(name) not in known:
                line = item.field_lines[name]
                fault = f"the {name} of item {item.number} is {line.value[:_MAX_SHOWN_CHARACTERS]!a}"
                problems.append(f"line {line.line.number}: {fault}; write {' or '.join(known)}")
        numbers.add(item.number)
        items.append(item)
    if parts.unclosed:
        problems.append(f"line {parts.unclosed}: what begins here, a fence or a comment, is never closed")
    more = [f"and {len(problems) - _MAX_PROBLEMS} more"] if len(problems) > _MAX_PROBLEMS else []
    return tuple(items), (*problems[:_MAX_PROBLEMS], *more)


def _walk_items(lines: tuple[Line, ...], problems: list[str]) -> Iterator[_ParsedItem]:
    """Yield each item once all of its lines are parsed."""
    within, item = False, None
    for line in lines:
        heading = _HEADING.fullmatch(line.text)
        if heading is None:
            if item and (match := _FIELD.fullmatch(line.text)):
                _read_field(item, line, match, problems)
            continue
        level, title = len(heading[1]), (heading[2] or "").strip(_BLANKS).rstrip("#").rstrip(_BLANKS)
        if level <= 3 and item:
            yield item
            item = None
        if level <= 2:
            within = level == 2 and title.lower().rstrip(":") == _SECTION
        elif level == 3 and within and (match := _ITEM.fullmatch(title)):
            item = _ParsedItem(int(match[1]), match[2].strip(_BLANKS), line)
        elif level == 3 and within and title.lower().startswith("item"):
            problems.append(f"line {line.number}: write the heading as `### Item N: Title`, with a number")
    if item:
        yield item


def _read_field(item: _ParsedItem, line: Line, match: re.Match[str], problems: list[str]) -> None:
    name, value = match[2].lower(), match[3].strip(_BLANKS)
    if name in item.field_lines:
        problems.append(f"line {line.number}: item {item.number} has a {name} already")
        return
    start = line.start + match.start(3) + len(match[3]) - len(match[3].lstrip(_BLANKS))
    item.field_lines[name] = _FieldLine(line, match[1], value, start)
