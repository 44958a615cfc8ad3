"""Problems as people see them: the line they stand in, with carets under the spot.

Characters that a terminal obeys or hides (control, bidi, zero-width) are shown as escapes, so that no
file can forge what is printed.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from handrail.engine.problems import Problem, Severity
from handrail.workflows.characters import split_lines

_WIDEST = 160
_LEFT = 60
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_HIDDEN_RANGES = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)


def show(problem: Problem, source: str) -> str:
    """The problem, its line of the source with carets, its repair and the way there.

    An empty source, or one without that line, shows no line. The text ends without a line break.
    """
    return _shown(problem, _lines(source))


def show_all(problems: Iterable[Problem], sources: Mapping[str, str]) -> str:
    """Every problem in the order given, then how many errors and warnings; sources by file name."""
    listed = tuple(problems)
    lines = {file: _lines(sources.get(file, "")) for file in {problem.place.file for problem in listed}}
    blocks = [_shown(problem, lines[problem.place.file]) for problem in listed]
    return "\n".join([*blocks, _tally(listed)])


def _shown(problem: Problem, lines: Sequence[str]) -> str:
    place = problem.place
    number = str(place.line).rjust(5)
    head = f"{place.file}:{place.line}:{place.column}: {problem.severity}[{problem.code}]: {problem.message}"
    rows = [_safe(head)]
    margin = " " * len(number)
    if 1 <= place.line <= len(lines):
        text, carets = _underlined(lines[place.line - 1], place.column, place.length)
        rows += [f"{number} | {text}".rstrip(" "), f"{margin} | {carets}"]
    if problem.repair:
        rows.append(f"{margin} = {_safe(problem.repair)}")
    if problem.path:
        rows.append(f"{margin} = way there: {_safe(', '.join(problem.path))}")
    return "\n".join(rows)


def _underlined(line: str, column: int, length: int) -> tuple[str, str]:
    """The line, cut if it is long, and the carets for it; a column outside is moved to the nearest end."""
    cells = [_cell(character) for character in line]
    widths = [_width(cell) for cell in cells]
    start = min(max(column, 1) - 1, len(cells))
    begin, end = _window(widths, start)
    ahead, behind = "…" * (begin > 0), "…" * (end < len(cells))
    stop = min(start + length, end)
    indent = len(ahead) + sum(widths[begin:start])
    return ahead + "".join(cells[begin:end]) + behind, " " * indent + "^" * max(1, sum(widths[start:stop]))


def _window(widths: Sequence[int], start: int) -> tuple[int, int]:
    """Which cells to show so that the one at `start` is among them and the line is not too wide."""
    if sum(widths) <= _WIDEST:
        return 0, len(widths)
    begin = start - sum(total <= _LEFT for total in accumulate(reversed(widths[:start])))
    return begin, begin + sum(total <= _WIDEST - 2 for total in accumulate(widths[begin:]))


def _cell(character: str) -> str:
    if character == "\t":
        return " "
    code = ord(character)
    hidden = unicodedata.category(character) in _HIDDEN_CATEGORIES
    if hidden or any(first <= code <= last for first, last in _HIDDEN_RANGES):
        return f"\\u{{{code:x}}}"
    return character


def _width(cell: str) -> int:
    if len(cell) > 1:
        return len(cell)
    if unicodedata.category(cell) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(cell) in {"W", "F"} else 1


def _safe(text: str) -> str:
    return "".join(map(_cell, text))


def _lines(source: str) -> list[str]:
    """The lines as places count them: none for an empty source, and without a byte order mark."""
    return split_lines(source.removeprefix("\ufeff")) if source else []


def _tally(problems: Sequence[Problem]) -> str:
    counts = {kind: sum(problem.severity is kind for problem in problems) for kind in Severity}
    parts = [f"{count} {kind}{'s' * (count > 1)}" for kind, count in counts.items() if count]
    return ", ".join(parts) or "no problems"
