"""Two hundred hostile documents, and what is no file at all, where a real server reads the files of a task.

Only the word moves the task, and only as its row says; what a file says is quoted, and closes no boundary.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from helpers.hostile_documents import ORDERS, SOUND, HostileDocument, build_documents
from helpers.requirement import requirement
from helpers.servers import Pipe, Place, ToolAnswer, create_place

pytestmark = pytest.mark.unmeasured
OPEN = SOUND.replace("- [x]", "- [ ]")
TOO_LONG = {"a long line", "many marks of direction"}
BLANK = {"nothing", "a byte order mark"}
BEGINS = re.compile(r"\[([0-9a-f]{12,}) begins: text of the project file ([^;]*); ")


@dataclass(frozen=True, slots=True)
class Row:
    """Where a file is read: the state, the other files, and the states that a word may lead to."""

    path: str
    state: str
    others: tuple[str, ...]
    to: frozenset[str]
    quoted: bool = True


ROWS = [
    Row(
        "plan.md", "GATHER_EDITING", (), frozenset({"GATHER_EDITING", "ACHIEVE_TASK_DRAFTING"}), quoted=False
    ),
    Row("task.md", "ACHIEVE_TASK_DRAFTING", ("plan.md",), frozenset({"ACHIEVE_TASK_EXECUTED"})),
    Row(
        "task-results.md",
        "ACHIEVE_TASK_EXECUTED",
        ("plan.md", "task.md"),
        frozenset({"ACHIEVE_TASK_DRAFTING"}),
    ),
    Row("comments.md", "PR_GATHERING_COMMENTS", ("plan.md",), frozenset({"PR_REVIEW_TASK_DRAFT"})),
    Row("review-task.md", "PR_REVIEW_TASK_DRAFT", ("plan.md",), frozenset({"PR_APPLIED_PENDING_ARCHIVE"})),
    Row(
        "review-task-results.md",
        "PR_APPLIED_PENDING_ARCHIVE",
        ("plan.md",),
        frozenset({"GATHER_EDITING"}),
        quoted=False,
    ),
]


@pytest.fixture
def at(tmp_path: Path) -> Place:
    """A place for each test: the more large documents a run was told of, the longer its calls take."""
    return create_place(tmp_path / "hostile", measured=False)


@pytest.fixture
def pipe(at: Place) -> Iterator[Pipe]:
    """One server for all that is hostile in one place, which must outlive it."""
    with Pipe(at, "--face", "spells") as served:
        yield served


def laid(at: Place, row: Row) -> Path:
    """The task of a row as a clone brings it, without its file."""
    task = at.project / ".ai" / "task"
    shutil.rmtree(task, ignore_errors=True)
    task.mkdir(parents=True)
    for name in row.others:
        (task / name).write_text(OPEN, "utf-8")
    document = {"current_state": row.state, "context": {}, "history": []}
    (task / "state.json").write_text(json.dumps(document), "utf-8")
    return task


def standing(task: Path) -> tuple[str, int]:
    """The state, and how many turns its history has."""
    found = json.loads((task / "state.json").read_text("utf-8"))
    return found["current_state"], len(found["history"])


def outside(answer: ToolAnswer, document: HostileDocument) -> str:
    """What the reply says outside of its boundaries; the file has none of them, and so closes none."""
    text = answer.reply["instructions_to_coding_agent"]
    for boundary in {boundary for boundary, _ in BEGINS.findall(text)}:
        assert boundary.encode() not in document.data
        text = re.sub(rf"\[{boundary} begins: .*?\[{boundary} ends\]", "", text, flags=re.DOTALL)
        assert boundary not in text
    return f"{answer.reply['message_to_user']}\n{text}"


def expected(row: Row, document: HostileDocument) -> frozenset[str]:
    """The states that this document may leave the task in."""
    if row.path == "comments.md" and document.name in BLANK:
        return frozenset({row.state})
    if row.path == "plan.md" and document.name.endswith(", alone"):
        return frozenset({row.state})
    if row.path == "plan.md" and document.name.partition(",")[0] in ORDERS:
        return row.to - {row.state}
    return row.to


@requirement("spells:words.never")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.path)
def test_a_hostile_document_moves_nothing_but_what_the_row_says(at: Place, pipe: Pipe, row: Row) -> None:
    answer = 0
    for document in build_documents():
        task = laid(at, row)
        (task / row.path).write_bytes(document.data)
        cast = pipe.call({}, "accio")
        state, turns = standing(task)
        if cast.failed:
            assert (state, turns) == (row.state, 0), document.name
            assert document.name in TOO_LONG, cast.reply
            assert row.path in cast.reply["message_to_user"]
            continue
        answer += 1
        assert (state, turns) == (cast.reply["state"], 1), document.name
        assert state in expected(row, document), document.name
        _quoted(row, document, cast)
        if row.path == "task-results.md":
            assert "- [ ] The kettle boils\n" in (task / "plan.md").read_text("utf-8"), document.name
    assert answer >= 198


def _quoted(row: Row, document: HostileDocument, answer: ToolAnswer) -> None:
    quoted = [path for _, path in BEGINS.findall(answer.reply["instructions_to_coding_agent"])]
    assert not row.quoted or f".ai/task/{row.path}" in quoted or document.name in BLANK, document.name
    rest = outside(answer, document)
    for name, order in ORDERS.items():
        if len(order) > 30 and document.name.startswith(f"{name}, "):
            assert order not in rest, document.name


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _twin(path: Path) -> None:
    (path.parent / "twin").write_text(SOUND, "utf-8")
    path.hardlink_to(path.parent / "twin")


def _odd() -> Iterator[Callable[[Path], object]]:
    yield from (_link, _dangling, _twin, os.mkfifo, Path.mkdir)


EVERY = [
    *ROWS,
    Row("review-task.md", "PR_REVIEW_TASK_DRAFT", ("plan.md", "comments.md"), frozenset()),
    Row("review-task-results.md", "PR_APPLIED_PENDING_ARCHIVE", ("review-task.md",), frozenset()),
]


def test_links_pipes_and_folders_in_place_of_a_file_are_reported_and_left_alone(
    at: Place, pipe: Pipe
) -> None:
    for row in EVERY:
        for made in _odd():
            task = laid(at, row)
            made(task / row.path)
            answer = [pipe.call({}, word) for word in ("lumos", "accio")]

            for one in answer:
                assert one.failed, (row.path, made, one.reply)
                assert row.path in one.reply["message_to_user"]
                assert "root:" not in one.text
            assert standing(task) == (row.state, 0)
            assert os.path.lexists(task / row.path)
    laid(at, ROWS[0])
    assert not pipe.call({}, "lumos").failed


def test_ten_megabytes_in_the_place_of_any_file_are_quoted_in_part_or_refused(at: Place, pipe: Pipe) -> None:
    for row in EVERY:
        task = laid(at, row)
        (task / row.path).write_bytes(b"Accio\n" * 1_700_000)
        answer = pipe.call({}, "accio")

        assert len(answer.text) < 100_000
        if answer.failed:
            assert row.path in answer.reply["message_to_user"]
            assert standing(task) == (row.state, 0)
        else:
            assert standing(task) == (answer.reply["state"], 1)
        found = [path for path in task.rglob("*.md") if path.stat().st_size == 10_200_000]
        assert [path.name for path in found] == [row.path]
