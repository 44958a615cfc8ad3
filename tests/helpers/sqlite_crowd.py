"""Many processes on one SQLite file.

Run as a program: `python -m helpers.sqlite_crowd <what> <file> <numbers…>`.
It forks while it has one thread and nothing open; all children begin at once, and each tells one JSON value.
"""

import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias
from uuid import UUID

from msgspec.structs import replace

from handrail.engine.model import Event
from handrail.engine.refusals import RefusalCode
from handrail.runtime.errors import Fault
from handrail.runtime.journal import get_run_after
from handrail.runtime.records import Turn
from handrail.runtime.status import recover_run
from handrail.runtime.turn import Call, take_turn
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.sql.schema import Execute
from handrail.stores.sql.sqlite import SqliteDatabase, SqliteFaults
from helpers.crash import prepare_to_fork
from helpers.stores import build_first_turn, build_next_turn
from helpers.turns import ENDLESS, TurnHarness, load_pinned

ProcessReport: TypeAlias = dict[str, Any]
KILLS: Final = 16
_PEOPLE: Final = 4


class NoTurnstile(SqliteDatabase):
    """What the turnstile is for: here nobody waits, and a transaction only becomes a writing one later."""

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        with SqliteFaults(self.path):
            self.writer_connection().execute("PRAGMA busy_timeout = 50")
            self.writer_connection().execute("BEGIN")
            try:
                yield self.writer_connection().execute
                self.writer_connection().execute("COMMIT")
            except BaseException:
                if self.writer_connection().in_transaction:
                    self.writer_connection().execute("ROLLBACK")
                raise


class NoRevision(SqliteRuns):
    """What the revision is for: here a turn is saved whatever was saved since it was decided."""

    def commit(self, turn: Turn) -> bool:
        with self.database.turnstile.pass_through():
            now = self.load(turn.run.id)
            revision = now.revision if now else 0
            return super().commit(replace(turn, before=replace(turn.before, revision=revision)))


STORES: Final[dict[str, Callable[[Path], SqliteRuns]]] = {
    "real": lambda file: SqliteRuns(SqliteDatabase(file)),
    "no turnstile": lambda file: SqliteRuns(NoTurnstile(file)),
    "no revision": lambda file: NoRevision(SqliteDatabase(file)),
}


def run_together(count: int, work: Callable[[int], ProcessReport]) -> list[ProcessReport]:
    """What each of so many processes tells; they begin at once."""
    gate, go = os.pipe()
    ends = [_forked(number, work, (gate, go)) for number in range(count)]
    os.close(gate)
    os.close(go)
    answer = []
    for child, end in ends:
        with os.fdopen(end) as said:
            answer.append(json.loads(said.read() or '{"error": "it died"}'))
        os.waitpid(child, 0)
    return answer


def _forked(number: int, work: Callable[[int], ProcessReport], pipe: tuple[int, int]) -> tuple[int, int]:
    end, mine = os.pipe()
    child = os.fork()
    if child:
        os.close(mine)
        return child, end
    os.close(pipe[1])
    os.read(pipe[0], 1)
    try:
        answer = work(number)
    except (Fault, sqlite3.Error, KeyError, ValueError, OSError) as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    os.write(mine, json.dumps(answer).encode())
    os._exit(0)


def open_together(file: Path, number: int) -> ProcessReport:
    """One of many that open a new file at the same time."""
    store = STORES["real"](file)
    key = store.load_token_key().hex()
    store.database.close()
    return {"key": key, "number": number}


def contend_for_run(file: Path, run: str, last: int, kind: str, number: int) -> ProcessReport:
    """One of many that move the same run with tokens, until it has come to its last revision."""
    runs = STORES[kind](file)
    harness = TurnHarness(runs)
    harness.ids.nonces = number << 32
    world, accepted = harness.world, list[int]()
    call = Call(run, Event("go"), only_if=lambda stored: stored.revision < last)
    said: ProcessReport = dict(recover_run(world, run, harness.render))
    while said["revision"] < last:
        said = dict(take_turn(world, replace(call, token=said["token"]), harness.render))
        if said["status"] == "ok":
            accepted.append(said["revision"])
        elif said["code"] in {RefusalCode.SUPERSEDED, RefusalCode.ALREADY_USED}:
            said = dict(recover_run(world, run, harness.render))
    runs.database.close()
    return {"accepted": accepted}


def saturate_store(file: Path, seconds: float, round_: int, number: int) -> ProcessReport:
    """One of many that save turns of runs of their own, without a pause; when each was saved."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    runs = STORES["real"](file)
    turn = build_first_turn(str(UUID(int=(round_ << 32) + number)))
    times = [time.monotonic()]
    while runs.commit(turn) and times[-1] < times[0] + seconds:
        times.append(time.monotonic())
        turn = build_next_turn(get_run_after(turn))
    runs.database.close()
    return {"times": times}


def write_forever(file: Path, mine: int, number: int) -> None:
    """Move a run of its own for ever, and say each revision once it is acknowledged."""
    harness = TurnHarness(STORES["real"](file))
    harness.ids.runs = number << 32
    said = harness.start(load_pinned(ENDLESS))
    while True:
        os.write(mine, f"{said['run']} {said['revision']}\n".encode())
        said = harness.send(said["run"], "go")


def kill_writers(file: Path) -> dict[str, int]:
    """Kill writers in the middle of their work, each at another point; what each run was last heard to be."""
    heard: dict[str, int] = {}
    living = [_writer(file, number) for number in range(_PEOPLE)]
    for number in range(KILLS):
        child, said = living.pop(0)
        for _ in range(3 + number):
            _hear(said.readline(), heard)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for line in said:
            _hear(line, heard)
        said.close()
        if number < KILLS - _PEOPLE:
            living.append(_writer(file, _PEOPLE + number))
    return heard


def _hear(line: str, heard: dict[str, int]) -> None:
    if line.endswith("\n"):
        run, revision = line.split()
        heard[run] = int(revision)


def _writer(file: Path, number: int) -> tuple[int, Any]:
    end, mine = os.pipe()
    child = os.fork()
    if child:
        os.close(mine)
        return child, os.fdopen(end)
    os.close(end)
    write_forever(file, mine, number)
    os._exit(1)


def main(words: Sequence[str]) -> object:
    """What came of it."""
    what, file, *rest = words
    path = Path(file)
    match what, rest:
        case "open", [count]:
            return run_together(int(count), partial(open_together, path))
        case "contend", [count, run, last, kind]:
            return run_together(int(count), partial(contend_for_run, path, run, int(last), kind))
        case "saturate", [count, seconds, round_]:
            return run_together(int(count), partial(saturate_store, path, float(seconds), int(round_)))
        case "kill", []:
            return kill_writers(path)
        case _:
            raise ValueError(words)


if __name__ == "__main__":
    prepare_to_fork()
    sys.stdout.write(json.dumps(main(sys.argv[1:])))
