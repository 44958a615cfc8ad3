"""A million runs: what a turn and each number of the dashboard cost, against a store with few.

`HANDRAIL_BENCH_RUNS` makes the large store smaller, to try the benchmark out.
"""

import gc
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from statistics import median
from typing import Final

from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.stores.sql.summaries import SqlMeasures
from kept import LARGE, shelf, store
from rounds import report, report_least
from stage import Stage
from wal import empty as empty_wal

SMALL: Final = LARGE // 20
ROUNDS: Final = 12
TURNS: Final = 100
NOW: Final = datetime.now(UTC)
TODAY: Final = NOW.replace(hour=0, minute=0, second=0, microsecond=0)
PLAIN: Final = {
    "runs": "SELECT workflow_name, state, count(*), sum(duration_ms) FROM runs GROUP BY 1, 2",
    "days": "SELECT date(started_at), workflow_name, count(*) FROM runs "
    "WHERE started_at >= datetime('now', '-30 days') GROUP BY 1, 2",
    "steps": "SELECT step_name, agent_name, status, count(*), sum(duration_ms) FROM steps GROUP BY 1, 2, 3",
    "hours": "SELECT substr(created_at, 1, 13), event_type, count(*) FROM events "
    "WHERE created_at >= datetime('now', '-24 hours') GROUP BY 1, 2",
    "errors": "SELECT json_extract(metadata, '$.error_type'), count(*) FROM events "
    "WHERE event_type = 'error_occurred' GROUP BY 1",
    "states": "SELECT r.workflow_name, e.step_name, count(*), count(DISTINCT e.run) FROM events AS e "
    "JOIN runs AS r ON r.k = e.run WHERE e.event_type = 'step_started' GROUP BY 1, 2",
    "run_times": "SELECT workflow_name, state, duration_ms / 10000, count(*) FROM runs GROUP BY 1, 2, 3",
    "step_times": "SELECT step_name, agent_name, duration_ms / 10000, count(*) FROM steps "
    "WHERE status = 'completed' GROUP BY 1, 2, 3",
}


def turns(sides: list[Stage]) -> list[float]:
    """The median time of a turn on each side, in rounds that take turns; the first one only warms up."""
    picks = [side.picked(1) for side in sides]
    taken: list[list[float]] = [[] for _ in sides]
    for number in range(ROUNDS):
        gc.collect()
        for side, pick, times in zip(sides, picks, taken, strict=True):
            for _ in range(TURNS):
                run, began = pick(), time.perf_counter()
                side.turn(run)
                if number:
                    times.append(time.perf_counter() - began)
    return [median(times) for times in taken]


def seconds(ask: Callable[[], object]) -> float:
    """How long a question takes."""
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def all_of(database: SqliteDatabase, statement: str) -> None:
    """Ask the rows themselves."""
    database.reader().execute(statement).fetchall()


def numbers(summaries: SqlMeasures) -> dict[str, Callable[[], object]]:
    """The numbers of the dashboard."""
    return {
        "runs": summaries.runs,
        "days": lambda: summaries.days(TODAY - timedelta(days=30)),
        "steps": summaries.steps,
        "hours": lambda: summaries.hours(NOW - timedelta(hours=24)),
        "errors": lambda: summaries.errors(TODAY - timedelta(days=30)),
        "states": summaries.states,
        "run_times": summaries.run_times,
        "step_times": summaries.step_times,
    }


def main() -> None:
    """Print the figures."""
    with shelf() as folder, ExitStack() as stack:
        empty, small, large = (
            stack.enter_context(store(folder / f"{runs}.db", runs)) for runs in (0, SMALL, LARGE)
        )
        few, _, many = turns([empty, small, large])
        report("scale_turn_x_empty", many / few, 1.15)
        for side in (small, large):
            SqlMeasures(side.database).fold()
            empty_wal(side.database)
        less, more = (numbers(SqlMeasures(side.database)) for side in (small, large))
        for word, statement in PLAIN.items():
            taken = [(seconds(less[word]), seconds(more[word])) for _ in range(40)]
            small_s, large_s = (median(times) for times in zip(*taken, strict=True))
            plain = seconds(partial(all_of, large.database, statement))
            report(f"scale_{word}_x_from_{SMALL}_runs", large_s / small_s, 1.5)
            report_least(f"scale_{word}_faster_than_plain", plain / large_s, 100)


if __name__ == "__main__":
    main()
