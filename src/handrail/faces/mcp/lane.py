"""Tool calls over stdin and stdout, answered past the SDK; of which era the client is, the SDK decides."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

import msgspec
import pydantic_core
from anyio import CancelScope
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.dispatcher import coerce_request_id
from mcp_types import CONNECTION_CLOSED, PROTOCOL_VERSION_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from handrail.faces.mcp.bus import connection_of
from handrail.faces.mcp.callers import ANYBODY
from handrail.faces.mcp.direct import Call, Client, Clients, connected, read, result
from handrail.faces.mcp.edges import failure
from handrail.faces.mcp.face import Question, Tool
from handrail.faces.mcp.server import Served

Spawn: TypeAlias = Callable[..., object]
"""Begins something that goes on beside, as that of a task group: what it raises ends all."""

_LAST: Final = 1.0
"""How many seconds a client has to take the last word about a call."""

_BEGINS: Final = b'"initialize"'
_CANCELS: Final = b'"notifications/cancelled"'


class Out(Protocol):
    """Where answers go."""

    async def send(self, line: bytes) -> None:
        """A line to the client."""
        ...

    def stop_after_next(self) -> None:
        """Write one more line, then stop."""
        ...


class _Meant(msgspec.Struct):
    request: int | str = msgspec.field(name="requestId")


class _Cancelled(msgspec.Struct):
    params: _Meant


_cancelled: Final = msgspec.json.Decoder(_Cancelled)


class Lane:
    """Takes the calls of one client from among its lines, and answers them."""

    def __init__(self, served: Served, out: Out, spawn: Spawn) -> None:
        self._served, self._out, self._spawn = served, out, spawn
        self._clients, self._modern = Clients(), False
        self._client: Client | None = None
        self._under_way: dict[int | str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        served.middleware.append(self._met)

    def take(self, line: bytes) -> bool:
        """Whether this line is answered here; all others are for the SDK."""
        call = read(line)
        if call is None:
            self._heed(line)
            return False
        tool = self._served.plain(call.params.name)
        client = self._from(call)
        if tool is None or client is None or not client.takes(tool):
            return False
        key = coerce_request_id(msgspec.json.decode(call.id, type=int | str))
        task = self._under_way[key] = asyncio.create_task(self._answer(call, tool, client, key))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return True

    async def close(self) -> None:
        """Give up what has no answer yet, and say so; what is being written has a moment to be."""
        with CancelScope(shield=True):
            for task in self._under_way.values():
                task.cancel()
            if self._tasks:
                _, late = await asyncio.wait(self._tasks, timeout=_LAST)
                for task in late:
                    task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (bug := task.exception()):
            self._spawn(_raise, bug)

    def _from(self, call: Call) -> Client | None:
        """Who sends this call; None if that is not known yet, or it is not of the era of the others."""
        if self._modern:
            return self._clients.of(call)
        return None if PROTOCOL_VERSION_META_KEY in call.params.meta else self._client

    def _heed(self, line: bytes) -> None:
        """What matters here of a line that is for the SDK: who begins anew, or wants no answer any more."""
        if _BEGINS in line:
            self._client = None
        if self._under_way and _CANCELS in line:
            try:
                meant = _cancelled.decode(line).params.request
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                return
            task = self._under_way.pop(coerce_request_id(meant), None)
            if task:
                task.cancel()

    async def _met(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Learn from the SDK who the client is."""
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            self._modern = True
        elif ctx.method != "initialize":
            self._client = connected(connection_of(ctx))
        return await call_next(ctx)

    async def _answer(self, call: Call, tool: Tool, client: Client, key: int | str) -> None:
        """Answer a call, unless its client cancels it; to one that cannot be finished, an error is said."""
        try:
            line = await self._told(call, tool, client)
        except asyncio.CancelledError:
            if self._forget(key):
                error = {"code": CONNECTION_CLOSED, "message": "Connection closed"}
                await self._out.send(_framed(call, b"error", error))
            return
        except Exception as bug:  # noqa: BLE001 - the edge of the program, as for what the SDK answers
            line = _framed(call, b"error", failure(bug).error.model_dump(exclude_none=True))
        self._forget(key)
        if self._served.halted.is_set():
            self._out.stop_after_next()
        await self._out.send(line)

    async def _told(self, call: Call, tool: Tool, client: Client) -> bytes:
        """The line that answers a call."""
        caller = client.calls(call, ANYBODY)
        found = await self._served.answer(tool, call.params.arguments, caller, ANYBODY)
        answer = found.otherwise if isinstance(found, Question) else found
        line = _framed(call, b"result", result(self._served, client.version, answer))
        self._served.count(tool, answer)
        return line

    def _forget(self, key: int | str) -> bool:
        """Whether a call was under way until now, that its client has not cancelled."""
        if self._under_way.get(key) is not asyncio.current_task():
            return False
        del self._under_way[key]
        return True


async def _raise(bug: BaseException) -> None:
    raise bug


def _framed(call: Call, name: bytes, value: object) -> bytes:
    """A line that answers a call."""
    told = pydantic_core.to_json(value, inf_nan_mode="null")
    return b'{"jsonrpc":"2.0","id":%b,"%b":%b}\n' % (call.id, name, told)
