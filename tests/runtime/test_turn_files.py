"""A whole turn where the state lives in files: real files, the real store, the mirror in the common one."""

import json
from pathlib import Path

import pytest

from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.status import recover_run
from helpers.task_project import TaskProject, format_outcome


@pytest.fixture
def project(tmp_path: Path) -> TaskProject:
    return TaskProject(tmp_path)


def test_the_first_word_begins_the_run_and_writes_its_files(project: TaskProject) -> None:
    reply = project.say("go", note="please")

    assert reply["texts"] == [{"message": "Wrote the task.", "agent": "Fill in DRAFT."}]
    assert (reply["states"], reply["revision"]) == (["DRAFT"], 1)
    assert project.text("task.md") == "# A task, begun 2026-03-01T12:00:00Z\n"
    assert json.loads(project.text("state.json")) == {
        "current_state": "DRAFT",
        "context": {},
        "history": [
            {
                "timestamp": "2026-03-01T12:00:00Z",
                "transition": "DRAFT → DRAFT",
                "trigger": "go",
                "note": "please",
            }
        ],
    }
    assert project.names() == [".handrail", "state.json", "task.md"]


def test_how_long_a_step_took_is_entered_when_it_ends(project: TaskProject) -> None:
    project.say("go")
    project.clock.move(seconds=90)
    project.say("go")
    project.clock.move(minutes=5)
    project.say("again")

    entered = [line.entry for line in project.runs.entries(project.run)]
    ended = [entry for entry in entered if entry.kind is EntryKind.STEP_COMPLETED]
    assert [(e.step, e.data["duration_ms"]) for e in ended] == [("DRAFT", 90_000), ("DONE", 300_000)]
    started = [entry.data["number"] for entry in entered if entry.kind is EntryKind.STEP_STARTED]
    assert started == [1, 2, 3]


def test_a_token_does_not_expire_and_is_void_after_any_accepted_word(project: TaskProject) -> None:
    token = project.say("go")["tokens"][0]
    project.clock.move(days=400)
    refused = project.say("again", token)
    assert (refused["code"], refused["tokens"]) == (RefusalCode.NO_ROW, [token])
    assert project.say("go")["accepted"]

    assert project.say("again", token)["code"] == RefusalCode.SUPERSEDED


def test_an_edited_state_file_is_used_as_it_is(project: TaskProject) -> None:
    project.say("go")
    state = project.project / ".ai/task/state.json"
    edited = json.loads(state.read_text("utf-8")) | {"current_state": "DONE", "by hand": True}
    state.write_text(json.dumps(edited), "utf-8")

    assert project.say("again")["states"] == ["DRAFT"]
    assert json.loads(project.text("state.json"))["by hand"] is True
    kinds = [str(line.entry.kind) for line in project.runs.entries("")]
    assert EntryKind.STATE_ADOPTED in kinds


def test_what_others_see_of_the_run_is_in_the_common_store(project: TaskProject) -> None:
    project.say("go")
    project.say("go")
    with project.database.read() as execute:
        query = "SELECT execution_id, workflow_name, state, current_step, revision FROM workflow_executions"
        found = execute(query, ()).fetchall()

    assert found == [(project.run, "tasks", "running", "DONE", 2)]


def test_another_process_goes_on_where_the_first_stood(project: TaskProject, tmp_path: Path) -> None:
    project.say("go")
    other = TaskProject(tmp_path)

    reply = recover_run(other.world, "", format_outcome)

    assert (reply["accepted"], reply["states"], reply["revision"]) == (True, ["DRAFT"], 1)
    tokens = reply["tokens"]
    assert isinstance(tokens, list)
    assert other.say("go", tokens[0])["states"] == ["DONE"]


def test_a_row_that_refuses_says_its_text_and_changes_nothing(project: TaskProject) -> None:
    project.say("go")
    project.say("go")
    before = project.text("state.json")

    refused = project.say("go")

    assert (refused["code"], refused["texts"]) == (
        RefusalCode.REFUSED,
        [{"message": "DONE since DRAFT: say again."}],
    )
    assert (project.text("state.json"), refused["revision"]) == (before, 2)
