"""Lines of any length and any bytes: each with an id is answered, and the next call works."""

import json
import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import pytest

from handrail.app.asgi import MAX_MESSAGE_BYTES
from handrail.app.faces import StepsStatus
from handrail.engine.refusals import RefusalCode
from helpers.messages import (
    CALL,
    CALLS,
    INVALID_REQUEST,
    REFUSED,
    bend_frame,
    build_call,
    build_calls,
    build_frames,
    build_mutants,
    is_internal_error,
)
from helpers.repositories import create_repository
from helpers.servers import META, Pipe, create_place, read_tool_answer


@pytest.fixture(scope="module")
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    with Pipe(create_place(tmp_path_factory.mktemp("stdio"))) as opened:
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
    pipe.send(message(identity, MAX_MESSAGE_BYTES, last=last))
    taken = pipe.answer()
    assert (taken["id"], read_tool_answer(taken).code) == (identity, StepsStatus.OK)

    pipe.send(message(identity, MAX_MESSAGE_BYTES + 1, last=last))
    refused = pipe.answer()
    assert refused == {
        "jsonrpc": "2.0",
        "id": identity,
        "error": {
            "code": INVALID_REQUEST,
            "message": "the message has 1048577 bytes; the limit is 1048576: send less at a time",
        },
    }
    assert pipe.start("brief").code == StepsStatus.OK


def test_an_output_of_nearly_the_limit_is_kept(pipe: Pipe) -> None:
    first = pipe.start("brief")
    content = "x" * 1_000_000
    artifact = {"type": "note", "title": "Long", "content": content}
    assert pipe.continue_run(first.token, artifacts=[artifact]).code == StepsStatus.TASK_CLOSED


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
    assert pipe.start("brief").code == StepsStatus.OK


@pytest.mark.parametrize("name", REFUSED)
def test_a_malformed_message_is_answered_with_an_error_and_the_next_call_works(pipe: Pipe, name: str) -> None:
    line, code, identity = REFUSED[name]
    pipe.send(line)
    answer = pipe.answer()

    assert (answer["error"]["code"], answer["id"]) == (code, identity)
    assert "Traceback" not in answer["error"]["message"]
    assert pipe.start("brief").code == StepsStatus.OK


@pytest.mark.parametrize("line", [b"", b"   ", b"\t", b"\r"])
def test_an_empty_line_is_passed_over(pipe: Pipe, line: bytes) -> None:
    pipe.send(line, line, line)

    assert pipe.start("brief").code == StepsStatus.OK


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ('{"template_name": "brief", "goal": "a\\u0000b"}', RefusalCode.ARGUMENTS),
        ('{"template_name": "brief", "inputs": {"n": 1e999}}', RefusalCode.ARGUMENTS),
        ('{"template_name": "brief", "inputs": {"n": ' + "9" * 400 + "}}", RefusalCode.ARGUMENTS),
        ('{"template_name": "brief", "inputs": ' + "[" * 190 + "]" * 190 + "}", RefusalCode.ARGUMENTS),
        ('{"template_name": "nothing", "template_name": "brief"}', "ok"),
        ('{"template_name": "brief", "goal": "\\ud83d\\ude00 whole"}', "ok"),
    ],
)
def test_what_is_a_message_and_no_call_is_refused_by_the_tool(pipe: Pipe, arguments: str, code: str) -> None:
    pipe.send(build_call(arguments))

    assert read_tool_answer(pipe.answer()).code == code


def test_lines_may_come_in_pieces_and_many_at_once(pipe: Pipe) -> None:
    text = build_call('{"template_name": "brief"}') + b"\n"
    for byte in text:
        pipe.write(bytes([byte]))
    assert read_tool_answer(pipe.answer()).code == StepsStatus.OK

    pipe.write(text * 50)
    assert {read_tool_answer(pipe.answer()).code for _ in range(50)} == {StepsStatus.OK}


def test_a_line_may_end_like_those_of_windows(pipe: Pipe) -> None:
    pipe.send(build_call('{"template_name": "brief"}') + b"\r")

    assert read_tool_answer(pipe.answer()).code == StepsStatus.OK


def awaits_an_answer(line: bytes) -> bool:
    """Whether a line that came is to be answered: all are, but blanks, notifications and answers."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return bool(line.strip())
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        return True
    silent = isinstance(found.get("method"), str) and "id" not in found
    return not (silent and isinstance(found.get("params"), dict | None))


FRAMES: Final = 100_000
AT_ONCE: Final = 500


@pytest.mark.unmeasured
@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_of_a_hundred_thousand_mutated_frames_each_is_answered_and_the_server_stays_alive(
    tmp_path: Path, era: str, record_property: Callable[[str, object], None]
) -> None:
    count = FRAMES // 2
    with Pipe(create_place(tmp_path / "place", measured=False), era=era) as pipe:
        first = pipe.start("walk")
        crop = build_mutants(build_frames(pipe.request, first.token, first.run), count, f"frames for {era}")
        for _ in range(count // AT_ONCE):
            lines = list(islice(crop, AT_ONCE))
            awaited = sum(awaits_an_answer(part) for line in lines for part in line.split(b"\n"))
            answers = pipe.exchange_lines(lines, awaited)
            assert all(("result" in answer) != ("error" in answer) for answer in answers)
            assert not any(is_internal_error(answer) for answer in answers)
            assert pipe.start("brief").code == StepsStatus.OK
        assert pipe.recover(first.run).code == StepsStatus.OK
        assert "Traceback" not in pipe.errors()
    assert next(crop, None) is None
    record_property("points", count)


@pytest.mark.unmeasured
@pytest.mark.parametrize("face", CALLS)
def test_calls_of_every_face_that_are_bent_are_refused_and_never_fail_inside(
    tmp_path: Path, face: str, record_property: Callable[[str, object], None]
) -> None:
    at, count = create_place(tmp_path / "place", measured=False), 400
    chance = random.Random(face)  # noqa: S311 - the same ones each time
    create_repository("git", at.project, at.folder / "home")
    with Pipe(at, "--face", face) as pipe:
        good = build_calls(face, pipe.request, str(at.project))
        assert "result" in pipe.ask("tools/list")
        lines = [bend_frame(chance.choice(good), chance) for _ in range(count)]
        for line in lines:
            (answer,) = (
                pipe.exchange_lines([line], 1) if awaits_an_answer(line) else ({"error": {"code": 0}},)
            )
            assert not is_internal_error(answer), line
        assert "result" in pipe.ask("tools/list")
    record_property("points", count)
