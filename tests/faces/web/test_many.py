"""Many sets of projects at one server: those that nobody uses make room, and those in use stay."""

from pathlib import Path

import anyio
import pytest

from faces.mcp.desk import Place, place
from handrail.app import openings
from handrail.faces.mcp.names import Names
from handrail.faces.web.serving import Known, tenants
from handrail.faces.web.tenants import Tenants
from handrail.stores.sql.opening import serving


@pytest.fixture
def at(tmp_path: Path) -> Place:
    return place(tmp_path)


def seen(*names: str) -> frozenset[str]:
    return frozenset(names)


def test_who_is_not_served_now_makes_room_and_who_is_stays(at: Place) -> None:
    async def tried(served: Tenants) -> None:
        async with served.alive():
            everybody, first = await served.of(None), await served.of(seen("a"))
            with first.used():
                second = await served.of(seen("b"))
                third = await served.of(seen("c"))
                assert await served.of(None) is everybody
                assert await served.of(seen("a")) is first
                assert await served.of(seen("c")) is third
                again = await served.of(seen("b"))
                assert again is not second
                assert second.scope.cancel_called
                assert not first.scope.cancel_called
            assert not everybody.scope.cancel_called

    with serving(at.store) as opened:
        known = Known(opened, {"project": at.project}, at.store)
        made = tenants(opened, openings(), ("steps",), known, Names.PORTABLE)
        anyio.run(tried, Tenants(made.faces, made._made, most=3))  # noqa: SLF001 - the same with less room


def test_many_who_ask_for_the_same_at_once_get_the_same(at: Place) -> None:
    async def tried(served: Tenants) -> None:
        found = []

        async def ask() -> None:
            found.append(await served.of(seen("project")))

        async with served.alive():
            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(ask)
            assert len(found) == 20
            assert len(set(map(id, found))) == 1

    with serving(at.store) as opened:
        known = Known(opened, {"project": at.project}, at.store)
        anyio.run(tried, tenants(opened, openings(), ("steps",), known, Names.PORTABLE))


def test_before_a_server_is_alive_nobody_is_served(at: Place) -> None:
    with serving(at.store) as opened:
        known = Known(opened, {}, at.store)
        made = tenants(opened, openings(), ("steps",), known, Names.PORTABLE)
        with pytest.raises(RuntimeError, match="before the server is alive"):
            anyio.run(made.of, None)
