"""Who calls, as far as the transport and the client say so."""

from typing import Any, Final

from mcp.server.mcpserver import Context
from starlette.requests import Request

from handrail.shell.access import Grant, Scope
from handrail.shell.records import Caller

GRANT: Final = "handrail_grant"
"""Where a transport that asks who somebody is leaves the answer, in the state of the request."""

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
    session = context.request_context.session if context else None
    info = session.client_params.client_info if session and session.client_params else None
    client = f"{info.name} {info.version}"[:_LONGEST] if info else ""
    return Caller(principal=grant_of(context).principal, client=client)
