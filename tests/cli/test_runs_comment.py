"""`handrail runs comment`: written to a run wherever it is kept, told to its agent, and kept with the run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.runtime.entries import EntryKind
from handrail.runtime.system import get_login_name
from helpers.browser import run_dashboard
from helpers.commit_plans import TO_ADD, TO_READ
from helpers.face_runs import (
    SESSION,
    FaceRuns,
    play_commits,
    play_planner,
    play_skills,
    play_spells,
    require_success,
)
from helpers.program import CommandResult, run_command
from helpers.repositories import create_repository
from helpers.servers import Pipe, Place, create_place

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "spells": ("accio", {}),
    "skills": ("update_task_status", {"task_id": "speed", "status": "completed"}),
    "planner": ("mark_task", {"task_id": "Solder the reed"}),
    "commits": TO_ADD,
}
READING = {
    "spells": "lumos",
    "skills": "session_status",
    "planner": "gather_requirements",
    "commits": TO_READ[0],
}
IN_FILES = ("spells", "skills")


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place for all of these."""
    return create_place(Path(tmp_path_factory.mktemp("comments")) / "place")


@pytest.fixture(scope="module")
def agent(at: Place) -> Iterator[Pipe]:
    """An agent at a server of its own."""
    with Pipe(at) as pipe:
        yield pipe


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> FaceRuns:
    """Runs in files and in commits, each with a server that has ended."""
    at = create_place(Path(tmp_path_factory.mktemp("elsewhere")) / "place")
    second = create_place(at.folder / "second")
    for one in (at, second):
        create_repository("git", one.project, one.folder / "home")
    for play in (play_spells, play_skills, play_planner):
        play(at)
    play_commits(second, at)
    listed = run(at, "list", "--json").data["runs"]
    return FaceRuns(at, {one["face"]: one["id"] for one in listed})


def run(at: Place, *words: str) -> CommandResult:
    return run_command("runs", *words, "--store", at.store, cwd=at.folder)


def test_the_agent_is_told_and_the_person_sees_that_it_was(at: Place, agent: Pipe) -> None:
    begun = agent.start()
    said = run(at, "comment", begun.run, "Keep the <b>old</b> name.\nPlease.")
    assert (said.status, said.out) == (0, f"the comment was written to run {begun.run}\n")
    assert said.err == f"  the next answer tells its agent; how it stands: handrail runs show {begun.run}\n"
    shown = run(at, "show", begun.run).out
    assert (
        f"{get_login_name()}, not told to the agent yet\n    Keep the <b>old</b> name.\n    Please.\n"
        in shown
    )

    answer = agent.continue_run(begun.token)
    assert answer.reply["comments"] == [f"{get_login_name()}: Keep the <b>old</b> name. Please."]
    assert f"Comments by people:\n- {get_login_name()}: Keep the <b>old</b> name. Please." in answer.text
    assert "comments" not in agent.continue_run(answer.token).reply
    (comment,) = run(at, "show", begun.run, "--json").data["comments"]
    assert (comment["text"], comment["principal"]) == ("Keep the <b>old</b> name.\nPlease.", get_login_name())
    assert comment["told"] > comment["at"]
    kinds = [one["kind"] for one in run(at, "events", begun.run, "--json").data["events"]]
    assert (kinds.count(EntryKind.COMMENT_WRITTEN), kinds.count(EntryKind.COMMENT_TOLD)) == (1, 1)


def test_the_whole_text_stands_where_the_agent_is_told_that_it_does(at: Place, agent: Pipe) -> None:
    begun = agent.start()
    text = "word " * 799 + "last"
    assert run(at, "comment", begun.run, text).status == 0
    answer = agent.recover(begun.run).reply["comments"]
    assert answer[1] == f"in full: workflow-status://{begun.run} or `handrail runs show {begun.run}`"

    uri = answer[1].removeprefix("in full: ").partition(" ")[0]
    read = agent.ask("resources/read", {"uri": uri})["result"]["contents"][0]["text"]
    assert f'"text":"{text}"' in read


def test_what_is_no_comment_is_refused_with_the_repair(at: Place, agent: Pipe) -> None:
    begun = agent.start()
    said = run(at, "comment", begun.run, "x" * 4001)

    assert said.status == 1
    assert (
        "comment was refused as no_comment: a comment has a text, at most 4000 characters of it" in said.err
    )
    assert "needed: a text of 1 to 4000 characters" in said.err
    assert run(at, "comment", "nobody", "x").status == 3


@pytest.mark.parametrize("face", sorted(CALLS))
def test_a_run_that_is_kept_elsewhere_takes_comments_too(
    elsewhere: FaceRuns, face: str, tmp_path: Path
) -> None:
    """Also when the mirror is made anew from the files: the journal of a run in files lies with them."""
    at, tool = elsewhere.at, CALLS[face]
    assert run(at, "comment", elsewhere.runs[face], f"Mind the {face}.").status == 0
    copy = tmp_path / "rebuilt.db"
    home = Place(at.folder / "second") if face == "commits" else at
    with Pipe(home, "--face", face, "--store", str(at.store)) as agent:
        named = {"project": str(at.project), "session": SESSION} if face == "skills" else {}
        looked = require_success(agent.call(named, READING[face]))
        answer = require_success(agent.call({**named, **tool[1]}, tool[0]))
        after = require_success(agent.call(named, READING[face]))

    for one in (looked, answer):
        assert one.reply["comments"] == [f"{get_login_name()}: Mind the {face}."]
        assert f"- {get_login_name()}: Mind the {face}." in one.text
    assert "comments" not in after.reply
    (comment,) = run(at, "show", elsewhere.runs[face], "--json").data["comments"]
    assert (comment["text"], comment["told"] is None) == (f"Mind the {face}.", False)
    if face in IN_FILES:
        built = run_command("store", "rebuild", "--store", copy, "--project", at.project, cwd=at.folder)
        assert built.status == 0
        anew = run_command(
            "runs", "show", elsewhere.runs[face], "--store", copy, "--json", cwd=at.folder
        ).data
        assert anew["comments"] == [comment]


def test_where_the_files_of_a_run_are_not_it_is_said_where_to_comment(tmp_path: Path) -> None:
    at = create_place(tmp_path / "place")
    with Pipe(at, "--face", "spells") as agent:
        require_success(agent.call({}, "accio"))
    moved = at.project.rename(tmp_path / "moved")
    one = run(at, "list", "--json").data["runs"][0]["id"]
    said = run(at, "comment", one, "Hello?")

    assert said.status == 1
    assert f"the files of run {one} are not on this machine, and its journal lies with them" in said.err
    assert f"comment where {at.project} is" in said.err
    with run_dashboard(at, "--project", str(moved)) as pages:
        headers = {"Host": pages.host, "Cookie": pages.cookie(), "Origin": pages.url}
        text = pages.ask("GET", f"/runs/{one}", headers).text
        refused = pages.ask("POST", f"/runs/{one}/do/comment", {**headers, "Content-Length": "6"}, b"text=x")
    assert "which are not on this machine" in text
    assert "<textarea" not in text
    assert (refused.status, "not on this machine" in refused.text) == (409, True)
