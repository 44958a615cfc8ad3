"""Sessions of clients of 2025: so many a principal, each until it is idle; and one sweep for all faces."""

import asyncio
import json
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from handrail.app.app import App
from handrail.app.projects import Projects
from handrail.app.stores import open_store
from handrail.app.trust import TrustStore
from handrail.cli.serve_http import DashboardPages, make_dashboard_factory
from handrail.dashboard.viewer import Dashboards
from handrail.http.application import Backend
from handrail.http.metrics import Metrics
from handrail.mcp.addresses import Spelling
from handrail.mcp.streamable_http import ServedProjects, SessionLimits, build_tenants, load_session_limits
from handrail.runtime.errors import Unreadable
from handrail.runtime.sweep import IdleLimits
from helpers.http_clients import WireClient
from helpers.http_servers import FACES, HttpAnswer, HttpServer, create_token, run_http_server
from helpers.metrics import parse_samples, read_metrics
from helpers.servers import HELLO, Place, create_place, wait_until


@pytest.fixture
def at(tmp_path: Path) -> Place:
    return create_place(tmp_path)


def hello(served: HttpServer, face: str, secret: str) -> HttpAnswer:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode()
    return served.send(f"/mcp/{face}", body, token=secret)


def test_who_has_all_the_sessions_they_may_have_in_any_face_gets_no_other_until_one_has_ended(
    at: Place,
) -> None:
    ada, eve = (create_token(at, name, "run:read")["secret"] for name in ("ada", "eve"))
    with run_http_server(at, "--auth", "token", HANDRAIL_SESSIONS="2") as served:
        first = hello(served, "steps", ada)
        asked = (("spells", ada), ("skills", ada), ("skills", eve))
        second, full, other = (hello(served, face, secret) for face, secret in asked)
        session = first.headers["mcp-session-id"]
        ended = served.send("/mcp/steps", method="DELETE", token=ada, mcp_session_id=session)
        assert ended.status == 200
        again = hello(served, "skills", ada)

    assert [one.status for one in (first, second, full, other, again)] == [200, 200, 503, 200, 200]
    assert full.text == "you have 2 sessions open: end one (DELETE), or wait until one is idle\n"
    assert full.headers["retry-after"] == "60"


def test_a_session_that_is_idle_for_too_long_is_ended(at: Place) -> None:
    with run_http_server(at, HANDRAIL_SESSION_IDLE="1") as served:
        wire = WireClient(served, "steps", "legacy")
        asyncio.run(wire.greet())
        assert wire.session
        wait_until(
            lambda: parse_samples(read_metrics(served).text)["handrail_sessions{face=steps}"] == 0,
            "it is ended",
        )
        session = wire.session["mcp-session-id"]
        assert served.send("/mcp/steps", method="DELETE", mcp_session_id=session).status == 404


def test_the_limits_are_the_usual_ones_or_those_that_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_session_limits(sessions=True) == SessionLimits(most=1000, idle=1800, sessions=True)
    monkeypatch.setenv("HANDRAIL_SESSIONS", "3")
    monkeypatch.setenv("HANDRAIL_SESSION_IDLE", "60")
    assert load_session_limits(sessions=False) == SessionLimits(most=3, idle=60, sessions=False)


@pytest.mark.parametrize(
    ("name", "what"), [("HANDRAIL_SESSIONS", "sessions"), ("HANDRAIL_SESSION_IDLE", "seconds")]
)
@pytest.mark.parametrize("value", ["0", "-1", "many", "31536001"])
def test_a_limit_that_is_no_number_is_told(
    monkeypatch: pytest.MonkeyPatch, name: str, what: str, value: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(Unreadable, match=f"{name} is '{value}', which is no number of {what}"):
        load_session_limits(sessions=True)


def test_of_all_the_faces_of_a_server_one_sweeps(at: Place) -> None:
    swept: list[tuple[str, ...]] = []

    async def served(behind: Backend) -> None:
        app = behind.application()
        async with app.router.lifespan_context(app):
            await anyio.to_thread.run_sync(wait_until, lambda: bool(swept), "one has swept")
            for _ in range(100):
                await anyio.to_thread.run_sync(lambda: None)

    with open_store(at.store) as store:

        def sweep(limits: IdleLimits) -> tuple[str, ...]:
            swept.append(store.sweep(limits))
            return swept[-1]

        app = App(replace(store, sweep=sweep), Projects((), TrustStore()))
        known = ServedProjects(store, {"project": at.project})
        pages = DashboardPages(Dashboards(make_dashboard_factory(app, known)), app.secret)
        all_ = build_tenants(app, FACES, known, Spelling.PORTABLE)
        anyio.run(served, Backend(all_, Metrics(), store.measure_load, pages))

    assert swept == [()]
