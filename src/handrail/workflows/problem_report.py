"""Format problems for people: the line they are in, with carets under the place.

Characters that a terminal obeys or hides (control, bidi, zero-width) are shown as escapes, so that no file
can forge what is printed.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from handrail.documents.text import escape_for_terminal, escape_terminal_character, split_lines
from handrail.engine.problems import Problem, Severity

_MAX_WIDTH = 160
_MAX_LEFT_WIDTH = 60


def format_problems(problems: Iterable[Problem], sources: Mapping[str, str]) -> str:
    """Format every problem in the given order, then count errors and warnings. `sources` is by file name."""
    listed = tuple(problems)
    # A byte order mark does not count in places; an empty source has no line.
    lines = {
        file: split_lines(source.removeprefix("\ufeff"))
        for file in {problem.place.file for problem in listed}
        if (source := sources.get(file, ""))
    }
    blocks = [_format_problem(problem, lines.get(problem.place.file, ())) for problem in listed]
    counts = {kind: sum(problem.severity is kind for problem in listed) for kind in Severity}
    parts = [f"{count} {kind}{'s' * (count > 1)}" for kind, count in counts.items() if count]
    return "\n".join([*blocks, ", ".join(parts) or "no problems"])


def _format_problem(problem: Problem, lines: Sequence[str]) -> str:
    place = problem.place
    number = str(place.line).rjust(5)
    head = f"{place.file}:{place.line}:{place.column}: {problem.severity}[{problem.code}]: {problem.message}"
    rows = [escape_for_terminal(head)]
    margin = " " * len(number)
    if 1 <= place.line <= len(lines):
        text, carets = _underline_span(lines[place.line - 1], place.column, place.length)
        rows += [f"{number} | {text}".rstrip(" "), f"{margin} | {carets}"]
    if problem.repair:
        rows.append(f"{margin} = {escape_for_terminal(problem.repair)}")
    if problem.path:
        rows.append(f"{margin} = way there: {escape_for_terminal(', '.join(problem.path))}")
    return "\n".join(rows)


def _underline_span(line: str, column: int, length: int) -> tuple[str, str]:
    """Return the line, cut if it is long, and its carets; a column outside moves to the nearest end."""
    cells = [escape_terminal_character(character) for character in line]
    widths = [_measure_cell(cell) for cell in cells]
    start = min(max(column, 1) - 1, len(cells))
    begin, end = 0, len(widths)
    if sum(widths) > _MAX_WIDTH:
        begin = start - sum(total <= _MAX_LEFT_WIDTH for total in accumulate(reversed(widths[:start])))
        end = begin + sum(total <= _MAX_WIDTH - 2 for total in accumulate(widths[begin:]))
    before, after = "…" * (begin > 0), "…" * (end < len(cells))
    stop = min(start + length, end)
    indent = len(before) + sum(widths[begin:start])
    return before + "".join(cells[begin:end]) + after, " " * indent + "^" * max(1, sum(widths[start:stop]))


def _measure_cell(shown: str) -> int:
    if len(shown) > 1:
        return len(shown)
    if unicodedata.category(shown) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(shown) in {"W", "F"} else 1
