"""Many sets of projects at one server: those that nobody uses make room, and those in use stay."""

import anyio
import pytest

from handrail.app.app import open_app
from handrail.mcp.addresses import Spelling
from handrail.mcp.streamable_http import ServedProjects, Tenants, build_tenants
from helpers.servers import Place


def seen(*names: str) -> frozenset[str]:
    return frozenset(names)


def test_tenants_without_requests_make_room_and_busy_ones_stay(at: Place) -> None:
    async def tried(served: Tenants) -> None:
        async with served.run():
            everybody, first = await served.get_tenant(None), await served.get_tenant(seen("a"))
            with first.track_request():
                second = await served.get_tenant(seen("b"))
                third = await served.get_tenant(seen("c"))
                assert await served.get_tenant(None) is everybody
                assert await served.get_tenant(seen("a")) is first
                assert await served.get_tenant(seen("c")) is third
                again = await served.get_tenant(seen("b"))
                assert again is not second
                assert second.scope.cancel_called
                assert not first.scope.cancel_called
            assert not everybody.scope.cancel_called

    with open_app(at.store) as app:
        known = ServedProjects(app.store, {"project": at.project})
        made = build_tenants(app, ("steps",), known, Spelling.PORTABLE)
        anyio.run(tried, Tenants(made.faces, made._build_servers, most=3))  # noqa: SLF001 - the same with less room


def test_concurrent_requests_for_one_tenant_share_it(at: Place) -> None:
    async def tried(served: Tenants) -> None:
        found = []

        async def ask() -> None:
            found.append(await served.get_tenant(seen("project")))

        async with served.run():
            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(ask)
            assert len(found) == 20
            assert len(set(map(id, found))) == 1

    with open_app(at.store) as app:
        known = ServedProjects(app.store, {"project": at.project})
        anyio.run(tried, build_tenants(app, ("steps",), known, Spelling.PORTABLE))


def test_a_server_that_has_not_started_serves_no_tenant(at: Place) -> None:
    with open_app(at.store) as app:
        made = build_tenants(app, ("steps",), ServedProjects(app.store, {}), Spelling.PORTABLE)
        with pytest.raises(RuntimeError, match="before the server is alive"):
            anyio.run(made.get_tenant, None)
