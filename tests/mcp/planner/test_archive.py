"""The finished plan: archived, offered as the message of the commit, and seen among the runs."""

from pathlib import Path

import pytest

from handrail.engine.model import Lifecycle
from handrail.runtime.entries import EntryKind
from handrail.runtime.errors import VcsLocked
from handrail.runtime.ports.turn import Description
from handrail.runtime.system import RandomIds
from handrail.stores.vcs.git import GitDescriptions
from helpers.planner_agents import (
    TO_DETAIL,
    TO_GOAL,
    PlanAgent,
    RepositoryPlace,
    create_repository_place,
    open_plan_agent,
)
from helpers.program import CommandResult, run_command
from helpers.repositories import Repo, create_repository

DONE = ("set_plan", {"plan": [[True, "Heat water", []]]})
END: tuple[str, dict[str, object]] = ("finish_job", {})
COMPLETE = (
    "feat(tea): brew tea\n\nPeople are thirsty.\n\nTARGETS OF CHANGE:\n1. The kettle\n\n"
    "- [x]: Heat water\n\n~~~ COMPLETE ~~~\n"
)


def archived(repo: Repo) -> list[str]:
    refs = repo.git("for-each-ref", "--format=%(refname)", "refs/handrail/done").split()
    return [repo.git("cat-file", "blob", f"{ref}:plan") for ref in refs]


def test_a_plan_is_archived_when_it_is_finished_and_not_before(agent: PlanAgent) -> None:
    agent.does(TO_GOAL, TO_DETAIL, DONE)
    assert archived(agent.repo) == []
    agent.does(END)

    assert archived(agent.repo) == [COMPLETE]
    assert agent.text() == COMPLETE
    change = agent.store.read().change
    assert agent.repo.git("rev-list", "--count", f"refs/handrail/done/{change}") == "4\n"


def test_a_plan_that_is_opened_again_is_archived_again_at_its_next_end(agent: PlanAgent) -> None:
    again = ("mark_task", {"task_id": "heat", "completed": False})
    agent.does(TO_GOAL, TO_DETAIL, DONE, END, again, ("mark_task", {"task_id": "heat"}), END)

    assert archived(agent.repo) == [COMPLETE]
    assert len(agent.repo.git("for-each-ref", "refs/handrail/done").splitlines()) == 1


def test_a_finished_plan_is_offered_as_the_message_of_the_commit(agent: PlanAgent) -> None:
    answer = agent.does(TO_GOAL, TO_DETAIL, DONE, END)

    assert answer.reply["plan"]["text"] == COMPLETE
    assert "`handrail plan message | git commit -F -` commits with it" in answer.reply["message"]


def test_the_journal_says_that_a_plan_is_complete_and_that_it_is_opened_again(agent: PlanAgent) -> None:
    agent.does(TO_GOAL, TO_DETAIL, DONE, END, END)
    whole = [("idle", "running"), ("running", "completed")]
    assert agent.lifecycles() == whole
    agent.does(("mark_task", {"task_id": "heat", "completed": False}))
    assert agent.lifecycles() == [*whole, ("completed", "running")]
    agent.does(("mark_task", {"task_id": "heat"}), END)

    assert agent.lifecycles() == [*whole, ("completed", "running"), ("running", "completed")]


def test_a_plan_without_details_that_is_finished_is_complete_and_keeps_its_goal(agent: PlanAgent) -> None:
    answer = agent.does(TO_GOAL, DONE, END)
    assert (answer.reply["stage"], archived(agent.repo)) == ("6", [agent.text()])
    assert agent.lifecycles()[-1] == ("running", "completed")
    other = {"goal": {"type": "fix", "scope": "tea", "title": "brew coffee"}}
    refused = agent.calls("set_overarching_goal", **other)
    assert (refused.failed, agent.text()) == (True, archived(agent.repo)[0])
    assert "Call again with `new_plan: true`" in refused.reply["error"]

    assert agent.does(("set_overarching_goal", {**other, "new_plan": True})).reply["stage"] == "1"
    assert agent.text() == "fix(tea): brew coffee\n"


class Unarchived(GitDescriptions):
    """A real store that cannot archive at first: a ref that is locked just then."""

    tried = 0

    def archive(self, seen: Description) -> None:
        self.tried += 1
        if self.tried == 1:
            raise VcsLocked("locked", "wait")
        super().archive(seen)


def test_a_plan_whose_archive_fails_is_finished_all_the_same_and_archived_by_the_next_call(
    tmp_path: Path,
) -> None:
    repo = create_repository("git", tmp_path / "project", tmp_path / "home")
    with open_plan_agent(tmp_path, repo, Unarchived(repo.runner(), repo.folder, RandomIds())) as agent:
        assert agent.does(TO_GOAL, TO_DETAIL, DONE, END).reply["stage"] == "6"
        assert archived(repo) == []
        agent.does(END)

    assert archived(repo) == [COMPLETE]


def runs(at: RepositoryPlace, *words: str) -> CommandResult:
    return run_command("runs", *words, "--store", at.at.store, "--json", cwd=at.at.project)


def test_a_plan_is_a_run_among_the_others_and_stays_one_when_the_store_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = create_repository_place(tmp_path, "git")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, at.at.env[name])
    with at.server() as pipe:
        for tool, given in (TO_GOAL, TO_DETAIL, DONE):
            pipe.call(dict(given), tool)
        pipe.call({"task_id": "cake"}, "mark_task")
        pipe.call({}, "finish_job")
    (row,) = runs(at, "list", "--face", "planner").data["runs"]
    assert (row["workflow"], row["lifecycle"], row["goal"]) == (
        "planner",
        Lifecycle.COMPLETED,
        "feat(tea): brew tea",
    )
    assert row["project"] == str(at.at.project)
    whole = runs(at, "show", row["id"]).data
    assert [step["state"] for step in whole["steps"]] == ["stage-1", "stage-2", "stage-5"]
    events = runs(at, "events", row["id"]).data["events"]
    assert [one["kind"] for one in events] == [
        EntryKind.WORKFLOW_CREATED,
        EntryKind.STEP_STAYED,
        EntryKind.WORKFLOW_STATE_TRANSITION,
        EntryKind.STEP_STAYED,
        EntryKind.STEP_STAYED,
        EntryKind.ERROR_OCCURRED,
        EntryKind.STEP_STAYED,
        EntryKind.WORKFLOW_STATE_TRANSITION,
    ]
    assert events[5]["data"]["trigger"] == "mark_task"
    end = events[7]["data"]
    assert (end["from"], end["to"], end["by"], end["duration_ms"] >= 0) == (
        "running",
        "completed",
        "agent",
        True,
    )

    rebuilt = run_command("store", "rebuild", "--store", at.at.store, "--json", cwd=at.at.project)
    assert (rebuilt.status, rebuilt.data["runs"]) == (0, [])
    assert runs(at, "list").data["runs"] == [row]
    assert runs(at, "events", row["id"]).data["events"] == events
