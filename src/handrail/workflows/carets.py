"""Problems as people see them: the line they stand in, with carets under the spot.

Characters that a terminal obeys or hides (control, bidi, zero-width) are shown as escapes, so that no
file can forge what is printed.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from handrail.engine.problems import Problem, Severity
from handrail.workflows.characters import cell, safe, split_lines

_WIDEST = 160
_LEFT = 60


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
    rows = [safe(head)]
    margin = " " * len(number)
    if 1 <= place.line <= len(lines):
        text, carets = _underlined(lines[place.line - 1], place.column, place.length)
        rows += [f"{number} | {text}".rstrip(" "), f"{margin} | {carets}"]
    if problem.repair:
        rows.append(f"{margin} = {safe(problem.repair)}")
    if problem.path:
        rows.append(f"{margin} = way there: {safe(', '.join(problem.path))}")
    return "\n".join(rows)


def _underlined(line: str, column: int, length: int) -> tuple[str, str]:
    """The line, cut if it is long, and the carets for it; a column outside is moved to the nearest end."""
    cells = [cell(character) for character in line]
    widths = [_width(each) for each in cells]
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


def _width(shown: str) -> int:
    if len(shown) > 1:
        return len(shown)
    if unicodedata.category(shown) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(shown) in {"W", "F"} else 1


def _lines(source: str) -> list[str]:
    """The lines as places count them: none for an empty source, and without a byte order mark."""
    return split_lines(source.removeprefix("\ufeff")) if source else []


def _tally(problems: Sequence[Problem]) -> str:
    counts = {kind: sum(problem.severity is kind for problem in problems) for kind in Severity}
    parts = [f"{count} {kind}{'s' * (count > 1)}" for kind, count in counts.items() if count]
    return ", ".join(parts) or "no problems"
