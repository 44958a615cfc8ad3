"""Who listens to a PostgreSQL store hears of what any process writes, also after the server was away."""

from faces.mcp.desk import until
from handrail.shell.records import Change
from handrail.shell.store_address import Remote
from handrail.stores.sql.feed import SqlFeed
from handrail.stores.sql.postgresql.database import PgDatabase
from handrail.stores.sql.postgresql.ear import Listener
from opened import kept
from postgres import private
from stores.contract import RUN, begun, followed
from tabled import postgresql


def test_what_another_process_writes_is_heard_again_after_the_server_was_killed() -> None:
    with private() as server:
        url, heard = server.fresh(), list[Change]()
        here, there = kept(PgDatabase(Remote(url))), postgresql(url)
        stop = SqlFeed(here).listen(heard.append)
        turn = begun()
        for revision in (1, 2, 3):
            assert there.commit(turn)
            until(lambda revision=revision: Change(RUN, revision) in heard, "the change is heard")  # type: ignore[misc]  # bound
            turn = followed(turn.after)
            server.kill()
            server.start()
        stop()
        here.close()
        there.database.close()

    assert list(dict.fromkeys(heard)) == [Change(RUN, 1), Change(RUN, 2), Change(RUN, 3)]


def test_an_ear_that_cannot_connect_waits_and_connects_when_it_can() -> None:
    with private() as server:
        ear = Listener(Remote(server.fresh()))
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
