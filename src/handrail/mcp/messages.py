"""Decode JSON-RPC messages and describe what is wrong with invalid ones; the same on every transport."""

import json
import re
from contextlib import suppress
from typing import Final, Literal

import mcp_types as types
import msgspec
import pydantic
from msgspec import Struct

from handrail.app.asgi import MAX_MESSAGE_BYTES

EDGE_BYTES: Final = 4096
"""How many bytes at each end of an unreadable message are searched for its id."""

_ID_PATTERN: Final = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")(?=\s*[,}])')
_LAST_ID_PATTERN: Final = re.compile(_ID_PATTERN.pattern + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


class _MessageHead(msgspec.Struct):
    """The fields that every message is checked for."""

    jsonrpc: Literal["2.0"]
    id: int | str | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET


_head_decoder: Final = msgspec.json.Decoder(_MessageHead)


class MessageFlaw(Struct, frozen=True):
    """Why a message is rejected, as a JSON-RPC error."""

    code: int
    message: str

    def to_json(self, head: bytes, tail: bytes) -> str:
        """Return the error as the answer to the message with these first and last bytes."""
        error = {"code": self.code, "message": self.message}
        return json.dumps({"jsonrpc": "2.0", "id": _guess_id(head, tail), "error": error})


def too_long_flaw(size: int, limit: int = MAX_MESSAGE_BYTES) -> MessageFlaw:
    """Return the error for a message of `size` bytes, which is over the limit."""
    return MessageFlaw(
        types.INVALID_REQUEST, f"the message has {size} bytes; the limit is {limit}: send less at a time"
    )


def read_message(data: bytes) -> types.JSONRPCMessage | MessageFlaw:
    """Decode a message; return a `MessageFlaw` if the SDK cannot handle it."""
    try:
        text = data.decode()
        _head_decoder.decode(data)
        return types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except UnicodeDecodeError:
        return MessageFlaw(types.PARSE_ERROR, "the message is not UTF-8")
    except msgspec.ValidationError as wrong:
        return MessageFlaw(types.INVALID_REQUEST, f"no JSON-RPC 2.0: {wrong}")
    except (msgspec.DecodeError, RecursionError):
        if _has_lone_surrogate(data):
            return MessageFlaw(types.INVALID_PARAMS, "the message holds half a character: leave it out")
        return MessageFlaw(types.PARSE_ERROR, "the message is no JSON, or nests too deeply")
    except pydantic.ValidationError:
        message = "no request, notification or response of MCP, or it nests too deeply"
        return MessageFlaw(types.INVALID_REQUEST, message)


def _guess_id(head: bytes, tail: bytes) -> object:
    """Find the id of an unreadable message: before its `params`, or as the last field; None if not found.

    No other place is searched: an answer with a wrong id would be taken for the answer to another request.
    """
    before = head.split(b'"params"', 1)[0]
    ids = _ID_PATTERN.findall(before) or _LAST_ID_PATTERN.findall(tail)
    with suppress(ValueError):
        return json.loads(ids[-1]) if ids else None
    return None


def _has_lone_surrogate(line: bytes) -> bool:
    """True if a message is JSON except that it contains an unpaired surrogate."""
    try:
        json.dumps(json.loads(line), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return False
