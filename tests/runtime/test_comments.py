"""A comment moves nothing, and the next answer tells the agent of it, once."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from handrail.engine.facts import Value
from handrail.engine.model import Actor, Event, Refused
from handrail.engine.refusals import RefusalCode
from handrail.runtime.comments import MAX_COMMENT_CHARACTERS, collect_comments, write_comment
from handrail.runtime.entries import EntryKind
from handrail.runtime.records import Caller
from handrail.runtime.sweep import IdleLimits, abandon_idle_runs
from handrail.runtime.turn import Call, Outcome, take_turn
from helpers.memory_store import MemoryRuns
from helpers.turns import NOW, TurnHarness, open_sqlite

ADA = Caller(Actor.PERSON, "ada", "cli")


@pytest.fixture
def harness() -> TurnHarness:
    return TurnHarness(MemoryRuns())


def say(turns: TurnHarness, run: str, text: str, by: Caller = ADA) -> None:
    assert write_comment(turns.world, run, text, by) is None


def told(turns: TurnHarness, run: str) -> list[str]:
    """The entries that say that something was told, by the revision they belong to."""
    kind = EntryKind.COMMENT_TOLD
    return [str(line.revision) for line in turns.runs.entries(run, most=1000) if line.entry.kind is kind]


def test_a_comment_is_entered_with_who_and_when_and_moves_nothing(harness: TurnHarness) -> None:
    begun = harness.start()
    before = harness.runs.load(begun["run"])
    harness.clock.move(minutes=5)
    say(harness, begun["run"], "  Mind the gap.\nTwice.  ")

    line = harness.runs.entries(begun["run"])[-1]
    assert (line.revision, line.at, line.entry.kind) == (
        0,
        NOW + timedelta(minutes=5),
        EntryKind.COMMENT_WRITTEN,
    )
    assert line.entry.step == begun["state"]
    assert dict(line.entry.data) == {
        "comment": "000000000003",
        "text": "Mind the gap.\nTwice.",
        "by": "person",
        "principal": "ada",
        "client": "cli",
    }
    after = harness.runs.load(begun["run"])
    assert after is not None
    assert replace(after, undelivered=()) == before


def test_the_next_reply_has_the_comment_once_and_a_retry_has_it_again(harness: TurnHarness) -> None:
    begun = harness.start()
    say(harness, begun["run"], "Mind the gap.")
    one = harness.continue_run(begun["run"], begun["token"])
    two = harness.continue_run(begun["run"], one["token"])

    assert one["comments"] == ["ada: Mind the gap."]
    assert "comments" not in two
    assert harness.continue_run(begun["run"], begun["token"]) == one
    assert told(harness, begun["run"]) == ["2"]


def test_a_refusal_has_the_comment_too(harness: TurnHarness) -> None:
    begun = harness.start()
    say(harness, begun["run"], "Mind the gap.")
    refused = harness.send(begun["run"], "nonsense", begun["token"])

    assert (refused["status"], refused["comments"]) == ("error", ["ada: Mind the gap."])
    assert "comments" not in harness.continue_run(begun["run"], begun["token"])
    assert told(harness, begun["run"]) == ["0"]


def test_a_recovery_and_a_late_call_have_the_comment(harness: TurnHarness) -> None:
    begun = harness.start()
    say(harness, begun["run"], "Mind the gap.")
    fresh = harness.recover(begun["run"])
    assert fresh["comments"] == ["ada: Mind the gap."]
    say(harness, begun["run"], "Too late.")
    harness.clock.move(minutes=20)
    late = harness.continue_run(begun["run"], fresh["token"])

    assert (late["code"], late["comments"]) == (RefusalCode.EXPIRED, ["ada: Too late."])
    assert "comments" not in harness.recover(begun["run"])


def test_a_paused_or_ended_run_takes_comments(harness: TurnHarness) -> None:
    for trigger in ("pause", "abandon"):
        run = harness.start()["run"]
        harness.send(run, Event(trigger, by=Actor.PERSON, note="enough"))
        say(harness, run, "Why?")
        refused = harness.recover(run)
        assert (refused["status"], refused["comments"]) == ("error", ["ada: Why?"])


def test_what_a_person_or_the_sweep_does_uses_no_comment_up(tmp_path: Path) -> None:
    runs = open_sqlite(tmp_path)
    turns = TurnHarness(runs)
    run = turns.start()["run"]
    say(turns, run, "For the agent.")
    paused = turns.call(Call(run, Event("pause", by=Actor.PERSON), ADA, unattended=True))
    resumed = turns.call(Call(run, Event("resume", by=Actor.PERSON), ADA, unattended=True))
    assert [one.get("comments") for one in (paused, resumed)] == [None, None]
    turns.clock.move(days=2)
    assert abandon_idle_runs(turns.world, runs, IdleLimits()) == (run,)

    assert turns.recover(run)["comments"] == ["ada: For the agent."]
    assert told(turns, run) == ["0"]


def test_a_comment_written_during_a_turn_comes_with_the_next(harness: TurnHarness) -> None:
    begun = harness.start()
    say(harness, begun["run"], "Before.")

    def render(outcome: Outcome) -> dict[str, Any]:
        say(harness, begun["run"], "Meanwhile.")
        return harness.render(outcome)

    call = Call(begun["run"], Event("continue", {"summary": "x"}), token=begun["token"])
    first = take_turn(harness.world, call, render)
    assert first["comments"] == ["ada: Before."]
    assert harness.recover(begun["run"])["comments"] == ["ada: Meanwhile."]


def test_a_fork_takes_unread_comments_along(harness: TurnHarness) -> None:
    run = harness.start()["run"]
    say(harness, run, "Old.")
    harness.recover(run)
    harness.send(run, Event("abandon", by=Actor.PERSON, note="enough"))
    say(harness, run, "Begin with the hard part.")
    forked = harness.fork(run, by=Actor.PERSON)

    assert harness.recover(forked["run"])["comments"] == ["ada: Begin with the hard part."]


def test_many_or_long_comments_are_cut_with_where_to_read_them(harness: TurnHarness) -> None:
    run = harness.start()["run"]
    for number in range(7):
        say(harness, run, f"{number} {'x' * 600 if number == 6 else ''}")
    lines = harness.recover(run)["comments"]

    assert lines[:4] == [f"ada: {number}" for number in range(2, 6)]
    assert (len(lines[4]), lines[4][:9], lines[4][-2:]) == (500, "ada: 6 xx", "x…")
    assert lines[5:] == [
        f"2 more before these; in full: workflow-status://{run} or `handrail runs show {run}`"
    ]
    assert [one.delivered_at for one in collect_comments(harness.runs.entries(run, most=100))] == [NOW] * 7


def test_a_comment_gives_no_orders_to_a_terminal(harness: TurnHarness) -> None:
    run = harness.start()["run"]
    say(harness, run, "a\n\n  b\tc \u202e", Caller(Actor.PERSON))

    assert harness.recover(run)["comments"] == ["somebody: a b c \\u{202e}"]


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("", "a text of 1 to 4000 characters"),
        (" \n ", "a text of 1 to 4000 characters"),
        ("x" * 4001, "a text of 1 to 4000 characters"),
        ("a\0b", "a text without control characters"),
        ("\ud800", "a text without control characters"),
    ],
)
def test_an_empty_long_or_binary_comment_is_refused(harness: TurnHarness, text: str, needed: str) -> None:
    run = harness.start()["run"]
    before = harness.runs.entries(run)
    refused = write_comment(harness.world, run, text, ADA)

    assert isinstance(refused, Refused)
    assert (refused.code, refused.needed) == (RefusalCode.NO_COMMENT, (needed,))
    assert harness.runs.entries(run) == before
    assert write_comment(harness.world, run, "x" * MAX_COMMENT_CHARACTERS, ADA) is None


def test_a_run_that_is_not_there_takes_none(harness: TurnHarness) -> None:
    refused = write_comment(harness.world, "nobody", "Hello?", ADA)

    assert refused is not None
    assert refused.code == RefusalCode.UNKNOWN_RUN


def test_listeners_hear_of_a_comment(harness: TurnHarness) -> None:
    run: Value = harness.start()["run"]
    heard: list[str] = []
    stop = harness.feed.listen(lambda change: heard.append(change.run))
    say(harness, str(run), "Hello")
    stop()

    assert heard == [run]
