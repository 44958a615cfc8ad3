"""Calls that are sent twice, too late, or together with others: nothing is lost and nothing done twice."""

from pathlib import Path

import pytest

from handrail.engine.refusals import RefusalCode
from handrail.runtime.ports.turn import Description
from handrail.runtime.system import RandomIds
from handrail.stores.vcs.git import GitDescriptions
from helpers.planner_agents import DETAIL, GOAL, TO_DETAIL, TO_GOAL, PlanAgent, open_plan_agent
from helpers.repositories import create_repository

ONE = [[False, "Heat water", []]]


def test_the_first_call_sent_twice_counts_once_though_there_was_no_plan_before(agent: PlanAgent) -> None:
    token = agent.calls("gather_requirements").reply["step_token"]
    first = agent.calls("set_overarching_goal", goal=GOAL, step_token=token)
    agent.does(TO_DETAIL)

    again = agent.calls("set_overarching_goal", goal=GOAL, step_token=token)

    assert (again.reply, again.failed) == (first.reply, False)
    assert agent.text() == f"feat(tea): brew tea\n\n{DETAIL}\n"


def test_a_token_that_was_spent_on_another_call_does_nothing(agent: PlanAgent) -> None:
    token = agent.does(TO_GOAL).reply["step_token"]
    agent.calls("set_detailed_goal", description="One.", step_token=token)

    answer = agent.calls("set_detailed_goal", description="Two.", step_token=token)

    assert (answer.reply["code"], answer.failed) == (RefusalCode.ALREADY_USED, True)
    assert agent.text() == "feat(tea): brew tea\n\nOne.\n"


@pytest.mark.parametrize("kind", ["git", "jj"])
def test_a_token_is_void_once_the_text_was_edited_and_the_answer_shows_it(tmp_path: Path, kind: str) -> None:
    with open_plan_agent(tmp_path, create_repository(kind, tmp_path / "project", tmp_path / "home")) as agent:
        token = agent.does(TO_GOAL).reply["step_token"]
        agent.writes("feat(tea): brew coffee\n")

        answer = agent.calls("set_detailed_goal", description="One.", step_token=token)

        assert (answer.reply["code"], answer.failed) == (RefusalCode.SUPERSEDED, True)
        assert answer.reply["plan"]["text"] == agent.text() == "feat(tea): brew coffee\n"
        assert answer.reply["options"][0] == "set_overarching_goal"
        fresh = answer.reply["step_token"]
        assert not agent.calls("set_detailed_goal", description="One.", step_token=fresh).failed


def test_wrong_arguments_are_answered_with_the_stage_and_an_open_token(agent: PlanAgent) -> None:
    agent.does(TO_GOAL)
    answer = agent.calls("set_detailed_goal", description=7)

    assert (answer.reply["code"], answer.reply["stage"]) == (RefusalCode.ARGUMENTS, "1")
    assert not agent.calls(
        "set_detailed_goal", description="One.", step_token=answer.reply["step_token"]
    ).failed


def test_a_text_that_has_come_back_is_not_the_one_that_an_old_token_was_for(agent: PlanAgent) -> None:
    token = agent.does(TO_GOAL, ("set_plan", {"plan": ONE})).reply["step_token"]
    marked = agent.calls("mark_task", task_id="water", step_token=token)
    agent.does(("mark_task", {"task_id": "water", "completed": False}))
    before = agent.text()

    again = agent.calls("mark_task", task_id="water", step_token=token)

    assert again.reply == marked.reply
    assert agent.text() == before == "feat(tea): brew tea\n\n- [ ]: Heat water\n"


def test_a_refused_call_does_not_spend_its_token(agent: PlanAgent) -> None:
    token = agent.does(TO_GOAL).reply["step_token"]
    refused = agent.calls("set_plan", plan=[], step_token=token)
    assert refused.reply["step_token"] == token

    assert not agent.calls("set_plan", plan=ONE, step_token=token).failed


def test_a_malformed_token_is_refused(agent: PlanAgent) -> None:
    answer = agent.calls("finish_job", **dict.fromkeys(["step_token"], "nothing"))

    assert answer.reply["code"] == RefusalCode.MALFORMED


class Raced(GitDescriptions):
    """A real store in which somebody else is a moment faster to write, once."""

    writes = 0

    def swap(self, seen: Description, new: str) -> Description:
        self.writes += 1
        if self.writes == 2:
            super().swap(seen, "feat(tea): brew coffee\n")
        return super().swap(seen, new)


@pytest.mark.parametrize("held", [True, False])
def test_a_write_between_reading_and_writing_is_built_on_or_reported_and_never_lost(
    tmp_path: Path, *, held: bool
) -> None:
    repo = create_repository("git", tmp_path / "project", tmp_path / "home")
    with open_plan_agent(tmp_path, repo, Raced(repo.runner(), repo.folder, RandomIds())) as agent:
        token = agent.does(TO_GOAL).reply["step_token"]

        answer = agent.calls(
            "set_detailed_goal", description="One.", **({"step_token": token} if held else {})
        )

        assert answer.reply.get("code") == (RefusalCode.SUPERSEDED if held else None)
        assert agent.text() == "feat(tea): brew coffee\n" + ("" if held else "\nOne.\n")
