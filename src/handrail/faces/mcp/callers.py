"""Who calls, as far as the transport and the client say so."""

from typing import Any, Final

from mcp.server.context import ServerRequestContext
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


def grant_in(request: Request | None) -> Grant:
    """What may be done by who sent a request; over a transport that has none, everything."""
    found = request.scope["state"][GRANT] if request else ANYBODY
    return found if isinstance(found, Grant) else NOBODY


def caller_of(ctx: ServerRequestContext[Any, Any]) -> Caller:
    """Who calls: with which client, and as which of its agents."""
    told = ctx.session.client_params
    info, agent = told.client_info if told else None, (ctx.meta or {}).get(AGENT)
    return Caller(
        principal=grant_in(ctx.request).principal,
        client=f"{info.name} {info.version}"[:_LONGEST] if info else "",
        agent=agent[:_LONGEST] if isinstance(agent, str) else "",
    )
