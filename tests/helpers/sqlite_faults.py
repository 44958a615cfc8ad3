"""One turn on SQLite, broken at every counted system call. Run below the shim of faulty_disk.py as a program.

`python -m helpers.sqlite_faults <what> <folder>`: each try is a forked child on a fresh copy of the same
store; the parent looks at what is left with nothing broken. What is wrong is told as JSON, with what was
counted.
"""

import errno
import hashlib
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from handrail.engine.model import Event
from handrail.runtime.errors import Fault, SyncFailed
from handrail.runtime.turn import Call, take_turn
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers import faulty_disk
from helpers.crash import digest_folder, prepare_to_fork
from helpers.sql_rows import find_unsound_rows
from helpers.turns import ENDLESS, TurnHarness, load_pinned

BEFORE: Final = 3
"""The revision that the run is at before the turn."""


@dataclass
class FaultBench:
    """A folder to break things in, and what came of it."""

    folder: Path
    control: Path
    run: str = ""
    points: int = 0
    wrong: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    revisions: dict[tuple[bool, bytes], int] = field(default_factory=dict)
    """The revision in every store that was inspected, by what was acknowledged and the bytes of its files."""

    @property
    def file(self) -> Path:
        return self.folder / "now" / "handrail.db"

    def copied(self, source: str) -> None:
        """Begin with what is in another folder."""
        shutil.rmtree(self.folder / "now", ignore_errors=True)
        shutil.copytree(self.folder / source, self.folder / "now")

    def whole(self) -> None:
        """Nothing is broken."""
        faulty_disk.arm_fault(self.control, 0)

    def counted(self, work: Callable[[], str], kinds: Sequence[str] = faulty_disk.KINDS) -> int:
        """How many calls the work makes when nothing is broken."""
        faulty_disk.arm_fault(self.control, 0, kinds=kinds)
        run_in_child(work)
        return faulty_disk.read_call_count(self.control)


def run_in_child(work: Callable[[], str]) -> str:
    """What the work tells, done in a process of its own; nothing if that was killed first."""
    end, mine = os.pipe()
    process = os.fork()
    if process:
        os.close(mine)
        with os.fdopen(end) as said:
            answer = said.read()
        os.waitpid(process, 0)
        return answer
    os.close(end)
    try:
        answer = work()
    except (OSError, sqlite3.Error, Fault) as error:
        answer = f"{type(error).__name__}: {error}"
    os.write(mine, answer.encode())
    os._exit(0)


def take_one_turn(bench: FaultBench, *, again: bool = False) -> str:
    """Open, and take a turn; `again`: after a fault, once more with nothing broken."""
    try:
        runs = SqliteRuns(SqliteDatabase(bench.file))
    except Fault as fault:
        return f"not opened {type(fault).__name__}"
    harness = TurnHarness(runs)
    call = Call(bench.run, Event("go"))
    try:
        said: dict[str, Any] = dict(take_turn(harness.world, call, harness.render))
        answer = f"ok {said['revision']}"
    except Fault as fault:
        answer = f"refused {type(fault).__name__}"
        if again:
            bench.whole()
            answer += f", then {_once_more(harness, call)}"
    return answer


def _once_more(harness: TurnHarness, call: Call) -> str:
    """What comes of the same call with nothing broken; a process that doubts its disk takes none."""
    try:
        return str(take_turn(harness.world, call, harness.render)["revision"])
    except SyncFailed:
        return "no more"


def open_and_close(bench: FaultBench) -> str:
    """Open, look, and close."""
    runs = SqliteRuns(SqliteDatabase(bench.file))
    stored = runs.load(bench.run) if bench.run else None
    runs.database.close()
    return f"at {stored.revision if stored else 0}"


def inspect_store(bench: FaultBench, point: str, said: str) -> int:
    """Note what is wrong with the store as it was left; `said` is what was acknowledged. The revision.

    Four of five kills leave the same bytes as an earlier one. These files are not opened again.
    """
    bench.points += 1
    left = (said.startswith("ok"), digest_folder(bench.file.parent))
    if left not in bench.revisions:
        bench.revisions[left] = _inspect_files(bench, point, said)
    return bench.revisions[left]


def _inspect_files(bench: FaultBench, point: str, said: str) -> int:
    runs = SqliteRuns(SqliteDatabase(bench.file))
    stored = runs.load(bench.run)
    revision = stored.revision if stored else 0
    if revision not in ({BEFORE + 1} if said.startswith("ok") else {BEFORE, BEFORE + 1}):
        bench.wrong.append(f"{point}: at {revision} after {said!r}")
    bench.wrong += [f"{point}: {found}" for found in find_unsound_rows(runs, bench.run)]
    check = runs.database.reader().execute("PRAGMA integrity_check").fetchall()
    if check != [("ok",)]:
        bench.wrong.append(f"{point}: {check}")
    runs.database.close()
    return revision


def prepare_store(bench: FaultBench) -> None:
    """A store with a run, as it is while a server has it open: with a log that is not yet in the file."""
    bench.copied("empty")
    runs = SqliteRuns(SqliteDatabase(bench.file))
    harness = TurnHarness(runs)
    bench.run = harness.start(load_pinned(ENDLESS))["run"]
    for _ in range(BEFORE - 1):
        harness.send(bench.run, "go")
    shutil.copytree(bench.folder / "now", bench.folder / "start")
    runs.database.close()


def kill_turn(bench: FaultBench) -> None:
    """Kill at every call of a turn, and from each state that leaves, at every call of the reopening."""
    prepare_store(bench)
    bench.copied("start")
    seen: set[str] = set()
    for k in range(1, bench.counted(lambda: take_one_turn(bench)) + 1):
        bench.copied("start")
        faulty_disk.arm_fault(bench.control, k, kill=True)
        said = run_in_child(lambda: take_one_turn(bench))
        bench.whole()
        shutil.rmtree(bench.folder / "crashed", ignore_errors=True)
        shutil.copytree(bench.folder / "now", bench.folder / "crashed")
        left = _shape(bench.folder / "crashed", inspect_store(bench, f"call {k}", said))
        if left not in seen:
            seen.add(left)
            kill_reopening(bench, k, said)


def kill_reopening(bench: FaultBench, k: int, said: str) -> None:
    bench.copied("crashed")
    for k2 in range(1, bench.counted(lambda: open_and_close(bench)) + 1):
        bench.copied("crashed")
        faulty_disk.arm_fault(bench.control, k2, kill=True)
        run_in_child(lambda: open_and_close(bench))
        bench.whole()
        inspect_store(bench, f"call {k}, then {k2}", said)


def _shape(folder: Path, revision: int) -> str:
    """What a crash left, as far as a recovery can tell: files, database, what the log is worth."""
    data = (folder / "handrail.db").read_bytes()
    names = sorted(file.name for file in folder.iterdir())
    return f"{names} {hashlib.sha256(data).hexdigest()} {revision}"


def kill_opening(bench: FaultBench) -> None:
    """Kill at every call of making a new store; the next one to open it finishes the work."""
    bench.copied("empty")
    for k in range(1, bench.counted(lambda: open_and_close(bench)) + 1):
        bench.copied("empty")
        faulty_disk.arm_fault(bench.control, k, kill=True)
        run_in_child(lambda: open_and_close(bench))
        bench.whole()
        bench.points += 1
        runs = SqliteRuns(SqliteDatabase(bench.file))
        if TurnHarness(runs).start(load_pinned(ENDLESS))["status"] != "ok":
            bench.wrong.append(f"call {k}: no run can be started")
        runs.database.close()


def fail_calls(bench: FaultBench, number: int, kind: str, *, lasting: bool = False) -> None:
    """Let every call of this kind fail, once or from then on; what the caller was told each time."""
    prepare_store(bench)
    bench.copied("start")
    kinds = (kind,)
    for k in range(1, bench.counted(lambda: take_one_turn(bench), kinds) + 1):
        bench.copied("start")
        faulty_disk.arm_fault(bench.control, k, errno=number, kinds=kinds, lasting=lasting)
        said = run_in_child(lambda: take_one_turn(bench, again=not lasting))
        bench.whole()
        bench.told.append(said)
        inspect_store(bench, f"{kind} {k}", said if said.startswith("ok") else "")


def count_fsyncs(bench: FaultBench) -> None:
    """Count what the disk confirms while turns are taken on a store that is open."""
    prepare_store(bench)
    harness = TurnHarness(runs := SqliteRuns(SqliteDatabase(bench.file)))
    harness.send(bench.run, "go")
    faulty_disk.arm_fault(bench.control, 0, kinds=("fsync",))
    for _ in range(3):
        harness.send(bench.run, "go")
    bench.told.append(f"3 turns, {faulty_disk.read_call_count(bench.control)} fsyncs")
    faulty_disk.arm_fault(bench.control, 0, kinds=("fsync",))
    with runs.database.batch_commits():
        for _ in range(3):
            harness.send(bench.run, "go")
        bench.told.append(f"3 together, {faulty_disk.read_call_count(bench.control)} fsyncs yet")
    bench.told.append(f"then {faulty_disk.read_call_count(bench.control)}")
    bench.points = 6


def refuse_confirmation(bench: FaultBench) -> None:
    """Let the disk not confirm turns taken together; the first two calls are for a log that begins anew."""
    prepare_store(bench)
    bench.copied("start")
    bench.told.append(run_in_child(lambda: _together(bench)))
    bench.whole()
    bench.points = inspect_store(bench, "together", "")


def _together(bench: FaultBench) -> str:
    harness = TurnHarness(runs := SqliteRuns(SqliteDatabase(bench.file)))
    call = Call(bench.run, Event("go"))
    faulty_disk.arm_fault(bench.control, 3, errno=errno.EIO, kinds=("fsync",))
    try:
        with runs.database.batch_commits():
            take_turn(harness.world, call, harness.render)
    except SyncFailed as fault:
        bench.whole()
        return f"{fault.message.partition('`')[0]}, then {_once_more(harness, call)}"
    return "confirmed"


def main(words: Sequence[str]) -> Iterator[tuple[str, object]]:
    """What was found."""
    what, folder = words
    bench = FaultBench(Path(folder), Path(os.environ["FAULTS_CONTROL"]))
    (bench.folder / "empty").mkdir(mode=0o700)
    match what:
        case "killed turn":
            kill_turn(bench)
        case "killed opening":
            kill_opening(bench)
        case "fsyncs":
            count_fsyncs(bench)
        case "unconfirmed":
            refuse_confirmation(bench)
        case _:
            name, kind, *lasting = what.split()
            fail_calls(bench, getattr(errno, name), kind, lasting=bool(lasting))
    yield from {"points": bench.points, "wrong": bench.wrong, "told": bench.told}.items()


if __name__ == "__main__":
    prepare_to_fork()
    assert sqlite3.threadsafety
    sys.stdout.write(json.dumps(dict(main(sys.argv[1:]))))
