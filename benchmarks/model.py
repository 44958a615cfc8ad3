"""What more machines would do: a queueing model, fitted to what `bench_postgresql*.py` have printed.

`python benchmarks/model.py FILE...` reads that. A closed network of agents: an agent thinks, calls, waits. A
call queues for a replica, which is one core, and for the cores of the database, and waits for the disk: all
commits that wait join the next flush, so that the disk is a delay and no queue. It is solved by mean value
analysis, exactly but for cores that share a queue (Seidmann's approximation).

Nothing here is measured but what is read. Not in the model: locks inside PostgreSQL, its checkpoints, the
network, and what else grows with many cores.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_WRITERS: Final = re.compile(r"pg_writers (\d+): (\d+) turns/s")
_REPLICAS: Final = re.compile(r"pg_replicas (\d+): (\d+) steps/s")
_PROCESSOR: Final = re.compile(r"pg_processor: (\d+) us here, (\d+) us at the server")
_CORES: Final = 2
"""How many cores the machine had that it was measured on; all that took part shared them."""

_THINKING: Final = 30.0
"""How many seconds an agent works between two calls."""

_AGENTS: Final = (100, 1000, 10_000)
_SHAPES: Final = ((1, 2), (2, 4), (4, 4), (8, 8), (16, 16))
"""How many replicas, and how many cores of the database."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured: turns a second by the number of writers, and over HTTP; processor time of a turn."""

    writers: Mapping[int, float]
    replicas: Mapping[int, float]
    here: float
    server: float


@dataclass(frozen=True, slots=True)
class Station:
    """Where calls queue: the seconds a call needs there, and how many are served at once."""

    demand: float
    servers: int = 1


def read(text: str) -> Measured:
    """What the benchmarks have printed. What is missing ends the program."""
    processor = _PROCESSOR.search(text)
    writers = {int(count): float(rate) for count, rate in _WRITERS.findall(text)}
    replicas = {int(count): float(rate) for count, rate in _REPLICAS.findall(text)}
    if not (processor and writers and replicas):
        raise SystemExit(
            "give the output of bench_postgresql.py and of bench_postgresql_crowd.py in one file"
        )
    return Measured(writers, replicas, int(processor[1]) / 1e6, int(processor[2]) / 1e6)


def solved(stations: Sequence[Station], delay: float, thinking: float, agents: int) -> tuple[float, float]:
    """Calls a second, and the seconds that a call takes, with so many agents."""
    queues = [0.0] * len(stations)
    waits = [0.0] * len(stations)
    fixed = delay + sum(one.demand * (one.servers - 1) / one.servers for one in stations)
    rate = response = 0.0
    for count in range(1, agents + 1):
        waits = [one.demand / one.servers * (1 + queue) for one, queue in zip(stations, queues, strict=True)]
        response = fixed + sum(waits)
        rate = count / (thinking + response)
        queues = [rate * wait for wait in waits]
    return rate, response


def flush(seen: Measured, demand: float) -> float:
    """The seconds that a turn waits for the disk: what one writer takes, without the processor."""
    return max(0.0, 1 / seen.writers[1] - demand)


def checked(seen: Measured) -> None:
    """Print what the model says of the writers that were measured; it is fitted to the first and the last."""
    demand = _CORES / seen.writers[max(seen.writers)]
    delay = flush(seen, demand)
    print(
        f"fitted: {demand * 1e6:.0f} us of a core and {delay * 1e6:.0f} us of waiting for the disk per turn"
    )
    print("| writers | measured, turns/s | model, turns/s |")
    print("|---|---|---|")
    for count, rate in seen.writers.items():
        said, _ = solved([Station(demand, _CORES)], delay, 0, count)
        print(f"| {count} | {rate:.0f} | {said:.0f} |")


def told(seen: Measured) -> None:
    """Print what the model says of more machines."""
    whole = _CORES / max(seen.replicas.values())
    served = whole - seen.server
    delay = flush(seen, seen.here + seen.server)
    print(
        f"a step over HTTP: {served * 1e6:.0f} us of a replica and of who calls it,"
        f" {seen.server * 1e6:.0f} us of the database, {delay * 1e6:.0f} us of waiting for the disk"
    )
    names = "".join(f" {count} agents: calls/s, ms |" for count in _AGENTS)
    print(f"| replicas | cores of the database | at most, calls/s |{names}")
    print("|---|---|---|" + "---|" * len(_AGENTS))
    for replicas, cores in _SHAPES:
        stations = [Station(served, replicas), Station(seen.server, cores)]
        most = min(one.servers / one.demand for one in stations)
        cells = [solved(stations, delay, _THINKING, count) for count in _AGENTS]
        row = "".join(f" {rate:.0f}, {response * 1e3:.1f} |" for rate, response in cells)
        print(f"| {replicas} | {cores} | {most:.0f} |{row}")


def main(*paths: str) -> None:
    """Print the tables."""
    seen = read("\n".join(Path(path).read_text("utf-8") for path in paths))
    checked(seen)
    print()
    told(seen)


if __name__ == "__main__":
    main(*sys.argv[1:])
