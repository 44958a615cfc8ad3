"""Files that were damaged, locked or taken away: what is left fits together, what is wrong has a name."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from handrail.runtime.errors import Busy, Fault, Unreadable
from handrail.runtime.journal import get_run_after
from helpers.cleanup import close_later
from helpers.crash import Record
from helpers.sql_rows import find_unsound_rows
from helpers.stores import RUN, build_first_turn, build_next_turn, save_turns
from helpers.turns import ENDLESS, ORIGIN, TurnHarness, load_pinned, open_sqlite

TURNS = 12


@pytest.fixture
def crashed(tmp_path: Path) -> tuple[Path, str]:
    """What a process leaves that dies after some turns, and the run it took them on."""
    runs = open_sqlite(tmp_path / "live")
    harness = TurnHarness(runs)
    run = str(harness.start(load_pinned(ENDLESS))["run"])
    for _ in range(TURNS - 1):
        harness.send(run, "go")
    shutil.copytree(tmp_path / "live", tmp_path / "crashed")
    runs.database.close()
    return tmp_path / "crashed", run


def _damages(size: int) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Ways to damage the log: cut off, a bit turned over, or a stretch of nothing."""
    for at in range(0, size, size // 40):
        yield f"cut at {at}", partial(_cut, at=at)
        yield f"bit at {at}", partial(_turn_over, at=at)
        yield f"nothing at {at}", partial(_put, at=at, data=bytes(min(4096, size - at)))


def _cut(file: Path, at: int) -> None:
    with file.open("r+b") as opened:
        opened.truncate(at)


def _turn_over(file: Path, at: int) -> None:
    _put(file, at, bytes([file.read_bytes()[at] ^ 1]))


def _put(file: Path, at: int, data: bytes) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(data)


def _left(folder: Path, run: str) -> tuple[int, list[str]]:
    """The revision that is still there, and what is wrong with it; the run goes on from there."""
    runs = open_sqlite(folder)
    stored = runs.load(run)
    wrong = find_unsound_rows(runs, run) if stored else []
    wrong += [str(row) for row in runs.database.reader().execute("PRAGMA integrity_check") if row != ("ok",)]
    if stored and TurnHarness(runs).send(run, "go")["status"] != "ok":
        wrong.append("it does not go on")
    runs.database.close()
    return stored.revision if stored else 0, wrong


def test_a_damaged_log_costs_the_turns_behind_the_damage_and_no_other(
    crashed: tuple[Path, str], tmp_path: Path, record_property: Record
) -> None:
    folder, run = crashed
    name = "store/handrail.db-wal"
    damages = list(_damages((folder / name).stat().st_size))
    found: dict[str, int] = {}
    for what, damage in damages:
        shutil.rmtree(tmp_path / "now", ignore_errors=True)
        shutil.copytree(folder, tmp_path / "now")
        damage(tmp_path / "now" / name)
        found[what], wrong = _left(tmp_path / "now", run)
        assert wrong == [], what

    assert set(found.values()) >= {0, TURNS - 1}
    assert max(found.values()) <= TURNS
    cuts = [revision for what, revision in found.items() if what.startswith("cut")]
    assert cuts == sorted(cuts)
    record_property("points", len(damages))


@pytest.mark.parametrize("name", ["handrail.db-shm", "handrail.db.queue", "handrail.db.service"])
def test_a_file_that_holds_no_turn_may_be_taken_away(crashed: tuple[Path, str], name: str) -> None:
    folder, run = crashed
    (folder / "store" / name).unlink()

    assert _left(folder, run) == (TURNS, [])


def test_a_database_whose_pages_are_damaged_is_named_with_its_repair(tmp_path: Path) -> None:
    runs = open_sqlite(tmp_path)
    save_turns(runs, 40)
    runs.database.close()
    file = tmp_path / "store" / "handrail.db"
    _put(file, 4096, b"\xff" * (file.stat().st_size - 4096))

    with pytest.raises(Unreadable, match="is no sound database") as caught:
        _left(tmp_path, RUN)
    assert "restore a backup" in caught.value.repair


def test_a_file_that_another_program_keeps_locked_is_busy(tmp_path: Path) -> None:
    runs = open_sqlite(tmp_path)
    stored = save_turns(runs, 1)
    runs.database.writer_connection().execute("PRAGMA busy_timeout = 10")
    other = close_later(sqlite3.connect(runs.database.path, isolation_level=None))
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(Busy, match="locked by another program") as caught:
        runs.commit(build_next_turn(stored))
    assert caught.value.repair == "close what has it open, then try again"
    assert runs.load(RUN) == stored
    other.execute("ROLLBACK")
    assert runs.commit(build_next_turn(stored))


def test_what_reads_cannot_write(tmp_path: Path) -> None:
    runs = open_sqlite(tmp_path)
    save_turns(runs, 1)

    with pytest.raises(Fault), runs.database.read() as execute:
        execute("DELETE FROM replies", ())


def test_a_run_may_belong_to_no_project(tmp_path: Path) -> None:
    runs = open_sqlite(tmp_path)
    turn = build_first_turn(before=replace(build_first_turn().before, origin=replace(ORIGIN, project="")))

    assert runs.commit(turn)
    assert runs.load(RUN) == get_run_after(turn)
    assert runs.database.reader().execute("SELECT count(*) FROM projects").fetchone() == (0,)
