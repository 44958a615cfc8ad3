"""kill -9 at every change that a turn makes on the real disk, and again at every change of its recovery."""

import pytest

from helpers.crash import Record, run_crash_program

pytestmark = pytest.mark.unmeasured


def test_a_process_killed_anywhere_leaves_the_turn_taken_or_not_and_never_in_between(
    record_property: Record,
) -> None:
    said = run_crash_program("helpers/folder_crash.py")
    record_property("points", said["histories"])
    assert said["points"] > 0
    assert said["histories"] > said["points"]
    assert said["wrong"] == []
