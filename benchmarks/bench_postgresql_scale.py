"""From a thousand runs to a million in PostgreSQL: what a turn, a list, a page and each number cost.

`HANDRAIL_BENCH_RUNS` makes the largest store smaller, to try the benchmark out.
"""

import gc
import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from statistics import median
from typing import Final

from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.summaries import SqlMeasures
from pg_fill import fill
from questions import Ask, lists, numbers, page
from rounds import report
from servers import PostgresServer, as_admin, confirming, on_one_core
from stage import PgStage, pg_stage

LARGEST: Final = int(os.environ.get("HANDRAIL_BENCH_RUNS", "1000000"))
SIZES: Final = (LARGEST // 1000, LARGEST // 100, LARGEST // 10, LARGEST)
LIVE: Final = 1000
ROUNDS: Final = 12
TURNS: Final = 60
PASSES: Final = 7
QUESTIONS: Final = 6
"""How often each question is asked in a pass."""

GROWS: Final = {"live"}
"""What is asked of all runs under way, and of these there are ten times as many at each size."""


@dataclass(frozen=True, slots=True)
class Side:
    """A store with so many runs that ended, and those whose turns are taken; all is folded."""

    runs: int
    play: PgStage
    asks: Mapping[str, Ask]


def side(server: PostgresServer, runs: int) -> Side:
    """A store of this size."""
    url = server.create_database()
    began = time.perf_counter()
    with closing(PgDatabase(DatabaseUrl(url))) as database:
        fill(as_admin(server, url), runs)
        SqlMeasures(database).fold()
    database = PgDatabase(DatabaseUrl(url))
    play = pg_stage(database)
    play.start(LIVE)
    database.vacuum()
    took, size = time.perf_counter() - began, database.size()
    print(f"pg_scale {runs} runs: {size / 1e6:.0f} MB, {size / runs:.0f} bytes per run, made in {took:.0f} s")
    return Side(runs, play, {**lists(database, runs), **page(database, runs), **numbers(database)})


def turns(sides: list[Side]) -> list[float]:
    """The median time of a turn on each side, in rounds that take turns; the first one only warms up."""
    picks = [one.play.picked(1) for one in sides]
    taken: list[list[float]] = [[] for _ in sides]
    for number in range(ROUNDS):
        gc.collect()
        for one, pick, times in zip(sides, picks, taken, strict=True):
            for _ in range(TURNS):
                run, began = pick(), time.perf_counter()
                one.play.turn(run)
                if number:
                    times.append(time.perf_counter() - began)
    return [median(times) for times in taken]


def asked(sides: list[Side]) -> Mapping[str, list[float]]:
    """The median time of each question on each side, asked of each in turn.

    In passes over all questions: what disturbs a few milliseconds disturbs all of what a question takes in
    one. The first of a pass only warms up, since the question before has other pages.
    """
    taken: dict[str, list[list[float]]] = {name: [[] for _ in sides] for name in sides[0].asks}
    for _ in range(PASSES):
        for name, side_times in taken.items():
            for number in range(QUESTIONS + 1):
                for one, times in zip(sides, side_times, strict=True):
                    took = seconds(one.asks[name])
                    if number:
                        times.append(took)
    return {name: [median(times) for times in side_times] for name, side_times in taken.items()}


def seconds(ask: Callable[[], object]) -> float:
    """How long a question takes."""
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def table(name: str, times: list[float]) -> None:
    """Print a row: how long it takes at each size, in milliseconds."""
    print(f"pg_scale {name}: " + " ".join(f"{one * 1e3:.2f}" for one in times) + " ms")


def measured(sides: list[Side]) -> Mapping[str, list[float]]:
    """What a turn takes on each side, and each question; all on one core."""
    backends = [one.play.database.peek("SELECT pg_backend_pid()", ())[0][0] for one in sides]
    with on_one_core(backends):
        found = {"turn": turns(sides)}
        for one in sides:
            SqlMeasures(one.play.database).fold()
        return {**found, **asked(sides)}


def main() -> None:
    """Print the figures."""
    with confirming() as server:
        sides = [side(server, runs) for runs in SIZES]
        print("pg_scale: " + ", ".join(str(one.runs) for one in sides) + " runs, from left to right")
        found = dict(measured(sides))
    for name, times in found.items():
        table(name, times)
    turn = found.pop("turn")
    report("pg_scale_turn_x_smallest", turn[-1] / turn[0], 1.15)
    for name, (*_, tenth, most) in found.items():
        if name not in GROWS:
            report(f"pg_scale_{name}_x_a_tenth", most / tenth, 1.5)


if __name__ == "__main__":
    main()
