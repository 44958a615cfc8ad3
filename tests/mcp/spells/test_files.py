"""The files of a task as people, clones and accidents leave them: what was found is said, and the way out."""

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.refusals import TroubleCode
from helpers.program import run_handrail
from helpers.requirement import requirement
from helpers.servers import Pipe, Place, ToolAnswer, create_place

PLAN = "# Plan\n\n## Acceptance Criteria\n\n- [ ] It sums\n"
SIGNS = {
    "task.md": "ACHIEVE_TASK_DRAFTING",
    "task-results.md": "ACHIEVE_TASK_EXECUTED",
    "comments.md": "PR_GATHERING_COMMENTS",
    "review-task.md": "PR_REVIEW_TASK_DRAFT",
    "review-task-results.md": "PR_APPLIED_PENDING_ARCHIVE",
}

DAMAGED = [
    (b"", "damaged", "damaged"),
    (b"{", "damaged", "damaged"),
    (b"\xff\xfe", "damaged", "damaged"),
    (b"[]", "damaged", "damaged"),
    (b'{"current_state": 7}', "damaged", "damaged"),
    (b"[" * 100_000, "damaged", "damaged"),
    (b'{"current_state": "NOWHERE", "context": {}, "history": []}', "diverged", "NOWHERE"),
]


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return create_place(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def pipe(at: Place) -> Iterator[Pipe]:
    """One server for all: it keeps nothing of a task in mind."""
    with Pipe(at, "--face", "spells") as served:
        yield served


@pytest.fixture
def task(at: Place) -> Path:
    """The folder of the task, as if nothing had ever been here."""
    folder = at.project / ".ai" / "task"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def laid(task: Path, *names: str) -> None:
    (task / "plan.md").write_text(PLAN, "utf-8")
    for name in names:
        (task / name).write_text(f"# {name}, mine\n", "utf-8")


def stated(task: Path, state: str, **more: object) -> None:
    document = {"current_state": state, "context": {}, "history": [], **more}
    (task / "state.json").write_text(json.dumps(document), "utf-8")


def cast(pipe: Pipe, word: str, **more: object) -> ToolAnswer:
    return pipe.call(more, word)


def tree(at: Place) -> dict[str, bytes | None]:
    """Everything in the project, with what it holds."""
    found = at.project.rglob("*")
    return {str(path): path.read_bytes() if path.is_file() else None for path in found}


def users(task: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in task.iterdir()
        if path.is_file() and not path.is_symlink() and path.name != "state.json"
    }


def cleared(task: Path) -> None:
    shutil.rmtree(task)
    task.mkdir()


def kept(task: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((task / "state.json").read_text("utf-8"))
    return found


def shown(at: Place, pipe: Pipe) -> ToolAnswer:
    before = tree(at)
    answer = cast(pipe, "lumos")
    assert tree(at) == before
    return answer


@requirement("spells:persist.authority", "spells:lumos.readonly")
def test_a_state_that_only_files_speak_for_is_proposed_and_adopted_and_nothing_else(
    at: Place, pipe: Pipe, task: Path
) -> None:
    for count, state in enumerate(SIGNS.values(), start=1):
        laid(task, *list(SIGNS)[:count])
        before = users(task)
        proposed = shown(at, pipe)
        token = proposed.reply["step_token"]
        adopted, again = (cast(pipe, "accio", note="yes", step_token=token) for _ in range(2))
        now = shown(at, pipe)

        assert (proposed.failed, proposed.reply["state"]) == (False, state)
        assert {"Accio", "Finite"} <= set(proposed.reply["options"]) <= {"Accio", "Finite", "Lumos"}
        for words in (
            "`state.json` is gone",
            f"Accio goes on in {state}",
            "Finite goes on in GATHER_EDITING",
        ):
            assert words in proposed.reply["message_to_user"]
            assert words in proposed.text
        assert (adopted.failed, adopted.reply["state"], again.reply) == (False, state, adopted.reply)
        assert f"taken to stand in {state}" in adopted.reply["message_to_user"]
        assert users(task) == before
        assert kept(task)["current_state"] == state
        (entry,) = kept(task)["history"]
        assert [entry[key] for key in ("transition", "trigger", "note")] == [
            f"{state} → {state}",
            "Accio",
            "yes",
        ]
        assert (now.reply["state"], now.reply["options"]) == (state, adopted.reply["options"])
        cleared(task)


@requirement("spells:persist.recover")
def test_finite_leads_from_any_proposed_state_to_the_plan(pipe: Pipe, task: Path) -> None:
    for sign, state in SIGNS.items():
        laid(task, sign)
        before = users(task)
        ended, on = cast(pipe, "finite"), cast(pipe, "accio")

        assert (ended.failed, ended.reply["state"], on.failed) == (False, "GATHER_EDITING", False)
        assert before.items() <= users(task).items()
        trail = [entry["transition"] for entry in kept(task)["history"]]
        assert trail == [f"{state} → GATHER_EDITING", "GATHER_EDITING → ACHIEVE_TASK_DRAFTING"]
        cleared(task)


def test_other_words_are_refused_until_the_doubt_has_ended(pipe: Pipe, task: Path) -> None:
    laid(task, "task.md")
    before = users(task)
    refused = [cast(pipe, word) for word in ("expecto", "reparo", "reverto")]

    for answer in refused:
        assert (answer.failed, answer.reply["code"]) == (True, TroubleCode.ORPHANED)
        assert "Accio goes on in ACHIEVE_TASK_DRAFTING" in answer.reply["message_to_user"]
    assert users(task) == before
    assert not (task / "state.json").exists()


@requirement("spells:G1")
def test_a_plan_alone_is_kept_and_the_task_begins(at: Place, pipe: Pipe, task: Path) -> None:
    for _ in range(2):
        laid(task)
        proposed, begun = shown(at, pipe), cast(pipe, "accio")

        assert proposed.reply["state"] == "GATHER_NEEDS_PLAN"
        assert begun.reply["state"] == "GATHER_EDITING"
        assert users(task) == {"plan.md": PLAN.encode()}
        (task / "state.json").unlink()


@requirement("spells:persist.recover")
def test_a_state_file_that_was_deleted_is_proposed_from_the_files_or_restored(
    at: Place, pipe: Pipe, task: Path
) -> None:
    cast(pipe, "accio")
    laid(task)
    cast(pipe, "accio")
    was = kept(task)
    (task / "state.json").unlink()
    proposed = shown(at, pipe)
    adopted = cast(pipe, "accio")
    (task / "state.json").unlink()
    said = run_handrail("repair", "--restore", "2", cwd=at.project)

    assert proposed.reply["state"] == adopted.reply["state"] == "ACHIEVE_TASK_DRAFTING"
    assert "handrail repair --restore 2" in proposed.reply["message_to_user"]
    assert said.status == 0, said.err
    assert kept(task) == was


@requirement("spells:persist.recover")
def test_a_damaged_state_file_is_explained_set_aside_and_repaired(at: Place, pipe: Pipe, task: Path) -> None:
    for data, code, why in DAMAGED:
        cleared(task)
        laid(task, "task.md")
        before = users(task)
        (task / "state.json").write_bytes(data)
        for answer in (shown(at, pipe), cast(pipe, "accio"), shown(at, pipe)):
            assert (answer.failed, answer.reply["code"]) == (True, code)
            assert why in answer.reply["message_to_user"]
            assert "handrail repair --adopt STATE" in answer.reply["message_to_user"]
            assert (
                "first call that acts moves it to `.handrail/quarantine`" in answer.reply["message_to_user"]
            )
        assert [path.read_bytes() for path in (task / ".handrail" / "quarantine").iterdir()] == [data]
        assert users(task) == before
    said = run_handrail("repair", "--adopt", "ACHIEVE_TASK_DRAFTING", cwd=at.project)
    on = cast(pipe, "accio")

    assert said.status == 0, said.err
    assert (on.failed, on.reply["state"]) == (False, "ACHIEVE_TASK_EXECUTED")
    assert users(task) == before


@requirement("spells:persist.shape", "spells:persist.authority")
def test_a_clone_without_our_folder_is_used_as_it_is_and_the_reply_says_so(
    at: Place, pipe: Pipe, task: Path
) -> None:
    laid(task, "task.md")
    stated(task, "GATHER_EDITING", team="blue")
    looked = shown(at, pipe)
    moved = cast(pipe, "accio")
    quiet = shown(at, pipe)

    assert looked.reply["state"] == "GATHER_EDITING"
    assert moved.reply["state"] == "ACHIEVE_TASK_DRAFTING"
    for answer in (looked, moved):
        assert "it is taken as it stands" in answer.reply["message_to_user"]
    assert "taken" not in quiet.reply["message_to_user"]
    assert kept(task)["team"] == "blue"


@requirement("spells:persist.authority")
def test_a_state_file_from_elsewhere_wins_over_the_common_store(at: Place, pipe: Pipe, task: Path) -> None:
    cast(pipe, "accio")
    laid(task, "task.md")
    cast(pipe, "accio")
    shutil.rmtree(task / ".handrail")
    stated(task, "PR_REVIEW_TASK_DRAFT", context={"pr_return_state": "ACHIEVE_COMPLETE"})
    looked, left = shown(at, pipe), cast(pipe, "reverto")

    assert looked.reply["state"] == "PR_REVIEW_TASK_DRAFT"
    assert (left.failed, left.reply["state"]) == (False, "ACHIEVE_COMPLETE")
    assert [entry["transition"] for entry in kept(task)["history"]] == [
        "PR_REVIEW_TASK_DRAFT → ACHIEVE_COMPLETE"
    ]


@requirement("spells:persist.authority")
def test_an_edit_by_hand_is_used_and_reported(at: Place, pipe: Pipe, task: Path) -> None:
    cast(pipe, "accio")
    laid(task, "task.md", "task-results.md")
    edited = {**kept(task), "current_state": "ACHIEVE_TASK_EXECUTED"}
    (task / "state.json").write_text(json.dumps(edited), "utf-8")
    looked = shown(at, pipe)
    moved = cast(pipe, "accio", step_token=looked.reply["step_token"])

    assert looked.reply["state"] == "ACHIEVE_TASK_EXECUTED"
    assert (moved.failed, moved.reply["state"]) == (False, "ACHIEVE_TASK_DRAFTING")
    for answer in (looked, moved):
        assert "was changed since the last turn; it is taken" in answer.reply["message_to_user"]


@requirement("spells:persist.recover")
def test_where_a_newer_handrail_was_nothing_is_written_and_the_update_is_named(
    at: Place, pipe: Pipe, task: Path
) -> None:
    cast(pipe, "accio")
    head = task / ".handrail" / "head.json"
    body = head.read_bytes()[len(b'{"sum":"') + 64 + len(b'","body":') : -1]
    body = body.replace(b'"format":1', b'"format":99')
    head.write_bytes(b'{"sum":"%s","body":%s}' % (hashlib.sha256(body).hexdigest().encode(), body))
    looked = shown(at, pipe)
    before = tree(at)
    refused = cast(pipe, "accio")

    assert tree(at) == before
    for answer in (looked, refused):
        assert (answer.failed, answer.reply["code"]) == (True, "newer")
        assert "update Handrail" in answer.reply["message_to_user"]


def _folder(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    (path.parent / "elsewhere").write_text("{}", "utf-8")
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("made", [_folder, _link, os.mkfifo], ids=["folder", "link", "fifo"])
def test_a_folder_link_or_pipe_in_place_of_the_state_file_is_reported_and_left_alone(
    pipe: Pipe, task: Path, made: Callable[[Path], None]
) -> None:
    laid(task, "task.md")
    made(task / "state.json")
    answer = [cast(pipe, word) for word in ("lumos", "accio")]
    (task / "state.json").rename(task / "aside")
    stated(task, "ACHIEVE_TASK_DRAFTING")
    on = cast(pipe, "accio")

    for one in answer:
        assert one.failed
        assert "state.json" in one.reply["message_to_user"]
        assert one.reply["why"]["needed"]
    assert (on.failed, on.reply["state"]) == (False, "ACHIEVE_TASK_EXECUTED")


def test_the_files_that_words_were_said_over_are_artifacts_of_the_run(tmp_path: Path) -> None:
    at = create_place(tmp_path)
    task = at.project / ".ai" / "task"
    task.mkdir(parents=True)
    laid(task, "task.md", "task-results.md")
    stated(task, "ACHIEVE_TASK_EXECUTED")
    with Pipe(at, "--face", "spells") as pipe:
        assert cast(pipe, "accio").reply["state"] == "ACHIEVE_TASK_DRAFTING"

    found = sqlite3.connect(at.store)
    rows = found.execute("SELECT artifact_type, title, content FROM workflow_artifacts").fetchall()
    found.close()
    assert sorted(rows) == [
        ("plan", "plan.md", PLAN),
        ("results", "task-results.md", "# task-results.md, mine\n"),
        ("task", "task.md", "# task.md, mine\n"),
    ]
