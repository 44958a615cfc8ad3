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
from helpers.replies import unruled
from helpers.requirement import requirement
from helpers.servers import ERAS, Agent, Desk, Told, agent, inside, note, place

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
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with agent(place(tmp_path_factory.mktemp("replies"), gated=GATED), request.param) as connected:
        yield connected


def good(told: Told, status: str = "ok") -> Told:
    assert unruled(told) == []
    assert told.reply["status"] == status, told.reply
    return told


@requirement("steps:tool.start", "steps:reply.status", "steps:reply.contract", "steps:reply.token")
def test_a_start_returns_the_first_step_and_its_contract(desk: Agent) -> None:
    told = good(desk.start(goal="See the end", inputs={"what": "fun"}, metadata={"ticket": "7"}))

    assert list(told.reply) == [
        "status", "execution_id", "new_step_token", "next_step_contract", "human_message"
    ]  # fmt: skip
    assert told.reply["next_step_contract"] == {
        "step_name": "one",
        "allowed_actions": [],
        "forbidden_actions": [],
        "required_output_format": FORMAT,
    }
    assert len(told.token) == 72


@requirement("steps:reply.contract")
def test_a_contract_that_adds_to_the_common_form_has_its_schema(desk: Agent) -> None:
    contract = good(desk.start("gated")).reply["next_step_contract"]

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
def test_a_message_holds_the_persona_in_full_and_the_task(desk: Agent) -> None:
    agents = ["architect", "implementer", "tester", "reviewer", "writer", "supervisor"]
    tasks = ["First.", "Second.", "Third.", "Fourth.", "Fifth.", "Sixth."]
    told = desk.start(goal="See the end")
    for name, task in zip(agents, tasks, strict=True):
        persona = (PERSONAS / f"{name}.md").read_text("utf-8").split("---\n", 2)[2].strip()
        message = told.reply["human_message"]
        assert len(persona) > 500
        assert message.startswith(persona)
        assert task in message.removeprefix(persona)
        assert "> See the end" in message
        told = desk.go_on(told.token)


@requirement("steps:tool.continue", "steps:reply.closed", "steps:life.complete")
def test_a_run_is_walked_to_its_end_and_the_last_step_answers_with_the_synthesis(desk: Agent) -> None:
    told, names = good(desk.start()), []
    while told.reply["status"] == StepsStatus.OK:
        names.append(told.reply["next_step_contract"]["step_name"])
        status = "ok" if len(names) < 6 else "task_closed"
        told = good(
            desk.go_on(told.token, summary=f"Did {names[-1]}.", decisions=[f"To {names[-1]}"]), status
        )

    assert names == ["one", "two", "three", "four", "five", "six"]
    synthesis = told.reply["synthesis"]
    assert synthesis["outcome_summary"] == "Did six."
    output = synthesis["model_output"]
    assert output["steps_completed"] == 6
    assert output["decisions"] == ["To one", "To two", "To three", "To four", "To five", "To six"]
    assert [one["step_name"] for one in output["artifacts"]] == names
    assert [one["step_name"] for one in output["durations"]["steps"]] == names


@requirement("steps:tool.recover")
def test_a_recovery_returns_the_step_again_and_what_was_done(desk: Agent) -> None:
    first = desk.start()
    second = good(desk.go_on(first.token, summary="Found it."))
    told = good(desk.recover(first.run))

    assert told.token != second.token
    assert told.reply["next_step_contract"] == second.reply["next_step_contract"]
    assert told.reply["human_message"].startswith(second.reply["human_message"])
    assert "- one: Found it. (note “A note”)" in told.text


@requirement("steps:tool.control", "steps:life.pause", "steps:life.resume")
def test_a_pause_gives_no_token_and_a_resume_answers_like_a_recovery(desk: Agent) -> None:
    first = desk.start()
    paused = good(desk.control(first.run, "pause", reason="Lunch"))
    assert paused.reply["human_message"] == (
        "The run is paused (Lunch). Nobody works on it until it is resumed."
    )
    resumed, recovered = good(desk.control(first.run, "resume")), good(desk.recover(first.run))

    assert {**resumed.reply, "new_step_token": ""} == {**recovered.reply, "new_step_token": ""}
    assert desk.go_on(resumed.token).code == RefusalCode.SUPERSEDED
    assert desk.go_on(first.token).code == RefusalCode.SUPERSEDED


@requirement("steps:output.contract", "steps:output.shape")
def test_a_broken_contract_names_each_path_and_leaves_the_token_good(desk: Agent) -> None:
    first = desk.start()
    told = good(desk.go_on(first.token, summary=" ", artifacts=[], confidence=0.2, extra=1), "error")

    assert told.code == RefusalCode.CONTRACT
    assert told.reply["why"] == {
        "rule": "one",
        "seen": [
            "output.extra = 1",
            'output.summary = " "',
            "output.artifacts = []",
            "output.confidence = 0.2",
        ],
        "needed": told.reply["why"]["needed"],
    }
    assert len(told.reply["why"]["needed"]) == 4
    assert told.token == first.token
    good(desk.go_on(first.token))


@requirement("steps:tool.control")
def test_why_lists_what_was_refused_and_a_good_token_stays_good(desk: Agent) -> None:
    first = desk.start()
    desk.go_on(first.token, confidence=2)
    told = good(desk.by_token(first.token, "why"))

    message = told.reply["human_message"]
    assert message.startswith("The run stands in step `one`, attempt 1, and waits for your output.")
    assert "Refused lately, newest first:\n- contract (one), 2" in message
    assert [call["arguments"].get("action") for call in told.reply["next"]] == [
        None, "pause", "fail", "abandon", "diverge"
    ]  # fmt: skip
    assert told.token == first.token
    good(desk.go_on(first.token))


@pytest.mark.parametrize(
    "lifecycle", [Lifecycle.COMPLETED, Lifecycle.FAILED, Lifecycle.ABANDONED, Lifecycle.DIVERGED]
)
def test_why_of_a_run_that_has_ended_says_so_once_and_offers_a_fork(desk: Agent, lifecycle: str) -> None:
    first = ended(desk, lifecycle)
    told = good(desk.control(first.run, "why"))

    reason = "" if lifecycle == Lifecycle.COMPLETED else " (Because.)"
    assert told.reply["human_message"] == (
        f"The run is {lifecycle}{reason}. It stays as it is; what was done is kept and can be forked.\n\n"
        "Nothing was refused since the run began."
    )
    assert [call["arguments"] for call in told.reply["next"]] == [
        {"execution_id": first.run, "action": "fork"}
    ]


def ended(desk: Desk, lifecycle: str) -> Told:
    """How a run began that has come to this end."""
    first = desk.start("brief")
    if lifecycle == Lifecycle.COMPLETED:
        desk.go_on(first.token)
    else:
        action = {"failed": "fail", "abandoned": "abandon", "diverged": "diverge"}[lifecycle]
        desk.control(first.run, action, reason="Because.")
    return first


def refusals(desk: Desk) -> Iterator[tuple[str, Told]]:
    """One refusal of each code that an agent can bring about, by its code."""
    yield "unknown_workflow", desk.start("nothing")
    yield "arguments", desk.start("walk", inputs={"what": 5})
    yield "arguments", desk.start("walk", inputs=5)
    yield "form", desk.call({})
    yield "malformed", desk.go_on("nothing")
    yield "forged", desk.go_on("A" * 72)
    yield "unknown_run", desk.recover(NOBODY)
    yield RefusalCode.UNKNOWN_PROJECT, desk.start(project="/nowhere")
    yield "contract", desk.go_on(desk.start().token, confidence=2)
    yield "reason", desk.control(desk.start().run, "abandon")
    yield "reason", desk.by_token(desk.start().token, "fail", reason=" ")
    yield "form", desk.control(desk.start().run, "complete_step")
    yield RefusalCode.NOT_RUNNING, desk.control(desk.start().run, "resume")
    used = desk.start().token
    desk.go_on(used)
    yield RefusalCode.ALREADY_USED, desk.go_on(used, summary="Other.")
    old = desk.start()
    desk.recover(old.run)
    yield "superseded", desk.go_on(old.token)
    paused = desk.start()
    desk.control(paused.run, "pause")
    yield RefusalCode.NOT_RUNNING, desk.recover(paused.run)


@requirement("steps:token.outcomes", "steps:tel.errors")
def test_every_refusal_has_its_code_a_rule_what_is_needed_and_calls_that_can_be_sent(desk: Agent) -> None:
    followed = 0
    for code, told in refusals(desk):
        assert good(told, "error").code == code
        for call in told.reply["next"]:
            if call["who"] == "agent":
                followed += 1
                answer = desk.call(call["arguments"], call["tool"])
                assert unruled(answer) == []
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
    with inside(place(tmp_path / "place")) as desk:
        first = desk.start()
        desk.clock.move(minutes=11)
        told = good(desk.go_on(first.token), "error")

        assert (told.code, told.run) == (RefusalCode.EXPIRED, first.run)
        assert [call["arguments"]["step_token"] for call in told.reply["next"]] == [told.token]
        assert good(desk.go_on(told.token)).reply["next_step_contract"]["step_name"] == "two"


def test_a_refusal_never_reveals_the_current_token(tmp_path: Path) -> None:
    with inside(place(tmp_path / "place")) as desk:
        first = desk.start()
        second = desk.go_on(first.token)
        lies = [
            desk.go_on(first.token, summary="Other."),
            desk.control(first.run, "resume"),
            desk.call({"execution_id": first.run, "action": "complete_step", "model_output_so_far": {}}),
            desk.control(first.run, "fail"),
        ]

        assert [told.code for told in lies] == [
            RefusalCode.ALREADY_USED,
            RefusalCode.NOT_RUNNING,
            RefusalCode.CONTRACT,
            RefusalCode.REASON,
        ]
        for told in lies:
            assert "new_step_token" not in told.reply
            assert second.token not in json.dumps(told.reply)


@requirement("steps:tool.names")
def test_the_tool_answers_to_both_its_names_and_to_no_other(desk: Agent) -> None:
    first = good(desk.call({"template_name": "walk"}, "workflow.next_step"))
    told = good(desk.call({"step_token": first.token, "model_output_so_far": note()}, "workflow_next_step"))
    assert told.reply["next_step_contract"]["step_name"] == "two"

    for name in ("workflow-next-step", "next_step", "Workflow.Next_Step", "", "workflow_next_step "):
        with pytest.raises(MCPError) as refused:
            desk.call({"template_name": "walk"}, name)
        assert refused.value.code == -32602
        assert refused.value.message == "there is no such tool; this face has workflow_next_step"
