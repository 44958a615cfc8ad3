"""What somebody may not do whose token an issuer gave out: told so that their client can ask for more."""

from collections.abc import Callable
from typing import Final

import mcp_types as types
import msgspec
from starlette.responses import JSONResponse, Response
from starlette.types import Scope as Asked

from handrail.faces.mcp.callers import GRANT
from handrail.shell.access import Scope

Needs = Callable[[str, str], Scope | None]
"""What the sender of a request with this method, and this name in it, must be allowed."""

CHALLENGE: Final = "handrail_challenge"
"""Where it is kept, in the state of a request, how its client is told which scopes to ask for."""


class _Params(msgspec.Struct):
    name: object = ""


class _Sent(msgspec.Struct):
    method: str = ""
    params: _Params | None = None
    id: int | str | None = None


_decoder: Final = msgspec.json.Decoder(_Sent)


def lacks(asked: Asked, body: bytes, needs: Needs) -> Response | None:
    """The refusal of a message whose sender could be given the scope that it needs, and has not got it.

    The others are told by the answer to their call; nobody gives them another token.
    """
    challenge = asked["state"].get(CHALLENGE)
    if challenge is None:
        return None
    try:
        sent = _decoder.decode(body)
    except msgspec.ValidationError:
        return None
    needed = needs(sent.method, str(sent.params.name) if sent.params else "")
    if needed is None or needed in asked["state"][GRANT].scopes:
        return None
    text = f"your token does not let you do this: ask your issuer for one with the scope {needed}"
    error = {"code": types.INVALID_REQUEST, "message": text}
    reply = {"jsonrpc": "2.0", "id": sent.id, "error": error}
    return JSONResponse(reply, 403, {"www-authenticate": challenge(needed)})
