"""A disk that fails under SQLite: what was acknowledged is there, a turn is whole or not at all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from requirement import requirement
from stores.programs import broken

Record = Callable[[str, object], None]


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


@pytest.mark.parametrize(("what", "fault"), [("EIO fsync", "SyncFailed"), ("ENOSPC write", "DiskFull")])
def test_a_call_that_fails_is_told_by_its_name_and_the_turn_can_be_sent_again(
    tmp_path: Path, record_property: Record, what: str, fault: str
) -> None:
    found = broken(what, tmp_path)

    assert found["wrong"] == []
    assert f"refused {fault}, then 4" in found["told"]
    assert set(found["told"]) <= {f"refused {fault}, then 4", f"not opened {fault}", "ok 4"}
    record_property("points", found["points"])


def test_where_nothing_can_be_opened_for_writing_it_is_said(tmp_path: Path, record_property: Record) -> None:
    found = broken("EROFS open lasting", tmp_path)

    assert found["wrong"] == []
    assert found["told"][0] == "not opened NotWritable"
    assert set(found["told"]) <= {"not opened NotWritable", "refused NotWritable", "ok 4"}
    record_property("points", found["points"])
