"""Who watches is told of each turn once, by what came of it, and hears nothing that an agent wrote."""

from typing import Any

import pytest

from handrail.engine.facts import PENDING
from handrail.engine.refusals import RefusalCode
from handrail.runtime.errors import Busy, FaultCode
from handrail.runtime.world import TurnReport, TurnResult
from helpers.faulty_stores import AlwaysMoved, MovedOnce
from helpers.memory_store import MemoryRuns
from helpers.stores import build_next_turn
from helpers.turns import ENDLESS, NOW, TurnHarness, load_pinned
from helpers.workflows import GATED
from runtime.test_turn import CHECKED


def watched(runs: MemoryRuns, **more: Any) -> tuple[TurnHarness, list[TurnReport]]:  # noqa: ANN401 - what a world takes
    seen: list[TurnReport] = []
    return TurnHarness(runs, more={"watch": seen.append, **more}), seen


def came(
    trigger: str, ended: TurnResult, code: str = "", workflow: str = "paper", run: str = ""
) -> TurnReport:
    return TurnReport(trigger, ended, code, workflow, run, NOW, NOW)


def test_accepted_repeated_and_refused_turns_are_reported_as_such() -> None:
    harness, seen = watched(MemoryRuns())
    answer = harness.start()
    run = answer["run"]
    harness.continue_run(run, answer["token"])
    harness.continue_run(run, answer["token"])
    harness.continue_run(run, answer["token"], summary="Something else")

    assert seen == [
        came("start", TurnResult.ACCEPTED, run=run),
        came("continue", TurnResult.ACCEPTED, run=run),
        came("continue", TurnResult.REPEATED, workflow="", run=run),
        came("continue", TurnResult.REFUSED, RefusalCode.ALREADY_USED, run=run),
    ]


def test_a_run_that_is_not_there_has_no_name() -> None:
    harness, seen = watched(MemoryRuns())
    harness.send("a text of an agent", "continue")

    assert seen == [came("continue", TurnResult.REFUSED, "unknown_run", workflow="")]


def test_a_waiting_turn_is_reported_as_waiting() -> None:
    harness, seen = watched(MemoryRuns(), readers=lambda: {"engine": lambda *_: PENDING})
    harness.registry = GATED
    run = harness.start(load_pinned(CHECKED, registry=GATED))["run"]
    harness.send(run, "go")

    assert seen[1:] == [came("go", TurnResult.WAITING, workflow="checked", run=run)]


def test_a_fault_is_reported_and_raised() -> None:
    harness, seen = watched(AlwaysMoved())
    with pytest.raises(Busy):
        harness.start()

    assert [(one.ended, one.code) for one in seen] == [(TurnResult.FAILED, FaultCode.BUSY)]


def test_a_turn_that_is_tried_again_is_reported_once() -> None:
    runs = MovedOnce()
    harness, seen = watched(runs)
    answer = harness.start(load_pinned(ENDLESS))
    stored = runs.load(answer["run"])
    assert stored is not None
    runs.other = build_next_turn(stored)
    harness.send(answer["run"], "go", answer["token"])

    assert seen[1:] == [came("go", TurnResult.REFUSED, "superseded", "endless", answer["run"])]


def test_a_watch_does_not_change_the_answer() -> None:
    harness, _ = watched(MemoryRuns())
    bare = TurnHarness(MemoryRuns())

    assert harness.start() == bare.start()
