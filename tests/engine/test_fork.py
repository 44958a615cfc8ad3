"""A run forked from one that has ended: never further than it came, never with attempts given back."""

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from handrail.engine.fork import build_fork, list_step_states
from handrail.engine.model import (
    Actor,
    Authority,
    Event,
    FactReading,
    Lifecycle,
    Option,
    Refused,
    Run,
    Step,
    Workflow,
)
from handrail.engine.refusals import RefusalCode
from helpers.requirement import requirement
from helpers.workflows import build_output, load_valid_workflow, move_run, start_run

FLOW = load_valid_workflow("""
workflow: paper
version: 1
authority: sql
inputs:
  topic: {type: string}
  size: {type: int, default: 3}
vars: {seen: "bool?", last: "state?"}
states:
  draft: {agent: writer, task: Write it.}
  review: {agent: reader, task: Read it., attempts: 2}
  publish: {agent: writer, task: Send it., attempts: 1}
  way: {router: true}
  over: {terminal: true}
transitions:
  - {id: A, from: draft, trigger: continue, to: review, set: {last: "@state"}}
  - {id: B, from: review, trigger: continue, to: way, set: {seen: true}}
  - {id: C, from: way, to: publish}
  - {id: D, from: publish, trigger: continue, to: over}
  - {id: E, from: publish, trigger: back, to: review}
""")
HAD: dict[str, Any] = {"topic": "tea", "size": 5}


def ended(steps: int = 1, lifecycle: Lifecycle = Lifecycle.ABANDONED) -> Run:
    """A run that went on for so many steps and then ended."""
    run = start_run(FLOW, **HAD)
    for _ in range(steps):
        run = move_run(FLOW, run, Event("continue", build_output()))
    return replace(run, lifecycle=lifecycle, open=(), reason="enough")


def fork(  # noqa: PLR0913 - by name, as the function it asks
    run: Run,
    state: str = "",
    *,
    by: Actor = Actor.AGENT,
    of: Workflow = FLOW,
    stood: str = "review",
    finished: frozenset[str] = frozenset({"draft"}),
) -> Run | Refused:
    """The fork of a run that stood in `review` and had finished `draft`, unless told otherwise."""
    return build_fork(of, run, "new", state, last_state=stood, finished=finished, by=by)


def made(found: Run | Refused) -> Run:
    assert isinstance(found, Run), found
    return found


def no(found: Run | Refused) -> Refused:
    assert isinstance(found, Refused)
    assert found.rule
    return found


@requirement("steps:life.fork")
@pytest.mark.parametrize("state", ["", "review"])
@pytest.mark.parametrize("lifecycle", [Lifecycle.ABANDONED, Lifecycle.FAILED, Lifecycle.DIVERGED])
def test_a_fork_begins_where_the_old_run_stood_and_keeps_all_it_had(state: str, lifecycle: Lifecycle) -> None:
    assert fork(ended(1, lifecycle), state) == Run(
        id="new",
        workflow="paper",
        digest=FLOW.digest,
        lifecycle=Lifecycle.RUNNING,
        open=(Step(3, "review", 1),),
        steps=3,
        attempts={"draft": 1, "review": 1},
        vars={"seen": None, "last": "draft"},
        inputs={"topic": "tea", "size": 5},
    )


@requirement("steps:life.fork")
def test_a_fork_of_a_completed_run_begins_at_its_last_step_as_a_further_attempt() -> None:
    run = replace(ended(3, Lifecycle.COMPLETED), attempts={"draft": 1, "review": 1})
    found = made(fork(run, stood="review", finished=frozenset({"draft", "review"})))

    assert (found.open, found.attempts) == ((Step(4, "review", 2),), {"draft": 1, "review": 2})


@requirement("steps:life.fork")
def test_going_back_to_a_finished_step_is_a_further_attempt() -> None:
    found = made(fork(ended(), "draft"))

    assert (found.open, found.steps) == ((Step(3, "draft", 2),), 3)
    assert found.attempts == {"draft": 2, "review": 1}


def test_a_step_that_stood_open_after_it_had_been_finished_once_is_no_further_attempt() -> None:
    run = replace(ended(), attempts={"draft": 1, "review": 2})
    found = made(fork(run, "review", finished=frozenset({"draft", "review"})))

    assert found.open == (Step(3, "review", 2),)


@requirement("steps:life.fork")
@pytest.mark.parametrize("lifecycle", [Lifecycle.IDLE, Lifecycle.RUNNING, Lifecycle.PAUSED])
@pytest.mark.parametrize("by", [Actor.AGENT, Actor.PERSON])
def test_only_a_run_that_has_ended_is_forked(lifecycle: Lifecycle, by: Actor) -> None:
    refused = no(fork(replace(ended(), lifecycle=lifecycle), by=by))

    assert (refused.code, refused.seen) == (
        RefusalCode.NOT_ENDED,
        (FactReading("run.lifecycle", str(lifecycle)),),
    )
    assert (
        refused.next
        == {
            "idle": (Option("start", Actor.AGENT),),
            "running": (Option("continue", Actor.AGENT), Option("abandon", Actor.PERSON)),
            "paused": (Option("resume", Actor.PERSON), Option("abandon", Actor.PERSON)),
        }[lifecycle]
    )


@pytest.mark.parametrize("state", ["nowhere", "way", "over", "\ud800"])
def test_a_fork_begins_in_a_state_that_can_have_a_step(state: str) -> None:
    assert list_step_states(FLOW) == ("draft", "review", "publish")
    agents, persons = no(fork(ended(), state)), no(fork(ended(), state, by=Actor.PERSON))

    assert (agents.code, agents.needed) == (RefusalCode.UNKNOWN_STEP, ("step_name = draft or review",))
    assert (persons.code, persons.needed) == (
        RefusalCode.UNKNOWN_STEP,
        ("step_name = draft or review or publish",),
    )
    assert (agents.next, persons.next) == ((Option("fork", Actor.AGENT),), (Option("fork", Actor.PERSON),))
    shown = state if state != "\ud800" else "<str that cannot be written down>"
    assert agents.seen == (FactReading("step_name", shown),)


@requirement("steps:life.fork")
@pytest.mark.parametrize("by", [Actor.AGENT, Actor.SERVER])
def test_an_agent_does_not_fork_further_on_than_the_run_came_a_person_does(by: Actor) -> None:
    refused = no(fork(ended(), "publish", by=by))
    assert (refused.code, refused.needed) == (RefusalCode.LATER_STEP, ("step_name = draft or review",))
    assert refused.next == (Option("fork", Actor.PERSON),)

    found = made(fork(ended(), "publish", by=Actor.PERSON))
    assert (found.open, found.attempts["publish"]) == ((Step(3, "publish", 1),), 1)


@requirement("steps:life.fork")
def test_an_agent_does_not_fork_into_a_step_whose_attempts_are_used_up_a_person_does() -> None:
    run = replace(ended(), attempts={"draft": 1, "review": 2, "publish": 1})
    been = frozenset({"draft", "review"})
    refused = no(fork(run, "review", stood="publish", finished=been))
    assert (refused.code, refused.rule) == (RefusalCode.ATTEMPTS_SPENT, "review")
    assert (refused.seen, refused.needed) == ((FactReading("run.attempts", 2),), ("run.attempts < 2",))
    assert refused.next == (Option("fork", Actor.PERSON),)

    person = made(fork(run, "review", stood="publish", finished=been, by=Actor.PERSON))
    assert person.open == (Step(3, "review", 3),)
    stood = made(fork(run, stood="publish", finished=been))
    assert stood.open == (Step(3, "publish", 1),), "it was left open: that is no further attempt"


@pytest.mark.parametrize(
    ("state", "code"), [("", RefusalCode.UNKNOWN_STEP), ("draft", RefusalCode.LATER_STEP)]
)
def test_a_run_that_never_had_a_step_is_forked_by_no_agent(state: str, code: str) -> None:
    refused = no(fork(ended(), state, stood="", finished=frozenset()))

    assert (refused.code, refused.needed) == (code, ("a run that has had a step of `paper`",))
    assert made(fork(ended(), "draft", stood="", finished=frozenset(), by=Actor.PERSON)).open


@requirement("steps:life.fork")
def test_a_fork_to_a_mended_workflow_takes_what_that_one_declares() -> None:
    mended = load_valid_workflow("""
workflow: paper
version: 2
authority: sql
inputs: {topic: "int?", pages: {type: int, default: 9}, size: int}
vars: {last: "state?", fresh: {type: bool, default: true}}
states:
  review: {agent: reader, task: Read it.}
  print: {agent: printer, task: Print it.}
  over: {terminal: true}
transitions:
  - {id: A, from: review, trigger: continue, to: print}
  - {id: B, from: print, trigger: continue, to: over}
""")
    found = made(fork(ended(), of=mended))

    assert (found.workflow, found.digest) == ("paper", mended.digest)
    assert (found.open, found.attempts) == ((Step(3, "review", 1),), {"review": 1})
    assert found.inputs == {"topic": None, "pages": 9, "size": 5}
    assert found.vars == {"last": None, "fresh": True}, "a state that is gone cannot be held"
    assert no(fork(ended(), "draft", of=mended)).code == RefusalCode.UNKNOWN_STEP
    assert no(fork(ended(), "print", of=mended)).code == RefusalCode.LATER_STEP


def test_a_run_that_lives_elsewhere_is_not_forked() -> None:
    elsewhere = dataclasses.replace(FLOW, authority=Authority.FILES)
    assert no(fork(ended(), of=elsewhere, by=Actor.PERSON)).code == RefusalCode.KEPT_ELSEWHERE


def test_the_old_run_is_as_it_was() -> None:
    run = ended()
    before = replace(run)
    fork(run)

    assert run == before
