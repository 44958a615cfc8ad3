"""Lines that no client should send, as foreign clients would spell them: each is answered with its own id."""

import json
import subprocess
from pathlib import Path

import pytest

from helpers.foreign_clients import SECONDS, ServerCommand

pytestmark = pytest.mark.unmeasured
HALF = (-32602, "the message holds half a character: leave it out")
NO_JSON = (-32700, "the message is no JSON, or nests too deeply")
NO_UTF8 = (-32700, "the message is not UTF-8")
DEEP = b"[" * 100_000 + b"]" * 100_000


def _goal(goal: bytes) -> bytes:
    """A call as the TypeScript clients write it: the id stands at the end, behind what is wrong."""
    head = b'{"method":"tools/call","params":{"name":"workflow_next_step","arguments":{"goal":'
    return head + goal + b'}},"jsonrpc":"2.0","id":7}'


LINES: list[tuple[bytes, object, tuple[int, str]]] = [
    (_goal(rb'"a\ud800"'), 7, HALF),
    (_goal(rb'"\ud800b"'), 7, HALF),
    (_goal(rb'"\udc00"'), 7, HALF),
    (_goal(rb'"\udc00\ud800"'), 7, HALF),
    (_goal(rb'"\ud83d\ude42","wish":NaN'), 7, NO_JSON),
    (_goal(DEEP), 7, NO_JSON),
    (_goal(b'"\xff"'), 7, NO_UTF8),
    (_goal(b'"a'), 7, NO_JSON),
    (rb'{"method":"x","params":{"b":"\ud800"},"id":"c","jsonrpc":"2.0"}', "c", HALF),
    (rb'{"jsonrpc":"2.0","id":"a\"b","method":"x","params":{"id":9,"b":"\ud800"}}', 'a"b', HALF),
    (rb'{"method":"notifications/x","params":{"b":"\ud800","id":9},"jsonrpc":"2.0"}', None, HALF),
    (rb'{"jsonrpc":"2.0","method":"notifications/x","params":{"b":"\ud800","id":9}}', None, HALF),
]
"""Each line, the id of its answer, and what is said about it; an id in the parameters is not its own."""


def test_a_line_that_cannot_be_read_is_answered_with_its_own_id(tmp_path: Path) -> None:
    lines = b"".join(line + b"\n" for line, _, _ in LINES)
    command = ServerCommand(tmp_path).command
    done = subprocess.run(command, input=lines, capture_output=True, timeout=SECONDS, check=True)

    assert [json.loads(answer) for answer in done.stdout.splitlines()] == [
        {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}
        for _, identity, (code, message) in LINES
    ]
