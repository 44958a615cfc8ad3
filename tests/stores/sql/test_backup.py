"""A backup, the loss of everything, the way back: what was acknowledged before goes on, with its token."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from handrail.app.faces import StepsStatus
from handrail.engine.refusals import RefusalCode
from helpers.postgres import run_private_server
from helpers.program import run_handrail
from helpers.servers import Pipe, Place, ToolAnswer, create_place

LOST = "this one is of a turn that the store does not have"


def goes_on(client: Pipe, held: ToolAnswer, later: ToolAnswer) -> None:
    """The token of before the backup is good; that of after it is refused, and the run says where it is."""
    refused = client.continue_run(later.token)
    assert (refused.code, refused.failed) == (RefusalCode.SUPERSEDED, True)
    assert LOST in refused.text
    assert later.run in refused.text.partition("Next:")[2], "how to ask for the run as it stands"

    again = client.continue_run(held.token, summary="After the backup.")

    assert (again.code, step(held), step(later), step(again)) == (StepsStatus.OK, "two", "three", "three")
    assert client.continue_run(again.token).code == StepsStatus.OK


def step(answer: ToolAnswer) -> str:
    return str(answer.reply["next_step_contract"]["step_name"])


def test_a_run_in_postgresql_goes_on_after_its_server_was_lost_and_a_dump_restored(tmp_path: Path) -> None:
    at, dump = create_place(tmp_path), tmp_path / "handrail.dump"
    with run_private_server() as lost:
        there = lost.create_database()
        with Pipe(at, "--store", there) as client:
            held = client.continue_run(client.start().token)
            lost.dump(there, dump)
            later = client.continue_run(held.token, summary="After the backup.")
    with run_private_server() as server:
        server.restore(dump, there := server.create_database())
        assert run_handrail("store", "check", "--store", there).status == 0
        with Pipe(at, "--store", there) as client:
            goes_on(client, held, later)


def test_an_agent_that_asks_where_its_run_stands_after_the_loss_goes_on_from_there(tmp_path: Path) -> None:
    at, dump = create_place(tmp_path), tmp_path / "handrail.dump"
    with run_private_server() as lost:
        there = lost.create_database()
        with Pipe(at, "--store", there) as client:
            held = client.continue_run(client.start().token)
            lost.dump(there, dump)
            client.continue_run(held.token)
        lost.drop(there)
        lost.restore(dump, there := lost.create_database())
        with Pipe(at, "--store", there) as client:
            stands = client.recover(held.run)
            assert step(stands) == step(held) == "two"
            assert client.continue_run(stands.token).code == StepsStatus.OK


def by_backup(store: Path, to: Path) -> None:
    with closing(_read_only(store)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


def by_vacuum(store: Path, to: Path) -> None:
    with closing(_read_only(store)) as source:
        source.execute("VACUUM INTO ?", (str(to),))


def _read_only(store: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True, timeout=10)


@contextmanager
def writing(at: Place) -> Iterator[None]:
    """Another server writes to the store all the time; it has begun when the block does."""
    begun, enough = Event(), Event()

    def write() -> None:
        with Pipe(at) as client:
            while not enough.is_set():
                client.start("brief")
                begun.set()

    writer = Thread(target=write)
    writer.start()
    try:
        assert begun.wait(60)
        yield
    finally:
        enough.set()
        writer.join()


@pytest.mark.parametrize("back_up", [by_backup, by_vacuum])
def test_a_run_in_a_file_goes_on_after_the_file_was_lost_and_a_backup_put_back(
    back_up: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    at, backup = create_place(tmp_path), tmp_path / "backup.db"
    with Pipe(at) as client:
        held = client.continue_run(client.start().token)
        with writing(at):
            back_up(at.store, backup)
        later = client.continue_run(held.token, summary="After the backup.")
    shutil.rmtree(at.store.parent)

    at.store.parent.mkdir(mode=0o700)
    shutil.copy(backup, at.store)

    assert run_handrail("store", "check", "--store", at.store).status == 0
    with Pipe(at) as client:
        goes_on(client, held, later)
