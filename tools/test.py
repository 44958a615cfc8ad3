"""What `make test` runs: every part to its end, each with its minutes beside its budget.

`python tools/test.py [PART ...]` runs the named parts only. Parts that keep one core busy run two at a time,
then those that use both. A failed part prints its output and the rest goes on, so that one run shows every
failure; exit 1 if there was one. A part over its budget is reported, and is not a failure.
"""

import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

ROOT: Final = Path(__file__).resolve().parent.parent
Command: TypeAlias = tuple[str, ...]
PYTHON: Final = sys.executable
AGENTS: Final = "tests/clients/agents"
"""Tests of large foreign programs, which `make test` does not install."""

QUICK: Final = (
    "tests/engine",
    "tests/workflows",
    "tests/documents",
    "tests/drawing",
    "tests/test_quick.py",
)
"""The pure packages, and one path of each face."""
PARTS: Final[Mapping[str, tuple[Command, ...]]] = {
    "lint": (
        (PYTHON, "-m", "ruff", "check", "--output-format=concise"),
        (PYTHON, "-m", "ruff", "format", "--check"),
    ),
    "types": ((PYTHON, "-m", "mypy"),),
    "imports": ((".venv/bin/lint-imports",),),
    "docs": ((PYTHON, "tools/docs.py", "--check"),),
    # pytest compiles each test file once here, instead of once in each process that runs tests.
    "collect": ((PYTHON, "-m", "pytest", "--collect-only", "-qq", f"--ignore={AGENTS}"),),
    "demo": ((".venv/bin/handrail", "demo"),),
    "tests": (
        (PYTHON, "-m", "compileall", "-q", "src"),
        (PYTHON, "-m", "coverage", "erase"),
        (
            PYTHON,
            "-m",
            "coverage",
            "run",
            "-m",
            "pytest",
            "-n",
            "3",
            "--dist",
            "worksteal",
            f"--ignore={AGENTS}",
        ),
        (PYTHON, "-m", "coverage", "combine", "--quiet"),
        (PYTHON, "tools/coverage_gate.py"),
    ),
}
"""The commands of each part of `make test`; the first that fails ends its part."""

ASKED: Final[Mapping[str, tuple[Command, ...]]] = {
    "quick": ((PYTHON, "-m", "pytest", "-n", "2", "--dist", "worksteal", "-m", "not unmeasured", *QUICK),),
    "clients": ((PYTHON, "-m", "pytest", AGENTS),),
}
"""Parts that run only when they are named: `make quick`, `make clients`.

`make quick` leaves out what is marked `unmeasured`: tests that do very often what others do once.
"""


ALONE: Final = frozenset({"tests", "quick", "clients"})
"""Parts that use both cores, so that nothing runs beside them."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the final table."""

    part: str
    minutes: float
    budget: float
    passed: bool

    @property
    def verdict(self) -> str:
        """`failed`, else `over` if the budget did not suffice, else `ok`."""
        if not self.passed:
            return "failed"
        return "over" if self.minutes > self.budget else "ok"


def read_budget(text: str) -> dict[str, float]:
    """The minutes of each part, in the order of the file."""
    tables = tomllib.loads(text)
    return {part: float(minutes) for name in ("minutes", "asked") for part, minutes in tables[name].items()}


def setup_row(ready: Path, budget: float) -> Row:
    """The row of the last set-up, whose seconds stand in its stamp file."""
    seconds = ready.read_text().strip() if ready.exists() else ""
    return Row("setup", int(seconds or 0) / 60, budget, passed=True)


def run_part(part: str, commands: Iterable[Command], budget: float) -> Row:
    """Runs the commands of one part until one fails; its output is printed then, and only then."""
    began = time.monotonic()
    passed = all(_runs(command) for command in commands)
    row = Row(part, (time.monotonic() - began) / 60, budget, passed)
    print(f"{part}: {row.verdict}", flush=True)
    return row


def _runs(command: Command) -> bool:
    """True if a command ends well; Python may keep what it has compiled, which the next run need not do."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    pipe, out = subprocess.PIPE, subprocess.STDOUT
    done = subprocess.run(command, cwd=ROOT, env=env, check=False, stdout=pipe, stderr=out, text=True)
    if done.returncode:
        print(f"$ {' '.join(command)}\n{done.stdout.rstrip()}\n(exit {done.returncode})", flush=True)
    return done.returncode == 0


def run_parts(wanted: Sequence[str], budget: Mapping[str, float]) -> list[Row]:
    """Run parts: those that keep one core busy two at a time, then the others. The rows are as wanted."""
    parts = {**PARTS, **ASKED}

    def run(part: str) -> Row:
        return run_part(part, parts[part], budget[part])

    beside = [part for part in wanted if part not in ALONE]
    with ThreadPoolExecutor(2) as pool:
        rows = dict(zip(beside, pool.map(run, beside), strict=True))
    rows |= {part: run(part) for part in wanted if part in ALONE}
    return [rows[part] for part in wanted]


def table(rows: Sequence[Row], total: float) -> str:
    """The rows under a heading, and the minutes of the whole run: some parts run beside others."""
    lines = [f"{'part':<10}{'minutes':>9}{'budget':>9}  verdict"]
    lines += [f"{row.part:<10}{row.minutes:>9.2f}{row.budget:>9.2f}  {row.verdict}" for row in rows]
    budget = sum(row.budget for row in rows)
    return "\n".join([*lines, f"{'all':<10}{total:>9.2f}{budget:>9.2f}"])


def main(wanted: Sequence[str]) -> int:
    """Runs the wanted parts, or all; 0 if every one passed, 1 if not, 2 for a part that does not exist."""
    budget = read_budget((ROOT / "tests" / "budget.toml").read_text())
    parts = {**PARTS, **ASKED}
    if unknown := [part for part in wanted if part not in parts]:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(parts)}", file=sys.stderr)
        return 2
    began, rows = time.monotonic(), [] if wanted else [setup_row(ROOT / ".venv" / ".ready", budget["setup"])]
    before = sum(row.minutes for row in rows)
    rows += run_parts(list(wanted or PARTS), budget)
    print(table(rows, before + (time.monotonic() - began) / 60))
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
