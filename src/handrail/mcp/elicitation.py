"""Ask a person a question through the client; the only part of the server that waits for a person.

A client of 2025 gets the question as a request while the call is in progress. A client of 2026 gets it as the
answer and sends the call again with the reply. The question's state comes back sealed, so that any process
can go on.
"""

from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS, is_version_at_least
from pydantic import ValidationError

from handrail.app.faces import Question
from handrail.documents.text import escape_for_terminal

# A call that waited for a person this long is answered as if the client could not ask.
_ANSWER_SECONDS: Final = 3600.0
# The protocol version since which each option carries its own title (`oneOf`).
_TITLES_SINCE_VERSION: Final = "2025-11-25"


async def ask_person(
    question: Question, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
) -> str | types.InputRequiredResult | None:
    """Return the person's choice, or the request that makes the client ask.

    None means that the client cannot ask, or that the person made no choice.
    """
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    # An `elicitation` capability without details means forms.
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return None
    form = _build_form(question, ctx)
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        response = (params.input_responses or {}).get(question.name)
        if params.request_state == question.about and isinstance(response, types.ElicitResult):
            return _chosen_option(question, response)
        requests: types.InputRequests = {question.name: form}
        return types.InputRequiredResult(input_requests=requests, request_state=question.about)
    metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
    try:
        answer = await ctx.session.send_request(form, types.ElicitResult, _ANSWER_SECONDS, metadata=metadata)
    except (MCPError, ValidationError):
        return None
    return _chosen_option(question, answer)


def _chosen_option(question: Question, response: types.ElicitResult) -> str | None:
    """Return the chosen option; None if the person declined or the value is not an option."""
    value = (response.content or {}).get(question.name) if response.action == "accept" else None
    return value if isinstance(value, str) and value in question.options else None


def _build_form(question: Question, ctx: ServerRequestContext[Any, Any]) -> types.ElicitRequest:
    """Build a form with one field; control characters in its text are escaped."""
    options: dict[str, Any] = {"enum": [*question.options], "enumNames": [*question.options.values()]}
    if is_version_at_least(ctx.protocol_version, _TITLES_SINCE_VERSION):
        options = {"oneOf": [{"const": one, "title": title} for one, title in question.options.items()]}
    schema = {
        "type": "object",
        "properties": {question.name: {"type": "string", **options}},
        "required": [question.name],
    }
    message = "\n".join(escape_for_terminal(line) for line in question.text.split("\n"))
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))
