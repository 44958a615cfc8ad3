"""Bodies of any length and any bytes: the same verdict as over stdin, and the next call works."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from faces.mcp.desk import META, TOOL, Told, place, told
from faces.mcp.framing import CALL, REFUSED, call, frames, mutated
from faces.web.desk import Answered, Site, site
from handrail.faces.mcp.frames import LIMIT


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(place(Path(tmp_path_factory.mktemp("frames")) / "place")) as made:
        yield made


def request(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": META}}


def post(served: Site, body: bytes, method: str = "tools/call", name: str = TOOL) -> Answered:
    headers = {
        "Host": f"{served.host}:{served.port}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        "Mcp-Name": name,
    }
    return served.ask("POST", "/mcp/steps", headers, body)


def answer(answered: Answered) -> dict[str, Any]:
    """The message in an answer, whichever way it is sent."""
    lines = [line for line in answered.text.splitlines() if line.startswith("data: ")]
    found: dict[str, Any] = json.loads(lines[-1].removeprefix("data: ") if lines else answered.text)
    return found


def start(served: Site, template: str = "brief") -> Told:
    return told(answer(post(served, call(json.dumps({"template_name": template})))))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_message_is_answered_as_over_stdin_and_the_next_call_works(
    served: Site, name: str
) -> None:
    body, code, identity = REFUSED[name]
    answered = post(served, body)
    message = answer(answered)

    assert (answered.status, message["error"]["code"], message["id"]) == (400, code, identity)
    assert start(served).code == "ok"


def test_a_body_as_long_as_allowed_is_taken_and_one_byte_more_is_not(served: Site) -> None:
    body = json.dumps(request("tools/call", CALL)).encode()
    padded = body + b" " * (LIMIT - len(body))

    assert told(answer(post(served, padded))).code == "ok"
    assert post(served, padded + b" ").status == 413
    assert start(served).code == "ok"


def test_a_body_in_pieces_that_is_too_long_is_answered_with_the_limit(served: Site) -> None:
    headers = {
        "Host": f"{served.host}:{served.port}",
        "Content-Type": "application/json",
        "Transfer-Encoding": "chunked",
    }
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    answered = served.ask("POST", "/mcp/steps", headers, piece * 17 + b"0\r\n\r\n")

    assert answered.status == 413
    assert "the limit is 1048576: send less at a time" in answered.text


ALIVE: Final = 1000


@pytest.mark.unmeasured
def test_of_a_thousand_mutated_bodies_each_is_answered_and_the_server_stays_alive(
    served: Site, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random("bodies")  # noqa: S311 - the same ones each time
    first = start(served, "walk")
    good = frames(request, first.token, first.run)
    for _ in range(ALIVE):
        body = mutated(chance.choice(good), chance)
        assert post(served, body).status in {200, 202, 400, 404, 413}

    assert start(served).code == "ok"
    record_property("points", ALIVE)
