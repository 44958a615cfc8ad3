"""Many writers on one PostgreSQL server: how many turns they take in a second, and how long the slowest wait.

Each writer is a process with runs of its own. Behind them, servers of ours over HTTP that share a database.
`HANDRAIL_BENCH_SECONDS` makes the rounds shorter, to try the benchmark out.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from bench_http import RING, Agent, listening, started
from crowd import Crowd, Load, Told
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.database import PgDatabase
from load import NEW, Client, Place, Taken, clients, driven
from rounds import report, report_least
from servers import PostgresServer, confirming, processor

SECONDS: Final = float(os.environ.get("HANDRAIL_BENCH_SECONDS", "10"))
WRITERS: Final = (1, 4, 16, 64)
REPLICAS: Final = (1, 2, 3)
CLIENTS: Final = 32
ROUNDS: Final = 5


def ran(server: PostgresServer, count: int) -> list[Told]:
    """What so many writers saw."""
    with server.lend_database() as url:
        PgDatabase(DatabaseUrl(url)).close()
        return Crowd(DatabaseUrl(url), count, Load(SECONDS)).told()


def told(count: int, seen: Sequence[Told]) -> float:
    """Print how it went with so many writers; the turns they took in a second."""
    waits = quantiles([wait for one in seen for wait in one.taken], n=1000)
    counts = [len(one.taken) for one in seen]
    rate, share = sum(counts) / SECONDS, min(counts) / max(counts)
    half, most, worst = (waits[at] * 1e3 for at in (499, 989, 998))
    print(
        f"pg_writers {count}: {rate:.0f} turns/s, p50 {half:.1f} ms, p99 {most:.1f} ms, p99.9 {worst:.1f} ms,"
        f" slowest x fastest {share:.2f}"
    )
    if count == max(WRITERS):
        report("pg_64_errors", sum(one.errors for one in seen), 0)
        report("pg_64_p99_x_median", waits[989] / waits[499], 10)
        report_least("pg_64_slowest_x_fastest", share, 0.5)
    return rate


def writers(server: PostgresServer) -> None:
    """Print the figures of writers that go past HTTP."""
    rates = [told(count, ran(server, count)) for count in WRITERS]
    report_least("pg_64_writers_throughput_x_4", rates[-1] / rates[1], 0.9)


async def served(places: Sequence[Place]) -> list[list[Taken]]:
    """What the rounds took with one server, with two and with all of them; they take turns.

    The first round of each only warms up.
    """
    sides = [await agents(places[:count]) for count in REPLICAS]
    taken: list[list[Taken]] = [[] for _ in REPLICAS]
    for _ in range(ROUNDS + 1):
        for (some, walking), times in zip(sides, taken, strict=True):
            for client in some:
                await client.close()
                await client.connected()
            one = await driven([agent.step for agent in walking], SECONDS / 5)
            times.append(one)
    return taken


async def agents(places: Sequence[Place]) -> tuple[list[Client], list[Agent]]:
    """Clients of these servers, as many of each, and an agent with a run of its own for each client."""
    some = [(await clients(places[at % len(places)], NEW, 1))[0] for at in range(CLIENTS)]
    walking = [Agent(client) for client in some]
    for agent in walking:
        await agent.start()
    return some, walking


def replicas(server: PostgresServer, folder: Path) -> None:
    """Print the figures of servers over HTTP that share one database."""
    shelf = folder / "project" / ".handrail" / "workflows"
    shelf.mkdir(parents=True)
    (shelf / "ring.yaml").write_text(RING, "utf-8")
    with server.lend_database() as url, ExitStack() as open_:
        env = {**os.environ, "HOME": str(folder), "HANDRAIL_STORE": url}
        words = (sys.executable, "-m", "handrail", "serve", "--project", str(folder / "project"))
        running = [
            open_.enter_context(started((*words, "--http", "127.0.0.1:0"), env, str(folder)))
            for _ in range(max(REPLICAS))
        ]
        places = [listening(one) for one in running]
        ours = [one.pid for one in running]
        before = processor(ours), processor(server.processes())
        taken = asyncio.run(served(places))
        spent = [
            now - then
            for now, then in zip((processor(ours), processor(server.processes())), before, strict=True)
        ]
    steps = sum(len(one.times) for rounds in taken for one in rounds)
    here, there = (seconds / steps * 1e6 for seconds in spent)
    print(f"pg_http_processor: {here:.0f} us in a replica, {there:.0f} us at the server")
    compared([rounds[1:] for rounds in taken])


def compared(taken: Sequence[Sequence[Taken]]) -> None:
    """Print how many steps one server takes in a second, and more of them."""
    for count, rounds in zip(REPLICAS, taken, strict=True):
        rate, half, most = (
            median(one.rate for one in rounds),
            median(one.at(50) for one in rounds),
            median(one.at(99) for one in rounds),
        )
        print(f"pg_replicas {count}: {rate:.0f} steps/s over HTTP, p50 {half:.1f} ms, p99 {most:.1f} ms")
    gains = [last.rate / first.rate for first, last in zip(taken[0], taken[-1], strict=True)]
    report_least("pg_3_replicas_throughput_x_1", median(gains), 0.9)


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name, confirming() as server:
        writers(server)
        replicas(server, Path(name))


if __name__ == "__main__":
    main()
