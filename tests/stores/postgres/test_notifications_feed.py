"""Who listens to a PostgreSQL store hears of what any process writes, also after the server was away."""

from handrail.runtime.journal import get_run_after
from handrail.runtime.records import RunChange
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.notifications import PgChangeListener
from handrail.stores.sql.runs import SqlFeed
from helpers.cleanup import kept
from helpers.postgres import private
from helpers.servers import until
from helpers.sql_stores import postgresql
from helpers.stores import RUN, begun, followed


def test_what_another_process_writes_is_heard_again_after_the_server_was_killed() -> None:
    with private() as server:
        url, heard = server.fresh(), list[RunChange]()
        here, there = kept(PgDatabase(DatabaseUrl(url))), postgresql(url)
        stop = SqlFeed(here).listen(heard.append)
        turn = begun()
        for revision in (1, 2, 3):
            assert there.commit(turn)
            until(lambda revision=revision: RunChange(RUN, revision) in heard, "the change is heard")  # type: ignore[misc]  # bound
            turn = followed(get_run_after(turn))
            server.kill()
            server.start()
        stop()
        here.close()
        there.database.close()

    assert list(dict.fromkeys(heard)) == [RunChange(RUN, 1), RunChange(RUN, 2), RunChange(RUN, 3)]


def test_an_ear_that_cannot_connect_waits_and_connects_when_it_can() -> None:
    with private() as server:
        ear = PgChangeListener(DatabaseUrl(server.fresh()))
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
