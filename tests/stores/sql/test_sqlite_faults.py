"""A disk that fails under SQLite: what was acknowledged is there, a turn is whole or not at all."""

from pathlib import Path

import pytest

from helpers.crash import Record
from helpers.requirement import requirement
from helpers.store_programs import broken

pytestmark = pytest.mark.unmeasured


@requirement("steps:db.tx", "steps:db.nobuffer")
def test_killed_at_any_call_of_a_turn_and_again_while_it_recovers_it_is_old_or_new(
    tmp_path: Path, record_property: Record
) -> None:
    found = broken("killed turn", tmp_path)

    assert found["wrong"] == []
    record_property("points", found["points"])


@requirement("steps:db.migrate")
def test_killed_at_any_call_of_making_a_store_the_next_one_finishes_it(
    tmp_path: Path, record_property: Record
) -> None:
    found = broken("killed opening", tmp_path)

    assert found["wrong"] == []
    record_property("points", found["points"])


def test_a_full_disk_is_told_and_the_turn_can_be_sent_again(tmp_path: Path, record_property: Record) -> None:
    found = broken("ENOSPC write", tmp_path)

    assert found["wrong"] == []
    assert "refused DiskFull, then 4" in found["told"]
    assert set(found["told"]) <= {"refused DiskFull, then 4", "not opened DiskFull", "ok 4"}
    record_property("points", found["points"])


def test_a_disk_that_does_not_confirm_is_told_and_nothing_more_is_written_by_this_process(
    tmp_path: Path, record_property: Record
) -> None:
    found = broken("EIO fsync", tmp_path)

    assert found["wrong"] == []
    assert "refused SyncFailed, then no more" in found["told"]
    assert set(found["told"]) <= {"refused SyncFailed, then no more", "not opened SyncFailed", "ok 4"}
    record_property("points", found["points"])


def test_turns_taken_together_that_the_disk_does_not_confirm_are_the_last_of_this_process(
    tmp_path: Path,
) -> None:
    found = broken("unconfirmed", tmp_path)

    assert found["wrong"] == []
    assert found["told"] == ["the disk did not confirm , then no more"]


def test_where_nothing_can_be_opened_for_writing_it_is_said(tmp_path: Path, record_property: Record) -> None:
    found = broken("EROFS open lasting", tmp_path)

    assert found["wrong"] == []
    assert found["told"][0] == "not opened NotWritable"
    assert set(found["told"]) <= {"not opened NotWritable", "refused NotWritable", "ok 4"}
    record_property("points", found["points"])
