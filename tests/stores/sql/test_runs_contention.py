"""Many processes on one file: each turn is taken once, nobody starves, and a kill costs nobody else."""

from pathlib import Path
from typing import Any

import pytest

from handrail.stores.sql.runs import SqliteRuns
from helpers.crash import Record
from helpers.requirement import requirement
from helpers.sql_rows import find_unsound_rows
from helpers.sqlite_crowd import KILLS
from helpers.store_programs import run_sqlite_crowd
from helpers.turns import ENDLESS, TurnHarness, load_pinned, open_sqlite

pytestmark = pytest.mark.unmeasured
CONTENDED = 400


def wrongs(runs: SqliteRuns, run: str, answer: list[dict[str, Any]], turns: int) -> list[str]:
    """What is wrong after so many contended turns on a run that had been started."""
    found = sorted({str(one["error"]) for one in answer if "error" in one})
    accepted = sorted(revision for one in answer for revision in one.get("accepted", []))
    if accepted != list(range(2, turns + 2)):
        found.append(f"{len(accepted)} accepted, {len(set(accepted))} revisions")
    found += find_unsound_rows(runs, run)
    stored = runs.load(run)
    if stored is None or stored.revision != turns + 1:
        found.append(f"the run is at {stored.revision if stored else 0}")
    return found


@pytest.fixture
def started(on_disk: Path) -> tuple[SqliteRuns, str]:
    runs = open_sqlite(on_disk)
    return runs, str(TurnHarness(runs).start(load_pinned(ENDLESS))["run"])


@requirement("steps:token.once", "steps:db.tx")
def test_64_processes_move_one_run_400_times_and_not_once_more(
    started: tuple[SqliteRuns, str], record_property: Record
) -> None:
    runs, run = started
    answer = run_sqlite_crowd("contend", runs.database.path, 64, run, CONTENDED + 1, "real")

    assert wrongs(runs, run, answer, CONTENDED) == []
    record_property("points", sum(len(one["accepted"]) for one in answer))


@pytest.mark.parametrize("kind", ["no turnstile", "no revision"])
def test_a_store_without_one_of_its_two_locks_is_found_out(
    started: tuple[SqliteRuns, str], kind: str
) -> None:
    runs, run = started
    answer = run_sqlite_crowd("contend", runs.database.path, 8, run, 41, kind)

    assert wrongs(runs, run, answer, 40) != []


def test_of_processes_that_write_without_pause_none_starves(on_disk: Path) -> None:
    """A bound for liveness, not for speed: without the turnstile the slowest gets a hundredth.

    What else the machine does to one of them evens out with time, so that each round is longer than the last.
    """
    file = on_disk / "store" / "handrail.db"
    found: list[list[int]] = []
    for round_, seconds in enumerate((1.5, 3, 6, 12, 24, 48)):
        found.append(_at_once(run_sqlite_crowd("saturate", file, 8, seconds, round_)))
        if min(found[-1]) >= 0.9 * max(found[-1]):
            return

    pytest.fail(str(found))


def _at_once(answer: list[dict[str, list[float]]]) -> list[int]:
    """The turns of each process while all of them were at work."""
    times = [one["times"] for one in answer]
    began, ended = max(mine[0] for mine in times), min(mine[-1] for mine in times)
    return [sum(began < at <= ended for at in mine) for mine in times]


@requirement("steps:db.nobuffer", "steps:db.tx")
def test_writers_that_are_killed_lose_nothing_they_were_told_and_stop_nobody(
    on_disk: Path, record_property: Record
) -> None:
    heard = run_sqlite_crowd("kill", on_disk / "store" / "handrail.db")
    runs = open_sqlite(on_disk)

    assert len(heard) == KILLS
    for run, revision in heard.items():
        stored = runs.load(run)
        assert stored is not None
        assert stored.revision in {revision, revision + 1}
        assert find_unsound_rows(runs, run) == []
        assert TurnHarness(runs).send(run, "go")["status"] == "ok"
    assert runs.database.reader().execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    record_property("points", len(heard))
