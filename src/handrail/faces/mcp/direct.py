"""Tool calls that are answered past the SDK: nearly all that a server is sent, and always of the same form.

Whatever is unusual about a message leaves it to the SDK. What is answered here is, byte for byte, what the
SDK would answer; of each version of the protocol it is asked once what that looks like.
"""

import re
from functools import cache
from typing import Any, Final, Literal

import mcp_types as types
import msgspec
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.server.connection import Connection
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct
from pydantic import ValidationError

from handrail.faces.mcp.callers import AGENT, caller, client_of
from handrail.faces.mcp.face import Answer, Tool
from handrail.faces.mcp.server import Served
from handrail.shell.access import Grant
from handrail.shell.records import Caller

CALL: Final = "tools/call"
_NAMED: Final = f'"{CALL}"'.encode()
_DEEPEST: Final = 150
"""Up to so many brackets, a message nests less deeply than the SDK allows."""

_SIMPLE: Final = re.compile(rb'0|-?[1-9]\d{0,17}|"[\w .:-]{0,100}"', re.ASCII)
"""Numbers of requests that are written back as they came."""

_MOST: Final = 64
_SAID: Final = (
    types.PROTOCOL_VERSION_META_KEY,
    types.CLIENT_CAPABILITIES_META_KEY,
    types.CLIENT_INFO_META_KEY,
    types.LOG_LEVEL_META_KEY,
)
"""What clients of 2026 say of themselves in each call."""


class _Params(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any]
    meta: dict[str, Any] = msgspec.field(name="_meta", default_factory=dict)


class Call(msgspec.Struct, forbid_unknown_fields=True):
    """A tool call of the usual form."""

    jsonrpc: Literal["2.0"]
    id: msgspec.Raw
    method: Literal["tools/call"]
    params: _Params


_calls: Final = msgspec.json.Decoder(Call)


class Client(Struct, frozen=True):
    """What a client said of itself: the version that it speaks, its name, and whether it shows pages."""

    version: str
    name: str
    shows: bool

    def takes(self, tool: Tool) -> bool:
        """Whether what it is answered by this tool is known here."""
        return known(self.version) and not (self.shows and tool.shows)

    def calls(self, call: Call, grant: Grant) -> Caller:
        """Who calls with this client."""
        return caller(grant, self.name, call.params.meta.get(AGENT))


def read(message: bytes) -> Call | None:
    """The message, if it is a tool call of the usual form."""
    if _NAMED not in message or message.count(b"{") + message.count(b"[") > _DEEPEST:
        return None
    try:
        call = _calls.decode(message)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    progress = call.params.meta.get("progressToken", "")
    return call if _SIMPLE.fullmatch(call.id) and type(progress) in {int, str} else None


def connected(connection: Connection) -> Client | None:
    """The client of a connection, if it has told who it is."""
    if not connection.initialize_accepted:
        return None
    able = connection.client_capabilities
    shows = ((able.extensions if able else None) or {}).get(EXTENSION_ID) or {}
    kinds = shows.get("mimeTypes")
    return Client(
        connection.protocol_version,
        client_of(connection.client_params),
        isinstance(kinds, list | tuple) and APP_MIME_TYPE in kinds,
    )


class Clients:
    """The clients of 2026, by what they say of themselves in each call; the SDK is asked of each once."""

    def __init__(self) -> None:
        self._known: dict[str, Client | None] = {}

    def of(self, call: Call) -> Client | None:
        """The client that a call is from; None if the SDK would not take the call."""
        said = repr([call.params.meta.get(name) for name in _SAID])
        if said not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[said] = _introduced(call.params)
        return self._known[said]


def _introduced(params: _Params) -> Client | None:
    """The client that sends a call with these parameters, as the SDK understands it."""
    given = {"name": params.name, "arguments": params.arguments, "_meta": params.meta}
    route = classify_inbound_request({"method": CALL, "params": given})
    if not isinstance(route, InboundModernRoute):
        return None
    try:
        methods.validate_client_request(CALL, route.protocol_version, given)
    except (ValidationError, KeyError):
        return None
    version, info, able = route.protocol_version, route.client_info, route.client_capabilities
    return connected(Connection.from_envelope(version, info, able))


def result(served: Served, version: str, answer: Answer) -> dict[str, Any]:
    """What a call is answered with."""
    found = _result(version, answer)
    if version in MODERN_PROTOCOL_VERSIONS:
        found["_meta"] = served.stamp
    return found


def _result(version: str, answer: Answer) -> dict[str, Any]:
    modern = version in MODERN_PROTOCOL_VERSIONS
    return {
        "content": [{"text": answer.text, "type": "text"}],
        "isError": answer.failed,
        **({"resultType": "complete"} if modern else {}),
        "structuredContent": answer.reply,
    }


@cache
def known(version: str) -> bool:
    """Whether the SDK answers a client of this version in the form that is known here."""
    sample = Answer({"status": "ok", "why": None}, "said", failed=False)
    given = types.CallToolResult(
        content=[types.TextContent(type="text", text=sample.text)],
        structured_content=dict(sample.reply),
        is_error=sample.failed,
    )
    dumped = given.model_dump(by_alias=True, mode="json", exclude_none=True)
    found = methods.serialize_server_result(CALL, version, dumped)
    return list(found.items()) == list(_result(version, sample).items())
