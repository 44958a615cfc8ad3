"""Many agents at once: a token advances a run once, whoever holds it and however many servers there are."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from handrail.engine.refusals import RefusalCode
from helpers.requirement import requirement
from helpers.server_crowd import ROUND
from helpers.servers import Pipe, Place, build_note_output, create_place, open_in_process, read_tool_answer
from helpers.store_contents import read_store_contents
from helpers.store_programs import run_server_crowd

pytestmark = pytest.mark.unmeasured
ROUNDS: Final = 30
CONTENDED: Final = 400


@pytest.fixture(scope="module")
def at(disk: Path) -> Place:
    return create_place(disk / "crowd")


@pytest.fixture(scope="module")
def servers(at: Place) -> Iterator[tuple[Pipe, Pipe]]:
    """Two servers, each with a client of its own era."""
    with Pipe(at) as one, Pipe(at, era="legacy") as other:
        yield one, other


def at_once(servers: tuple[Pipe, Pipe], calls: tuple[dict[str, Any], dict[str, Any]]) -> list[dict[str, Any]]:
    """What each of the servers answers; both are asked before either has answered."""
    for server, arguments in zip(servers, calls, strict=True):
        server.post("tools/call", {"name": "workflow_next_step", "arguments": arguments})
    return [server.answer()["result"] for server in servers]


def handed_in(token: str, summary: str) -> dict[str, Any]:
    return {"step_token": token, "model_output_so_far": build_note_output(summary=summary)}


@requirement("steps:token.once", "steps:token.retry")
@pytest.mark.parametrize("other", [0, 1], ids=["at one server", "at two servers"])
def test_two_calls_with_one_token_and_one_output_get_one_answer_and_take_one_step(
    at: Place, servers: tuple[Pipe, Pipe], other: int
) -> None:
    for turn in range(ROUNDS):
        first = servers[turn % 2].start()
        calls = (handed_in(first.token, "Done."), handed_in(first.token, "Done."))
        one, two = at_once((servers[0], servers[other]), calls)
        assert one["structuredContent"] == two["structuredContent"]
        assert one["content"] == two["content"]
        assert one["structuredContent"]["next_step_contract"]["step_name"] == "two"
        assert read_store_contents(at.store).revision(first.run) == 2


@requirement("steps:token.once", "steps:token.other")
@pytest.mark.parametrize("against", ["continue", "pause"])
def test_of_two_agents_with_one_token_that_want_different_things_one_gets_its_way(
    at: Place, servers: tuple[Pipe, Pipe], against: str, record_property: Callable[[str, object], None]
) -> None:
    winners: Counter[int] = Counter()
    for turn in range(ROUNDS):
        first = servers[turn % 2].start()
        other: dict[str, Any] = {"step_token": first.token, "action": "pause"}
        if against == "continue":
            other = handed_in(first.token, "Yours.")
        answers = at_once(servers, (handed_in(first.token, "Mine."), other))
        codes = [read_tool_answer({"result": answer}).code for answer in answers]
        assert sorted(codes) == [RefusalCode.ALREADY_USED, "ok"]
        assert read_store_contents(at.store).revision(first.run) == 2
        winners[codes.index("ok")] += 1
    assert winners.total() == ROUNDS
    record_property("points", winners[0])


@requirement("steps:token.once", "steps:db.tx")
def test_64_processes_take_400_steps_of_one_run_and_not_one_more(
    on_disk: Path, record_property: Callable[[str, object], None]
) -> None:
    at = create_place(on_disk, round=ROUND)
    with open_in_process(at) as client:
        run = client.start("round").run
    said = run_server_crowd(at.folder, run, CONTENDED + 1, 64)

    assert [one["error"] for one in said if "error" in one] == []
    assert {one["last"] for one in said} == {"ok"}
    assert sorted(step for one in said for step in one["accepted"]) == list(range(1, CONTENDED + 1))
    assert {code for one in said for code in one["refused"]} <= {
        RefusalCode.SUPERSEDED,
        RefusalCode.ALREADY_USED,
    }
    assert read_store_contents(at.store).revision(run) == CONTENDED + 1
    record_property("points", sum(len(one["accepted"]) for one in said))
