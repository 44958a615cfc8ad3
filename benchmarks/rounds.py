"""How figures are taken: rounds of each side in turn, medians, and their ratio."""

import gc
import time
from collections.abc import Callable
from statistics import median


def ratio(ours: Callable[[], object], floor: Callable[[], object], rounds: int = 9) -> float:
    """How many times as long ours takes as the floor: the median of each, taken in turn in one run."""
    ours()
    floor()
    taken: list[tuple[float, float]] = []
    for _ in range(rounds):
        gc.collect()
        taken.append((_seconds(ours), _seconds(floor)))
    return median(mine for mine, _ in taken) / median(theirs for _, theirs in taken)


def report(name: str, value: float, goal: float) -> None:
    """Print the line that `make bench` reads: a value above its goal falls short."""
    print(f"{name} {value:.2f} {goal:.2f} {'ok' if value <= goal else 'short'}")


def report_least(name: str, value: float, goal: float) -> None:
    """The same for what is better the higher it is: a value below its goal falls short."""
    print(f"{name} {value:.2f} {goal:.2f} {'ok' if value >= goal else 'short'}")


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
