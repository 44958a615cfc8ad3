"""Who calls, as far as the transport and the client say so."""

from typing import Any, Final

from mcp.server.mcpserver import Context
from mcp_types import InitializeRequestParams
from starlette.requests import Request

from handrail.shell.access import Grant, Scope
from handrail.shell.records import Caller

GRANT: Final = "handrail_grant"
"""Where a transport that asks who somebody is leaves the answer, in the state of the request."""

AGENT: Final = "handrail/agent"
"""Where a client that has several agents says, in the `_meta` of a call, which of them calls."""

ANYBODY: Final = Grant("", frozenset(Scope))
"""Whoever reaches a server that asks nobody who they are, such as who started it themselves."""

NOBODY: Final = Grant("", frozenset())
_LONGEST: Final = 100


def grant_of(context: Context[None, Any] | None) -> Grant:
    """What the caller may do."""
    return grant_in(context.request_context.request if context else None)


def grant_in(request: Request | None) -> Grant:
    """What may be done by who sent a request; over a transport that has none, everything."""
    found = request.scope["state"][GRANT] if request else ANYBODY
    return found if isinstance(found, Grant) else NOBODY


def caller_of(context: Context[None, Any] | None) -> Caller:
    """Who calls."""
    if context is None:
        return Caller(principal=ANYBODY.principal)
    asked = context.request_context
    client = client_of(asked.session.client_params)
    return caller(grant_of(context), client, (asked.meta or {}).get(AGENT))


def client_of(params: InitializeRequestParams | None) -> str:
    """What a client calls itself, and its version."""
    info = params.client_info if params else None
    return f"{info.name} {info.version}"[:_LONGEST] if info else ""


def caller(grant: Grant, client: str, agent: object) -> Caller:
    """Who calls: with this client, and the agent that it names."""
    named = agent[:_LONGEST] if isinstance(agent, str) else ""
    return Caller(principal=grant.principal, client=client, agent=named)
