"""Good messages, changed ones, and bytes that are no message: for every transport, the same each time."""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from helpers.servers import META, build_note_output

Request: TypeAlias = Callable[[str, Mapping[str, Any]], dict[str, Any]]
CALL: Final = {"name": "workflow_next_step", "arguments": {"template_name": "brief"}}
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602


def build_call(arguments: str, identity: str = "7") -> bytes:
    """A call whose arguments are this text."""
    meta = json.dumps(META)
    text = (
        f'{{"jsonrpc": "2.0", "id": {identity}, "method": "tools/call", "params": {{"name": '
        f'"workflow_next_step", "arguments": {arguments}, "_meta": {meta}}}}}'
    )
    return text.encode("utf-8", "surrogatepass")


REFUSED: Final[dict[str, tuple[bytes, int, object]]] = {
    "bytes that are no UTF-8": (build_call('{"goal": "X"}').replace(b"X", b"\xff\xfe"), PARSE_ERROR, 7),
    "an overlong slash": (build_call('{"goal": "X"}').replace(b"X", b"\xc0\xaf"), PARSE_ERROR, 7),
    "half a character in UTF-8": (build_call('{"goal": "\ud800"}'), PARSE_ERROR, 7),
    "half a character in an escape": (build_call('{"goal": "\\ud800"}'), INVALID_PARAMS, 7),
    "the other half": (build_call('{"goal": "a\\udc00b"}', '"s"'), INVALID_PARAMS, "s"),
    "half a character as a key": (build_call('{"\\uDBFF": 1}'), INVALID_PARAMS, 7),
    "the character NUL": (build_call('{"goal": "\0"}'), PARSE_ERROR, 7),
    "not a number": (build_call('{"inputs": {"what": NaN}}'), PARSE_ERROR, 7),
    "infinity": (build_call('{"inputs": {"what": -Infinity}}'), PARSE_ERROR, 7),
    "a depth bomb of lists": (build_call("[" * 100_000 + "]" * 100_000), PARSE_ERROR, 7),
    "a depth bomb of objects": (build_call('{"a":' * 100_000 + "1" + "}" * 100_000), PARSE_ERROR, 7),
    "a bomb that is never closed": (b"[" * 500_000, INVALID_REQUEST, None),
    "no JSON": (b"hello", PARSE_ERROR, None),
    "half a message": (build_call("{}")[:60], PARSE_ERROR, 7),
    "two messages on a line": (build_call("{}") + b" " + build_call("{}"), PARSE_ERROR, 7),
    "a comma too many": (build_call("{,}"), PARSE_ERROR, 7),
    "single quotes": (b"{'jsonrpc': '2.0', 'id': 7, 'method': 'ping'}", PARSE_ERROR, None),
    "a number": (b"7", INVALID_REQUEST, None),
    "nothing": (b"null", INVALID_REQUEST, None),
    "a text": (b'"hello"', INVALID_REQUEST, None),
    "a batch": (b"[" + build_call("{}") + b"]", INVALID_REQUEST, 7),
    "an empty batch": (b"[]", INVALID_REQUEST, None),
    "an empty object": (b"{}", INVALID_REQUEST, None),
    "no version": (b'{"id": 7, "method": "ping"}', INVALID_REQUEST, 7),
    "another version": (b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', INVALID_REQUEST, 7),
    "an id that is none": (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', INVALID_REQUEST, None),
    "an id that is an object": (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', INVALID_REQUEST, None),
    "a method that is none": (b'{"jsonrpc": "2.0", "id": 7, "method": 7}', INVALID_REQUEST, 7),
    "an id and nothing else": (b'{"jsonrpc": "2.0", "id": 7}', INVALID_REQUEST, 7),
    "a depth that the SDK drops": (build_call("[" * 300 + "]" * 300), INVALID_REQUEST, 7),
    "parameters that are none": (
        b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": 7}',
        INVALID_REQUEST,
        7,
    ),
}


def build_frames(request: Request, token: str, run: str) -> list[bytes]:
    """Good messages of many kinds."""
    params: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", CALL),
        (
            "tools/call",
            {**CALL, "arguments": {"step_token": token, "model_output_so_far": build_note_output()}},
        ),
        ("tools/call", {**CALL, "arguments": {"execution_id": run, "action": "why"}}),
        ("tools/list", {}),
        ("resources/read", {"uri": f"workflow-status://{run}"}),
        ("resources/list", {}),
        ("prompts/get", {"name": "resume", "arguments": {}}),
        ("server/discover", {}),
    ]
    return [json.dumps(request(method, more)).encode() for method, more in params]


# --- changed messages ---------------------------------------------------------------------------------------


def mutate_frame(frame: bytes, chance: random.Random) -> bytes:
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


INTERNAL_ERROR: Final = -32603
_VALUES: Final[tuple[object, ...]] = (
    *(
        None,
        True,
        0,
        -1,
        1.5,
        10**400,
        1e308,
        "",
        " ",
        "\u202e",
        "\U000e0041",
        "a" * 5000,
        "../../etc/passwd",
    ),
    *([], {}, [[]], [None] * 100, {"": ""}, {"__proto__": 1}, "workflow_next_step", "7", 7, "2.0"),
)
_ODD: Final = tuple(map(json.dumps, _VALUES))


def bend_frame(frame: bytes, chance: random.Random) -> bytes:
    """The frame, still JSON, with some of its values replaced, renamed, removed or nested."""
    message = json.loads(frame)
    for _ in range(chance.randint(1, 4)):
        places = list(_places(message))
        if not places:
            break
        holder, key = chance.choice(places)
        match chance.randrange(5):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[f"{key}{chance.choice(['_', ' ', 'é', key])}"] = holder.pop(key)
            case 2:
                holder[key] = json.loads(json.dumps([holder[key]] * chance.choice([1, 2, 40])))
            case 3:
                other, name = chance.choice(places)
                holder[key] = json.loads(json.dumps(other.get(name) if isinstance(other, dict) else None))
            case _:
                holder[key] = json.loads(chance.choice(_ODD))
    return json.dumps(message).encode()


def _places(value: object) -> Iterator[tuple[Any, Any]]:
    """Where in a message something stands: what holds it, and under which key."""
    within = enumerate(value) if isinstance(value, list) else ()
    for key, inner in tuple(value.items()) if isinstance(value, dict) else within:
        yield value, key
        yield from _places(inner)


def build_mutants(good: Sequence[bytes], count: int, seed: str) -> Iterator[bytes]:
    """So many changed messages: one of each twenty is still JSON, and comes further for that."""
    chance = random.Random(seed)  # noqa: S311 - the same ones each time
    for number in range(count):
        yield (mutate_frame if number % 20 else bend_frame)(chance.choice(good), chance)


CALLS: Final[dict[str, tuple[tuple[str, dict[str, Any]], ...]]] = {
    "spells": (
        ("lumos", {"note": "now"}),
        ("accio", {"note": "", "step_token": "AAAA"}),
        ("reparo", {"resume": True, "note": "resume"}),
        ("finite", {"project": "project"}),
    ),
    "skills": (
        ("complete_skill", {"project": "PROJECT", "session": "s", "skill": "brainstorm", "graph": "skills"}),
        ("update_task_status", {"project": "PROJECT", "session": "s", "task_id": "a", "status": "failed"}),
        ("session_status", {"project": "PROJECT", "session": "s"}),
    ),
    "planner": (
        ("gather_requirements", {}),
        ("set_overarching_goal", {"goal": {"type": "feat", "scope": "x", "title": "a"}, "keep": True}),
        ("set_detailed_goal", {"description": "Why.", "constraints": ["Do not: stop"]}),
        ("set_plan", {"plan": [[False, "one", [[True, "two", []]]]]}),
        ("mark_task", {"task_id": "two", "completed": False}),
        ("finish_job", {"step_token": "AAAA"}),
    ),
    "commits": (
        (
            "start_planning",
            {"type": "feat", "scope": "x", "summary": "a", "breaking": False, "confirm": True},
        ),
        ("update_goal", {"summary": "b", "scope": "Y"}),
        ("update_description", {"description": "Why."}),
        ("set_constraints", {"constraints": ["Do not: stop"]}),
        ("set_tasks", {"tasks": [{"summary": "a", "details": "b", "children": [], "level": 0}]}),
        ("mark_task", {"task_id": "a", "completed": True, "step_token": "AAAA"}),
        ("verify_plan", {"choice": "reformat", "message": "feat: a"}),
        ("get_plan", {}),
    ),
}
"""Good calls of faces, with PROJECT for the path of the project."""


def build_calls(face: str, request: Request, project: str) -> list[bytes]:
    """The good calls of a face, as messages."""
    made = [request("tools/call", {"name": name, "arguments": given}) for name, given in CALLS[face]]
    return [json.dumps(message).replace("PROJECT", project).encode() for message in made]


def is_internal_error(answer: Mapping[str, Any]) -> bool:
    """Whether an answer says that the server did not know what to do."""
    said = answer.get("result", {}).get("structuredContent", {})
    codes = (said.get("code"), answer.get("error", {}).get("code"))
    return "internal" in codes or INTERNAL_ERROR in codes
