"""A thousand clients of both eras at one server: each gets its own answers, and nothing of them is left."""

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

import pytest

from handrail.app.faces import StepsStatus
from helpers.crash import Record
from helpers.http_clients import WireClient
from helpers.http_servers import HttpServer, run_http_server
from helpers.metrics import parse_samples, read_metrics
from helpers.servers import BOUND, ERAS, TOOL, ToolAnswer, build_note_output, create_place, wait_until
from helpers.store_contents import read_store_contents

pytestmark = pytest.mark.unmeasured
CLIENTS: Final = 1000
MARGIN: Final = 8
"""How many MiB more a server may hold after a thousand clients than after any thousand before them."""

MOST: Final = 5
"""How many thousands may come until one leaves no more behind.

Python gives an arena of its memory back only once nothing is left in it. So what a server holds afterwards
tells how many calls were there at once, which is a matter of the machine: 169 to 201 MiB were seen, with the
same objects in them. Between those it can rise by more than the margin three times; with what is kept of
clients it rises each time.
"""

ERRAND: Final = """
workflow: errand
version: 1
authority: sql
about: One step that says what it is for
inputs:
  wish: {type: string, about: What is wanted}
steps:
  - {name: only, agent: implementer, task: "Your wish is {{run.inputs.wish}}, and no other."}
"""
Result = TypeVar("Result")


@pytest.fixture(autouse=True)
def _as_many_descriptors_as_there_may_be() -> Iterator[None]:
    """A thousand connections at once are more than some machines let a process have unasked."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _together(
    served: HttpServer, count: int, work: Callable[[WireClient, int], Awaitable[Result]]
) -> list[Result]:
    """What so many clients get, each for its number; all of them ask at once, and then leave."""

    async def one(number: int, met: asyncio.Barrier) -> Result:
        wire = WireClient(served, "steps", ERAS[number % 2])
        await wire.greet()
        await met.wait()
        result = await work(wire, number)
        await wire.leave()
        return result

    async def every() -> list[Result]:
        met = asyncio.Barrier(count)
        async with asyncio.timeout(BOUND * 3):
            return await asyncio.gather(*(one(number, met) for number in range(count)))

    return asyncio.run(every())


async def _start(wire: WireClient, number: int) -> ToolAnswer:
    return await wire.call(2, TOOL, {"template_name": "errand", "inputs": {"wish": f"number {number}"}})


def _go_on(begun: Sequence[ToolAnswer]) -> Callable[[WireClient, int], Awaitable[ToolAnswer]]:
    """How each client goes on with the run of its number."""

    async def go_on(wire: WireClient, number: int) -> ToolAnswer:
        output = build_note_output(summary=f"Done by {number}")
        given = {"step_token": begun[number].token, "model_output_so_far": output}
        return await wire.call(2, TOOL, given)

    return go_on


def _open(served: HttpServer) -> int:
    return len(list(Path(f"/proc/{served.process.pid}/fd").iterdir()))


def _held(served: HttpServer) -> float:
    """How many pieces of memory the server has in use."""
    return parse_samples(read_metrics(served).text)["handrail_memory_blocks"]


def _resident(served: HttpServer) -> int:
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024


def _thousand(
    served: HttpServer, held: float, work: Callable[[WireClient, int], Awaitable[Result]]
) -> list[Result]:
    """What a thousand clients get; then nothing of them is open, nor in use but for a hundredth of `held`."""
    before = _open(served)
    found = _together(served, CLIENTS, work)
    wait_until(lambda: _open(served) <= before, "its descriptors are closed")
    wait_until(
        lambda: _held(served) <= held + held // 100, "it holds as much memory as before, to a hundredth"
    )
    return found


def test_of_a_thousand_clients_with_equal_ids_each_gets_its_own_answers_and_nothing_is_left(
    tmp_path: Path, record_property: Record
) -> None:
    at = create_place(tmp_path, errand=ERRAND)
    with run_http_server(at) as served:
        _together(served, 4, _go_on(_together(served, 4, _start)))
        held = _held(served)
        begun = _thousand(served, held, _start)
        resident = [_resident(served)]
        closed = _thousand(served, held, _go_on(begun))
        resident.append(_resident(served))
        while resident[-1] > max(resident[:-1]) + MARGIN and len(resident) < MOST:
            _thousand(served, held, _start)
            resident.append(_resident(served))

    for number, (one, other) in enumerate(zip(begun, closed, strict=True)):
        assert f"Your wish is number {number}, and no other." in one.reply["human_message"]
        assert (other.run, other.code) == (one.run, StepsStatus.TASK_CLOSED)
        assert other.reply["synthesis"]["outcome_summary"] == f"Done by {number}"
    runs = read_store_contents(at.store)
    assert {runs.revision(one.run) for one in begun} == {2}
    assert len({one.run for one in begun}) == CLIENTS
    assert resident[-1] <= max(resident[:-1]) + MARGIN, resident
    record_property("points", len(closed))
