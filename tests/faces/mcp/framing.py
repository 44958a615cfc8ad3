"""Bytes that are no message, and good messages of many kinds: for every transport."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from faces.mcp.desk import META, note

Request: TypeAlias = Callable[[str, Mapping[str, Any]], dict[str, Any]]

CALL: Final = {"name": "workflow_next_step", "arguments": {"template_name": "brief"}}
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602


def call(arguments: str, identity: str = "7") -> bytes:
    """A call whose arguments are this text."""
    meta = json.dumps(META)
    text = (
        f'{{"jsonrpc": "2.0", "id": {identity}, "method": "tools/call", "params": {{"name": '
        f'"workflow_next_step", "arguments": {arguments}, "_meta": {meta}}}}}'
    )
    return text.encode("utf-8", "surrogatepass")


REFUSED: Final[dict[str, tuple[bytes, int, object]]] = {
    "bytes that are no UTF-8": (call('{"goal": "X"}').replace(b"X", b"\xff\xfe"), PARSE_ERROR, 7),
    "an overlong slash": (call('{"goal": "X"}').replace(b"X", b"\xc0\xaf"), PARSE_ERROR, 7),
    "half a character in UTF-8": (call('{"goal": "\ud800"}'), PARSE_ERROR, 7),
    "half a character in an escape": (call('{"goal": "\\ud800"}'), INVALID_PARAMS, 7),
    "the other half": (call('{"goal": "a\\udc00b"}', '"s"'), INVALID_PARAMS, "s"),
    "half a character as a key": (call('{"\\uDBFF": 1}'), INVALID_PARAMS, 7),
    "the character NUL": (call('{"goal": "\0"}'), PARSE_ERROR, 7),
    "not a number": (call('{"inputs": {"what": NaN}}'), PARSE_ERROR, 7),
    "infinity": (call('{"inputs": {"what": -Infinity}}'), PARSE_ERROR, 7),
    "a depth bomb of lists": (call("[" * 100_000 + "]" * 100_000), PARSE_ERROR, 7),
    "a depth bomb of objects": (call('{"a":' * 100_000 + "1" + "}" * 100_000), PARSE_ERROR, 7),
    "a bomb that is never closed": (b"[" * 500_000, INVALID_REQUEST, None),
    "no JSON": (b"hello", PARSE_ERROR, None),
    "half a message": (call("{}")[:60], PARSE_ERROR, 7),
    "two messages on a line": (call("{}") + b" " + call("{}"), PARSE_ERROR, 7),
    "a comma too many": (call("{,}"), PARSE_ERROR, 7),
    "single quotes": (b"{'jsonrpc': '2.0', 'id': 7, 'method': 'ping'}", PARSE_ERROR, None),
    "a number": (b"7", INVALID_REQUEST, None),
    "nothing": (b"null", INVALID_REQUEST, None),
    "a text": (b'"hello"', INVALID_REQUEST, None),
    "a batch": (b"[" + call("{}") + b"]", INVALID_REQUEST, 7),
    "an empty batch": (b"[]", INVALID_REQUEST, None),
    "an empty object": (b"{}", INVALID_REQUEST, None),
    "no version": (b'{"id": 7, "method": "ping"}', INVALID_REQUEST, 7),
    "another version": (b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', INVALID_REQUEST, 7),
    "an id that is none": (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', INVALID_REQUEST, None),
    "an id that is an object": (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', INVALID_REQUEST, None),
    "a method that is none": (b'{"jsonrpc": "2.0", "id": 7, "method": 7}', INVALID_REQUEST, 7),
    "an id and nothing else": (b'{"jsonrpc": "2.0", "id": 7}', INVALID_REQUEST, 7),
    "a depth that the SDK drops": (call("[" * 300 + "]" * 300), INVALID_REQUEST, 7),
    "parameters that are none": (
        b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": 7}',
        INVALID_REQUEST,
        7,
    ),
}


def frames(request: Request, token: str, run: str) -> list[bytes]:
    """Good messages of many kinds."""
    params: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", CALL),
        ("tools/call", {**CALL, "arguments": {"step_token": token, "model_output_so_far": note()}}),
        ("tools/call", {**CALL, "arguments": {"execution_id": run, "action": "why"}}),
        ("tools/list", {}),
        ("resources/read", {"uri": f"workflow-status://{run}"}),
        ("resources/list", {}),
        ("prompts/get", {"name": "resume", "arguments": {}}),
        ("server/discover", {}),
    ]
    return [json.dumps(request(method, more)).encode() for method, more in params]
