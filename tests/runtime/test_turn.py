"""One turn, on every store: accepted once and whole, or refused with nothing moved."""

from typing import Any

import pytest

from handrail.engine.facts import PENDING, Value
from handrail.engine.model import Actor, Event, FactReading, Lifecycle, Refused, Waiting
from handrail.engine.refusals import RefusalCode, TroubleCode
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.errors import Busy
from handrail.runtime.records import Caller, RunChange
from handrail.runtime.tokens import hash_request
from handrail.runtime.turn import MAX_ATTEMPTS, Call, NewRun
from helpers.faulty_stores import AlwaysMoved, MovedOnce, Troubled, read_whole_run
from helpers.requirement import requirement
from helpers.stores import StorePlace, build_next_turn
from helpers.turns import ENDLESS, NOW, ORIGIN, TurnHarness, load_pinned
from helpers.workflows import GATED, build_output

CHECKED = """
workflow: checked
version: 1
authority: sql
texts: {passed: "It is {{tests.pass}} for {{event.note}}."}
states: {Home: {}, Done: {}, Over: {terminal: true}}
transitions:
  - {id: good, from: Home, trigger: go, when: tests.pass, to: Done, say: passed}
  - {id: end, from: Done, trigger: end, to: Over}
"""

ASKED = """
workflow: asked
version: 1
authority: sql
texts: {here: "You are in {{run.state}}."}
states: {Home: {}, Over: {terminal: true}}
transitions:
  - {id: told, from: Home, trigger: ask, only_says: true, say: here}
  - {id: end, from: Home, trigger: end, to: Over}
"""


def kinds(harness: TurnHarness, run: str, revision: int) -> list[str]:
    return [str(line.entry.kind) for line in harness.runs.entries(run) if line.revision == revision]


@requirement("steps:db.tx", "steps:life.idle-running", "steps:life.continue", "steps:life.complete")
def test_a_run_is_walked_from_its_start_to_its_end_one_revision_at_a_time(harness: TurnHarness) -> None:
    answer = harness.start()
    seen = [(answer["revision"], answer["state"], answer["lifecycle"])]
    while answer["lifecycle"] == Lifecycle.RUNNING:
        answer = harness.continue_run(answer["run"], answer["token"])
        seen.append((answer["revision"], answer["state"], answer["lifecycle"]))

    assert seen == [
        (1, "draft", "running"),
        (2, "review", "running"),
        (3, "publish", "running"),
        (4, "", "completed"),
    ]
    assert answer["token"] == ""


def test_the_outcome_has_the_run_as_the_store_holds_it(harness: TurnHarness) -> None:
    answer = harness.start()
    for change in ("continue", "pause", "resume", "continue"):
        harness.clock.move(seconds=1)
        harness.send(answer["run"], Event(change, build_output() if change == "continue" else {}))
        assert harness.outcomes[-1].stored == harness.runs.load(answer["run"])


@requirement("steps:tel.durations")
def test_a_step_is_measured_from_when_it_was_opened(harness: TurnHarness) -> None:
    answer = harness.start()
    harness.clock.move(seconds=10)
    answer = harness.continue_run(answer["run"], answer["token"])
    harness.clock.move(seconds=-99)
    harness.continue_run(answer["run"], answer["token"])

    entries = [line.entry for line in harness.runs.entries(answer["run"])]
    took = [entry.data["duration_ms"] for entry in entries if entry.kind is EntryKind.STEP_COMPLETED]
    assert took == [10_000, 0]


def test_what_the_caller_adds_is_kept_with_the_turn(harness: TurnHarness) -> None:
    run = harness.start()["run"]
    entry = Entry(EntryKind.STEP_OVERRIDDEN, "draft", data={"by": "person"})
    call = Call(run, Event("continue", build_output()), entries=(entry,), marks={"external": True})
    assert harness.call(call)["status"] == "ok"

    stored = harness.runs.load(run)
    assert stored is not None
    assert stored.origin.metadata == {"team": "blue", "external": True}
    assert harness.runs.entries(run)[-1].entry == entry
    assert harness.runs.entries(run)[-1].revision == 2


def test_listeners_hear_of_turns_and_not_of_refusals(harness: TurnHarness) -> None:
    heard: list[RunChange] = []
    stop = harness.feed.listen(heard.append)
    run = harness.start()["run"]
    harness.send(run, "nope")
    harness.send(run, Event("pause"))
    stop()
    harness.send(run, Event("resume"))

    assert heard == [RunChange(run, 1), RunChange(run, 2)]


def test_a_listener_that_fails_takes_no_answer_away(
    harness: TurnHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[RunChange] = []

    def fails(change: RunChange) -> None:
        raise KeyError(change.run)

    harness.feed.listen(fails)
    harness.feed.listen(heard.append)
    answer = harness.start()

    assert answer["status"] == "ok"
    assert heard == [RunChange(answer["run"], 1)]
    assert "KeyError" in capsys.readouterr().err


@requirement("steps:token.retry")
def test_a_call_whose_reply_was_lost_gets_the_same_reply_from_another_process(place: StorePlace) -> None:
    harness = TurnHarness(place.open())
    first = harness.start()
    reply = harness.continue_run(first["run"], first["token"])
    lines = harness.runs.entries(first["run"])

    other = TurnHarness(place.open(), clock=harness.clock)
    other.clock.move(days=3)
    assert other.continue_run(first["run"], first["token"]) == reply
    assert other.runs.entries(first["run"]) == lines
    assert other.outcomes == []


@requirement("steps:token.once")
def test_a_run_moved_by_another_caller_meanwhile_is_loaded_again() -> None:
    runs = MovedOnce()
    harness = TurnHarness(runs)
    answer = harness.start(load_pinned(ENDLESS))
    stored = runs.load(answer["run"])
    assert stored is not None
    runs.other = build_next_turn(stored)

    assert harness.send(answer["run"], "go", answer["token"])["code"] == RefusalCode.SUPERSEDED
    after = runs.load(answer["run"])
    assert after is not None
    assert after.revision == 2


def test_a_store_that_always_says_moved_is_given_up_after_five_attempts() -> None:
    runs = AlwaysMoved()
    harness = TurnHarness(runs)
    with pytest.raises(Busy, match="was moved by others 5 times") as caught:
        harness.start()

    assert runs.held_at == [0, 1, 2, 3, 4]
    assert len(runs.held_at) == MAX_ATTEMPTS
    assert caught.value.repair == "send the same call again"
    runs.moved = False
    assert harness.start()["status"] == "ok"


def test_a_store_that_never_renews_tokens_is_given_up_after_five_attempts() -> None:
    runs = AlwaysMoved()
    runs.moved = False
    harness = TurnHarness(runs)
    answer = harness.start()
    runs.moved = True

    with pytest.raises(Busy, match="5 times"):
        harness.recover(answer["run"])
    harness.clock.move(minutes=11)
    with pytest.raises(Busy, match="5 times"):
        harness.continue_run(answer["run"], answer["token"])


@requirement("steps:tel.errors")
@pytest.mark.parametrize(
    ("event", "code"),
    [
        (Event("nope"), RefusalCode.NO_ROW),
        (Event("continue", {}), RefusalCode.CONTRACT),
        (Event("start"), RefusalCode.NOT_RUNNING),
        (Event("resume"), RefusalCode.NOT_RUNNING),
        (Event("abandon"), RefusalCode.REASON),
        (Event("continue", build_output(), step=9), RefusalCode.WHICH_STEP),
    ],
)
def test_a_refusal_moves_nothing_and_is_entered(harness: TurnHarness, event: Event, code: str) -> None:
    run = harness.start()["run"]
    before = read_whole_run(harness.runs, run)

    assert harness.send(run, event)["code"] == code
    assert read_whole_run(harness.runs, run) == before
    entry = harness.runs.entries(run)[-1]
    assert (entry.revision, entry.entry.kind) == (0, EntryKind.ERROR_OCCURRED)
    assert entry.entry.data["error_type"] == code


@pytest.mark.parametrize("run", ["", "nobody", "\ud800", "a\0b", "'; DROP TABLE runs; --"])
def test_an_unknown_run_is_refused_with_any_id(harness: TurnHarness, run: str) -> None:
    assert harness.send(run, "go")["code"] == RefusalCode.UNKNOWN_RUN
    assert harness.recover(run)["code"] == RefusalCode.UNKNOWN_RUN
    assert harness.outcomes[-1].workflow is None


@pytest.mark.parametrize("half", ["trigger", "note", "payload", "key", "caller", "token"])
def test_half_a_character_anywhere_in_a_call_is_refused_or_passed_over(
    harness: TurnHarness, half: str
) -> None:
    answer, bad = harness.start(), "\ud800"
    event = {
        "trigger": Event(bad),
        "note": Event("continue", build_output(), note=bad),
        "payload": Event("continue", build_output(summary=bad)),
        "key": Event("continue", {**build_output(), bad: 1}),
    }.get(half, Event("nope"))
    caller = Caller(Actor.AGENT, bad, bad, bad) if half == "caller" else Caller()
    before = read_whole_run(harness.runs, answer["run"])

    said = harness.call(Call(answer["run"], event, caller, bad if half == "token" else answer["token"]))
    assert said["status"] == "error"
    assert read_whole_run(harness.runs, answer["run"]) == before
    assert harness.runs.entries(answer["run"])[-1].entry.kind is EntryKind.ERROR_OCCURRED


def test_an_unread_payload_may_be_anything(harness: TurnHarness) -> None:
    answer = harness.start()
    event = Event("pause", {"a": "\ud800", "b": float("nan")})

    assert hash_request(event) == ""
    assert harness.call(Call(answer["run"], event, token=answer["token"]))["lifecycle"] == Lifecycle.PAUSED


def test_the_hash_of_a_call_covers_all_of_it() -> None:
    calls = [
        Event("go"),
        Event("go", {"a": 1}),
        Event("go", note="x"),
        Event("went"),
        Event("go", by=Actor.PERSON),
    ]

    assert len({hash_request(event) for event in calls}) == 5
    assert hash_request(Event("go", {"a": 1, "b": 2})) == hash_request(Event("go", {"b": 2, "a": 1}))


def test_a_call_that_is_only_for_a_run_as_it_was_does_nothing_to_one_that_moved_on(
    harness: TurnHarness,
) -> None:
    run = harness.start(load_pinned(ENDLESS))["run"]
    lines = harness.runs.entries(run)
    call = Call(run, Event("abandon", note="quiet"), only_if=lambda stored: stored.revision == 7)

    assert harness.call(call)["code"] == RefusalCode.MOVED_ON
    decision = harness.outcomes[-1].decision
    assert isinstance(decision, Refused)
    assert decision.seen == (FactReading("run.revision", 1),)
    assert harness.runs.entries(run) == lines
    wanted = Call(run, Event("abandon", note="quiet"), only_if=lambda stored: stored.revision == 1)
    assert harness.call(wanted)["lifecycle"] == Lifecycle.ABANDONED


def test_a_run_in_trouble_refuses_everything_and_names_the_repair() -> None:
    harness = TurnHarness(Troubled())
    run = harness.start()["run"]

    assert harness.send(run, Event("continue", build_output()))["code"] == TroubleCode.DAMAGED
    decision: Any = harness.outcomes[-1].decision
    assert (decision.seen, decision.needed) == (
        (FactReading("found", "half of it is missing"),),
        ("restore the backup",),
    )


def test_a_turn_that_waits_holds_what_it_was_given_and_goes_on_when_the_fact_is_there(
    harness: TurnHarness,
) -> None:
    known: dict[str, Value] = {"tests.pass": PENDING}
    harness.registry, harness.more = GATED, {"readers": lambda: {"engine": lambda _, __: known["tests.pass"]}}
    answer = harness.start(load_pinned(CHECKED, registry=GATED))
    run = answer["run"]
    said = harness.send(run, Event("go", {"a": [1]}, note="ann"), answer["token"])
    assert (said["status"], said["waits_for"], said["state"]) == ("waiting", ["tests.pass"], "Home")
    assert isinstance(harness.outcomes[-1].decision, Waiting)
    assert kinds(harness, run, 2) == [
        EntryKind.TOKEN_VALIDATED,
        EntryKind.STEP_WAITING,
        EntryKind.TOKEN_GENERATED,
    ]

    stored = harness.runs.load(run)
    assert stored is not None
    held = stored.run.open[0].held
    assert held == Event("go", {"a": [1]}, note="ann", step=1)
    assert held is not None
    known["tests.pass"] = True
    said = harness.send(run, held, said["token"])
    assert (said["status"], said["state"]) == ("ok", "Done")
    assert [list(text.values()) for text in said["texts"]] == [["It is true for ann."]]


def test_a_fact_without_a_reader_opens_nothing(harness: TurnHarness) -> None:
    harness.registry, harness.more = GATED, {"readers": dict}
    run = harness.start(load_pinned(CHECKED, registry=GATED))["run"]

    assert harness.send(run, "go")["status"] == "error"


@requirement("steps:life.reason", "steps:life.pause", "steps:life.abandon-ask", "steps:life.diverge")
@pytest.mark.parametrize(
    ("trigger", "note", "lifecycle", "reason"),
    [
        ("pause", "", Lifecycle.PAUSED, "No reason provided"),
        ("pause", "tea", Lifecycle.PAUSED, "tea"),
        ("abandon", "no use", Lifecycle.ABANDONED, "no use"),
        ("diverge", "other way", Lifecycle.DIVERGED, "other way"),
        ("fail", "broken", Lifecycle.FAILED, "broken"),
    ],
)
def test_why_the_lifecycle_changed_is_kept(
    harness: TurnHarness, trigger: str, note: str, lifecycle: str, reason: str
) -> None:
    run = harness.start()["run"]
    assert harness.send(run, Event(trigger, note=note))["lifecycle"] == lifecycle

    stored = harness.runs.load(run)
    assert stored is not None
    assert stored.origin.metadata == {"team": "blue", "last_transition_reason": reason}
    entry = harness.runs.entries(run)[-1].entry
    assert entry.kind is EntryKind.WORKFLOW_STATE_TRANSITION
    assert (entry.data["from"], entry.data["to"]) == ("running", lifecycle)


@requirement("steps:life.resume")
def test_a_run_that_is_resumed_answers_with_a_token_and_the_older_one_is_superseded(
    harness: TurnHarness,
) -> None:
    answer = harness.start()
    harness.send(answer["run"], Event("pause"))
    resumed = harness.send(answer["run"], Event("resume"))

    assert (resumed["lifecycle"], resumed["state"]) == (Lifecycle.RUNNING, "draft")
    assert harness.continue_run(answer["run"], answer["token"])["code"] == RefusalCode.SUPERSEDED
    assert harness.continue_run(answer["run"], resumed["token"])["status"] == "ok"


@requirement("steps:life.terminal")
@pytest.mark.parametrize("trigger", ["abandon", "diverge", "fail"])
def test_a_run_that_has_ended_is_never_moved_again(harness: TurnHarness, trigger: str) -> None:
    answer = harness.start()
    harness.send(answer["run"], Event(trigger, note="over"))
    before = read_whole_run(harness.runs, answer["run"])

    for event in ("continue", "pause", "resume", "fail", "abandon", "diverge", "start"):
        assert (
            harness.send(answer["run"], Event(event, build_output(), note="x"))["code"]
            == RefusalCode.NOT_RUNNING
        )
    assert harness.continue_run(answer["run"], answer["token"])["code"] == RefusalCode.NOT_RUNNING
    assert harness.recover(answer["run"])["token"] == ""
    assert read_whole_run(harness.runs, answer["run"]) == before


@requirement("steps:def.pinned")
def test_a_run_follows_the_text_it_began_with(place: StorePlace) -> None:
    harness = TurnHarness(place.open())
    answer = harness.start()
    edited = load_pinned(
        "workflow: paper\nversion: 2\nauthority: sql\nsteps: [{name: other, agent: a, task: Other.}]\n"
    )
    assert harness.start(edited)["state"] == "other"

    later = TurnHarness(place.open())
    answer = later.continue_run(answer["run"], answer["token"])
    assert answer["state"] == "review"
    assert edited.workflow
    new = NewRun(edited.workflow, ORIGIN, edited.definition)
    answer = later.call(Call(answer["run"], Event("continue", build_output()), new=new))
    assert answer["state"] == "publish"


def test_the_time_of_a_turn_is_that_of_its_commit(harness: TurnHarness) -> None:
    run = harness.start()["run"]

    assert {line.at for line in harness.runs.entries(run)} == {NOW}


def test_a_row_that_only_says_something_is_entered_and_leaves_the_run_as_it_is(harness: TurnHarness) -> None:
    answer = harness.start(load_pinned(ASKED))
    run, token = answer["run"], answer["token"]
    before, known = harness.runs.load(run), harness.runs.entries(run)

    answers = [harness.send(run, "ask", token) for _ in range(2)]
    without = harness.send(run, "ask")

    assert [answer["texts"] for answer in (*answers, without)] == [[{"text": "You are in Home."}]] * 3
    assert [(answer["status"], answer["revision"], answer["token"]) for answer in answers] == [
        ("ok", 1, token),
        ("ok", 1, token),
    ]
    assert harness.runs.load(run) == before
    assert harness.runs.entries(run)[: len(known)] == known
    added = [
        (one.entry.kind, one.entry.step, one.entry.data) for one in harness.runs.entries(run)[len(known) :]
    ]
    told_of = {"trigger": "ask", "by": "agent", "rows": ["told"], "to": "Home"}
    assert added == [(EntryKind.STEP_STAYED, "Home", told_of)] * 3
    assert harness.send(run, "end", token)["lifecycle"] == Lifecycle.COMPLETED
