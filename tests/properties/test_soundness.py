"""What `check` says of a row is what happens: compared with every decision there is, one by one."""

from itertools import product

import pytest
from hypothesis import given, settings

from handrail.engine.decide import decide
from handrail.engine.facts import Value
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import Accepted, Actor, Event, Lifecycle, Refused, Run, Step
from handrail.engine.soundness import check_soundness
from helpers.random_workflows import BOOLEANS, KINDS, TRIGGERS, Case, any_cases, draw_output

pytestmark = pytest.mark.unmeasured

WORLDS: list[dict[str, Value]] = [
    {**dict(zip(BOOLEANS, switches, strict=True)), "door.colour": colour, "cats.count": cats}
    for switches in product((True, False), repeat=len(BOOLEANS))
    for colour in KINDS
    for cats in (1, 2)
]


def _memories(case: Case) -> list[dict[str, Value]]:
    """What a run can remember: a variable that no row sets keeps the value it starts with."""
    rows = case.workflow.rows
    set_ = {name for row in rows for name, _ in row.set}
    homes = [None, *(state for row in rows for name, _ in row.set if name == "home" for state in row.sources)]
    return [
        {"seen": seen, "home": home}
        for seen in ((False, True) if "seen" in set_ else (False,))
        for home in dict.fromkeys(homes)
    ]


def _taken(case: Case) -> set[str]:
    """The rows that are taken, or that refuse, in any state with any facts, memory, attempt and payload."""
    taken = set()
    states = [state.name for state in case.workflow.states.values() if state.brief]
    capped = {name: state.attempts for name, state in case.workflow.states.items() if state.attempts}
    for state, world, memory, attempt in product(states, WORLDS, _memories(case), (1, 2)):
        used = capped if attempt == 2 else {}
        run = Run("r", "random", "", Lifecycle.RUNNING, (Step(1, state, attempt),), 1, used, memory)
        for trigger in (*TRIGGERS, "on"):
            if (state, trigger) not in case.workflow.index:
                continue
            payloads = [draw_output(good=True), draw_output(good=False)] if trigger == CONTINUE else [{}]
            for payload in payloads:
                match decide(case.workflow, run, Event(trigger, payload, Actor.PERSON), world):
                    case Accepted(_, moves):
                        taken |= {move.row for move in moves}
                    case Refused("refused", rule):
                        taken.add(rule)
    return taken


def _reported(case: Case) -> set[str]:
    """The rows that `check` says never fire, or that have a guard of which it says that it never holds."""
    places = {
        problem.place
        for problem in check_soundness(case.workflow)
        if problem.code in {"shadowed-row", "contradiction"} or "never holds" in problem.message
    }
    return {
        row.id
        for row in case.workflow.rows
        if places & {row.place, *(guard.place for guard in (*row.when, *row.accept))}
    }


@settings(max_examples=15)
@given(any_cases())
def test_a_row_is_reported_as_never_firing_exactly_if_no_decision_takes_it(case: Case) -> None:
    stays = {name for name, state in case.workflow.states.items() if not state.router}
    asked = {row.id for row in case.workflow.rows if set(row.sources) <= stays}

    assert _reported(case) & asked == asked - _taken(case)
