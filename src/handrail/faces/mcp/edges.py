"""What every message passes on its way in and out, on any transport."""

import logging
import secrets
from typing import Any, Final

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from handrail.faces.mcp.callers import grant_in
from handrail.shell.access import Scope

READING: Final = frozenset(
    {
        "completion/complete",
        "prompts/get",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "subscriptions/listen",
    }
)
"""The methods that tell of runs."""

log = logging.getLogger("handrail")


async def guarded(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """The edge of the program: of a bug a client hears a number, and the log the rest.

    What is wrong with the parameters of a request the SDK tells by itself.
    """
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as bug:  # noqa: BLE001 - no exception text goes to a client
        raise failure(bug) from None


async def permitted(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """What tells of runs is for those who may read them; what a tool needs is said by its answer."""
    if ctx.method in READING and Scope.READ not in grant_in(ctx.request).scopes:
        message = f"this needs a token with the scope {Scope.READ}: ask whoever runs the server"
        raise MCPError(types.INVALID_REQUEST, message)
    return await call_next(ctx)


async def set_level(
    ctx: ServerRequestContext[Any, Any], params: types.SetLevelRequestParams
) -> types.EmptyResult:
    """Agree to any level: what there is to tell stands in the answers, and no log is sent at any."""
    del ctx, params
    return types.EmptyResult()


def failure(bug: Exception) -> MCPError:
    """What a client hears of a bug."""
    return MCPError(types.INTERNAL_ERROR, f"Handrail failed (incident {incident(bug)})")


def incident(bug: Exception) -> str:
    """The number under which the log tells of a bug."""
    number = secrets.token_hex(4)
    log.error("incident %s", number, exc_info=bug)
    return number
