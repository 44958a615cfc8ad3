"""A call over stdio: a read and a durable step, against the no-op tool of a bare server of the SDK."""

import gc
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from rounds import bar, report
from stdio import agent, bare


def medians(sides: Sequence[Callable[[], None]], calls: int, rounds: int) -> list[float]:
    """The median seconds of a call of each side, in rounds that take turns; the first one only warms up."""
    taken: list[list[float]] = [[] for _ in sides]
    for number in range(rounds + 1):
        gc.collect()
        for side, times in zip(sides, taken, strict=True):
            for _ in range(calls):
                began = time.perf_counter()
                side()
                if number:
                    times.append(time.perf_counter() - began)
    return [median(times) for times in taken]


def main(calls: int = 100, rounds: int = 9) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name, bare(Path(name)) as line, agent(Path(name)) as mine:
        floor, read, step = medians((line.no_op, mine.read, mine.step), calls, rounds)
    for name, seconds in (("A bare server's no-op", floor), ("A read", read), ("A durable step", step)):
        bar("A call over stdio, microseconds", name, seconds * 1e6)
    report("stdio_read_x_bare", read / floor, 1.6)
    report("stdio_step_x_bare", step / floor, 2.3)


if __name__ == "__main__":
    main()
