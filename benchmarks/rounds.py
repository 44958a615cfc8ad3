"""How figures are taken: rounds of each side in turn, medians, and their ratio."""

import gc
import resource
import time
from collections.abc import Callable
from statistics import median


def ratio(ours: Callable[[], object], floor: Callable[[], object], rounds: int = 9) -> float:
    """How many times as long ours takes as the floor: the median of each, taken in turn in one run."""
    taken = _taken(ours, floor, rounds, _seconds)
    return median(mine for mine, _ in taken) / median(theirs for _, theirs in taken)


def cost_ratio(ours: Callable[[], object], floor: Callable[[], object], rounds: int) -> float:
    """How many times the processor time, that of the processes they start included; taken in turn.

    Unlike the time that passes, it does not grow with what else the machine does.
    """
    taken = _taken(ours, floor, rounds, _cost)
    return sum(mine for mine, _ in taken) / sum(theirs for _, theirs in taken)


def report(name: str, value: float, goal: float) -> None:
    """Print the line that `make bench` reads: a value above its goal falls short."""
    print(f"{name} {value:.2f} {goal:.2f} {'ok' if value <= goal else 'short'}")


def report_least(name: str, value: float, goal: float) -> None:
    """The same for what is better the higher it is: a value below its goal falls short."""
    print(f"{name} {value:.2f} {goal:.2f} {'ok' if value >= goal else 'short'}")


def report_missing(name: str, goal: float) -> None:
    """The same for what could not be measured, since a peer is not there."""
    print(f"{name} - {goal:.2f} missing")


def bar(chart: str, name: str, value: float) -> None:
    """Print the line that the page of the benchmarks draws a bar from."""
    print(f"# bar {chart}: {name} = {value:.2f}")


def _taken(
    ours: Callable[[], object],
    floor: Callable[[], object],
    rounds: int,
    measured: Callable[[Callable[[], object]], float],
) -> list[tuple[float, float]]:
    """What was measured of both in each round, after one that does not count."""
    ours()
    floor()
    taken: list[tuple[float, float]] = []
    for _ in range(rounds):
        gc.collect()
        taken.append((measured(ours), measured(floor)))
    return taken


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _cost(work: Callable[[], object]) -> float:
    began = _spent()
    work()
    return _spent() - began


def _spent() -> float:
    """The processor time of this process, and of those it has started and waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)
