"""Processes that measure themselves, Handrail's and its peers': each takes so many steps when asked."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import IO, Final

from rounds import bar, report_least, report_missing

HERE: Final = Path(__file__).resolve().parent
THEIRS: Final = HERE.parent / ".bench" / "venv" / "bin" / "python"
"""The interpreter of the peers; `tools/setup peers` makes it. `HANDRAIL_BENCH_PEERS` names another."""

OURS: Final = "Handrail"


@dataclass(frozen=True, slots=True)
class Side:
    """Somebody who is measured: how a chart calls it, its module in `peers/` and the words that it is given.

    `figure` and `goal` say how many times as long as Handrail it is to take at least; ours has none.
    What is not `theirs` runs where Handrail does.
    """

    name: str
    module: str
    words: tuple[str, ...] = ()
    figure: str = ""
    goal: float = 0.0
    theirs: bool = True


@dataclass(frozen=True, slots=True)
class Process:
    """A process that waits for numbers of steps."""

    given: IO[str]
    taken: IO[str]

    def seconds(self, steps: int) -> float:
        """How long it takes for so many steps, by its own clock."""
        self.given.write(f"{steps}\n")
        self.given.flush()
        line = self.taken.readline()
        if not line:
            raise SystemExit("a process ended while it was measured; what it said stands above")
        return float(line)


@contextmanager
def started(side: Side) -> Iterator[Process | None]:
    """Its process, or None where it cannot be started: why, it says itself."""
    python = Path(os.environ.get("HANDRAIL_BENCH_PEERS", THEIRS) if side.theirs else sys.executable)
    if not python.exists():
        print(f"{side.name} is missing: run tools/setup peers", file=sys.stderr)
        yield None
        return
    more = "" if side.theirs else os.environ.get("PYTHONPATH", "")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(HERE), more)))}
    words = (str(python), "-m", f"peers.{side.module}", *side.words)
    with subprocess.Popen(  # noqa: S603 - our own script
        words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise SystemExit("a process without pipes cannot be measured")
        ready = process.stdout.readline() == "ready\n"
        if not ready:
            print(f"{side.name} is missing: its process did not start", file=sys.stderr)
        yield Process(process.stdin, process.stdout) if ready else None
        process.stdin.close()


def measured(sides: Sequence[Side], steps: int, rounds: int) -> Mapping[str, float]:
    """The median seconds of a step of each side that could be started, in rounds that take turns.

    The first round of each only warms up.
    """
    with ExitStack() as stack:
        found = {side.name: stack.enter_context(started(side)) for side in sides}
        there = {name: process for name, process in found.items() if process is not None}
        taken: dict[str, list[float]] = {name: [] for name in there}
        for number in range(rounds + 1):
            for name, process in there.items():
                seconds = process.seconds(steps) / steps
                taken[name].extend([seconds] if number else [])
    return {name: median(times) for name, times in taken.items()}


def compared(chart: str, sides: Sequence[Side], steps: int, rounds: int) -> Mapping[str, float]:
    """The median seconds of a step of each side; printed is how many times ours each peer takes."""
    taken = measured(sides, steps, rounds)
    if OURS not in taken:
        raise SystemExit("our own process did not start")
    for side in sides:
        if side.name in taken:
            bar(chart, side.name, taken[side.name] * 1e6)
    for side in sides:
        if side.figure and side.name in taken:
            report_least(side.figure, taken[side.name] / taken[OURS], side.goal)
        elif side.figure:
            report_missing(side.figure, side.goal)
    return taken
