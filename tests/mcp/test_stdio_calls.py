"""Calls over stdin and stdout: cancelled, of another era, with nonsense, and many at once."""

import json
import logging
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, Final

import pytest
from mcp_types import JSONRPCResponse

from handrail.app.faces import StepsStatus
from handrail.mcp.stdio import encode_message
from helpers.servers import ERAS, META, TOOL, Pipe, Place, build_note_output, read_tool_answer
from helpers.store_contents import read_store_contents
from helpers.store_locks import await_waiting_call, block_writers


@pytest.fixture(params=ERAS)
def pipe(at: Place, request: pytest.FixtureRequest) -> Iterator[Pipe]:
    with Pipe(at, era=request.param) as opened:
        opened.ask("tools/list")
        yield opened


NUMBERS: Final = (0, 7, -12, 10**17, 10**30, "7", "a-b:c.d", "a\\b", "ä", "", "x" * 300)


def test_an_answer_carries_the_number_of_its_call(pipe: Pipe) -> None:
    token = pipe.start(goal="Zwölf «Boxkämpfer» \u2028 \x7f 😀").token
    given = {"name": TOOL, "arguments": {"step_token": token, "action": "why"}}
    for number in NUMBERS:
        pipe.send(json.dumps({**pipe.request("tools/call", given), "id": number}).encode())
        answer = pipe.answer()
        assert answer["id"] == number
        assert read_tool_answer(answer).reply["status"] == StepsStatus.OK


REFUSED: Final[tuple[Mapping[str, Any], ...]] = (
    {"step_token": "none", "action": "why"},
    {"nothing": 10**40},
    {"template_name": "walk", "inputs": {"what": 1.5e300, "else": [None, True, -0.0, 1e16, 2**70]}},
    {"template_name": "\x00\x1f\x7f\u0085"},
    {"template_name": [[[["deep"]]]]},
    {},
)


def test_arguments_of_any_kind_are_refused_by_the_tool(pipe: Pipe) -> None:
    for arguments in REFUSED:
        assert read_tool_answer(pipe.ask("tools/call", {"name": TOOL, "arguments": dict(arguments)})).failed


def test_a_call_that_is_cancelled_before_its_turn_is_never_done_and_not_answered(
    at: Place, pipe: Pipe
) -> None:
    first = pipe.start()
    with block_writers(at):
        given = {"step_token": first.token, "model_output_so_far": build_note_output()}
        holds = pipe.post("tools/call", {"name": TOOL, "arguments": {"template_name": "brief"}})
        await_waiting_call(at, pipe)
        waits = pipe.post("tools/call", {"name": TOOL, "arguments": given})
        for named in ({}, {"requestId": [waits]}, {"requestId": str(waits)}):
            message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": named}
            pipe.send(json.dumps(message).encode())
        assert "result" in pipe.ask("tools/list")
    assert pipe.answer()["id"] == holds
    assert pipe.ask("tools/list")["result"]["tools"]
    assert read_store_contents(at.store).revision(first.run) == 1


def test_a_second_initialize_renames_the_client_at_once(at: Place) -> None:
    with Pipe(at, era="legacy") as pipe:
        pipe.start()
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        info = {"name": "another", "version": "2"}
        before = pipe.post("initialize", {**hello, "clientInfo": info})
        call = pipe.post("tools/call", {"name": TOOL, "arguments": {"template_name": "brief"}})
        assert [pipe.answer()["id"] for _ in range(2)] == [before, call]
        pipe.start("brief")
    with closing(sqlite3.connect(at.store)) as store:
        found = store.execute("SELECT min(id), metadata FROM events WHERE run > 0 GROUP BY run ORDER BY run")
        said = [json.loads(text)["client"] for _, text in found]
    assert said == ["bench 1", "another 2", "another 2"]


def test_a_call_of_the_other_era_is_refused(pipe: Pipe) -> None:
    given = {"name": TOOL, "arguments": {"template_name": "brief"}}
    stranger = {**given, "_meta": META} if pipe.era == "legacy" else given
    pipe.send(json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": stranger}).encode())

    assert pipe.answer()["error"]["code"] == (-32600 if pipe.era == "legacy" else -32602)


def test_what_a_client_says_besides_changes_nothing(pipe: Pipe) -> None:
    for named in ({"progressToken": 4}, {"progressToken": "p"}, {"of.somebody/key": [1]}):
        message = pipe.request("tools/call", {"name": TOOL, "arguments": {"template_name": "brief"}})
        meta = {**message["params"].get("_meta", {}), **named}
        pipe.send(json.dumps({**message, "params": {**message["params"], "_meta": meta}}).encode())
        assert read_tool_answer(pipe.answer()).code == StepsStatus.OK


def test_a_client_with_malformed_info_is_refused_every_time(at: Place) -> None:
    with Pipe(at) as pipe:
        pipe.start()
        for number in range(100):
            meta = {**META, "io.modelcontextprotocol/clientInfo": {"name": number}}
            params = {"name": TOOL, "arguments": {"template_name": "brief"}, "_meta": meta}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            pipe.send(json.dumps(message).encode())
            assert pipe.answer()["error"]["code"] == -32602


def test_a_client_that_sends_much_and_reads_late_gets_every_answer(pipe: Pipe) -> None:
    token = pipe.start().token
    call = pipe.request("tools/call", {"name": TOOL, "arguments": {"step_token": token, "action": "why"}})
    lines = [json.dumps({**call, "id": number}).encode() for number in range(400)]

    assert sorted(answer["id"] for answer in pipe.exchange_lines(lines, 400)) == list(range(400))


def test_an_answer_that_cannot_be_encoded_is_reported_by_a_number(caplog: pytest.LogCaptureFixture) -> None:
    answer = JSONRPCResponse(jsonrpc="2.0", id=7, result={"half": "\ud800"})

    with caplog.at_level(logging.ERROR, "handrail"):
        reply = json.loads(encode_message(answer))

    assert (reply["id"], reply["error"]["code"]) == (7, -32603)
    assert reply["error"]["message"].startswith("Handrail failed (incident ")
    assert "surrogates not allowed" in caplog.text
