"""Holds the measured coverage to what the house promises; prints every place that is missing.

The pure packages and modules: every line and every branch. Everything together: 95 % of the lines.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

PURE: Final = (
    *("documents", "engine", "workflows", "drawing"),
    *("runtime/entries.py", "runtime/measures.py", "app/insights.py", "app/run_pictures.py"),
)
LINES_OVERALL: Final = 95.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of one file. A branch is from one line to another; below zero is the way out."""

    path: str
    lines: int
    missing_lines: tuple[int, ...]
    missing_branches: tuple[tuple[int, int], ...]


def read_report(report: Mapping[str, Any]) -> list[Measured]:
    """The files of a report of `coverage json`."""
    return [
        Measured(
            path,
            found["summary"]["num_statements"],
            tuple(found["missing_lines"]),
            tuple((start, end) for start, end in found["missing_branches"]),
        )
        for path, found in report["files"].items()
    ]


def is_pure(path: str) -> bool:
    """True if the file is a pure module, or of a pure package."""
    below = PurePosixPath(path.rpartition("handrail/")[2])
    return any(below.is_relative_to(pure) for pure in PURE)


def shortfalls(files: list[Measured]) -> Iterator[str]:
    """The places that a pure package leaves out; and those of the others, if the whole is below its share."""
    if not files:
        yield "nothing was measured"
        return
    for file in files:
        if is_pure(file.path):
            if file.missing_lines:
                yield f"{file.path}: never run: {spans(file.missing_lines)}"
            if file.missing_branches:
                ways = (f"{start} to {_way(end)}" for start, end in file.missing_branches)
                yield f"{file.path}: never taken: {', '.join(ways)}"
    share = lines_share(files)
    if share < LINES_OVERALL:
        for file in files:
            if file.missing_lines and not is_pure(file.path):
                yield f"{file.path}: never run: {spans(file.missing_lines)}"
        yield f"lines overall: {share:.2f} %, and {LINES_OVERALL:.0f} % are promised"


def spans(lines: Sequence[int]) -> str:
    """Line numbers in ascending order, neighbours drawn together: `3, 7-9`."""
    ends: list[list[int]] = []
    for line in lines:
        if ends and ends[-1][-1] == line - 1:
            ends[-1] = [ends[-1][0], line]
        else:
            ends.append([line])
    return ", ".join("-".join(map(str, span)) for span in ends)


def lines_share(files: list[Measured]) -> float:
    """The percentage of all lines that ran."""
    total = sum(file.lines for file in files)
    return 100.0 * (total - sum(len(file.missing_lines) for file in files)) / total if total else 100.0


def _way(line: int) -> str:
    return str(line) if line > 0 else "the end"


def main() -> int:
    """Judges the data of the last measured run; 1 if something is missing."""
    root = Path(__file__).resolve().parent.parent
    command = (sys.executable, "-m", "coverage", "json", "--quiet", "-o", "-")
    done = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    found = list(shortfalls(read_report(json.loads(done.stdout))))
    print("\n".join(found or ["coverage: as promised"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
