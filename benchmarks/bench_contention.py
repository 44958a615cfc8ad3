"""Many processes on one file: is it fair, what does fairness cost, and what does a killed process leave.

Waits are told in rounds: the time in which every process has had one turn.
"""

import random
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from crowd import Crowd, Load, Told
from handrail.stores.sql.rows import extend_chain
from handrail.stores.sql.sqlite import SqliteDatabase, open_connection
from rounds import report, report_least

SECONDS = 5.0
ROUNDS = 3
CALM = 700.0
"""How many turns a second the calm load has; half of what is possible, where that is less."""
SHARE = 0.7
"""Pauses are drawn by lot: of 32 even processes the slowest has about so much of the turns of the fastest."""
KILLS = 24


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rate = _saturated(folder)
        _calm(folder, min(CALM, rate / 2))
        _killed(folder, 8 / rate)


def _saturated(folder: Path) -> float:
    """Eight processes without a pause; how many turns they take in a second."""
    fair: list[list[Told]] = []
    unfair: list[list[Told]] = []
    for number in range(ROUNDS):
        fair.append(_ran(folder / f"full{number}.db", 8, Load(SECONDS)))
        unfair.append(_ran(folder / f"plain{number}.db", 8, Load(SECONDS, plain=True)))
    rates = [_rate(answer) for answer in fair]
    shares = [min(_counts(answer)) / max(_counts(answer)) for answer in fair]
    waits = [[wait * rate / 8 for wait in _sorted(answer)] for answer, rate in zip(fair, rates, strict=True)]
    report("contention_8_errors", sum(one.errors for answer in fair for one in answer), 0)
    report("contention_8_p99_in_rounds", median(_at(some, 0.99) for some in waits), 2.7)
    report("contention_8_max_in_rounds", max(some[-1] for some in waits), 13.5)
    report_least("contention_8_slowest_x_fastest", median(shares), 0.9)
    gain = median(rates) / median(_rate(answer) for answer in unfair)
    report_least("contention_8_throughput_x_plain", gain, 0.7)
    return median(rates)


def _calm(folder: Path, rate: float) -> None:
    """Thirty-two processes that pause between their turns."""
    fair: list[list[float]] = []
    plain: list[list[float]] = []
    shares: list[float] = []
    errors = 0
    for number in range(ROUNDS):
        answer = _ran(folder / f"calm{number}.db", 32, Load(SECONDS, 32 / rate))
        fair.append(_sorted(answer))
        shares.append(min(_counts(answer)) / max(_counts(answer)))
        errors += sum(one.errors for one in answer)
        answer = _ran(folder / f"rough{number}.db", 32, Load(SECONDS, 32 / rate, plain=True))
        plain.append(_sorted(answer))
    report("contention_32_errors", errors, 0)
    for name, part in (("p99", 0.99), ("max", 1.0)):
        theirs, ours = (median(_at(waits, part) for waits in side) for side in (plain, fair))
        print(f"# 32 processes, {name}: {ours * 1e3:.1f} ms, plain {theirs * 1e3:.1f} ms")
        report_least(f"contention_32_{name}_better_than_plain", theirs / ours, 4)
    report_least("contention_32_slowest_x_fastest", median(shares), SHARE)


def _killed(folder: Path, one_round: float) -> None:
    """Processes are killed at any point of their turns, and replaced; then every run is looked at."""
    path, draw = folder / "killed.db", random.Random(1)  # noqa: S311 - no secret is drawn
    killed = 0
    waits: list[float] = []
    while killed < KILLS:
        crowd = Crowd(path, 8, Load(2.0))
        for number in range(6):
            time.sleep(draw.uniform(0.05, 0.2))
            crowd.kill(number)
            killed += 1
        waits += _sorted(crowd.told())
    report("killed_inconsistent_runs", _inconsistent(path), 0)
    report("killed_survivors_max_in_rounds", max(waits) / one_round, 13.5)


def _ran(path: Path, count: int, load: Load) -> list[Told]:
    SqliteDatabase(path).close()
    return Crowd(path, count, load).told()


def _inconsistent(path: Path) -> int:
    """How many runs do not stand where their journal says; the whole file counts as one."""
    connection = open_connection(path)
    wrong = int(connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)])
    wrong += len(connection.execute("PRAGMA foreign_key_check").fetchall())
    opened = "(SELECT max(number) FROM steps WHERE run = k)"
    asked = f"SELECT k, revision, chain, {opened}, record ->> '$.steps' FROM runs"  # noqa: S608 - ours
    for key, revision, chain, steps, recorded in connection.execute(asked).fetchall():
        found = b""
        for turn in range(1, revision + 1):
            lines = connection.execute(
                "SELECT event_type, revision, step_name, agent_name, metadata, created_at FROM events "
                "WHERE run = ? AND revision = ? ORDER BY id",
                (key, turn),
            ).fetchall()
            found = extend_chain(found, lines)
        wrong += found != chain or steps != recorded
    connection.close()
    return wrong


def _counts(answer: Iterable[Told]) -> list[int]:
    return [len(one.taken) for one in answer]


def _rate(answer: Iterable[Told]) -> float:
    return sum(_counts(answer)) / SECONDS


def _sorted(answer: Iterable[Told]) -> list[float]:
    return sorted(wait for one in answer for wait in one.taken)


def _at(waits: list[float], part: float) -> float:
    return waits[min(int(len(waits) * part), len(waits) - 1)]


if __name__ == "__main__":
    main()
