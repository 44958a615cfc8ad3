"""Messages as bytes: which the SDK can take, and what is told of the others; the same on every transport."""

import json
import re
from contextlib import suppress
from typing import Final, Literal

import mcp_types as types
import msgspec
import pydantic
from msgspec import Struct

LIMIT: Final = 1024 * 1024
"""How many bytes a message may have."""

EDGE: Final = 4096
"""How much is looked at of how a message begins and ends that cannot be read as a whole."""

_ID: Final = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")(?=\s*[,}])')
_LAST_ID: Final = re.compile(_ID.pattern + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


class _Head(msgspec.Struct):
    """What every message has."""

    jsonrpc: Literal["2.0"]
    id: int | str | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET


_heads: Final = msgspec.json.Decoder(_Head)


class Flaw(Struct, frozen=True):
    """Why a message is not taken: an error of JSON-RPC."""

    code: int
    message: str

    def answer(self, head: bytes, tail: bytes) -> str:
        """The error, as an answer to the message that begins and ends so."""
        error = {"code": self.code, "message": self.message}
        return json.dumps({"jsonrpc": "2.0", "id": _guessed(head, tail), "error": error})


def too_long(size: int, limit: int = LIMIT) -> Flaw:
    """Why a message of so many bytes is not taken."""
    return Flaw(
        types.INVALID_REQUEST, f"the message has {size} bytes; the limit is {limit}: send less at a time"
    )


def read_message(data: bytes) -> types.JSONRPCMessage | Flaw:
    """The message, or why the SDK cannot take it."""
    try:
        text = data.decode()
        _heads.decode(data)
        return types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except UnicodeDecodeError:
        return Flaw(types.PARSE_ERROR, "the message is not UTF-8")
    except msgspec.ValidationError as wrong:
        return Flaw(types.INVALID_REQUEST, f"no JSON-RPC 2.0: {wrong}")
    except (msgspec.DecodeError, RecursionError):
        if _half(data):
            return Flaw(types.INVALID_PARAMS, "the message holds half a character: leave it out")
        return Flaw(types.PARSE_ERROR, "the message is no JSON, or nests too deeply")
    except pydantic.ValidationError:
        message = "no request, notification or response of MCP, or it nests too deeply"
        return Flaw(types.INVALID_REQUEST, message)


def _guessed(head: bytes, tail: bytes) -> object:
    """The id of a message that cannot be read as a whole: before its parameters, or the last thing in it.

    Not any other: an answer with the id of another request would be taken for the answer to that one.
    """
    before = head.split(b'"params"', 1)[0]
    found = _ID.findall(before) or _LAST_ID.findall(tail)
    with suppress(ValueError):
        return json.loads(found[-1]) if found else None
    return None


def _half(line: bytes) -> bool:
    """True if a message would be JSON if it were not for a surrogate without its other half."""
    try:
        json.dumps(json.loads(line), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return False
