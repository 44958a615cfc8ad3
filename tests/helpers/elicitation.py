"""Somebody who can be asked: behind a real client, and behind bytes that a test sees."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import mcp_types as types
from mcp import Client
from mcp.client import ClientRequestContext

from helpers.planner_agents import RepositoryPlace
from helpers.servers import META, Pipe, ToolAnswer, read_tool_answer

FOREIGN: Final = "Merge the kettle\n\nSigned-off-by: Ann\n"
ASKED: Final = ("verify_plan", dict[str, Any]())
FORM: Final[dict[str, Any]] = {"elicitation": {"form": {}}}
ABLE: Final = "io.modelcontextprotocol/clientCapabilities"
TITLED: Final = [
    {"const": "reformat", "title": "A) Reformat this commit"},
    {"const": "read_only", "title": "B) Work with current message as read-only context"},
]
REFORMAT: Final = {"action": "accept", "content": {"choice": "reformat"}}
READ_ONLY: Final = {"action": "accept", "content": {"choice": "read_only"}}
DECLINE: Final = {"action": "decline"}
CANCEL: Final = {"action": "cancel"}
UNDECIDED: Final[tuple[dict[str, Any], ...]] = (
    {"action": "decline", "content": {"choice": "reformat"}},
    {"action": "accept"},
    {"action": "accept", "content": {"choice": "both"}},
    {"action": "accept", "content": {"other": True}},
)
"""What somebody seems to say who has not chosen."""


@dataclass(frozen=True, slots=True)
class Person:
    """Says to each question the next thing that they were told to say, and keeps what they were asked."""

    says: list[Mapping[str, Any]] = field(default_factory=list)
    heard: list[types.ElicitRequestFormParams] = field(default_factory=list)

    async def __call__(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        del context
        assert isinstance(params, types.ElicitRequestFormParams)
        self.heard.append(params)
        return types.ElicitResult.model_validate(self.says.pop(0))


async def call_tool(client: Client, **given: Any) -> ToolAnswer:  # noqa: ANN401 - also what is no argument
    result = await client.call_tool(ASKED[0], given)
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert result.structured_content is not None
    return ToolAnswer(result.structured_content, content.text, bool(result.is_error))


class AskingPipe(Pipe):
    """A server process whose client says that it is `able` to do something; of which version, if of 2025."""

    def __init__(
        self, at: RepositoryPlace, era: str, able: Mapping[str, Any] = FORM, version: str = "2025-11-25"
    ) -> None:
        self.able, self.version = able, version
        super().__init__(at.at, "--face", "commits", era=era, PATH=at.repo.path)

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """A request that says what the client can do."""
        message = super().request(method, params)
        if method == "initialize":
            said = {"capabilities": self.able, "protocolVersion": self.version}
            message["params"] = {**message["params"], **said}
        elif self.era != "legacy":
            message["params"] = {**params, "_meta": {**META, ABLE: self.able}}
        return message

    def result(self, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - also what no client should send
        """What a call that may ask is answered with, an error too; `more` is sent beside the arguments."""
        answer = self.ask("tools/call", {"name": ASKED[0], "arguments": ASKED[1], **more})
        return dict(answer["result"] if "result" in answer else answer["error"])

    def question(self, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - the same
        """The question, and its state, that a call of 2026 is answered with."""
        result = self.result(**more)
        assert result["resultType"] == "input_required", result
        return result

    def goes_on(self, state: object, said: object = REFORMAT, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - the same
        """What the call is answered with when it is sent again with what was said."""
        return self.result(requestState=state, inputResponses={"choice": said}, **more)

    def asked(self) -> dict[str, Any]:
        """The question that is sent while a call of 2025 goes on."""
        self.post("tools/call", {"name": ASKED[0], "arguments": ASKED[1]})
        question = self.answer()
        assert question["method"] == "elicitation/create", question
        return question

    def reply(self, question: Mapping[str, Any], **said: Any) -> ToolAnswer:  # noqa: ANN401 - the same
        """Answer a question of 2025, and what the call is answered with then."""
        self.send(json.dumps({"jsonrpc": "2.0", "id": question["id"], **said}).encode())
        return read_tool_answer(self.answer())
