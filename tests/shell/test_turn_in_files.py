"""A whole turn where the state lives in files: real files, the real store, the mirror in the common one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from build import workflow
from handrail.documents.statefile import StateFile
from handrail.engine.model import Authority, Event, Run, Who
from handrail.shell.records import Origin
from handrail.shell.system import LocalFeed, RandomIds
from handrail.shell.turn import Call, recover, take_turn
from handrail.shell.workspace import Disk
from handrail.shell.world import World
from handrail.stores.files import FileRuns
from handrail.stores.sql.database import Database
from handrail.stores.sql.projection import Projection
from tables import KEY, HandClock, plain

RUN = "6f9619ff-8b86-4d01-b42d-00c04fc964ff"
TASKS = """
workflow: tasks
version: 1
authority: files
tools: {go: {}, again: {who: person}}
vars: {came_from: state?}
states:
  DRAFT: {about: A task is being written}
  DONE: {about: A task was done}
transitions:
  - id: T1
    from: DRAFT
    trigger: go
    when: [task.exists]
    to: DONE
    set: {came_from: "@state"}
    say: done
  - id: T2
    from: DRAFT
    trigger: go
    do: [{write: task.md, template: task, if_absent: true}]
    say: wrote
  - id: T3
    from: DONE
    trigger: again
    to: DRAFT
    do:
      - {archive: [task.md, task-results.md], to: "tasks/task-{now}"}
      - {write: task.md, template: task, if_absent: true}
texts:
  task: "# A task, begun {{now}}\\n"
  wrote: {message: "Wrote the task.", agent: "Fill in {{run.state}}."}
  done: {message: "It was {{run.vars.came_from}}."}
"""


class Folder:
    """A project with a run in `.ai/task`, and the common store beside it."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir(exist_ok=True)
        (root / "store").mkdir(mode=0o700, exist_ok=True)
        self.workflow = workflow(TASKS)
        self.database = Database(root / "store" / "handrail.db")
        self.disk = Disk(self.project, ".ai/task")
        new = Run(RUN, self.workflow.name, self.workflow.digest)
        origin = Origin("tasks", Authority.FILES, str(self.project))
        self.runs = FileRuns(self.disk, StateFile(), new, origin, self.workflow.states)
        self.clock = HandClock()
        self.world = World(
            self.runs,
            self.clock,
            RandomIds(),
            LocalFeed(),
            KEY,
            lambda _: self.workflow,
            self.disk,
            lifetime=None,
            mirror=Projection(self.database).mirror(self.runs),
        )

    def say(self, trigger: str, token: str = "", note: str = "") -> Mapping[str, Any]:
        by = Who.PERSON if trigger == "again" else Who.AGENT
        return take_turn(self.world, Call("", Event(trigger, by=by, note=note), token=token), plain)

    def text(self, path: str) -> str:
        return (self.project / ".ai/task" / path).read_text("utf-8")

    def names(self, path: str = "") -> list[str]:
        return sorted(found.name for found in (self.project / ".ai/task" / path).iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_the_first_word_begins_the_run_and_writes_its_files(folder: Folder) -> None:
    reply = folder.say("go", note="please")

    assert reply["texts"] == [{"message": "Wrote the task.", "agent": "Fill in DRAFT."}]
    assert (reply["states"], reply["revision"]) == (["DRAFT"], 1)
    assert folder.text("task.md") == "# A task, begun 2026-11-15T12:00:00Z\n"
    assert json.loads(folder.text("state.json")) == {
        "current_state": "DRAFT",
        "context": {},
        "history": [
            {
                "timestamp": "2026-11-15T12:00:00Z",
                "transition": "DRAFT → DRAFT",
                "trigger": "go",
                "note": "please",
            }
        ],
    }
    assert folder.names() == [".handrail", "state.json", "task.md"]


def test_an_archive_moves_and_never_overwrites(folder: Folder) -> None:
    for number in (1, 2):
        folder.say("go")
        (folder.project / ".ai/task/task.md").write_text(f"task {number}")
        (folder.project / ".ai/task/task-results.md").write_text(f"results {number}")
        assert folder.say("go")["states"] == ["DONE"]
        assert folder.say("again")["states"] == ["DRAFT"]

    assert folder.names("tasks") == ["task-2026-11-15-1200", "task-2026-11-15-1200-2"]
    assert folder.text("tasks/task-2026-11-15-1200/task.md") == "task 1"
    assert folder.text("tasks/task-2026-11-15-1200-2/task-results.md") == "results 2"
    assert "task-results.md" not in folder.names()
    assert folder.text("task.md") == "# A task, begun 2026-11-15T12:00:00Z\n"


def test_a_word_told_twice_with_one_token_is_told_once(folder: Folder) -> None:
    token = folder.say("go")["tokens"][0]
    first = folder.say("go", token)
    before = folder.text("state.json")

    assert folder.say("go", token) == first
    assert folder.say("again", token)["code"] == "already_used"
    assert folder.text("state.json") == before


def test_a_token_does_not_expire_and_is_void_after_any_accepted_word(folder: Folder) -> None:
    token = folder.say("go")["tokens"][0]
    folder.clock.forward(days=400)
    refused = folder.say("again", token)
    assert (refused["code"], refused["tokens"]) == ("no_row", [token])
    assert folder.say("go")["accepted"]

    assert folder.say("again", token)["code"] == "superseded"


def test_a_persons_edit_of_the_state_file_is_taken_as_it_stands(folder: Folder) -> None:
    folder.say("go")
    state = folder.project / ".ai/task/state.json"
    edited = json.loads(state.read_text("utf-8")) | {"current_state": "DONE", "by hand": True}
    state.write_text(json.dumps(edited), "utf-8")

    assert folder.say("again")["states"] == ["DRAFT"]
    assert json.loads(folder.text("state.json"))["by hand"] is True
    kinds = [str(line.entry.kind) for line in folder.runs.entries("")]
    assert "state_adopted" in kinds


def test_a_damaged_state_file_refuses_every_word_until_a_person_mends_it(folder: Folder) -> None:
    folder.say("go")
    state = folder.project / ".ai/task/state.json"
    state.write_text('{"current_state": "DRA', "utf-8")

    refused = folder.say("go")

    assert refused["code"] == "damaged"
    assert "handrail repair" in refused["needed"][0]
    folder.runs.repair(folder.clock.now(), restore=1)
    assert folder.say("go")["states"] == ["DONE"]


def test_what_others_see_of_the_run_is_in_the_common_store(folder: Folder) -> None:
    folder.say("go")
    folder.say("go")
    with folder.database.read() as execute:
        query = "SELECT execution_id, workflow_name, state, current_step, revision FROM workflow_executions"
        found = execute(query, ()).fetchall()

    assert found == [(RUN, "tasks", "running", "DONE", 2)]


def test_another_process_goes_on_where_the_first_stood(folder: Folder, tmp_path: Path) -> None:
    folder.say("go")
    other = Folder(tmp_path)

    reply = recover(other.world, "", plain)

    assert (reply["accepted"], reply["states"], reply["revision"]) == (True, ["DRAFT"], 1)
    tokens = reply["tokens"]
    assert isinstance(tokens, list)
    assert other.say("go", tokens[0])["states"] == ["DONE"]
