"""Three servers on one PostgreSQL database, 64 clients, and everything dies now and then: nothing is lost."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import pytest

from helpers.crash import Record
from helpers.postgres import PostgresServer, run_private_server
from helpers.program import run_handrail
from helpers.replicas import (
    PAIR,
    STEPS,
    Client,
    Errand,
    ReplicaSet,
    StoredRun,
    Tally,
    count_unacknowledged_runs,
    find_errors,
    read_stored_runs,
    run_errands,
    run_replica_set,
)
from helpers.servers import ERAS, create_place

RUNS: Final = 2000
CLIENTS: Final = 64
REPLICAS: Final = 3
KILLS: Final = 6
BREAKS: Final = ("fast", "immediate", "immediate", "kill")
SEED: Final = 20261


class Chaos:
    """What kills servers and breaks the database, each kind one after the other, in threads."""

    def __init__(self, served: ReplicaSet, postgres: PostgresServer, random: Random) -> None:
        self._served, self._postgres = served, postgres
        self.done = Counter[str]()
        kills = [partial(self._kill, random.randrange(REPLICAS)) for _ in range(KILLS)]
        breaks = [partial(self._break, how) for how in random.sample(BREAKS, len(BREAKS))]
        calls = RUNS * (1 + STEPS)
        self._queues = [asyncio.Queue[Callable[[], None]]() for _ in (kills, breaks)]
        acts = [
            (queue, act) for queue, some in zip(self._queues, (kills, breaks), strict=True) for act in some
        ]
        self.moments: dict[int, Callable[[], None]] = {
            moment: partial(queue.put_nowait, act)
            for moment, (queue, act) in zip(
                random.sample(range(calls // 50, calls - calls // 50), len(acts)), acts, strict=True
            )
        }

    async def run(self) -> None:
        counts = (KILLS, len(BREAKS))
        await asyncio.gather(*map(self._act, self._queues, counts))

    async def _act(self, queue: asyncio.Queue[Callable[[], None]], count: int) -> None:
        for _ in range(count):
            await asyncio.to_thread(await queue.get())

    def _kill(self, number: int) -> None:
        self._served.kill(number)
        self.done["kill -9 of a replica"] += 1

    def _break(self, how: str) -> None:
        if how == "kill":
            self._postgres.kill()
            self._postgres.start()
        else:
            self._postgres.restart("fast" if how == "fast" else "immediate")
        self.done[f"PostgreSQL: {how}"] += 1


@pytest.mark.unmeasured
def test_of_2000_runs_through_replicas_that_die_on_a_database_that_dies_no_step_is_lost_or_doubled(
    on_disk: Path, record_property: Record
) -> None:
    at = create_place(on_disk / "place", measured=False, pair=PAIR)
    random = Random(SEED)  # noqa: S311 - what happens when is to be the same each time
    errands = [Errand(f"errand {number}") for number in range(RUNS)]
    with run_private_server(fsync=True) as postgres:
        url = postgres.create_database()
        with run_replica_set(at, url, REPLICAS) as served:

            async def through() -> tuple[Tally, Chaos]:
                chaos = Chaos(served, postgres, random)
                tally = Tally(chaos.moments)
                clients = [Client(served, ERAS[number % 2], random, tally) for number in range(CLIENTS)]
                await asyncio.gather(run_errands(clients, errands), chaos.run())
                return tally, chaos

            tally, chaos = asyncio.run(through())
        checked = run_handrail("store", "check", "--store", url, HOME=at.env["HOME"])
        stored = read_stored_runs(url)

    assert (checked.status, checked.err) == (0, "no damage\n"), checked.out
    assert list(find_errors(errands, stored)) == []
    assert "incident" not in served.text, served.text
    assert sum(chaos.done.values()) == KILLS + len(BREAKS)
    assert tally.acknowledged == RUNS * (1 + STEPS)
    record_property("points", tally.acknowledged)
    record_property("table", "\n".join(_table(errands, stored, tally, chaos, served)))


def _table(
    errands: list[Errand], stored: dict[str, StoredRun], tally: Tally, chaos: Chaos, served: ReplicaSet
) -> list[str]:
    answer = {
        "runs": len(errands),
        "calls sent": tally.sent,
        "calls acknowledged": tally.acknowledged,
        "steps acknowledged": sum(len(errand.done) for errand in errands),
        "calls sent again": tally.repeats,
        "because nobody answered": tally.unanswered,
        **{f"because of {code}": count for code, count in sorted(tally.faults.items())},
        **dict(sorted(chaos.done.items())),
        "replicas that came up too early": served.failed_starts,
        "runs whose start was not acknowledged": count_unacknowledged_runs(errands, stored),
    }
    return [f"{count:>6} {what}" for what, count in answer.items()]


DONE: Final = Errand("errand 1", 2, "a", ["x", "y"])
GOOD: Final = StoredRun("errand 1", "completed", 3, ["x", "y"], ["x", "y"], 2, [1, 2, 3])
UNHEARD: Final = StoredRun("errand 1", "running", 1, [], [], 0, [1])


def test_what_was_acknowledged_and_is_there_once_is_well() -> None:
    assert list(find_errors([DONE], {"a": GOOD})) == []
    assert list(find_errors([DONE], {"a": GOOD, "b": UNHEARD})) == []
    assert count_unacknowledged_runs([DONE], {"a": GOOD, "b": UNHEARD}) == 1


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ({}, "its run 'a' is not there"),
        ({"a": replace(GOOD, steps=["x"])}, "steps ['x'] instead of ['x', 'y']"),
        ({"a": replace(GOOD, steps=["x", "x", "y"])}, "steps ['x', 'x', 'y'] instead of ['x', 'y']"),
        ({"a": replace(GOOD, steps=["y", "x"])}, "steps ['y', 'x'] instead of ['x', 'y']"),
        ({"a": replace(GOOD, artifacts=["x", "y", "y"])}, "artifacts ['x', 'y', 'y'] instead of ['x', 'y']"),
        ({"a": replace(GOOD, completed=3)}, "completed 3 instead of 2"),
        ({"a": replace(GOOD, revision=4)}, "revision 4 instead of 3"),
        ({"a": replace(GOOD, turns=[1, 3])}, "turns [1, 3] instead of [1, 2, 3]"),
        ({"a": replace(GOOD, lifecycle="running")}, "lifecycle 'running' instead of 'completed'"),
        ({"a": replace(GOOD, goal="errand 2")}, "goal 'errand 2' instead of 'errand 1'"),
        (
            {"a": GOOD, "b": UNHEARD, "c": UNHEARD},
            "2 runs that nobody was told of, of 1 repeated starts",
        ),
        (
            {"a": GOOD, "b": replace(UNHEARD, revision=2, turns=[1, 2])},
            "a run that nobody was told of has moved",
        ),
    ],
)
def test_a_step_that_is_lost_or_doubled_is_found(kept: dict[str, StoredRun], said: str) -> None:
    assert list(find_errors([DONE], kept)) == [f"errand 1: {said}"]
