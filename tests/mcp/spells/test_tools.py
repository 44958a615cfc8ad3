"""The face `spells` over the wire: a person's word, passed on by the agent, moves the task in the files."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.program import handrail
from helpers.requirement import requirement
from helpers.servers import ERAS, Pipe, Place, Told, place

pytestmark = pytest.mark.unmeasured

PLAN = """# Sort the list

## Acceptance Criteria

- [ ] The list is sorted
- [ ] An empty list stays empty
"""
TASK = "---\ntask_name: sort\n---\n# Sort it\n\nUse the built-in.\n"
RESULTS = "# Results\n\n## Acceptance Criteria\n\n- [x] The list is sorted\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Pipe]]:
    """A place and its one server, which keeps nothing of a task in mind."""
    at = place(tmp_path_factory.mktemp("spells"))
    with Pipe(at, "--face", "spells") as pipe:
        yield at, pipe


@pytest.fixture
def at(served: tuple[Place, Pipe]) -> Place:
    """The place, where nothing has begun."""
    shutil.rmtree(served[0].project / ".ai", ignore_errors=True)
    return served[0]


@pytest.fixture
def pipe(served: tuple[Place, Pipe]) -> Pipe:
    return served[1]


def cast(pipe: Pipe, word: str, **more: object) -> Told:
    return pipe.call(more, word)


def files(at: Place) -> Path:
    return at.project / ".ai" / "task"


def standing(at: Place) -> str:
    return str(json.loads((files(at) / "state.json").read_text("utf-8"))["current_state"])


@pytest.mark.parametrize("era", ERAS)
def test_the_whole_way_from_a_plan_to_its_end(tmp_path: Path, era: str) -> None:
    at = place(tmp_path)
    with Pipe(at, "--face", "spells", era=era) as pipe:
        begun = cast(pipe, "accio")
        assert (begun.reply["state"], begun.reply["phase"]) == (
            "GATHER_EDITING",
            "Gather Acceptance Criteria",
        )
        (files(at) / "plan.md").write_text(PLAN, "utf-8")
        drafting = cast(pipe, "accio", step_token=begun.reply["step_token"])
        assert drafting.reply["state"] == "ACHIEVE_TASK_DRAFTING"
        (files(at) / "task.md").write_text(TASK, "utf-8")
        executed = cast(pipe, "accio", note="carefully")
        assert executed.reply["state"] == "ACHIEVE_TASK_EXECUTED"
        (files(at) / "task-results.md").write_text(RESULTS, "utf-8")
        again = cast(pipe, "accio")
        assert again.reply["state"] == "ACHIEVE_TASK_DRAFTING"
        shown = cast(pipe, "lumos")

    assert shown.reply["state"] == "ACHIEVE_TASK_DRAFTING"
    assert standing(at) == "ACHIEVE_TASK_DRAFTING"
    plan = (files(at) / "plan.md").read_text("utf-8")
    assert "- [x] The list is sorted ([results](tasks/task-sort-" in plan
    assert "- [ ] An empty list stays empty\n" in plan
    (archived,) = (files(at) / "tasks").iterdir()
    assert (archived / "task-results.md").read_text("utf-8") == RESULTS
    (listed,) = handrail("runs", "list", "--store", at.store, "--json", HOME=at.env["HOME"]).data["runs"]
    assert (listed["face"], listed["state"]) == ("spells", "ACHIEVE_TASK_DRAFTING")
    told = handrail("runs", "show", listed["id"], "--store", at.store, HOME=at.env["HOME"]).out
    assert "\n  waits for the next call in ACHIEVE_TASK_DRAFTING\n" in told


def test_the_six_words_are_listed_as_the_workflow_declares_them(at: Place) -> None:
    with Pipe(at, "--face", "spells", era="legacy") as pipe:
        tools = {tool["name"]: tool for tool in pipe.ask("tools/list")["result"]["tools"]}

    assert sorted(tools) == ["accio", "expecto", "finite", "lumos", "reparo", "reverto"]
    assert tools["lumos"]["annotations"]["readOnlyHint"] is True
    assert tools["accio"]["annotations"]["readOnlyHint"] is False
    assert sorted(tools["accio"]["inputSchema"]["properties"]) == ["note", "project", "step_token"]
    assert tools["reparo"]["inputSchema"]["properties"]["resume"]["type"] == "boolean"
    assert "Accio" in pipe.hello["instructions"]


def test_a_word_that_is_sent_twice_with_its_token_counts_once(at: Place, pipe: Pipe) -> None:
    begun = cast(pipe, "accio")
    (files(at) / "plan.md").write_text(PLAN, "utf-8")
    token = begun.reply["step_token"]
    first, second = (cast(pipe, "accio", step_token=token) for _ in range(2))
    other = cast(pipe, "finite", step_token=token)

    assert first.reply == second.reply
    assert standing(at) == "ACHIEVE_TASK_DRAFTING"
    assert other.reply["code"] == "already_used"


def test_a_refused_word_changes_no_byte_and_says_what_is_open(at: Place, pipe: Pipe) -> None:
    cast(pipe, "accio")
    before = {path: path.read_bytes() for path in files(at).iterdir() if path.is_file()}
    refused = cast(pipe, "reverto")
    after = {path: path.read_bytes() for path in files(at).iterdir() if path.is_file()}

    assert refused.failed
    assert before == after
    assert "Accio" in refused.reply["options"]
    assert refused.reply["state"] == "GATHER_EDITING"
    assert refused.reply["message_to_user"]


def test_a_cast_that_changes_nothing_is_seen_in_the_common_store_with_its_note(tmp_path: Path) -> None:
    at = place(tmp_path / "own")
    with Pipe(at, "--face", "spells") as pipe:
        cast(pipe, "accio")
        assert not cast(pipe, "finite", note="for now").failed

    (run,) = handrail("runs", "list", "--store", at.store, "--json", HOME=at.env["HOME"]).data["runs"]
    events = handrail("runs", "events", run["id"], "--store", at.store, "--json", HOME=at.env["HOME"]).data
    last = events["events"][-1]
    assert (last["kind"], last["data"]["trigger"], last["data"]["note"]) == (
        "step_stayed",
        "Finite",
        "for now",
    )
    assert run["revision"] == 1


def test_lumos_writes_nothing_even_where_nothing_has_begun(at: Place, pipe: Pipe) -> None:
    shown = cast(pipe, "lumos")

    assert shown.reply["state"] == "GATHER_NEEDS_PLAN"
    assert "Accio" in shown.reply["options"]
    assert not (at.project / ".ai").exists()


def test_lumos_tells_which_part_of_a_state_the_task_is_in(at: Place, pipe: Pipe) -> None:
    cast(pipe, "accio")
    editing = cast(pipe, "lumos")
    (files(at) / "plan.md").write_text(PLAN, "utf-8")
    ready = cast(pipe, "lumos")

    assert "sub_state" not in editing.reply
    assert (ready.reply["state"], ready.reply["sub_state"]) == ("GATHER_EDITING", "GATHER_READY")
    assert ready.reply["message_to_user"] != editing.reply["message_to_user"]


def test_arguments_are_taken_as_they_are_listed_and_no_other(pipe: Pipe) -> None:
    unknown = cast(pipe, "accio", colour="red")
    coerced = cast(pipe, "reparo", resume="yes")
    elsewhere = cast(pipe, "accio", project="/nowhere")

    codes = [told.reply["code"] for told in (unknown, coerced, elsewhere)]
    assert codes == ["arguments", "arguments", "unknown_project"]
    assert unknown.reply["why"]["rule"] == "arguments"


@requirement("steps:tool.one")
def test_a_server_offers_the_tools_of_the_face_it_was_started_with(at: Place) -> None:
    with Pipe(at, era="legacy") as pipe:
        assert [tool["name"] for tool in pipe.ask("tools/list")["result"]["tools"]] == ["workflow_next_step"]


@requirement("spells:appendix")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("check_atlassian", ("mcp__atlassian__atlassianUserInfo", "sign in", "Expecto", "setup_atlassian")),
        ("check_github", ("`github`, `gh` or `git`", "repositories", "sign in", "Reparo", "setup_github")),
        ("setup_atlassian", ("claude mcp add", "https://mcp.atlassian.com/v1/mcp", "Restart", "Expecto")),
        ("setup_github", ("claude mcp add", "https://api.githubcopilot.com/mcp/", "Restart", "Reparo")),
    ],
)
def test_the_checks_and_the_set_up_of_the_appendix_are_prompts(
    at: Place, name: str, said: tuple[str, ...]
) -> None:
    with Pipe(at, "--face", "spells") as pipe:
        listed = {prompt["name"]: prompt for prompt in pipe.ask("prompts/list")["result"]["prompts"]}
        (message,) = pipe.ask("prompts/get", {"name": name})["result"]["messages"]

    assert list(listed) == [
        *("accio", "expecto", "reparo", "reverto", "finite", "lumos"),
        *("check_atlassian", "check_github", "setup_atlassian", "setup_github"),
    ]
    assert listed[name]["arguments"] == []
    assert listed[name]["description"]
    assert [part for part in said if part not in message["content"]["text"]] == []


@pytest.mark.parametrize(
    ("name", "arguments"), [("avada", {}), ("accio", {"word": "x"}), ("check_github", {"note": "x"})]
)
def test_a_prompt_that_is_none_is_answered_with_those_there_are(
    at: Place, name: str, arguments: dict[str, str]
) -> None:
    with Pipe(at, "--face", "spells") as pipe:
        error = pipe.ask("prompts/get", {"name": name, "arguments": arguments})["error"]

    assert error["message"] == (
        "there are accio, expecto, reparo, reverto, finite, lumos, each with an optional note, and"
        " check_atlassian, check_github, setup_atlassian, setup_github"
    )
