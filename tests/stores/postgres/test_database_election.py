"""Tasks that one process does for all: who holds the lock of the database does them, the others do not."""

from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from handrail.runtime.errors import NoServer
from handrail.runtime.store_address import DatabaseUrl
from handrail.runtime.sweep import read_idle_limits
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.pg_runs import POSTGRES_STORE
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import close_later
from helpers.turns import ENDLESS, ManualClock, TurnHarness, load_pinned

ENDED: Final = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks JOIN pg_database ON oid = database"
    " WHERE locktype = 'advisory' AND datname = current_database()"
)


def test_of_those_who_offer_to_do_a_task_one_is_elected_until_it_is_done(url: str) -> None:
    one, other = (close_later(PgDatabase(DatabaseUrl(url))) for _ in range(2))
    with one.elect("sweep") as first, other.elect("sweep") as second, other.elect("other") as apart:
        assert (first, second, apart) == (True, False, True)
    with other.elect("sweep") as mine, one.elect("sweep") as theirs:
        assert (mine, theirs) == (True, False)


def test_whoever_is_elected_and_lost_is_followed_by_another(url: str) -> None:
    one, other = (close_later(PgDatabase(DatabaseUrl(url))) for _ in range(2))
    with ExitStack() as lost:
        assert lost.enter_context(one.elect("sweep"))
        assert other.peek(ENDED, ()) == [(True,)]
        with other.elect("sweep") as mine:
            assert mine
        with pytest.raises(NoServer):
            lost.close()


def test_in_a_file_everybody_does_every_task(tmp_path: Path) -> None:
    one, other = (close_later(SqliteDatabase(tmp_path / "store" / "handrail.db")) for _ in range(2))
    with one.elect("sweep") as first, other.elect("sweep") as second:
        assert (first, second) == (True, True)


def test_a_server_gives_up_nothing_while_another_looks_for_quiet_runs(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDRAIL_IDLE_RUNNING", "1")
    other = close_later(PgDatabase(DatabaseUrl(url)))
    with POSTGRES_STORE.open_store(DatabaseUrl(url)) as served:
        run = TurnHarness(served.load_world().runs, clock=ManualClock()).start(load_pinned(ENDLESS))["run"]
        with other.elect("sweep"):
            assert served.sweep(read_idle_limits()) == ()
        assert served.sweep(read_idle_limits()) == (run,)
        assert served.sweep(read_idle_limits()) == ()
