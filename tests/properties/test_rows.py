"""A row is judged twice: by what its guards ask, worked out once, and guard by guard for whoever tells why.

Both must say the same of every row, whatever is there, is missing, has not come yet or is of another type.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.engine.decide import get_trigger_spec
from handrail.engine.facts import PENDING, Value
from handrail.engine.guards import HOLDS, Verdict
from handrail.engine.model import Event, Lifecycle, Run, State, Step, Workflow
from handrail.engine.rows import (
    CompiledRow,
    DecisionContext,
    evaluate_accept,
    evaluate_when,
    get_router_rows,
    scope_facts,
    scope_facts_with_payload,
)
from helpers.random_workflows import BOOLEANS, KINDS, TRIGGERS, Case, any_cases, draw_output

pytestmark = pytest.mark.unmeasured

ODD: st.SearchStrategy[Value] = st.sampled_from(
    [None, PENDING, True, False, 0, 1, 2, 2.5, "", "red", "S1", [], [1], {}, {"a": None}]
)
NAMES = (*BOOLEANS, "door.colour", "cats.count")
WORLDS = st.dictionaries(
    st.sampled_from(NAMES),
    st.one_of(st.booleans(), st.sampled_from(KINDS), st.integers(0, 3), st.just(PENDING), ODD),
)
VARS = st.fixed_dictionaries({}, optional={"seen": ODD, "home": ODD})
PAYLOADS = st.sampled_from([draw_output(good=True), draw_output(good=False), {}])


def _judged(
    stand: DecisionContext, rows: tuple[CompiledRow, ...], *, routed: bool
) -> list[tuple[Verdict, Verdict]]:
    """What each row says by its guards: before what came with the event is known, and with it."""
    late = scope_facts_with_payload(stand)
    early = late if routed else scope_facts(stand)
    slow = [evaluate_when(one.row, early) for one in rows]
    return [(one.verdict, evaluate_accept(one, late).verdict) for one in slow]


def _same(flow: Workflow, stand: DecisionContext, state: State) -> set[Verdict]:
    """See that both ways say the same of the rows of a state; what they say."""
    met = get_trigger_spec(flow, state.name, stand.event.trigger)
    rows = get_router_rows(flow, state.name, stand.event.trigger) if state.router else met.rows if met else ()
    fast = [
        (one.when(stand) if one.when else HOLDS, one.guards(stand) if one.guards else HOLDS) for one in rows
    ]
    assert fast == _judged(stand, rows, routed=state.router)
    return {verdict for pair in fast for verdict in pair}


def test_both_ways_say_the_same_of_every_row() -> None:
    said: set[Verdict] = set()

    @settings(max_examples=200)
    @given(any_cases(), WORLDS, VARS, PAYLOADS, st.integers(1, 3))
    def same(
        case: Case, world: dict[str, Value], stored: dict[str, Value], payload: dict[str, Value], attempt: int
    ) -> None:
        flow = case.workflow
        for state in flow.states.values():
            step = Step(attempt, state.name, attempt)
            run = Run("r", flow.name, flow.digest, Lifecycle.RUNNING, (step,), vars=stored)
            for trigger in (*TRIGGERS, "on"):
                said.update(
                    _same(flow, DecisionContext(flow, Event(trigger, payload), world, run, step), state)
                )

    same()
    assert said == set(Verdict)
