"""Moving old runs into an archive: what must stay stays, and nothing is lost on the way."""

import errno
import gzip
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from handrail.runtime.errors import NotWritable, Unreadable
from handrail.runtime.ports.open_store import Counts
from handrail.stores.sql.maintenance import ArchiveRequest, SqlMaintenance, verify_archive, write_archive
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.stores.sql.summaries import SqlMeasures
from helpers import faulty_disk
from helpers.cleanup import close_later
from helpers.crash import Record, run_crash_program
from helpers.history import GATE, History, ignore_text, list_run_ids, open_sample_store, read_archive
from helpers.program import PROGRAM as HANDRAIL
from helpers.prune_crash import LATER, list_archived_runs, prune_apart
from tools.sample_store import Played

OLD = ("completed", "failed", "abandoned", "diverged")


def test_prune_moves_what_has_ended_before_and_nothing_else(
    keeper: SqlMaintenance, past: History, tmp_path: Path
) -> None:
    answer: list[str] = []
    assert keeper.count_old_runs(LATER) == 4

    pruned = keeper.prune(LATER, tmp_path / "a.jsonl.gz", answer.append)

    assert (pruned.archive, pruned.kept) == (tmp_path / "a.jsonl.gz", 0)
    assert pruned.archived == Counts(4, 10, 8, 55)
    assert list_run_ids(keeper.database) == [past.runs[name] for name in ("running", "paused", "waiting")]
    assert answer == [
        "4 of 4 runs archived",
        f"reading {tmp_path / 'a.jsonl.gz'} back",
        "4 of 4 runs deleted",
    ]
    assert list(keeper.check()) == []
    assert keeper.count_old_runs(LATER) == 0


def test_what_was_is_counted_on_after_it_was_moved(
    keeper: SqlMaintenance, database: SqliteDatabase, tmp_path: Path
) -> None:
    summaries = SqlMeasures(database)
    before = (summaries.runs(), summaries.steps())

    assert keeper.prune(LATER, tmp_path / "old.jsonl.gz", ignore_text).archived.runs > 0

    assert (summaries.runs(), summaries.steps()) == before


def test_a_run_that_ended_at_the_time_itself_is_not_older(keeper: SqlMaintenance) -> None:
    first = datetime(2026, 1, 31, 9, 16, tzinfo=UTC)

    assert keeper.count_old_runs(first) == 0
    assert keeper.count_old_runs(first + timedelta(milliseconds=1)) == 1


def test_the_archive_has_a_head_each_workflow_before_its_runs_and_an_end(
    keeper: SqlMaintenance, past: History, tmp_path: Path
) -> None:
    exported = keeper.export(past.runs["failed"])
    pruned = keeper.prune(LATER, tmp_path / "new" / "a.jsonl.gz", ignore_text)

    head, definition, *runs, end = read_archive(pruned.archive)

    assert (head["handrail"], head["schema"], head["runs"]) == ("archive", 1, 4)
    assert definition["definition"]["workflow"] == "bug-fix"
    assert [line["run"]["id"] for line in runs] == [past.runs[name] for name in OLD]
    assert exported == {**runs[1], **definition}
    assert end == {"end": {"runs": 4, "steps": 10, "artifacts": 8, "events": 55}}
    assert stat.S_IMODE(pruned.archive.stat().st_mode) == 0o600
    assert stat.S_IMODE(pruned.archive.parent.stat().st_mode) == 0o700


def test_an_archive_that_is_there_is_let_be(keeper: SqlMaintenance, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"mine")
    (tmp_path / "a-2.jsonl.gz").symlink_to(tmp_path / "elsewhere")

    pruned = keeper.prune(LATER, tmp_path / "a.jsonl.gz", ignore_text)

    assert pruned.archive == tmp_path / "a-3.jsonl.gz"
    assert (tmp_path / "a.jsonl.gz").read_bytes() == b"mine"
    assert not (tmp_path / "elsewhere").exists()


def test_the_workflow_of_runs_that_stay_is_kept_and_one_that_nobody_needs_goes(tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        gone = play.start("", GATE)
        play.send(gone, "abandon", note="enough")
        ended = play.start("")
        play.send(ended, "abandon", note="enough")
        play.start("")

        pruned = SqlMaintenance(play.database).prune(LATER, tmp_path / "a.jsonl.gz", ignore_text)

        with play.database.read() as execute:
            stored = execute("SELECT workflow_name FROM definitions", ()).fetchall()
    assert pruned.archived.runs == 2
    assert stored == [("bug-fix",)]


def test_the_newest_run_and_the_run_of_the_newest_event_stay_so_that_no_number_is_given_twice(
    tmp_path: Path,
) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        first, second, third = (play.start("", GATE) for _ in range(3))
        for run in (second, third, first):
            play.send(run, "abandon", note="enough")
        before = _numbers(play)

        pruned = SqlMaintenance(play.database).prune(LATER, tmp_path / "a.jsonl.gz", ignore_text)

        assert pruned.archived.runs == 1
        assert list_run_ids(play.database) == [first, third]
        assert _numbers(play) == before


def _numbers(play: Played) -> tuple[int, int]:
    with play.database.read() as execute:
        found = execute("SELECT (SELECT max(k) FROM runs), (SELECT max(id) FROM events)", ()).fetchone()
    return int(found[0]), int(found[1])


def test_a_run_that_is_called_while_it_is_archived_stays(past: History, tmp_path: Path) -> None:
    with open_sample_store(past.path) as play:

        def call(text: str) -> None:
            if text.startswith("reading"):
                play.send(past.runs["failed"], "pause")
                play.start("", GATE)

        pruned = SqlMaintenance(play.database).prune(LATER, tmp_path / "a.jsonl.gz", call)

        assert pruned.kept == 1
        assert past.runs["failed"] in list_run_ids(play.database)
        assert list(SqlMaintenance(play.database).check()) == []


def test_two_who_prune_at_once_take_nothing_twice_and_lose_nothing(
    keeper: SqlMaintenance, past: History, tmp_path: Path
) -> None:
    def prune(text: str) -> None:
        if text.startswith("reading"):
            keeper.prune(LATER, tmp_path / "inner.gz", ignore_text)

    outer = keeper.prune(LATER, tmp_path / "outer.gz", prune)

    assert outer.kept == 0
    assert (
        list_archived_runs([tmp_path / "inner.gz"])
        == list_archived_runs([outer.archive])
        == {past.runs[name] for name in OLD}
    )
    assert list(keeper.check()) == []


def test_a_run_that_is_gone_before_it_is_archived_is_passed_over(
    keeper: SqlMaintenance, tmp_path: Path
) -> None:
    made = write_archive(ArchiveRequest(keeper.database, [3, 99], LATER, ignore_text), tmp_path / "a.gz")

    verify_archive(made)
    assert (made.counts.runs, list(made.last)) == (1, [3])


def test_nothing_is_deleted_if_somebody_shortens_the_archive(
    keeper: SqlMaintenance, past: History, tmp_path: Path
) -> None:
    archive = tmp_path / "a.jsonl.gz"

    def shorten(text: str) -> None:
        if text.startswith("reading"):
            archive.write_bytes(archive.read_bytes()[:-20])

    with pytest.raises(Unreadable, match="does not hold what was written") as raised:
        keeper.prune(LATER, archive, shorten)

    assert raised.value.repair.startswith("nothing was deleted")
    assert sorted(list_run_ids(keeper.database)) == sorted(past.runs.values())


def test_nothing_is_deleted_if_somebody_puts_another_archive_in_its_place(
    keeper: SqlMaintenance, past: History, tmp_path: Path
) -> None:
    archive = tmp_path / "a.jsonl.gz"

    def swap(text: str) -> None:
        if text.startswith("reading"):
            archive.write_bytes(gzip.compress(b'{"handrail": "archive"}\n{"end": {}}\n'))

    with pytest.raises(Unreadable):
        keeper.prune(LATER, archive, swap)

    assert len(list_run_ids(keeper.database)) == len(past.runs)


@pytest.mark.parametrize("folder", ["file/below", "x" * 300])
def test_an_archive_that_cannot_be_written_leaves_everything_as_it_was(
    folder: str, keeper: SqlMaintenance, past: History, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(NotWritable) as raised:
        keeper.prune(LATER, tmp_path / folder / "a.jsonl.gz", ignore_text)

    assert raised.value.repair.endswith("or name another --archive")
    assert len(list_run_ids(keeper.database)) == len(past.runs)


@pytest.mark.unmeasured
def test_killed_at_any_point_prune_has_lost_nothing_and_can_be_repeated(
    record_property: Record,
) -> None:
    said = run_crash_program("helpers/prune_crash.py")

    record_property("points", said["points"])
    assert said["points"] > 20
    assert said["wrong"] == []


def test_a_disk_that_does_not_confirm_the_archive_ends_the_program_and_deletes_nothing(
    past: History, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    folder.mkdir(mode=0o700)
    command = (HANDRAIL, "store", "prune", "--older-than", "2026-03-01", "--yes", "--store", past.path)
    for at in (1, 2):
        done = faulty_disk.run_with_fault(
            (*command, "--archive", folder / "a.jsonl.gz"), folder, at, errno=errno.EIO, kinds=["fsync"]
        )
        assert (done.returncode, "did not confirm" in done.stderr) == (75, True), done.stderr

    assert len(list_run_ids(close_later(SqliteDatabase(past.path)))) == len(past.runs)
    assert list(folder.iterdir()) == []


def test_a_disk_without_room_leaves_no_archive_and_every_run(past: History, tmp_path: Path) -> None:
    status, said = prune_apart(past.path, tmp_path / "a.jsonl.gz", room=512)

    assert (status, said) == (0, "disk_full")
    assert not (tmp_path / "a.jsonl.gz").exists()
    assert len(list_run_ids(close_later(SqliteDatabase(past.path)))) == len(past.runs)
