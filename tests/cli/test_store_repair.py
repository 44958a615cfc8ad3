"""`handrail repair` and `handrail store rebuild`, as a person uses them."""

import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.engine.refusals import TroubleCode
from helpers import faulty_disk
from helpers.program import PROGRAM, run_handrail
from helpers.task_project import TASKS, TaskProject


@pytest.fixture
def project(tmp_path: Path) -> TaskProject:
    made = TaskProject(tmp_path)
    workflows = made.project / ".handrail" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "tasks.yaml").write_text(TASKS, "utf-8")
    return made


def damage(project: TaskProject) -> None:
    (project.project / ".ai/task/state.json").write_text('{"current_state": "DRA', "utf-8")


def test_a_run_that_can_go_on_is_shown_as_it_stands(project: TaskProject) -> None:
    project.say("go")

    said = run_handrail("repair", cwd=project.project)

    assert said.status == 0
    assert said.out.splitlines() == [
        f"tasks in {project.project}/.ai/task",
        "DRAFT, after 1 turns",
        "nothing is wrong",
    ]


def test_looking_at_a_project_without_a_run_makes_nothing(project: TaskProject) -> None:
    (project.project / ".ai/task").mkdir(parents=True)

    assert run_handrail("repair", cwd=project.project).out.splitlines()[1] == "not begun, after 0 turns"
    assert list((project.project / ".ai/task").iterdir()) == []


def test_a_damaged_run_says_what_was_found_and_goes_on_after_a_restore(project: TaskProject) -> None:
    project.say("go")
    damage(project)

    said = run_handrail("repair", "--json", cwd=project.project)

    assert said.status == 1
    assert said.data["trouble"]["code"] == TroubleCode.DAMAGED
    assert "handrail repair --restore 1" in said.data["trouble"]["repair"]
    restored = run_handrail("repair", "tasks", "--restore", "1", "--json", cwd=project.project)
    assert (restored.status, restored.data["state"], restored.data["trouble"]) == (0, "DRAFT", None)
    assert project.say("go")["states"] == ["DONE"]
    stored = project.project / ".ai/task/.handrail/quarantine/state.json"
    assert stored.read_text("utf-8") == '{"current_state": "DRA'


def test_a_person_may_say_which_state_the_files_are_in(project: TaskProject) -> None:
    project.say("go")
    damage(project)

    adopted = run_handrail("repair", "--adopt", "DONE", cwd=project.project)

    assert (adopted.status, adopted.out.splitlines()[1]) == (0, "DONE, after 2 turns")
    assert json.loads(project.text("state.json"))["current_state"] == "DONE"


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("--adopt", "NOWHERE"), 1, "name one of DONE, DRAFT"),
        (("--restore", "7"), 1, "the history has no turn 7"),
        (("--adopt", "DONE", "--restore", "1"), 1, "choose one of them"),
        (("nonsense",), 3, "no run in files is called `nonsense`"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(
    project: TaskProject, words: tuple[str, ...], status: int, told: str
) -> None:
    project.say("go")
    before = project.text("state.json")

    said = run_handrail("repair", *words, cwd=project.project)

    assert (said.status, told in said.err) == (status, True), said.err
    assert project.text("state.json") == before


def test_a_project_with_several_runs_asks_which(project: TaskProject) -> None:
    project.say("go")
    (project.project / "other").mkdir()
    text = TASKS.replace("workflow: tasks", "workflow: others").replace("folder: .ai/task", "folder: other")
    (project.project / ".handrail/workflows/others.yaml").write_text(text, "utf-8")

    said = run_handrail("repair", cwd=project.project)

    assert (said.status, "there are runs of others, tasks" in said.err) == (1, True)


def test_a_lost_store_is_made_again_from_the_projects(project: TaskProject, tmp_path: Path) -> None:
    project.say("go")
    project.say("go")
    new = tmp_path / "new" / "handrail.db"

    said = run_handrail("store", "rebuild", "--store", new, "--project", project.project, "--json")

    (run,) = said.data["runs"]
    assert (run["run"], run["folder"]) == (project.run, f"{project.project}/.ai/task")
    assert run["entries"] > 0
    listed = run_handrail("runs", "list", "--store", new, "--json").data["runs"]
    assert [(one["id"], one["state"], one["revision"]) for one in listed] == [(project.run, "DONE", 2)]
    again = run_handrail("store", "rebuild", "--store", new, "--json").data["runs"]
    assert [one["entries"] for one in again] == [0]
    assert run_handrail("store", "check", "--store", new).status == 0


def test_a_project_that_is_gone_is_passed_over(project: TaskProject) -> None:
    project.say("go")
    project.project.rename(project.project.with_name("moved"))

    assert run_handrail("store", "rebuild", "--store", project.store, "--json").data["runs"] == []


@pytest.mark.unmeasured
def test_a_disk_that_does_not_confirm_ends_the_program_with_75_and_the_next_start_recovers(
    project: TaskProject, record_property: Callable[[str, object], None]
) -> None:
    project.say("go")
    folder = project.project / ".ai/task"
    adopt = (PROGRAM, "repair", "--adopt", "DONE", "--project", project.project)
    points = faulty_disk.count_calls(adopt, folder, kinds=["fsync"])
    for at in range(1, points + 1):
        done = faulty_disk.run_with_fault(adopt, folder, at, errno=errno.EIO, kinds=["fsync"])
        assert (done.returncode, "the disk did not confirm" in done.stderr) == (75, True), done.stderr

        again = run_handrail("repair", "--json", cwd=project.project)
        assert (again.status, again.data["trouble"], again.data["state"]) == (0, None, "DONE")

    assert points > 0
    record_property("points", points)


def test_a_folder_of_which_the_project_says_nothing_is_that_of_the_built_in_workflow(tmp_path: Path) -> None:
    (tmp_path / ".ai/task").mkdir(parents=True)

    said = run_handrail("repair", cwd=tmp_path)

    assert said.out.splitlines()[0] == f"spells in {tmp_path}/.ai/task"
