"""What the tool answers, field by field and in both forms, to a real client of either era."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from mcp import MCPError

from handrail import workflows
from handrail.app.faces import StepsStatus
from handrail.engine.model import Lifecycle
from handrail.engine.refusals import RefusalCode
from helpers.agents import NOBODY
from helpers.replies import find_broken_reply_rules
from helpers.requirement import requirement
from helpers.servers import (
    ERAS,
    SdkAgent,
    ToolAnswer,
    ToolClient,
    build_note_output,
    connect_agent,
    create_place,
    open_in_process,
)

GATED: Final = """
workflow: gated
version: 1
authority: sql
about: One step that asks for much
steps:
  - name: weigh
    agent: reviewer
    task: Weigh it.
    inputs: [the thing]
    allowed_actions: [Use the scales]
    forbidden_actions: [Guess]
    done_when: [It is weighed]
    contract:
      artifacts: [weight]
      min_confidence: 0.9
      no_blockers: true
      schema: {properties: {grams: {type: integer}}, required: [grams]}
"""
PERSONAS: Final = Path(workflows.__file__).with_name("personas")
FORMAT: Final = (
    "summary; artifacts[] {type, title, content, description?}, one of type `note`; references[]; "
    "confidence 0..1, at least 0.5; optional decisions[], findings[], blockers[]"
)


@pytest.fixture(scope="module", params=ERAS)
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SdkAgent]:
    with connect_agent(
        create_place(tmp_path_factory.mktemp("replies"), gated=GATED), request.param
    ) as connected:
        yield connected


def good(answer: ToolAnswer, status: str = "ok") -> ToolAnswer:
    assert find_broken_reply_rules(answer) == []
    assert answer.reply["status"] == status, answer.reply
    return answer


@requirement("steps:tool.start", "steps:reply.status", "steps:reply.contract", "steps:reply.token")
def test_a_start_returns_the_first_step_and_its_contract(client: SdkAgent) -> None:
    answer = good(client.start(goal="See the end", inputs={"what": "fun"}, metadata={"ticket": "7"}))

    assert list(answer.reply) == [
        "status", "execution_id", "new_step_token", "next_step_contract", "human_message"
    ]  # fmt: skip
    assert answer.reply["next_step_contract"] == {
        "step_name": "one",
        "allowed_actions": [],
        "forbidden_actions": [],
        "required_output_format": FORMAT,
    }
    assert len(answer.token) == 72


@requirement("steps:reply.contract")
def test_a_contract_that_adds_to_the_common_form_has_its_schema(client: SdkAgent) -> None:
    contract = good(client.start("gated")).reply["next_step_contract"]

    assert contract == {
        "step_name": "weigh",
        "allowed_actions": ["Use the scales"],
        "forbidden_actions": ["Guess"],
        "required_output_format": (
            "summary; artifacts[] {type, title, content, description?}, one of type `weight`; references[]; "
            "confidence 0..1, at least 0.9; optional decisions[], findings[], blockers[] (must be empty); "
            "and what output_schema asks for"
        ),
        "output_schema": {"properties": {"grams": {"type": "integer"}}, "required": ["grams"]},
    }


@requirement("steps:reply.message")
def test_a_message_holds_the_persona_in_full_and_the_task(client: SdkAgent) -> None:
    agents = ["architect", "implementer", "tester", "reviewer", "writer", "supervisor"]
    tasks = ["First.", "Second.", "Third.", "Fourth.", "Fifth.", "Sixth."]
    answer = client.start(goal="See the end")
    for name, task in zip(agents, tasks, strict=True):
        persona = (PERSONAS / f"{name}.md").read_text("utf-8").split("---\n", 2)[2].strip()
        message = answer.reply["human_message"]
        assert len(persona) > 500
        assert message.startswith(persona)
        assert task in message.removeprefix(persona)
        assert "> See the end" in message
        answer = client.continue_run(answer.token)


@requirement("steps:tool.continue", "steps:reply.closed", "steps:life.complete")
def test_a_run_is_walked_to_its_end_and_the_last_step_answers_with_the_synthesis(client: SdkAgent) -> None:
    answer, names = good(client.start()), []
    while answer.reply["status"] == StepsStatus.OK:
        names.append(answer.reply["next_step_contract"]["step_name"])
        status = "ok" if len(names) < 6 else "task_closed"
        answer = good(
            client.continue_run(answer.token, summary=f"Did {names[-1]}.", decisions=[f"To {names[-1]}"]),
            status,
        )

    assert names == ["one", "two", "three", "four", "five", "six"]
    synthesis = answer.reply["synthesis"]
    assert synthesis["outcome_summary"] == "Did six."
    output = synthesis["model_output"]
    assert output["steps_completed"] == 6
    assert output["decisions"] == ["To one", "To two", "To three", "To four", "To five", "To six"]
    assert [one["step_name"] for one in output["artifacts"]] == names
    assert [one["step_name"] for one in output["durations"]["steps"]] == names


@requirement("steps:tool.recover")
def test_a_recovery_returns_the_step_again_and_what_was_done(client: SdkAgent) -> None:
    first = client.start()
    second = good(client.continue_run(first.token, summary="Found it."))
    answer = good(client.recover(first.run))

    assert answer.token != second.token
    assert answer.reply["next_step_contract"] == second.reply["next_step_contract"]
    assert answer.reply["human_message"].startswith(second.reply["human_message"])
    assert "- one: Found it. (note “A note”)" in answer.text


@requirement("steps:tool.control", "steps:life.pause", "steps:life.resume")
def test_a_pause_gives_no_token_and_a_resume_answers_like_a_recovery(client: SdkAgent) -> None:
    first = client.start()
    paused = good(client.control(first.run, "pause", reason="Lunch"))
    assert paused.reply["human_message"] == (
        "The run is paused (Lunch). Nobody works on it until it is resumed."
    )
    resumed, recovered = good(client.control(first.run, "resume")), good(client.recover(first.run))

    assert {**resumed.reply, "new_step_token": ""} == {**recovered.reply, "new_step_token": ""}
    assert client.continue_run(resumed.token).code == RefusalCode.SUPERSEDED
    assert client.continue_run(first.token).code == RefusalCode.SUPERSEDED


@requirement("steps:output.contract", "steps:output.shape")
def test_a_broken_contract_names_each_path_and_leaves_the_token_good(client: SdkAgent) -> None:
    first = client.start()
    answer = good(
        client.continue_run(first.token, summary=" ", artifacts=[], confidence=0.2, extra=1), "error"
    )

    assert answer.code == RefusalCode.CONTRACT
    assert answer.reply["why"] == {
        "rule": "one",
        "seen": [
            "output.extra = 1",
            'output.summary = " "',
            "output.artifacts = []",
            "output.confidence = 0.2",
        ],
        "needed": answer.reply["why"]["needed"],
    }
    assert len(answer.reply["why"]["needed"]) == 4
    assert answer.token == first.token
    good(client.continue_run(first.token))


@requirement("steps:tool.control")
def test_why_lists_what_was_refused_and_a_good_token_stays_good(client: SdkAgent) -> None:
    first = client.start()
    client.continue_run(first.token, confidence=2)
    answer = good(client.control_by_token(first.token, "why"))

    message = answer.reply["human_message"]
    assert message.startswith("The run stands in step `one`, attempt 1, and waits for your output.")
    assert "Refused lately, newest first:\n- contract (one), 2" in message
    assert [call["arguments"].get("action") for call in answer.reply["next"]] == [
        None, "pause", "fail", "abandon", "diverge"
    ]  # fmt: skip
    assert answer.token == first.token
    good(client.continue_run(first.token))


@pytest.mark.parametrize(
    "lifecycle", [Lifecycle.COMPLETED, Lifecycle.FAILED, Lifecycle.ABANDONED, Lifecycle.DIVERGED]
)
def test_why_of_a_run_that_has_ended_says_so_once_and_offers_a_fork(client: SdkAgent, lifecycle: str) -> None:
    first = ended(client, lifecycle)
    answer = good(client.control(first.run, "why"))

    reason = "" if lifecycle == Lifecycle.COMPLETED else " (Because.)"
    assert answer.reply["human_message"] == (
        f"The run is {lifecycle}{reason}. It stays as it is; what was done is kept and can be forked.\n\n"
        "Nothing was refused since the run began."
    )
    assert [call["arguments"] for call in answer.reply["next"]] == [
        {"execution_id": first.run, "action": "fork"}
    ]


def ended(caller: ToolClient, lifecycle: str) -> ToolAnswer:
    """How a run began that has come to this end."""
    first = caller.start("brief")
    if lifecycle == Lifecycle.COMPLETED:
        caller.continue_run(first.token)
    else:
        action = {"failed": "fail", "abandoned": "abandon", "diverged": "diverge"}[lifecycle]
        caller.control(first.run, action, reason="Because.")
    return first


def refusals(caller: ToolClient) -> Iterator[tuple[str, ToolAnswer]]:
    """One refusal of each code that an agent can bring about, by its code."""
    yield "unknown_workflow", caller.start("nothing")
    yield "arguments", caller.start("walk", inputs={"what": 5})
    yield "arguments", caller.start("walk", inputs=5)
    yield "form", caller.call({})
    yield "malformed", caller.continue_run("nothing")
    yield "forged", caller.continue_run("A" * 72)
    yield "unknown_run", caller.recover(NOBODY)
    yield RefusalCode.UNKNOWN_PROJECT, caller.start(project="/nowhere")
    yield "contract", caller.continue_run(caller.start().token, confidence=2)
    yield "reason", caller.control(caller.start().run, "abandon")
    yield "reason", caller.control_by_token(caller.start().token, "fail", reason=" ")
    yield "form", caller.control(caller.start().run, "complete_step")
    yield RefusalCode.NOT_RUNNING, caller.control(caller.start().run, "resume")
    used = caller.start().token
    caller.continue_run(used)
    yield RefusalCode.ALREADY_USED, caller.continue_run(used, summary="Other.")
    old = caller.start()
    caller.recover(old.run)
    yield "superseded", caller.continue_run(old.token)
    paused = caller.start()
    caller.control(paused.run, "pause")
    yield RefusalCode.NOT_RUNNING, caller.recover(paused.run)


@requirement("steps:token.outcomes", "steps:tel.errors")
def test_every_refusal_has_its_code_a_rule_what_is_needed_and_calls_that_can_be_sent(
    client: SdkAgent,
) -> None:
    followed = 0
    for code, reply in refusals(client):
        assert good(reply, "error").code == code
        for call in reply.reply["next"]:
            if call["who"] == "agent":
                followed += 1
                answer = client.call(call["arguments"], call["tool"])
                assert find_broken_reply_rules(answer) == []
                assert answer.code not in {
                    RefusalCode.ARGUMENTS,
                    RefusalCode.FORM,
                    RefusalCode.MALFORMED,
                    RefusalCode.FORGED,
                    RefusalCode.UNKNOWN_RUN,
                }, call
    assert followed == 13


@requirement("steps:token.expiry")
def test_an_expired_token_is_answered_with_a_fresh_one_that_does(tmp_path: Path) -> None:
    with open_in_process(create_place(tmp_path / "place")) as caller:
        first = caller.start()
        caller.clock.move(minutes=11)
        answer = good(caller.continue_run(first.token), "error")

        assert (answer.code, answer.run) == (RefusalCode.EXPIRED, first.run)
        assert [call["arguments"]["step_token"] for call in answer.reply["next"]] == [answer.token]
        assert good(caller.continue_run(answer.token)).reply["next_step_contract"]["step_name"] == "two"


def test_a_refusal_never_reveals_the_current_token(tmp_path: Path) -> None:
    with open_in_process(create_place(tmp_path / "place")) as caller:
        first = caller.start()
        second = caller.continue_run(first.token)
        lies = [
            caller.continue_run(first.token, summary="Other."),
            caller.control(first.run, "resume"),
            caller.call({"execution_id": first.run, "action": "complete_step", "model_output_so_far": {}}),
            caller.control(first.run, "fail"),
        ]

        assert [answer.code for answer in lies] == [
            RefusalCode.ALREADY_USED,
            RefusalCode.NOT_RUNNING,
            RefusalCode.CONTRACT,
            RefusalCode.REASON,
        ]
        for answer in lies:
            assert "new_step_token" not in answer.reply
            assert second.token not in json.dumps(answer.reply)


@requirement("steps:tool.names")
def test_the_tool_answers_to_both_its_names_and_to_no_other(client: SdkAgent) -> None:
    first = good(client.call({"template_name": "walk"}, "workflow.next_step"))
    answer = good(
        client.call(
            {"step_token": first.token, "model_output_so_far": build_note_output()}, "workflow_next_step"
        )
    )
    assert answer.reply["next_step_contract"]["step_name"] == "two"

    for name in ("workflow-next-step", "next_step", "Workflow.Next_Step", "", "workflow_next_step "):
        with pytest.raises(MCPError) as refused:
            client.call({"template_name": "walk"}, name)
        assert refused.value.code == -32602
        assert refused.value.message == "there is no such tool; this face has workflow_next_step"
