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
from helpers.faulty_stores import AlwaysMoved, Troubled, whole
from helpers.memory_store import MemoryRuns
from helpers.requirement import requirement
from helpers.stores import Place
from helpers.turns import KEY, ORIGIN, PAPER, Desk, pinned
from helpers.workflows import output

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


def gone_on(desk: Desk, steps: int, end: str = "", text: str = PAPER, **inputs: Value) -> dict[str, Any]:
    """The last reply to a run that hands in so many outputs, a second each, and is then ended like this."""
    told = desk.start(pinned(text), **inputs)
    for _ in range(steps):
        desk.clock.move(seconds=1)
        told = desk.go_on(told["run"], told["token"], artifacts=[SPEC])
    return desk.send(told["run"], Event(end, note="enough")) if end else told


def stored(desk: Desk, run: str) -> StoredRun:
    found = desk.runs.load(run)
    assert found is not None
    return found


def entries(desk: Desk, run: str) -> list[tuple[str, str, dict[str, Value]]]:
    return [(str(one.entry.kind), one.entry.step, dict(one.entry.data)) for one in desk.runs.entries(run)]


@requirement("steps:life.fork")
@pytest.mark.parametrize("end", ["abandon", "diverge", "fail"])
def test_a_fork_goes_on_where_the_run_stood_with_what_it_had_finished(desk: Desk, end: str) -> None:
    old = gone_on(desk, 1, end)["run"]
    before, steps = whole(desk.runs, old), desk.runs.steps(old)
    desk.clock.move(minutes=5)
    told = desk.fork(old)

    assert (told["status"], told["revision"], told["state"]) == ("ok", 1, "review")
    assert told["run"] != old
    new = stored(desk, told["run"])
    flow = stored(desk, old).run.digest
    assert new.run == Run(
        told["run"], "paper", flow, Lifecycle.RUNNING, (Step(3, "review", 1),), 3, {"draft": 1, "review": 1}
    )
    assert new.origin == Origin(
        "steps", ORIGIN.authority, "/home/ann/paper", "a paper", "eve", old, {"team": "blue"}
    )
    assert (new.started, new.opened) == (desk.clock.at, {3: desk.clock.at})
    kept = desk.runs.steps(told["run"])
    assert kept[:1] == steps[:1]
    assert [(row.number, row.state, row.status) for row in kept] == [
        (1, "draft", "completed"),
        (3, "review", "running"),
    ]
    assert whole(desk.runs, old) == before
    assert desk.go_on(told["run"], told["token"])["state"] == "publish"


@requirement("steps:life.fork", "steps:tel.events")
def test_a_fork_is_entered_like_a_start_with_where_it_comes_from(desk: Desk) -> None:
    old = gone_on(desk, 1, "abandon")["run"]
    told = desk.fork(old)

    by = {"by": "agent", "principal": "eve", "client": "test", "agent": "bot"}
    assert entries(desk, told["run"]) == [
        (
            EntryKind.WORKFLOW_CREATED,
            "",
            {"parent": old, "step": "review", "workflow": "paper", "version": 1, **by},
        ),
        (EntryKind.STEP_STARTED, "review", {"number": 3, **by}),
        (EntryKind.TOKEN_GENERATED, "review", by),
        (EntryKind.WORKFLOW_STATE_TRANSITION, "", {"from": "idle", "to": "running", **by}),
    ]
    assert {line.revision for line in desk.runs.entries(told["run"])} == {1}


@requirement("steps:life.fork", "steps:life.finalize")
def test_a_fork_of_a_completed_run_does_its_last_step_again_and_is_summed_up_whole(desk: Desk) -> None:
    old = gone_on(desk, 3)
    assert old["lifecycle"] == Lifecycle.COMPLETED
    told = desk.fork(old["run"])
    assert told["state"] == "publish"
    assert stored(desk, told["run"]).run.open == (Step(4, "publish", 2),)

    desk.clock.move(seconds=4)
    assert desk.go_on(told["run"], told["token"], summary="Better.")["lifecycle"] == Lifecycle.COMPLETED
    made: Any = desk.outcomes[-1].synthesis
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
def test_a_fork_of_a_fork_has_all_that_was_finished_before(desk: Desk) -> None:
    told = desk.fork(gone_on(desk, 1, "abandon")["run"])
    told = desk.go_on(told["run"], told["token"])
    desk.send(told["run"], Event("diverge", note="elsewhere"))
    last = desk.fork(told["run"], "draft")

    assert [(row.number, row.state) for row in desk.runs.steps(last["run"])] == [
        (1, "draft"),
        (3, "review"),
        (5, "draft"),
    ]
    assert stored(desk, last["run"]).origin.parent == told["run"]
    assert stored(desk, last["run"]).run.attempts == {"draft": 2, "review": 1, "publish": 1}


def test_a_fork_keeps_inputs_variables_and_attempts_and_not_how_the_old_run_ended(desk: Desk) -> None:
    old = gone_on(desk, 1, "abandon", LOOP, topic="tea")["run"]
    assert stored(desk, old).origin.metadata == {"team": "blue", "last_transition_reason": "enough"}
    new = stored(desk, desk.fork(old)["run"])

    assert (new.run.inputs, new.run.vars) == ({"topic": "tea"}, {"rounds": 1})
    assert (new.run.attempts, new.run.reason) == ({"draft": 1, "review": 1}, "")
    assert new.origin.metadata == {"team": "blue"}


def test_listeners_hear_of_a_fork(desk: Desk) -> None:
    old, heard = gone_on(desk, 1, "abandon")["run"], list[RunChange]()
    desk.feed.listen(heard.append)

    assert heard == [RunChange(desk.fork(old)["run"], 1)]


@requirement("steps:life.fork", "steps:token.retry")
@pytest.mark.parametrize("again", ["", "review"])
def test_a_fork_that_is_asked_for_again_is_the_same_run_with_a_fresh_token(place: Place, again: str) -> None:
    desk = Desk(place.open())
    old = gone_on(desk, 1, "abandon")["run"]
    first = desk.fork(old)
    other = Desk(place.open(), clock=desk.clock)
    other.ids.nonces = 1000
    second = other.fork(old, again)

    assert (second["run"], second["revision"], second["state"]) == (first["run"], 1, "review")
    assert second["token"] != first["token"]
    assert other.go_on(first["run"], first["token"])["code"] == RefusalCode.SUPERSEDED
    assert other.go_on(first["run"], second["token"])["status"] == "ok"
    noted = [line.entry.data for line in desk.runs.entries(first["run"]) if not line.revision]
    assert noted[0] == {"why": "recover", "by": "agent", "principal": "eve", "client": "test", "agent": "bot"}


@requirement("steps:life.fork")
def test_a_fork_that_has_moved_on_is_followed_by_another(desk: Desk) -> None:
    old = gone_on(desk, 1, "abandon")["run"]
    ids = []
    for event in (Event("continue", output()), Event("pause"), Event("abandon", note="x")):
        told = desk.fork(old)
        ids.append(told["run"])
        assert desk.send(told["run"], event)["status"] == "ok"

    assert ids == [derive_fork_id(KEY, old, "review", number) for number in range(3)]
    assert len(set(ids)) == 3
    assert desk.fork(old, "draft")["run"] == derive_fork_id(KEY, old, "draft", 0)


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
    desk = Desk(Raced())
    old = gone_on(desk, 1, "abandon")["run"]
    told = desk.fork(old)

    assert told["run"] == derive_fork_id(KEY, old, "review", 0)
    assert desk.go_on(told["run"], told["token"])["status"] == "ok"
    assert desk.runs.load(derive_fork_id(KEY, old, "review", 1)) is None


def test_a_store_that_always_says_moved_is_given_up() -> None:
    runs = AlwaysMoved()
    runs.moved = False
    desk = Desk(runs)
    old = gone_on(desk, 1, "abandon")["run"]
    runs.moved = True

    with pytest.raises(Busy, match="5 times"):
        desk.fork(old)


MENDED = PAPER.replace("version: 1", "version: 2").replace("publish", "print")


def mended(text: str = MENDED) -> NewRun:
    found = pinned(text)
    assert found.workflow
    return NewRun(found.workflow, replace(ORIGIN, goal="another", project="/elsewhere"), found.definition)


@requirement("steps:life.fork", "steps:def.pinned")
def test_a_person_takes_a_run_on_to_the_workflow_as_it_is_now(place: Place) -> None:
    desk = Desk(place.open())
    old = gone_on(desk, 1, "abandon")["run"]
    first = desk.fork(old, by=Actor.PERSON)
    told = desk.fork(old, by=Actor.PERSON, new=mended())
    assert told["run"] != first["run"], "one that began by another text is another one"
    assert desk.fork(old, by=Actor.PERSON, new=mended())["run"] == told["run"]
    told = desk.fork(old, by=Actor.PERSON, new=mended())

    later = Desk(place.open())
    later.ids.nonces = 1000
    assert later.go_on(told["run"], told["token"])["state"] == "print"
    new = stored(later, told["run"])
    assert (new.run.digest, new.origin.goal) == (mended().workflow.digest, "a paper")
    assert new.origin.project == "/home/ann/paper"


def test_a_run_cannot_go_on_in_a_state_that_the_workflow_lost(desk: Desk) -> None:
    old = gone_on(desk, 2, "abandon")["run"]

    assert desk.fork(old, by=Actor.PERSON, new=mended())["code"] == RefusalCode.UNKNOWN_STEP
    assert desk.fork(old, "review", by=Actor.PERSON, new=mended())["status"] == "ok"


def test_a_run_whose_text_is_gone_is_taken_on_to_the_workflow_as_it_is_now() -> None:
    class Lost(MemoryRuns):
        """Has lost the first text."""

        lost = ""

        def definition(self, digest: str) -> Any:  # noqa: ANN401 - as the real one
            return None if digest == self.lost else super().definition(digest)

    runs = Lost()
    desk = Desk(runs)
    old = gone_on(desk, 1, "abandon")["run"]
    runs.lost = stored(desk, old).run.digest

    assert desk.fork(old, by=Actor.PERSON, new=mended())["state"] == "review"


@requirement("steps:life.fork")
def test_a_fork_that_only_a_person_could_make_is_entered_as_override(desk: Desk) -> None:
    old = gone_on(desk, 1, "abandon")["run"]
    told = desk.fork(old, "publish", by=Actor.PERSON)

    assert told["state"] == "publish"
    by = {"by": "person", "principal": "eve", "client": "test", "agent": "bot"}
    assert [kind for kind, *_ in entries(desk, told["run"])] == [
        EntryKind.WORKFLOW_CREATED,
        EntryKind.STEP_OVERRIDDEN,
        EntryKind.STEP_STARTED,
        EntryKind.TOKEN_GENERATED,
        EntryKind.WORKFLOW_STATE_TRANSITION,
    ]
    overridden = entries(desk, told["run"])[1]
    assert overridden[1:] == ("publish", {"overrides": RefusalCode.LATER_STEP, "stood": "review", **by})


def test_a_fork_that_an_agent_could_make_is_not_an_override(desk: Desk) -> None:
    old = gone_on(desk, 1, "abandon")["run"]

    for state in ("draft", "review"):
        told = desk.fork(old, state, by=Actor.PERSON)
        assert EntryKind.STEP_OVERRIDDEN not in [kind for kind, *_ in entries(desk, told["run"])]


@pytest.mark.parametrize("run", ["", "nobody", "\ud800"])
def test_a_run_that_is_not_there_is_not_forked(desk: Desk, run: str) -> None:
    assert desk.fork(run)["code"] == RefusalCode.UNKNOWN_RUN
    assert desk.outcomes[-1].workflow is None


def test_a_run_in_trouble_is_not_forked() -> None:
    desk = Desk(Troubled())
    old = desk.start()["run"]

    assert desk.fork(old)["code"] == TroubleCode.DAMAGED


def test_a_run_that_lives_in_files_is_not_forked() -> None:
    desk = Desk(MemoryRuns(), more={"lifetime": None})
    text = "workflow: w\nversion: 1\nauthority: files\nstates: {a: {}, z: {terminal: true}}\n"
    rows = "transitions: [{id: A, from: a, trigger: go, to: z}, {id: B, from: a, trigger: stay}]\n"
    of = pinned(text + rows)
    told = desk.begin(of, replace(ORIGIN, authority=of.workflow.authority), Event("go"))  # type: ignore[union-attr] # it has no problem

    assert told["lifecycle"] == Lifecycle.COMPLETED
    assert desk.fork(told["run"], "a", by=Actor.PERSON)["code"] == RefusalCode.KEPT_ELSEWHERE
    assert desk.runs.steps(told["run"]) == ()


@requirement("steps:tel.errors")
def test_a_refusal_is_entered_with_the_old_run(desk: Desk) -> None:
    old = gone_on(desk, 1, "abandon")["run"]
    assert desk.fork(old, "nowhere")["code"] == RefusalCode.UNKNOWN_STEP
    decision = desk.outcomes[-1].decision
    assert isinstance(decision, Refused)

    line = desk.runs.entries(old)[-1]
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
