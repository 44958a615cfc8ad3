"""The tools of the suite that ask a client for something, each in the way of its protocol era.

To a client of 2025 a question is sent while the call goes on. A client of 2026 is answered with the question,
and sends the call again with what was said.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import mcp_types as types
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

ToolRequest: TypeAlias = Context[None, Any]
ToolArguments: TypeAlias = Mapping[str, Any]
Result: TypeAlias = types.CallToolResult | types.InputRequiredResult
Fixture: TypeAlias = Callable[[ToolRequest, ToolArguments], Awaitable[Result]]
ClientResult = TypeVar("ClientResult", types.ElicitResult, types.CreateMessageResult, types.ListRootsResult)


def build_text_result(text: str) -> types.CallToolResult:
    """An answer that is one text."""
    return types.CallToolResult(content=[types.TextContent(text=text)])


def field(name: str, kind: str = "string") -> dict[str, Any]:
    """A form with one field."""
    return {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}


def form(message: str, schema: dict[str, Any]) -> types.ElicitRequest:
    """A question to a person."""
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(text: str, tokens: int) -> types.CreateMessageRequest:
    """A question to a model."""
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=tokens)
    )


NAME: Final = form("What is your name?", field("name"))
CONFIRM: Final = form("Please confirm", field("ok", "boolean"))
CAPITAL: Final = sample("What is the capital of France?", 100)
GREETING: Final = sample("Generate a greeting", 50)
ROOTS: Final = types.ListRootsRequest()
CONTEXT: Final = form("What context should the prompt use?", field("context"))


def get_client_answer(asked: ToolRequest, key: str, kind: type[ClientResult]) -> ClientResult | None:
    """What the client said to a question, if it is of the right kind."""
    found = (asked.input_responses or {}).get(key)
    return found if isinstance(found, kind) else None


def get_field_value(asked: ToolRequest, key: str, name: str) -> str:
    """What the person wrote into a field; empty if nothing."""
    answer = get_client_answer(asked, key, types.ElicitResult)
    found = (answer.content or {}).get(name) if answer else None
    return found if isinstance(found, str) else ""


def request_input(state: str | None = None, **questions: Any) -> types.InputRequiredResult:  # noqa: ANN401 - three kinds
    """These questions, and what the client is to send back with its answers."""
    return types.InputRequiredResult(input_requests=questions, request_state=state)


PERSON: Final = {
    "type": "object",
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
}
DEFAULTS: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}


def _titled(what: str) -> list[dict[str, str]]:
    return [
        {"const": f"value{number}", "title": f"{word} {what}"}
        for number, word in enumerate(("First", "Second", "Third"), 1)
    ]


OPTIONS: Final = ["option1", "option2", "option3"]
CHOICES: Final = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": _titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": _titled("Choice")}},
    },
}


async def _put(asked: ToolRequest, question: types.ServerRequest, kind: type[ClientResult]) -> ClientResult:
    """What the client says to a question that is part of the call."""
    part = ServerMessageMetadata(related_request_id=asked.request_context.request_id)
    found: ClientResult = await asked.session.send_request(question, kind, metadata=part)
    return found


async def _filled_in(asked: ToolRequest, message: str, schema: dict[str, Any]) -> types.CallToolResult:
    answer = await _put(asked, form(message, schema), types.ElicitResult)
    return build_text_result(
        f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"
    )


async def elicitation(asked: ToolRequest, given: ToolArguments) -> Result:
    return await _filled_in(asked, str(given["message"]), PERSON)


async def defaults(asked: ToolRequest, _: ToolArguments) -> Result:
    return await _filled_in(asked, "Is that right?", DEFAULTS)


async def choices(asked: ToolRequest, _: ToolArguments) -> Result:
    return await _filled_in(asked, "Which ones?", CHOICES)


async def sampling(asked: ToolRequest, given: ToolArguments) -> Result:
    answer = await _put(asked, sample(str(given["prompt"]), 100), types.CreateMessageResult)
    assert isinstance(answer.content, types.TextContent)
    return build_text_result(f"LLM response: {answer.content.text}")


async def one_form(asked: ToolRequest, _: ToolArguments) -> Result:
    name = get_field_value(asked, "user_name", "name")
    return build_text_result(f"Hello, {name}!") if name else request_input(user_name=NAME)


async def one_sample(asked: ToolRequest, _: ToolArguments) -> Result:
    answer = get_client_answer(asked, "capital_question", types.CreateMessageResult)
    if answer is None or not isinstance(answer.content, types.TextContent):
        return request_input(capital_question=CAPITAL)
    return build_text_result(f"The model says: {answer.content.text}")


async def roots(asked: ToolRequest, _: ToolArguments) -> Result:
    answer = get_client_answer(asked, "client_roots", types.ListRootsResult)
    if answer is None:
        return request_input(client_roots=ROOTS)
    return build_text_result("Roots: " + ", ".join(str(root.uri) for root in answer.roots))


async def with_state(asked: ToolRequest, _: ToolArguments) -> Result:
    good = asked.request_state == "begun" and get_client_answer(asked, "confirm", types.ElicitResult)
    return build_text_result("state-ok") if good else request_input("begun", confirm=CONFIRM)


async def three_at_once(asked: ToolRequest, _: ToolArguments) -> Result:
    kinds = {
        "user_name": types.ElicitResult,
        "greeting": types.CreateMessageResult,
        "client_roots": types.ListRootsResult,
    }
    if all(isinstance((asked.input_responses or {}).get(key), kind) for key, kind in kinds.items()):
        return build_text_result("All three came")
    return request_input("three", user_name=NAME, greeting=GREETING, client_roots=ROOTS)


async def two_rounds(asked: ToolRequest, _: ToolArguments) -> Result:
    if asked.request_state == "second" and (colour := get_field_value(asked, "step2", "color")):
        return build_text_result(f"They like {colour}")
    if asked.request_state == "first" and get_field_value(asked, "step1", "name"):
        return request_input("second", step2=form("Step 2: What is your favorite color?", field("color")))
    return request_input("first", step1=form("Step 1: What is your name?", field("name")))


async def as_they_can(asked: ToolRequest, _: ToolArguments) -> Result:
    able = asked.client_capabilities or types.ClientCapabilities()
    questions: dict[str, Any] = {}
    if able.elicitation is not None:
        questions["user_name"] = NAME
    if able.sampling is not None:
        questions["greeting"] = GREETING
    return (
        request_input(**questions)
        if questions and not asked.input_responses
        else build_text_result("Nothing to ask")
    )


async def needs_a_model(asked: ToolRequest, _: ToolArguments) -> Result:
    able = asked.client_capabilities
    if able is None or able.sampling is None:
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "this needs sampling", needed)
    return build_text_result("It can be done")


async def with_progress_first(asked: ToolRequest, given: ToolArguments) -> Result:
    await asked.report_progress(1, 2)
    return await one_form(asked, given)


ASKING: Final[Mapping[str, Fixture]] = {
    "test_elicitation": elicitation,
    "test_elicitation_sep1034_defaults": defaults,
    "test_elicitation_sep1330_enums": choices,
    "test_sampling": sampling,
    "test_missing_capability": needs_a_model,
    "test_streaming_elicitation": with_progress_first,
    "test_input_required_result_elicitation": one_form,
    "test_input_required_result_sampling": one_sample,
    "test_input_required_result_list_roots": roots,
    "test_input_required_result_request_state": with_state,
    "test_input_required_result_multiple_inputs": three_at_once,
    "test_input_required_result_multi_round": two_rounds,
    "test_input_required_result_tampered_state": with_state,
    "test_input_required_result_capabilities": as_they_can,
}
NEEDED: Final = {"test_elicitation": ("message",), "test_sampling": ("prompt",)}
"""The arguments that the tools need, where they need any."""
