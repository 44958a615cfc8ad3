"""A row that only says something: which decisions are of that kind."""

import pytest

from handrail.engine.decide import is_message_only
from handrail.engine.facts import PENDING, Value
from handrail.engine.model import Waiting
from helpers.workflows import GATED, load_valid_workflow, send_event, start_run

FLOW = load_valid_workflow(
    """
workflow: asked
version: 1
authority: sql
texts: {here: At home.}
states: {Home: {}, Over: {terminal: true}}
transitions:
  - {id: told, from: Home, trigger: ask, when: tests.pass, only_says: true, say: here}
  - {id: kept, from: Home, trigger: ask, say: here}
  - {id: end, from: Home, trigger: end, to: Over}
""",
    GATED,
)


@pytest.mark.parametrize(
    ("trigger", "passes", "expected"),
    [("ask", True, True), ("ask", False, False), ("ask", PENDING, False), ("end", True, False)],
)
def test_only_a_row_that_says_so_only_says_something(trigger: str, passes: Value, *, expected: bool) -> None:
    run = start_run(FLOW)

    assert is_message_only(FLOW, run, send_event(FLOW, run, trigger, {"tests.pass": passes})) is expected


def test_a_refusal_does_not_only_say_something() -> None:
    run = start_run(FLOW)

    assert not is_message_only(FLOW, run, send_event(FLOW, run, "nobody", {"tests.pass": True}))


def test_a_run_that_waited_for_the_answer_no_longer_waits_and_that_is_kept() -> None:
    waits = send_event(FLOW, start_run(FLOW), "ask", {"tests.pass": PENDING})
    assert isinstance(waits, Waiting)

    decision = send_event(FLOW, waits.run, "ask", {"tests.pass": True})

    assert not is_message_only(FLOW, waits.run, decision)
