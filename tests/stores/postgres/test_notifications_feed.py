"""Who listens to a PostgreSQL store hears of what any process writes, also after the server was away."""

from handrail.runtime.journal import get_run_after
from handrail.runtime.records import RunChange
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.notifications import PgChangeListener
from handrail.stores.sql.runs import SqlFeed
from helpers.cleanup import close_later
from helpers.postgres import run_private_server
from helpers.servers import wait_until
from helpers.sql_stores import open_postgresql
from helpers.stores import RUN, build_first_turn, build_next_turn


def test_what_another_process_writes_is_heard_again_after_the_server_was_killed() -> None:
    with run_private_server() as server:
        url, heard = server.create_database(), list[RunChange]()
        here, there = close_later(PgDatabase(DatabaseUrl(url))), open_postgresql(url)
        stop = SqlFeed(here).listen(heard.append)
        turn = build_first_turn()
        for revision in (1, 2, 3):
            assert there.commit(turn)
            wait_until(lambda revision=revision: RunChange(RUN, revision) in heard, "the change is heard")  # type: ignore[misc]  # bound
            turn = build_next_turn(get_run_after(turn))
            server.kill()
            server.start()
        stop()
        here.close()
        there.database.close()

    assert list(dict.fromkeys(heard)) == [RunChange(RUN, 1), RunChange(RUN, 2), RunChange(RUN, 3)]


def test_an_ear_that_cannot_connect_waits_and_connects_when_it_can() -> None:
    with run_private_server() as server:
        ear = PgChangeListener(DatabaseUrl(server.create_database()))
        server.stop()
        for _ in range(3):
            ear.wake()
            ear.wait(0.01)
        server.start()
        assert ear.wait(60), "what was seen before may not count"
        for _ in range(2):
            ear.wake()
            assert not ear.wait(60)
        ear.close()
