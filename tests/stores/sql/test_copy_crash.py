"""kill -9 before every call that a copy makes to the new store, twice: it is finished by the next."""

import pytest

from helpers.crash import Record, run_crash_program
from helpers.postgres import PostgresServer

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_copy_killed_anywhere_is_a_whole_store_or_none_and_is_finished_by_the_next(
    kind: str, postgres: PostgresServer, record_property: Record
) -> None:
    said = run_crash_program("helpers/copy_crash.py", kind, str(postgres.folder))
    record_property("points", said["points"])
    assert said["points"] > 0
    assert said["wrong"] == []
