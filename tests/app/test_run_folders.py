"""The files that a run is about are artifacts of it in the common store: each text once, by its content."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from handrail.app.run_folders import RunFolder
from handrail.documents.state_file import StateFile
from handrail.engine.refusals import RefusalCode
from handrail.runtime.journal import read_file_artifacts
from handrail.runtime.records import Artifact, JournalEntry, RunChange
from handrail.stores.files.file_runs import FileRuns
from handrail.stores.sql.projection import SqlRunMirrors
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import close_later
from helpers.program import run_command
from helpers.task_project import TASKS, TaskProject

ALL = "SELECT artifact_type, title, content, step_name, description FROM artifacts ORDER BY number"


@pytest.fixture
def project(tmp_path: Path) -> TaskProject:
    return TaskProject(tmp_path)


def shown(database: SqliteDatabase, query: str = ALL) -> list[tuple[object, ...]]:
    with database.read() as execute:
        return [tuple(row) for row in execute(query, ()).fetchall()]


def written(project: TaskProject, text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    (project.project / ".ai/task/task.md").write_bytes(data)


def lies(project: TaskProject) -> tuple[Artifact, ...]:
    return read_file_artifacts(project.workflow, project.runs.load_current().run, project.disk)


def test_each_text_is_kept_once_as_the_turn_read_it(project: TaskProject) -> None:
    project.say("go")
    assert shown(project.database) == []
    written(project, "mine")
    project.say("go")
    project.say("again")
    written(project, "yours")
    project.say("go")
    project.say("again")
    written(project, "mine")
    project.say("go")

    mine, yours = (hashlib.sha256(text).hexdigest() for text in (b"mine", b"yours"))
    assert shown(project.database) == [
        ("task", "task.md", "mine", "DRAFT", f"sha256 {mine}"),
        ("task", "task.md", "yours", "DRAFT", f"sha256 {yours}"),
    ]


def test_a_refused_word_keeps_no_text(project: TaskProject) -> None:
    project.say("go")
    written(project, "mine")
    project.say("go")
    written(project, "other")

    assert project.say("go")["code"] == RefusalCode.REFUSED
    assert [row[2] for row in shown(project.database)] == ["mine"]


def test_binary_text_is_kept_as_far_as_it_decodes_and_long_text_is_not(project: TaskProject) -> None:
    project.say("go")
    written(project, b"\xff mine\0")
    project.say("go")
    project.say("again")
    written(project, b"x" * (256 * 1024 + 1))
    project.say("go")

    assert [row[2] for row in shown(project.database)] == ["\ufffd mine\0"]


def test_the_files_as_they_lie_have_the_ids_that_the_turn_gave_them(project: TaskProject) -> None:
    project.say("go")
    written(project, "mine")
    project.say("go")

    (paper,) = lies(project)

    assert shown(project.database, "SELECT artifact_id FROM artifacts") == [(paper.id,)]
    assert (paper.type, paper.title, paper.content, paper.step) == ("task", "task.md", "mine", "DONE")


def test_a_file_that_cannot_be_read_is_left_out(project: TaskProject) -> None:
    project.say("go")
    (project.project / ".ai/task/task.md").unlink()
    (project.project / ".ai/task/task.md").symlink_to("/etc/passwd")

    assert lies(project) == ()


def test_a_lost_store_has_the_files_again_with_the_next_word(project: TaskProject, tmp_path: Path) -> None:
    project.say("go")
    written(project, "mine")
    project.say("go")
    (tmp_path / "new").mkdir(mode=0o700)
    database = close_later(SqliteDatabase(tmp_path / "new" / "handrail.db"))
    mirror = project.runs.mirror_with(SqlRunMirrors(database).update)

    mirror(RunChange(project.run, 2), lies(project))
    mirror(RunChange(project.run, 2), lies(project))

    assert [row[:3] for row in shown(database)] == [("task", "task.md", "mine")]


class Overtaken(FileRuns):
    """Files of a run that another process brings over just before they are read."""

    first: Callable[[], object] | None = None

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[JournalEntry, ...]:
        if self.first:
            self.first()
        return super().entries(run, after, most)


def test_what_another_process_brought_over_in_the_middle_still_gets_the_files(project: TaskProject) -> None:
    folder = RunFolder(project.project, project.workflow)
    runs = Overtaken(project.disk, StateFile(), folder.new_run, folder.origin, project.workflow.states)
    project.world = replace(project.world, mirror=None)
    project.say("go")
    projection = SqlRunMirrors(project.database)
    runs.first = lambda: projection.catch_up(project.runs, project.run)

    assert projection.catch_up(runs, project.run, lies(project)) == 0
    assert [row[1] for row in shown(project.database)] == ["task.md"]


def test_a_store_that_is_made_again_has_the_files_as_they_lie(project: TaskProject, tmp_path: Path) -> None:
    shelf = project.project / ".handrail/workflows"
    shelf.mkdir(parents=True)
    (shelf / "tasks.yaml").write_text(TASKS, "utf-8")
    project.say("go")
    written(project, "mine")
    project.say("go")
    new = tmp_path / "new" / "handrail.db"

    for _ in range(2):
        said = run_command("store", "rebuild", "--store", new, "--project", project.project, cwd=tmp_path)
        assert said.status == 0, said.err

    assert [row[:3] for row in shown(close_later(SqliteDatabase(new)))] == [("task", "task.md", "mine")]
    assert run_command("store", "check", "--store", new, cwd=tmp_path).status == 0


def test_a_run_whose_head_is_lost_is_brought_over_as_it_was(project: TaskProject) -> None:
    project.say("go")
    (project.project / ".ai/task/.handrail/head.json").unlink()

    assert SqlRunMirrors(project.database).rebuild(project.runs, project.run) == 0
    assert shown(project.database, "SELECT revision, current_step FROM runs") == [(1, "DRAFT")]
