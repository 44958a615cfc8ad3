"""A finished message: archived, offered to git, and told by the journal."""

from pathlib import Path

import pytest

from helpers.commit_plans import (
    COMPLETE,
    TO_ADD,
    TO_BIND,
    TO_DESCRIBE,
    TO_FILL,
    TO_FINISH,
    TO_PLAN,
    TO_READ,
    TO_START,
)
from helpers.planner_agents import open_plan_agent
from helpers.repositories import create_repository

OFFER = "in git `handrail plan message | git commit -F -` commits with it"


@pytest.mark.parametrize("kind", ["git", "jj"])
def test_a_finished_message_is_archived_where_git_keeps_it_and_offered_as_that_of_the_commit(
    tmp_path: Path, kind: str
) -> None:
    repo = create_repository(kind, tmp_path / "project", tmp_path / "home")
    with open_plan_agent(tmp_path, repo, face="commits") as agent:
        agent.does(TO_START, TO_DESCRIBE, TO_BIND, TO_PLAN, TO_FILL, TO_ADD)
        answer = agent.does(TO_FINISH)
        assert OFFER in answer.reply["action_taken"]
        assert OFFER in agent.does(TO_READ).reply["action_taken"]
        assert agent.text() == COMPLETE
        assert agent.lifecycles() == [("idle", "running"), ("running", "completed")]
        if kind == "git":
            change = agent.store.read().change
            assert repo.git("cat-file", "blob", f"refs/handrail/done/{change}:plan") == COMPLETE

        agent.does(("unfinish_job", {}))
        assert agent.lifecycles()[2:] == [("completed", "running")]
