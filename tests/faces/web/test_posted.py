"""Calls over HTTP that are answered past the SDK: with the same bytes, and only while that is quick."""

import asyncio
import json
import re
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from faces.mcp.desk import ERAS, META, TOOL, Place, Told, place, until
from faces.mcp.test_lane import REFUSED
from faces.web.desk import Site, site
from faces.web.test_ending import held
from faces.web.test_metrics import figures, read
from faces.web.wire import Wire
from handrail.app import openings
from handrail.faces.mcp.callers import ANYBODY, BEGUN, GRANT
from handrail.faces.mcp.face import Answer
from handrail.faces.mcp.names import Names
from handrail.faces.mcp.server import Served
from handrail.faces.mcp.serving import made
from handrail.faces.mcp.steps import Steps
from handrail.faces.web.posted import Posted
from handrail.faces.web.sessions import USUAL, Sessions
from handrail.stores.sql.opening import serving


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return place(Path(tmp_path_factory.mktemp("posted")) / "place")


@pytest.fixture(scope="module", params=["with sessions", "without"])
def served(at: Place, request: pytest.FixtureRequest) -> Iterator[Site]:
    with site(at, *(["--replicas"] if request.param == "without" else [])) as made:
        yield made


async def raw(wire: Wire, params: Mapping[str, Any], more: Mapping[str, str]) -> bytes:
    """All bytes that a call is answered with."""
    headers, message = wire._asked(1, "tools/call", params)  # noqa: SLF001 - the client of these tests
    body = json.dumps(message).encode()
    return await wire.thrown(wire.head("POST", len(body), {**headers, "connection": "close", **more}) + body)


async def both(wire: Wire, arguments: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """What a call is answered with here, and by the SDK, which alone takes what has one key more."""
    given = {"name": TOOL, "arguments": dict(arguments)}
    return await raw(wire, given, {}), await raw(wire, {**given, "unusual": None}, {})


@pytest.mark.parametrize("era", ERAS)
def test_an_answer_is_the_same_in_every_byte_whoever_gives_it(served: Site, era: str) -> None:
    async def asked() -> None:
        wire = Wire(served, "steps", era)
        await wire.greet()
        begun = await wire.call(2, TOOL, {"template_name": "walk", "goal": "Zwölf «Boxer» 😀"})
        for arguments in ({"step_token": begun.token, "action": "why"}, *REFUSED):
            here, there = await both(wire, arguments)
            assert here == there
            assert here.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b'"structuredContent"' in here

    asyncio.run(asked())


UNUSUAL = (
    {"accept": "application/json"},
    {"content-type": "text/plain"},
    {"mcp-protocol-version": "2026-07-29"},
    {"mcp-session-id": "nobody's"},
)


@pytest.mark.parametrize("era", ERAS)
def test_what_is_unusual_about_a_request_is_answered_by_the_sdk_as_ever(served: Site, era: str) -> None:
    async def asked() -> None:
        wire = Wire(served, "steps", era)
        await wire.greet()
        await wire.call(2, TOOL, {"template_name": "brief"})
        given = {"name": TOOL, "arguments": {}}
        for more in UNUSUAL:
            here, there = await raw(wire, given, more), await raw(wire, {**given, "unusual": None}, more)
            assert re.sub(rb"[0-9a-f]{32}", b"", here) == re.sub(rb"[0-9a-f]{32}", b"", there)

    asyncio.run(asked())


def test_a_client_of_2026_whose_headers_are_of_another_call_is_refused_as_ever(served: Site) -> None:
    async def asked() -> list[bytes]:
        wire = Wire(served, "steps", "auto")
        given = {"name": TOOL, "arguments": {}}
        changed = (
            {"mcp-name": "other"},
            {"mcp-method": "tools/list"},
            {"mcp-protocol-version": "2026-07-29"},
        )
        return [await raw(wire, given, more) for more in changed]

    for answered in asyncio.run(asked()):
        assert answered.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_takes_long_is_begun_once_and_answered_by_the_sdk(
    at: Place, served: Site, era: str
) -> None:
    async def called() -> Told:
        wire = Wire(served, "steps", era)
        await wire.greet()
        before = await wire.call(2, TOOL, {"template_name": "walk"})
        with held(at) as awaited, ThreadPoolExecutor(1) as pool:
            arguments = {"execution_id": before.run, "action": "pause", "reason": "lunch"}
            call = asyncio.create_task(wire.call(3, TOOL, arguments))
            await asyncio.get_running_loop().run_in_executor(pool, until, awaited, "a call that waits")
            done, _ = await asyncio.wait((call,), timeout=0.7)
            assert not done
        return await call

    before = figures(read(served).text).get(COUNTED, 0)
    assert asyncio.run(called()).code == "ok"
    assert figures(read(served).text)[COUNTED] == before + 2


COUNTED = "handrail_calls_total{face=steps,outcome=ok,tool=workflow_next_step}"


def test_a_session_in_which_calls_are_made_is_not_idle(at: Place) -> None:
    async def called(served: Site) -> None:
        wire = Wire(served, "steps", "legacy")
        await wire.greet()
        end, number = time.monotonic() + 2.5, 2
        while time.monotonic() < end:
            number += 1
            assert (await wire.call(number, TOOL, {"execution_id": "none"})).failed

    with site(at, HANDRAIL_SESSION_IDLE="1") as served:
        asyncio.run(called(served))


def test_an_answer_that_cannot_be_written_as_no_face_gives_one_is_left_to_the_sdk_which_is_guarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Steps, "call", lambda *_: Answer({"odd": object()}, "odd", failed=False))
    given = {"name": TOOL, "arguments": {}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": given}).encode()
    names = (
        (b"accept", b"application/json, text/event-stream"),
        (b"content-type", b"application/json"),
        (b"mcp-protocol-version", b"2026-07-28"),
        (b"mcp-method", b"tools/call"),
        (b"mcp-name", TOOL.encode()),
    )
    scope: dict[str, Any] = {"type": "http", "headers": names, "state": {GRANT: ANYBODY}}

    async def asked(server: Served) -> bool:
        posted = Posted(server, Sessions(server.low, USUAL, ()))
        taken = posted.read(scope, body)
        assert taken is not None
        return await posted.answer(taken, scope, AsyncMock(side_effect=AssertionError))

    at = place(tmp_path / "place")
    with serving(at.store) as opened:
        server = made(opened, openings(), [at.project], "steps", Names.PORTABLE)
        assert asyncio.run(asked(server)) is False
    assert scope["state"][BEGUN].result().text == "odd"
