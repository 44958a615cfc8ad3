"""A disk that fails under SQLite: what was acknowledged is there, a turn is whole or not at all."""

from pathlib import Path

import pytest

from helpers.crash import Record
from helpers.requirement import requirement
from helpers.store_programs import break_database_disk

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("killed turn", marks=[requirement("steps:db.tx"), requirement("steps:db.nobuffer")]),
        pytest.param("killed opening", marks=requirement("steps:db.migrate")),
    ],
)
def test_a_turn_or_a_new_store_killed_at_any_call_and_again_while_it_recovers_is_old_or_new(
    tmp_path: Path, record_property: Record, what: str
) -> None:
    found = break_database_disk(what, tmp_path)

    assert found["wrong"] == []
    record_property("points", found["points"])


@pytest.mark.parametrize(
    ("what", "always", "sometimes"),
    [
        ("ENOSPC write", "refused DiskFull, then 4", "not opened DiskFull"),
        ("EIO fsync", "refused SyncFailed, then no more", "not opened SyncFailed"),
        ("EROFS open lasting", "not opened NotWritable", "refused NotWritable"),
    ],
)
def test_a_disk_that_is_full_does_not_confirm_or_cannot_be_written_is_named(
    tmp_path: Path, record_property: Record, what: str, always: str, sometimes: str
) -> None:
    found = break_database_disk(what, tmp_path)

    assert found["wrong"] == []
    assert always in found["told"]
    assert set(found["told"]) <= {always, sometimes, "ok 4"}
    if what == "EROFS open lasting":
        assert found["told"][0] == always
    record_property("points", found["points"])


def test_turns_taken_together_that_the_disk_does_not_confirm_are_the_last_of_this_process(
    tmp_path: Path,
) -> None:
    found = break_database_disk("unconfirmed", tmp_path)

    assert found["wrong"] == []
    assert found["told"] == ["the disk did not confirm , then no more"]
