"""Prompts, which clients show as commands: one per workflow to start it, one to resume."""

from pathlib import Path

import pytest

from handrail.app.faces import PromptArgument, StepsStatus, UnknownPrompt
from helpers.servers import ERAS, InProcessClient, Pipe, Place, create_place

COUNTED = """
workflow: counted
version: 1
authority: sql
about: One step with inputs of each type
inputs:
  what: {type: string, about: What is counted}
  many: {type: int, default: 1, about: How many}
  loud: {type: bool, default: false, about: Whether everybody hears it}
  size: {choices: [small, large], default: small, about: How large}
steps:
  - {name: only, agent: implementer, task: "Count {{run.inputs.what}}."}
"""


@pytest.fixture
def at(tmp_path: Path) -> Place:
    return create_place(
        tmp_path, counted=COUNTED, resume=COUNTED.replace("workflow: counted", "workflow: resume")
    )


def test_there_is_a_prompt_for_each_workflow_and_one_to_resume(client: InProcessClient) -> None:
    names = [prompt.name for prompt in client.face.prompts()]

    assert names == [
        *("brief", "bug-fix", "code-review", "counted", "docs", "feature", "refactor", "release"),
        *("start-resume", "walk", "resume"),
    ]


def test_a_prompt_takes_the_inputs_of_its_workflow_and_a_goal(client: InProcessClient) -> None:
    counted = next(prompt for prompt in client.face.prompts() if prompt.name == "counted")

    assert counted.about == "One step with inputs of each type"
    assert counted.arguments == (
        PromptArgument("what", "What is counted", required=True),
        PromptArgument("many", "How many", required=False),
        PromptArgument("loud", "Whether everybody hears it", required=False),
        PromptArgument("size", "How large", required=False, choices=("small", "large")),
        PromptArgument("goal", "What the run is for", required=False),
    )


def test_what_is_typed_becomes_what_the_input_takes(client: InProcessClient) -> None:
    typed = {"what": "7", "many": "3", "loud": "true", "size": "large", "goal": "Know it"}

    said = client.face.prompt("counted", typed)

    call = (
        '{"template_name": "counted", "inputs": {"what": "7", "many": 3, "loud": true, "size": "large"}, '
        '"goal": "Know it"}'
    )
    assert f"```\n{call}\n```" in said
    assert "workflow_next_step" in said
    inputs = {"what": "7", "many": 3, "loud": True, "size": "large"}
    assert client.start("counted", inputs=inputs, goal="Know it").code == StepsStatus.OK


def test_what_is_left_empty_is_left_out_and_what_cannot_be_read_is_passed_on(client: InProcessClient) -> None:
    said = client.face.prompt("start-resume", {"what": "sheep", "many": "a few", "loud": ""})

    assert '{"template_name": "resume", "inputs": {"what": "sheep", "many": "a few"}}' in said


@pytest.mark.parametrize(("name", "given"), [("nothing", {}), ("counted", {"colour": "red"})])
def test_what_there_is_not_is_refused_with_what_there_is(
    client: InProcessClient, name: str, given: dict[str, str]
) -> None:
    with pytest.raises(UnknownPrompt) as refused:
        client.face.prompt(name, given)

    assert "counted" in str(refused.value) or "what" in str(refused.value)


def test_resume_goes_on_with_the_last_run_of_the_project(client: InProcessClient) -> None:
    assert "None is under way" in client.face.prompt("resume", {})
    first, second = client.start("walk"), client.start("walk")

    assert f'{{"execution_id": "{second.run}"}}' in client.face.prompt("resume", {})
    assert f'{{"execution_id": "{first.run}"}}' in client.face.prompt("resume", {"execution_id": first.run})
    client.control(second.run, "pause")
    paused = f'{{"execution_id": "{second.run}", "action": "resume"}}'
    assert paused in client.face.prompt("resume", {})


@pytest.mark.parametrize("era", ERAS)
def test_a_client_lists_gets_and_completes_prompts(at: Place, era: str) -> None:
    with Pipe(at, era=era) as pipe:
        listed = pipe.ask("prompts/list")["result"]["prompts"]
        got = pipe.ask("prompts/get", {"name": "counted", "arguments": {"what": "sheep"}})["result"]
        size = {"name": "size", "value": "l"}
        named = {"type": "ref/prompt", "name": "counted"}
        found = pipe.ask("completion/complete", {"ref": named, "argument": size})["result"]
        unknown = pipe.ask("prompts/get", {"name": "nothing"})

    assert [prompt["name"] for prompt in listed if prompt["name"] == "counted"] == ["counted"]
    assert got["messages"][0]["role"] == "user"
    assert "sheep" in got["messages"][0]["content"]["text"]
    assert found["completion"] == {"values": ["large"], "total": 1, "hasMore": False}
    assert unknown["error"]["code"] == -32602
