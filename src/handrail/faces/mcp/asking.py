"""A question to a person, put in the way of the client: the only part of the server that waits for somebody.

To a client of 2025 it is sent while the call goes on. A client of 2026 is answered with it, and sends the
call again with what was said; what was asked comes back sealed, so that any process can go on.
"""

from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS, is_version_at_least
from pydantic import ValidationError

from handrail.faces.mcp.face import Question
from handrail.workflows.characters import safe

_WAIT: Final = 3600.0
"""How many seconds a call waits for a person; then it is answered as if nobody had been asked."""

_TITLED: Final = "2025-11-25"
"""The version since which options have their titles beside them."""


async def asked(
    question: Question, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
) -> str | types.InputRequiredResult | None:
    """What the person chose, or what the client is to ask them; None if nobody can be asked or chooses."""
    if not _can_be_asked(ctx.session.client_capabilities):
        return None
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        said = (params.input_responses or {}).get(question.name)
        if params.request_state == question.about and isinstance(said, types.ElicitResult):
            return _chosen(question, said)
        put: types.InputRequests = {question.name: _form(question, ctx)}
        return types.InputRequiredResult(input_requests=put, request_state=question.about)
    return await _heard(question, ctx)


def _can_be_asked(able: types.ClientCapabilities | None) -> bool:
    """True if the client can show a form; one that says nothing of forms or pages means forms."""
    found = able.elicitation if able else None
    return found is not None and (found.form is not None or found.url is None)


async def _heard(question: Question, ctx: ServerRequestContext[Any, Any]) -> str | None:
    """What the person chose while the call goes on; None if the client cannot be reached or fails to say."""
    part = ServerMessageMetadata(related_request_id=ctx.request_id)
    try:
        said = await ctx.session.send_request(_form(question, ctx), types.ElicitResult, _WAIT, metadata=part)
    except (MCPError, ValidationError):
        return None
    return _chosen(question, said)


def _chosen(question: Question, said: types.ElicitResult) -> str | None:
    """The option that was chosen, if it is one."""
    found = (said.content or {}).get(question.name) if said.action == "accept" else None
    return found if isinstance(found, str) and found in question.options else None


def _form(question: Question, ctx: ServerRequestContext[Any, Any]) -> types.ElicitRequest:
    """The question as a form with one field; nothing in it that the client's screen would obey or hide."""
    options: dict[str, Any] = {"enum": [*question.options], "enumNames": [*question.options.values()]}
    if is_version_at_least(ctx.protocol_version, _TITLED):
        options = {"oneOf": [{"const": one, "title": title} for one, title in question.options.items()]}
    schema = {
        "type": "object",
        "properties": {question.name: {"type": "string", **options}},
        "required": [question.name],
    }
    message = "\n".join(safe(line) for line in question.text.split("\n"))
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))
