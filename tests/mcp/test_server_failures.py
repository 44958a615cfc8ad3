"""Calls that fail through no fault of the caller: a bug of ours, or what the world did."""

import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent
from msgspec.structs import replace

from handrail.app.app import open_app
from handrail.app.definitions import Definitions
from handrail.engine.refusals import RefusalCode
from handrail.mcp.addresses import Spelling
from handrail.mcp.server import FaceServer, build_server
from handrail.runtime.errors import Busy, FaultCode
from helpers.replies import find_broken_reply_rules
from helpers.servers import ERAS, TOOL, ToolAnswer, build_note_output, create_place


@dataclass(frozen=True, slots=True)
class BrokenSystem:
    """Raises what it is told to: no call of an agent makes the real ones do so."""

    raised: Exception

    def new_id(self) -> str:
        """No id."""
        raise self.raised

    def nonce(self) -> bytes:
        """No nonce."""
        raise self.raised

    def now(self) -> datetime:
        """No time."""
        raise self.raised


def answered(folder: Path, era: str, raised: Exception, arguments: dict[str, Any]) -> ToolAnswer:
    """What a client is told when the face raises this."""

    async def ask(server: FaceServer) -> CallToolResult:
        async with Client(server, mode=era) as client:
            return await client.call_tool(TOOL, arguments)

    at = create_place(folder)
    with open_app(at.store, [at.project]) as app:
        broken = BrokenSystem(raised)
        app.world = replace(app.world, ids=broken, clock=broken)
        server = build_server(app, "steps", Spelling.PORTABLE)
        result = anyio.run(ask, server)
    (text,) = result.content
    assert isinstance(text, TextContent)
    return ToolAnswer(dict(result.structured_content or {}), text.text, bool(result.is_error))


@pytest.mark.parametrize("era", ERAS)
def test_a_bug_is_reported_by_its_number_and_logged_in_full(
    tmp_path: Path, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "handrail"):
        answer = answered(tmp_path / "place", era, ValueError("secret"), {"template_name": "walk"})

    assert (answer.code, find_broken_reply_rules(answer)) == (RefusalCode.INTERNAL, [])
    assert "secret" not in answer.text
    (record,) = caplog.records
    assert record.getMessage().removeprefix("incident ") in answer.text
    assert "secret" in caplog.text


@pytest.mark.parametrize("era", ERAS)
def test_a_fault_names_the_repair_and_the_call_to_send_again_without_its_long_part(
    tmp_path: Path, era: str
) -> None:
    arguments = {"step_token": "T", "model_output_so_far": build_note_output(summary="long " * 1000)}
    answer = answered(
        tmp_path / "place", era, Busy("the store was busy", "send the same call again"), arguments
    )

    assert (answer.code, find_broken_reply_rules(answer)) == (FaultCode.BUSY, [])
    assert answer.reply["why"] == {"rule": "store", "seen": [], "needed": ["send the same call again"]}
    assert answer.reply["next"] == [
        {"tool": TOOL, "arguments": {"step_token": "T", "model_output_so_far": {}}, "who": "agent"}
    ]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("method", ["prompts/list", "resources/list"])
def test_no_request_is_answered_with_the_text_of_an_exception_not_even_one_that_no_tool_makes(
    tmp_path: Path, era: str, method: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> NoReturn:
        raise ValueError("secret")

    monkeypatch.setattr(Definitions, "_scan", broken)

    async def ask(server: FaceServer) -> str:
        async with Client(server, mode=era) as client:
            asked = client.list_prompts if method == "prompts/list" else client.list_resources
            with pytest.raises(MCPError) as failed:
                await asked()
            return str(failed.value)

    at = create_place(tmp_path / "place")
    with open_app(at.store, [at.project]) as app, caplog.at_level(logging.ERROR, "handrail"):
        server = build_server(app, "steps", Spelling.PORTABLE)
        answer = anyio.run(ask, server)

    assert answer.startswith("Handrail failed (incident ")
    assert "secret" not in answer
    assert "secret" in caplog.text
