"""The face `spells` over the wire: its tools, its prompts, and the arguments that it takes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from helpers.program import run_handrail
from helpers.requirement import requirement
from helpers.servers import Pipe, create_place

pytestmark = pytest.mark.unmeasured

PROMPTS = {
    "check_atlassian": ("mcp__atlassian__atlassianUserInfo", "sign in", "Expecto", "setup_atlassian"),
    "check_github": ("`github`, `gh` or `git`", "repositories", "sign in", "Reparo", "setup_github"),
    "setup_atlassian": ("claude mcp add", "https://mcp.atlassian.com/v1/mcp", "Restart", "Expecto"),
    "setup_github": ("claude mcp add", "https://api.githubcopilot.com/mcp/", "Restart", "Reparo"),
}


@pytest.fixture(scope="module")
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    with Pipe(create_place(tmp_path_factory.mktemp("spells")), "--face", "spells", era="legacy") as opened:
        yield opened


def test_the_six_words_are_listed_as_the_workflow_declares_them(pipe: Pipe) -> None:
    tools = {tool["name"]: tool for tool in pipe.ask("tools/list")["result"]["tools"]}

    assert sorted(tools) == ["accio", "expecto", "finite", "lumos", "reparo", "reverto"]
    assert tools["lumos"]["annotations"]["readOnlyHint"] is True
    assert tools["accio"]["annotations"]["readOnlyHint"] is False
    assert sorted(tools["accio"]["inputSchema"]["properties"]) == ["note", "project", "step_token"]
    assert tools["reparo"]["inputSchema"]["properties"]["resume"]["type"] == "boolean"
    assert "Accio" in pipe.hello["instructions"]


def test_arguments_that_are_not_listed_are_refused(pipe: Pipe) -> None:
    unknown = pipe.call({"colour": "red"}, "accio")
    coerced = pipe.call({"resume": "yes"}, "reparo")
    elsewhere = pipe.call({"project": "/nowhere"}, "accio")

    codes = [answer.reply["code"] for answer in (unknown, coerced, elsewhere)]
    assert codes == [RefusalCode.ARGUMENTS, RefusalCode.ARGUMENTS, RefusalCode.UNKNOWN_PROJECT]
    assert unknown.reply["why"]["rule"] == "arguments"


@requirement("spells:appendix")
def test_the_checks_and_the_set_up_of_the_appendix_are_prompts(pipe: Pipe) -> None:
    listed = {prompt["name"]: prompt for prompt in pipe.ask("prompts/list")["result"]["prompts"]}

    assert list(listed) == ["accio", "expecto", "reparo", "reverto", "finite", "lumos", *PROMPTS]
    for name, said in PROMPTS.items():
        (message,) = pipe.ask("prompts/get", {"name": name})["result"]["messages"]
        assert listed[name]["arguments"] == []
        assert listed[name]["description"]
        assert [part for part in said if part not in message["content"]["text"]] == []


@pytest.mark.parametrize(
    ("name", "arguments"), [("avada", {}), ("accio", {"word": "x"}), ("check_github", {"note": "x"})]
)
def test_an_unknown_prompt_or_argument_is_answered_with_the_prompts_there_are(
    pipe: Pipe, name: str, arguments: dict[str, str]
) -> None:
    error = pipe.ask("prompts/get", {"name": name, "arguments": arguments})["error"]

    assert error["message"] == (
        "there are accio, expecto, reparo, reverto, finite, lumos, each with an optional note, and"
        " check_atlassian, check_github, setup_atlassian, setup_github"
    )


def test_a_cast_that_changes_nothing_is_seen_in_the_common_store_with_its_note(tmp_path: Path) -> None:
    at = create_place(tmp_path / "own")
    with Pipe(at, "--face", "spells") as pipe:
        pipe.call({}, "accio")
        assert not pipe.call({"note": "for now"}, "finite").failed

    (run,) = run_handrail("runs", "list", "--store", at.store, "--json", HOME=at.env["HOME"]).data["runs"]
    events = run_handrail(
        "runs", "events", run["id"], "--store", at.store, "--json", HOME=at.env["HOME"]
    ).data
    last = events["events"][-1]
    answer = (last["kind"], last["data"]["trigger"], last["data"]["note"], run["revision"])
    assert answer == (EntryKind.STEP_STAYED, "Finite", "for now", 1)
