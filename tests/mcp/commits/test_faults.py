"""What version control and other servers can do to a call."""

from pathlib import Path

import pytest

from handrail.app.faces import CallFailure
from handrail.engine.refusals import RefusalCode
from handrail.mcp.faces.commits import CommitsStatus
from handrail.runtime.errors import FaultCode
from helpers.commit_plans import NOTHING, START, TASKS, create_clean_place
from helpers.planner_agents import PlanAgent
from helpers.requirement import requirement
from helpers.servers import read_tool_answer

CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("start_planning", {**START}),
    ("get_plan", {}),
    ("update_goal", {"summary": "x"}),
    ("update_description", {"description": "x"}),
    ("get_constraints", {}),
    ("set_constraints", {"constraints": []}),
    ("get_tasks", {}),
    ("set_tasks", {"tasks": TASKS}),
    ("mark_task", {"task_id": "x"}),
    ("finish_job", {}),
    ("unfinish_job", {}),
    ("verify_plan", {}),
    ("finish_job", {"no": "such argument"}),
)
"""Every tool, in the order of the source; then a call with a wrong argument."""


@requirement("commits:jjfail", "commits:K25", "commits:reply")
@pytest.mark.parametrize(
    ("kind", "repair"), [("jj", "run `jj git init` there, or force git"), ("git", "run `git init` there")]
)
def test_a_failure_of_version_control_is_severe_in_every_tool_until_it_is_repaired(
    tmp_path: Path, kind: str, repair: str
) -> None:
    at = create_clean_place(tmp_path, kind)
    home, hidden = at.repo.folder / f".{kind}", tmp_path / "hidden"
    with at.server() as pipe:
        pipe.call(START, "start_planning")
        home.rename(hidden)
        for tool, given in CALLS:
            answer = pipe.call(given, tool)
            reply = answer.reply
            assert (answer.failed, reply["status"], reply["code"]) == (
                True,
                CommitsStatus.ERROR,
                FaultCode.VCS_MISSING_REPO,
            )
            assert answer.text.startswith("CRITICAL ISSUE: version control failed (`vcs_missing_repo`)")
            assert "no tool works until that is repaired. Stop all work now" in reply["action_taken"]
            assert reply["current_state"] == NOTHING
            actions = reply["next_actions"]
            assert actions["available"] == []
            assert [one.partition(":")[0] for one in actions["blocked"]] == [name for name, _ in CALLS[:-1]]
            assert f"Repair version control, with the person: {repair}" in actions["recommended"][0]
            assert f"The repair: {repair}" in reply["action_taken"]
        hidden.rename(home)
        repaired = pipe.call({}, "get_plan")

    assert (repaired.failed, repaired.reply["current_state"]["phase"]) == (False, "planning")


def test_a_failure_outside_version_control_is_not_critical(agent: PlanAgent) -> None:
    tool = agent.face.tools[1]

    answer = agent.face.answer_failure(
        tool, {}, CallFailure(FaultCode.BUSY, "store", "held", "send it again", again=True)
    )

    said = "held: send it again (The plan was not read: `current_state` says nothing about it.)"
    assert (answer.reply["action_taken"], answer.reply["code"]) == (said, FaultCode.BUSY)
    assert answer.reply["next"] == [{"tool": "get_plan", "arguments": {}, "who": "agent"}]
    expected = {"recommended": ["get_plan"], "blocked": [], "available": ["get_plan"]}
    assert answer.reply["next_actions"] == expected


@requirement("commits:stateless")
def test_two_servers_take_turns_and_of_two_at_once_one_wins_and_the_other_is_shown_its_plan(
    tmp_path: Path,
) -> None:
    at = create_clean_place(tmp_path, "jj")
    with at.server() as one, at.server() as other:
        token = one.call(START, "start_planning").reply["step_token"]
        again = other.call({"description": "Why.", "step_token": token}, "update_description")
        assert not again.failed, again.text
        late = one.call({"constraints": [], "step_token": token}, "set_constraints")
        assert (late.failed, late.reply["code"]) == (True, RefusalCode.ALREADY_USED)
        one.call({"constraints": [], "step_token": late.reply["step_token"]}, "set_constraints")

        answers = {}
        held = [(pipe, pipe.call({}, "get_plan").reply["step_token"]) for pipe in (one, other)]
        for number, (pipe, token) in enumerate(held):
            tasks = [{"summary": f"Task {number}", "details": "x"}]
            pipe.post("tools/call", {"name": "set_tasks", "arguments": {"tasks": tasks, "step_token": token}})
        for number, (pipe, _) in enumerate(held):
            answers[number] = read_tool_answer(pipe.answer())

    (won,) = [number for number, answer in answers.items() if not answer.failed]
    lost = answers[1 - won].reply
    assert (lost["status"], lost["code"]) == ("error", RefusalCode.SUPERSEDED)
    assert lost["action_taken"] == (
        "Nothing was changed: the plan has changed since that token, and stands as shown here."
    )
    assert [task["summary"] for task in lost["plan"]["tasks"]] == [f"Task {won}"]
    assert f"(task-{won}) Task {won}: x" in answers[1 - won].text
    head = "feat(tea): brew tea\n\nWhy.\n\nConstraints: none\n\nTasks [ ]:\n"
    assert at.text() == f"{head}- [ ] Task {won}: x\n"


def test_a_call_sent_twice_counts_once_and_a_refused_one_keeps_its_token(agent: PlanAgent) -> None:
    token = agent.calls("get_plan").reply["step_token"]
    refused = agent.calls("start_planning", **{**START, "scope": "the tea"}, step_token=token)
    assert refused.reply["step_token"] == token
    first = agent.calls("start_planning", **START, step_token=token)

    again = agent.calls("start_planning", **START, step_token=token)

    assert (again.reply, again.failed) == (first.reply, False)
    assert (
        agent.calls("finish_job", **dict.fromkeys(["step_token"], "nothing")).reply["code"]
        == RefusalCode.MALFORMED
    )
    assert agent.text() == "feat(tea): brew tea\n"
