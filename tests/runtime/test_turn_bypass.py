"""No way round: what an agent may try to skip a step, to start over or to go on without an output is refused.

Each time the whole store is compared: only the refusal is entered.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.facts import Value
from handrail.engine.model import Actor, Event, Lifecycle, Refused
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.turn import Call, NewRun
from handrail.stores.sql.runs import SqliteRuns
from helpers.requirement import requirement
from helpers.sql_rows import list_changed_tables, read_all_rows
from helpers.turns import ORIGIN, PAPER, TurnHarness, load_pinned, open_sqlite
from helpers.workflows import build_output

CAPPED = """
workflow: capped
version: 1
authority: sql
states:
  draft: {agent: writer, task: Write it., attempts: 2}
  review: {agent: reader, task: Read it., contract: {artifacts: [report], min_confidence: 0.5}}
  publish: {agent: writer, task: Send it.}
  over: {terminal: true}
transitions:
  - {id: A, from: draft, trigger: continue, to: review}
  - {id: B, from: review, trigger: continue, accept: "size(output.blockers) > 0", to: draft}
  - {id: C, from: review, trigger: continue, accept: "size(output.blockers) == 0", to: publish}
  - {id: D, from: publish, trigger: continue, to: over}
"""
REPORT: Value = {"type": "report", "title": "Read", "content": "Bad."}


class Agent(TurnHarness):
    """An agent at a store: what is refused must not have moved anything."""

    def no(self, call: Callable[..., dict[str, Any]], *given: object, **more: object) -> str:
        assert isinstance(self.runs, SqliteRuns)
        before = read_all_rows(self.runs)
        answer = call(*given, **more)
        assert answer["status"] == "error", answer
        assert isinstance(self.outcomes[-1].decision, Refused)
        after = read_all_rows(self.runs)
        assert list_changed_tables(before, after) == ["events"]
        (added,) = after["events"][len(before["events"]) :]
        assert (added[1], added[3]) == (EntryKind.ERROR_OCCURRED, 0)
        return str(answer["code"])

    @property
    def attempt(self) -> int:
        """The attempt that the last reply is about."""
        stored = self.outcomes[-1].stored
        assert stored
        return stored.run.open[0].attempt

    def end(self, run: str, how: str = "abandon") -> None:
        assert self.send(run, Event(how, note="enough"))["status"] == "ok"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    runs = open_sqlite(tmp_path)
    yield Agent(runs)
    runs.database.close()


def drafted(agent: Agent) -> str:
    """A run that has its draft, and stands in review."""
    answer = agent.start(load_pinned(CAPPED))
    assert agent.continue_run(answer["run"], answer["token"])["state"] == "review"
    return str(answer["run"])


@requirement("steps:life.fork")
@pytest.mark.parametrize("how", ["abandon", "diverge", "fail"])
@pytest.mark.parametrize("state", ["review", "publish"])
def test_a_step_is_not_skipped_by_ending_the_run_and_forking_it_further_on(
    agent: Agent, how: str, state: str
) -> None:
    run = agent.start()["run"]
    agent.end(run, how)

    assert agent.no(agent.fork, run, state) == RefusalCode.LATER_STEP
    assert agent.no(agent.fork, run, state, by=Actor.SERVER) == RefusalCode.LATER_STEP


@requirement("steps:life.fork")
def test_a_fork_does_not_come_further_than_the_run_did_however_long_the_chain(agent: Agent) -> None:
    run = agent.start()["run"]
    for _ in range(4):
        agent.end(run)
        assert agent.no(agent.fork, run, "review") == RefusalCode.LATER_STEP
        run = agent.fork(run)["run"]


@requirement("steps:life.fork")
@pytest.mark.parametrize("state", ["@end", "over", "nowhere", "", "draft\0"])
def test_a_run_is_not_forked_into_its_end_or_out_of_its_workflow(agent: Agent, state: str) -> None:
    run = drafted(agent)
    agent.end(run)
    if state:
        assert agent.no(agent.fork, run, state) == "unknown_step"
        assert agent.no(agent.fork, run, state, by=Actor.PERSON) == "unknown_step"
    else:
        assert agent.fork(run, state)["state"] == "review"


@requirement("steps:life.fork")
def test_a_fork_gives_no_attempt_back(agent: Agent) -> None:
    run = drafted(agent)
    again = agent.send(run, Event("continue", build_output(artifacts=[REPORT], blockers=["bad"])))
    assert again["state"] == "draft"
    agent.continue_run(run, again["token"])
    agent.end(run)

    assert agent.no(agent.fork, run, "draft") == RefusalCode.ATTEMPTS_SPENT
    answer = agent.fork(run)
    assert answer["state"] == "review"
    blocked = Event("continue", build_output(artifacts=[REPORT], blockers=["bad"]))
    assert agent.send(answer["run"], blocked)["lifecycle"] == Lifecycle.FAILED, (
        "the cap holds in the fork too"
    )
    assert agent.no(agent.fork, answer["run"], "draft") == RefusalCode.ATTEMPTS_SPENT


@requirement("steps:life.fork")
def test_forking_the_same_run_again_gives_no_attempt_back(agent: Agent) -> None:
    run = drafted(agent)
    agent.end(run)
    second = agent.fork(run, "draft")["run"]
    agent.end(second)

    assert agent.no(agent.fork, run, "draft") == RefusalCode.ATTEMPTS_SPENT
    assert agent.fork(second)["state"] == "draft", "it was left open: the same attempt goes on"


@requirement("steps:life.fork")
def test_a_step_that_was_left_open_is_a_further_attempt_once_a_fork_has_finished_it(agent: Agent) -> None:
    run = str(agent.start(load_pinned(CAPPED))["run"])
    agent.end(run)
    seen = []
    for _ in range(2):
        answer = agent.fork(run)
        seen.append(agent.attempt)
        assert agent.continue_run(answer["run"], answer["token"])["state"] == "review"
        agent.end(answer["run"])

    assert seen == [1, 2]
    assert agent.no(agent.fork, run) == RefusalCode.ATTEMPTS_SPENT
    person = agent.fork(run, by=Actor.PERSON)
    assert (person["state"], agent.attempt) == ("draft", 3)


@requirement("steps:life.fork")
def test_a_step_that_forks_leave_open_again_and_again_stays_the_same_attempt_until_one_finishes_it(
    agent: Agent,
) -> None:
    run = first = str(agent.start(load_pinned(CAPPED))["run"])
    for _ in range(5):
        agent.end(run)
        answer = agent.fork(run)
        assert (answer["state"], agent.attempt) == ("draft", 1)
        run = answer["run"]
    agent.continue_run(run, answer["token"])
    agent.end(run)

    answer = agent.fork(first)
    assert (answer["state"], agent.attempt) == ("draft", 2)
    agent.end(answer["run"])
    answer = agent.fork(answer["run"])
    assert (answer["state"], agent.attempt) == ("draft", 2)
    agent.continue_run(answer["run"], answer["token"])
    agent.end(answer["run"])
    for spent in (first, run, answer["run"]):
        assert agent.no(agent.fork, spent, "draft") == RefusalCode.ATTEMPTS_SPENT


@requirement("steps:life.fork")
def test_no_way_through_other_forks_gives_an_attempt_back(agent: Agent) -> None:
    run = drafted(agent)
    agent.end(run)
    first = agent.fork(run)["run"]
    agent.end(first)
    below = agent.fork(first, "draft")["run"]
    agent.end(below)

    assert agent.no(agent.fork, first, "draft") == RefusalCode.ATTEMPTS_SPENT
    assert agent.no(agent.fork, run, "draft") == RefusalCode.ATTEMPTS_SPENT
    other = agent.fork(run)["run"]
    assert other not in {first, below}
    agent.end(other)
    assert agent.no(agent.fork, other, "draft") == RefusalCode.ATTEMPTS_SPENT
    answer = agent.fork(other, "draft", by=Actor.PERSON)
    assert answer["state"] == "draft", "a person may"
    assert agent.attempt == 3


@requirement("steps:life.fork")
@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("by", [Actor.AGENT, Actor.PERSON])
def test_a_run_that_has_not_ended_is_not_forked(agent: Agent, by: Actor, *, paused: bool) -> None:
    run = drafted(agent)
    if paused:
        agent.send(run, Event("pause"))

    for state in ("", "draft", "review", "publish"):
        assert agent.no(agent.fork, run, state, by=by) == RefusalCode.NOT_ENDED


@requirement("steps:life.override")
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"summary": "Done by hand."},
        build_output(),
        build_output(artifacts=[REPORT], confidence=0.2),
        build_output(artifacts=[REPORT], extra=True),
    ],
)
def test_a_step_is_not_completed_by_hand_without_what_its_contract_asks_for(
    agent: Agent, given: dict[str, Value]
) -> None:
    run = drafted(agent)

    for by in (Actor.AGENT, Actor.PERSON):
        call = Call(run, Event("continue", given, by), external=True)
        assert agent.no(agent.call, call) == "contract"
    good = Call(run, Event("continue", build_output(artifacts=[REPORT], blockers=[])), external=True)
    assert agent.call(good)["state"] == "publish"


@requirement("steps:life.fork", "steps:def.pinned")
def test_an_agent_does_not_put_another_workflow_in_the_place_of_the_one_the_run_began_with(
    agent: Agent,
) -> None:
    run = agent.start()["run"]
    agent.end(run)
    short = load_pinned(
        PAPER.replace("task: Write it.", "task: Nothing.").replace("version: 1", "version: 2")
    )
    assert short.workflow
    new = NewRun(short.workflow, ORIGIN, short.definition)

    assert agent.no(agent.fork, run, new=new) == RefusalCode.NOT_YOURS
    assert agent.fork(run, by=Actor.PERSON, new=new)["state"] == "draft"


def test_an_agent_that_asks_again_does_not_get_the_fork_that_only_a_person_could_have(agent: Agent) -> None:
    run = agent.start()["run"]
    agent.end(run)
    person = agent.fork(run, "publish", by=Actor.PERSON)

    assert agent.no(agent.fork, run, "publish") == RefusalCode.LATER_STEP
    assert agent.fork(run, "publish", by=Actor.PERSON)["run"] == person["run"]
