"""`handrail workflows new`, and the guide that begins with it."""

import json
import re
import shlex
from pathlib import Path

import pytest

from handrail.app.app import open_app
from handrail.app.definitions import Definitions
from handrail.app.trust import TrustStore, UntrustedFile
from handrail.engine.lifecycle import START
from handrail.engine.model import Accepted, Event
from handrail.engine.soundness import check_soundness
from handrail.runtime.records import Caller, Origin
from handrail.runtime.store_address import locate_store
from handrail.runtime.turn import Call, NewRun, take_turn
from handrail.runtime.world import PinnedWorkflow
from helpers.program import run_command, run_handrail
from helpers.requirement import requirement

GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "your-first-workflow.md"


def pinned(project: Path, name: str) -> PinnedWorkflow:
    found = Definitions(project, TrustStore()).find_pinned(name)
    assert isinstance(found, PinnedWorkflow)
    return found


@requirement("steps:def.quick")
def test_a_new_workflow_works_as_it_stands_and_the_next_two_commands_are_told(tmp_path: Path) -> None:
    said = run_command("workflows", "new", "tidy", cwd=tmp_path)

    assert (said.status, said.out) == (0, ".handrail/workflows/tidy.yaml\n")
    commands = [line.strip() for line in said.err.splitlines()[1:]]
    assert commands == [
        "handrail workflows check .handrail/workflows/tidy.yaml",
        "handrail workflows show tidy",
    ]
    checked, shown = (run_command(*shlex.split(line)[1:], cwd=tmp_path) for line in commands)
    assert (checked.status, checked.err) == (0, "1 checked, no problems\n")
    assert (shown.status, shown.out.splitlines()[0].partition(":")[0]) == (0, "tidy 1")
    workflow = pinned(tmp_path, "tidy").workflow
    assert workflow is not None
    assert (len(workflow.inputs), check_soundness(workflow)) == (1, ())


def test_its_agents_are_called_as_personas_of_the_library(tmp_path: Path) -> None:
    run_command("workflows", "new", "tidy", cwd=tmp_path)
    workflow = pinned(tmp_path, "tidy").workflow

    assert workflow is not None
    assert {state.brief.agent for state in workflow.states.values() if state.brief} == {
        "architect",
        "implementer",
        "reviewer",
    }


def test_in_another_project_the_commands_name_it(tmp_path: Path) -> None:
    (tmp_path / "my shop").mkdir()

    said = run_command("workflows", "new", "tidy", "--project", "my shop", cwd=tmp_path)

    assert said.out == "my shop/.handrail/workflows/tidy.yaml\n"
    assert said.err.splitlines()[1:] == [
        "  handrail workflows check 'my shop/.handrail/workflows/tidy.yaml'",
        "  handrail workflows show tidy --project 'my shop'",
    ]


@pytest.mark.parametrize("there", ["tidy.yaml", "tidy/workflow.yaml"])
def test_nothing_is_written_over(there: str, tmp_path: Path) -> None:
    path = tmp_path / ".handrail" / "workflows" / there
    path.parent.mkdir(parents=True)
    path.write_text("mine", "utf-8")

    said = run_command("workflows", "new", "tidy", "--hide", cwd=tmp_path)

    assert (said.status, said.out) == (1, "")
    assert said.err == (
        "handrail: .handrail/workflows/tidy.yaml is there already\n"
        "  choose another name, or change that file\n"
    )
    assert path.read_text("utf-8") == "mine"


def test_a_link_that_leads_nowhere_is_there_too(tmp_path: Path) -> None:
    folder = tmp_path / ".handrail" / "workflows"
    folder.mkdir(parents=True)
    (folder / "tidy.yaml").symlink_to(tmp_path / "planted")

    assert run_command("workflows", "new", "tidy", cwd=tmp_path).status == 1
    assert not (tmp_path / "planted").exists()


def test_no_folder_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".handrail").symlink_to("../victim")

    said = run_command("workflows", "new", "tidy", cwd=tmp_path / "project")

    assert said.status == 1
    assert "leads through a link" in said.err
    assert list((tmp_path / "victim").iterdir()) == []


@pytest.mark.parametrize(
    "name", ["", "../up", "/etc/passwd", "a/b", "1st", "a b", "x" * 65, "workflow", "\x1b[2J", "a\n"]
)
def test_a_name_that_is_none_is_refused_and_nothing_made(name: str, tmp_path: Path) -> None:
    said = run_command("workflows", "new", name, cwd=tmp_path)

    assert (said.status, said.out) == (1, "")
    assert "use letters, digits, `_`, `-` and `.`, beginning with a letter, at most 64" in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_project_that_is_not_there_is_named(tmp_path: Path) -> None:
    said = run_command("workflows", "new", "tidy", "--project", "nowhere", cwd=tmp_path)

    assert (said.status, said.err.splitlines()[0]) == (1, "handrail: `nowhere` is not a folder")


@requirement("steps:def.files")
@pytest.mark.parametrize(("name", "origin"), [("bug-fix", "built-in"), ("mine", "user")])
def test_a_name_that_would_hide_another_needs_hide_and_then_trust(
    name: str, origin: str, tmp_path: Path, home: Path
) -> None:
    own = home / ".config" / "handrail" / "workflows"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("workflow: mine\n", "utf-8")

    refused = run_command("workflows", "new", name, cwd=tmp_path)
    made = run_command("workflows", "new", name, "--hide", cwd=tmp_path)

    assert refused.status == 1
    assert refused.err == (
        f"handrail: `{name}` is a {origin} workflow, which this one would hide\n"
        "  choose another name, or say --hide: then it is used only after `handrail trust`\n"
    )
    assert made.err.splitlines()[0] == f"it hides another: no run starts before `handrail trust {name}`"
    assert isinstance(Definitions(tmp_path, TrustStore()).find_pinned(name), UntrustedFile)
    assert run_command("trust", name, "--yes", cwd=tmp_path).status == 0
    assert pinned(tmp_path, name).workflow is not None


# --- the guide ----------------------------------------------------------------------------------------------


def blocks(page: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def started(project: Path, arguments: dict[str, object]) -> str:
    """A run started as the face does it, with the arguments on the page."""
    found = pinned(project, str(arguments["template_name"]))
    assert found.workflow is not None
    origin = Origin("steps", found.workflow.authority, str(project), str(arguments["goal"]))
    new = NewRun(found.workflow, origin, found.definition)
    inputs = arguments["inputs"]
    assert isinstance(inputs, dict)
    with open_app(locate_store("")) as app:
        run = app.world.ids.new_id()
        call = Call(run, Event(START, inputs), Caller(), "", new)
        assert take_turn(app.world, call, lambda outcome: {"moved": isinstance(outcome.decision, Accepted)})[
            "moved"
        ]
    return run


@requirement("steps:def.quick")
def test_whoever_follows_the_guide_word_for_word_has_a_workflow_and_sees_its_run(tmp_path: Path) -> None:
    commands, run = [], ""
    for language, body in blocks(GUIDE.read_text("utf-8")):
        if language == "yaml":
            (tmp_path / ".handrail/workflows/tidy.yaml").write_text(body, "utf-8")
        elif language == "json":
            run = started(tmp_path, json.loads(body))
        for line in body.splitlines() if language == "sh" else ():
            words, _, status = line.partition("# exit ")
            said = run_handrail(*shlex.split(words)[1:], cwd=tmp_path)
            commands.append(words.strip())
            assert (line, said.status) == (line, int(status or 0))

    assert commands[0] == "handrail workflows new tidy"
    assert commands[-1] == "handrail runs list"
    assert len(commands) == 7
    workflow = pinned(tmp_path, "tidy").workflow
    assert workflow is not None
    assert (workflow.initial, check_soundness(workflow)) == ("list", ())
    assert run_command("runs", "list", cwd=tmp_path).out.split("\t")[:3] == [run, "tidy", "running"]
    assert [path.name for path in tmp_path.iterdir()] == [".handrail"]
