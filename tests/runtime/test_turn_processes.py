"""Turns of two processes on one store: each sees what the other has done to the run."""

from pathlib import Path

import pytest

from handrail.app.faces import StepsStatus
from handrail.engine.model import Actor, Event
from handrail.engine.refusals import RefusalCode
from handrail.runtime.comments import write_comment
from handrail.runtime.records import Caller
from handrail.runtime.turn import Call
from helpers.turns import TurnHarness, open_sqlite
from helpers.workflows import build_output


@pytest.fixture
def mine(tmp_path: Path) -> TurnHarness:
    return TurnHarness(open_sqlite(tmp_path))


@pytest.fixture
def others(tmp_path: Path, mine: TurnHarness) -> TurnHarness:
    return TurnHarness(open_sqlite(tmp_path), clock=mine.clock, ids=mine.ids)


def _kinds(harness: TurnHarness, run: str) -> list[str]:
    return [str(line.entry.kind) for line in harness.runs.entries(run)]


def test_a_step_that_another_process_has_opened_is_taken_here(mine: TurnHarness, others: TurnHarness) -> None:
    begun = mine.start()
    theirs = others.continue_run(begun["run"], begun["token"])
    assert mine.continue_run(begun["run"], theirs["token"])["state"] == "publish"
    stored = others.runs.load(begun["run"])
    assert stored is not None
    assert (stored.revision, [step.state for step in stored.run.open]) == (3, ["publish"])


def test_a_token_that_another_process_has_replaced_does_not_pass(
    mine: TurnHarness, others: TurnHarness
) -> None:
    begun = mine.start()
    fresh = others.recover(begun["run"])
    before = _kinds(others, begun["run"])

    reply = mine.continue_run(begun["run"], begun["token"])
    assert (reply["status"], reply["code"]) == (StepsStatus.ERROR, RefusalCode.SUPERSEDED)
    assert len(_kinds(others, begun["run"])) == len(before) + 1
    assert mine.continue_run(begun["run"], fresh["token"])["state"] == "review"


def test_a_run_that_a_person_has_paused_takes_no_step(mine: TurnHarness, others: TurnHarness) -> None:
    begun = mine.start()
    assert others.send(begun["run"], Event("pause", by=Actor.PERSON))["status"] == "ok"
    assert mine.continue_run(begun["run"], begun["token"])["code"] == RefusalCode.NOT_RUNNING


def test_a_comment_from_another_process_comes_with_the_next_answer(
    mine: TurnHarness, others: TurnHarness
) -> None:
    begun = mine.start()
    one = mine.continue_run(begun["run"], begun["token"])
    assert write_comment(others.world, begun["run"], "Mind the gap.", Caller(Actor.PERSON, "ada")) is None
    two = mine.continue_run(begun["run"], one["token"])
    assert two["comments"] == ["ada: Mind the gap."]
    assert "comments" not in mine.continue_run(begun["run"], two["token"])


def test_a_refusal_is_decided_and_entered_once(mine: TurnHarness) -> None:
    begun = mine.start()
    nonces, entered = mine.ids.nonces, len(_kinds(mine, begun["run"]))
    assert mine.continue_run(begun["run"], begun["token"], confidence="none")["status"] == "error"
    assert mine.ids.nonces == nonces + 1
    assert len(_kinds(mine, begun["run"])) == entered + 1
    assert mine.continue_run(begun["run"], begun["token"])["state"] == "review"


def test_a_run_names_its_attempts_in_order(mine: TurnHarness) -> None:
    begun = mine.start()
    one = mine.continue_run(begun["run"], begun["token"])
    mine.continue_run(begun["run"], one["token"])
    loaded = mine.runs.load(begun["run"])
    assert loaded is not None
    assert list(loaded.run.attempts) == ["draft", "publish", "review"]


def test_the_condition_of_a_call_sees_the_current_run(mine: TurnHarness, others: TurnHarness) -> None:
    begun = mine.start()
    theirs = others.continue_run(begun["run"], begun["token"])
    event = Event("continue", build_output())
    there = Call(begun["run"], event, token=theirs["token"], only_if=lambda stored: stored.revision == 2)
    assert mine.call(there)["state"] == "publish"


def test_the_check_for_an_earlier_answer_sees_the_current_run(mine: TurnHarness, others: TurnHarness) -> None:
    begun = mine.start()
    others.continue_run(begun["run"], begun["token"])
    again = {"status": "again"}
    event = Event("continue", build_output(summary="Something else."))
    call = Call(
        begun["run"],
        event,
        token=begun["token"],
        find_earlier_reply=lambda at: again if at.revision == 1 else None,
    )
    assert mine.call(call)["status"] == "error"
