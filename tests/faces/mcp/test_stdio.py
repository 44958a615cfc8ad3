"""Lines of any length and any bytes: each with an id is answered, and the next call works."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from faces.mcp.desk import META, Pipe, note, place, told
from handrail.faces.mcp.stdio import LIMIT

CALL: Final = {"name": "workflow_next_step", "arguments": {"template_name": "brief"}}
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602


@pytest.fixture(scope="module")
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    with Pipe(place(tmp_path_factory.mktemp("stdio"))) as opened:
        yield opened


def message(identity: object, size: int, *, last: bool = False) -> bytes:
    """A good call of exactly this many bytes, with its id before or behind its parameters."""
    params = {"params": {**CALL, "_meta": META}}
    head, tail = {"jsonrpc": "2.0", "method": "tools/call"}, {"id": identity}
    whole = {**head, **params, **tail} if last else {**head, **tail, **params}
    text = json.dumps(whole).encode()
    assert len(text) <= size
    at = text.index(b'"arguments": ') + len(b'"arguments": ')
    return text[:at] + b" " * (size - len(text)) + text[at:]


IDENTITIES: Final = (7, 0, -3, 10**17, "seven", "", 'a "b" \\ c', "é")


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_message_as_long_as_allowed_is_taken_and_one_byte_more_is_answered_with_its_id(
    pipe: Pipe, identity: object, *, last: bool
) -> None:
    pipe.send(message(identity, LIMIT, last=last))
    taken = pipe.answer()
    assert (taken["id"], told(taken).code) == (identity, "ok")

    pipe.send(message(identity, LIMIT + 1, last=last))
    refused = pipe.answer()
    assert refused == {
        "jsonrpc": "2.0",
        "id": identity,
        "error": {
            "code": INVALID_REQUEST,
            "message": "the message has 1048577 bytes; the limit is 1048576: send less at a time",
        },
    }
    assert pipe.start("brief").code == "ok"


def test_an_output_of_nearly_the_limit_is_kept(pipe: Pipe) -> None:
    first = pipe.start("brief")
    content = "x" * 1_000_000
    artifact = {"type": "note", "title": "Long", "content": content}
    assert pipe.go_on(first.token, artifacts=[artifact]).code == "task_closed"


def memory(pipe: Pipe, field: str) -> int:
    """How many kilobytes of memory the server has in use (VmRSS), or had at most (VmHWM)."""
    lines = Path(f"/proc/{pipe.process.pid}/status").read_text("ascii").splitlines()
    (found,) = [line.split()[1] for line in lines if line.startswith(f"{field}:")]
    return int(found)


@pytest.mark.parametrize("megabytes", [10, 200])
def test_a_line_of_any_length_costs_no_memory(pipe: Pipe, megabytes: int) -> None:
    pipe.start("brief")
    before, filler = memory(pipe, "VmRSS"), b"x" * 1_000_000
    pipe.write(b'{"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": {"x": "')
    for _ in range(megabytes):
        pipe.write(filler)
    pipe.write(b'"}}\n')
    answer = pipe.answer()

    assert (answer["id"], answer["error"]["code"]) == ("long", INVALID_REQUEST)
    assert memory(pipe, "VmHWM") - before < 50_000
    assert pipe.start("brief").code == "ok"


# --- bytes that are no message ------------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_message_is_answered_with_an_error_and_the_next_call_works(pipe: Pipe, name: str) -> None:
    line, code, identity = REFUSED[name]
    pipe.send(line)
    answer = pipe.answer()

    assert (answer["error"]["code"], answer["id"]) == (code, identity)
    assert "Traceback" not in answer["error"]["message"]
    assert pipe.start("brief").code == "ok"


@pytest.mark.parametrize("line", [b"", b"   ", b"\t", b"\r"])
def test_an_empty_line_is_passed_over(pipe: Pipe, line: bytes) -> None:
    pipe.send(line, line, line)

    assert pipe.start("brief").code == "ok"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ('{"template_name": "brief", "goal": "a\\u0000b"}', "arguments"),
        ('{"template_name": "brief", "inputs": {"n": 1e999}}', "arguments"),
        ('{"template_name": "brief", "inputs": {"n": ' + "9" * 400 + "}}", "arguments"),
        ('{"template_name": "brief", "inputs": ' + "[" * 190 + "]" * 190 + "}", "arguments"),
        ('{"template_name": "nothing", "template_name": "brief"}', "ok"),
        ('{"template_name": "brief", "goal": "\\ud83d\\ude00 whole"}', "ok"),
    ],
)
def test_what_is_a_message_and_no_call_is_refused_by_the_tool(pipe: Pipe, arguments: str, code: str) -> None:
    pipe.send(call(arguments))

    assert told(pipe.answer()).code == code


def test_lines_may_come_in_pieces_and_many_at_once(pipe: Pipe) -> None:
    text = call('{"template_name": "brief"}') + b"\n"
    for byte in text:
        pipe.write(bytes([byte]))
    assert told(pipe.answer()).code == "ok"

    pipe.write(text * 50)
    assert {told(pipe.answer()).code for _ in range(50)} == {"ok"}


def test_a_line_may_end_like_those_of_windows(pipe: Pipe) -> None:
    pipe.send(call('{"template_name": "brief"}') + b"\r")

    assert told(pipe.answer()).code == "ok"


# --- mutated frames -----------------------------------------------------------------------------------------


def mutated(frame: bytes, chance: random.Random) -> bytes:
    """The frame with some of its bytes changed, removed, doubled or moved."""
    data = bytearray(frame)
    for _ in range(chance.randint(1, 6)):
        at, to = sorted(chance.randrange(len(data)) for _ in range(2))
        match chance.randrange(6):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                del data[at : min(to, at + 20)]
            case 3:
                data[at:at] = data[at : min(to, at + 40)]
            case 4:
                data[at:at] = chance.choice(
                    [b'"', b"{", b"}", b"[", b"]", b"\\", b"\0", b"\xf0\x9f", b"NaN", b"-1"]
                )
            case _:
                data[at:to] = data[at:to][::-1]
    return bytes(data)


def frames(pipe: Pipe, token: str, run: str) -> list[bytes]:
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
    return [json.dumps(pipe.request(method, more)).encode() for method, more in params]


def awaits_an_answer(line: bytes) -> bool:
    """Whether a line that came is to be answered: all are, but blanks, notifications and answers."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return bool(line.strip())
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        return True
    silent = isinstance(found.get("method"), str) and "id" not in found
    return not (silent and isinstance(found.get("params", {}), dict))


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_of_a_thousand_mutated_frames_each_is_answered_and_the_server_stays_alive(
    tmp_path: Path, era: str, record_property: Callable[[str, object], None]
) -> None:
    chance, answered = random.Random(f"frames for {era}"), 0  # noqa: S311 - the same ones each time
    with Pipe(place(tmp_path / "place"), era=era) as pipe:
        first = pipe.start("walk")
        good = frames(pipe, first.token, first.run)
        for _ in range(50):
            lines = [mutated(chance.choice(good), chance) for _ in range(20)]
            pipe.send(*lines)
            for _ in range(sum(awaits_an_answer(part) for line in lines for part in line.split(b"\n"))):
                answer = pipe.answer()
                assert ("result" in answer) != ("error" in answer)
                answered += 1
            assert pipe.start("brief").code == "ok"
        assert pipe.recover(first.run).code == "ok"
        assert "Traceback" not in pipe.errors()
    record_property("points", answered)
