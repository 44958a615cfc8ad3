"""An output that has to wait for something else than the agent; no built-in fact takes its time yet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from handrail.app.faces import StepsStatus
from handrail.engine.facts import PENDING
from handrail.engine.model import Authority, Event
from handrail.runtime.facts import FILE_READERS
from handrail.runtime.records import Origin
from handrail.runtime.turn import Call, NewRun, take_turn
from handrail.runtime.world import build_workflow_lookup
from helpers.replies import find_broken_reply_rules
from helpers.requirement import requirement
from helpers.servers import InProcessClient, create_place, open_in_process
from helpers.turns import load_pinned
from helpers.workflows import GATED

RUN: Final = "00000000-0000-4000-8000-000000000001"
SLOW: Final = """
workflow: slow
version: 1
authority: sql
steps:
  - {name: work, agent: writer, task: Work., next: [{when: [tests.pass]}]}
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[InProcessClient]:
    """An agent in a run that waits for its tests."""
    at, flow = create_place(tmp_path / "place"), load_pinned(SLOW, registry=GATED)
    assert flow.workflow
    new = NewRun(flow.workflow, Origin("steps", Authority.SQL, str(at.project)), flow.definition)
    with open_in_process(at) as opened:
        slow = {**FILE_READERS, "engine": lambda _asked, _of: PENDING}
        known = build_workflow_lookup(opened.app.world.runs, GATED)
        opened.app.world = replace(opened.app.world, workflow_of=known, readers=lambda: slow)
        take_turn(opened.app.world, Call(RUN, Event("start"), new=new), lambda _: {})
        yield opened


@requirement("steps:reply.status")
def test_an_output_that_has_to_wait_is_held_and_every_reply_says_so(client: InProcessClient) -> None:
    waiting = client.continue_run(client.recover(RUN).token)
    again = client.recover(RUN)
    why = client.control(RUN, "why")

    for answer in (waiting, again, why):
        assert (answer.reply["status"], find_broken_reply_rules(answer)) == (StepsStatus.WAITING, [])
    assert waiting.reply["human_message"] == (
        "Your output is held. The run waits for tests.pass, not for you. "
        "Tell the person, then ask again with execution_id."
    )
    assert again.reply["human_message"].startswith(
        "An output for step `work` is held already: the run waits for something else than you.\n\n"
    )
    assert why.reply["human_message"].startswith(
        "The run stands in step `work`, attempt 1; your output is held, and something else is waited for."
    )
