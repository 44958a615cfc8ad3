"""The run that a description is: what the common store remembers of it, and what becomes of it without."""

from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue

import pytest

from handrail.documents.state_file import HistoryItem
from handrail.engine.model import Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.errors import DiskFull, Fault, SyncFailed
from handrail.runtime.ports.queries import RunFilter
from handrail.runtime.records import RecordedCall, StepStatus, Turn
from handrail.stores.vcs.commit_runs import VcsCommitRuns
from helpers.memory_store import MemoryRuns
from helpers.planner_agents import FLOW, GOAL, TO_DETAIL, TO_GOAL, TO_PLAN, PlanAgent, open_plan_agent
from helpers.repositories import Repo, create_repository
from helpers.servers import BOUND

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TEXT = "feat(tea): brew tea\n"


class Failing(MemoryRuns):
    """A common store that fails."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self._fault = fault

    def commit(self, turn: Turn) -> bool:  # noqa: ARG002 - whatever it is
        raise self._fault


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository("git", tmp_path / "project", tmp_path / "home")


def described(repo: Repo, common: MemoryRuns | None = None) -> VcsCommitRuns:
    return VcsCommitRuns(repo.store(), common or MemoryRuns(), repo.folder, FLOW)


def turn(runs: VcsCommitRuns, text: str | None) -> Turn:
    stored = runs.load("")
    assert stored is not None
    way = (HistoryItem("stage-0", "stage-1", "set_overarching_goal"),)
    return Turn(stored, stored.run, NOW, RecordedCall("t", "r", b"{}"), passages=way, describes=text)


def test_a_full_disk_of_the_common_store_does_not_undo_what_the_text_says(repo: Repo) -> None:
    runs = described(repo, Failing(DiskFull("full", "make room")))

    assert runs.commit(turn(runs, TEXT))
    assert repo.store().read().text == TEXT


def test_a_disk_of_the_common_store_that_confirms_nothing_ends_the_program(repo: Repo) -> None:
    runs = described(repo, Failing(SyncFailed("not confirmed", "start again")))

    with pytest.raises(SyncFailed):
        runs.commit(turn(runs, TEXT))


def test_a_turn_that_leaves_the_text_is_remembered_all_the_same(repo: Repo) -> None:
    runs = described(repo)
    assert runs.commit(turn(runs, TEXT))
    before = runs.load("")
    assert before is not None

    assert runs.commit(turn(runs, None))

    spent = runs.find_recorded_call("", before.revision)
    assert spent == RecordedCall("t", "r", b"{}")
    after = runs.load("")
    assert after is not None
    assert after.revision != before.revision
    assert (runs.text, runs.find_recorded_call("", 7)) == (TEXT, None)


def test_what_the_common_store_has_of_a_run_is_asked_by_any_name(repo: Repo) -> None:
    runs = described(repo)
    first = turn(runs, TEXT)
    runs.commit(first)
    stored = runs.load("")
    assert stored is not None
    entry = Entry(EntryKind.ERROR_OCCURRED, "stage-1")

    assert runs.renew_tokens(stored, {}, NOW, (entry,))
    assert not runs.renew_tokens(first.before, {}, NOW, ())
    runs.touch("", NOW)

    assert [line.entry for line in runs.entries("")] == [entry]
    assert [(step.state, step.status) for step in runs.steps("")] == [("stage-1", StepStatus.RUNNING)]
    assert runs.definition("anything") is None
    assert (runs.names(""), runs.names("sub"), runs.read("other")) == (("description",), (), None)


def test_the_common_store_shows_each_stage_once_and_the_end(agent: PlanAgent) -> None:
    agent.does(TO_GOAL, TO_DETAIL, TO_DETAIL, TO_PLAN)
    (row,) = agent.app.runs.runs(RunFilter())
    assert (row.lifecycle, row.state, row.goal) == (Lifecycle.RUNNING, "stage-5", "feat(tea): brew tea")
    agent.does(("set_plan", {"plan": [[True, "Heat water", []]]}), ("finish_job", {}))

    (row,) = agent.app.runs.runs(RunFilter())
    assert row.lifecycle is Lifecycle.COMPLETED
    steps = agent.app.world.runs.steps(row.id)
    assert [step.state for step in steps] == ["stage-1", "stage-2", "stage-5"]


def test_a_store_that_knows_nothing_of_a_plan_goes_on_from_its_text(tmp_path: Path, repo: Repo) -> None:
    with open_plan_agent(tmp_path / "one", repo) as agent:
        agent.does(TO_GOAL, TO_DETAIL)
        (known,) = agent.app.runs.runs(RunFilter())
    with open_plan_agent(tmp_path / "two", repo) as other:
        assert other.calls("gather_requirements").reply["stage"] == "2/3"
        assert other.does(TO_PLAN).reply["stage"] == "5"
        (row,) = other.app.runs.runs(RunFilter())

    assert row.id == known.id


def test_a_listener_gets_the_id_that_is_shown(agent: PlanAgent) -> None:
    heard: SimpleQueue[str] = SimpleQueue()
    ends = agent.app.world.feed.listen(lambda change: heard.put(change.run))
    try:
        agent.does(TO_GOAL)
        found = heard.get(timeout=BOUND)
    finally:
        ends()

    (row,) = agent.app.runs.runs(RunFilter())
    assert row.id == found


def test_a_turn_that_was_cut_off_behind_the_text_is_seen_by_the_call_that_is_sent_again(
    tmp_path: Path, repo: Repo
) -> None:
    with open_plan_agent(tmp_path, repo) as agent:
        token = agent.calls("gather_requirements").reply["step_token"]
        agent.writes(TEXT)

        again = agent.calls("set_overarching_goal", goal=GOAL, step_token=token)

        assert (again.reply["code"], again.reply["stage"]) == (RefusalCode.SUPERSEDED, "1")
        assert again.reply["plan"]["text"] == TEXT
