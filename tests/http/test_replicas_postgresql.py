"""Replicas on one PostgreSQL database: all hear of what one does, and what one does for all is done once."""

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import mcp_types as types
import psycopg
import pytest
from mcp import Client
from msgspec.structs import replace

from handrail.app.app import App
from handrail.app.faces import StepsStatus
from handrail.app.projects import Projects
from handrail.app.trust import TrustStore
from handrail.mcp.addresses import Spelling
from handrail.mcp.server import FaceServer, build_server
from handrail.runtime.errors import FaultCode
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.pg_runs import POSTGRES_STORE
from helpers.http_clients import WireClient
from helpers.http_servers import HttpServer
from helpers.postgres import PostgresServer, run_private_server
from helpers.replicas import Replica, ReplicaSet, run_replica_set
from helpers.servers import BOUND, TOOL, Place, build_note_output, create_place, wait_until


@pytest.fixture
def at(tmp_path: Path) -> Place:
    return create_place(tmp_path)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server that tests stop and kill."""
    with run_private_server() as found:
        yield found


class Listening:
    """A stream of a server that tells of the changes of a resource."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def next(self, method: str) -> dict[str, Any]:
        async with asyncio.timeout(BOUND):
            while line := await self._reader.readline():
                if line.startswith(b"data: "):
                    message: dict[str, Any] = json.loads(line[6:])
                    if message.get("method") == method:
                        return message
        raise AssertionError("the stream has ended")

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def _listening(served: HttpServer, uri: str) -> Listening:
    wanted = {"notifications": {"resourceSubscriptions": [uri]}}
    reader, writer = await asyncio.open_connection(served.host, served.port)
    writer.write(WireClient(served, "steps", "auto").request(1, "subscriptions/listen", wanted))
    found = Listening(reader, writer)
    await found.next("notifications/subscriptions/acknowledged")
    return found


def _break(server: PostgresServer, how: str) -> None:
    if how == "kill":
        server.kill()
        server.start()
    elif how:
        server.restart("fast" if how == "fast" else "immediate")


@pytest.mark.unmeasured
def test_who_listens_at_one_replica_hears_of_moves_made_through_another_also_after_the_database_was_gone(
    at: Place, server: PostgresServer
) -> None:
    async def heard(served: ReplicaSet) -> list[str]:
        here, there = served.sites
        answer = await WireClient(there, "steps", "auto").call(1, TOOL, {"template_name": "walk"})
        uri = f"current-step://{answer.run}"
        stream, uris = await _listening(here, uri), list[str]()
        for how in ("", "fast", "immediate", "kill", ""):
            await asyncio.to_thread(_break, server, how)
            given = {"step_token": answer.token, "model_output_so_far": build_note_output()}
            answer = await WireClient(there, "steps", "auto").call(1, TOOL, given)
            assert answer.code == StepsStatus.OK
            message = await stream.next("notifications/resources/updated")
            uris.append(message["params"]["uri"])
        await stream.close()
        assert uris == [uri] * 5
        return uris

    with server.lend_database() as url, run_replica_set(at, url, 2) as served:
        assert len(asyncio.run(heard(served))) == 5


ABANDONED = "SELECT run, count(*) FROM events WHERE event_type = 'workflow_abandoned' GROUP BY run"


@pytest.mark.unmeasured
def test_each_of_many_quiet_runs_is_given_up_by_one_of_three_replicas(
    at: Place, server: PostgresServer
) -> None:
    async def started(served: ReplicaSet) -> None:
        sites = served.sites
        calls = [
            WireClient(sites[number % 3], "steps", "auto").call(1, TOOL, {"template_name": "brief"})
            for number in range(24)
        ]
        await asyncio.gather(*calls)

    with server.lend_database() as url, psycopg.connect(url, autocommit=True) as asked:
        with run_replica_set(at, url, 3, HANDRAIL_IDLE_RUNNING="1") as served:
            asyncio.run(started(served))
            wait_until(lambda: len(asked.execute(ABANDONED).fetchall()) == 24, "all are given up")
        assert {count for _, count in asked.execute(ABANDONED).fetchall()} == {1}
        assert asked.execute("SELECT DISTINCT state, revision FROM runs").fetchall() == [("abandoned", 2)]


@pytest.mark.unmeasured
def test_a_server_whose_database_is_away_at_its_start_says_so_and_how_to_mend_it(
    at: Place, server: PostgresServer
) -> None:
    url = server.create_database()
    server.stop()
    try:
        replica = Replica(at, url, {})
        status = replica.end()
    finally:
        server.start()
        server.drop(url)

    assert (replica.site, status) == (None, 1)
    assert "cannot be reached" in replica.text
    assert "see that the server runs and lets this user in" in replica.text
    assert "Traceback" not in replica.text


@pytest.mark.unmeasured
def test_a_server_whose_database_is_away_for_a_while_goes_on_with_the_next_call(
    at: Place, server: PostgresServer
) -> None:
    async def called(served: ReplicaSet) -> list[str]:
        (site,) = served.sites
        wire, codes = WireClient(site, "steps", "auto"), list[str]()
        for how in ("stop", "kill"):
            await asyncio.to_thread(server.stop if how == "stop" else server.kill)
            ready = await asyncio.to_thread(site.ask, "GET", "/readyz", {"Host": f"127.0.0.1:{site.port}"})
            codes.append(f"{ready.status} {ready.text.strip()}")
            waiting = asyncio.create_task(wire.call(1, TOOL, {"template_name": "brief"}))
            await asyncio.to_thread(server.start)
            codes.append((await waiting).code)
            codes.append((await wire.call(1, TOOL, {"template_name": "brief"})).code)
        return codes

    with server.lend_database() as url, run_replica_set(at, url, 1) as served:
        assert asyncio.run(called(served)) == ["503 unreadable", "ok", "ok"] * 2


def test_calls_while_the_database_is_away_are_told_so_and_the_next_one_after_that_is_answered(
    at: Place, server: PostgresServer
) -> None:
    impatient = replace(POSTGRES_STORE, tables=partial(PgDatabase, patience=2.0))

    async def called(served: FaceServer) -> list[types.CallToolResult]:
        async with Client(served) as client:
            start = {"template_name": "brief"}
            found = [await client.call_tool(TOOL, start)]
            await asyncio.to_thread(server.stop)
            found.append(await client.call_tool(TOOL, start))
            await asyncio.to_thread(server.start)
            return [*found, await client.call_tool(TOOL, start)]

    with server.lend_database() as url, impatient.open_store(DatabaseUrl(url)) as store:
        app = App(store, Projects([at.project], TrustStore()))
        found = asyncio.run(called(build_server(app, "steps", Spelling.PORTABLE)))

    before, away, after = (one.structured_content or {} for one in found)
    assert (before["status"], after["status"]) == ("ok", "ok")
    assert (away["status"], away["code"]) == ("error", FaultCode.NO_SERVER)
    assert "cannot be reached" in away["error"]
    repair = "see that the server runs and lets this user in, then send the same call again"
    assert away["why"]["needed"] == [repair]
