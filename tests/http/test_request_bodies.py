"""Bodies of any length and any bytes: the same verdict as over stdin, and the next call works."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest

from handrail.app.asgi import MAX_MESSAGE_BYTES
from handrail.app.faces import StepsStatus
from helpers.crash import Record
from helpers.http_clients import WireClient
from helpers.http_servers import HttpAnswer, HttpServer, run_http_server
from helpers.messages import (
    CALL,
    REFUSED,
    Request,
    build_call,
    build_calls,
    build_frames,
    build_mutants,
    mutate_frame,
)
from helpers.servers import BOUND, ERAS, META, TOOL, ToolAnswer, create_place, read_tool_answer


def request(
    method: str, params: Mapping[str, Any], more: Mapping[str, Any] = MappingProxyType({"_meta": META})
) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, **more}}


def post(served: HttpServer, body: bytes) -> HttpAnswer:
    return served.send(
        "/mcp/steps", body, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call", Mcp_Name=TOOL
    )


def answer(answered: HttpAnswer) -> dict[str, Any]:
    """The message in an answer, whichever way it is sent."""
    lines = [line for line in answered.text.splitlines() if line.startswith("data: ")]
    found: dict[str, Any] = json.loads(lines[-1].removeprefix("data: ") if lines else answered.text)
    return found


def start(served: HttpServer, template: str = "brief") -> ToolAnswer:
    return read_tool_answer(answer(post(served, build_call(json.dumps({"template_name": template})))))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_message_is_answered_as_over_stdin_and_the_next_call_works(
    served: HttpServer, name: str
) -> None:
    body, code, identity = REFUSED[name]
    answered = post(served, body)
    message = answer(answered)

    assert (answered.status, message["error"]["code"], message["id"]) == (400, code, identity)
    assert start(served).code == StepsStatus.OK


def test_a_body_as_long_as_allowed_is_taken_and_one_byte_more_is_not(served: HttpServer) -> None:
    body = json.dumps(request("tools/call", CALL)).encode()
    padded = body + b" " * (MAX_MESSAGE_BYTES - len(body))

    assert read_tool_answer(answer(post(served, padded))).code == StepsStatus.OK
    assert post(served, padded + b" ").status == 413
    assert start(served).code == StepsStatus.OK


def test_a_body_in_pieces_that_is_too_long_is_answered_with_the_limit(served: HttpServer) -> None:
    headers = {
        "Host": served.address,
        "Content-Type": "application/json",
        "Transfer-Encoding": "chunked",
    }
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    answered = served.ask("POST", "/mcp/steps", headers, piece * 17 + b"0\r\n\r\n")

    assert answered.status == 413
    assert "the limit is 1048576: send less at a time" in answered.text


BODIES: Final = 97_000
HEADS: Final = 3_000


async def _bodies(wire: WireClient, crop: Iterable[bytes]) -> Counter[int]:
    """How many of these bodies were answered with which status."""
    await wire.greet()
    counted: Counter[int] = Counter()
    async for status, answer in wire.statuses(crop):
        assert b'"code":"internal"' not in answer
        counted[status] += 1
    return counted


async def _heads(wire: WireClient, count: int) -> None:
    """Requests whose heads are mutated, each over a connection of its own, which must come to its end."""
    chance = random.Random("heads")  # noqa: S311 - the same ones each time
    body = json.dumps(request("tools/call", CALL)).encode()
    head = wire.head("POST", len(body), {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call"})
    for _ in range(count):
        await wire.thrown(mutate_frame(head, chance) + body, ends=True)


@pytest.mark.unmeasured
def test_of_a_hundred_thousand_mutated_requests_each_is_answered_and_the_server_stays_alive(
    tmp_path: Path, record_property: Record
) -> None:
    counted: Counter[int] = Counter()
    with run_http_server(create_place(tmp_path / "place", measured=False)) as served:
        first = start(served, "walk")
        asked: Mapping[str, Request] = {"auto": request, "legacy": partial(request, more={})}
        good = {
            era: [
                *build_frames(asked[era], first.token, first.run),
                *build_calls("spells", asked[era], "project"),
            ]
            for era in ERAS
        }
        wires = [WireClient(served, face, era) for face in ("steps", "spells") for era in (*ERAS, *ERAS)]
        each = BODIES // len(wires)

        async def every() -> list[Counter[int]]:
            crops = [
                build_mutants(good[wire.era], each, f"bodies {number}") for number, wire in enumerate(wires)
            ]
            async with asyncio.timeout(BOUND * 10):
                found, _ = await asyncio.gather(
                    asyncio.gather(*map(_bodies, wires, crops)),
                    _heads(WireClient(served, "steps", "auto"), HEADS),
                )
            return found

        for one in asyncio.run(every()):
            counted += one
        assert start(served).code == StepsStatus.OK
        assert served.send("/healthz").text == "ok\n"

    assert set(counted) <= {200, 202, 400, 404}
    assert counted.total() == each * len(wires)
    record_property("points", counted.total() + HEADS)
