"""Fork, on every store: a new run with what the old one finished, made once however often it is asked for."""

from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from handrail.engine.facts import Value
from handrail.engine.model import Actor, Event, Lifecycle, Refused, Run, Step
from handrail.engine.refusals import RefusalCode, TroubleCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.errors import Busy
from handrail.runtime.fork import derive_fork_id
from handrail.runtime.records import Origin, RunChange, StoredRun, Turn
from handrail.runtime.turn import NewRun
from helpers.faulty_stores import AlwaysMoved, Troubled, read_whole_run
from helpers.memory_store import MemoryRuns
from helpers.requirement import requirement
from helpers.stores import StorePlace
from helpers.turns import KEY, ORIGIN, PAPER, TurnHarness, load_pinned
from helpers.workflows import build_output

LOOP = """
workflow: loop
version: 1
authority: sql
inputs: {topic: string}
vars: {rounds: {type: int, default: 0}}
states:
  draft: {agent: writer, task: Write it., attempts: 2}
  review: {agent: reader, task: Read it.}
  publish: {agent: writer, task: Send it.}
  over: {terminal: true}
transitions:
  - {id: A, from: draft, trigger: continue, to: review, set: {rounds: 1}}
  - {id: B, from: review, trigger: continue, accept: "output.confidence < 0.5", to: draft}
  - {id: C, from: review, trigger: continue, to: publish}
  - {id: D, from: publish, trigger: continue, to: over}
"""
SPEC: Value = {"type": "spec", "title": "The spec", "content": "Words."}


def gone_on(
    harness: TurnHarness, steps: int, end: str = "", text: str = PAPER, **inputs: Value
) -> dict[str, Any]:
    """The last reply to a run that hands in so many outputs, a second each, and is then ended like this."""
    answer = harness.start(load_pinned(text), **inputs)
    for _ in range(steps):
        harness.clock.move(seconds=1)
        answer = harness.continue_run(answer["run"], answer["token"], artifacts=[SPEC])
    return harness.send(answer["run"], Event(end, note="enough")) if end else answer


def stored(harness: TurnHarness, run: str) -> StoredRun:
    found = harness.runs.load(run)
    assert found is not None
    return found


def entries(harness: TurnHarness, run: str) -> list[tuple[str, str, dict[str, Value]]]:
    return [(str(one.entry.kind), one.entry.step, dict(one.entry.data)) for one in harness.runs.entries(run)]


@requirement("steps:life.fork")
@pytest.mark.parametrize("end", ["abandon", "diverge", "fail"])
def test_a_fork_goes_on_where_the_run_stood_with_what_it_had_finished(harness: TurnHarness, end: str) -> None:
    old = gone_on(harness, 1, end)["run"]
    before, steps = read_whole_run(harness.runs, old), harness.runs.steps(old)
    harness.clock.move(minutes=5)
    answer = harness.fork(old)

    assert (answer["status"], answer["revision"], answer["state"]) == ("ok", 1, "review")
    assert answer["run"] != old
    new = stored(harness, answer["run"])
    flow = stored(harness, old).run.digest
    assert new.run == Run(
        answer["run"], "paper", flow, Lifecycle.RUNNING, (Step(3, "review", 1),), 3, {"draft": 1, "review": 1}
    )
    assert new.origin == Origin(
        "steps", ORIGIN.authority, "/home/ann/paper", "a paper", "eve", old, {"team": "blue"}
    )
    assert (new.started, new.opened) == (harness.clock.at, {3: harness.clock.at})
    saved = harness.runs.steps(answer["run"])
    assert saved[:1] == steps[:1]
    assert [(row.number, row.state, row.status) for row in saved] == [
        (1, "draft", "completed"),
        (3, "review", "running"),
    ]
    assert read_whole_run(harness.runs, old) == before
    assert harness.continue_run(answer["run"], answer["token"])["state"] == "publish"


@requirement("steps:life.fork", "steps:tel.events")
def test_a_fork_is_entered_like_a_start_with_where_it_comes_from(harness: TurnHarness) -> None:
    old = gone_on(harness, 1, "abandon")["run"]
    answer = harness.fork(old)

    by = {"by": "agent", "principal": "eve", "client": "test", "agent": "bot"}
    assert entries(harness, answer["run"]) == [
        (
            EntryKind.WORKFLOW_CREATED,
            "",
            {"parent": old, "step": "review", "workflow": "paper", "version": 1, **by},
        ),
        (EntryKind.STEP_STARTED, "review", {"number": 3, **by}),
        (EntryKind.TOKEN_GENERATED, "review", by),
        (EntryKind.WORKFLOW_STATE_TRANSITION, "", {"from": "idle", "to": "running", **by}),
    ]
    assert {line.revision for line in harness.runs.entries(answer["run"])} == {1}


@requirement("steps:life.fork", "steps:life.finalize")
def test_a_fork_of_a_completed_run_does_its_last_step_again_and_is_summed_up_whole(
    harness: TurnHarness,
) -> None:
    old = gone_on(harness, 3)
    assert old["lifecycle"] == Lifecycle.COMPLETED
    answer = harness.fork(old["run"])
    assert answer["state"] == "publish"
    assert stored(harness, answer["run"]).run.open == (Step(4, "publish", 2),)

    harness.clock.move(seconds=4)
    assert (
        harness.continue_run(answer["run"], answer["token"], summary="Better.")["lifecycle"]
        == Lifecycle.COMPLETED
    )
    made: Any = harness.outcomes[-1].synthesis
    assert (made["outcome_summary"], made["model_output"]["steps_completed"]) == ("Better.", 4)
    assert [a["step_name"] for a in made["model_output"]["artifacts"]] == ["draft", "review", "publish"]
    assert made["model_output"]["durations"] == {
        "total_ms": 4000,
        "steps": [
            {"step_name": "draft", "duration_ms": 1000},
            {"step_name": "review", "duration_ms": 1000},
            {"step_name": "publish", "duration_ms": 1000},
            {"step_name": "publish", "duration_ms": 4000},
        ],
    }


@requirement("steps:life.fork")
def test_a_fork_of_a_fork_has_all_that_was_finished_before(harness: TurnHarness) -> None:
    answer = harness.fork(gone_on(harness, 1, "abandon")["run"])
    answer = harness.continue_run(answer["run"], answer["token"])
    harness.send(answer["run"], Event("diverge", note="elsewhere"))
    last = harness.fork(answer["run"], "draft")

    assert [(row.number, row.state) for row in harness.runs.steps(last["run"])] == [
        (1, "draft"),
        (3, "review"),
        (5, "draft"),
    ]
    assert stored(harness, last["run"]).origin.parent == answer["run"]
    assert stored(harness, last["run"]).run.attempts == {"draft": 2, "review": 1, "publish": 1}


def test_a_fork_keeps_inputs_variables_and_attempts_and_not_how_the_old_run_ended(
    harness: TurnHarness,
) -> None:
    old = gone_on(harness, 1, "abandon", LOOP, topic="tea")["run"]
    assert stored(harness, old).origin.metadata == {"team": "blue", "last_transition_reason": "enough"}
    new = stored(harness, harness.fork(old)["run"])

    assert (new.run.inputs, new.run.vars) == ({"topic": "tea"}, {"rounds": 1})
    assert (new.run.attempts, new.run.reason) == ({"draft": 1, "review": 1}, "")
    assert new.origin.metadata == {"team": "blue"}


def test_listeners_hear_of_a_fork(harness: TurnHarness) -> None:
    old, heard = gone_on(harness, 1, "abandon")["run"], list[RunChange]()
    harness.feed.listen(heard.append)

    assert heard == [RunChange(harness.fork(old)["run"], 1)]


@requirement("steps:life.fork", "steps:token.retry")
@pytest.mark.parametrize("again", ["", "review"])
def test_a_fork_that_is_asked_for_again_is_the_same_run_with_a_fresh_token(
    place: StorePlace, again: str
) -> None:
    harness = TurnHarness(place.open())
    old = gone_on(harness, 1, "abandon")["run"]
    first = harness.fork(old)
    other = TurnHarness(place.open(), clock=harness.clock)
    other.ids.nonces = 1000
    second = other.fork(old, again)

    assert (second["run"], second["revision"], second["state"]) == (first["run"], 1, "review")
    assert second["token"] != first["token"]
    assert other.continue_run(first["run"], first["token"])["code"] == RefusalCode.SUPERSEDED
    assert other.continue_run(first["run"], second["token"])["status"] == "ok"
    noted = [line.entry.data for line in harness.runs.entries(first["run"]) if not line.revision]
    assert noted[0] == {"why": "recover", "by": "agent", "principal": "eve", "client": "test", "agent": "bot"}


@requirement("steps:life.fork")
def test_a_fork_that_has_moved_on_is_followed_by_another(harness: TurnHarness) -> None:
    old = gone_on(harness, 1, "abandon")["run"]
    ids = []
    for event in (Event("continue", build_output()), Event("pause"), Event("abandon", note="x")):
        answer = harness.fork(old)
        ids.append(answer["run"])
        assert harness.send(answer["run"], event)["status"] == "ok"

    assert ids == [derive_fork_id(KEY, old, "review", number) for number in range(3)]
    assert len(set(ids)) == 3
    assert harness.fork(old, "draft")["run"] == derive_fork_id(KEY, old, "draft", 0)


def test_the_id_of_a_fork_is_a_uuid_that_only_the_key_gives() -> None:
    run = "00000000-0000-0000-0000-000000000001"
    found = {
        derive_fork_id(KEY, run, "draft", 0),
        derive_fork_id(bytes(32), run, "draft", 0),
        derive_fork_id(KEY, run.replace("1", "2"), "draft", 0),
        derive_fork_id(KEY, run, "review", 0),
        derive_fork_id(KEY, run, "draft", 1),
    }

    assert len(found) == 5
    assert {str(UUID(one)) for one in found} == found


class Raced(MemoryRuns):
    """Lets somebody else make the same fork first, once."""

    raced = False

    def commit(self, turn: Turn) -> bool:
        if turn.inherits and not self.raced:
            self.raced = True
            assert super().commit(replace(turn, tokens={3: "other"}))
        return super().commit(turn)


@requirement("steps:life.fork")
def test_two_callers_that_fork_at_once_get_the_same_run() -> None:
    harness = TurnHarness(Raced())
    old = gone_on(harness, 1, "abandon")["run"]
    answer = harness.fork(old)

    assert answer["run"] == derive_fork_id(KEY, old, "review", 0)
    assert harness.continue_run(answer["run"], answer["token"])["status"] == "ok"
    assert harness.runs.load(derive_fork_id(KEY, old, "review", 1)) is None


def test_a_store_that_always_says_moved_is_given_up() -> None:
    runs = AlwaysMoved()
    runs.moved = False
    harness = TurnHarness(runs)
    old = gone_on(harness, 1, "abandon")["run"]
    runs.moved = True

    with pytest.raises(Busy, match="5 times"):
        harness.fork(old)


MENDED = PAPER.replace("version: 1", "version: 2").replace("publish", "print")


def mended(text: str = MENDED) -> NewRun:
    found = load_pinned(text)
    assert found.workflow
    return NewRun(found.workflow, replace(ORIGIN, goal="another", project="/elsewhere"), found.definition)


@requirement("steps:life.fork", "steps:def.pinned")
def test_a_person_takes_a_run_on_to_the_workflow_as_it_is_now(place: StorePlace) -> None:
    harness = TurnHarness(place.open())
    old = gone_on(harness, 1, "abandon")["run"]
    first = harness.fork(old, by=Actor.PERSON)
    answer = harness.fork(old, by=Actor.PERSON, new=mended())
    assert answer["run"] != first["run"], "one that began by another text is another one"
    assert harness.fork(old, by=Actor.PERSON, new=mended())["run"] == answer["run"]
    answer = harness.fork(old, by=Actor.PERSON, new=mended())

    later = TurnHarness(place.open())
    later.ids.nonces = 1000
    assert later.continue_run(answer["run"], answer["token"])["state"] == "print"
    new = stored(later, answer["run"])
    assert (new.run.digest, new.origin.goal) == (mended().workflow.digest, "a paper")
    assert new.origin.project == "/home/ann/paper"


def test_a_run_cannot_go_on_in_a_state_that_the_workflow_lost(harness: TurnHarness) -> None:
    old = gone_on(harness, 2, "abandon")["run"]

    assert harness.fork(old, by=Actor.PERSON, new=mended())["code"] == RefusalCode.UNKNOWN_STEP
    assert harness.fork(old, "review", by=Actor.PERSON, new=mended())["status"] == "ok"


def test_a_run_whose_text_is_gone_is_taken_on_to_the_workflow_as_it_is_now() -> None:
    class Lost(MemoryRuns):
        """Has lost the first text."""

        lost = ""

        def definition(self, digest: str) -> Any:  # noqa: ANN401 - as the real one
            return None if digest == self.lost else super().definition(digest)

    runs = Lost()
    harness = TurnHarness(runs)
    old = gone_on(harness, 1, "abandon")["run"]
    runs.lost = stored(harness, old).run.digest

    assert harness.fork(old, by=Actor.PERSON, new=mended())["state"] == "review"


@requirement("steps:life.fork")
def test_a_fork_that_only_a_person_could_make_is_entered_as_override(harness: TurnHarness) -> None:
    old = gone_on(harness, 1, "abandon")["run"]
    answer = harness.fork(old, "publish", by=Actor.PERSON)

    assert answer["state"] == "publish"
    by = {"by": "person", "principal": "eve", "client": "test", "agent": "bot"}
    assert [kind for kind, *_ in entries(harness, answer["run"])] == [
        EntryKind.WORKFLOW_CREATED,
        EntryKind.STEP_OVERRIDDEN,
        EntryKind.STEP_STARTED,
        EntryKind.TOKEN_GENERATED,
        EntryKind.WORKFLOW_STATE_TRANSITION,
    ]
    overridden = entries(harness, answer["run"])[1]
    assert overridden[1:] == ("publish", {"overrides": RefusalCode.LATER_STEP, "stood": "review", **by})


def test_a_fork_that_an_agent_could_make_is_not_an_override(harness: TurnHarness) -> None:
    old = gone_on(harness, 1, "abandon")["run"]

    for state in ("draft", "review"):
        answer = harness.fork(old, state, by=Actor.PERSON)
        assert EntryKind.STEP_OVERRIDDEN not in [kind for kind, *_ in entries(harness, answer["run"])]


@pytest.mark.parametrize("run", ["", "nobody", "\ud800"])
def test_a_run_that_is_not_there_is_not_forked(harness: TurnHarness, run: str) -> None:
    assert harness.fork(run)["code"] == RefusalCode.UNKNOWN_RUN
    assert harness.outcomes[-1].workflow is None


def test_a_run_in_trouble_is_not_forked() -> None:
    harness = TurnHarness(Troubled())
    old = harness.start()["run"]

    assert harness.fork(old)["code"] == TroubleCode.DAMAGED


def test_a_run_that_lives_in_files_is_not_forked() -> None:
    harness = TurnHarness(MemoryRuns(), more={"lifetime": None})
    text = "workflow: w\nversion: 1\nauthority: files\nstates: {a: {}, z: {terminal: true}}\n"
    rows = "transitions: [{id: A, from: a, trigger: go, to: z}, {id: B, from: a, trigger: stay}]\n"
    of = load_pinned(text + rows)
    answer = harness.start_with_event(of, replace(ORIGIN, authority=of.workflow.authority), Event("go"))  # type: ignore[union-attr] # it has no problem

    assert answer["lifecycle"] == Lifecycle.COMPLETED
    assert harness.fork(answer["run"], "a", by=Actor.PERSON)["code"] == RefusalCode.KEPT_ELSEWHERE
    assert harness.runs.steps(answer["run"]) == ()


@requirement("steps:tel.errors")
def test_a_refusal_is_entered_with_the_old_run(harness: TurnHarness) -> None:
    old = gone_on(harness, 1, "abandon")["run"]
    assert harness.fork(old, "nowhere")["code"] == RefusalCode.UNKNOWN_STEP
    decision = harness.outcomes[-1].decision
    assert isinstance(decision, Refused)

    line = harness.runs.entries(old)[-1]
    assert (line.revision, line.entry.kind) == (0, EntryKind.ERROR_OCCURRED)
    assert line.entry.data == {
        "error_type": RefusalCode.UNKNOWN_STEP,
        "rule": "fork",
        "trigger": "fork",
        "by": "agent",
        "principal": "eve",
        "client": "test",
        "agent": "bot",
    }
