"""A connection to PostgreSQL that is lost in the middle of a turn: that is saved once, and told as it is."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count
from threading import Thread
from typing import Any, Final

import psycopg
import pytest

from handrail.engine.model import Event
from handrail.runtime.entries import EntryKind
from handrail.runtime.errors import NoServer
from handrail.runtime.store_address import DatabaseUrl
from handrail.runtime.turn import Call, NewRun
from handrail.stores.sql.maintenance import SqlMaintenance
from handrail.stores.sql.postgres.connections import CONNECTION_WAIT_SECONDS, connect
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.pg_runs import PgRuns
from helpers.cleanup import close_later
from helpers.crash import Record
from helpers.postgres import PostgresServer
from helpers.postgres_proxy import Proxy, Side, run_proxy
from helpers.servers import wait_until
from helpers.turns import ENDLESS, ORIGIN, TurnHarness, load_pinned

SIDES: Final[tuple[Side, Side]] = ("client", "server")
IMPATIENT: Final = 0.02
"""How many seconds a process waits for a server that stays away."""

ATTEMPTS: Final = 100
"""How often an impatient process may send a call again until it is answered."""


@pytest.fixture
def way(postgres: PostgresServer) -> Iterator[Proxy]:
    with run_proxy(postgres) as made:
        yield made


class Bench:
    """A desk whose way to the database breaks, and one that always gets through."""

    def __init__(self, way: Proxy, url: str) -> None:
        self.way, self.url = way, url
        self.runs = PgRuns(close_later(PgDatabase(DatabaseUrl(url))))
        self.sure = TurnHarness(self.runs)

    @contextmanager
    def desk(self, patience: float) -> Iterator[TurnHarness]:
        """A desk at a new process, whose first connection is made."""
        with closing(PgDatabase(DatabaseUrl(self.way.url(self.url)), patience=patience)) as database:
            database.check_reachable()
            yield TurnHarness(PgRuns(database), ids=self.sure.ids, clock=self.sure.clock)

    def starting(self) -> Call:
        of = load_pinned(ENDLESS)
        assert of.workflow
        return Call(self.sure.ids.new_id(), Event("start"), new=NewRun(of.workflow, ORIGIN, of.definition))

    def moving(self) -> Call:
        answer = self.sure.start(load_pinned(ENDLESS))
        return Call(answer["run"], Event("go"), token=answer["token"])


CALLS: Final[dict[str, tuple[Callable[[Bench], Call], int]]] = {
    "start": (Bench.starting, 1),
    "move": (Bench.moving, 2),
}
"""Kinds of calls, and the revision that each leaves."""

KINDS: Final = (pytest.param("start", marks=pytest.mark.unmeasured), "move")

ENTERED: Final = {
    1: [
        EntryKind.WORKFLOW_CREATED,
        EntryKind.STEP_STARTED,
        EntryKind.TOKEN_GENERATED,
        EntryKind.WORKFLOW_STATE_TRANSITION,
    ],
    2: [
        EntryKind.TOKEN_VALIDATED,
        EntryKind.STEP_COMPLETED,
        EntryKind.STEP_STARTED,
        EntryKind.TOKEN_GENERATED,
    ],
}
"""What the turns of these calls enter."""


def _tried(harness: TurnHarness, call: Call) -> dict[str, Any] | None:
    """What a call is answered with; None if the server was lost."""
    with suppress(NoServer):
        return harness.call(call)
    return None


def _sound(bench: Bench, call: Call, revision: int) -> None:
    """The turn was saved once, and nothing of it is missing."""
    stored, entries = bench.runs.load(call.run), bench.runs.entries(call.run)
    assert stored
    assert stored.revision == revision
    assert [str(one.entry.kind) for one in entries if one.revision == revision] == ENTERED[revision]
    assert bench.runs.find_recorded_call(call.run, revision - 1) is not None


def _at_every_message(bench: Bench, kind: str, side: Side, *, stays_away: bool) -> Iterator[bool]:
    """Whether a call was answered though its connection was lost; sent again if not, it is saved once."""
    made, revision = CALLS[kind]
    for point in count(1):
        call = made(bench)
        with bench.desk(IMPATIENT if stays_away else CONNECTION_WAIT_SECONDS) as harness:
            bench.way.arm(side, point, stays_away=stays_away)
            answer = _tried(harness, call)
            assert answer is None or (answer["status"], answer["revision"]) == ("ok", revision)
            if not bench.way.broken:
                assert answer
                return
            bench.way.let_pass()
            if call.token or not bench.runs.load(call.run):
                again = next(filter(None, (_tried(harness, call) for _ in range(ATTEMPTS))))
                assert (again["status"], again["revision"]) == ("ok", revision)
                assert answer in (None, again)
        _sound(bench, call, revision)
        yield answer is not None


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_turn_whose_connection_is_lost_at_any_message_is_saved_once_and_told_so(
    way: Proxy, url: str, kind: str, side: Side, record_property: Record
) -> None:
    bench = Bench(way, url)
    answered = list(_at_every_message(bench, kind, side, stays_away=False))

    assert len(answered) > 8
    assert answered == [True] * len(answered)
    assert list(SqlMaintenance(bench.runs.database).check()) == []
    record_property("points", len(answered))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_turn_whose_server_is_lost_at_any_message_and_stays_away_is_told_lost_and_never_saved_twice(
    way: Proxy, url: str, kind: str, side: Side, record_property: Record
) -> None:
    bench = Bench(way, url)
    answered = list(_at_every_message(bench, kind, side, stays_away=True))

    assert answered.count(False) > 8
    assert list(SqlMaintenance(bench.runs.database).check()) == []
    record_property("points", len(answered))


@pytest.mark.parametrize("side", SIDES)
def test_a_connection_that_is_lost_at_any_message_while_it_is_made_is_a_server_that_is_away(
    way: Proxy, url: str, side: Side, record_property: Record
) -> None:
    for point in count(1):
        way.arm(side, point)
        found = None
        with suppress(NoServer):
            found = connect(DatabaseUrl(way.url(url)))
        if not way.broken:
            break
        assert found is None or side == "client"
        way.let_pass()
        if found:
            found.close()
    assert found
    found.close()
    assert point > 2
    record_property("points", point - 1)


def test_a_turn_whose_backend_is_ended_while_it_waits_for_the_run_is_saved_once(
    url: str, postgres: PostgresServer
) -> None:
    harness, answer = TurnHarness(PgRuns(close_later(PgDatabase(DatabaseUrl(url))))), list[dict[str, Any]]()
    started = harness.start(load_pinned(ENDLESS))
    moving = Thread(target=lambda: answer.append(harness.send(started["run"], "go", started["token"])))
    with (
        psycopg.connect(url) as other,
        psycopg.connect(postgres.url("postgres", "postgres"), autocommit=True) as admin,
    ):
        other.execute("SELECT k FROM runs FOR UPDATE")
        moving.start()
        ended = _waiting(admin)
        admin.execute("SELECT pg_terminate_backend(%s, 10000)", (ended,))
        assert _waiting(admin) != ended
        other.rollback()
    moving.join()

    assert (answer[0]["status"], answer[0]["revision"]) == ("ok", 2)


def _waiting(admin: psycopg.Connection[Any]) -> int:
    query = (
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'handrail' AND wait_event_type = 'Lock'"
    )
    wait_until(lambda: len(admin.execute(query).fetchall()) == 1, "somebody waits for a lock")
    row = admin.execute(query).fetchone()
    assert row
    return int(row[0])
