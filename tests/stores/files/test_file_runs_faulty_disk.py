"""A disk that fails under files: the fault has its name, the run is old or new, a person loses no byte."""

from pathlib import Path

import pytest

from helpers.crash import Record
from helpers.store_programs import break_project_disk

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("EIO fsync", {"refused sync_failed, then no more", "ok 3"}),
        ("ENOSPC write", {"refused disk_full", "ok 3"}),
        ("ENOSPC mkdir", {"refused disk_full", "ok 3"}),
        ("EACCES rename", {"refused not_writable", "ok 3"}),
        ("EROFS unlink", {"refused not_writable", "ok 3"}),
    ],
)
def test_every_call_that_fails_is_told_and_the_turn_can_be_taken_after_it(
    tmp_path: Path, record_property: Record, what: str, told: set[str]
) -> None:
    found = break_project_disk(what, tmp_path)

    assert found["wrong"] == []
    assert set(found["told"]) == told
    record_property("points", found["points"])
