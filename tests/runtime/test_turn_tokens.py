"""Who holds a token may pass, once: every way it fails, what is found first, and the way on."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import fields, replace

from handrail.engine.model import Actor, Event, FactReading, Lifecycle, Refused
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.records import Caller
from handrail.runtime.tokens import TokenClaims, bind_event_to_step, sign_token
from handrail.runtime.turn import Call
from helpers.faulty_stores import read_whole_run
from helpers.requirement import requirement
from helpers.turns import KEY, NOW, TurnHarness, load_pinned

ANOTHER_KEY = bytes(32)
STAYING = """
workflow: staying
version: 1
authority: sql
states: {Home: {}, Over: {terminal: true}}
transitions:
  - {id: stay, from: Home, trigger: go}
  - {id: end, from: Home, trigger: end, to: Over}
"""


class Case:
    """A run that has come to its second step, and the token it was brought there with."""

    def __init__(self, harness: TurnHarness) -> None:
        first = harness.start()
        self.desk, self.run, self.spent = harness, str(first["run"]), str(first["token"])
        self.second = harness.continue_run(self.run, self.spent)
        self.token = str(self.second["token"])

    def code(self, token: str, summary: str = "Done.") -> str:
        """What comes of the token; whatever is refused leaves the run as it was."""
        before = read_whole_run(self.desk.runs, self.run)
        answer = self.desk.continue_run(self.run, token, summary=summary)
        if answer["status"] == "error" and answer["code"] != RefusalCode.EXPIRED:
            assert read_whole_run(self.desk.runs, self.run) == before
        return str(answer.get("code", answer["status"]))


@requirement("steps:token.outcomes")
def test_a_token_that_a_newer_one_took_the_place_of_is_superseded(harness: TurnHarness) -> None:
    case = Case(harness)
    fresh = harness.recover(case.run)["token"]

    assert fresh != case.token
    assert case.code(case.token) == "superseded"
    assert case.code(fresh) == "ok"


def test_a_token_of_a_turn_that_the_store_has_not_is_not_said_to_be_too_old(harness: TurnHarness) -> None:
    case = Case(harness)
    ahead = sign_token(KEY, TokenClaims(case.run, 3, 3, NOW, b"nonce!"))

    assert case.code(ahead) == "superseded"

    decision = harness.outcomes[-1].decision
    assert isinstance(decision, Refused)
    assert decision.needed == (
        "the token of the run as it stands here: this one is of a turn that the store does not have",
    )


@requirement("steps:token.expiry", "steps:token.outcomes")
@pytest.mark.parametrize(("seconds", "code"), [(600, "ok"), (600.001, RefusalCode.EXPIRED), (-3600, "ok")])
def test_a_token_is_good_for_ten_minutes(harness: TurnHarness, seconds: float, code: str) -> None:
    case = Case(harness)
    harness.clock.move(seconds=seconds)

    assert case.code(case.token) == code


@requirement("steps:token.expiry")
def test_an_expired_token_is_replaced_by_a_fresh_one_and_is_then_superseded(harness: TurnHarness) -> None:
    case = Case(harness)
    harness.clock.move(minutes=11)
    answer = harness.continue_run(case.run, case.token)
    assert (answer["code"], answer["state"], answer["revision"]) == (RefusalCode.EXPIRED, "review", 2)

    harness.clock.move(minutes=-11)
    assert case.code(case.token) == "superseded"
    harness.clock.move(minutes=20)
    assert case.code(answer["token"]) == "ok"
    kinds = [str(line.entry.kind) for line in harness.runs.entries(case.run) if line.revision == 0]
    assert kinds == [
        EntryKind.TOKEN_EXPIRED,
        EntryKind.TOKEN_GENERATED,
        EntryKind.ERROR_OCCURRED,
        EntryKind.ERROR_OCCURRED,
    ]


def test_a_lifetime_can_be_set(harness: TurnHarness) -> None:
    harness.more = {"lifetime": timedelta(seconds=5)}
    case = Case(harness)
    harness.clock.move(seconds=6)

    assert case.code(case.token) == "expired"


@requirement("steps:token.outcomes")
def test_what_is_wrong_with_a_token_is_looked_for_in_a_fixed_order(harness: TurnHarness) -> None:
    case = Case(harness)
    old = case.token
    harness.recover(case.run)
    harness.clock.move(minutes=11)
    assert case.code(old) == "superseded", "before expired"
    assert case.code(case.spent, "Other.") == RefusalCode.ALREADY_USED, "before expired"
    assert case.code(case.spent) == "ok", "the recorded reply, before expired"

    harness.send(case.run, Event("pause"))
    assert case.code(old) == RefusalCode.NOT_RUNNING, "before superseded"
    assert case.code(case.spent, "Other.") == RefusalCode.ALREADY_USED, "before not running"
    assert case.code(case.spent) == "ok", "the recorded reply, before not running"
    assert case.code("no token") == "malformed", "before everything"
    foreign = sign_token(ANOTHER_KEY, TokenClaims(case.run, 2, 2, NOW, b"nonce!"))
    assert case.code(foreign) == "forged", "before not running"


@requirement("steps:token.retry")
def test_the_last_reply_of_a_run_that_has_ended_is_given_again(harness: TurnHarness) -> None:
    case = Case(harness)
    third = harness.continue_run(case.run, case.token)
    last = harness.continue_run(case.run, third["token"])
    assert last["lifecycle"] == Lifecycle.COMPLETED

    assert harness.continue_run(case.run, third["token"]) == last
    assert case.code(third["token"], "Other.") == RefusalCode.ALREADY_USED
    assert case.code(harness.recover(case.run)["token"] or "none") == "malformed"


@requirement("steps:token.retry")
def test_a_forgotten_reply_is_superseded(harness: TurnHarness) -> None:
    answer = harness.start(load_pinned(STAYING))
    run, token = answer["run"], answer["token"]
    first = harness.send(run, "go", token)
    answer = first
    for _ in range(63):
        answer = harness.send(run, "go", answer["token"])
    assert harness.send(run, "go", token) == first

    harness.send(run, "go", answer["token"])
    assert harness.send(run, "go", token)["code"] == RefusalCode.SUPERSEDED


@requirement("steps:life.resume", "steps:token.outcomes")
@pytest.mark.parametrize("which", ["spent on the pause", "spent before", "superseded", "never used"])
def test_any_token_of_a_paused_run_resumes_it(harness: TurnHarness, which: str) -> None:
    case = Case(harness)
    fresh = harness.recover(case.run)["token"]
    harness.send(case.run, Event("pause"), "" if which == "never used" else fresh)
    harness.clock.move(days=3)
    token = {"spent before": case.spent, "superseded": case.token}.get(which, fresh)
    resumed = harness.send(case.run, Event("resume"), token)

    assert (resumed["lifecycle"], resumed["state"], resumed["revision"]) == (Lifecycle.RUNNING, "review", 4)
    assert case.code(resumed["token"]) == "ok"


@requirement("steps:life.resume", "steps:token.retry")
def test_a_resume_whose_reply_was_lost_gets_the_same_reply_and_writes_nothing(harness: TurnHarness) -> None:
    case = Case(harness)
    harness.send(case.run, Event("pause"), case.token)
    resumed = harness.send(case.run, Event("resume"), case.token)
    before, lines = read_whole_run(harness.runs, case.run), harness.runs.entries(case.run)

    assert harness.send(case.run, Event("resume"), case.token) == resumed
    assert (read_whole_run(harness.runs, case.run), harness.runs.entries(case.run)) == (before, lines)


@requirement("steps:life.resume", "steps:token.outcomes")
def test_a_resume_of_a_run_that_is_not_paused_meets_the_usual_order(harness: TurnHarness) -> None:
    case = Case(harness)

    def code(token: str, note: str = "") -> str:
        before = read_whole_run(harness.runs, case.run)
        answer = harness.send(case.run, Event("resume", note=note), token)
        assert read_whole_run(harness.runs, case.run) == before
        return str(answer["code"])

    assert code(case.token) == RefusalCode.NOT_RUNNING, "running, and the token is good"
    assert code(case.spent) == RefusalCode.ALREADY_USED
    harness.send(case.run, Event("pause"), case.token)
    resumed = harness.send(case.run, Event("resume"), case.token)
    assert code(case.token, "another") == RefusalCode.ALREADY_USED, "spent on the pause, and the run goes on"
    answer = harness.continue_run(case.run, resumed["token"])
    assert code(resumed["token"]) == RefusalCode.ALREADY_USED, "spent on the step"
    harness.send(case.run, Event("abandon", note="enough"))
    assert code(answer["token"]) == RefusalCode.NOT_RUNNING, "ended"


@requirement("steps:token.outcomes")
def test_a_paused_run_is_resumed_by_no_token_that_is_not_its_own(harness: TurnHarness) -> None:
    case, other = Case(harness), Case(harness)
    harness.send(case.run, Event("pause"))
    foreign = sign_token(ANOTHER_KEY, TokenClaims(case.run, 2, 2, NOW, b"nonce!"))
    before = read_whole_run(harness.runs, case.run)

    for token, code in (("no token", "malformed"), (foreign, "forged"), (other.token, "forged")):
        assert harness.send(case.run, Event("resume"), token)["code"] == code
    assert read_whole_run(harness.runs, case.run) == before


@requirement("steps:token.outcomes")
def test_a_refusal_names_the_way_on(harness: TurnHarness) -> None:
    case = Case(harness)
    case.code("no token")
    refused: Any = harness.outcomes[-1].decision

    assert (refused.rule, refused.seen) == ("step_token", (FactReading("step_token", "malformed"),))
    assert refused.needed == ("a step token as it was issued, unchanged",)
    assert harness.outcomes[-1].tokens is None


def test_a_call_that_is_refused_for_what_it_asks_keeps_its_token(harness: TurnHarness) -> None:
    case = Case(harness)
    answer = harness.continue_run(case.run, case.token, confidence=7)

    assert (answer["code"], answer["token"]) == (RefusalCode.CONTRACT, case.token)
    assert case.code(case.token) == "ok"


@requirement("steps:tel.errors")
def test_every_refusal_of_a_token_is_entered_with_its_code_and_its_caller(harness: TurnHarness) -> None:
    case = Case(harness)
    caller = Caller(principal="ann", client="cli")
    harness.call(Call(case.run, Event("continue"), caller, "no token"))

    (line,) = [line for line in harness.runs.entries(case.run) if line.revision == 0]
    assert line.entry.step == "review"
    assert line.entry.agent == "reader"
    assert line.entry.data == {
        "error_type": RefusalCode.MALFORMED,
        "rule": "step_token",
        "trigger": "continue",
        "by": "agent",
        "principal": "ann",
        "client": "cli",
    }


def test_without_a_lifetime_a_token_is_good_for_its_revision_and_the_store_keeps_none(
    harness: TurnHarness,
) -> None:
    harness.more = {"lifetime": None}
    case = Case(harness)
    stored = harness.runs.load(case.run)
    assert stored is not None
    assert dict(stored.tokens) == {}

    harness.clock.move(days=400)
    again = harness.recover(case.run)["token"]
    assert again != case.token
    assert case.code(case.token) == "ok"
    assert case.code(again) == "superseded"
    assert case.code(case.token, "Other.") == RefusalCode.ALREADY_USED


def test_without_a_lifetime_a_refused_call_without_a_token_is_given_one(harness: TurnHarness) -> None:
    harness.more = {"lifetime": None}
    case = Case(harness)
    answer = harness.send(case.run, "nope")

    assert answer["code"] == RefusalCode.NO_ROW
    assert case.code(answer["token"]) == "ok"


def test_an_event_for_a_step_is_the_same_event_in_all_else() -> None:
    event = Event("go", {"a": 1}, Actor.PERSON, "why", 2)
    unlike = Event("")
    assert all(getattr(event, field.name) != getattr(unlike, field.name) for field in fields(Event))

    assert bind_event_to_step(event, 3) == replace(event, step=3)
    assert bind_event_to_step(event, 0) == event
