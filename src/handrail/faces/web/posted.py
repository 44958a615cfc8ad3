"""Tool calls over HTTP, answered past the SDK: what is usual in every respect, and does not take long.

The SDK tells the eras apart by a header: a client of 2026 is answered with JSON, one of 2025 with a stream
that ends with its answer.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

import pydantic_core
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, check_accept_headers
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER
from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.types import Scope, Send

from handrail.faces.mcp.callers import BEGUN, GRANT
from handrail.faces.mcp.direct import CALL, Call, Client, Clients, read, result
from handrail.faces.mcp.face import Answer, Question, Tool
from handrail.faces.mcp.server import Served
from handrail.faces.web.sessions import Session, Sessions

_SOON: Final = 0.5
"""How many seconds a call may take; with one that takes longer the SDK goes on, which keeps its client."""

_ACCEPT: Final = b"accept"
_TYPE: Final = b"content-type"
_VERSION: Final = MCP_PROTOCOL_VERSION_HEADER.encode()
_METHOD: Final = MCP_METHOD_HEADER.encode()
_NAME: Final = MCP_NAME_HEADER.encode()
_SESSION: Final = MCP_SESSION_ID_HEADER.encode()
_HEADERS: Final = frozenset({_ACCEPT, _TYPE, _VERSION, _METHOD, _NAME, _SESSION})
_JSON: Final = b"application/json"
_Header: TypeAlias = tuple[bytes, bytes]
_json: Final = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Taken:
    """A call that is answered here: in a `stream` for a client of 2025, which may have a `session`."""

    call: Call
    tool: Tool
    client: Client
    stream: bool
    session: Session | None = None


class Posted:
    """Answers the calls of a face; `sessions` are those of its clients of 2025."""

    def __init__(self, served: Served, sessions: Sessions) -> None:
        self._served, self._sessions, self._clients = served, sessions, Clients()

    def read(self, scope: Scope, body: bytes) -> Taken | None:
        """The call that a request is, if it is one to be answered here."""
        call = read(body)
        tool = self._served.plain(call.params.name) if call else None
        headers = _headers(scope) if tool else None
        if call is None or tool is None or headers is None:
            return None
        version = headers.get(_VERSION, b"").decode("latin-1")
        taken = (
            self._of_2025(call, tool, version, headers, scope)
            if not version or version in HANDSHAKE_PROTOCOL_VERSIONS
            else self._of_2026(call, tool, version, headers)
        )
        return taken if taken and taken.client.takes(tool) else None

    async def answer(self, taken: Taken, scope: Scope, send: Send) -> bool:
        """Answer a call; False if it takes long or goes wrong: then it is left begun, for the SDK to end."""
        grant, call = scope["state"][GRANT], taken.call
        caller = taken.client.calls(call, grant)
        begun = asyncio.create_task(self._served.answer(taken.tool, call.params.arguments, caller, grant))
        try:
            await asyncio.wait((begun,), timeout=_SOON)
        except asyncio.CancelledError:
            begun.cancel()
            raise
        written = self._written(taken, begun.result()) if begun.done() and not begun.exception() else None
        if written is None:
            scope["state"][BEGUN] = begun
            return False
        head, body = written
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body})
        if taken.session:
            taken.session.used()
        return True

    def _of_2026(self, call: Call, tool: Tool, version: str, headers: Mapping[bytes, bytes]) -> Taken | None:
        client = self._clients.of(call)
        named = headers.get(_METHOD) == CALL.encode() and headers.get(_NAME) == call.params.name.encode()
        return (
            Taken(call, tool, client, stream=False)
            if client and client.version == version and named
            else None
        )

    def _of_2025(
        self, call: Call, tool: Tool, version: str, headers: Mapping[bytes, bytes], scope: Scope
    ) -> Taken | None:
        if self._sessions.stateless:
            client = Client(version or DEFAULT_NEGOTIATED_VERSION, "", shows=False)
            return Taken(call, tool, client, stream=True)
        session = self._sessions.of(headers.get(_SESSION, b"").decode("latin-1"), scope)
        if session is None or version not in {"", session.client.version}:
            return None
        return Taken(call, tool, session.client, stream=True, session=session)

    def _written(self, taken: Taken, found: Answer | Question) -> tuple[list[_Header], bytes] | None:
        """The headers and the body of an answer, as the SDK writes them; None if it cannot be written."""
        answer = found.otherwise if isinstance(found, Question) else found
        told: dict[str, Any] = result(self._served, taken.client.version, answer)
        try:
            body = (_event if taken.stream else _body)(taken.call, told)
        except (TypeError, ValueError):
            return None
        self._served.count(taken.tool, answer)
        if not taken.stream:
            return [(b"content-length", b"%d" % len(body)), (_TYPE, _JSON)], body
        named = [(_SESSION, taken.session.name)] if taken.session else []
        return [*_STREAM, *named, _UNBUFFERED], body


_STREAM: Final = (
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (_TYPE, b"text/event-stream"),
)
_UNBUFFERED: Final = (b"x-accel-buffering", b"no")


def _event(call: Call, told: Mapping[str, Any]) -> bytes:
    text = pydantic_core.to_json(told, inf_nan_mode="null")
    return b'event: message\r\ndata: {"jsonrpc":"2.0","id":%b,"result":%b}\r\n\r\n' % (call.id, text)


def _body(call: Call, told: Mapping[str, Any]) -> bytes:
    text = _json(told).encode()
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (call.id, text)


def _headers(scope: Scope) -> Mapping[bytes, bytes] | None:
    """The headers of a request that matter; None if one is there twice, or is not as usual."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _HEADERS:
            if name in found:
                return None
            found[name] = value
    kind = found.get(_TYPE, b"")
    usual = kind == _JSON or kind.startswith(_JSON + b";")
    return found if usual and _accepts(found.get(_ACCEPT, b"")) else None


@lru_cache(maxsize=64)
def _accepts(given: bytes) -> bool:
    """Whether a client that accepts this can be answered either way."""
    return all(check_accept_headers(Request({"type": "http", "headers": [(_ACCEPT, given)]})))
