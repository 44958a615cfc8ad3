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
_HTTP: Final = re.compile(r"pg_http_processor: (\d+) us in a replica, (\d+) us at the server")
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
    """Turns a second by the number of writers, and the processor time of a turn and of a step over HTTP.

    The first of each is of who takes it, the second of the server.
    """

    writers: Mapping[int, float]
    turn: tuple[float, float]
    step: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Station:
    """Where calls queue: the seconds a call needs there, and how many are served at once."""

    demand: float
    servers: int = 1


def read(text: str) -> Measured:
    """What the benchmarks have printed. What is missing ends the program."""
    turn, step = _PROCESSOR.search(text), _HTTP.search(text)
    writers = {int(count): float(rate) for count, rate in _WRITERS.findall(text)}
    if not (turn and step and writers):
        raise SystemExit(
            "give the output of bench_postgresql.py and of bench_postgresql_crowd.py in one file"
        )
    return Measured(writers, *((int(one[1]) / 1e6, int(one[2]) / 1e6) for one in (turn, step)))


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


def flush(seen: Measured) -> float:
    """The seconds that a turn waits, for the disk above all: what one writer takes, without the processor."""
    return max(0.0, 1 / seen.writers[1] - sum(seen.turn))


def checked(seen: Measured) -> None:
    """Print what the model says of the writers that were measured, had they been alone on the machine."""
    demand, delay = sum(seen.turn), flush(seen)
    print(f"a turn: {demand * 1e6:.0f} us of a core and {delay * 1e6:.0f} us of waiting")
    print("| writers | measured, turns/s | model, turns/s |")
    print("|---|---|---|")
    for count, rate in seen.writers.items():
        said, _ = solved([Station(demand, _CORES)], delay, 0, count)
        print(f"| {count} | {rate:.0f} | {said:.0f} |")


def told(seen: Measured) -> None:
    """Print what the model says of more machines."""
    (replica, database), delay = seen.step, flush(seen)
    print(f"a step over HTTP: {replica * 1e6:.0f} us of a replica, {database * 1e6:.0f} us of the database")
    names = "".join(f" {count} agents: calls/s, ms |" for count in _AGENTS)
    print(f"| replicas | cores of the database | at most, calls/s |{names}")
    print("|---|---|---|" + "---|" * len(_AGENTS))
    for replicas, cores in _SHAPES:
        stations = [Station(replica, replicas), Station(database, cores)]
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
