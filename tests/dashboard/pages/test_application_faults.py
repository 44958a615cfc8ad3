"""What whoever looks or acts is told when the world or the program fails: the repair, and nothing of a trace.

No real store can be made to fail at will here, so each of these has one that is told to.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from cryptography.fernet import Fernet
from msgspec.structs import replace
from starlette.testclient import TestClient

from handrail.app.app import App, open_app
from handrail.app.projects import FilteredRuns
from handrail.dashboard.application import build_application
from handrail.dashboard.hub import Hub
from handrail.dashboard.login import Login
from handrail.dashboard.viewer import Dashboard, Dashboards
from handrail.runtime.errors import Busy, Fault, SyncFailed
from handrail.runtime.ports.access import AccessScope, Grant
from handrail.runtime.ports.queries import RunRow
from handrail.runtime.records import Turn
from handrail.stores.sql.queries import SqlRunQueries
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import close_later
from helpers.history import PROJECT, History, create_history

KEY: Final = Fernet.generate_key()


class Failing(FilteredRuns):
    """A store that does not take a turn."""

    fault: Fault = SyncFailed("the disk did not confirm a write", "check the disk, then start again")

    def commit(self, turn: Turn) -> bool:
        """Never."""
        del turn
        raise self.fault


class Busied(Failing):
    """One that others hold."""

    fault: Fault = Busy("others hold the store", "send it again")


class Buggy(SqlRunQueries):
    """Records with a bug in them."""

    def run(self, run: str) -> RunRow | None:
        """Fails as no code of ours should."""
        raise RuntimeError(f"a secret about {run} at /home/ada/.config line 7")


@contextmanager
def client(opened: App) -> Iterator[tuple[TestClient, Dashboards]]:
    """Somebody who was let in, at the pages over this store."""
    board = Dashboard(opened, Hub(opened), dict, None)
    boards = Dashboards(lambda _: board)
    app = build_application(Login(boards, KEY, None, Grant("ada", frozenset(AccessScope))))
    cookies = {"handrail-board": Fernet(KEY).encrypt(b"person").decode()}
    with TestClient(
        app, raise_server_exceptions=False, cookies=cookies, headers={"origin": "http://testserver"}
    ) as made:
        yield made, boards


@pytest.fixture
def past(tmp_path: Path) -> History:
    return create_history(tmp_path / "handrail.db")


def _failing(opened: App, how: type[Failing]) -> App:
    opened.world = replace(opened.world, runs=how(opened.world.runs, lambda: (PROJECT,)))
    return opened


def test_a_fake_disk_that_does_not_confirm_an_action_is_told_of_and_ends_the_server(past: History) -> None:
    with open_app(past.path) as opened, client(_failing(opened, Failing)) as (person, boards):
        answered = person.post(f"/runs/{past.runs['running']}/do/pause")

        assert answered.status_code == 409
        assert "the disk did not confirm a write" in answered.text
        assert "check the disk, then start again" in answered.text
        assert boards.halted.is_set()


def test_after_a_fake_disk_did_not_confirm_one_of_several_the_others_are_not_tried(past: History) -> None:
    chosen = {"run": [past.runs["running"], past.runs["paused"]], "reason": "enough"}
    with open_app(past.path) as opened, client(_failing(opened, Failing)) as (person, boards):
        answered = person.post("/bulk/abandon", data=chosen)

        assert answered.status_code == 200
        assert "check the disk, then start again" in answered.text
        assert answered.text.count("It was not tried") == 1
        assert boards.halted.is_set()


def test_a_fake_store_that_is_busy_keeps_none_of_several_back(past: History) -> None:
    chosen = {"run": [past.runs["running"], past.runs["paused"]], "reason": "enough"}
    with open_app(past.path) as opened, client(_failing(opened, Busied)) as (person, boards):
        answered = person.post("/bulk/abandon", data=chosen)

        assert answered.text.count("others hold the store") == 2
        assert answered.text.count("send it again") == 2
        assert not boards.halted.is_set()


@pytest.mark.parametrize("path", ["/runs/x", "/runs/x/history", "/runs/x/do/pause"])
def test_of_a_bug_a_person_sees_that_there_was_one_and_nothing_of_it(past: History, path: str) -> None:
    database = close_later(SqliteDatabase(past.path))
    with open_app(past.path) as opened:
        opened.runs = Buggy(database)
        with client(opened) as (person, _):
            answered = person.get(path)

            assert answered.status_code == 500
            assert "Something went wrong here" in answered.text
            for word in ("RuntimeError", "Traceback", "secret", "/home/ada", "line 7", ".py"):
                assert word not in answered.text
            assert "default-src 'none'" in answered.headers["content-security-policy"]
            assert person.get("/static/board.css").status_code == 200
    database.close()
